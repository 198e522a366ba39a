"""Gamma and beta functions, and functions built on them.

Sources: NIST DLMF chapters 5, 8 and 25; `scipy.special`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import ops

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import operand, strong
from ...lax.strict import static_int
from ...numpy import conj, exp, expm1, full_like, imag, log, log1p, rint, where
from ...numpy.arithmetic import square
from ...numpy.extremes import maximum
from ...numpy.logic import isfinite
from ...numpy.rounding import floor
from ...numpy.ufuncs import inexact
from ...tracing.trace import emit
from ...tracing.tracer import as_tracer
from .parts import one, real, together

gammaln = one("gammaln", ops.lgamma, "log |gamma(x)|.", "[1., 4.] -> [0.   , 1.792]")
digamma = one("digamma", ops.digamma, "Derivative of gammaln.", "[1., 2.] -> [-0.577,  0.423]")


@eager
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Lower incomplete gamma function, regularised: the integral of exp(-t) t^(a-1) from 0 to x,
    over gamma(a).

    Args:
      a, x: real numbers that are not negative; they broadcast.
    Returns: floats in [0, 1].
    Source: DLMF 8.2.4, 8.12.

    >>> special.gammainc(1., jnp.array([1., 2.]))
    Array([0.632, 0.865], dtype=float32)
    """
    return emit(ops.igamma, *together("gammainc", a, x))


@eager
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Upper incomplete gamma function, regularised: 1 - `gammainc(a, x)`, exact where it is small.

    Args:
      a, x: real numbers that are not negative; they broadcast.
    Returns: floats in [0, 1].
    Source: DLMF 8.2.4, 8.12.

    >>> special.gammaincc(1., jnp.array([1., 2.]))
    Array([0.368, 0.135], dtype=float32)
    """
    return emit(ops.igammac, *together("gammaincc", a, x))


@eager
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Incomplete beta function, regularised: the integral of t^(a-1) (1-t)^(b-1) from 0 to x, over
    beta(a, b). It has a derivative in x alone.

    Args:
      a, b: positive real numbers. x: real numbers in [0, 1]; the three broadcast.
    Returns: floats in [0, 1].
    Source: DLMF 8.17.2.

    >>> special.betainc(1., 2., jnp.array([0.5, 1.]))
    Array([0.75, 1.  ], dtype=float32)
    """
    return emit(ops.betainc, *together("betainc", a, b, x))


@eager
def gammasgn(x: ArrayLike) -> Array:
    """Sign of gamma(x): NaN at negative integers and -inf, as its limits differ.

    >>> special.gammasgn(jnp.array([1., -0.5]))
    Array([ 1., -1.], dtype=float32)
    """
    return strong(gammasgn_of(real("gammasgn", x)))


def gammasgn_of(x: Any) -> Any:
    down = floor(x)
    negative = x < 0
    half = down * 0.5
    odd = floor(half) != half
    sign = where(negative, where(odd, -1.0, 1.0), 1.0)
    zero_sign = where(1.0 / where(x == 0, x, 1.0) < 0, -1.0, 1.0)
    sign = where(x == 0, zero_sign, sign)
    pole = negative & (x == down)
    made = where(pole, np.nan, sign)
    return where(x != x, x, where(isfinite(x), x, 0.0) * 0.0 + made)


@eager
def loggamma(x: ArrayLike) -> Array:
    """The logarithm of the gamma function; for complex numbers the one that is analytic except on
    the negative real axis. NaN for negative real numbers: `gammaln` is log |gamma(x)|.

    >>> special.loggamma(jnp.array([1., 4.]))
    Array([0.   , 1.792], dtype=float32)
    """
    x = inexact(operand("loggamma", x))
    if x.value.type.dtype.is_complex:
        return _log_gamma(x)
    return emit(ops.lgamma, x * where(x < 0, math.nan, 1.0))


_SHIFT = 8
_STIRLING_TERMS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
                   -3617 / 122400, 43867 / 244188, -174611 / 125400)


