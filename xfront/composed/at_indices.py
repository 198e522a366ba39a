"""Gathers and scatters written in numpy: `index_take`, `scatter_apply`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import operand as tracer
from ..lax.gathering import gather, scatter_add
from ..lax.shape import full
from ..numpy.creation import asarray
from ..numpy.indexed_updates import apply_at


def scatter_apply(operand: ArrayLike, scatter_indices: ArrayLike, func: Callable[[Any], Any],
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Sequence[int] = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: str | GatherScatterMode | None = None) -> Array:
    """The operand with `func` applied to the elements of slices.

    Args:
      func: a function from an element to an element of the same dtype. It is applied to an
        element once for each slice that holds it.
      update_shape: the shape that updates would have.
      The other arguments are those of `scatter`.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, at = jnp.array([1., 2., 3.]), jnp.array([[0], [2]])
    >>> lax.scatter_apply(x, at, lambda e: 10 * e, numbers, update_shape=(2,))
    Array([10.,  2., 30.], dtype=float32)
    """
    x = asarray(operand)
    touched = scatter_add(full(x.shape, 0, np.int32), scatter_indices,
                          full(update_shape, 1, np.int32), dimension_numbers,
                          indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                          mode=mode)
    return apply_at(func, x, touched, unique_indices)


def index_take(src: ArrayLike, idxs: Sequence[Any], axes: Sequence[int]) -> Array:
    """The slices of `src` at several places of some of its axes.

    Args:
      idxs: a vector of integer indices for each axis in `axes`, all of the same length; indices
        are taken modulo the size of the axis.
      axes: the axes that are indexed. The result has the indices as its first axis instead.
    Raises: TypeError where the indices are not integer vectors of the same length.

    >>> lax.index_take(jnp.array([5, 6, 7]), (jnp.array([2, 0]),), (0,))
    Array([7, 5], dtype=int32)
    """
    return _index_take(src, tuple(idxs), axes=tuple(int(a) for a in axes))


@eager(static=("axes",))
def _index_take(src: Any, idxs: Any, axes: tuple[int, ...]) -> Any:
    x = tracer("index_take", src)
    columns = [jnp.asarray(i) for i in idxs]
    if len(columns) != len(axes) or any(
            c.ndim != 1 or c.shape != columns[0].shape or not jnp.issubdtype(c.dtype, jnp.integer)
            for c in columns):
        raise TypeError(f"index_take: idxs must be {len(axes)} integer vectors of the same length, "
                        f"one for each axis, got shapes {[c.shape for c in columns]}")
    axes = tuple([a % x.ndim for a in axes])
    wide = [c if c.dtype.itemsize >= 4 else c.astype(np.int32) for c in columns]    # holds sizes
    places = jnp.stack([jnp.mod(c, x.shape[a]).astype(np.int32)
                        for c, a in zip(wide, axes, strict=True)], axis=1)
    one_each = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    numbers = GatherDimensionNumbers(tuple(range(1, x.ndim - len(axes) + 1)),
                                     tuple([axes[k] for k in order]), axes)
    return gather(x, places, numbers, one_each, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


__all__ = ["index_take", "scatter_apply"]
