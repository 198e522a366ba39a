"""Functions over axes: softmax and its kin, logarithms of sums, standardize, one_hot.

`where` is a mask of at most x's axes that broadcasts with x. Elements where it is false take no
part; in results of x's shape they are 0, or -inf for logarithms (the least number of a dtype
without infinities).
"""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike, AxisLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import (
    broadcast_shapes,
    broadcast_to,
    convert,
    default_float,
    operand,
    promote_inexact,
    strong,
    together,
)
from ..lax.strict import axis_in, dtype_of, static_int
from ..tracing.trace import emit, state
from ..tracing.tracer import as_tracer
from ..values.arguments import at_home
from .arithmetic import sqrt, square
from .logic import isfinite
from .masked_reductions import (
    along,
    axes_of,
    count,
    greatest,
    mean,
    real_least,
    total,
    with_mask,
)
from .transcendental import exp, log
from .ufuncs import inexact
from .ufuncs import where as choose


@eager(static=("axis",))
def softmax(x: ArrayLike, axis: AxisLike = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) divided by its sum over axes, in range for any x.

    Args:
      axis: axis or axes; None means all.
      where: mask of the elements that take part.
    Raises: ValueError where an axis is out of range.

    >>> nn.softmax(jnp.array([0., 1.]))
    Array([0.269, 0.731], dtype=float32)
    """
    x = strong(inexact(operand("softmax", x)))
    x, mask = with_mask("softmax", x, where)
    axes = axes_of("softmax", axis, x)
    taken = x if mask is None else choose(mask, x, real_least(x))
    top = emit(ops.reduce_max, taken, axes=axes)
    top = emit(ops.stop_gradient, top)
    shifted = _where(mask, _where(mask, x) - along(top, x, axes))
    weights = _where(mask, exp(shifted))
    whole = emit(ops.reduce_sum, weights, axes=axes)
    if mask is not None:
        whole = choose(whole == 0, 1, whole)         # a row without elements
    return _where(mask, weights / along(as_tracer(whole), x, axes))


def _where(mask: Any, x: Any) -> Any:
    """x where the mask holds, else 0, so that nothing infinite or NaN meets a derivative."""
    return x if mask is None else choose(mask, x, 0)


@eager(static=("axis",))
def log_softmax(x: ArrayLike, axis: AxisLike = -1, where: ArrayLike | None = None) -> Array:
    """log(softmax(x)), exact where softmax is small. Arguments as `softmax`.

    >>> nn.log_softmax(jnp.array([0., 1.]))
    Array([-1.313, -0.313], dtype=float32)
    """
    x = strong(inexact(operand("log_softmax", x)))
    x, mask = with_mask("log_softmax", x, where)
    axes = axes_of("log_softmax", axis, x)
    shifted = _where(mask, _where(mask, x) - emit(ops.stop_gradient, greatest(x, axes, mask)))
    whole = total(exp(shifted), axes, mask)
    if mask is not None:
        whole = choose(whole == 0, 1, whole)
    made = shifted - log(whole)
    return made if mask is None else choose(mask, made, real_least(x))


@overload
def logsumexp(a: ArrayLike, axis: AxisLike = None, b: ArrayLike | None = None,
              keepdims: bool = False, return_sign: Literal[False] = False,
              where: ArrayLike | None = None) -> Array: ...
@overload
def logsumexp(a: ArrayLike, axis: AxisLike = None, b: ArrayLike | None = None,
              keepdims: bool = False, *, return_sign: Literal[True], where: ArrayLike | None = None
             ) -> tuple[Array, Array]: ...
@overload
def logsumexp(a: ArrayLike, axis: AxisLike, b: ArrayLike | None, keepdims: bool,
              return_sign: Literal[True], where: ArrayLike | None = None
             ) -> tuple[Array, Array]: ...
@overload
def logsumexp(a: ArrayLike, axis: AxisLike = None, b: ArrayLike | None = None,
              keepdims: bool = False, return_sign: bool = False, where: ArrayLike | None = None
             ) -> Array | tuple[Array, Array]: ...
@eager(static=("axis", "keepdims", "return_sign"))
def logsumexp(a: ArrayLike, axis: AxisLike = None, b: ArrayLike | None = None,
              keepdims: bool = False,
              return_sign: bool = False, where: ArrayLike | None = None
             ) -> Array | tuple[Array, Array]:
    """log(sum(b exp(a))) over axes, in range for any a; -inf for an empty sum.

    Args:
      axis: axis or axes; None means all.
      b: factors, which broadcast with a; 0 leaves an element out.
      keepdims: leave the axes in the result with size 1.
      return_sign: whether to give (log |sum|, sign of the sum); else a negative sum gives NaN.
      where: mask of the elements that take part.
    Source: `scipy.special.logsumexp`.

    >>> nn.logsumexp(jnp.array([0., 1.]))
    Array(1.313, dtype=float32)
    """
    if b is None:
        x, factor = strong(inexact(operand("logsumexp", a))), None
    else:
        x, factor = map(strong, promote_inexact("logsumexp", a, b))
        x, factor = together("logsumexp", x, factor)
    if where is not None:
        x = broadcast_to(x, broadcast_shapes("where", [x.shape, operand("where", where).shape]))
    x, mask = with_mask("logsumexp", x, where)
    axes = axes_of("logsumexp", axis, x)
    is_complex = x.value.type.dtype.is_complex
    part = emit(ops.real, x) if is_complex else x
    taken = None if factor is None else factor != 0
    if taken is not None:
        top = greatest(part, axes, taken if mask is None else taken & mask)
    else:
        top = greatest(part, axes, mask)
    top = emit(ops.stop_gradient, choose(isfinite(top), top, 0))
    if taken is not None:                        # a factor 0 leaves out even infinities and NaN
        x = choose(taken | (part <= top + 8), x, real_least(x))
    if mask is not None:
        x = choose(mask, x, top)
    weights = exp(x - top)
    if factor is not None:
        weights = weights * factor
    whole = total(weights, axes, mask)
    sign = emit(ops.sign, whole)
    if return_sign or not is_complex and factor is not None:
        size = abs(whole)
        made = log(size) + top
        if not return_sign:
            made = choose(sign < 0, np.nan, made)
    else:
        made = log(whole) + top
    if return_sign:
        return _unkept(made, axes, keepdims), _unkept(sign, axes, keepdims)
    return _unkept(made, axes, keepdims)


def _unkept(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if keepdims or not axes:
        return x
    return emit(ops.reshape, x, shape=tuple([n for d, n in enumerate(x.shape) if d not in axes]))


@eager(static=("axis", "keepdims"))
def logmeanexp(x: ArrayLike, axis: AxisLike = None, where: ArrayLike | None = None,
               keepdims: bool = False) -> Array:
    """log(mean(exp(x))) over axes. Arguments as `logsumexp`.

    >>> nn.logmeanexp(jnp.array([0., 1.]))
    Array(0.62, dtype=float32)
    """
    x = inexact(operand("logmeanexp", x))
    x, mask = with_mask("logmeanexp", x, where)
    axes = axes_of("logmeanexp", axis, x)
    n = count(x, axes, mask)
    whole = logsumexp(x, axis=axes, keepdims=True, where=mask)
    if isinstance(n, int):
        n = math.log(n) if n else -math.inf        # the mean of nothing is NaN
    else:
        n = log(n)
    return _unkept(whole - n, axes, keepdims)


@eager(static=("axis", "algorithm"))
def standardize(x: ArrayLike, axis: AxisLike = -1, mean: ArrayLike | None = None,
                variance: ArrayLike | None = None, epsilon: ArrayLike = 1e-5,
                where: ArrayLike | None = None, *, algorithm: str | None = None) -> Array:
    """(x - mean) / sqrt(variance + epsilon) over axes.

    Args:
      axis: axis or axes; None means all.
      mean, variance: mean and variance of x over the axes, which they have with size 1; computed
        where None.
      where: mask of the elements of which mean and variance are computed.
      algorithm: None, "fast" or "stable"; each computes the variance from centred values, which is
        the stable way.
    Raises: ValueError for another algorithm.

    >>> nn.standardize(jnp.array([1., 2., 3.]))
    Array([-1.225,  0.   ,  1.225], dtype=float32)
    """
    if algorithm not in (None, "fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    x = inexact(operand("standardize", x))
    x, mask = with_mask("standardize", x, where)
    axes = axes_of("standardize", axis, x)
    widened = x.value.type.dtype is dtypes.f16 and variance is None
    given = [v for v in (mean, epsilon) if v is not None]
    kind = as_tracer(promote_inexact("standardize", x, *given)[0]).value.type.dtype
    if widened:                                     # squares and sums overflow f16
        x = convert(x, dtypes.f32)
    middle = _mean(x, axes, mask) if mean is None else operand("standardize", mean)
    centred = x - middle
    if variance is None:
        variance = _mean(square(centred) if not x.value.type.dtype.is_complex else
                         square(abs(centred)), axes, mask)
    spread = as_tracer(operand("standardize", variance) + epsilon)
    if spread.value.type.dtype is dtypes.f16:       # the cube of 1/sqrt(1e-5) overflows f16
        return centred / sqrt(spread)
    made = centred * emit(ops.rsqrt, spread)
    return convert(as_tracer(made), kind) if widened else made


_mean = mean


@eager(static=("num_classes", "dtype", "axis", "out_sharding"))
def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: int = -1,
            out_sharding: ShardingLike = None) -> Array:
    """1 at each class in x along a new axis, 0 elsewhere.

    Args:
      x: integers; those outside [0, num_classes) give zeros.
      num_classes: size of the new axis.
      dtype: dtype of the result, the default float where None.
      axis: the position of the new axis in the result.
    Raises: TypeError for a negative num_classes.

    >>> nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    at_home("one_hot", out_sharding)
    x = operand("one_hot", x)
    n, at = static_int("num_classes", num_classes), axis_in("one_hot", axis, x.ndim + 1)
    if n < 0:
        raise TypeError(f"one_hot: num_classes must not be negative, got {n}")
    kind = default_float() if dtype is None else dtype_of("one_hot", dtype)
    shape = (*x.shape[:at], n, *x.shape[at:])
    own = x.value.type.dtype
    if own is dtypes.bool_:
        x = convert(x, dtypes.i32)
    elif own.is_integer and own.bits < 32:
        x = convert(x, dtypes.i32)
    wide = emit(ops.broadcast_in_dim, x, shape=shape,
                dims=tuple([d + (d >= at) for d in range(x.ndim)]))
    target = state.current
    assert target is not None
    places = emit(ops.iota, dtype=wide.value.type.dtype, shape=shape, dimension=at)
    return convert(wide == places, kind)
