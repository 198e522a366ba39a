"""Short functions in which `nn` is written: arithmetic that promotes, choices, masked reductions.

All take and return tracers (or numbers) and are called inside the body of a public function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.operands import (
    binary,
    broadcast_shapes,
    broadcast_to,
    convert,
    inexact_dtype,
    kept_shape,
    normalize_axes,
    operand,
    together,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer

Axes = tuple[int, ...]


def inexact(name: str, x: Any) -> Tracer:
    """The tracer of an argument; integers and bools as the default float."""
    x = operand(name, x)
    dtype = x.value.type.dtype
    return x if dtype.is_inexact else convert(x, inexact_dtype(dtype), x.weak)


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """x + y."""
    return binary(ops.add, "add", x, y)


def sub(x: Any, y: Any) -> Any:
    """x - y."""
    return binary(ops.sub, "subtract", x, y)


def mul(x: Any, y: Any) -> Any:
    """x * y."""
    return binary(ops.mul, "multiply", x, y)


def div(x: Any, y: Any) -> Any:
    """x / y."""
    return binary(ops.div, "divide", x, y, inexact=True)


def compare(definition: Any, x: Any, y: Any) -> Any:
    """A comparison."""
    return binary(definition, definition.name, x, y)


def choose(condition: Tracer, x: ArrayLike, y: ArrayLike) -> Array:
    """x where the condition holds, else y."""
    x, y = together("where", x, y)
    shape = broadcast_shapes("where", [condition.shape, x.shape])
    made = emit(ops.select, broadcast_to(condition, shape), broadcast_to(x, shape),
                broadcast_to(y, shape))
    return Tracer(made.home, made.value, x.weak)


def stopped(x: Tracer) -> Tracer:
    """x as a constant to derivatives."""
    return emit(ops.stop_gradient, x)


# --- reductions that keep their axes --------------------------------------------------------

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
        x = as_tracer(choose(mask, x, 0))
    return kept(emit(ops.reduce_sum, x, axes=axes), x, axes)


def greatest(x: Tracer, axes: Axes, mask: Tracer | None = None) -> Tracer:
    """The greatest over axes, which stay with size 1; -inf (or the least number) of nothing."""
    if mask is not None:
        x = as_tracer(choose(mask, x, real_least(x)))
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
    return div(total(x, axes, mask), count(x, axes, mask))
