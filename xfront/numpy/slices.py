"""Slices of known length that start at a position which may be traced: `x[xfront.ds(start, 3)]`."""

from __future__ import annotations

from typing import Any

from ..base.trees import register_pytree_node
from ..binding.annotations import ArrayLike


class Slice:
    """A part of an index: `size` positions from `start` on, `stride` apart; made by `ds`.

    A start below 0 counts from the end, and one that is too large gives the last `size` positions.
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: Any, stride: int = 1) -> None:
        if type(size) is not int or type(stride) is not int or size < 0 or stride < 1:
            raise TypeError(f"ds: the size and the stride of a slice must be known ints, of at "
                            f"least 0 and 1, got size={size!r} and stride={stride!r}")
        self.start, self.size, self.stride = start, size, stride

    def within(self, n: int) -> tuple[Any, tuple[int, int]]:
        """The first position in an axis of size n, with the size and the stride.

        Raises: ValueError where the slice is longer than the axis."""
        last = n - (max(self.size, 1) - 1) * self.stride - min(self.size, 1)
        if last < 0:
            raise ValueError(f"the slice {self} does not fit in an axis of size {n}")
        start = self.start
        if type(start) is int:
            return max(min(start + n if start < 0 else start, last), 0), (self.size, self.stride)
        from .extremes import clip  # start-up: few programs have such slices

        return clip(start + n * (start < 0), 0, last), (self.size, self.stride)

    def __eq__(self, other: object) -> bool:
        return type(other) is Slice and (self.start, self.size, self.stride) == (
            other.start, other.size, other.stride)

    def __hash__(self) -> int:
        return hash((self.start, self.size, self.stride))

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"


register_pytree_node(Slice, lambda s: ((s.start,), (s.size, s.stride)),
                     lambda known, starts: _from_parts(starts[0], *known))


def _from_parts(start: Any, size: int, stride: int) -> Slice:
    made = object.__new__(Slice)
    made.start, made.size, made.stride = start, size, stride
    return made


def ds(start: ArrayLike | None, size: int | None = None, stride: int | None = None
       ) -> slice | Slice:
    """A slice of known length, for an index of an array or a reference.

    Args:
      start: its first position, an int or an integer scalar. Given alone, it is the length of a
        slice that begins at 0; None alone means the whole axis.
      size: its length, an int.
      stride: the distance between its positions, an int; None for 1.
    Raises: TypeError where `size` or `stride` is not a known int; where it is used, ValueError
      where it is longer than the axis.

    >>> jnp.arange(5)[xfront.ds(jnp.int32(1), 3)]
    Array([1, 2, 3], dtype=int32)
    """
    if start is None:
        return slice(None)
    stride = 1 if stride is None else stride
    return Slice(0, start, stride) if size is None else Slice(start, size, stride)


__all__ = ["Slice", "ds"]