def _log_gamma(z: Any) -> Any:
    """log(gamma(z)) by Stirling's series at z + 8; the left half plane is reflected.

    Sources: NIST DLMF 5.5.1, 5.5.3 and 5.11.1; D. E. G. Hare, Computing the principal branch of
    log-gamma, J. Algorithms 25 (1997).
    """
    lower = imag(z) < 0
    u = where(lower, conj(z), z)
    left = emit(ops.real, u) < 0.5
    v = where(left, 1 - u, u)
    w = v + _SHIFT
    inverse = 1 / w
    square, series = inverse * inverse, inverse * 0
    for c in reversed(_STIRLING_TERMS):
        series = series * square + c
    made = (w - 0.5) * log(w) - w + 0.5 * math.log(2 * math.pi) + series * inverse
    for k in range(_SHIFT):
        made = made - log(v + k)
    off = u - rint(emit(ops.real, u))            # sin(pi u) from the distance to a zero
    sine = log(-expm1(where(left, off, 0.5) * (2j * math.pi)))
    offset = v - where(emit(ops.real, v) < 1.5, 1.0, 2.0)
    made = where(abs(offset) < 0.65, _log_gamma_near(v), made)
    reflected = u * (1j * math.pi) + (math.log(2 * math.pi) - 0.5j * math.pi) - sine - made
    made = where(left, reflected, made)
    return where(lower, conj(made), made)


_ZETAS = (
    0.6449340668482264, 0.2020569031595943, 0.08232323371113819, 0.03692775514336993,
    0.01734306198444914, 0.008349277381922827, 0.00407735619794434, 0.0020083928260822143,
    0.0009945751278180853, 0.0004941886041194645, 0.0002460865533080483, 0.00012271334757848915,
    6.124813505870483e-05, 3.058823630702049e-05, 1.528225940865187e-05, 7.637197637899763e-06,
    3.81729326499984e-06, 1.908212716553939e-06, 9.539620338727962e-07, 4.769329867878064e-07,
    2.38450502727733e-07, 1.1921992596531106e-07, 5.960818905125948e-08, 2.980350351465228e-08,
    1.4901554828365043e-08, 7.45071178983543e-09, 3.725334024788457e-09, 1.862659723513049e-09)
"""zeta(k) - 1 from k = 2 on."""


def _log_gamma_near(z: Any) -> Any:
    """log(gamma(z)) between and near its zeros 1 and 2, by its series at 2. Source: DLMF 5.7.3."""
    below = emit(ops.real, z) < 1.5
    w = where(below, z - 1, z - 2)
    series = w * 0
    for k in range(len(_ZETAS) + 1, 1, -1):
        series = -series * w + _ZETAS[k - 2] / k
    made = w * (1 - np.euler_gamma) + w * w * series
    return where(below, made - log1p(w), made)


@eager
def gamma(x: ArrayLike) -> Array:
    """Gamma function; NaN at negative integers, infinite at 0.

    >>> special.gamma(jnp.array([1., 4.]))
    Array([1., 6.], dtype=float32)
    """
    x = inexact(operand("gamma", x))
    if x.value.type.dtype.is_complex:
        pole = (imag(x) == 0) & (emit(ops.real, x) <= 0) & (rint(emit(ops.real, x)) == emit(
            ops.real, x))
        return strong(as_tracer(where(pole, math.nan, exp(_log_gamma(where(pole, 0.5, x))))))
    sign = emit(ops.stop_gradient, gammasgn_of(x))
    return strong(sign * exp(emit(ops.lgamma, x)))


