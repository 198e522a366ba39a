"""Objects that never change, so that a copy of one is the object itself."""

from __future__ import annotations

from typing import Self


class Fixed:
    """The base of values that never change once they are made."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
