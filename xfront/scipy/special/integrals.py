"""Integrals without a closed form: of exp(t^2), exp(t) / t, sin(t) / t, sin(t^2), log(t) / (1 - t).

Sources: NIST DLMF chapters 6 (exponential, sine and cosine integrals), 7 (Dawson's and Fresnel's
integrals), 8.19 (generalised exponential integral), 25.12
(dilogarithm); W. J. Cody and H. C. Thacher, Chebyshev approximations for the exponential integral
Ei(x), Math. Comp. 23 (1969); D. B. Owen, Tables for computing bivariate normal probabilities, Ann.
Math. Stat. 27 (1956). The coefficients of approximations are in `coefficients.py`.
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
from ...numpy import rint, where
from ...numpy.rounding import floor
from ...numpy.transcendental import cos, exp, log, log1p, sin
from ...tracing.trace import emit
from . import coefficients as known
from .faddeeva import erfcx_of, falling_bell
from .gammas import digamma
from .parts import chebyshev, wide, with_slopes

_EULER = 0.57721566490153286


# --- Dawson's integral ----------------------------------------------------------------------

def _dawson(x: Any) -> Any:
    square = x * x
    least, near, far = square < 2, square < 9, square > 36
    below = x * chebyshev(where(least, square, 1.0), 0, 2, known.DAWSN_NEAR)
    above = chebyshev(where(near & ~least, square, 4.0), 2, 9, known.DAWSN_NEXT)
    inverse = 1 / where(near, 9.0, square)
    beyond = where(far, chebyshev(where(far, inverse, 0.02), 0, 1 / 36, known.DAWSN_FAR),
                    chebyshev(where(far, 1 / 18, inverse), 1 / 36, 1 / 9, known.DAWSN_MIDDLE))
    return where(least, below, where(near, above, beyond) / where(least, 1.0, x))


def _slope_of_dawson(y: Any, x: Any) -> Any:
    """1 - 2 x y; for large x by its asymptotic series."""
    far = abs(x) > 8
    inverse = 1 / where(far, x, 8.0) ** 2
    series: Any = 1.0
    for k in range(13, 1, -1):
        series = 1 + (k - 0.5) * inverse * series
    return where(far, -0.5 * inverse * series, 1 - 2 * where(far, 0.0, x) * y)


_dawsn = with_slopes(_dawson, _slope_of_dawson)


@eager
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.

    Raises: ValueError for complex numbers.

    >>> special.dawsn(jnp.array([0., 1.]))
    Array([0.   , 0.538], dtype=float32)
    """
    (x,), back = wide("dawsn", x)
    return strong(back(_dawsn(x)))


# --- exponential integrals ------------------------------------------------------------------

_ROOT, _ROOT_HIGH, _ROOT_LOW = 0.3725074107813666, 0.37250709533691406, 3.15444452571962e-07
"""The zero of Ei, and the same as a sum whose first part any dtype holds."""


def _first(x: Any) -> Any:
    """E1(x) for x >= 0."""
    near, middle, far = x < 1, x > 2.5, x > 6
    z = where(near, x, 0.5)
    series = chebyshev(z, 0, 1, known.E1_NEAR) - _EULER - log(z)
    v = 1 / where(near, 1.0, x)
    made = chebyshev(where(middle, 0.5, v), 2 / 5, 1, known.E1_NEXT)
    made = where(middle, chebyshev(where(far, 0.25, v), 1 / 6, 2 / 5, known.E1_MIDDLE), made)
    made = where(far, chebyshev(where(far, v, 0.1), 0, 1 / 6, known.E1_FAR), made)
    return where(near, series, exp(-x) * v * made)


def _positive(x: Any) -> Any:
    """Ei(x) for x >= 0."""
    near = x < 6
    z = where(near, x, 1.0)
    close = abs(z - _ROOT) < 0.2                 # a choice, as XLA would add two constants up
    off = z - where(close, _ROOT_HIGH, _ROOT) - where(close, _ROOT_LOW, 0.0)
    log_z = where(close, log1p(where(close, off, 0.0) / _ROOT), log(z / _ROOT))
    least = z < 2
    rest = where(least, chebyshev(where(least, z, 1.0), 0, 2, known.EI_NEAR),
                 chebyshev(where(least, 4.0, z), 2, 6, known.EI_NEXT))
    series = log_z + off * rest
    v = 1 / where(near, 6.0, x)
    made = chebyshev(where(v < 1 / 12, 0.1, v), 1 / 12, 1 / 6, known.EI_MIDDLE)
    made = where(v < 1 / 12, chebyshev(v, 1 / 24, 1 / 12, known.EI_FAR), made)
    made = where(v < 1 / 24, chebyshev(where(v < 1 / 24, v, 0.0), 0, 1 / 24, known.EI_FARTHER),
                  made)
    large = x > 80                               # a square root squared overflows later
    root = exp(where(near, 6.0, x) * where(large, 0.5, 1.0))
    made = where(near, series, root * v * made * where(large, root, 1.0))
    return where(x == math.inf, x, made)


