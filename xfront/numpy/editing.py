"""Elements added to, taken from and put into arrays: append, delete, insert, resize, trim_zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike, AxisLike, ShapeLike
from ..binding.promotion import dtype_kind
from ..eager.dispatch import eager
from ..eager.operands import (
    array_like,
    broadcast_to,
    cast,
    convert,
    ir_dtype,
    listed,
    normalize_axis,
    operand,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .creation import asarray
from .extremes import maximum, minimum
from .indexing import getitem
from .manipulation import concatenate, cut, dims_of, joined, moveaxis, ravel
from .padding import picked
from .positions import known_values, take
from .ufuncs import shaped, where


@eager(static=("axis",))
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """`arr` followed by `values` along an axis; for None both are flattened.

    Raises: as `concatenate`.
    Source: `numpy.append`.

    >>> jnp.append(jnp.array([1, 2]), jnp.array([3]))
    Array([1, 2, 3], dtype=int32)
    """
    if axis is None:
        return concatenate([ravel(operand("append", arr)), ravel(operand("append", values))])
    return concatenate([arr, values], axis)


# --- delete -------------------------------------------------------------------------------

MOST_RUNS = 16
"""Known positions that form at most this many runs are taken as slices."""


def _at(x: Tracer, axis: int, index: np.ndarray) -> Tracer:
    """The elements at known positions along an axis."""
    if np.count_nonzero(np.diff(index) != 1) < MOST_RUNS:
        return picked(x, axis, index)
    return as_tracer(take(x, index.astype(np.int32), axis, mode="clip"))


@eager(static=("kept", "axis"))
def _keep(arr: Any, kept: bytes, axis: int) -> Any:
    return _at(operand("delete", arr), axis, np.frombuffer(kept, np.int64))


@eager(static=("axis",))
def _delete_unique(arr: Any, obj: Any, axis: int) -> Any:
    """`arr` without the elements at traced positions, which are all different and in range."""
    x, gone = operand("delete", arr), operand("delete", obj)
    size = x.shape[axis]
    n = gone.size
    gone = shaped(convert(gone, dtypes.i32), (n,))
    gone = where(gone < 0, gone + size, gone)
    (gone,) = emit(ops.sort, gone, dimension=0, n_keys=1, stable=False)
    gone = gone - emit(ops.iota, dtype=dtypes.i32, shape=(n,), dimension=0)
    left = emit(ops.iota, dtype=dtypes.i32, shape=(size - n, n), dimension=0)
    before = left >= broadcast_to(gone, left.shape)
    index = emit(ops.iota, dtype=dtypes.i32, shape=(size - n,), dimension=0)
    index = index + emit(ops.reduce_sum, convert(before, dtypes.i32), axes=(1,))
    return take(x, index, axis, mode="clip")


def _position(index: int, size: int) -> int:
    if not -size <= index < size:
        raise ValueError(f"delete: position {index} is out of bounds for an axis of size {size}")
    return index


def delete(arr: ArrayLike, obj: slice | ArrayLike | Sequence[int], axis: int | None = None, *,
           assume_unique_indices: bool = False
           ) -> Array:
    """`arr` without the elements, or slices along an axis, at some positions.

    Args:
      obj: a known integer, a slice, or a known array of integers, or of bools that mark elements.
      axis: the axis; None deletes from the flattened array.
      assume_unique_indices: promises that the integers are all different and in range; they may
        then be traced.
    Raises: TypeError for lists and positions that are not integers; ValueError for an integer out
      of range, IndexError for an array with one; ConcretizationTypeError for traced positions
      without `assume_unique_indices`.
    Source: `numpy.delete`.

    >>> jnp.delete(jnp.array([1, 2, 3]), 1)
    Array([1, 3], dtype=int32)
    """
    arr = array_like("delete", arr)
    if axis is None:
        arr, at = ravel(arr), 0
    else:
        at = normalize_axis("delete", axis, np.ndim(arr))
    size = arr.shape[at]
    if isinstance(obj, slice):
        gone: Any = np.arange(size)[obj]
    else:
        obj = array_like("delete", obj)
        if assume_unique_indices and getattr(obj, "ndim", 0) and obj.dtype.kind != "b":
            return _delete_unique(arr, obj, at)
        gone = known_values("delete", obj, "pass assume_unique_indices=True for an array of "
                                           "distinct positions")
        if dtype_kind(gone.dtype) not in "biu":
            raise TypeError(f"delete: positions must be integers or bools, got {gone.dtype}")
        gone = gone if gone.dtype.kind == "b" else gone.astype(np.int64)
        if not gone.ndim:
            gone = np.asarray(_position(int(gone), size))
        elif gone.dtype.kind == "b" and gone.shape != (size,):
            raise ValueError(f"delete: a mask must have the shape ({size},) of the axis, got "
                             f"{gone.shape}")
    kept = np.delete(np.arange(size, dtype=np.int64), gone)
    return _keep(arr, kept.tobytes(), at)


# --- insert -------------------------------------------------------------------------------

def insert(arr: ArrayLike, obj: slice | ArrayLike | Sequence[int], values: ArrayLike,
           axis: int | None = None) -> Array:
    """`arr` with `values` put in before some positions along an axis.

    Args:
      obj: an integer, a slice, or an array of integers, positions in `arr`; those beyond the ends
        are taken for the ends.
      values: the values to insert, converted to arr's dtype and broadcast to the positions.
      axis: the axis; None inserts into the flattened array.
    Raises: TypeError for lists.
    Source: `numpy.insert`.

    >>> jnp.insert(jnp.array([1, 2, 3]), 1, 9)
    Array([1, 9, 2, 3], dtype=int32)
    """
    arr, values = array_like("insert", arr), array_like("insert", values)
    if axis is None:
        arr, at = ravel(arr), 0
    else:
        at = normalize_axis("insert", axis, len(arr.shape))
    if isinstance(obj, slice):
        obj = np.arange(arr.shape[at], dtype=np.int32)[obj]
    obj = array_like("insert", obj)
    if ir_dtype(obj)[0].kind not in ("bool", "int", "uint"):
        raise ValueError(f"insert: positions must be integers, got {obj!r}")
    known = np.asarray(obj) if not isinstance(obj, Tracer) else None
    if known is not None and not known.ndim:
        return _insert_one(arr, values, int(known), at)
    return _insert(arr, obj, values, at)


def _values(x: Tracer, values: Any, axis: int, single: bool) -> Tracer:
    """`values` in x's dtype and rank; for a single position their first axis is moved to `axis`."""
    v = cast(operand("insert", values), x.value.type.dtype, x.weak)
    v = shaped(v, (1,) * (x.ndim - v.ndim) + v.shape)
    return as_tracer(moveaxis(v, 0, axis) if single else v)