@eager(static=("exact",))
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n! as a float; 0 for negative n. Raises: NotImplementedError where `exact`.

    >>> special.factorial(jnp.array([3, 4]))
    Array([ 6., 24.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not supported, since it needs integers "
                                  "of unlimited size; pass exact=False")
    x = real("factorial", n)
    negative = x < 0
    return where(negative, 0.0, exp(emit(ops.lgamma, where(negative, 0.0, x) + 1)))


@eager
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """log |beta(a, b)|.

    >>> special.betaln(2., 3.)
    Array(-2.485, dtype=float32, weak_type=True)
    """
    a, b = together("betaln", a, b)
    return betaln_of(a, b)


def betaln_of(a: Any, b: Any) -> Any:
    a, b, pole = _without_poles(a, b)
    smaller = a < b
    small, large = where(smaller, a, b), where(smaller, b, a)
    both = (small >= _LARGE) & isfinite(a + b)
    first = where(both, 1.0, small)
    apart = emit(ops.lgamma, first) + lgamma_drop(where(both, 1.0, large), first)
    far = _betaln_of_large(where(both, large, _LARGE), where(both, small, _LARGE))
    made = where(both, far, apart)
    return where(pole, math.inf, made)


def _without_poles(a: Any, b: Any) -> Any:
    """Two numbers with the same |beta|, none of which is a pole of gamma; and where there are none.

    Where a is an integer that is not positive, |beta(a, b)| is beta(1 - a - b, b) if b is a
    positive integer and that is defined, and infinite otherwise. Source: `scipy.special.beta`.
    """
    smaller = a < b
    small, large = where(smaller, a, b), where(smaller, b, a)
    pole = (small <= 0) & (small == floor(small))
    pole = pole & isfinite(small + large)
    whole = (large > 0) & (large == floor(large))
    turned = pole & (whole & (small + large <= 0))
    rest = 1 - small - large
    return where(turned, rest, small), large, pole & ~turned


def _betaln_of_large(a: Any, b: Any) -> Any:
    """betaln for a >= b >= 8: Stirling's formula, its large terms as logarithms of quotients."""
    whole = a + b
    share = b / whole
    made = _stirling(a) + _stirling(b) - _stirling(whole)
    made = made + (0.5 * math.log(2 * math.pi) - 0.5 * log(b))
    near = share < 0.25          # XLA's log1p of f64 loses digits below -0.3
    of_rest = where(near, log1p(where(near, -share, 0.0)), log(where(near, 0.5, a / whole)))
    made = made + (a - 0.5) * of_rest
    return made + b * log(share)


_LARGE = 8.0


def lgamma_drop(x: Any, by: Any) -> Any:
    """lgamma(x) - lgamma(x + by); for large x by the differences of Stirling's terms.

    Source: NIST DLMF 5.11.1.
    """
    to = x + by
    is_large = (x >= _LARGE) & (to >= _LARGE)
    is_large = is_large & isfinite(to)
    start, end = where(is_large, x, _LARGE), where(is_large, to, _LARGE)
    step = where(is_large, by, 0.0)
    made = step - (start - 0.5) * log1p(step / start)
    made = made - step * log(end)
    made = made + (_stirling(start) - _stirling(end))
    # where the quotient may be denormal, which counts as 0; f16 has no such numbers
    huge = start > (math.inf if start.dtype == np.float16 else 1e30)
    made = where(huge, -(step * log(end)), made)
    first, last = [emit(ops.lgamma, where(is_large, 1.0, v)) for v in (x, to)]
    return where(is_large, made, first - last)


def _stirling(x: Any) -> Any:
    """lgamma(x) less (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 8."""
    inverse = 1.0 / x
    squared = square(inverse)
    made: Any = _STIRLING_TERMS[-1]
    for term in _STIRLING_TERMS[-2::-1]:
        made = made * squared + term
    return made * inverse


@eager
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """gamma(a) gamma(b) / gamma(a + b).

    >>> special.beta(2., 3.)
    Array(0.083, dtype=float32)
    """
    a, b = together("beta", a, b)
    size: Any = exp(betaln_of(a, b))
    sign = gammasgn_of(a) * gammasgn_of(b) * gammasgn_of(a + b)
    sign = where(size == 0, 1.0, sign)         # also where gamma(a + b) has a pole
    turned = (sign != sign) & isfinite(size)
    larger = maximum(a, b)
    half = larger * 0.5
    odd = half != floor(half)
    return strong(where(turned, where(odd, -1.0, 1.0), sign) * size)


@eager
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """gamma(z + m) / gamma(z); 1 for m = 0.

    >>> special.poch(2., 3.)
    Array(24., dtype=float32)
    """
    z, m = together("poch", z, m)
    raised = exp(-lgamma_drop(z, m))
    sign = emit(ops.stop_gradient, gammasgn_of(z + m) * gammasgn_of(z))
    made = raised * sign
    nothing = (m == 0) & (made != 1)
    # 1 at a pole; elsewhere 1 with its derivative
    return strong(as_tracer(where(nothing, 1.0, made)))


@eager(static=("d",))
def multigammaln(a: ArrayLike, d: int) -> Array:
    """log of the multivariate gamma function of order d.

    >>> special.multigammaln(3., 2)
    Array(1.55, dtype=float32)
    """
    a, n = real("multigammaln", a), static_int("d", d)
    total = n * (n - 1) / 4 * math.log(math.pi)
    made: Any = full_like(a, total)
    for k in range(n):
        made = emit(ops.lgamma, a - k / 2) + made
    return strong(made)


@eager
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Derivative of order n of digamma.

    >>> special.polygamma(1, 1.)
    Array(1.645, dtype=float32, weak_type=True)
    """
    return emit(ops.polygamma, *together("polygamma", n, x))


@eager
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz zeta function: the sum over k >= 0 of (q + k)^-x.

    Raises: NotImplementedError without q.

    >>> special.zeta(2., 1.)
    Array(1.645, dtype=float32, weak_type=True)
    """
    if q is None:
        raise NotImplementedError("zeta: q=None is not supported; pass q=1.0 for the Riemann zeta "
                                  "function")
    return emit(ops.zeta, *together("zeta", x, q))

__all__ = ["beta", "betainc", "betaln", "digamma", "factorial", "gamma", "gammainc", "gammaincc",
           "gammaln", "gammasgn", "loggamma", "multigammaln", "poch", "polygamma", "zeta"]
