"""Error functions and the normal distribution.

Sources: NIST DLMF chapter 7; `scipy.special`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ...arrays.annotations import Array, ArrayLike
from ...arrays.dispatch import eager
from ...arrays.operands import convert
from ...numpy.shorthand import add, choose, compare, div, inexact, mul, stopped, sub
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from .parts import one, real

erf = one("erf", ops.erf, "Error function.", "[0., 1.] -> [0.   , 0.843]")
erfc = one("erfc", ops.erfc, "1 - erf(x), exact for large x.", "[0., 1.] -> [1.   , 0.157]")
erfinv = one("erfinv", ops.erf_inv, "Inverse of erf on (-1, 1).", "[0., 0.5] -> [0.   , 0.477]")


@eager
def expit(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)).

    >>> special.expit(jnp.array([0., 2.]))
    Array([0.5  , 0.881], dtype=float32)
    """
    return emit(ops.logistic, inexact("expit", x))


@eager
def logit(x: ArrayLike) -> Array:
    """log(x / (1 - x)).

    >>> special.logit(jnp.array([0.5, 0.75]))
    Array([0.   , 1.099], dtype=float32)
    """
    x = inexact("logit", x)
    return emit(ops.log, div(x, sub(1, x)))


@eager
def ndtr(x: ArrayLike) -> Array:
    """Probability that a normal variable is below x.

    >>> special.ndtr(jnp.array([0., 1.]))
    Array([0.5  , 0.841], dtype=float32)
    """
    return ndtr_of(real("ndtr", x))


def ndtr_of(x: Any) -> Any:
    """The same of a tracer."""
    return mul(emit(ops.erfc, mul(x, -math.sqrt(0.5))), 0.5)


@eager
def ndtri(p: ArrayLike) -> Array:
    """Inverse of `ndtr` on (0, 1); -inf at 0, inf at 1, NaN outside.

    >>> special.ndtri(jnp.array([0.5, 0.75]))
    Array([0.   , 0.674], dtype=float32)
    """
    return ndtri_of(real("ndtri", p))


def ndtri_of(p: Any) -> Any:
    """The same of a tracer."""
    # the inverse error function loses small p in 2p - 1: two Newton steps on log_ndtr restore them
    upper = compare(ops.gt, p, 0.5)
    tail = choose(upper, sub(1, p), p)
    inside = compare(ops.gt, tail, 0)
    small = choose(inside, tail, 0.25)
    x = mul(emit(ops.erf_inv, sub(mul(small, 2), 1)), math.sqrt(2.0))
    rough = emit(ops.neg, emit(ops.sqrt, mul(emit(ops.log, small), -2)))
    x = stopped(as_tracer(choose(compare(ops.lt, small, 1e-3), rough, x)))
    wanted = emit(ops.log, small)
    for _ in range(4):
        found = log_ndtr_of(x)
        slope = emit(ops.exp, sub(log_density_of(x), found))
        x = sub(x, div(sub(found, wanted), slope))
    if p.value.type.dtype.bits <= 32:            # of f64 the inverse error function is less exact
        middle = compare(ops.gt, small, 0.25)
        direct = emit(ops.erf_inv, sub(mul(choose(middle, small, 0.25), 2), 1))
        x = choose(middle, mul(direct, math.sqrt(2.0)), x)
    x = choose(inside, x, choose(compare(ops.eq, tail, 0), -np.inf, np.nan))
    return choose(upper, emit(ops.neg, x), x)


def log_density_of(x: Any) -> Any:
    """The logarithm of the normal density."""
    return sub(mul(emit(ops.square, x), -0.5), 0.5 * math.log(2 * math.pi))


@eager(static=("series_order",))
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """log(ndtr(x)), exact for large negative x.

    Args:
      series_order: how many terms of the asymptotic series are asked for at least.

    >>> special.log_ndtr(jnp.array([0., 1.]))
    Array([-0.693, -0.173], dtype=float32)
    """
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must not be negative, got {series_order}")
    return log_ndtr_of(real("log_ndtr", x))


def log_ndtr_of(x: Any) -> Any:
    """By ndtr in the middle, by -ndtr(-x) above, by the asymptotic series below.

    Source: NIST DLMF 7.12.1.
    """
    if x.value.type.dtype.bits < 32:
        return convert(log_ndtr_of(convert(x, dtypes.f32)), x.value.type.dtype)
    low = -20.0 if x.value.type.dtype.bits == 64 else -8.0
    is_low, is_high = compare(ops.lt, x, low), compare(ops.gt, x, 0.0)
    far = choose(is_low, x, low)
    inverse = emit(ops.integer_pow, far, exponent=-2)
    series: Any = 1.0
    for k in range(9, 0, -1):                       # Horner: 1 - (1/x^2)(1 - (3/x^2)(1 - ...))
        series = sub(1.0, mul(mul(inverse, float(2 * k - 1)), series))
    below = sub(add(log_density_of(far), emit(ops.log, series)), emit(ops.log, emit(ops.neg, far)))
    centre = choose(is_low, 0.0, choose(is_high, 0.0, x))
    middle = emit(ops.log, ndtr_of(centre))
    above = emit(ops.log1p, emit(ops.neg, ndtr_of(emit(ops.neg, choose(is_high, x, 0.0)))))
    return choose(is_low, below, choose(is_high, above, middle))

__all__ = ["erf", "erfc", "erfinv", "expit", "log_ndtr", "logit", "ndtr", "ndtri"]
