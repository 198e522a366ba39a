"""associative_scan: running combination along an axis, in logarithmic depth.

Source: Blelloch, "Prefix sums and their applications" (1990).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..base.trees import tree_flatten, tree_unflatten
from ..eager.dispatch import eager
from ..eager.operands import array_like, convert
from ..eager.operands import operand as tracer
from .shape import along, concatenate, reshape, rev, stack
from .strict import axis_in

T = TypeVar("T")


def associative_scan(fn: Callable[[Any, Any], Any], elems: T, reverse: bool = False,
                     axis: int = 0) -> T:
    """All running combinations of elements along an axis.

    Args:
      fn: an associative function of two trees like `elems`, for slices of any length.
      elems: a tree of arrays with the same size along `axis`.
      reverse: whether to combine from the end.
    Returns: a tree like `elems`; element i is the combination of the elements up to i.
    Raises: TypeError where `fn` is not callable; ValueError where sizes differ.

    >>> lax.associative_scan(lax.add, jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"associative_scan: fn must be a function, got {fn!r}")
    leaves, tree = tree_flatten(elems)
    if not leaves:
        return elems
    leaves = [array_like("associative_scan", x) for x in leaves]
    at = axis_in("associative_scan", axis, np.ndim(leaves[0]))
    shapes = [np.shape(x) for x in leaves]
    if any(len(s) <= at or s[at] != shapes[0][at] for s in shapes):
        raise ValueError(f"associative_scan: arrays must have the same size along axis {at}, got "
                         f"shapes {shapes}")

    def combine(left: list[Any], right: list[Any]) -> list[Any]:
        made, out_tree = tree_flatten(fn(tree_unflatten(tree, left), tree_unflatten(tree, right)))
        if out_tree != tree:
            raise ValueError("associative_scan: fn must return a tree of the structure that it "
                             f"takes, {tree}, but returned {out_tree}")
        return made

    if reverse:
        leaves = [rev(x, (at,)) for x in leaves]
    made = _scan(combine, leaves, at)
    return tree_unflatten(tree, [rev(x, (at,)) for x in made] if reverse else made)


def _scan(combine: Callable[[list[Any], list[Any]], list[Any]], xs: list[Any], axis: int
          ) -> list[Any]:
    n = np.shape(xs[0])[axis]
    if n < 2:
        return xs
    pairs = combine([_cut(x, axis, 0, n - 1, 2) for x in xs], [_cut(x, axis, 1, n, 2) for x in xs])
    odd = _scan(combine, pairs, axis)
    even = [_cut(x, axis, 0, 1, 1) for x in xs]
    if n > 2:
        before = [_cut(x, axis, 0, (n - 1) // 2, 1) for x in odd]
        after = combine(before, [_cut(x, axis, 2, n, 2) for x in xs])
        even = [concatenate([f, a], axis) for f, a in zip(even, after, strict=True)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


@eager(static=("axis", "start", "limit", "stride"))
def _cut(x: Any, axis: int, start: int, limit: int, stride: int) -> Any:
    return along(tracer("associative_scan", x), axis, start, limit, stride)


@eager(static=("axis",))
def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """even[0], odd[0], even[1], ...; even may have one element more. Never weak, as in JAX."""
    even, odd = (convert(t, t.value.type.dtype)
                 for t in (tracer("associative_scan", even), tracer("associative_scan", odd)))
    n = odd.shape[axis]
    shape = (*odd.shape[:axis], 2 * n, *odd.shape[axis + 1:])
    both = reshape(stack([along(even, axis, 0, n), odd], axis + 1), shape)
    if even.shape[axis] == n:
        return both
    return concatenate([both, along(even, axis, n, n + 1)], axis)


__all__ = [
    "associative_scan",
]  # fmt: skip
