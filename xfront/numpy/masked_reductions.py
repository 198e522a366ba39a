"""Reductions over axes that stay with size 1, with a mask: what softmax and attention take.

All take and return tracers and are called inside the body of a public function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..eager.operands import (
    broadcast_shapes,
    broadcast_to,
    convert,
    kept_shape,
    normalize_axes,
    operand,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .ufuncs import where

Axes = tuple[int, ...]


def axes_of(name: str, axis: Any, x: Tracer) -> Axes:
    """Axes in [0, ndim); None means all."""
    return normalize_axes(name, axis, x.ndim)


def kept(reduced: Tracer, x: Tracer, axes: Axes) -> Tracer:
    """A reduction of x with its axes as size 1."""
    shape = kept_shape(x.shape, axes)
    return reduced if reduced.shape == shape else emit(ops.reshape, reduced, shape=shape)


def along(reduced: Tracer, x: Tracer, axes: Axes) -> Tracer:
    """A reduction of x over axes, repeated along them."""
    dims = tuple([i for i in range(x.ndim) if i not in axes])
    return emit(ops.broadcast_in_dim, reduced, shape=x.shape, dims=dims)


def with_mask(name: str, x: Tracer, where: Any) -> tuple[Tracer, Tracer | None]:
    """x and a mask as a bool tracer, in the shape to which they broadcast; None without a mask.

    Raises: ValueError where the mask has more axes than x.
    """
    if where is None:
        return x, None
    mask = operand("where", where)
    if mask.value.type.dtype is not dtypes.bool_:
        mask = convert(mask, dtypes.bool_)
    if mask.ndim > x.ndim:                       # which axis of the two would be meant?
        raise ValueError(f"{name}: where must broadcast with the array, but where has shape "
                         f"{mask.shape} and the array {x.shape}; broadcast the array to it first")
    shape = broadcast_shapes("where", [mask.shape, x.shape])
    return broadcast_to(x, shape), broadcast_to(mask, shape)


def total(x: Any, axes: Axes, mask: Tracer | None = None) -> Tracer:
    """Sum over axes, which stay with size 1."""
    if mask is not None:
        x = where(mask, x, 0)
    return kept(emit(ops.reduce_sum, x, axes=axes), x, axes)


def greatest(x: Any, axes: Axes, mask: Tracer | None = None) -> Tracer:
    """The greatest over axes, which stay with size 1; -inf (or the least number) of nothing."""
    if mask is not None:
        x = where(mask, x, real_least(x))
    return kept(emit(ops.reduce_max, x, axes=axes), x, axes)


def real_least(x: Tracer) -> float:
    """The least value of x's dtype, or of its real part's."""
    return dtypes.least(dtypes.real_of(x.value.type.dtype))


def count(x: Tracer, axes: Axes, mask: Tracer | None) -> Any:
    """How many elements there are over axes."""
    if mask is None:
        return int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    return total(convert(mask, x.value.type.dtype), axes)


def mean(x: Any, axes: Axes, mask: Tracer | None = None) -> Tracer:
    """Mean over axes, which stay with size 1."""
    return total(x, axes, mask) / count(x, axes, mask)
