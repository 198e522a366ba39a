"""Means, variances, order statistics, covariances.

Floats narrower than f32 are summed in f32; results are never weakly typed.
"""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType, from_numpy

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, AxisLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import (
    broadcast_to,
    cast,
    check_ranks,
    convert,
    inexact_dtype,
    kept_shape,
    listed,
    normalize_axis,
    operand,
    promote_inexact,
    strong,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .arithmetic import add, divide, multiply, root, sqrt, square, subtract
from .complexes import conj
from .extremes import maximum, minimum
from .manipulation import concatenate, moveaxis, transpose
from .reductions import (
    all,
    any,
    axes_of,
    count_nonzero,
    mask_of,
    reduced,
    refuse_out,
    shaped,
    sum,
    wide,
)
from .rounding import ceil, floor
from .ufuncs import like, refuse
from .ufuncs import where as choose

# --- mean, var, std -----------------------------------------------------------------------


def _count(x: Tracer, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[i] for i in axes])


def _dtypes(name: str, x: Tracer, dtype: Any) -> tuple[DType, DType]:
    """(dtype of the result, dtype to compute in)."""
    own = x.value.type.dtype
    if own.is_key:
        raise refuse(name, x, "numeric or bool")
    if dtype is None:
        wanted = inexact_dtype(own)
        return wanted, wide(wanted)
    wanted = from_numpy(requested_dtype(name, dtype))
    inner = wanted if wanted.is_inexact else inexact_dtype(own)
    return wanted, wide(inner)


def _scaled(x: Tracer, count: Any) -> Tracer:
    """x / count, for a known or a traced count."""
    if isinstance(count, Tracer):
        return as_tracer(divide(x, convert(count, x.value.type.dtype)))
    return x / count


def _mean(name: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, where: Any) -> Tracer:
    refuse_out(name, out)
    x = operand(name, a)
    wanted, inner = _dtypes(name, x, dtype)
    if wanted is dtypes.bool_:
        raise TypeError(f"{name}: a mean is no bool; leave dtype out, or compare the mean with 0")
    x = cast(x, inner)
    count: Any = None
    if where is not None:
        x, mask = mask_of(name, x, where)
        x = choose(mask, x, 0)
        count = count_nonzero(mask, axis, keepdims)
    axes = axes_of(name, axis, x.ndim)
    total = reduced(ops.reduce_sum, x, axes, keepdims)
    return convert(strong(_scaled(total, _count(x, axes) if count is None else count)), wanted)


@eager(static=("axis", "dtype", "out", "keepdims"))
def mean(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
         keepdims: bool = False, *, where: ArrayLike | None = None) -> Array:
    """Arithmetic mean over `axis`; NaN if there are no elements.

    Args:
      a: array of any shape, numeric or bool.
      axis, keepdims: as in `sum`.
      dtype: dtype of the result; None for a's, integers and bools as the default float.
      where: bools that broadcast with `a`; elements where it is False are left out.
    Raises: ValueError for axes out of range; NotImplementedError where `out` is given.
    Source: `numpy.mean`.

    >>> jnp.mean(jnp.array([[1., 3.], [2., 5.]]), axis=0)
    Array([1.5, 4. ], dtype=float32)
    """
    return _mean("mean", a, axis, dtype, out, keepdims, where)