def _exponential(x: Any) -> Any:
    below = x < 0
    return where(below, -_first(where(below, -x, 1.0)), _positive(where(below, 1.0, x)))


_expi = with_slopes(_exponential, lambda y, x: exp(x) / x)


@eager
def expi(x: ArrayLike) -> Array:
    """Exponential integral: the principal value of the integral of exp(t) / t from -inf to x.

    Raises: ValueError for complex numbers.

    >>> special.expi(jnp.array([1., 2.]))
    Array([1.895, 4.954], dtype=float32)
    """
    (x,), back = wide("expi", x)
    return strong(back(_expi(x)))


@eager
def exp1(x: ArrayLike) -> Array:
    """Exponential integral: the integral of exp(-t) / t from x to inf; NaN for negative x.

    Raises: ValueError for complex numbers.

    >>> special.exp1(jnp.array([1., 2.]))
    Array([0.219, 0.049], dtype=float32)
    """
    (x,), back = wide("exp1", x)
    below = x < 0
    return strong(back(where(below, math.nan, -_expi(-where(below, 1.0, x)))))


def _general(n: Any, x: Any) -> Any:
    """E_n(x): by its series for x < 1, else by the continued fraction. Source: DLMF 8.19.8 and
    8.19.17."""
    eps = float(np.finfo(x.dtype).eps)
    near = x < 1
    ordinary = (n > 1) & (x > 0)
    order = where(ordinary, n, 2.0)
    z = where(ordinary & near, x, 0.5)

    def grow(state: Any) -> Any:
        k, power, total, change = state
        power = power * -z / k
        bottom = k - (order - 1)
        at_pole = log(z) - digamma(order)
        term = power * where(bottom == 0, at_pole, 1 / where(bottom == 0, 1.0, bottom))
        return k + 1, power, total - term, abs(term)

    one = z * 0 + 1
    _, _, series, _ = while_loop(
        lambda s: ((s[3] > eps * abs(s[2])) | (s[0] <= order)).any() & (s[0] < 400).all(), grow,
        (one, one, 1 / (order - 1), one))
    w = where(ordinary & ~near, x, 1.0)

    def nested(state: Any) -> Any:               # Steed's method: each part is smaller
        k, d, part, value = state
        top, bottom = -k * (order - 1 + k), w + order + 2 * k
        grown = 1 / (top * d + bottom)
        part = part * -top * d * grown
        return k + 1, grown, part, value + part

    start = 1 / (w + order)
    fraction = while_loop(lambda s: (abs(s[2]) > eps * s[3]).any() & (s[0] < 400).all(), nested,
                          (one, start, start, start))[3]
    made = where(near, series, exp(-w) * fraction)
    first = _expi(-where(x > 0, x, 1.0))
    zeroth = exp(-x) / x
    at_zero = where(n > 1, 1 / where(n > 1, n - 1, 1.0), math.inf)
    made = where(n == 0, zeroth, where(n == 1, -first, made))
    made = where(x == 0, at_zero, where(x == math.inf, 0.0, made))
    right = (x >= 0) & (n >= 0) & (floor(n) == n)
    return where(right, made, math.nan)


def _slope_of_general(y: Any, n: Any, x: Any) -> Any:
    zero = n == 0
    less = _expn(where(zero, 1.0, n - 1), x)
    return -where(zero, y * (1 + 1 / x), less)


_expn = with_slopes(_general, None, _slope_of_general)


