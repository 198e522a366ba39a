"""Values of a program's own on which traces depend."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Hashable, Iterator
from typing import Any

from ..binding import make_state
from ..binding.tracebacks import front_door

_numbers = itertools.count()


class UserContext:
    """A value for each thread that is part of the key of every trace: where it differs, functions
    are traced again. `context(value)` is a context manager, or decorator, that sets it."""

    __slots__ = ("_state",)

    def __init__(self, default_value: Any) -> None:
        self._state = make_state(f"user_context_{next(_numbers)}", default_value)

    @property
    def value(self) -> Any:
        """The value for this thread."""
        return self._state.value

    def get_global(self) -> Any:
        """The value of threads that have none of their own."""
        return self._state.get_global()

    @front_door
    def set_global(self, value: Any) -> None:
        """Set the value of threads that have none of their own.

        Raises: TypeError where it has no hash.
        """
        self._state.set_global(_hashable(value))

    @front_door
    def __call__(self, value: Any) -> contextlib.AbstractContextManager[None]:
        """A context in which this thread sees `value`. Raises: TypeError where it has no hash."""
        return self._set(_hashable(value))

    @contextlib.contextmanager
    def _set(self, value: Any) -> Iterator[None]:
        before = self._state.swap_local(value)
        try:
            yield
        finally:
            self._state.set_local(before)


@front_door
def make_user_context(default_value: Hashable = None) -> UserContext:
    """A context of the program's own, for what its functions read while they are traced.

    It lives as long as the process: make one for each purpose.

    Args:
      default_value: a hashable value.
    Raises: TypeError where it has no hash.

    >>> rounding = xfront.make_user_context("up")
    >>> f = xfront.jit(lambda x: jnp.ceil(x) if rounding.value == "up" else jnp.floor(x))
    >>> with rounding("down"):
    ...     down = f(1.5)
    >>> float(f(1.5)), float(down)
    (2.0, 1.0)
    """
    return UserContext(_hashable(default_value))


def _hashable(value: Any) -> Any:
    """The value. Raises: TypeError where it has no hash."""
    try:
        hash(value)
    except TypeError:
        raise TypeError("a user context is part of the keys of traces, so its values must be "
                        f"hashable, got {value!r}") from None
    return value
