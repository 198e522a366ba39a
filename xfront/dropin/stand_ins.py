"""Stand-ins for modules of JAX that xfront does not have, and libraries import but may not use.

Their names can be imported. No value is an instance of such a class, so `isinstance` returns False.
Any other use of a name raises NotImplementedError, which says that it does not exist here.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from ..base.absent import public_modules, sentence
from ..base.on_demand import AbsentAttribute
from ..binding import beside

MODULES = (
    "jax.experimental.colocated_python",
    "jax.experimental.colocated_python.func",
    "jax.experimental.colocated_python.serialization",
    "jax.experimental.pallas",
    "jax.experimental.pallas.ops",
    "jax.experimental.pallas.ops.tpu",
    "jax.experimental.pallas.ops.tpu.splash_attention",
    "jax.experimental.pallas.tpu",
    "jax.experimental.pallas.triton",
    "jax.extend.ifrt_programs",
)
"""Modules that have stand-ins; the import of any other missing module fails."""


def _refuse(name: str) -> NoReturn:
    module, _, last = name.rpartition(".")
    raise NotImplementedError(sentence(module, last, ()))


class _Absent(type):
    """The class of absent classes."""

    def __call__(cls, *_: Any, **__: Any) -> NoReturn:
        _refuse(f"{cls.__module__}.{cls.__name__}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f"{cls.__module__}.{cls.__name__}.{name}")

    def __instancecheck__(cls, instance: object) -> bool:
        return False


def _class_of(module: str, name: str) -> type:
    return _Absent(name, (), {"__module__": module, "__doc__": "Not in xfront.",
                              "__slots__": ()})


def _function_of(module: str, name: str) -> Any:
    def absent(*_: Any, **__: Any) -> NoReturn:
        _refuse(f"{module}.{name}")

    absent.__name__ = absent.__qualname__ = name
    absent.__module__ = module
    return absent


class StandIn(ModuleType):
    """A module whose public names can be imported, but not used."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name} is not in xfront: its names cannot be used.")
        self.__dict__.update(
            {beside.MARKER: True, "__path__": [], "__getattr__": self._first_read})

    def _first_read(self, name: str) -> Any:
        known = public_modules().get(self.__name__)
        if known is None or name not in known.names:
            raise AbsentAttribute(self.__name__, name, self.__dir__)
        made = (_class_of if name[:1].isupper() else _function_of)(self.__name__, name)
        self.__dict__[name] = made
        return made

    def __dir__(self) -> list[str]:
        known = public_modules().get(self.__name__)
        return sorted(known.names) if known is not None else []


def stand_in(name: str) -> StandIn | None:
    """The stand-in for one of JAX's modules, or None."""
    if name not in MODULES:
        return None
    return _STAND_INS.setdefault(name, StandIn(name))


_STAND_INS: dict[str, StandIn] = {}
