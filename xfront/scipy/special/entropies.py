"""Products with logarithms, entropies, the transform of Box and Cox. Source: `scipy.special`."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

import numpy as np
from xfront_ir import ops

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...numpy import where
from ...numpy.shorthand import add, choose, compare, div, mul, sub
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from .parts import real, together, with_slopes


@eager
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), 0 where x = 0 and y is a number.

    >>> special.xlogy(jnp.array([0., 2.]), 2.)
    Array([0.   , 1.386], dtype=float32)
    """
    return xlogy_of(*together("xlogy", x, y))


def xlogy_of(x: Any, y: Any) -> Any:
    """`xlogy` of tracers of the same dtype and shape."""
    there = emit(ops.or_, compare(ops.ne, x, 0), _finite_log(y))
    return choose(there, mul(x, emit(ops.log, choose(there, y, 1.0))), 0)


def _finite_log(y: Any) -> Any:
    """A mask of where 0 log(y) needs no special case, so that the derivative in the factor is
    log(y)."""
    if y.value.type.dtype.is_complex:
        return compare(ops.ne, y, 0)
    return emit(ops.not_, emit(ops.or_, compare(ops.le, y, 0), compare(ops.ge, y, np.inf)))


@eager
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), 0 where x = 0 and y is a number.

    >>> special.xlog1py(jnp.array([0., 2.]), 1.)
    Array([0.   , 1.386], dtype=float32)
    """
    return xlog1py_of(*together("xlog1py", x, y))


def xlog1py_of(x: Any, y: Any) -> Any:
    """`xlog1py` of tracers of the same dtype and shape."""
    there = emit(ops.or_, compare(ops.ne, x, 0), _finite_log(add(y, 1)))
    return choose(there, mul(x, emit(ops.log1p, choose(there, y, 0.0))), 0)


@eager
def entr(x: ArrayLike) -> Array:
    """-x log(x); 0 at 0, -inf below.

    >>> special.entr(jnp.array([0.5, 1.]))
    Array([ 0.347, -0.   ], dtype=float32)
    """
    return as_tracer(_entr(real("entr", x)))


def _entr_body(x: Any) -> Any:
    inside = x > 0
    safe = where(inside, x, 1.0)
    end = where(x == 0, 0.0, where(x < 0, -math.inf, math.nan))
    return where(inside, -(safe * emit(ops.log, safe)), end)


def _slope_of_entr(_: Any, x: Any) -> Any:
    """-log(x) - 1: the derivative of the product is inf 0 at inf."""
    inside = x >= 0
    return where(inside, -1 - emit(ops.log, where(inside, x, 1.0)), 0.0)


_entr = with_slopes(_entr_body, _slope_of_entr)


@eager
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q); 0 where p = 0 <= q, NaN where p or q is, else inf where one is not positive.

    >>> special.rel_entr(jnp.array([1., 2.]), 1.)
    Array([0.   , 1.386], dtype=float32)
    """
    return as_tracer(_rel_entr(*together("rel_entr", p, q)))


def _rel_entr_body(p: Any, q: Any) -> Any:
    both, safe_p, safe_q = _inside(p, q)
    end = where((p == 0) & (q >= 0), 0.0, where((p == p) & (q == q), math.inf, math.nan))
    return where(both, safe_p * _log_of_ratio(safe_p, safe_q), end)


def _inside(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Whether p and q are both positive; then p and q, replaced by 1 where they are not."""
    both = (p > 0) & (q > 0)
    return both, where(both, p, 1.0), where(both, q, 1.0)


def _log_of_ratio(p: Any, q: Any) -> Any:
    """log(p / q) of positive numbers. The logarithms themselves are many times as large as their
    difference where both numbers are tiny or both are huge, so the quotient's is taken unless it is
    no normal number."""
    near, off = _near(p, q)
    ratio = p / q
    normal = (ratio >= float(ml_dtypes.finfo(ratio.dtype).tiny)) & (ratio < math.inf)
    apart = emit(ops.log, where(normal, 1.0, p)) - emit(ops.log, where(normal, 1.0, q))
    apart = where(normal, emit(ops.log, where(normal, ratio, 1.0)), apart)
    return where(near, emit(ops.log1p, off), apart)


def _slope_in_p(_: Any, p: Any, q: Any) -> Any:
    """log(p / q) + 1: the derivative of the product is inf 0 where p is inf."""
    both, p, q = _inside(p, q)
    return where(both, _log_of_ratio(p, q) + 1, 0.0)


def _slope_in_q(_: Any, p: Any, q: Any) -> Any:
    both, p, q = _inside(p, q)
    return where(both, -p / q, 0.0)


_rel_entr = with_slopes(_rel_entr_body, _slope_in_p, _slope_in_q)


def _near(p: Any, q: Any) -> tuple[Any, Any]:
    """Whether positive numbers differ by less than q / 4, and then (p - q) / q, else 0."""
    far = p - q
    near = abs(far) < q * 0.25
    return near, where(near, far, 0.0) / where(near, q, 1.0)


@eager
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q) - p + q; for p near q by its series.

    >>> special.kl_div(jnp.array([1., 2.]), 1.)
    Array([0.   , 0.386], dtype=float32)
    """
    p, q = together("kl_div", p, q)
    both = emit(ops.and_, compare(ops.gt, p, 0), compare(ops.gt, q, 0))
    near, off = _near(choose(both, p, 1.0), choose(both, q, 2.0))
    series: Any = 0.0                            # (1 + t) log(1 + t) - t, over t^2
    for k in range(_KL_TERMS, 1, -1):
        series = add(mul(series, off), (-1) ** k / (k * (k - 1)))
    series = mul(choose(near, q, 0.0), mul(mul(off, off), series))
    return choose(near, series, add(sub(as_tracer(_rel_entr(p, q)), p), q))


@eager
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """(x^lmbda - 1) / lmbda; log(x) for lmbda = 0.

    >>> special.boxcox(jnp.array([1., 2.]), 2.)
    Array([0. , 1.5], dtype=float32)
    """
    x, power = together("boxcox", x, lmbda)
    return _boxcox(emit(ops.log, x), power)


@eager
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """((1 + x)^lmbda - 1) / lmbda; log(1 + x) for lmbda = 0.

    >>> special.boxcox1p(jnp.array([0., 1.]), 2.)
    Array([0. , 1.5], dtype=float32)
    """
    x, power = together("boxcox1p", x, lmbda)
    return _boxcox(emit(ops.log1p, x), power)


def _boxcox(log_x: Any, power: Any) -> Any:
    """expm1(log_x power) / power; for small products by its series, which has exact derivatives."""
    product = mul(log_x, power)
    near = emit(ops.or_, compare(ops.lt, emit(ops.abs, product), 0.25), compare(ops.eq, power, 0))
    endless = compare(ops.eq, log_x, -math.inf)     # its product with 0 is NaN
    small = choose(emit(ops.and_, near, emit(ops.not_, endless)), product, 0.0)
    series: Any = 1 / math.factorial(_BOXCOX_TERMS)
    for k in range(_BOXCOX_TERMS - 1, 0, -1):
        series = add(mul(series, small), 1 / math.factorial(k))
    far = div(emit(ops.expm1, choose(near, 0.0, product)), choose(near, 1.0, power))
    return choose(near, mul(choose(near, log_x, 0.0), series), far)


_KL_TERMS = 24
_BOXCOX_TERMS = 13
"""At 0.25 the next term is below 1e-18."""

__all__ = ["boxcox", "boxcox1p", "entr", "kl_div", "rel_entr", "xlog1py", "xlogy"]