def _ddof(name: str, ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError(f"{name}: ddof and correction can't be provided simultaneously.")
    return correction


def _var(name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: bool,
         where: Any, center: Any) -> Tracer:
    refuse_out(name, out)
    x = operand(name, a)
    own = x.value.type.dtype
    wanted, inner = _dtypes(name, x, dtype)
    if dtype is None:
        wanted = dtypes.real_of(wanted)
    elif not wanted.is_inexact:
        raise ValueError(f"{name}: dtype argument must be inexact, got {wanted.numpy}")
    if own.is_complex and not inner.is_complex:
        inner = dtypes.complex_of(inner)
    x = convert(x, inner)
    mask = None
    if where is not None:
        x, mask = mask_of(name, x, where)
        x = choose(mask, x, 0)          # masked NaN must not reach derivatives
    axes = axes_of(name, axis, x.ndim)
    if center is None:
        center = _mean(name, x, axes, None, None, True, mask)
    x = subtract(x, convert(operand(name, center), inner))
    if inner.is_complex:
        squares: Any = square(emit(ops.real, x)) + square(emit(ops.imag, x))
    else:
        squares = square(x)
    if mask is not None:
        squares = choose(mask, squares, 0)
        count: Any = convert(as_tracer(count_nonzero(mask, axes, keepdims)),
                             squares.value.type.dtype)
        count = subtract(count, ddof)
    else:
        count = _count(as_tracer(x), axes) - ddof
    total = reduced(ops.reduce_sum, squares, axes, keepdims)
    made = _at_least_one(total, count)
    return convert(strong(made), wanted)


def _at_least_one(total: Tracer, count: Any) -> Tracer:
    """total / count, NaN where the count is not positive."""
    if isinstance(count, Tracer):
        made = total / count
        return choose(count > 0, made, math.nan)
    return like(total, math.nan) if count <= 0 else total / count


@eager(static=("axis", "dtype", "out", "ddof", "keepdims", "correction"))
def var(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
        ddof: float = 0, keepdims: bool = False, *, where: ArrayLike | None = None,
        mean: ArrayLike | None = None, correction: float | None = None) -> Array:
    """Variance over `axis`: the mean of |x - mean|^2, real.

    Args:
      axis, dtype, keepdims, where: as in `mean`.
      ddof: a number that is subtracted from the number of elements to get the divisor; the result
        is NaN where that is not positive.
      mean: the mean, with the axes as size 1; None to compute it.
      correction: another name of `ddof`.
    Raises: ValueError for axes out of range and both `ddof` and `correction`; NotImplementedError
      where `out` is given.
    Source: `numpy.var`.

    >>> jnp.var(jnp.array([1., 3.]))
    Array(1., dtype=float32)
    """
    return _var("var", a, axis, dtype, out, _ddof("var", ddof, correction), keepdims, where, mean)


@eager(static=("axis", "dtype", "out", "ddof", "keepdims", "correction"))
def std(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
        ddof: float = 0, keepdims: bool = False, *, where: ArrayLike | None = None,
        mean: ArrayLike | None = None, correction: float | None = None) -> Array:
    """Standard deviation over `axis`: the square root of `var`. Source: `numpy.std`.

    >>> jnp.std(jnp.array([1., 3.]))
    Array(1., dtype=float32)
    """
    return root(_var("std", a, axis, dtype, out, _ddof("std", ddof, correction), keepdims, where,
                     mean))


def _numbers(x: Tracer, where: Any, name: str) -> Any:
    """The mask `where`, false also where the element is NaN."""
    if not x.value.type.dtype.is_inexact:
        return where
    numbers = x == x
    if where is None:
        return numbers
    numbers, mask = mask_of(name, numbers, where)
    return numbers & mask


@eager(static=("axis", "dtype", "out", "keepdims"))
def nanmean(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False, where: ArrayLike | None = None) -> Array:
    """As `mean`, NaN left out. Source: `numpy.nanmean`.

    >>> jnp.nanmean(jnp.array([3., jnp.nan, 2.]))
    Array(2.5, dtype=float32)
    """
    x = operand("nanmean", a)
    return _mean("nanmean", x, axis, dtype, out, keepdims, _numbers(x, where, "nanmean"))


@eager(static=("axis", "dtype", "out", "ddof", "keepdims"))
def nanvar(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
           ddof: float = 0, keepdims: bool = False, where: ArrayLike | None = None,
           mean: ArrayLike | None = None) -> Array:
    """As `var`, NaN left out. Source: `numpy.nanvar`.

    >>> jnp.nanvar(jnp.array([3., jnp.nan, 1.]))
    Array(1., dtype=float32)
    """
    x = operand("nanvar", a)
    return _var("nanvar", x, axis, dtype, out, ddof, keepdims, _numbers(x, where, "nanvar"), mean)


@eager(static=("axis", "dtype", "out", "ddof", "keepdims"))
def nanstd(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
           ddof: float = 0, keepdims: bool = False, where: ArrayLike | None = None,
           mean: ArrayLike | None = None) -> Array:
    """As `std`, NaN left out. Source: `numpy.nanstd`.

    >>> jnp.nanstd(jnp.array([3., jnp.nan, 1.]))
    Array(1., dtype=float32)
    """
    x = operand("nanstd", a)
    return root(_var("nanstd", x, axis, dtype, out, ddof, keepdims, _numbers(x, where, "nanstd"),
                     mean))


# --- average ------------------------------------------------------------------------------

@overload
def average(a: ArrayLike, axis: AxisLike = None, weights: ArrayLike | None = None,
            returned: Literal[False] = False, keepdims: bool = False) -> Array: ...
@overload
def average(a: ArrayLike, axis: AxisLike = None, weights: ArrayLike | None = None, *,
            returned: Literal[True], keepdims: bool = False) -> tuple[Array, Array]: ...
@overload
def average(a: ArrayLike, axis: AxisLike, weights: ArrayLike | None, returned: Literal[True],
            keepdims: bool = False) -> tuple[Array, Array]: ...
@overload
def average(a: ArrayLike, axis: AxisLike = None, weights: ArrayLike | None = None,
            returned: bool = False, keepdims: bool = False) -> Array | tuple[Array, Array]: ...
@eager(static=("axis", "returned", "keepdims"))
def average(a: ArrayLike, axis: AxisLike = None, weights: ArrayLike | None = None,
            returned: bool = False, keepdims: bool = False) -> Array | tuple[Array, Array]:
    """Weighted mean over `axis`.

    Args:
      weights: array of a's shape, or of its sizes along `axis`; None for equal weights.
      returned: whether to return (average, sum of the weights).
    Raises: ValueError where the weights do not match.
    Source: `numpy.average`.

    >>> jnp.average(jnp.array([1., 3.]), weights=jnp.array([3., 1.]))
    Array(1.5, dtype=float32)
    """
    if weights is None:
        (x,) = promote_inexact("average", a)
        made = mean(x, axis, None, None, keepdims)
        n = _count(x, axes_of("average", axis, x.ndim))
        return (made, like(as_tracer(made), n)) if returned else made
    x, w = promote_inexact("average", a, weights)
    axes = axes_of("average", axis, x.ndim)
    if w.shape != x.shape:
        if axis is None:
            raise ValueError("Axis must be specified when shapes of a and weights differ.")
        w = _along_axes("average", w, x.shape, axis)
    total = sum(w, axes, None, None, keepdims)
    made = divide(sum(multiply(x, w), axes, None, None, keepdims), total)
    return (made, total) if returned else made


# --- order statistics ---------------------------------------------------------------------

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _quantile(name: str, a: Any, q: Any, axis: Any, out: Any, overwrite: bool, method: str,
              keepdims: bool, weights: Any, skip_nan: bool) -> Tracer:
    refuse_out(name, out)
    if overwrite:
        raise ValueError(f"{name}: arrays are immutable, so overwrite_input must be False")
    if method not in METHODS:
        raise ValueError(f"{name}: method can only be 'linear', 'lower', 'higher', 'midpoint', "
                         f"'nearest' or 'inverted_cdf', got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{name}: method {method!r} doesn't support weights. Only method "
                                  "'inverted_cdf' supports weights.")
    (x,), (q,) = promote_inexact(name, a), promote_inexact(name, q)
    if x.value.type.dtype.is_complex or q.value.type.dtype.is_complex:
        raise ValueError(f"{name} does not support complex input, since complex numbers have no "
                         f"order, got {x.value.type} and q {q.value.type}")
    if q.ndim > 1:
        raise ValueError(f"{name}: q must be a scalar or 1-d, got shape {q.shape}")
    axes = axes_of(name, axis, x.ndim)
    shape = x.shape
    w = None if weights is None else _fitted_weights(name, weights, shape, axis)
    x = _merged(x, axes)
    if w is not None:
        made = _weighted(x, _merged(w, axes), q, skip_nan)
    else:
        made = _ordered(x, q, method, skip_nan)
    rest = kept_shape(shape, axes) if keepdims else tuple(
        [n for i, n in enumerate(shape) if i not in axes])
    return strong(shaped(made, (*q.shape, *rest)))


def _merged(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """`x` with `axes` merged into one, which comes last."""
    moved = moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    kept = moved.shape[: x.ndim - len(axes)]
    return shaped(as_tracer(moved), (*kept, math.prod(moved.shape[len(kept):])))


def _fitted_weights(name: str, weights: Any, shape: tuple[int, ...], axis: Any) -> Tracer:
    (w,) = promote_inexact(name, weights)
    if w.shape == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    return _along_axes(name, w, shape, axis)


def _along_axes(name: str, w: Tracer, shape: tuple[int, ...], axis: Any) -> Tracer:
    """Weights whose axes are those of `axis`, in the order that it gives, broadcast to `shape`.
    """
    named = [normalize_axis(name, i, len(shape)) for i in listed(axis)]
    if w.shape != tuple([shape[i] for i in named]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified "
                         f"axis: got {w.shape} for axis {axis} of {shape}")
    order = sorted(range(len(named)), key=named.__getitem__)
    w = emit(ops.transpose, w, permutation=tuple(order))
    return emit(ops.broadcast_in_dim, w, shape=shape, dims=tuple(sorted(named)))


def _ordered(x: Tracer, q: Tracer, method: str, skip_nan: bool) -> Tracer:
    """Quantiles over the last axis; the axes of `q` come first."""
    *batch, size = x.shape
    outer = tuple(batch)
    dtype = x.value.type.dtype
    if not size:
        return x.home.literal(np.asarray(math.nan, x.dtype), (*q.shape, *outer))
    inner = wide(dtype)
    missing = x != x
    (x,) = emit(ops.sort, x, dimension=len(batch), n_keys=1, stable=False)
    full = (*q.shape, *outer)
    q = convert(q, inner)
    if skip_nan:
        q = emit(ops.broadcast_in_dim, q, shape=full, dims=tuple(range(q.ndim)))
        found = subtract(size, sum(missing, -1))
        last: Any = broadcast_to(convert(as_tracer(subtract(found, 1)), inner), full)
    else:
        last = like(q, size - 1)           # all rows have the same places
    zero = like(q, 0)
    if method == "inverted_cdf":
        place = ceil(q * add(last, like(last, 1))) - 1
        low = high = place
    else:
        place = q * last
        low, high = floor(place), ceil(place)
    share = place - low

    def at(position: Any) -> Tracer:
        position = convert(as_tracer(maximum(minimum(position, last), zero)), dtypes.i32)
        if skip_nan:
            return _along_last(x, position, q.ndim - len(batch))
        return _of_all_rows(x, position)

    below, above = at(low), at(high)
    if method in ("lower", "inverted_cdf"):
        made = below
    elif method == "higher":
        made = above
    elif method == "nearest":
        # halves go to the even position, as NumPy's do
        made = at(emit(ops.round, place, method="to_nearest_even"))
    elif method == "midpoint":
        total = convert(below, inner) + convert(above, inner)
        made = total * 0.5
    else:
        exact = _to_rows(share == zero, full)
        rest = _to_rows(1 - share, full)
        made = convert(below, inner) * rest + convert(above, inner) * _to_rows(share, full)
        # where share is 0, below * 1 + above * 0 would be NaN for an infinite element above
        made = choose(exact, convert(below, inner), made)
    made = convert(made, dtype)
    if skip_nan:
        none = last == -1
        return choose(none, math.nan, made)
    spoilt = broadcast_to(as_tracer(any(missing, -1)), full)
    return choose(spoilt, math.nan, made)


def _to_rows(x: Any, full: tuple[int, ...]) -> Tracer:
    """`x`, whose axes are the first of `full`, for each row."""
    if x.shape == full:
        return x
    return emit(ops.broadcast_in_dim, x, shape=full, dims=tuple(range(x.ndim)))


def _of_all_rows(x: Tracer, index: Tracer) -> Tracer:
    """x[..., index], the axes of `index` in front."""
    from .positions import take  # late: loaded on first use

    *rows, _ = x.shape
    if not index.ndim:
        starts = [*[like(index, 0)] * len(rows), index]
        return shaped(emit(ops.dynamic_slice, x, *starts, sizes=(*rows, 1)), tuple(rows))
    return as_tracer(moveaxis(take(x, index, -1, mode="promise_in_bounds"), -1, 0))


def _along_last(x: Tracer, index: Tracer, n_extra: int) -> Tracer:
    """x[..., index] for each row of x; `index` has `n_extra` axes in front of x's."""
    from .positions import take_along_axis  # late: loaded on first use

    if not n_extra:
        return shaped(as_tracer(take_along_axis(x, shaped(index, (*index.shape, 1)), -1,
                                                mode="promise_in_bounds")), index.shape)
    taken = take_along_axis(x, moveaxis(index, 0, -1), -1, mode="promise_in_bounds")
    return as_tracer(moveaxis(taken, -1, 0))


def _weighted(x: Tracer, w: Tracer, q: Tracer, skip_nan: bool) -> Tracer:
    """Weighted quantiles over the last axis: where the running weight first reaches q's share."""
    *batch, size = x.shape
    inner = wide(x.value.type.dtype)
    missing = x != x
    if skip_nan:                           # NaN comes last in order, and weighs nothing
        w = choose(missing, 0, w)
        missing = all(missing, -1)
    else:
        missing = any(missing, -1)
    x, w = emit(ops.sort, x, convert(w, inner), dimension=len(batch), n_keys=1, stable=True)
    running = emit(ops.cumsum, w, axis=len(batch), reverse=False)
    total = sum(w, -1, None, None, True)
    share = divide(running, total)
    full = (*q.shape, *batch, size)
    wanted = emit(ops.broadcast_in_dim, convert(q, inner), shape=full, dims=tuple(range(q.ndim)))
    below = broadcast_to(as_tracer(share), full) < wanted
    place = as_tracer(minimum(sum(below, -1), size - 1))
    made = _along_last(x, convert(place, dtypes.i32), q.ndim)
    return choose(broadcast_to(as_tracer(missing), made.shape), math.nan, made)


QUANTILE = ("axis", "out", "overwrite_input", "method", "keepdims")


@eager(static=QUANTILE)
def quantile(a: ArrayLike, q: ArrayLike, axis: AxisLike = None, out: None = None,
             overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
             weights: ArrayLike | None = None) -> Array:
    """Values below which the share `q` of the elements over `axis` lies.

    Args:
      a: real array; integers become floats.
      q: a number or 1-d array in [0, 1].
      axis, keepdims: as in `sum`.
      method: between two elements take "linear", "lower", "higher", "midpoint" or "nearest";
        "inverted_cdf" takes the first element that reaches the share.
      weights: weights of the elements, only with "inverted_cdf"; None for equal ones.
    Returns: array with the axes of `q`, then those of `a` that are left; NaN where an element is.
    Raises: ValueError for complex arrays and unknown methods; NotImplementedError where `out` is
      given, and for weights with other methods.
    Source: `numpy.quantile`.

    >>> jnp.quantile(jnp.array([1., 2., 3.]), 0.25)
    Array(1.5, dtype=float32)
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@eager(static=QUANTILE)
def nanquantile(a: ArrayLike, q: ArrayLike, axis: AxisLike = None, out: None = None,
                overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
                weights: ArrayLike | None = None) -> Array:
    """As `quantile`, NaN left out. Source: `numpy.nanquantile`.

    >>> jnp.nanquantile(jnp.array([3., jnp.nan, 2.]), 0.5)
    Array(2.5, dtype=float32)
    """
    return _quantile("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights,
                     True)


def _hundredth(name: str, q: Any) -> Tracer:
    """q / 100, in f32 at least."""
    (q,) = promote_inexact(name, q)
    q = convert(q, wide(q.value.type.dtype), q.weak)
    return as_tracer(divide(q, like(q, 100)))


@eager(static=(*QUANTILE, "out_sharding"))
def percentile(a: ArrayLike, q: ArrayLike, axis: AxisLike = None, out: None = None,
               overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
               weights: ArrayLike | None = None, out_sharding: ShardingLike = None) -> Array:
    """`quantile` of q / 100. Source: `numpy.percentile`.

    >>> jnp.percentile(jnp.array([1., 2., 3.]), 25)
    Array(1.5, dtype=float32)
    """
    at_home("percentile", out_sharding)
    return quantile(a, _hundredth("percentile", q), axis, out, overwrite_input, method, keepdims,
                    weights=weights)


@eager(static=QUANTILE)
def nanpercentile(a: ArrayLike, q: ArrayLike, axis: AxisLike = None, out: None = None,
                  overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
                  weights: ArrayLike | None = None) -> Array:
    """As `percentile`, NaN left out. Source: `numpy.nanpercentile`.

    >>> jnp.nanpercentile(jnp.array([3., jnp.nan, 2.]), 50)
    Array(2.5, dtype=float32)
    """
    return nanquantile(a, _hundredth("nanpercentile", q), axis, out, overwrite_input, method,
                       keepdims, weights=weights)


@eager(static=("axis", "out", "overwrite_input", "keepdims"))
def median(a: ArrayLike, axis: AxisLike = None, out: None = None, overwrite_input: bool = False,
           keepdims: bool = False) -> Array:
    """The middle element over `axis`, or the mean of the middle two; NaN where one is NaN.

    Source: `numpy.median`.

    >>> jnp.median(jnp.array([3., 1., 2.]))
    Array(2., dtype=float32)
    """
    return quantile(operand("median", a), 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@eager(static=("axis", "out", "overwrite_input", "keepdims"))
def nanmedian(a: ArrayLike, axis: AxisLike = None, out: None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> Array:
    """As `median`, NaN left out. Source: `numpy.nanmedian`.

    >>> jnp.nanmedian(jnp.array([3., jnp.nan, 2.]))
    Array(2.5, dtype=float32)
    """
    return nanquantile(operand("nanmedian", a), 0.5, axis, out, overwrite_input, "midpoint",
                       keepdims)


# --- covariance ---------------------------------------------------------------------------

@eager(static=("rowvar", "bias", "ddof", "dtype"))
def cov(m: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, bias: bool = False,
        ddof: int | None = None, fweights: ArrayLike | None = None,
        aweights: ArrayLike | None = None, dtype: DTypeLike | None = None) -> Array:
    """Covariance matrix of variables.

    Args:
      m: 1-d or 2-d; each row is a variable, each column an observation.
      y: more variables, in the form of `m`; None for none.
      rowvar: whether variables are rows; otherwise they are columns.
      bias: whether to divide by the number of observations N; otherwise by N - 1.
      ddof: a number to divide by N - ddof instead; None for what `bias` says.
      fweights: 1-d integers, how often each observation was made; None for 1.
      aweights: 1-d array, the weight of each observation; None for 1.
      dtype: dtype of the result.
    Raises: ValueError for more than two axes and for integer dtypes; RuntimeError for weights of
      another shape, TypeError for fweights that are not integers.
    Source: `numpy.cov`.

    >>> jnp.cov(jnp.array([[1., 2., 3.], [3., 2., 1.]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    from .contractions import exact_matmul  # late: loaded on first use

    if y is not None:
        x, y = promote_inexact("cov", m, y)
        check_ranks("cov", x.shape, y.shape)
        if y.ndim > 2:
            raise ValueError(f"cov: y has more than 2 dimensions, got shape {y.shape}")
    else:
        (x,) = promote_inexact("cov", m)
    if x.ndim > 2:
        raise ValueError(f"cov: m has more than 2 dimensions, got shape {x.shape}")
    if dtype is not None:
        wanted = from_numpy(requested_dtype("cov", dtype))
        if not (wanted.is_float or wanted.is_complex):
            raise ValueError(f"cov: dtype must be a float or complex dtype, got {wanted}")
        x = cast(x, wanted)
        y = None if y is None else cast(y, wanted)
    x = strong(_as_rows(x, rowvar))
    if not x.shape[0]:
        return x.home.literal(np.zeros((), x.dtype), (0, 0))
    if y is not None:
        x = as_tracer(concatenate([x, strong(_as_rows(y, rowvar))], 0))
    if ddof is None:
        ddof = 0 if bias else 1
    n = x.shape[1]
    if not n:
        return _unboxed(x.home.literal(np.asarray(math.nan, x.dtype), (x.shape[0],) * 2))
    w = _observation_weights(fweights, aweights, n)
    weights: Any = None
    if w is None:
        center = mean(x, 1, None, None, True)
        factor: Any = n - ddof
    else:
        if w.value.type.dtype.is_integer:
            w = cast(w, dtypes.real_of(x.value.type.dtype))
        weights, factor = _weight_factor(w, aweights, ddof)
        center = average(x, 1, weights, False, True)
    x = subtract(x, center)
    right = x if weights is None else multiply(x, weights)
    made = exact_matmul(x, transpose(conj(right)))
    return _unboxed(as_tracer(divide(made, factor)))


def _unboxed(x: Tracer) -> Tracer:
    """A matrix of one element as a scalar."""
    return shaped(x, ()) if x.shape == (1, 1) else x


def _as_rows(x: Tracer, rowvar: bool) -> Tracer:
    if x.ndim < 2:
        return shaped(x, (1, x.size))
    return as_tracer(x if rowvar or x.shape[0] == 1 else transpose(x))


def _observation_weights(fweights: Any, aweights: Any, n: int) -> Tracer | None:
    made = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w = operand("cov", given)
        if w.ndim != 1 or w.shape[0] != n:
            raise RuntimeError(
                f"cov: {name} must be 1-d with one weight for each of the {n} observations, got "
                f"shape {w.shape}")
        if name == "fweights" and not w.value.type.dtype.is_integer:
            raise TypeError(f"cov: fweights must be integer, got {w.dtype}")
        made = w if made is None else as_tracer(multiply(made, w))
    return made


def _weight_factor(w: Tracer, aweights: Any, ddof: int) -> tuple[Tracer, Tracer]:
    (w,) = promote_inexact("cov", w)
    total = as_tracer(sum(w))
    if not ddof:
        return w, total
    if aweights is None:
        return w, as_tracer(subtract(total, ddof))
    square = sum(multiply(w, convert(operand("cov", aweights), w.value.type.dtype)))
    return w, as_tracer(subtract(total, divide(multiply(ddof, square), total)))


@eager(static=("rowvar", "dtype"))
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True,
             dtype: DTypeLike | None = None) -> Array:
    """Correlation coefficients of variables; arguments and errors as in `cov`.

    Source: `numpy.corrcoef`.

    >>> jnp.corrcoef(jnp.array([[1., 2., 4.], [1., 3., 2.]]))
    Array([[1.   , 0.327],
           [0.327, 1.   ]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return divide(c, c)
    n = c.shape[0]
    if not n:
        return c
    from .diagonals import diagonal  # late: loaded on first use

    d = as_tracer(diagonal(c))
    d = as_tracer(sqrt(emit(ops.real, d) if d.value.type.dtype.is_complex else d))
    made = as_tracer(divide(divide(c, shaped(d, (n, 1))), shaped(d, (1, n))))
    if made.value.type.dtype.is_complex:
        parts = [_within_one(emit(op, made)) for op in (ops.real, ops.imag)]
        return emit(ops.complex, *parts)
    return _within_one(made)


def _within_one(x: Tracer) -> Array:
    return maximum(minimum(x, 1), -1)


__all__ = ["average", "corrcoef", "cov", "mean", "median", "nanmean", "nanmedian", "nanpercentile",
           "nanquantile", "nanstd", "nanvar", "percentile", "quantile", "std", "var"]
