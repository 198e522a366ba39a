"""Where an argument is committed to be."""

from __future__ import annotations

from typing import Any

from .binding import ArrayImpl
from .keys import KeyArray


class Promised:
    """In place of an argument that will be committed: of a program that is compiled before, or that
    is told where to run. `what` is told in errors, where it is no argument."""

    __slots__ = ("aval", "sharding", "what")

    def __init__(self, aval: Any, sharding: Any, what: str = "") -> None:
        self.aval, self.sharding, self.what = aval, sharding, what


def commitment(x: Any) -> Any:
    """The sharding to which an argument is committed, or None."""
    kind = type(x)
    if kind is KeyArray:
        x = x._base
    elif kind is not ArrayImpl:
        return x.sharding if kind is Promised else None
    return x._sharding if x._committed else None
