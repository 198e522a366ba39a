"""Elements by position and positions by value: take, nonzero, select, index arithmetic.

Results whose shape depends on values (`nonzero` without `size`) need known values; with `size`
they work while tracing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, overload

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import from_numpy
from xfront_ir.literal import Literal
from xfront_ir.ops.gathering import default_fill

from .. import binding
from ..base.dtypes import requested_dtype
from ..base.errors import ConcretizationTypeError
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike
from ..binding.promotion import dtype_kind
from ..eager.dispatch import eager
from ..eager.operands import (
    array_like,
    broadcast_shapes,
    broadcast_to,
    convert,
    default_int,
    index_of,
    listed,
    normalize_axis,
    operand,
    promote,
)
from ..running import concrete
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..values.commitment import beside
from . import ufuncs
from .creation import asarray
from .extremes import maximum, minimum
from .indexed_updates import AtIndex
from .indexing import LEFT_OUT, getitem, position, read
from .logic import truth
from .ufuncs import arithmetic, like

# --- take ---------------------------------------------------------------------------------


@eager(static=("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None,
         mode: str | None = None, unique_indices: bool = False, indices_are_sorted: bool = False,
         fill_value: ArrayLike | None = None) -> Array:
    """Elements, or slices along an axis, at positions.

    Args:
      indices: integers of any shape; negative ones count from the end.
      axis: the axis; None for the flattened array.
      mode: "fill", the default, returns `fill_value` (NaN, or the least integer) for positions
        outside the axis; "clip" the nearest element; "wrap" takes positions modulo the size.
    Raises: TypeError for indices that are not integers; ValueError for other modes;
      IndexError where elements are taken from an empty axis.
    Source: `numpy.take`.

    >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0]))
    Array([30, 10], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("take: arrays are immutable, so `out` is not supported")
    x, i = operand("take", a), arithmetic(operand("take", indices))
    if not i.value.type.dtype.is_integer:
        raise ValueError(f"take: indices must have an integer type, got {i.value.type}")
    if axis is None:
        x, axis = emit(ops.reshape, x, shape=(x.size,)), 0
    axis = normalize_axis("take", axis, x.ndim)
    size = x.shape[axis]
    if mode == "wrap":
        i = _wrapped(i, size)
    elif mode == "clip":
        i = _wide(i)
        i = emit(ops.clamp, like(i, 0), i, like(i, max(size - 1, 0)))
    elif mode == "raise":
        _refuse_raising("take")
    elif mode not in (None, "fill", "promise_in_bounds"):
        raise ValueError("take: mode must be 'fill', 'clip', 'wrap' or 'promise_in_bounds', got "
                         f"{mode!r}")
    how = "promise_in_bounds" if mode in ("wrap", "promise_in_bounds") else mode or "fill"
    if size == 0 and i.size:
        raise IndexError("take: cannot take elements of an empty axis")
    return read(x, (*(slice(None),) * axis, i), how, fill_value, indices_are_sorted,
                unique_indices)


def _wide(i: Tracer) -> Tracer:
    """Indices in 32 bits at least, so that their dtype holds the size of an axis."""
    return i if i.value.type.dtype.bits >= 32 else convert(i, dtypes.i32)


def _wrapped(i: Tracer, size: int) -> Tracer:
    """Indices modulo the size of an axis, in 32 bits at least."""
    i = _wide(i)
    n = like(i, max(size, 1))
    rest = emit(ops.rem, i, n)
    if i.value.type.dtype.is_unsigned:
        return rest
    return ufuncs.where(rest < 0, rest + n, rest)


def _aligned(name: str, arr: Any, indices: Any, axis: int | None, wrap: bool = True
             ) -> tuple[Tracer, Tracer, int]:
    """The array, broadcast against the indices in all axes but `axis` (flattened for None), and the
    indices, which may still have size 1 there."""
    x, i = operand(name, arr), operand(name, indices)
    if not i.value.type.dtype.is_integer:
        raise TypeError(f"{name} indices must be of integer type, got {i.dtype}")
    if axis is None:
        if i.ndim != 1:
            raise ValueError(f"{name}: indices must be 1-d where axis is None, got {i.value.type}")
        x, axis = emit(ops.reshape, x, shape=(x.size,)), 0
    if x.ndim != i.ndim:
        raise ValueError(f"{name}: the array and the indices must have the same number of axes, "
                         f"got {x.value.type} and {i.value.type}")
    axis = normalize_axis(name, axis, x.ndim)
    rest = broadcast_shapes(name, [s[:axis] + (1,) + s[axis + 1:] for s in (x.shape, i.shape)])
    x = broadcast_to(x, (*rest[:axis], x.shape[axis], *rest[axis + 1:]))
    return x, position(i, x.shape[axis], wrap), axis


@eager(static=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1,
                    mode: str | None = None, fill_value: ArrayLike | None = None, *,
                    wrap_negative_indices: bool = True) -> Array:
    """For each place of the other axes, the elements along `axis` that `indices` name there.

    Args:
      indices: integers with as many axes as `arr`; other axes broadcast.
      axis: the axis; None for the flattened array and 1-d indices.
      mode: "fill", the default, returns `fill_value` (NaN, or the least integer) for positions
        outside; "clip" the nearest element; "one_hot" 0, and compares positions instead of
        gathering.
      wrap_negative_indices: whether negative ones count from the end; otherwise they are outside.
    Raises: TypeError for indices that are not integers; ValueError for other numbers of axes.
    Source: `numpy.take_along_axis`.

    >>> jnp.take_along_axis(jnp.array([10, 20, 30]), jnp.array([2, 0]), axis=0)
    Array([30, 10], dtype=int32)
    """
    x, i, axis = _aligned("take_along_axis", arr, indices, axis, bool(wrap_negative_indices))
    how = {None: "fill", "drop": "fill"}.get(mode, mode)
    if how not in ("fill", "clip", "promise_in_bounds", "one_hot"):
        raise ValueError("take_along_axis: mode must be 'fill', 'clip', 'promise_in_bounds' or "
                         f"'one_hot', got {mode!r}")
    dtype = x.value.type.dtype
    if how == "one_hot":
        return _by_one_hot(x, _broadcast_except(i, x, axis), axis)
    if not x.size:                     # an axis without elements: every index is outside
        if how != "fill" and i.size:
            raise IndexError("take_along_axis: cannot take elements of an empty axis")
        value = default_fill(dtype) if fill_value is None else fill_value
        shape = (*x.shape[:axis], i.shape[axis], *x.shape[axis + 1:])
        return x.home.literal(np.asarray(value).astype(dtype.numpy), shape)
    fill = None
    if how == "fill" and not dtype.is_key:
        value = default_fill(dtype) if fill_value is None else fill_value
        fill = Literal(np.asarray(value).astype(dtype.numpy), dtype)
    whole = tuple([d for d in range(x.ndim) if d != axis and i.shape[d] != x.shape[d]])
    kept = [d for d in range(x.ndim) if d not in whole]
    each = tuple([d for d in kept if d != axis])
    vectors = emit(ops.reshape, i, shape=(*[i.shape[d] for d in kept], 1))
    made = emit(ops.gather, x, vectors, offset_dims=whole, collapsed_slice_dims=(axis,),
                operand_batching_dims=each,
                start_indices_batching_dims=tuple([kept.index(d) for d in each]),
                start_index_map=(axis,),
                slice_sizes=tuple([n if d in whole else 1 for d, n in enumerate(x.shape)]),
                mode=how, fill_value=fill, indices_are_sorted=False, unique_indices=False)
    made.weak = x.weak
    return made


def _broadcast_except(i: Tracer, x: Tracer, axis: int) -> Tracer:
    """Indices with the sizes of `x` in all axes but `axis`."""
    return broadcast_to(i, (*x.shape[:axis], i.shape[axis], *x.shape[axis + 1:]))


def _by_one_hot(x: Tracer, i: Tracer, axis: int) -> Tracer:
    """The elements of `x` at positions `i` along an axis, found by comparing all positions."""
    if x.value.type.dtype.kind not in ("int", "uint", "float", "complex"):
        raise TypeError("take_along_axis: mode 'one_hot' takes arrays of numbers, got "
                        f"{x.value.type}")
    shape = (*i.shape, x.shape[axis])
    places = emit(ops.iota, dtype=i.value.type.dtype, shape=shape, dimension=i.ndim)
    index = emit(ops.broadcast_in_dim, i, shape=shape, dims=tuple(range(i.ndim)))
    chosen = places == index
    order = [*(d for d in range(x.ndim) if d != axis), axis]
    values = emit(ops.transpose, x, permutation=tuple(order))
    dims = tuple(d for d in range(x.ndim) if d != axis)
    values = emit(ops.broadcast_in_dim, values, shape=shape, dims=(*dims, i.ndim))
    return emit(ops.reduce_sum, ufuncs.where(chosen, values, 0), axes=(i.ndim,))


def put_along_axis(arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None,
                   inplace: bool = True, *, mode: str | None = None) -> Array:
    """`arr` with values put where `take_along_axis` would take them.

    Raises: ValueError where `inplace` is not False: arrays are immutable.
    Source: `numpy.put_along_axis`.

    >>> jnp.put_along_axis(jnp.arange(3), jnp.array([0]), 9, axis=0, inplace=False)
    Array([9, 1, 2], dtype=int32)
    """
    if inplace:
        raise ValueError("put_along_axis: arrays are immutable; pass inplace=False and use the "
                         "array that is returned")
    return _put_along_axis(arr, indices, values, axis, mode)


def _refuse_raising(name: str) -> NoReturn:
    raise NotImplementedError(f"{name}: mode='raise' is not supported, as no value of an index "
                              "is looked at when a program is built; compare the indices with the "
                              "size before, or give mode='fill', 'clip' or 'wrap'")


@eager(static=("axis", "mode"))
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None, mode: str | None) -> Any:
    shape = operand("put_along_axis", arr).shape
    from .indexed_updates import fitted  # late: loaded on first use

    x, i, at = _aligned("put_along_axis", arr, indices, axis)
    i = _broadcast_except(i, x, at)
    y = broadcast_to(fitted(x, array_like("put_along_axis", values), "set"), i.shape)
    others = tuple(d for d in range(x.ndim) if d != at)
    how = {None: "fill", "drop": "fill"}.get(mode, mode)
    if how not in ("fill", "clip", "promise_in_bounds"):
        raise ValueError("put_along_axis: mode must be 'fill', 'drop', 'clip' or "
                         f"'promise_in_bounds', got {mode!r}")
    made = emit(ops.scatter, x, emit(ops.reshape, i, shape=(*i.shape, 1)), y,
                update_window_dims=(), inserted_window_dims=(at,), operand_batching_dims=others,
                scatter_indices_batching_dims=others, scatter_dims_to_operand_dims=(at,),
                mode=how, indices_are_sorted=False, unique_indices=False)
    return made if made.shape == shape else emit(ops.reshape, made, shape=shape)


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
        ) -> Array:
    """`a` with values put at flat positions; values repeat as needed.

    Args:
      mode: "wrap" takes positions modulo the size, "clip" the nearest position; None clips too, but
        negative positions count from the end.
    Raises: ValueError where `inplace` is not False: arrays are immutable.
    Source: `numpy.put`.

    >>> jnp.put(jnp.arange(3), jnp.array([0]), 9, inplace=False)
    Array([9, 1, 2], dtype=int32)
    """
    if inplace:
        raise ValueError("put: arrays are immutable; pass inplace=False and use the array that is "
                         "returned")
    if mode == "raise":
        _refuse_raising("put")
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put: mode must be 'clip' or 'wrap', got {mode!r}")
    a, ind, v = asarray(a), asarray(ind).reshape(-1), asarray(v).reshape(-1)
    if not a.size or not ind.size or not v.size:
        return a
    v = getitem(v, np.arange(ind.size) % v.size)
    if dtype_kind(ind.dtype) in "iu" and ind.dtype.itemsize < 4:
        ind = ind.astype(np.int32)             # a narrower one may not hold the size
    if mode == "wrap":
        ind = ind % a.size
    elif mode == "clip":
        ind = ind.clip(0, a.size - 1)
    return AtIndex(a.reshape(-1), ind).set(v, mode="clip").reshape(a.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """`arr` with values put where `mask` is nonzero, in order; values repeat as needed.

    Raises: ValueError where `inplace` is not False (arrays are immutable), where the mask has not
      as many elements, and where there are no values.
    Source: `numpy.place`.

    >>> jnp.place(jnp.arange(3), jnp.array([True, False, True]), jnp.array([7, 8]), inplace=False)
    Array([7, 1, 8], dtype=int32)
    """
    if inplace:
        raise ValueError("place: arrays are immutable; pass inplace=False and use the array that "
                         "is returned")
    arr, mask, vals = asarray(arr), asarray(mask), asarray(vals)
    if arr.size != mask.size:
        raise ValueError("place: the mask must have the size of the array, got shapes "
                         f"{mask.shape} and {arr.shape}")
    if not vals.size:
        raise ValueError("place: vals must have at least one value")
    return _place(arr, mask, vals) if arr.size else arr


@eager
def _place(arr: Any, mask: Any, vals: Any) -> Any:
    from .indexed_updates import fitted  # late: loaded on first use

    x, y = operand("place", arr), operand("place", vals)
    y = fitted(x, emit(ops.reshape, y, shape=(y.size,)), "set")
    mask = truth(operand("place", mask))
    flat = emit(ops.reshape, mask, shape=(mask.size,))
    count = emit(ops.cumsum, convert(flat, dtypes.i32), axis=0, reverse=False)
    which = _wrapped(count - 1, y.size)
    chosen = take(y, which, 0, None, "clip")
    shape = x.shape
    chosen = emit(ops.reshape, chosen, shape=shape)
    return ufuncs.where(emit(ops.reshape, flat, shape=shape), chosen, x)


# --- by condition -------------------------------------------------------------------------

@eager(static=())
def select(condlist: Array | Sequence[ArrayLike], choicelist: Array | Sequence[ArrayLike],
           default: ArrayLike = 0) -> Array:
    """For each place the first choice whose condition is true there, else `default`.

    Raises: ValueError where the lists differ in length or are empty.
    Source: `numpy.select`.

    >>> jnp.select([jnp.array([True, False])], [jnp.array([1, 2])], 9)
    Array([1, 9], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError("select: there must be one choice for each condition, got "
                         f"{len(condlist)} conditions and {len(choicelist)} choices")
    if not len(condlist):
        raise ValueError("select: at least one condition is needed")
    *choices, made = promote("select", *choicelist, default)
    for condition, chosen in reversed(list(zip(condlist, choices, strict=True))):
        made = ufuncs.where(condition, chosen, made)
    return made


def choose(a: ArrayLike, choices: Array | Sequence[ArrayLike], out: None = None, mode: str = "raise"
           ) -> Array:
    """Elements of the arrays `choices`, each from the one that `a` names in that place.

    Args:
      mode: what happens where `a` is out of range: "raise" (for known values only), "wrap", "clip".
    Raises: ValueError for values of `a` out of range and other modes.
    Source: `numpy.choose`.

    >>> jnp.choose(jnp.array([0, 1, 0]), [jnp.array([1, 2, 3]), jnp.array([10, 20, 30])])
    Array([ 1, 20,  3], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("choose: arrays are immutable, so `out` is not supported")
    a = asarray(a) if isinstance(a, (list, tuple)) else array_like("choose", a)
    dtype: Any = a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype
    if dtype_kind(dtype) not in "iu":
        raise ValueError(f"choose: `a` must be an integer array, got {dtype}")
    n = len(choices)
    if mode == "raise":
        known = known_values("choose", a, "pass mode='wrap' or mode='clip' while tracing")
        if ((known < 0) | (known >= n)).any():
            raise ValueError(f"choose: invalid entry in choice array: `a` must be in [0, {n})")
    elif mode not in ("wrap", "clip"):
        raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    return _choose(a, [asarray(c) for c in choices], mode)


def known_values(name: str, x: Any, hint: str) -> np.ndarray:
    """The values of an array. Raises: ConcretizationTypeError where they are not known."""
    if type(x) is Tracer and concrete.known(x) is None:
        raise ConcretizationTypeError(x, f"{name} needs to know the values of its argument: "
                                         f"{hint}.")
    if isinstance(x, binding.ArrayImpl):
        return binding.to_numpy(x)
    return np.asarray(x)


@eager(static=("mode",))
def _choose(a: Any, choices: Any, mode: str) -> Any:
    a = convert(operand("choose", a), default_int())
    choices = promote("choose", *choices)
    n = len(choices)
    a = _wrapped(a, n) if mode == "wrap" else emit(ops.clamp, like(a, 0), a, like(a, n - 1))
    shape = broadcast_shapes("choose", [a.shape, *[c.shape for c in choices]])
    a = convert(broadcast_to(a, shape), dtypes.i32)
    return emit(ops.select_n, a, *[broadcast_to(c, shape) for c in choices])


# --- nonzero ------------------------------------------------------------------------------

def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
            ) -> tuple[Array, ...]:
    """Positions of the nonzero elements, in order: one integer array for each axis.

    Args:
      size: the number of positions to return, needed while tracing; missing ones are filled.
      fill_value: the position to fill with, a number or one for each axis; None for 0.
    Raises: ValueError for arrays without axes; ConcretizationTypeError for traced ones without
      size.
    Source: `numpy.nonzero`.

    >>> jnp.nonzero(jnp.array([0, 3, 0, 4]))
    (Array([1, 3], dtype=int32),)
    """
    a = array_like("nonzero", a)
    if not getattr(a, "shape", ()):
        raise ValueError("nonzero is not defined for an array without axes; use "
                         "jnp.atleast_1d(x).nonzero()")
    if size is None:
        if type(a) is Tracer and a.home.inputs is not None and a.value.type.dtype.is_inexact:
            a = a != 0                           # known, and positions lose no derivative
        found = np.nonzero(known_values("nonzero", a, "pass `size` while tracing"))
        return tuple(asarray(i.astype(default_int().numpy), device=beside(a, i.shape))
                     for i in found)
    fills: Any = fill_value
    if fills is None:
        fills = 0
    if not isinstance(fills, (tuple, list)):
        fills = (fills,) * len(a.shape)
    if len(fills) != len(a.shape):
        raise ValueError(f"nonzero: fill_value must have one value for each axis, got {len(fills)} "
                         f"values for shape {a.shape}")
    return _nonzero(a, list(fills), operator.index(size))


@eager(static=("size",))
def _nonzero(a: Any, fills: Any, size: int) -> Any:
    x = truth(operand("nonzero", a))
    shape, count = x.shape, x.size
    integer = default_int()
    fills = [convert(operand("nonzero", f), integer) for f in fills]
    if not size or not count:
        return tuple(broadcast_to(f, (size,)) for f in fills)
    flags = convert(emit(ops.reshape, x, shape=(count,)), dtypes.i32)
    order = emit(ops.cumsum, flags, axis=0, reverse=False)
    total = emit(ops.reduce_sum, flags, axes=(0,))
    # the k-th nonzero element stands where the running count first exceeds k
    target = order - 1
    target = ufuncs.where(flags != 0, target, size)
    numbers = emit(ops.iota, dtype=dtypes.i32, shape=(count,), dimension=0)
    assert state.current is not None
    places = AtIndex(state.current.literal(np.asarray(0, np.int32), (size,)), target).set(
        numbers, mode=LEFT_OUT, unique_indices=False)
    k = emit(ops.iota, dtype=dtypes.i32, shape=(size,), dimension=0)
    there = k < broadcast_to(total, (size,))
    made = []
    stride = count
    for n, fill in zip(shape, fills, strict=True):
        stride //= n
        row = emit(ops.div, places, like(places, stride))
        index = emit(ops.rem, row, like(places, n))
        made.append(ufuncs.where(there, convert(index, integer), broadcast_to(fill, (size,))))
    return tuple(made)


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
                ) -> Array:
    """Positions of the nonzero elements of the flattened array; see `nonzero`.

    Source: `numpy.flatnonzero`.

    >>> jnp.flatnonzero(jnp.array([[0, 3], [0, 4]]))
    Array([1, 3], dtype=int32)
    """
    a = array_like("flatnonzero", a)
    return nonzero(asarray(a).reshape(-1), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
             ) -> Array:
    """Positions of the nonzero elements, one row each; see `nonzero`. Source: `numpy.argwhere`.

    >>> jnp.argwhere(jnp.array([0, 3, 0, 4]))
    Array([[1],
           [3]], dtype=int32)
    """
    from .manipulation import stack  # late: loaded on first use

    a = asarray(array_like("argwhere", a))
    if not a.ndim:
        found = nonzero(a.reshape(1), size=size, fill_value=fill_value)[0]
        return asarray(np.zeros((found.shape[0], 0), default_int().numpy))
    return stack(nonzero(a, size=size, fill_value=fill_value), axis=-1)


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None,
            fill_value: ArrayLike = 0) -> Array:
    """The elements of `arr` where `condition` is nonzero. Source: `numpy.extract`.

    >>> jnp.extract(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    condition = array_like("extract", condition, "condition")
    return _compress(condition, array_like("extract", arr, "arr"), None, size, fill_value)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, *,
             size: int | None = None, fill_value: ArrayLike = 0, out: None = None) -> Array:
    """The slices along an axis where the 1-d `condition` is nonzero.

    Args:
      size, fill_value: as in `nonzero`, for the size of the result along the axis.
    Source: `numpy.compress`.

    >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("compress: arrays are immutable, so `out` is not supported")
    condition = array_like("compress", condition, "condition")
    if np.ndim(condition) != 1:
        raise ValueError(f"compress: the condition must be 1-d, got shape {np.shape(condition)}")
    return _compress(condition, array_like("compress", a, "a"), axis, size, fill_value)


