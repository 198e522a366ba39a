"""Names for parts of a program, which appear in the locations of ops and in profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..binding.tracebacks import front_door_of
from .trace import state

F = TypeVar("F", bound=Callable[..., Any])


class named_scope:
    """A context, or a decorator, that gives a name to all operations recorded inside.

    Raises: TypeError where the name is not a string.

    >>> with xfront.named_scope("layer"):
    ...     y = jnp.sin(1.0)
    """

    __slots__ = ("_name", "_outer")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope: the name must be a string, got {name!r}")
        self._name = name
        self._outer: list[tuple[str, ...]] = []

    def __enter__(self) -> None:
        self._outer.append(state.scope)
        state.scope = (*state.scope, self._name)

    def __exit__(self, *exc: object) -> None:
        state.scope = self._outer.pop()

    def __call__(self, fun: F) -> F:
        """`fun` with each call under this name."""
        name = self._name

        @front_door_of(fun)
        def named(*args: Any, **kwargs: Any) -> Any:
            with named_scope(name):
                return fun(*args, **kwargs)

        return named  # type: ignore[return-value]


def named_call(fun: F, *, name: str | None = None) -> F:
    """`fun` with each call under a `named_scope` of `name`, or of its own name where that is None.

    >>> f = xfront.named_call(jnp.sin, name="wave")
    >>> "wave" in xfront.jit(f).lower(0.5).as_text(debug_info=True)
    True
    """
    if not callable(fun):
        raise TypeError(f"named_call: expected a function, got {fun!r}")
    return named_scope(name or getattr(fun, "__name__", type(fun).__name__))(fun)
