"""Error functions and the normal distribution.

Sources: NIST DLMF chapter 7; `scipy.special`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import convert, operand, strong
from ...numpy import exp, log, sqrt, where
from ...numpy.arithmetic import square
from ...numpy.transcendental import log1p
from ...numpy.ufuncs import inexact
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from .faddeeva import erfcx_of_positive, falling_bell
from .parts import chebyshev, one, real, with_slopes

erf = one("erf", ops.erf, "Error function.", "[0., 1.] -> [0.   , 0.843]")
erfc = one("erfc", ops.erfc, "1 - erf(x), exact for large x.", "[0., 1.] -> [1.   , 0.157]")
erfinv = one("erfinv", ops.erf_inv, "Inverse of erf on (-1, 1).", "[0., 0.5] -> [0.   , 0.477]")


@eager
def expit(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)).

    >>> special.expit(jnp.array([0., 2.]))
    Array([0.5  , 0.881], dtype=float32)
    """
    return emit(ops.logistic, inexact(operand("expit", x)))


@eager
def logit(x: ArrayLike) -> Array:
    """log(x / (1 - x)).

    >>> special.logit(jnp.array([0.5, 0.75]))
    Array([0.   , 1.099], dtype=float32)
    """
    return _logit(inexact(operand("logit", x)))


def _slope_of_logit(_: Any, x: Any) -> Any:
    return 1 / x + 1 / (1 - x)


def _logit_body(x: Any) -> Any:
    """The logarithm of the quotient; next to 1/2, where that is next to 1, from its difference."""
    odds = x / (1 - x)
    if x.value.type.dtype.is_complex:
        return log(odds)
    near = abs(x - 0.5) < 0.25
    beside = where(near, x, 0.5)
    return where(near, log1p((2 * beside - 1) / (1 - beside)),
                 log(where(near, 1.0, odds)))


_logit = with_slopes(_logit_body, _slope_of_logit)


@eager
def ndtr(x: ArrayLike) -> Array:
    """Probability that a normal variable is below x.

    >>> special.ndtr(jnp.array([0., 1.]))
    Array([0.5  , 0.841], dtype=float32)
    """
    return strong(ndtr_of(real("ndtr", x)))


def _ndtr_body(x: Any) -> Any:
    """The tail on the side of x by way of erfcx: erfc itself squares a rounded x / sqrt(2). Next to
    0, where the tail is most of the value, 1/2 and what x adds to it."""
    tail = 0.5 * erfcx_of_positive(abs(x) * math.sqrt(0.5)) * falling_bell(x)
    near, twice = _beside_half(x)
    return where(near, 0.5 + 0.5 * twice, where(x < 0, tail, 1 - tail))


def _beside_half(x: Any) -> tuple[Any, Any]:
    """Whether a number is next to 0, and then twice what `ndtr` differs from 1/2, else 0."""
    near = abs(x) < 0.5
    return near, emit(ops.erf, where(near, x, 0.0) * math.sqrt(0.5))


def _density(x: Any) -> Any:
    return falling_bell(x) * (1 / math.sqrt(2 * math.pi))


_ndtr = with_slopes(_ndtr_body, lambda _, x: _density(x))


def ndtr_of(x: Any) -> Any:
    """`ndtr` of a tracer."""
    if x.value.type.dtype.bits < 32:
        return emit(ops.erfc, x * -math.sqrt(0.5)) * 0.5
    return as_tracer(_ndtr(x))


@eager
def ndtri(p: ArrayLike) -> Array:
    """Inverse of `ndtr` on (0, 1); -inf at 0, inf at 1, NaN outside.

    >>> special.ndtri(jnp.array([0.5, 0.75]))
    Array([0.   , 0.674], dtype=float32)
    """
    return strong(ndtri_of(real("ndtri", p)))


_MIDDLE = ((2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
            4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
            1.3314166789178437745e2, 3.3871328727963666080e0),
           (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
            2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
            4.2313330701600911252e1, 1.0))