def _compress(condition: Any, a: Any, axis: int | None, size: int | None, fill_value: Any) -> Any:
    condition, a = asarray(condition).reshape(-1), asarray(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = normalize_axis("compress", axis, a.ndim)
    n = a.shape[axis]
    if condition.shape[0] > n:
        if type(condition) is not Tracer and np.asarray(condition)[n:].any():
            raise ValueError("compress: the condition is true beyond the end of the axis, which "
                             f"has size {n}")
        condition = getitem(condition, slice(0, n))
    (where_,) = nonzero(condition, size=size, fill_value=n)
    return take(a, where_, axis, None, "fill", False, False, fill_value)


# --- positions as numbers -----------------------------------------------------------------

def unravel_index(indices: ArrayLike, shape: ShapeLike) -> tuple[Array, ...]:
    """Flat positions as an array of positions for each axis of `shape`; those outside are clamped.

    Args:
      shape: the size or sizes of the array, known or traced.
    Raises: TypeError for indices and sizes that are not integers. Source: `numpy.unravel_index`.

    >>> jnp.unravel_index(4, (2, 3))
    (Array(1, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))
    """
    sizes = tuple(listed(shape))
    if any(type(n) is Tracer and n.home.inputs is None for n in sizes):
        return _unravel_traced(indices, list(sizes))
    return _unravel_index(indices, tuple([index_of(n, "unravel_index: a size") for n in sizes]))


@eager
def _unravel_traced(indices: Any, sizes: Any) -> Any:
    i = _flat_positions(indices)
    dtype = i.value.type.dtype
    steps = []
    for n in sizes:
        n = operand("unravel_index", n)
        if n.ndim or not n.value.type.dtype.is_integer:
            raise TypeError(f"unravel_index: sizes must be integers, got {n.value.type}")
        steps.append(emit(ops.max, *(broadcast_to(v, i.shape) for v in (convert(n, dtype),
                                                                        like(i, 1)))))
    total = like(i, 1)
    for n in steps:
        total = total * n
    if not dtype.is_unsigned:
        i = ufuncs.where(i < 0, i + total, i)
        i = maximum(like(i, 0), minimum(i, total - 1))
    made = []
    for n in reversed(steps):
        made.append(emit(ops.rem, i, n))
        i = emit(ops.div, i, n)
    return tuple(reversed(made))


def _flat_positions(indices: Any) -> Tracer:
    i = operand("unravel_index", indices)
    if not i.value.type.dtype.is_integer:
        raise TypeError(f"unravel_index: indices must be integers, got {i.value.type}")
    return i


@eager(static=("sizes",))
def _unravel_index(indices: Any, sizes: tuple[int, ...]) -> Any:
    i = _flat_positions(indices)
    own, total = i.value.type.dtype, math.prod(sizes)
    i = _wide(i)
    if not i.value.type.dtype.is_unsigned:
        i = ufuncs.where(i < 0, i + total, i)
    i = emit(ops.clamp, like(i, 0), i, like(i, max(total - 1, 0)))
    made = []
    for n in reversed(sizes):
        place = emit(ops.rem, i, like(i, max(n, 1)))
        made.append(place if own.bits >= 32 else convert(place, own))
        i = emit(ops.div, i, like(i, max(n, 1)))
    return tuple(reversed(made))


def ravel_multi_index(multi_index: Sequence[ArrayLike] | Array, dims: Sequence[int],
                      mode: str = "raise", order: str = "C", *, dtype: DTypeLike | None = None
                      ) -> Array:
    """Positions in each axis as flat positions in an array of shape `dims`.

    Args:
      mode: what happens to positions out of range: "raise" (for known values only), "clip", "wrap".
      order: "C" to count the last axis fastest, "F" the first.
      dtype: dtype of the result, an integer one; None for the default integer.
    Raises: ValueError for positions outside and other modes; TypeError for non-integers.
    Source: `numpy.ravel_multi_index`.

    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 0])), (2, 3))
    Array([1, 3], dtype=int32)
    """
    wanted = default_int().numpy if dtype is None else requested_dtype("ravel_multi_index", dtype)
    if wanted.kind not in "iu":
        raise TypeError(f"ravel_multi_index: dtype must be an integer dtype, got {wanted}")
    dims = tuple(operator.index(d) for d in dims)
    if len(multi_index) != len(dims):
        raise ValueError(f"ravel_multi_index: got {len(multi_index)} index arrays for {len(dims)} "
                         "axes")
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"ravel_multi_index: mode must be 'raise', 'clip' or 'wrap', got {mode!r}")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}")
    parts = [array_like("ravel_multi_index", i) for i in multi_index]
    if mode == "raise":
        for part, n in zip(parts, dims, strict=True):
            known = known_values("ravel_multi_index", part,
                                 "pass mode='wrap' or mode='clip' while tracing")
            if ((known < 0) | (known >= n)).any():
                raise ValueError("ravel_multi_index: invalid entry in coordinates array: indices "
                                 f"along an axis of size {n} must be in [0, {n})")
    return _ravel_multi_index(parts, dims, mode, order, wanted)


