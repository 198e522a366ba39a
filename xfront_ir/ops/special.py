"""Special functions: error functions, gamma and its kin, Bessel functions, incomplete integrals.

All of them take floats. Sources: CHLO spec for erf, erfc, erf_inv, lgamma, digamma, polygamma,
zeta, bessel_i1e; Abramowitz and Stegun, chapters 6, 9 and 26, for the others and the derivatives.
Where no closed derivative exists in one operand, asking for it is an error, never zero.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..errors import MissingRule
from ..opdef import NONE
from ..traits import MERGED, does, mark
from .bits import and_
from .compare import eq, lt
from .elementwise import (
    add,
    div,
    exp,
    floor,
    log,
    log1p,
    mul,
    neg,
    select,
    sign,
    sin,
    sqrt,
    square,
    sub,
)
from .families import elementwise, is_float, lit, scaled


def _float(name: str, *partials: Any, **options: Any) -> Any:
    return elementwise(name, *partials, allowed=is_float, wanted="float", family=__name__,
                       **options)


def _coefficient(rule: Any) -> Any:
    """The partial that multiplies by `rule(b, result, *operands)`."""
    return scaled(lambda b, op: rule(b, op.results[0], *op.operands))


def _no_derivative(name: str, operand: str) -> Any:
    def refuse(b: Any, t: Any, op: Any) -> Any:
        raise MissingRule(f"op {name!r} has no derivative in its operand `{operand}`")

    return refuse


def _times(b: Any, x: Any, value: float) -> Any:
    return b.emit(mul, x, lit(b, x, value))


def _less_one(b: Any, x: Any) -> Any:
    return b.emit(sub, x, lit(b, x, 1))


# --- error functions ----------------------------------------------------------------------

def _bell(b: Any, x: Any, height: float) -> Any:
    """height exp(-x^2)"""
    return _times(b, b.emit(exp, b.emit(neg, b.emit(square, x))), height)


erf = _float("erf", _coefficient(lambda b, y, x: _bell(b, x, 2 / math.sqrt(math.pi))))
erfc = _float("erfc", _coefficient(lambda b, y, x: _bell(b, x, -2 / math.sqrt(math.pi))))
erf_inv = _float("erf_inv", _coefficient(
    lambda b, y, x: _times(b, b.emit(exp, b.emit(square, y)), math.sqrt(math.pi) / 2)))


# --- the logarithm of gamma and its derivatives -------------------------------------------

def _polygamma_of(b: Any, order: Any, x: Any) -> Any:
    return b.emit(polygamma, order, x)


def _slope_digamma(b: Any, x: Any) -> Any:
    """polygamma(1, x): by reflection below 0, where the series does not hold, 1/x far out."""
    one, zero = lit(b, x, 1), lit(b, x, 0)
    below = b.emit(lt, x, zero)
    far = b.emit(lt, lit(b, x, 1e18 if x.type.dtype.bits == 64 else 1e9), x)
    inside = b.emit(select, far, one, b.emit(select, below, b.emit(sub, one, x), x))
    made = _polygamma_of(b, one, inside)
    rest = b.emit(sub, x, b.emit(floor, b.emit(add, x, lit(b, x, 0.5))))
    angle = _times(b, b.emit(select, below, rest, lit(b, x, 0.5)), math.pi)
    pole = b.emit(square, b.emit(div, lit(b, x, math.pi), b.emit(sin, angle)))
    made = b.emit(select, below, b.emit(sub, pole, made), made)
    outside = b.emit(div, one, b.emit(select, far, x, one))
    return b.emit(select, far, outside, made)


lgamma = _float("lgamma", _coefficient(lambda b, y, x: b.emit(digamma, x)))
digamma = _float("digamma", _coefficient(lambda b, y, x: _slope_digamma(b, x)))
polygamma = _float("polygamma", _no_derivative("polygamma", "order"), _coefficient(
    lambda b, y, n, x: _polygamma_of(b, b.emit(add, n, lit(b, n, 1)), x)))
zeta = _float("zeta", _no_derivative("zeta", "x"), _coefficient(    # Hurwitz: sum of (q + k)^-x
    lambda b, y, x, q: b.emit(mul, b.emit(neg, x),
                              b.emit(zeta, b.emit(add, x, lit(b, x, 1)), q))))


# --- modified Bessel functions, scaled by exp(-|x|) ---------------------------------------

def _slope_i0e(b: Any, y: Any, x: Any) -> Any:
    return b.emit(sub, b.emit(bessel_i1e, x), b.emit(mul, b.emit(sign, x), y))


def _slope_i1e(b: Any, y: Any, x: Any) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1/x); i1e(x)/x by its series near 0, as of all derivatives."""
    size = b.emit(mul, x, b.emit(sign, x))
    near = b.emit(lt, size, lit(b, x, 0.5))
    inverse = b.emit(div, lit(b, x, 1), b.emit(select, near, lit(b, x, 1), x))
    size = b.emit(select, near, size, lit(b, x, 0))
    square_, series = b.emit(square, size), lit(b, x, 1 / 1474560)
    for term in (1 / 18432, 1 / 384, 1 / 16, 1 / 2):
        series = b.emit(add, b.emit(mul, series, square_), lit(b, x, term))
    series = b.emit(mul, series, b.emit(exp, b.emit(neg, size)))
    far = b.emit(sub, b.emit(bessel_i0e, x), b.emit(mul, y, b.emit(sign, x)))
    return b.emit(sub, far, b.emit(select, near, series, b.emit(mul, y, inverse)))


