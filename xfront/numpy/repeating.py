"""Elements repeated in place, and rolled along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from .. import binding
from ..binding.annotations import Array, ArrayLike, AxisLike, ShardingLike
from ..binding.promotion import dtype_kind
from ..eager import operands
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import array_like, convert, index_of, listed, normalize_axis, operand
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .arithmetic import remainder
from .manipulation import cut, joined, ravel, unstack
from .positions import known_values, take
from .running import cumsum
from .ufuncs import shaped

# --- repeating ----------------------------------------------------------------------------


@eager(static=("repeats", "axis"))
def _repeat_evenly(a: Any, repeats: int, axis: int) -> Any:
    x = operand("repeat", a)
    shape, n = x.shape, len(x.shape)
    dims = tuple([i + (i > axis) for i in range(n)])
    x = emit(ops.broadcast_in_dim, x, dims=dims,
             shape=(*shape[:axis + 1], repeats, *shape[axis + 1:]))
    return shaped(x, (*shape[:axis], shape[axis] * repeats, *shape[axis + 1:]))


@eager(static=("axis", "length"))
def _repeat_each(a: Any, repeats: Any, axis: int, length: int) -> Any:
    """Element i `repeats[i]` times; cut to `length`, or filled up with the last element."""
    x, counts = operand("repeat", a), operand("repeat", repeats)
    size = x.shape[axis]
    counts = operands.broadcast_to(shaped(counts, (counts.size,)), (size,))
    target = x.home
    marks = target.literal(np.int32(0), (length,))
    if size > 1 and length:
        starts = cut(as_tracer(cumsum(convert(counts, dtypes.i32))), 0, 0, size - 1)
        ones = target.literal(np.int32(1), (size - 1,))
        marks = cumsum(emit(
            ops.scatter_add, marks, shaped(starts, (size - 1, 1)), ones, update_window_dims=(),
            inserted_window_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=(),
            scatter_dims_to_operand_dims=(0,), mode="drop", indices_are_sorted=True,
            unique_indices=False))
    return take(x, marks, axis, mode="clip")


@takes_out_sharding("repeat")
def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None, *,
           total_repeat_length: int | None = None, out_sharding: ShardingLike = None) -> Array:
    """Each element, or slice along an axis, repeated in place.

    Args:
      repeats: a number, or one for each element; it must be known unless `total_repeat_length` is
        given.
      axis: the axis; None repeats the elements of the flattened array.
      total_repeat_length: the size of the result along the axis; longer results are cut, shorter
        ones filled with the last element.
      out_sharding: the sharding of the result; it must be given where explicit axes divide what
        is repeated, unless it is repeated evenly and no mesh is in context: it stays divided.
    Raises: TypeError for lists and negative numbers; ValueError for axes out of range, for another
      number of repeats, and where an out_sharding is missing; ConcretizationTypeError for traced
      repeats without `total_repeat_length`.
    Source: `numpy.repeat`.

    >>> jnp.repeat(jnp.array([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    at_home("repeat", out_sharding)
    a, repeats = array_like("repeat", a), array_like("repeat", repeats)
    shape = getattr(a, "shape", ())
    if binding.mesh_state.value is not None or np.size(repeats) != 1 or (
            total_repeat_length is not None):
        _check_divided(a, axis)
    if axis is None:
        a, shape, at = ravel(a), (math.prod(shape),), 0
    elif not shape:
        normalize_axis("repeat", axis, 1)
        a, shape, at = ravel(a), (1,), 0
    else:
        at = normalize_axis("repeat", axis, len(shape))
    if np.size(repeats) != 1 and np.shape(repeats) != (shape[at],):
        raise ValueError(f"repeat: repeats must be one number or one for each of the {shape[at]} "
                         f"elements along the axis, got shape {np.shape(repeats)}")
    if total_repeat_length is not None:
        return _repeat_each(a, repeats, at, index_of(total_repeat_length, "total_repeat_length"))
    counts = known_values("repeat", repeats, "pass total_repeat_length, the size of the result")
    if dtype_kind(counts.dtype) not in "iub":
        raise TypeError(f"repeat: repeats must be integers, got {counts.dtype}")
    if (counts < 0).any():
        raise TypeError(f"repeat: repeats must not be negative, got {counts}")
    if counts.size == 1:
        return _repeat_evenly(a, int(counts.reshape(())), at)
    return take(a, np.repeat(np.arange(shape[at], dtype=np.int32), counts), at, mode="clip")


def _check_divided(a: Any, axis: int | None) -> None:
    """Refuse to repeat along a divided dimension, because nothing says how to divide the result.
    Raises: ValueError."""
    kind = a.value.type if type(a) is Tracer else getattr(getattr(a, "aval", None), "ir", None)
    if kind is None or kind.sharding is None or state.out_sharding_given:
        return
    if any(kind.dims if axis is None else kind.dims[normalize_axis("repeat", axis, kind.ndim)]):
        raise ValueError(f"repeat: explicit axes divide what is repeated of {kind}; say where the "
                         "result lies by out_sharding=P(...)")


# --- rolling ------------------------------------------------------------------------------

def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: AxisLike = None) -> Array:
    """Elements shifted along axes; those that leave at the end come in at the beginning.

    Args:
      shift: ints, or integer arrays, one for each axis or one for all.
      axis: axis or axes; None shifts the flattened array.
    Raises: ValueError for axes out of range, and where shifts and axes differ in number.
    Source: `numpy.roll`.

    >>> jnp.roll(jnp.array([1, 2, 3]), 1)
    Array([3, 1, 2], dtype=int32)
    """
    if type(shift) is int or isinstance(shift, (tuple, list)) and all(
            type(s) is int for s in shift):
        return _roll_by(a, shift, axis)
    return _roll(a, shift, axis)


def _turns(shape: tuple[int, ...], shift: Any, n_shifts: int | None, axis: Any) -> list[Any]:
    axes = [normalize_axis("roll", i, len(shape)) for i in listed(axis)]
    shifts = list(shift) if n_shifts is not None else [shift]
    if len(shifts) != len(axes):
        if len(shifts) != 1 and len(axes) != 1:
            raise ValueError(f"roll: shift and axis do not match: {len(shifts)} shifts and "
                             f"{len(axes)} axes")
        n = len(axes) if len(shifts) == 1 else len(shifts)
        shifts, axes = (v * n if len(v) == 1 else v for v in (shifts, axes))
    return list(zip(axes, shifts, strict=True))


@eager(static=("shift", "axis"))
def _roll_by(a: Any, shift: Any, axis: Any) -> Any:
    x = operand("roll", a)
    shape = x.shape
    if axis is None:
        x, axis = shaped(x, (x.size,)), 0
        if isinstance(shift, (tuple, list)):
            shift = sum(shift)
    for at, n in _turns(x.shape, shift, len(shift) if isinstance(shift, (tuple, list)) else None,
                        axis):
        size = x.shape[at]
        turn = n % size if size else 0
        if turn:
            x = joined([cut(x, at, size - turn, size), cut(x, at, 0, size - turn)], at)
    return shaped(x, shape)


@eager(static=("axis",))
def _roll(a: Any, shift: Any, axis: Any) -> Any:
    x = operand("roll", a)
    shape = x.shape
    if isinstance(shift, (tuple, list)):
        shifts: Any = [operand("roll", s) for s in shift]
    else:
        given = operand("roll", shift)
        if given.ndim > 1:
            raise ValueError(f"roll: shift must be a scalar or 1-d, got shape {given.shape}")
        shifts = list(unstack(given)) if given.ndim else given
    if axis is None:
        x, axis = shaped(x, (x.size,)), 0
        if isinstance(shifts, list):
            axis = (0,) * len(shifts)
    for at, by in _turns(x.shape, shifts, len(shifts) if isinstance(shifts, list) else None, axis):
        size = x.shape[at]
        if not size:
            continue
        start = as_tracer(remainder(-_as_index(by), size))
        zero = start.home.literal(np.int32(0), ())
        starts = [start if i == at else zero for i in range(x.ndim)]
        turned = emit(ops.dynamic_slice, joined([x, x], at), *starts, sizes=x.shape)
        turned.weak, x = x.weak, turned
    return shaped(x, shape)


def _as_index(x: Tracer) -> Tracer:
    return convert(x, dtypes.i32)


__all__ = ["repeat", "roll"]