@eager(static=("dims", "mode", "order", "dtype"))
def _ravel_multi_index(parts: Any, dims: tuple[int, ...], mode: str, order: str, dtype: Any
                       ) -> Any:
    pairs = list(zip(promote("ravel_multi_index", *parts), dims, strict=True))
    shape = broadcast_shapes("ravel_multi_index", [p.shape for p, _ in pairs])
    total, stride = None, 1
    for part, n in reversed(pairs) if order == "C" else pairs:
        if not part.value.type.dtype.is_integer:
            raise TypeError(f"ravel_multi_index: indices must be integers, got {part.value.type}")
        part = convert(broadcast_to(part, shape), default_int())
        if mode == "wrap":
            part = _wrapped(part, n)
        elif mode == "clip":
            part = emit(ops.clamp, like(part, 0), part, like(part, n - 1))
        term = part * stride
        total = term if total is None else total + term
        stride *= n
    return total if total is None else convert(total, from_numpy(dtype))


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """1-d arrays shaped so that indexing with all of them picks rows, columns, ... crosswise.

    Raises: ValueError for arrays of several axes; NotImplementedError for masks.
    Source: `numpy.ix_`.

    >>> [i.shape for i in jnp.ix_(jnp.array([0, 1]), jnp.array([2, 3, 4]))]
    [(2, 1), (1, 3)]
    """
    made = []
    for k, x in enumerate(args):
        x = asarray(array_like("ix_", x))
        if x.ndim != 1:
            raise ValueError(f"ix_: arrays must be 1-d, got shape {x.shape}")
        if x.dtype == np.bool_:
            raise NotImplementedError("ix_: masks are not supported; use nonzero(mask)[0]")
        if not x.size:
            x = x.astype(default_int().numpy)
        made.append(x.reshape((1,) * k + (x.size,) + (1,) * (len(args) - k - 1)))
    return tuple(made)