@eager
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Generalised exponential integral: the integral of exp(-x t) / t^n from 1 to inf.

    Args:
      n: orders, nonnegative whole numbers; they have no derivative.
      x: nonnegative numbers.
    Returns: floats; NaN for other orders and negative x.
    Raises: ValueError for complex numbers.

    >>> special.expn(2, 1.)
    Array(0.148, dtype=float32)
    """
    (n, x), back = wide("expn", n, x)
    return strong(back(_expn(n, x)))


# --- sine and cosine integrals --------------------------------------------------------------

def _both(x: Any) -> Any:
    """Si and Ci of |x|, by f and g where |x| is above 4."""
    size = abs(x)
    near, far = size < 4, size > 8
    z = where(near, size, 1.0)
    si = z * chebyshev(z * z, 0, 16, known.SI_NEAR)
    ci = log(z) + _EULER + z * z * chebyshev(z * z, 0, 16, known.CI_NEAR)
    endless = size == math.inf
    w = where(near | endless, 4.0, size)
    v = 1 / (w * w)
    inner, outer = where(far, 1 / 32, v), where(far, v, 0.01)
    f = where(far, chebyshev(outer, 0, 1 / 64, known.SICI_F_FAR),
               chebyshev(inner, 1 / 64, 1 / 16, known.SICI_F_MIDDLE)) / w
    g = where(far, chebyshev(outer, 0, 1 / 64, known.SICI_G_FAR),
               chebyshev(inner, 1 / 64, 1 / 16, known.SICI_G_MIDDLE)) * v
    sine, cosine = sin(w), cos(w)
    si = where(near, si, math.pi / 2 - f * cosine - g * sine)
    ci = where(near, ci, f * sine - g * cosine)
    return where(endless, math.pi / 2, si), where(endless, 0.0, ci)


def _slope_of_sine(_: Any, x: Any) -> Any:
    zero = x == 0
    return where(zero, 1.0, sin(x) / where(zero, 1.0, x))


_sine = with_slopes(lambda x: where(x < 0, -1.0, 1.0) * _both(x)[0], _slope_of_sine)
_cosine = with_slopes(lambda x: _both(x)[1], lambda y, x: cos(x) / x)


@eager
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Sine and cosine integrals: the integral of sin(t) / t from 0 to x, and minus the integral of
    cos(t) / t from |x| to inf, which is -inf at 0.

    Raises: ValueError for complex numbers.

    >>> special.sici(1.)[0]
    Array(0.946, dtype=float32)
    """
    (x,), back = wide("sici", x)
    return strong(back(_sine(x))), strong(back(_cosine(x)))


# --- Fresnel integrals ----------------------------------------------------------------------

def _quarter_turns(x: Any) -> tuple[Any, Any]:
    """sin and cos of pi x^2 / 2; the angle is reduced modulo a turn before it is rounded."""
    whole = rint(x)
    rest = x - whole
    odd = whole - 2 * floor(whole * 0.5)
    part = whole * rest * 2
    part = part - 4 * rint(part * 0.25)
    angle = (odd + part + rest * rest) * (math.pi / 2)
    return sin(angle), cos(angle)


def _fresnel_pair(x: Any) -> tuple[Any, Any]:
    size = abs(x)
    near, far, gone = size < 1.6, size > 3, size > 1e15
    z = where(near, size, 1.0)
    square = z * z
    s = z * square * chebyshev(square * square, 0, 1.6 ** 4, known.FRESNEL_S)
    c = z * chebyshev(square * square, 0, 1.6 ** 4, known.FRESNEL_C)
    w = where(near | gone, 2.0, size)
    u = 1 / (w * w)
    v = u * u
    inner, outer = where(far, 0.1, v), where(far, v, 0.01)
    f = where(far, chebyshev(outer, 0, 1 / 81, known.FRESNEL_F_FAR),
               chebyshev(inner, 1 / 81, 1.6 ** -4, known.FRESNEL_F_MIDDLE)) / (math.pi * w)
    g = where(far, chebyshev(outer, 0, 1 / 81, known.FRESNEL_G_FAR),
               chebyshev(inner, 1 / 81, 1.6 ** -4, known.FRESNEL_G_MIDDLE)) * u / (
                   math.pi ** 2 * w)
    sine, cosine = _quarter_turns(w)
    s = where(near, s, 0.5 - f * cosine - g * sine)
    c = where(near, c, 0.5 + f * sine - g * cosine)
    sign = where(x < 0, -1.0, 1.0)
    return sign * where(gone, 0.5, s), sign * where(gone, 0.5, c)


_fresnel_s = with_slopes(lambda x: _fresnel_pair(x)[0], lambda y, x: _quarter_turns(x)[0])
_fresnel_c = with_slopes(lambda x: _fresnel_pair(x)[1], lambda y, x: _quarter_turns(x)[1])


