"""Reductions over axes: sums and products, extremes, truth, positions of extremes.

Their forms that leave NaN out are here too. Means and what follows from them are in
`statistics.py`, running reductions in `running.py`. Results are never weakly typed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType, from_numpy, greatest, least

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, AxisLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import (
    broadcast_shapes,
    broadcast_to,
    cast,
    convert,
    default_int,
    index_of,
    kept_shape,
    normalize_axes,
    operand,
    strong,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .arithmetic import add, multiply, subtract
from .extremes import maximum, minimum
from .logic import truth
from .ufuncs import refuse, shaped
from .ufuncs import where as choose

STATIC = ("axis", "dtype", "out", "keepdims", "promote_integers")


# --- what reductions share ----------------------------------------------------------------

def refuse_out(name: str, out: Any) -> None:
    """Raises: NotImplementedError where `out` is given."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to {name} is not supported: arrays are "
                                  "immutable, so use the result that is returned")


def axes_of(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """As `normalize_axes`; raises for an axis that is no integer and no sequence of integers."""
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    return normalize_axes(name, axis, ndim)


def reduced(definition: OpDef, x: Tracer, axes: tuple[int, ...], keepdims: bool) -> Tracer:
    """A reduction, with size 1 along the axes where `keepdims`."""
    made = emit(definition, x, axes=axes) if axes else x
    return strong(shaped(made, kept_shape(x.shape, axes)) if keepdims else made)


def wide(dtype: DType) -> DType:
    """The dtype to sum in: f32 for narrower floats."""
    return dtypes.f32 if dtype.is_float and dtype.bits < 32 else dtype


def total_dtype(dtype: DType, widen: bool = True) -> DType:
    """The dtype of a sum: bools, and with `widen` narrow integers, take the default width."""
    if dtype.kind == "bool":
        return default_int()
    if widen and dtype.is_integer and dtype.bits < default_int().bits:
        if dtype.is_unsigned:
            return dtypes.u64 if default_int() is dtypes.i64 else dtypes.u32
        return default_int()
    return dtype


def mask_of(name: str, x: Tracer, where: Any) -> tuple[Tracer, Tracer]:
    """`x` and a mask of bools, broadcast together.

    Raises: ValueError where it is not of bools, or has more axes than `x`.
    """
    mask = operand(name, where)
    if mask.value.type.dtype is not dtypes.bool_:
        raise ValueError(f"{name}: where must be None or a boolean array, got one of dtype "
                         f"{mask.value.type.dtype.numpy}")
    if mask.ndim > x.ndim:
        raise ValueError(f"{name}: where must broadcast with the array, but where has shape "
                         f"{mask.shape} and the array {x.shape}")
    shape = broadcast_shapes(f"{name}(where=...)", (x.shape, mask.shape))
    return broadcast_to(x, shape), broadcast_to(mask, shape)


def masked(name: str, x: Tracer, where: Any, neutral: Any) -> Tracer:
    """`x` where the mask `where` is true, else `neutral`."""
    x, mask = mask_of(name, x, where)
    return choose(mask, x, neutral)


def _first(name: str, initial: Any) -> Tracer:
    """The scalar with which a reduction begins. Raises: ValueError for other shapes."""
    first = operand(name, initial)
    if first.ndim:
        raise ValueError(f"{name}: initial must be a scalar, got an array of type "
                         f"{first.value.type}; combine the array with the result instead")
    return first


# --- sums and products --------------------------------------------------------------------

def _total(name: str, definition: OpDef, neutral: int, combine: Any, a: Any, axis: Any,
           dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any, widen: bool) -> Tracer:
    refuse_out(name, out)
    x = operand(name, a)
    own = x.value.type.dtype
    if own.is_key:
        raise refuse(name, x, "numeric or bool")
    wanted = total_dtype(own, widen)
    if dtype is not None:
        wanted = from_numpy(requested_dtype(name, dtype))
    is_bool = wanted.kind == "bool"
    x = convert(cast(x, wanted), dtypes.i32) if is_bool else cast(x, wide(wanted), x.weak)
    if where is not None:
        x = masked(name, x, where, neutral)
    made = reduced(definition, x, axes_of(name, axis, x.ndim), keepdims)
    if initial is not None:
        first = _first(name, initial)
        made = combine(made, convert(truth(first) if is_bool else first, made.value.type.dtype))
    if is_bool:
        made = truth(made)
    return convert(made, wanted)


@eager(static=STATIC)
def sum(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
        keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None,
        promote_integers: bool = True) -> Array:
    """Sum of the elements over `axis`.

    Args:
      a: array of any shape, numeric or bool.
      axis: axis or axes in [-ndim, ndim); None for all.
      dtype: dtype of the result; None for a's, where bools and integers narrower than the default
        integer take its width. Floats narrower than f32 are summed in f32.
      keepdims: whether the summed axes stay in the result with size 1.
      initial: a number that is added to the result; None for 0.
      where: bools that broadcast with `a`; elements where it is False are left out.
      promote_integers: whether narrow integers are widened.
    Returns: array of a's shape without the summed axes.
    Raises: TypeError for lists; ValueError for axes out of range or named twice, and for masks that
      are not bool; NotImplementedError where `out` is given.
    Source: `numpy.sum`.

    >>> jnp.sum(jnp.array([[1., 3.], [2., 5.]]), axis=0)
    Array([3., 8.], dtype=float32)
    """
    return _total("sum", ops.reduce_sum, 0, add, a, axis, dtype, out, keepdims, initial, where,
                  promote_integers)


@eager(static=STATIC)
def prod(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
         keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None,
         promote_integers: bool = True) -> Array:
    """Product of the elements over `axis`; arguments, dtypes and errors as in `sum`.

    Source: `numpy.prod`.

    >>> jnp.prod(jnp.array([[1., 3.], [2., 5.]]), axis=0)
    Array([ 2., 15.], dtype=float32)
    """
    return _total("prod", ops.reduce_prod, 1, multiply, a, axis, dtype, out, keepdims, initial,
                  where, promote_integers)


@eager(static=("axis", "keepdims"))
def count_nonzero(a: ArrayLike, axis: AxisLike = None, keepdims: bool = False) -> Array:
    """How many elements over `axis` are not zero, as default integers.

    Source: `numpy.count_nonzero`.

    >>> jnp.count_nonzero(jnp.array([0, 3, 2]))
    Array(2, dtype=int32)
    """
    x = truth(operand("count_nonzero", a))
    return reduced(ops.reduce_sum, convert(x, default_int()),
                   axes_of("count_nonzero", axis, x.ndim), keepdims)


# --- truth --------------------------------------------------------------------------------

def _truth(name: str, definition: OpDef, a: Any, axis: Any, out: Any, keepdims: bool,
           where: Any, neutral: bool) -> Tracer:
    refuse_out(name, out)
    x = truth(operand(name, a))
    if where is not None:
        x = masked(name, x, where, neutral)
    return reduced(definition, x, axes_of(name, axis, x.ndim), keepdims)


@eager(static=("axis", "out", "keepdims"))
def all(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Array:
    """Whether every element over `axis` is nonzero (NaN is); True for none. Source: `numpy.all`.

    >>> jnp.all(jnp.array([True, False]))
    Array(False, dtype=bool)
    """
    return _truth("all", ops.reduce_and, a, axis, out, keepdims, where, True)


@eager(static=("axis", "out", "keepdims"))
def any(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Array:
    """Whether any element over `axis` is nonzero (NaN is); False for none. Source: `numpy.any`.

    >>> jnp.any(jnp.array([True, False]))
    Array(True, dtype=bool)
    """
    return _truth("any", ops.reduce_or, a, axis, out, keepdims, where, False)


# --- extremes -----------------------------------------------------------------------------

def _extreme(name: str, definition: OpDef, pair: Any, end: Any, a: Any, axis: Any, out: Any,
             keepdims: bool, initial: Any, where: Any) -> Tracer:
    refuse_out(name, out)
    x = operand(name, a)
    dtype = x.value.type.dtype
    if dtype.is_key:
        raise refuse(name, x, "numeric or bool")
    if where is not None:
        if initial is None:
            raise ValueError(f"reduction operation {name} does not have an identity: a where mask "
                             "also needs initial, the result where no element is selected")
        x = masked(name, x, where, end(dtype))
    axes = axes_of(name, axis, x.ndim)
    if initial is None and 0 in [x.shape[i] for i in axes]:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity; "
                         f"pass initial, or an array with elements: got {x.value.type}")
    made = reduced(definition, x, axes, keepdims)
    return made if initial is None else pair(made, convert(_first(name, initial), dtype))


@eager(static=("axis", "out", "keepdims"))
def max(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False,
        initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """The greatest element over `axis`; NaN where one is NaN.

    Args:
      axis, keepdims: as in `sum`.
      initial: a lower bound of the result, in a's dtype; needed for no elements and with `where`.
      where: bools that broadcast with `a`; elements where it is False are left out.
    Raises: ValueError for no elements without `initial`, for `where` without it, and for axes out
      of range; NotImplementedError where `out` is given.
    Source: `numpy.max`.

    >>> jnp.max(jnp.array([[1., 3.], [2., 0.]]), axis=1)
    Array([3., 2.], dtype=float32)
    """
    return _extreme("max", ops.reduce_max, maximum, least, a, axis, out, keepdims, initial, where)


@eager(static=("axis", "out", "keepdims"))
def min(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False,
        initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """The least element over `axis`; arguments and errors as in `max`. Source: `numpy.min`.

    >>> jnp.min(jnp.array([[1., 3.], [2., 0.]]), axis=1)
    Array([1., 0.], dtype=float32)
    """
    return _extreme("min", ops.reduce_min, minimum, greatest, a, axis, out, keepdims, initial,
                    where)


amax, amin = max, min


@eager(static=("axis", "out", "keepdims"))
def minmax(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
           where: ArrayLike | None = None) -> tuple[Array, Array]:
    """The least and the greatest element over `axis`; arguments and errors as in `max`.

    Args:
      initial: an upper bound of the least and a lower bound of the greatest, as a pair, or one
        number for both.
    Raises: ValueError for a tuple of other than two numbers.
    Source: `numpy.minmax`.

    >>> jnp.minmax(jnp.array([[1., 3.], [2., 0.]]), axis=1)
    (Array([1., 0.], dtype=float32), Array([3., 2.], dtype=float32))
    """
    if isinstance(initial, tuple) and len(initial) != 2:
        raise ValueError("minmax: initial must be one number, or two: the greatest that the least "
                         f"can be and the least that the greatest can be; got {len(initial)}")
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return (_extreme("minmax", ops.reduce_min, minimum, greatest, a, axis, out, keepdims, low,
                     where),
            _extreme("minmax", ops.reduce_max, maximum, least, a, axis, out, keepdims, high, where))


@eager(static=("axis", "out", "keepdims"))
def ptp(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False) -> Array:
    """The greatest minus the least element over `axis`. Source: `numpy.ptp`.

    >>> jnp.ptp(jnp.array([1., 3., 2.]))
    Array(2., dtype=float32)
    """
    refuse_out("ptp", out)
    x = operand("ptp", a)
    return subtract(max(x, axis, None, keepdims), min(x, axis, None, keepdims))


# --- positions of extremes ----------------------------------------------------------------

def _position(name: str, definition: OpDef, x: Tracer, axis: Any, keepdims: bool) -> Tracer:
    dtype = x.value.type.dtype
    if dtype.is_complex or dtype.is_key:
        raise refuse(name, x, "real or bool")
    shape = x.shape
    if axis is None:
        kept, at = (1,) * len(shape), 0
        x = shaped(x, (x.size,))
    else:
        (at,) = axes_of(name, index_of(axis), x.ndim)
        kept = kept_shape(shape, (at,))
    if not x.shape[at]:
        raise ValueError(f"attempt to get {name} of an empty sequence: got {x.value.type}")
    made = strong(emit(definition, x, axis=at, index_dtype=default_int()))
    return shaped(made, kept) if keepdims else made


@eager(static=("axis", "out", "keepdims"))
def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
           ) -> Array:
    """Index along `axis` of the greatest element (the first of several), or of NaN if there is one.

    Args:
      axis: one axis; None for the index in the flattened array.
      keepdims: whether the axis (for None all axes) stays in the result with size 1.
    Returns: an array of default integers.
    Raises: ValueError for no elements and axes out of range; TypeError for complex elements;
      NotImplementedError where `out` is given.
    Source: `numpy.argmax`.

    >>> jnp.argmax(jnp.array([1., 3., 2.]))
    Array(1, dtype=int32)
    """
    refuse_out("argmax", out)
    return _position("argmax", ops.argmax, operand("argmax", a), axis, bool(keepdims))


@eager(static=("axis", "out", "keepdims"))
def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
           ) -> Array:
    """Index along `axis` of the least element; otherwise as `argmax`. Source: `numpy.argmin`.

    >>> jnp.argmin(jnp.array([1., 3., 2.]))
    Array(0, dtype=int32)
    """
    refuse_out("argmin", out)
    return _position("argmin", ops.argmin, operand("argmin", a), axis, bool(keepdims))


# --- without NaN --------------------------------------------------------------------------

def without_nan(x: Tracer, neutral: Any) -> tuple[Tracer, Tracer | None]:
    """`x` with `neutral` for each NaN, and where they were; None where there can be none."""
    if not x.value.type.dtype.is_inexact:
        return x, None
    missing = x != x
    return choose(missing, neutral, x), missing


@eager(static=STATIC[:-1])
def nansum(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
           keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None
           ) -> Array:
    """As `sum`, with 0 for NaN. Source: `numpy.nansum`.

    >>> jnp.nansum(jnp.array([3., jnp.nan, 2.]))
    Array(5., dtype=float32)
    """
    x, _ = without_nan(operand("nansum", a), 0)
    return sum(x, axis, dtype, out, keepdims, initial, where)


@eager(static=STATIC[:-1])
def nanprod(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None
            ) -> Array:
    """As `prod`, with 1 for NaN. Source: `numpy.nanprod`.

    >>> jnp.nanprod(jnp.array([3., jnp.nan, 2.]))
    Array(6., dtype=float32)
    """
    x, _ = without_nan(operand("nanprod", a), 1)
    return prod(x, axis, dtype, out, keepdims, initial, where)


def _nan_extreme(name: str, reduce: Any, end: Any, a: Any, axis: Any, out: Any, keepdims: bool,
                 initial: Any, where: Any) -> Tracer:
    x = operand(name, a)
    filled, missing = without_nan(x, end(x.value.type.dtype))
    made = reduce(filled, axis, out, keepdims, initial, where)
    if missing is None or initial is not None:
        return made
    none = all(missing, axis, None, keepdims)
    return choose(as_tracer(none), np.nan, made)


@eager(static=("axis", "out", "keepdims"))
def nanmax(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """As `max`, NaN left out; NaN where all are NaN and `initial` is None.

    Source: `numpy.nanmax`.

    >>> jnp.nanmax(jnp.array([1., jnp.nan, 2.]))
    Array(2., dtype=float32)
    """
    return _nan_extreme("nanmax", max, least, a, axis, out, keepdims, initial, where)


@eager(static=("axis", "out", "keepdims"))
def nanmin(a: ArrayLike, axis: AxisLike = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """As `min`, NaN left out; NaN where all are NaN and `initial` is None.

    Source: `numpy.nanmin`.

    >>> jnp.nanmin(jnp.array([1., jnp.nan, 2.]))
    Array(1., dtype=float32)
    """
    return _nan_extreme("nanmin", min, greatest, a, axis, out, keepdims, initial, where)


def _nan_position(name: str, find: Any, end: Any, a: Any, axis: Any, out: Any,
                  keepdims: bool | None) -> Tracer:
    x = operand(name, a)
    filled, missing = without_nan(x, end(x.value.type.dtype))
    made = find(filled, axis, out, keepdims)
    if missing is None:
        return made
    return choose(as_tracer(all(missing, axis, None, bool(keepdims))), -1, made)


@eager(static=("axis", "out", "keepdims"))
def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
              ) -> Array:
    """As `argmax`, NaN left out; -1 where all are NaN. Source: `numpy.nanargmax`.

    >>> jnp.nanargmax(jnp.array([1., jnp.nan, 2.]))
    Array(2, dtype=int32)
    """
    return _nan_position("nanargmax", argmax, least, a, axis, out, keepdims)


@eager(static=("axis", "out", "keepdims"))
def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
              ) -> Array:
    """As `argmin`, NaN left out; -1 where all are NaN. Source: `numpy.nanargmin`.

    >>> jnp.nanargmin(jnp.array([1., jnp.nan, 2.]))
    Array(0, dtype=int32)
    """
    return _nan_position("nanargmin", argmin, greatest, a, axis, out, keepdims)


__all__ = ["all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "min",
           "minmax", "nanargmax", "nanargmin", "nanmax", "nanmin", "nanprod", "nansum", "prod",
           "ptp", "sum"]
