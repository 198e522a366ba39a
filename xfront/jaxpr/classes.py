"""Classes for which libraries test tracers, and names that do not exist here, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..tracing.tracer import Tracer


class _Kind(type):
    """The metaclass of classes whose instances are the tracers of one kind of trace."""

    wanted: Callable[[Any], bool]

    def __instancecheck__(cls, x: Any) -> bool:
        return type(x) is Tracer and cls.wanted(x.home)

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{cls.__name__} cannot be instantiated: only traces make tracers")


def tracers(name: str, wanted: Callable[[Any], bool], doc: str) -> Any:
    """A class whose instances are the tracers for whose trace `wanted(trace)` is true."""
    return _Kind(name, (), {"wanted": staticmethod(wanted), "__doc__": doc})


JVPTracer = tracers(
    "JVPTracer", lambda trace: not trace.staging and trace.axis is None,
    "What grad, jvp and the like compute with.")
BatchTracer = tracers(
    "BatchTracer", lambda trace: trace.axis is not None, "What vmap computes with.")
DynamicJaxprTracer = tracers(
    "DynamicJaxprTracer", lambda trace: trace.staging,
    "What jit and bodies of control flow compute with.")


def absent(module: str, why: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a module, which says why some names of JAX do not exist there."""
    def __getattr__(name: str) -> NoReturn:
        said = why.get(name)
        reason = f": {said}" if said else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{reason}")

    return __getattr__