def _positions(found: Sequence[np.ndarray]) -> tuple[Any, ...]:
    return tuple(asarray(i.astype(default_int().numpy)) for i in found)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Indices of the diagonal of an array with `ndim` axes of size n.

    >>> jnp.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must not be negative, got {n} and {ndim}")
    return _positions((np.arange(n),) * ndim)


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Indices of an array's diagonal. Raises: ValueError where it is not square.

    >>> jnp.diag_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = np.shape(array_like("diag_indices_from", arr))
    if len(shape) < 2:
        raise ValueError(f"diag_indices_from: input array must be at least 2-d, got shape {shape}")
    if len(set(shape)) != 1:
        raise ValueError(f"diag_indices_from: all axes must have the same size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices on and below the k-th diagonal of an (n, m) matrix. Source: `numpy.tril_indices`.

    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _positions(np.tril_indices(index_of(n, "n"), index_of(k, "k"), m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices on and above the k-th diagonal of an (n, m) matrix. Source: `numpy.triu_indices`.

    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _positions(np.triu_indices(index_of(n, "n"), index_of(k, "k"), m))


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    shape = np.shape(array_like(name, arr))
    if len(shape) != 2:
        raise ValueError(f"{name}: only 2-d arrays are accepted, got shape {shape}")
    return shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices on and below a matrix's k-th diagonal. Source: `numpy.tril_indices_from`.

    >>> jnp.tril_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices on and above a matrix's k-th diagonal. Source: `numpy.triu_indices_from`.

    >>> jnp.triu_indices_from(jnp.zeros((2, 2)))
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


def mask_indices(n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *,
                 size: int | None = None) -> tuple[Array, ...]:
    """Indices where `mask_func` of an (n, n) matrix of ones is nonzero.

    Source: `numpy.mask_indices`.

    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    from .creation import ones

    return nonzero(mask_func(ones((n, n), dtype=np.int32), k), size=size)


@overload
def where(condition: ArrayLike, x: None = None, y: None = None, /, *, size: int | None = None,
          fill_value: ArrayLike | None = None) -> tuple[Array, ...]: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /, *, size: int | None = None,
          fill_value: ArrayLike | None = None) -> Array: ...
def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /, *,
          size: int | None = None, fill_value: ArrayLike | None = None
         ) -> Array | tuple[Array, ...]:
    """`x` where `condition` is nonzero, else `y`; all broadcast, and `x` and `y` promote.

    With one argument: `nonzero(condition)`.

    Args:
      size, fill_value: as in `nonzero`, only for the form with one argument.
    Raises: TypeError for lists, ValueError where one of `x` and `y` is missing.
    Source: `numpy.where`.

    >>> jnp.where(jnp.array([True, False, True]), jnp.array([1., 2., 3.]), 0.)
    Array([1., 0., 3.], dtype=float32)
    """
    if x is None and y is None:
        array_like("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value can only be given with a condition alone, "
                         "without x and y")
    return ufuncs.where(condition, x, y)


__all__ = [
    "argwhere", "choose", "compress", "diag_indices", "diag_indices_from", "extract", "flatnonzero",
    "ix_", "mask_indices", "nonzero", "place", "put", "put_along_axis", "ravel_multi_index",
    "select", "take", "take_along_axis", "tril_indices", "tril_indices_from", "triu_indices",
    "triu_indices_from", "unravel_index", "where",
]  # fmt: skip
