"""Slices and updates at computed positions.

A slice that would reach outside is moved to lie inside. Negative indices count from the end
of their axis. Source: StableHLO spec, `dynamic_slice` and `dynamic_update_slice`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, ir_dtype, promoted_dtype
from ..eager.operands import operand as tracer
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .shape import along
from .strict import axis_in, same_dtype, sizes, static_int, weakly

Flags = bool | Sequence[bool]


# --- starts ---------------------------------------------------------------------------------

def _starts(name: str, shape: tuple[int, ...], indices: Any, negative: Any) -> list[Any]:
    """Scalar tracers of one integer dtype, one for each axis, negative ones made positive."""
    if isinstance(indices, (list, tuple)):
        given = list(indices)
    else:
        array = tracer(name, indices)
        if array.ndim != 1:
            raise TypeError(f"{name}: start indices must be a sequence or a vector, got shape "
                            f"{array.shape}")
        given = [emit(ops.reshape, along(array, 0, i, i + 1), shape=())
                 for i in range(array.shape[0])]
    if len(given) != len(shape):
        raise ValueError(f"{name}: an array of shape {shape} takes {len(shape)} start indices, got "
                         f"{len(given)}")
    flags = list(negative) if isinstance(negative, (list, tuple)) else [negative] * len(given)
    if len(flags) != len(given):
        raise ValueError(f"{name}: allow_negative_indices must be a bool or one bool for each of "
                         f"the {len(given)} axes, got {negative}")
    if not given:
        return []
    given = [x if type(x) is int else tracer(name, x) for x in given]
    found = [ir_dtype(x) for x in given]
    for x, (d, _) in zip(given, found, strict=True):
        if not d.is_integer or (type(x) is Tracer and x.shape):
            raise TypeError(f"{name}: start indices must be integer scalars, got dtypes "
                            f"{', '.join([d.numpy.name for d, _ in found])}")
    dtype = promoted_dtype("starts", found)[0]   # strict promotion is for operands alone
    if dtype.bits < 32:                      # the dtype must hold sizes too
        dtype = dtypes.i32
    return [_start(x, n, dtype, flag) for x, n, flag in zip(given, shape, flags, strict=True)]


def _start(x: Any, size: int, dtype: Any, negative: bool) -> Any:
    target = state.current
    assert target is not None
    if type(x) is int:
        known = x + size if x < 0 and negative else x
        info = np.iinfo(dtype.numpy)
        held = known if info.min <= known <= info.max else (0 if known < 0 else size)
        return target.literal(np.asarray(held, dtype.numpy), ())
    x = convert(x, dtype)
    if dtype.is_unsigned or not negative:
        return x
    zero = target.literal(np.zeros((), dtype.numpy), ())
    whole = target.literal(np.asarray(size, dtype.numpy), ())
    return emit(ops.select, x < zero, x + whole, x)


def _start_along(name: str, shape: tuple[int, ...], axis: int, index: Any, negative: bool
                 ) -> list[Any]:
    """Starts that are 0 but along one axis."""
    if isinstance(index, (list, tuple)):
        raise TypeError(f"{name} requires an integer scalar as index, got {type(index)}")
    if type(index) is not int:
        index = tracer(name, index)
        if index.shape:
            raise TypeError(f"{name}: the index must be a scalar, got shape {index.shape}")
    return _starts(name, shape, [index if d == axis else 0 for d in range(len(shape))], negative)


# --- slices ---------------------------------------------------------------------------------

@eager(static=("slice_sizes", "allow_negative_indices"))
def dynamic_slice(operand: ArrayLike, start_indices: Array | Sequence[ArrayLike],
                  slice_sizes: Sequence[int], *, allow_negative_indices: Flags = True) -> Array:
    """A block of the operand of known size at computed indices.

    Args:
      start_indices: an integer scalar for each axis, or a vector of them.
      slice_sizes: the shape of the result.
      allow_negative_indices: whether negative indices count from the end; a bool, or one for each
        axis.
    Raises: TypeError where a size is too large or an index is not an integer; ValueError where
      there is not one index for each axis.

    >>> lax.dynamic_slice(jnp.array([1, 2, 3, 4]), (1,), (2,))
    Array([2, 3], dtype=int32)
    """
    x = tracer("dynamic_slice", operand)
    shape = sizes("dynamic_slice slice_sizes", slice_sizes)
    starts = _starts("dynamic_slice", x.shape, start_indices, allow_negative_indices)
    return weakly(emit(ops.dynamic_slice, x, *starts, sizes=shape), x.weak) if starts else x


@eager(static=("slice_size", "axis", "allow_negative_indices"))
def dynamic_slice_in_dim(operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0,
                         *, allow_negative_indices: bool = True) -> Array:
    """`slice_size` elements along one axis from a computed index.

    >>> lax.dynamic_slice_in_dim(jnp.array([1, 2, 3, 4]), 1, 2)
    Array([2, 3], dtype=int32)
    """
    x = tracer("dynamic_slice_in_dim", operand)
    size = static_int("slice_size", slice_size)
    return _slice_along("dynamic_slice_in_dim", x, start_index, size, axis, allow_negative_indices)


def _slice_along(name: str, x: Any, index: Any, size: int, axis: int, negative: bool) -> Any:
    a = axis_in(name, axis, x.ndim)
    starts = _start_along(name, x.shape, a, index, negative)
    shape = (*x.shape[:a], size, *x.shape[a + 1:])
    return weakly(emit(ops.dynamic_slice, x, *starts, sizes=shape), x.weak)


@eager(static=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True,
                         *, allow_negative_indices: bool = True) -> Array:
    """One element along an axis at a computed index; without `keepdims` the axis is removed.

    >>> lax.dynamic_index_in_dim(jnp.array([1, 2, 3, 4]), 1)
    Array([2], dtype=int32)
    """
    x = tracer("dynamic_index_in_dim", operand)
    one = _slice_along("dynamic_index_in_dim", x, index, 1, axis, allow_negative_indices)
    if keepdims:
        return one
    a = axis % x.ndim
    return emit(ops.reshape, one, shape=(*x.shape[:a], *x.shape[a + 1:]))


# --- updates --------------------------------------------------------------------------------

@eager(static=("allow_negative_indices",))
def dynamic_update_slice(operand: ArrayLike, update: ArrayLike,
                         start_indices: Array | Sequence[ArrayLike], *,
                         allow_negative_indices: Flags = True) -> Array:
    """The operand with the block at computed indices replaced by `update`.

    Args: as `dynamic_slice`; `update` has the operand's dtype and number of axes.

    >>> lax.dynamic_update_slice(jnp.array([1, 2, 3, 4]), jnp.array([8, 9]), (1,))
    Array([1, 8, 9, 4], dtype=int32)
    """
    x, value = same_dtype("dynamic_update_slice", operand, update)
    starts = _starts("dynamic_update_slice", x.shape, start_indices, allow_negative_indices)
    return _updated(x, value, starts)


def _updated(x: Any, value: Any, starts: list[Any]) -> Any:
    if value.ndim != x.ndim:
        raise TypeError(f"dynamic_update_slice: update {value.value.type} and operand "
                        f"{x.value.type} must have the same number of axes")
    if any(n > m for n, m in zip(value.shape, x.shape, strict=True)):
        raise TypeError(f"dynamic_update_slice: update {value.value.type} does not fit in operand "
                        f"{x.value.type}")
    if not starts:
        return value
    return weakly(emit(ops.dynamic_update_slice, x, value, *starts), x.weak)


@eager(static=("axis", "allow_negative_indices"))
def dynamic_update_slice_in_dim(operand: ArrayLike, update: ArrayLike, start_index: ArrayLike,
                                axis: int, *, allow_negative_indices: bool = True) -> Array:
    """The operand with `update` in place of its elements from a computed index on, along one axis.

    >>> lax.dynamic_update_slice_in_dim(jnp.array([1, 2, 3]), jnp.array([8]), 1, 0)
    Array([1, 8, 3], dtype=int32)
    """
    name = "dynamic_update_slice_in_dim"
    x, value = same_dtype("dynamic_update_slice", operand, update)
    a = axis_in(name, axis, x.ndim)
    return _updated(x, value, _start_along(name, x.shape, a, start_index, allow_negative_indices))


@eager(static=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int,
                                *, allow_negative_indices: bool = True) -> Array:
    """The operand with one element along an axis replaced by `update`, which may lack that axis.

    >>> lax.dynamic_update_index_in_dim(jnp.array([1, 2, 3]), 9, 1, 0)
    Array([1, 9, 3], dtype=int32)
    """
    name = "dynamic_update_index_in_dim"
    x, value = same_dtype("dynamic_update_slice", operand, update)
    a = axis_in(name, axis, x.ndim)
    if value.ndim != x.ndim:
        if value.ndim + 1 != x.ndim:
            raise TypeError(f"{name}: update of shape {value.shape} does not fit shape {x.shape}")
        value = emit(ops.reshape, value, shape=(*value.shape[:a], 1, *value.shape[a:]))
    return _updated(x, value, _start_along(name, x.shape, a, index, allow_negative_indices))


__all__ = [
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim",
    "dynamic_update_slice", "dynamic_update_slice_in_dim",
]  # fmt: skip
