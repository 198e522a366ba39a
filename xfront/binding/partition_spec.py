"""PartitionSpec: which mesh axes divide each dimension of an array."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from xfront_ir.sharding import Spec

from .fixed import Fixed


class _Unconstrained:
    """The entry of a spec for a dimension that the compiler may divide as it likes."""

    _one: _Unconstrained | None = None

    def __new__(cls) -> _Unconstrained:
        cls._one = cls._one or super().__new__(cls)
        return cls._one

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str | tuple:
        return _Unconstrained, ()


class UnreducedKind(enum.Enum):
    """How the values that devices hold along unreduced axes are combined. Only `sum` is supported,
    not the greatest or the least of the values.

    >>> xfront.P(unreduced={"rows"}, unreduced_kind=sharding.UnreducedKind.sum).unreduced_kind
    <UnreducedKind.sum: 1>
    """

    sum = 1
    max = 2
    min = 3


class PartitionSpec(Fixed):
    """Which mesh axes divide each dimension of an array.

    Args:
      partitions: an entry for each dimension: None (not divided), the name of a mesh axis, a tuple
        of names (the first divides first), or `PartitionSpec.UNCONSTRAINED`. Dimensions after the
        last entry are not divided.
      unreduced: set of names of explicit axes over which devices hold terms of a sum; empty by
        default.
      reduced: set of names of explicit axes over which values are whole and cotangents are
        unreduced; empty by default.
      unreduced_kind: `UnreducedKind.sum` where there are unreduced axes, which is the default.
    Raises: TypeError where `unreduced` or `reduced` is not a set, or `unreduced_kind` is no
      UnreducedKind; ValueError where an axis is both, or is one and divides a dimension too, and
      for a kind without unreduced axes; NotImplementedError for the other kinds.

    >>> xfront.P("rows", None, ("a", "b"))
    P('rows', None, ('a', 'b'))
    """

    __slots__ = ("_hash", "partitions", "reduced", "unreduced")

    UNCONSTRAINED = _Unconstrained()

    partitions: tuple[Any, ...]

    def __init__(self, *partitions: Any, unreduced: AbstractSet[str] = frozenset(),
                 reduced: AbstractSet[str] = frozenset(),
                 unreduced_kind: UnreducedKind | None = None) -> None:
        self.partitions = tuple([_plain(p) for p in partitions])
        for word, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(axes, AbstractSet):
                raise TypeError(f"PartitionSpec: {word} is a set of names, got {axes!r}; write "
                                f"{word}={{...}}")
            if again := {n for p in self.partitions for n in axes_of(p)}.intersection(axes):
                raise ValueError(f"PartitionSpec: partitions and {word} axes cannot overlap, got "
                                 f"{sorted(again)} in both")
            if None in axes:
                raise ValueError(f"PartitionSpec: {word} has names of mesh axes alone, got None")
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        if unreduced_kind is not None:
            self._check(unreduced_kind)
        if both := self.unreduced & self.reduced:
            raise ValueError(f"PartitionSpec: axes {sorted(both)} are in both unreduced and "
                             "reduced; name each axis in only one of them")
        self._hash = hash((self.partitions, self.unreduced, self.reduced))

    def _check(self, kind: Any) -> None:
        if not isinstance(kind, UnreducedKind):
            raise TypeError("PartitionSpec: unreduced_kind must be an xfront.sharding.UnreducedKind"
                            f", got {kind!r}")
        if not self.unreduced:
            raise ValueError(f"PartitionSpec: unreduced_kind={kind} without unreduced axes; name "
                             "them in unreduced={...}, or leave the kind out")
        if kind is not UnreducedKind.sum:
            raise NotImplementedError(
                f"PartitionSpec: unreduced_kind={kind}: devices hold terms of sums alone; take the "
                f"{kind.name} over the axis first, by `lax.p{kind.name}` in `shard_map`")

    @property
    def unreduced_kind(self) -> UnreducedKind | None:
        """How unreduced values are combined; None without unreduced axes."""
        return UnreducedKind.sum if self.unreduced else None

    def __repr__(self) -> str:
        parts = [repr(p) for p in self.partitions]
        for word, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if names:
                parts.append(f"{word}={{{', '.join(map(repr, sorted(names)))}}}")
        only = len(self.partitions) == 1 == len(parts)
        return f"P({', '.join(parts)}{',' if only else ''})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is PartitionSpec and self._hash == other._hash
            and (self.partitions, self.unreduced, self.reduced) == (
                other.partitions, other.unreduced, other.reduced))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple:
        return _rebuilt, (self.partitions, self.unreduced, self.reduced)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(*self, *other, unreduced=self.unreduced | other.unreduced,
                                 reduced=self.reduced | other.reduced)
        return PartitionSpec(*self, *other, unreduced=self.unreduced, reduced=self.reduced)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self, unreduced=self.unreduced, reduced=self.reduced)

    def count(self, value: Any) -> int:
        """The number of dimensions with this entry."""
        return self.partitions.count(_plain(value))

    def index(self, value: Any) -> int:
        """The first dimension with this entry. Raises: ValueError where no dimension has it."""
        return self.partitions.index(_plain(value))

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with other `partitions`, `unreduced` or `reduced`."""
        return PartitionSpec(*changes.pop("partitions", self.partitions), **{
            "unreduced": self.unreduced, "reduced": self.reduced, **changes})


def _plain(entry: Any) -> Any:
    """An entry in the form for comparison: a tuple of one name is that name, an empty one None."""
    if isinstance(entry, (tuple, list)):
        entry = tuple(entry)
        return entry[0] if len(entry) == 1 else entry or None
    return entry


def _rebuilt(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def axes_of(entry: Any) -> tuple[str, ...]:
    """The names of the axes in one entry, a tuple."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if type(entry) is tuple else (entry,)


@lru_cache(maxsize=1024)
def ir_spec(spec: PartitionSpec, ndim: int) -> Spec:
    """The spec of an array of `ndim` dimensions in the form of the IR.

    Raises: ValueError where it has more than `ndim` entries.
    """
    if len(spec) > ndim:
        raise ValueError(f"the spec {spec} is only valid for values of rank at least {len(spec)}, "
                         f"but was applied to a value of rank {ndim}"
                         + ". For scalars the PartitionSpec should be P()" * (ndim == 0))
    entries = (*spec.partitions, *[None] * (ndim - len(spec)))
    opened = [i for i, e in enumerate(entries) if e is PartitionSpec.UNCONSTRAINED]
    return Spec([axes_of(e) for e in entries], opened, spec.unreduced, spec.reduced)


def public_spec(spec: Spec) -> PartitionSpec:
    """The PartitionSpec of a spec of the IR, without trailing entries that divide nothing."""
    entries = [PartitionSpec.UNCONSTRAINED if i in spec.open and not d else _plain(d)
               for i, d in enumerate(spec.dims)]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries, unreduced=frozenset(spec.unreduced),
                         reduced=frozenset(spec.reduced))


P = PartitionSpec

__all__ = ["P", "PartitionSpec", "UnreducedKind", "axes_of", "ir_spec", "public_spec"]
