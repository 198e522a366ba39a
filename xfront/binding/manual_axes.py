"""The axes of `shard_map`s over which a value varies, in the form that types show."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any


class ManualAxisType:
    """The axes over which a value inside `shard_map` varies. Immutable, and compared by content.

    Args:
      varying: set of names of axes along which the value may differ between devices.
      unreduced, reduced: sets of names of axes over which the sum of the value, or of its
        cotangent, is still to be taken.
    Raises: TypeError where they are not sets; ValueError where an axis is in two of them.

    >>> xfront.sharding.ManualAxisType(varying={"x"})
    ManualAxisType(varying=frozenset({'x'}), unreduced=frozenset(), reduced=frozenset())
    """

    __slots__ = ("reduced", "unreduced", "varying")

    varying: frozenset[str]
    unreduced: frozenset[str]
    reduced: frozenset[str]

    def __init__(self, *, varying: AbstractSet[str] = frozenset(),
                 unreduced: AbstractSet[str] = frozenset(),
                 reduced: AbstractSet[str] = frozenset()) -> None:
        given = {"varying": varying, "unreduced": unreduced, "reduced": reduced}
        for name, axes in given.items():
            if not isinstance(axes, AbstractSet):
                raise TypeError(f"ManualAxisType: {name} must be a set of names, got {axes!r}")
            object.__setattr__(self, name, frozenset(axes))
        for name in ("unreduced", "reduced"):
            if self.varying & given[name]:
                raise ValueError(f"varying and {name} cannot have common mesh axes. Got "
                                 f"varying={set(varying)} and {name}={set(given[name])}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    @property
    def empty(self) -> bool:
        """Whether no axis is in any of the sets."""
        return not self.vur

    @property
    def vur(self) -> frozenset[str]:
        """All axes."""
        return self.varying | self.unreduced | self.reduced

    def to_ct_mat(self) -> ManualAxisType:
        """The type of the cotangent."""
        return ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)

    def update(self, **changes: Any) -> ManualAxisType:
        """A copy with some sets replaced."""
        return ManualAxisType(**{**self._fields(), **changes})

    def _fields(self) -> dict[str, frozenset[str]]:
        return {name: getattr(self, name) for name in ("varying", "unreduced", "reduced")}

    def __eq__(self, other: object) -> bool:
        return type(other) is ManualAxisType and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(tuple(self._fields().values()))

    def __reduce__(self) -> tuple:
        return _restored, (self._fields(),)

    def __repr__(self) -> str:
        shown = []
        for name, axes in self._fields().items():
            listed = ", ".join(map(repr, sorted(axes)))
            shown.append(f"{name}=frozenset({{{listed}}})" if axes else f"{name}=frozenset()")
        return f"ManualAxisType({', '.join(shown)})"

    @property
    def text(self) -> str:
        """The text after a type, such as `{V:x}`."""
        letters = (("V", self.varying), ("U", self.unreduced), ("R", self.reduced))
        found = [f"{letter}:{min(axes) if len(axes) == 1 else _listed(axes)}"
                 for letter, axes in letters if axes]
        return "{" + ", ".join(found) + "}" if found else ""


def _listed(axes: frozenset[str]) -> str:
    return f"({','.join(sorted(axes))})"


def _restored(fields: dict[str, frozenset[str]]) -> ManualAxisType:
    return ManualAxisType(**fields)


INVARYING = ManualAxisType()
"""The type of values that are the same on all devices."""