@eager
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel integrals: of sin(pi t^2 / 2) and of cos(pi t^2 / 2), from 0 to x.

    Raises: ValueError for complex numbers.

    >>> special.fresnel(1.)[0]
    Array(0.438, dtype=float32)
    """
    (x,), back = wide("fresnel", x)
    return strong(back(_fresnel_s(x))), strong(back(_fresnel_c(x)))


# --- dilogarithm ----------------------------------------------------------------------------

def _dilogarithm(x: Any) -> Any:
    """Spence's function, by 1 / x above 2, by 1 / x - 1 or 1 - x where that is within 1/2 of 0."""
    large = x > 1.5
    y = where(x > 2, 1 / where(x > 2, x, 1.0), x)
    high, low = y > 1.5, y < 0.5
    w = where(high, 1 / where(high, y, 1.0) - 1, where(low, -y, y - 1))
    made = w * chebyshev(where(abs(w) <= 0.5, w, 0.0), -0.5, 0.5, known.SPENCE)
    z = where(low & (y > 0), y, 0.25)
    reflected = math.pi ** 2 / 6 - log(z) * log(1 - z) - made
    made = where(low, where(y == 0, math.pi ** 2 / 6, reflected), made)
    log_x = log(where(large, x, 1.0))
    made = where(large, -0.5 * log_x * log_x - made, made)
    return where(x >= 0, where(x == math.inf, -math.inf, made), math.nan)


def _slope_of_dilogarithm(_: Any, x: Any) -> Any:
    one = x == 1
    return where(one, -1.0, log(x) / where(one, 1.0, 1 - x))


_spence = with_slopes(_dilogarithm, _slope_of_dilogarithm)


@eager
def spence(x: ArrayLike) -> Array:
    """Spence's function: the integral of log(t) / (1 - t) from 1 to x; NaN for negative x.

    Raises: ValueError for complex numbers.

    >>> special.spence(jnp.array([1., 2.]))
    Array([-0.   , -0.822], dtype=float32)
    """
    (x,), back = wide("spence", x)
    return strong(back(_spence(x)))


# --- Owen's T function ----------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


def _beside(h: Any, a: Any) -> Any:
    """T(h, a) for h >= 0 and 0 <= a <= 1, by Gauss's formula up to where the integrand vanishes."""
    width = 9.0 / where(h > 9, h, 9.0)
    end = where(a < width, a, width)
    shape = (*h.shape, len(_NODES))
    along = {"shape": shape, "dims": tuple(range(h.ndim))}
    h, reach = emit(ops.broadcast_in_dim, h, **along), emit(ops.broadcast_in_dim, end, **along)
    t = reach * (0.5 * _NODES + 0.5).astype(h.dtype)
    inner = 1 + t * t
    parts = exp(-0.5 * h * h * inner) / inner * (0.5 * _WEIGHTS).astype(h.dtype)
    return end * parts.sum(-1) * (0.5 / math.pi)


def _complement(x: Any) -> Any:
    """The probability of a normal variable above x >= 0."""
    inside = x < 40
    x = where(inside, x, 40.0)
    return where(inside, 0.5 * falling_bell(x) * erfcx_of(x * math.sqrt(0.5)), 0.0)


def _owen(h: Any, a: Any) -> Any:
    h, size = abs(h), abs(a)
    large = size > 1
    endless = size == math.inf
    inner = where(large, 1 / where(large, size, 1.0), size)
    scaled = where(large & ~endless, h * where(endless, 1.0, size), h)
    made = _beside(where(scaled == math.inf, 0.0, scaled), inner)
    made = where(scaled == math.inf, 0.0, made)
    first, second = _complement(h), _complement(scaled)
    flipped = 0.5 * (first + second) - first * second - made
    made = where(large, where(endless, 0.5 * first, flipped), made)
    nan = (h != h) | (a != a)
    return where(nan, math.nan, where(a < 0, -made, made))


def _slope_in_h(_: Any, h: Any, a: Any) -> Any:
    return (-0.5 / math.sqrt(2 * math.pi)) * exp(-0.5 * h * h) * emit(
        ops.erf, a * h * math.sqrt(0.5))


def _slope_in_a(_: Any, h: Any, a: Any) -> Any:
    inner = 1 + a * a
    return (0.5 / math.pi) * exp(-0.5 * h * h * inner) / inner


_owens_t = with_slopes(_owen, _slope_in_h, _slope_in_a)


@eager
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function: the probability that a normal variable is above h, and another one,
    independent of it, between 0 and a times the first.

    Raises: ValueError for complex numbers.

    >>> special.owens_t(1., 1.)
    Array(0.067, dtype=float32)
    """
    (h, a), back = wide("owens_t", h, a)
    return strong(back(_owens_t(h, a)))


__all__ = ["dawsn", "exp1", "expi", "expn", "fresnel", "owens_t", "sici", "spence"]
