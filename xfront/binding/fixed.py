"""Objects that do not change. Meshes and specs are parts of keys, and all equal ones are one
object, so that a change of one would change every array that has it."""

from __future__ import annotations

from typing import Any


class Fixed:
    """The base of classes whose public attributes are set once."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and _is_set(self, name):
            raise AttributeError(f"cannot assign to {name!r}: a {type(self).__name__} does not "
                                 "change; make another")
        object.__setattr__(self, name, value)


def _is_set(x: Fixed, name: str) -> bool:
    try:
        object.__getattribute__(x, name)
    except AttributeError:
        return False
    return True


__all__ = ["Fixed"]