_NEAR = ((7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
          1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
          4.63033784615654529590e0, 1.42343711074968357734e0),
         (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
          1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
          2.05319162663775882187e0, 1.0))
_FAR = ((2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
         2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
         5.46378491116411436990e0, 6.65790464350110377720e0),
        (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
         7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
         5.99832206555887937690e-1, 1.0))
"""Coefficients of quotients of polynomials, the highest powers first: for probabilities within
0.425 of one half, for tails down to exp(-25), and for tails below. Source: Wichura, Algorithm
AS 241, 1988, PPND16."""

_RISE = (3.1084372039520782, 0.5357661826052641, 0.05862170745728706, 0.00718595161715742,
         0.0009410101382711135, 0.00012864377003984171, 1.81255511339855e-05, 2.611461800691657e-06,
         3.827574396146198e-07, 5.68666063482391e-08)
"""With s = (p - 1/2)^2 <= 0.35^2, ndtri(p) / (p - 1/2) = sqrt(2 pi) + s times this series in s;
interpolated at 12 Chebyshev points with 30 digits."""


def _quotient(x: Any, polynomials: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    above, below = (functools.reduce(lambda made, c: made * x + c, rest, x * 0 + first)
                    for first, *rest in polynomials)
    return above / below


def _ndtri_body(p: Any) -> Any:
    q = p - 0.5
    tail = where(q > 0, 1 - p, p)
    return _quantile(q, tail, -log(where(tail > 0, tail, 0.25)))


def _quantile(q: Any, tail: Any, depth: Any) -> Any:
    """The point below which a normal variable is with probability 1/2 + q.

    Args:
      tail: a number with the sign of the lesser of the two probabilities, NaN where q is.
      depth: minus the logarithm of the lesser probability, any number where that is not positive.
    """
    r = sqrt(depth)
    outer = where(r > 5, _quotient(r - 5, _FAR), _quotient(r - 1.6, _NEAR))
    outer = where(tail > 0, outer, where(tail == 0, np.inf, np.nan))
    wide = q.dtype.itemsize == 8
    is_middle = abs(q) <= (0.425 if wide else 0.35)
    near = where(is_middle, q, 0)
    square = near * near
    if wide:
        near = near * _quotient(0.180625 - square, _MIDDLE)
    else:                                        # in f32 this halves the error of the quotient
        near = near * (square * chebyshev(square, 0, 0.1225, _RISE)) + near * math.sqrt(2 * math.pi)
    return where(is_middle, near, where(q > 0, outer, -outer))


_ndtri = with_slopes(_ndtri_body, lambda x, p: math.sqrt(2 * math.pi) * exp(x * x / 2))


def ndtri_of(p: Any) -> Any:
    """`ndtri` of a tracer."""
    dtype = p.value.type.dtype
    if dtype.bits < 32:
        return convert(ndtri_of(convert(p, dtypes.f32)), dtype)
    return as_tracer(_ndtri(p))


@eager
def erfcinv(y: ArrayLike) -> Array:
    """Inverse of `erfc` on (0, 2); inf at 0, -inf at 2, NaN outside.

    >>> special.erfcinv(jnp.array([0.5, 1., 1.5]))
    Array([ 0.477,  0.   , -0.477], dtype=float32)
    """
    return strong(_erfcinv_of(real("erfcinv", y)))


def _erfcinv_body(y: Any) -> Any:
    """A quantile of the normal distribution over sqrt(2), and a Newton step of
    x^2 - log(erfcx(x)) = -log(y) where y is small, which takes the rounding away. y / 2 would be
    subnormal for the least y, so its logarithm is taken in parts."""
    tail = where(y > 1, 2 - y, y)
    depth = -log(where(tail > 0, tail, 0.5))
    first = math.sqrt(0.5) * _quantile((1 - y) * 0.5, tail, depth + math.log(2))
    size = where((tail > 0) & (tail < 0.25), abs(first), 1.0)
    bits = 23 if y.dtype.itemsize == 8 else 10
    high = emit(ops.reduce_precision, as_tracer(size), exponent_bits=8, mantissa_bits=bits)
    scaled = erfcx_of_positive(size)
    gap = ((depth - high * high) - (size - high) * (size + high)) + log(scaled)
    step = gap * scaled * (0.5 * math.sqrt(math.pi))
    step = where(y > 1, -step, step)
    return where((tail > 0) & (tail < 0.25), first + step, first)


def _slope_of_erfcinv(x: Any, y: Any) -> Any:
    """-sqrt(pi) / 2 exp(x^2), where the exponential is erfcx(x) / erfc(x): x^2 is rounded."""
    tail = where(y > 1, 2 - y, y)
    rise = erfcx_of_positive(abs(x)) / where(tail > 0, tail, 1)
    return -0.5 * math.sqrt(math.pi) * where(tail == 0, np.inf, rise)


_erfcinv = with_slopes(_erfcinv_body, _slope_of_erfcinv)


def _erfcinv_of(y: Any) -> Any:
    dtype = y.value.type.dtype
    if dtype.bits < 32:
        return convert(_erfcinv_of(convert(y, dtypes.f32)), dtype)
    return as_tracer(_erfcinv(y))


def log_density_of(x: Any) -> Any:
    """The logarithm of the normal density."""
    return square(x) * -0.5 - 0.5 * math.log(2 * math.pi)


@eager(static=("series_order",))
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """log(ndtr(x)), exact for large negative x.

    Args:
      series_order: the least number of terms of the asymptotic series.

    >>> special.log_ndtr(jnp.array([0., 1.]))
    Array([-0.693, -0.173], dtype=float32)
    """
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must not be negative, got {series_order}")
    return strong(log_ndtr_of(real("log_ndtr", x)))


def _log_ndtr(x: Any) -> Any:
    """Below 0 log(erfcx(-x / sqrt(2)) / 2) - x^2 / 2, above log(1 - ndtr(-x)); next to 0 from what
    x adds to log(1/2)."""
    below = x < 0
    size = abs(x)
    scaled = 0.5 * erfcx_of_positive(size * math.sqrt(0.5))
    tail = scaled * falling_bell(where(below, 0.0, x))
    near = 1.0 - tail
    rounded = ((1.0 - near) - tail) / near
    made = log(where(below, scaled, near))
    made = where(below, made - 0.5 * x * x, made + rounded)
    near, twice = _beside_half(x)
    made = where(near, log1p(twice) - math.log(2), made)
    return where(x == -math.inf, x, made)


def _slope_of_log_ndtr(_: Any, x: Any) -> Any:
    """The density over `ndtr`; below by the asymptotic series. Source: NIST DLMF 7.12.1."""
    low = -20.0 if x.dtype.itemsize == 8 else -8.0
    is_low = x < low
    far = where(is_low, x, low)
    inverse = emit(ops.integer_pow, far, exponent=-2)
    series: Any = 1.0
    for k in range(9, 0, -1):                       # Horner: 1 - (1/x^2)(1 - (3/x^2)(1 - ...))
        series = 1.0 - (2 * k - 1) * inverse * series
    near = as_tracer(where(is_low, 0.0, x))
    return where(is_low, -far / series, _density(near) / ndtr_of(near))


_log_ndtr_with_slope = with_slopes(_log_ndtr, _slope_of_log_ndtr)


def log_ndtr_of(x: Any) -> Any:
    """`log_ndtr` of a tracer."""
    dtype = x.value.type.dtype
    if dtype.bits < 32:
        return convert(log_ndtr_of(convert(x, dtypes.f32)), dtype)
    return as_tracer(_log_ndtr_with_slope(x))


__all__ = ["erf", "erfc", "erfcinv", "erfinv", "expit", "log_ndtr", "logit", "ndtr", "ndtri"]
