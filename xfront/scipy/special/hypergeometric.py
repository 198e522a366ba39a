"""Hypergeometric functions of real numbers.

Sources: NIST DLMF 13.2, 13.7 (confluent) and 15.2, 15.4, 15.8 (of Gauss); J. W. Pearson, S. Olver,
M. A. Porter, Numerical methods for the computation of the confluent and Gauss hypergeometric
functions, Numer. Algorithms 74 (2017).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import ops

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import strong
from ...lax.control_flow import while_loop
from ...lax.shape import stop_gradient
from ...numpy import exp, log, rint, where
from ...numpy.rounding import floor
from ...tracing.trace import emit
from .gammas import gammasgn_of
from .parts import wide

_MOST, _LEAST = 20000, 400
"""The most terms of a series, and the most of one that ends (for its derivatives)."""


def _series(tops: tuple[Any, ...], bottom: Any, x: Any, first: Any = 1) -> Any:
    """The sum of `first` (tops)_k / ((bottom)_k k!) x^k, until its terms are relatively small; NaN
    where they never are. Where a factor 0 ends the series, the derivative in that factor goes on.
    """
    eps = 0.01 * float(np.finfo(x.dtype).eps)
    one = x * 0 + first

    def going(state: Any) -> Any:
        k, term, size, total = state
        least = eps * abs(total)
        return ((abs(term) > least) | (k < 2) | ((abs(size) > least) & (k < _LEAST))
                ).any() & (k < _MOST).all()

    def step(state: Any) -> Any:
        k, term, size, total = state
        for top in tops:
            factor = top + k
            term, size = term * factor, size * where(factor == 0, 1.0, factor)
        rest = x / ((bottom + k) * (k + 1))
        term = term * rest
        return k + 1, term, stop_gradient(size * rest), total + term

    _, term, _, total = while_loop(going, step, (x * 0, one, one, one))
    return where(abs(term) > eps * abs(total), math.nan, total)


def _is_pole(x: Any) -> Any:
    """Whether gamma(x) is infinite."""
    return (x <= 0) & (floor(x) == x)


def _ratio(tops: tuple[Any, ...], bottoms: tuple[Any, ...]) -> tuple[Any, Any]:
    """The logarithm and the sign of a quotient of products of gamma functions; the sign is 0 where
    a factor of the denominator is infinite."""
    size, sign = tops[0] * 0, 1.0
    for parts, side in ((tops, 1), (bottoms, -1)):
        for x in parts:
            pole = _is_pole(x)
            x = where(pole, 1.0, x)
            size, sign = size + side * emit(ops.lgamma, x), sign * gammasgn_of(x)
            if side < 0:
                sign = where(pole, 0.0, sign)
    return size, sign


# --- confluent ------------------------------------------------------------------------------

_FAR, _ASYMPTOTIC_TERMS = 50.0, 24


@eager
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function M(a, b, x).

    Returns: inf where b is an integer that is not positive.
    Raises: ValueError for complex numbers.

    >>> special.hyp1f1(1., 2., 1.)
    Array(1.718, dtype=float32)
    """
    (a, b, x), back = wide("hyp1f1", a, b, x)
    reflected = (x < 0) & ~_is_pole(a)           # M(a, b, x) = exp(x) M(b - a, b, -x)
    a, z = where(reflected, b - a, a), where(reflected, -x, x)
    below = where(reflected, x, 0.0)
    far = (z > _FAR) & ~_is_pole(a) & ~_is_pole(b)
    w, far_a, far_b = where(far, z, _FAR), where(far, a, 1.0), where(far, b, 2.0)
    total = term = rest = w * 0 + 1
    for k in range(_ASYMPTOTIC_TERMS):
        grown = term * (far_b - far_a + k) * (1 - far_a + k) / ((k + 1) * w)
        falls = abs(grown) < abs(term)
        term, rest = where(falls, grown, 0.0), where(falls, abs(grown), rest)
        total = total + term
    # its error is the last term; what DLMF 13.7.1 leaves out is relatively exp(other)
    other = _ratio((far_a,), (far_b - far_a,))[0] - (2 * far_a - far_b) * log(w) - w
    eps = float(np.finfo(z.dtype).eps)
    far = far & (rest <= eps * abs(total)) & (other < math.log(eps))
    near_a, near_z = where(far, 1.0, a), where(far, 1.0, z)
    half = exp(where(far, 0.0, 0.5 * below))    # two factors, as their product may underflow
    made = _series((near_a,), where(far | _is_pole(b), 1.0, b), near_z, half) * half
    size, sign = _ratio((far_b,), (far_a,))
    power = size + w + (far_a - far_b) * log(w) + where(far, below, 0.0)
    made = where(far, sign * exp(power) * total, made)
    made = where(x == 0, 1.0, where(_is_pole(b), math.inf, made))
    return strong(back(where((a != a) | (b != b) | (x != x), math.nan, made)))


