"""NumPy rows of `ops/special.py`: scalar functions in double precision, written for clarity.

Sources: Abramowitz and Stegun, 6.3 (digamma), 6.4 (polygamma), 6.5 (incomplete gamma), 9.6 (Bessel
functions), 26.5 (incomplete beta); 23.1 for the Euler-Maclaurin formula under zeta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..reference import reference
from .wide import widened

INF, NAN = math.inf, math.nan


def _scalar(name: str) -> Callable[..., Any]:
    """Enter a function of Python floats as the row of an op that gives NaN for NaN."""
    def enter(function: Any) -> Any:
        def safe(*values: float) -> float:
            if any(map(math.isnan, values)):
                return NAN
            try:
                return function(*values)
            except OverflowError:
                return INF

        reference(name)(widened(np.vectorize(safe, otypes=[np.float64])))
        return function

    return enter


# --- error functions ----------------------------------------------------------------------

_scalar("erf")(math.erf)
_scalar("erfc")(math.erfc)


@_scalar("erf_inv")
def erf_inv(x: float) -> float:
    """The y with erf(y) = x, by Halley's method; near 1 on erfc, which keeps its digits."""
    if not abs(x) < 1:
        return math.copysign(INF, x) if abs(x) == 1 else NAN
    if x < 0:
        return -erf_inv(-x)
    y = 0.0 if x < 0.5 else math.sqrt(-math.log(1 - x))
    for _ in range(60):
        error = math.erf(y) - x if x < 0.5 else (1 - x) - math.erfc(y)
        step = error * math.sqrt(math.pi) / 2 * math.exp(y * y)
        y -= step / (1 + y * step)                     # Halley's step
        if abs(step) <= 1e-17 * abs(y):
            break
    return y


# --- gamma and its kin --------------------------------------------------------------------

@_scalar("lgamma")
def lgamma(x: float) -> float:
    """log |gamma(x)|, infinite at the poles."""
    return INF if x <= 0 and x == math.floor(x) else math.lgamma(x)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


@_scalar("digamma")
def digamma(x: float) -> float:
    """The derivative of lgamma: recurrence upwards, then the asymptotic series; below zero by
    reflection."""
    if x <= 0:
        if x == math.floor(x):
            return NAN
        return digamma(1 - x) - math.pi / math.tan(math.pi * x)
    total = 0.0
    while x < 15:
        total -= 1 / x
        x += 1
    series = sum(c / (2 * k * x ** (2 * k)) for k, c in enumerate(_BERNOULLI, 1))
    return total + math.log(x) - 0.5 / x - series


@_scalar("zeta")
def zeta(x: float, q: float) -> float:
    """The sum of (q + k)^-x for x > 1 and q > 0: 20 terms, then Euler and Maclaurin's formula."""
    if x <= 1 or q <= 0:
        return INF if x == 1 or (q <= 0 and q == math.floor(q)) else NAN
    total = sum((q + k) ** -x for k in range(20))
    end = q + 20
    total += end ** (1 - x) / (x - 1) + 0.5 * end ** -x
    factor = x * end ** (-x - 1)
    for k, c in enumerate(_BERNOULLI, 1):
        total += c / math.factorial(2 * k) * factor
        factor *= (x + 2 * k - 1) * (x + 2 * k) / (end * end)
    return total


@_scalar("polygamma")
def polygamma(n: float, x: float) -> float:
    """The n-th derivative of digamma, for a whole number n."""
    if n == 0:
        return digamma(x)
    if n < 0 or n != math.floor(n):
        return NAN
    return (-1) ** (int(n) + 1) * math.gamma(n + 1) * zeta(n + 1, x)


# --- modified Bessel functions ------------------------------------------------------------

def _bessel(x: float, order: int) -> float:
    """exp(-|x|) I_order(x) by the power series, whose terms all have the same sign."""
    x = abs(x)
    term = math.exp(-x) * (x / 2) ** order
    total, k = 0.0, 0
    while term > 1e-18 * total or k < x:
        total += term
        k += 1
        term *= (x / 2) ** 2 / (k * (k + order))
    return total


@_scalar("bessel_i0e")
def bessel_i0e(x: float) -> float:
    """exp(-|x|) I0(x)"""
    return _bessel(x, 0)


@_scalar("bessel_i1e")
def bessel_i1e(x: float) -> float:
    """exp(-|x|) I1(x)"""
    return math.copysign(_bessel(x, 1), x)


# --- incomplete functions -----------------------------------------------------------------

def _gamma_series(a: float, x: float) -> tuple[float, float]:
    """x^a e^-x sum of x^n / gamma(a + n + 1), and its derivative in a."""
    term = math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    psi, n = digamma(a + 1), 0
    total = slope = 0.0
    while term > 1e-18 * total or n < x:
        total += term
        slope += term * (math.log(x) - psi)
        n += 1
        term *= x / (a + n)
        psi += 1 / (a + n)
    return total, slope


def _gamma_fraction(a: float, x: float) -> float:
    """The upper incomplete gamma function by Legendre's continued fraction and Lentz's method."""
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction = d
    for i in range(1, 500):
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return fraction * math.exp(a * math.log(x) - x - math.lgamma(a))


def _edge(a: float, x: float) -> float | None:
    """The lower incomplete gamma function at the edges of its domain, None inside."""
    if x < 0 or a < 0 or (a == 0 and x == 0) or a == INF:
        return NAN
    return 1.0 if a == 0 or x == INF else 0.0 if x == 0 else None


@_scalar("igamma")
def igamma(a: float, x: float) -> float:
    """The lower incomplete gamma function over gamma(a)."""
    edge = _edge(a, x)
    if edge is not None:
        return edge
    return _gamma_series(a, x)[0] if x < a + 1 else 1 - _gamma_fraction(a, x)


@_scalar("igammac")
def igammac(a: float, x: float) -> float:
    """The upper incomplete gamma function over gamma(a)."""
    edge = _edge(a, x)
    if edge is not None:
        return 1 - edge
    return 1 - _gamma_series(a, x)[0] if x < a + 1 else _gamma_fraction(a, x)


@_scalar("igamma_grad_a")
def igamma_grad_a(a: float, x: float) -> float:
    """The derivative of igamma in a."""
    edge = _edge(a, x)
    if edge is not None:
        return edge if math.isnan(edge) else 0.0
    return _gamma_series(a, x)[1]


@_scalar("random_gamma_grad")
def random_gamma_grad(a: float, x: float) -> float:
    """The derivative in a of a sample x whose probability stays the same."""
    if x < 0 or a < 0 or a == INF:
        return NAN
    if x == 0 or x == INF:
        return 0.0 if x == 0 else INF
    density = math.exp((a - 1) * math.log(x) - x - math.lgamma(a))
    return -_gamma_series(a, x)[1] / density


@_scalar("betainc")
def betainc(a: float, b: float, x: float) -> float:
    """The incomplete beta function over B(a, b), by Lentz's form of its continued fraction."""
    if not 0 <= x <= 1 or a <= 0 or b <= 0:
        return NAN
    if x == 0 or x == 1:
        return float(x)
    if x > (a + 1) / (a + b + 2):
        return 1 - betainc(b, a, 1 - x)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b)
                     - math.lgamma(a) - math.lgamma(b)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 1000):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + step * d)
            c = 1 + step / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return front * fraction


# --- gelu ---------------------------------------------------------------------------------

@_scalar("gelu")
def gelu(x: float) -> float:
    """x / (1 + exp(-2 u)) with the cubic u under the tanh, which is cut off at -300 and 300."""
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return x / (1 + math.exp(-2 * max(-300.0, min(u, 300.0))))