bessel_i0e = _float("bessel_i0e", _coefficient(_slope_i0e))
bessel_i1e = _float("bessel_i1e", _coefficient(_slope_i1e))


# --- incomplete gamma and beta functions, regularised -------------------------------------

def _times_log(b: Any, factor: Any, log: Any) -> Any:
    """factor * log, 0 where the factor is 0 though the logarithm is infinite."""
    none = b.emit(eq, factor, lit(b, factor, 0))
    return b.emit(mul, factor, b.emit(select, none, factor, log))


def _gamma_density(b: Any, a: Any, x: Any) -> Any:
    """exp(-x) x^(a-1) / gamma(a)"""
    power = _times_log(b, _less_one(b, a), b.emit(log, x))
    plain = b.emit(exp, b.emit(sub, b.emit(sub, power, x), b.emit(lgamma, a)))
    least, wide = (1e5, 0.03) if a.type.dtype is dtypes.f64 else (200, 0.3)
    apart = b.emit(sub, x, a)
    size = b.emit(mul, apart, b.emit(sign, apart))
    near = b.emit(lt, lit(b, a, least), a)
    near = b.emit(and_, near, b.emit(lt, size, _times(b, a, wide)))
    return b.emit(select, near, _density_of_large(b, a, x, near), plain)


def _density_of_large(b: Any, a: Any, x: Any, near: Any) -> Any:
    """The same where a is large and x near it, and the terms of the exponent cancel: by Stirling,
    sqrt(a / 2 pi) / x exp(-a (u - log(1 + u)) - 1 / 12 a), u = (x - a) / a."""
    a = b.emit(select, near, a, lit(b, a, 1000))
    x = b.emit(select, near, x, a)
    off = b.emit(div, b.emit(sub, x, a), a)
    half = lit(b, a, 1 / 16)                             # of (u - log(1 + u)) / u^2
    for k in range(15, 1, -1):
        half = b.emit(add, b.emit(mul, half, off), lit(b, a, (-1) ** k / k))
    exponent = b.emit(mul, b.emit(mul, a, b.emit(square, off)), half)
    exponent = b.emit(add, exponent, b.emit(div, lit(b, a, 1 / 12), a))
    scale = b.emit(div, b.emit(sqrt, _times(b, a, 1 / (2 * math.pi))), x)
    return b.emit(mul, b.emit(exp, b.emit(neg, exponent)), scale)


def _beta_density(b: Any, y: Any, p: Any, q: Any, x: Any) -> Any:
    """x^(p-1) (1-x)^(q-1) / B(p, q)"""
    powers = b.emit(add, _times_log(b, _less_one(b, p), b.emit(log, x)),
                    _times_log(b, _less_one(b, q), b.emit(log1p, b.emit(neg, x))))
    log_beta = b.emit(sub, b.emit(add, b.emit(lgamma, p), b.emit(lgamma, q)),
                      b.emit(lgamma, b.emit(add, p, q)))
    return b.emit(exp, b.emit(sub, powers, log_beta))


igamma = _float("igamma", _coefficient(lambda b, y, a, x: b.emit(igamma_grad_a, a, x)),
                _coefficient(lambda b, y, a, x: _gamma_density(b, a, x)))
igammac = _float(
    "igammac", _coefficient(lambda b, y, a, x: b.emit(neg, b.emit(igamma_grad_a, a, x))),
    _coefficient(lambda b, y, a, x: b.emit(neg, _gamma_density(b, a, x))))
igamma_grad_a = _float("igamma_grad_a", operands=2, jvp=NONE)
"""The derivative of `igamma` in `a`."""

random_gamma_grad = _float("random_gamma_grad", operands=2, jvp=NONE)
"""The derivative in `a` of a sample x of the gamma distribution of shape `a`, at equal
probability: -igamma_grad_a(a, x) over the density at x."""

betainc = _float("betainc", _no_derivative("betainc", "a"), _no_derivative("betainc", "b"),
                 _coefficient(_beta_density))


# --- what passes ask ----------------------------------------------------------------------

mark({MERGED}, erf, erfc, erf_inv, lgamma, digamma, polygamma, zeta, bessel_i0e, bessel_i1e)
does(40, erf_inv)
does(80, lgamma, digamma)
does(200, polygamma, zeta)
