"""Special functions: error functions, gamma and its kin, Bessel functions, incomplete integrals.

All of them take floats. Sources: CHLO spec for erf, erfc, erf_inv, lgamma, digamma, polygamma,
zeta, bessel_i1e; Abramowitz and Stegun, chapters 6, 9 and 26, for the others and the derivatives.
Where no closed derivative exists in one operand, asking for it is an error, never zero.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes

from ..errors import MissingRule
from ..opdef import NONE
from .compare import lt
from .elementwise import abs_, add, div, exp, log, log1p, mul, neg, select, sign, square, sub
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


lgamma = _float("lgamma", _coefficient(lambda b, y, x: b.emit(digamma, x)))
digamma = _float("digamma", _coefficient(lambda b, y, x: _polygamma_of(b, lit(b, x, 1), x)))
polygamma = _float("polygamma", _no_derivative("polygamma", "order"), _coefficient(
    lambda b, y, n, x: _polygamma_of(b, b.emit(add, n, lit(b, n, 1)), x)))
zeta = _float("zeta", _no_derivative("zeta", "x"), _coefficient(    # Hurwitz: sum of (q + k)^-x
    lambda b, y, x, q: b.emit(mul, b.emit(neg, x),
                              b.emit(zeta, b.emit(add, x, lit(b, x, 1)), q))))


# --- modified Bessel functions, scaled by exp(-|x|) ---------------------------------------

def _slope_i0e(b: Any, y: Any, x: Any) -> Any:
    return b.emit(sub, b.emit(bessel_i1e, x), b.emit(mul, b.emit(sign, x), y))


def _epsilon(x: Any) -> float:
    return float(ml_dtypes.finfo(x.type.dtype.numpy).eps)


def _slope_i1e(b: Any, y: Any, x: Any) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1/x); near 0, where i1e(x) is rounded, 1/2 - |x|."""
    size = b.emit(abs_, x)
    near = b.emit(lt, size, lit(b, x, math.sqrt(_epsilon(x)) / 16))
    safe = b.emit(select, near, lit(b, x, 1), x)
    slope = b.emit(sub, b.emit(bessel_i0e, x), b.emit(
        add, b.emit(mul, y, b.emit(sign, x)), b.emit(div, y, safe)))
    return b.emit(select, near, b.emit(sub, lit(b, x, 0.5), size), slope)


bessel_i0e = _float("bessel_i0e", _coefficient(_slope_i0e))
bessel_i1e = _float("bessel_i1e", _coefficient(_slope_i1e))


# --- incomplete gamma and beta functions, regularised -------------------------------------

def _gamma_density(b: Any, a: Any, x: Any) -> Any:
    """exp(-x) x^(a-1) / gamma(a)"""
    power = b.emit(mul, _less_one(b, a), b.emit(log, x))
    return b.emit(exp, b.emit(sub, b.emit(sub, power, x), b.emit(lgamma, a)))


def _beta_density(b: Any, y: Any, p: Any, q: Any, x: Any) -> Any:
    """x^(p-1) (1-x)^(q-1) / B(p, q)"""
    powers = b.emit(add, b.emit(mul, _less_one(b, p), b.emit(log, x)),
                    b.emit(mul, _less_one(b, q), b.emit(log1p, b.emit(neg, x))))
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
