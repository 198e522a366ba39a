"""Objects that never change, so that a copy of one is the object itself; and named ones."""

from __future__ import annotations

from typing import Self


class Fixed:
    """The base of values that never change once they are made."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Named(Fixed):
    """An object that has a name for people, and is compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name
