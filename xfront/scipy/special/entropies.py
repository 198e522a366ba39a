"""Products with logarithms, entropies, the transform of Box and Cox. Source: `scipy.special`."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

import numpy as np

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...numpy import where
from ...numpy.transcendental import expm1, log, log1p
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
    there = (x != 0) | _finite_log(y)
    return where(there, x * log(where(there, y, 1.0)), 0)


def _finite_log(y: Any) -> Any:
    """A mask of where 0 log(y) needs no special case, so that the derivative in the factor is
    log(y)."""
    if y.value.type.dtype.is_complex:
        return y != 0
    return ~((y <= 0) | (y >= np.inf))


@eager
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), 0 where x = 0 and y is a number.

    >>> special.xlog1py(jnp.array([0., 2.]), 1.)
    Array([0.   , 1.386], dtype=float32)
    """
    return xlog1py_of(*together("xlog1py", x, y))


def xlog1py_of(x: Any, y: Any) -> Any:
    """`xlog1py` of tracers of the same dtype and shape."""
    there = (x != 0) | _finite_log(y + 1)
    return where(there, x * log1p(where(there, y, 0.0)), 0)


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
    return where(inside, -(safe * log(safe)), end)


def _slope_of_entr(_: Any, x: Any) -> Any:
    """-log(x) - 1: the derivative of the product is inf 0 at inf."""
    inside = x >= 0
    return where(inside, -1 - log(where(inside, x, 1.0)), 0.0)


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
    apart = log(where(normal, 1.0, p)) - log(where(normal, 1.0, q))
    apart = where(normal, log(where(normal, ratio, 1.0)), apart)
    return where(near, log1p(off), apart)


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
    x, y = together("kl_div", p, q)
    both = (x > 0) & (y > 0)
    near, off = _near(where(both, x, 1.0), where(both, y, 2.0))
    series: Any = 0.0                            # (1 + t) log(1 + t) - t, over t^2
    for k in range(_KL_TERMS, 1, -1):
        series = series * off + (-1) ** k / (k * (k - 1))
    series = where(near, y, 0.0) * (off * off * series)
    return where(near, series, as_tracer(_rel_entr(x, y)) - x + y)


@eager
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """(x^lmbda - 1) / lmbda; log(x) for lmbda = 0.

    >>> special.boxcox(jnp.array([1., 2.]), 2.)
    Array([0. , 1.5], dtype=float32)
    """
    x, power = together("boxcox", x, lmbda)
    return _boxcox(log(x), power)


@eager
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """((1 + x)^lmbda - 1) / lmbda; log(1 + x) for lmbda = 0.

    >>> special.boxcox1p(jnp.array([0., 1.]), 2.)
    Array([0. , 1.5], dtype=float32)
    """
    x, power = together("boxcox1p", x, lmbda)
    return _boxcox(log1p(x), power)


def _boxcox(log_x: Any, power: Any) -> Any:
    """expm1(log_x power) / power; for small products by its series, which has exact derivatives."""
    product = log_x * power
    near = (abs(product) < 0.25) | (power == 0)
    endless = log_x == -math.inf     # its product with 0 is NaN
    small = where(near & ~endless, product, 0.0)
    series: Any = 1 / math.factorial(_BOXCOX_TERMS)
    for k in range(_BOXCOX_TERMS - 1, 0, -1):
        series = series * small + 1 / math.factorial(k)
    far = expm1(where(near, 0.0, product)) / where(near, 1.0, power)
    return where(near, where(near, log_x, 0.0) * series, far)


_KL_TERMS = 24
_BOXCOX_TERMS = 13
"""At 0.25 the next term is below 1e-18."""

__all__ = ["boxcox", "boxcox1p", "entr", "kl_div", "rel_entr", "xlog1py", "xlogy"]
