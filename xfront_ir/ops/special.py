"""Special functions: error functions, gamma and its kin, Bessel functions, incomplete integrals.

All of them take floats. Sources: CHLO spec for erf, erfc, erf_inv, lgamma, digamma, polygamma,
zeta, bessel_i1e; Abramowitz and Stegun, chapters 6, 9 and 26, for the others and the derivatives,
but for gelu.
Where no closed derivative exists in one operand, asking for it is an error, never zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..core import Op, Value
from ..definition import NONE, OpDef
from ..errors import MissingRule
from ..spreading import alike, spreads
from ..traits import EXPENSIVE, MERGED, does, mark
from .elementwise import clamp, exp, floor, log, log1p, sign, sin, sqrt, square, tanh
from .families import Partial, elementwise, is_float, slope
from .formulas import Term, polynomial, where

if TYPE_CHECKING:
    from ..builder import Builder


def _float(name: str, *partials: Partial | None, **options: Any) -> OpDef[Value]:
    return elementwise(name, *partials, allowed=is_float, wanted="float", family=__name__,
                       **options)


def _no_derivative(name: str, operand: str) -> Partial:
    def refuse(b: Builder, t: Value, op: Op) -> Value:
        raise MissingRule(f"op {name!r} has no derivative with respect to its operand `{operand}`")

    return refuse


# --- error functions ----------------------------------------------------------------------

erf = _float("erf", slope(lambda x, y: exp(-square(x)) * (2 / math.sqrt(math.pi))))
erfc = _float("erfc", slope(lambda x, y: exp(-square(x)) * (-2 / math.sqrt(math.pi))))
erf_inv = _float("erf_inv", slope(lambda x, y: exp(square(y)) * (math.sqrt(math.pi) / 2)))


# --- the logarithm of gamma and its derivatives -------------------------------------------

def _slope_digamma(x: Term, y: Term) -> Term:
    """polygamma(1, x): by reflection below 0, where the series does not hold; 1/x for large x."""
    one, zero = x.like(1), x.like(0)
    below = x < zero
    far = x.like({16: math.inf, 32: 1e9}.get(x.dtype.bits, 1e18)) < x
    inside = where(far, one, where(below, one - x, x))
    made = polygamma(one, inside)
    rest = x - floor(x + 0.5)
    angle = where(below, rest, 0.5) * math.pi
    pole = square(x.like(math.pi) / sin(angle))
    made = where(below, pole - made, made)
    outside = one / where(far, x, one)
    return where(far, outside, made)


lgamma = _float("lgamma", slope(lambda x, y: digamma(x)))
digamma = _float("digamma", slope(_slope_digamma))
polygamma = _float("polygamma", _no_derivative("polygamma", "order"),
                   slope(lambda n, x, y: polygamma(n + 1, x)))
zeta = _float("zeta", _no_derivative("zeta", "x"),          # Hurwitz: sum of (q + k)^-x
              slope(lambda x, q, y: -x * zeta(x + 1, q)))


# --- modified Bessel functions, scaled by exp(-|x|) ---------------------------------------

def _slope_i1e(x: Term, y: Term) -> Term:
    """i0e(x) - i1e(x) (sign(x) + 1/x); near 0, i1e(x)/x by its series, for all derivatives."""
    size = x * sign(x)
    near = size < 0.5
    inverse = x.like(1) / where(near, 1, x)
    size = where(near, size, 0)
    square_, series = square(size), x.like(1 / 1474560)
    for term in (1 / 18432, 1 / 384, 1 / 16, 1 / 2):
        series = series * square_ + term
    series = series * exp(-size)
    far = bessel_i0e(x) - y * sign(x)
    return far - where(near, series, y * inverse)


bessel_i0e = _float("bessel_i0e", slope(lambda x, y: bessel_i1e(x) - sign(x) * y))
bessel_i1e = _float("bessel_i1e", slope(_slope_i1e))


# --- incomplete gamma and beta functions, regularised -------------------------------------

def _times_log(factor: Term, log: Term) -> Term:
    """factor * log, 0 where the factor is 0 though the logarithm is infinite."""
    return factor * where(factor == 0, factor, log)


def _gamma_density(a: Term, x: Term) -> Term:
    """exp(-x) x^(a-1) / gamma(a)"""
    plain = exp(_times_log(a - 1, log(x)) - x - lgamma(a))
    least, wide = (1e5, 0.03) if a.dtype is dtypes.f64 else (200, 0.3)
    apart = x - a
    size = apart * sign(apart)
    near = a.like(least) < a
    near = near & (size < a * wide)
    return where(near, _density_of_large(a, x, near), plain)


def _density_of_large(a: Term, x: Term, near: Term) -> Term:
    """The gamma density for large a and x near a, where the exponent's terms cancel: by Stirling,
    sqrt(a / 2 pi) / x exp(-a (u - log(1 + u)) - 1 / 12 a), u = (x - a) / a."""
    a = where(near, a, 1000)
    x = where(near, x, a)
    off = (x - a) / a
    half = a.like(1 / 16)                                # for (u - log(1 + u)) / u^2
    for k in range(15, 1, -1):
        half = half * off + (-1) ** k / k
    exponent = a * square(off) * half
    exponent = exponent + a.like(1 / 12) / a
    scale = sqrt(a * (1 / (2 * math.pi))) / x
    return exp(-exponent) * scale


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
             -3617 / 122400)


def _after_stirling(x: Term) -> Term:
    """lgamma(x) less (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 8. Source: DLMF 5.11.1."""
    inverse = x.like(1) / x
    return inverse * polynomial(square(inverse), _STIRLING)


def log_beta(p: Term, q: Term) -> Term:
    """log(B(p, q)), where at most one of p and q is large: then lgamma of the larger less that of
    the sum by the differences of Stirling's terms."""
    less = p < q
    small, large = where(less, p, q), where(less, q, p)
    far = large.like(8) < large
    start, step = where(far, large, 8), where(far, small, 1)
    end = start + step
    drop = step - (start - 0.5) * log1p(step / start) - step * log(end)
    drop = drop + _after_stirling(start) - _after_stirling(end)
    return lgamma(small) + where(far, drop, lgamma(large) - lgamma(large + small))


def is_large_beta(p: Term, q: Term) -> Term:
    """Where `beta_power` holds."""
    least = p.like(8)
    return (least < p) & (least < q)


def beta_power(p: Term, q: Term, x: Term, y: Term) -> Term:
    """x^p y^q / B(p, q) for p and q above 8 and y = 1 - x: Stirling's formula, the powers relative
    to those at their maximum. Source: Didonato and Morris, Algorithm 708, 1992."""
    whole = p + q
    apart = where(p < q, p - whole * x, whole * y - q)
    falls = p * _above_log(-(apart / p)) + q * _above_log(apart / q)
    rest = _after_stirling(p) + _after_stirling(q) - _after_stirling(whole)
    return exp(-falls - rest) * sqrt(p * (q / whole) * (1 / (2 * math.pi)))


def _above_log(x: Term) -> Term:
    """x - log(1 + x); near 0 by the series of the area tangent of r = x / (2 + x)."""
    near = abs(x) < 0.3
    inside = where(near, x, 0)
    r = inside / (inside + 2)
    squared = square(r)
    series = polynomial(squared, [1 / k for k in range(3, 25, 2)])
    return where(near, r * (inside - series * squared * 2), x - log(where(near, 1, x + 1)))


def _beta_density(p: Term, q: Term, x: Term, y: Term) -> Term:
    """x^(p-1) (1-x)^(q-1) / B(p, q); NaN outside [0, 1]"""
    powers = _times_log(p - 1, log(x)) + _times_log(q - 1, log1p(-x))
    plain = exp(where(x > 1, math.nan, powers - log_beta(p, q)))
    inside = is_large_beta(p, q) & (x > 0) & (x < 1)
    p, q, x = where(inside, p, 8), where(inside, q, 8), where(inside, x, 0.5)
    rest = 1 - x
    return where(inside, beta_power(p, q, x, rest) / x / rest, plain)


igamma = _float("igamma", slope(lambda a, x, y: igamma_grad_a(a, x)),
                slope(lambda a, x, y: _gamma_density(a, x)))
igammac = _float("igammac", slope(lambda a, x, y: -igamma_grad_a(a, x)),
                 slope(lambda a, x, y: -_gamma_density(a, x)))
igamma_grad_a = _float("igamma_grad_a", operands=2, jvp=NONE)
"""The derivative of `igamma` in `a`."""

random_gamma_grad = _float("random_gamma_grad", operands=2, jvp=NONE)
"""The derivative in `a` of a sample x of the gamma distribution of shape `a`, at equal
probability: -igamma_grad_a(a, x) over the density at x."""

betainc = _float("betainc", _no_derivative("betainc", "a"), _no_derivative("betainc", "b"),
                 slope(_beta_density))


# --- gelu ---------------------------------------------------------------------------------

def gelu_terms(x: Term) -> tuple[Term, Term]:
    """The square of z, and tanh(sqrt(2/pi) (z + 0.044715 z^3)), where z is x clamped to where the
    tanh is 1 in every digit."""
    end = x.like(20, x.type.with_shape(()))
    z = clamp(-end, x, end)
    squared, factor = z * z, math.sqrt(2 / math.pi)
    return squared, tanh(z * (squared * (factor * 0.044715) + factor))


def _slope_gelu(x: Term, y: Term) -> Term:
    """h + x h (1 - t) u'(x), where h is (1 + t) / 2 and u the cubic under the tanh t."""
    wide = x.to(dtypes.f32) if x.dtype.bits < 32 else x
    squared, t = gelu_terms(wide)
    half, factor = (t + 1) * 0.5, math.sqrt(2 / math.pi)
    bend = squared * (factor * 3 * 0.044715) + factor
    near = where(abs(wide) > 20, 0, wide)                # NaN stays, for second derivatives
    return (half + near * half * (1 - t) * bend).to(x.dtype)


gelu = _float("gelu", slope(_slope_gelu))
"""x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. Source: arXiv:1606.08415."""


# --- axes that divide ---------------------------------------------------------------------

spreads(alike, erf, erfc, erf_inv, lgamma, digamma, polygamma, zeta, bessel_i0e, bessel_i1e,
        igamma, igammac, igamma_grad_a, random_gamma_grad, betainc, gelu)


# --- what passes ask ----------------------------------------------------------------------

mark({MERGED}, erf, erfc, erf_inv, lgamma, digamma, polygamma, zeta, bessel_i0e, bessel_i1e, gelu)
mark({EXPENSIVE}, erf, gelu)
does(20, gelu)
does(40, erf_inv)
does(80, lgamma, digamma)
does(200, polygamma, zeta)