# --- of Gauss -------------------------------------------------------------------------------

@eager
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """The hypergeometric function of Gauss, F(a, b; c; x) for x <= 1.

    Returns: inf where c is an integer that is not positive, and beyond 1 but for polynomials. NaN
      where c - a - b (for negative x b - a) is an integer and 20,000 terms are not enough: from
      about 1 - x = 0.002 on (of negative x from -500 on).
    Raises: ValueError for complex numbers.

    >>> special.hyp2f1(1., 2., 3., 0.5)
    Array(1.545, dtype=float32)
    """
    (a, b, c, x), back = wide("hyp2f1", a, b, c, x)
    nan = (a != a) | (b != b) | (c != c) | (x != x)
    ends, pole = _is_pole(a) | _is_pole(b), _is_pole(c)
    one, beyond = (x == 1) & ~ends, (x > 1) & ~ends
    of_gauss = _at_one(*[where(one & ~pole, v, s) for v, s in ((a, 0.5), (b, 0.5), (c, 1.75))])
    made = _inside(*[where(pole | one | beyond | nan, s, v) for v, s in (
        (a, 0.5), (b, 0.5), (c, 1.75), (x, 0.5))])
    made = where(pole | beyond, math.inf, where(one, of_gauss, made))
    return strong(back(where(nan, math.nan, made)))


def _at_one(a: Any, b: Any, c: Any) -> Any:
    """F at x = 1. Source: DLMF 15.4.20."""
    converges = c - a - b > 0
    size, sign = _ratio((c, where(converges, c - a - b, 1.0)), (c - a, c - b))
    return where(converges, sign * exp(size), math.inf)


def _inside(a: Any, b: Any, c: Any, x: Any) -> Any:
    """F for x < 1, and where it is a polynomial. Source: DLMF 15.8.1 for negative x."""
    swap = _is_pole(b) & ~_is_pole(a)
    a, b = where(swap, b, a), where(swap, a, b)
    negative = x < 0
    front = where(negative, exp(-a * log(where(negative, 1 - x, 1.0))), 1.0)
    b, z = where(negative, c - b, b), where(negative, x / (where(negative, x, 0.0) - 1), x)
    rest = c - a - b
    apart = abs(rest - rint(rest)) > float(np.finfo(x.dtype).eps) ** 0.2
    near = (z > 0.9) & apart & ~_is_pole(a) & ~_is_pole(b)
    far = _near_one(*[where(near, v, s) for v, s in ((a, 0.5), (b, 0.5), (c, 1.75), (z, 0.9))])
    made = _series((where(near, 0.5, a), where(near, 0.5, b)), where(near, 1.75, c),
                   where(near, 0.5, z))
    return front * where(near, far, made)


def _near_one(a: Any, b: Any, c: Any, z: Any) -> Any:
    """F near 1, by series in 1 - z. Source: DLMF 15.8.4."""
    rest, w = c - a - b, 1 - z
    size, sign = _ratio((c, rest), (c - a, c - b))
    first = sign * exp(size) * _series((a, b), 1 - rest, w)
    size, sign = _ratio((c, -rest), (a, b))
    return first + sign * exp(size + rest * log(w)) * _series((c - a, c - b), 1 + rest, w)


__all__ = ["hyp1f1", "hyp2f1"]