def _along(v: Tracer, x: Tracer, axis: int, n: int) -> Tracer:
    return broadcast_to(v, (*x.shape[:axis], n, *x.shape[axis + 1:]))


@eager(static=("at", "axis"))
def _insert_one(arr: Any, values: Any, at: int, axis: int) -> Any:
    x = operand("insert", arr)
    size = x.shape[axis]
    at = min(max(at + size if at < 0 else at, 0), size)
    v = _values(x, values, axis, True)
    return joined([cut(x, axis, 0, at), _along(v, x, axis, v.shape[axis]),
                   cut(x, axis, at, size)], axis)


@eager(static=("axis",))
def _insert(arr: Any, obj: Any, values: Any, axis: int) -> Any:
    from .indexed_updates import AtIndex
    from .running import cumsum  # late: only this needs it

    x, places = operand("insert", arr), operand("insert", obj)
    v = _values(x, values, axis, not places.ndim)
    size, n = x.shape[axis], places.size
    places = convert(places, dtypes.i32)
    if n == 1:
        n = v.shape[axis]
        places = broadcast_to(shaped(places, (1,)), (n,))
    else:
        places = shaped(places, (n,))
    v = _along(v, x, axis, n)
    places = where(places < 0, places + size, places)
    places = maximum(minimum(places, size), 0)
    count = emit(ops.iota, dtype=dtypes.i32, shape=(n,), dimension=0)
    places, order = emit(ops.sort, places, count, dimension=0, n_keys=1, stable=True)
    places = places + count
    zeros = x.home.literal(np.int32(0), (size + n,))
    new = AtIndex(zeros, places).set(1)
    old = cumsum(1 - new)
    source = old - 1
    source = AtIndex(source, places).set(order + size)
    return take(joined([x, v], axis), source, axis, mode="clip")


# --- resize, trim_zeros -------------------------------------------------------------------

@eager(static=("new_shape",))
def resize(a: ArrayLike, new_shape: ShapeLike) -> Array:
    """The flattened elements, repeated as often as needed, in another shape.

    Raises: ValueError for negative sizes.
    Source: `numpy.resize`.

    >>> jnp.resize(jnp.array([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int32)
    """
    x = operand("resize", a)
    shape = dims_of("resize", new_shape)
    if any(d < 0 for d in shape):
        raise ValueError("resize: all elements of `new_shape` must be non-negative, got "
                         f"{new_shape}")
    size, wanted = x.size, math.prod(shape)
    if not size or not wanted:
        return x.home.literal(np.zeros((), x.dtype), shape, x.weak)
    times = -(-wanted // size)
    flat = broadcast_to(shaped(x, (1, size)), (times, size))
    return shaped(cut(shaped(flat, (times * size,)), 0, 0, wanted), shape)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: AxisLike = None) -> Array:
    """`filt` without the zeros at its front ("f"), its back ("b") or both, along axes.

    The values must be known. Raises: ConcretizationTypeError where they are not; ValueError for
      another `trim`.
    Source: `numpy.trim_zeros`.

    >>> jnp.trim_zeros(jnp.array([0, 1, 2, 0]))
    Array([1, 2], dtype=int32)
    """
    if not isinstance(trim, str) or not trim or set(trim.lower()) - set("fb"):
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}")
    filt = array_like("trim_zeros", filt)
    values = known_values("trim_zeros", filt, "the size of the result depends on them, so call it "
                                              "outside the traced function")
    axes = range(values.ndim) if axis is None else (
        [normalize_axis("trim_zeros", i, values.ndim) for i in listed(axis)])
    index = [slice(None)] * values.ndim
    for i, found in enumerate(np.nonzero(values)):
        if i in axes:
            low, high = (found.min(), found.max() + 1) if len(found) else (values.shape[i],) * 2
            index[i] = slice(low if "f" in trim.lower() else None,
                             high if "b" in trim.lower() and len(found) else None)
    return getitem(asarray(filt), tuple(index))


__all__ = ["append", "delete", "insert", "resize", "trim_zeros"]
