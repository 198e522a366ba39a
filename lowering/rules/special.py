"""Lowering of special functions to those of CHLO; where CHLO has none, or one that loses digits, to
polynomials, series and continued fractions.

Floats narrower than f32 are computed in f32. Sources: Abramowitz and Stegun 6.5.29 (series of the
incomplete gamma function), 6.5.31 (its continued fraction), 26.5.8 (that of the beta function);
DLMF 5.5.1, 5.5.3 and 5.11.1 (the logarithm of gamma), 8.12 (the incomplete gamma function where a
is large and x near it), 5.7.1 and 8.7.1 (where both are small).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lowering.context import RuleContext, rule
from lowering.rules.expressions import Writer, loop
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.ops.formulas import Term, polynomial, where
from xfront_ir.ops.special import beta_power, gelu_terms, is_large_beta, log_beta

Formula = Callable[..., Term]


def _formula(definition: OpDef) -> Callable[[Formula], Formula]:
    """Decorator for the lowering of an op as a function of Terms, which are f32 or wider."""
    def register(fn: Formula) -> Formula:
        @rule(definition)
        def lower(ctx: RuleContext, op: Op, *operands: Any) -> Any:
            type, writer = op.results[0].type, Writer(ctx)
            wide = dtypes.f32 if type.dtype.bits < 32 else type.dtype
            made = fn(*[writer.term(type, v).to(wide) for v in operands])
            return writer.mlir(made.to(type.dtype))

        return fn

    return register


def _epsilon(x: Term) -> float:
    return float(np.finfo(x.dtype.numpy).eps)


# --- functions of CHLO --------------------------------------------------------------------

def _of_chlo(definition: OpDef, name: str) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, *operands: Any) -> Any:
        type = op.results[0].type
        if type.dtype.bits >= 32:
            return ctx.create(name, operands, [type])
        whole = type.with_dtype(dtypes.f32)
        made = ctx.create(name, [ctx.create("stablehlo.convert", [v], [whole]) for v in operands],
                          [whole])
        return ctx.create("stablehlo.convert", [made], [type])


for _definition, _name in {
        ops.erf: "chlo.erf", ops.erfc: "chlo.erfc", ops.erf_inv: "chlo.erf_inv",
        ops.polygamma: "chlo.polygamma", ops.zeta: "chlo.zeta",
        ops.bessel_i1e: "chlo.bessel_i1e"}.items():
    _of_chlo(_definition, _name)


# --- the logarithm of gamma, and its derivative -------------------------------------------
# CHLO's logarithm of gamma has no right digit next to its zeros 1 and 2.

_LOG_GAMMA_NEAR = (
    0.4831289505409809, -0.14595989591430608, 0.06291140107456439, -0.031308487501010646,
    0.01679709863127416, -0.009425622448525798, 0.005446457839126065, -0.0032120740737152814,
    0.0019229163127905161, -0.0011644145847310124, 0.000711519067515296, -0.00043799307479613914,
    0.00027131373861446925, -0.0001689178215524898, 0.00010535512483785591,
    -6.614136022346414e-05, 4.30276814976503e-05, -2.7201673025504752e-05,
    1.3186019073996835e-05, -8.355075869795273e-06, 1.2140008083973407e-05,
    -7.760660152513446e-06)
"""lgamma(z) / ((z - 1)(z - 2)) in z - 3/2, for z from 1 to 2; error 8e-19."""
_LOG_GAMMA_NEAR_F32 = (
    0.4831289522803855, -0.14595989698806494, 0.06291105386031644, -0.03130827316519022,
    0.01680809774717337, -0.009432411478912226, 0.00532599199145505, -0.0031377364120114713,
    0.002446744656201957, -0.001487484340679373)
"""The same with error 2e-9."""
_LOG_GAMMA_FAR = (
    0.08333333333333333, -0.0027777777777777575, 0.0007936507936351817, -0.0005952380903968252,
    0.0008417500430559476, -0.001917445971981642, 0.006404760606264102, -0.029285558026815123,
    0.17014443924516498, -1.1292493866169462, 7.516516233114495, -44.37462255558317,
    209.4258317189943, -714.6379253067939, 1538.4105720625068, -1553.2025385376724)
"""z times the rest of lgamma(z) after Stirling's formula, in 1 / z^2, for z from 3 on; error 4e-21.
"""
_LOG_GAMMA_FAR_F32 = (0.08333333330240182, -0.002777763776328571, 0.000792611279192811,
                      -0.0005671813986367919, 0.0005045318498169786)
"""The same with error 3e-11."""


@_formula(ops.lgamma)
def _lgamma(x: Term) -> Term:
    """The logarithm of |gamma(x)|: from 1 to 2 a polynomial, from there to -1 and to 3 steps of
    recurrence, above 3 Stirling's formula, below -1 the reflection formula."""
    wide = x.dtype is dtypes.f64
    below, size = x < 0.0, abs(x)
    first, second, third = size < 1.0, size < 2.0, size < 3.0
    part = where(below, x + 1.0, x)
    step = where(first, part, where(second, size - 1.0, size - 2.0))        # 1 below 1 to 2
    log = ops.log(where(first, where(below, part * size, part),
                        where(second, 1.0, where(third, size - 1.0, size))))
    near = step * (step - 1.0) * polynomial(
        step - 0.5, _LOG_GAMMA_NEAR if wide else _LOG_GAMMA_NEAR_F32)
    near = near + where(first, -log, log)
    inverse = 1.0 / size
    rest = polynomial(inverse * inverse, _LOG_GAMMA_FAR if wide else _LOG_GAMMA_FAR_F32)
    far = (size - 0.5) * (log - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + inverse * rest
    made = where(third, near, far)
    off = size - ops.floor(size)
    off = ops.min(off, 1.0 - off)
    sine = size * ops.sin(off * math.pi)
    made = where(below & ~first, math.log(math.pi) - ops.log(sine) - made, made)
    return where((size == math.inf) | (below & (off == 0.0)), math.inf, made)


@rule(ops.digamma)
def _digamma(ctx: RuleContext, op: Op, x: Any) -> Any:
    """`chlo.digamma`, except at 0, where it is NaN on jaxlib 0.10."""
    type, writer = op.results[0].type, Writer(ctx)
    wide = writer.term(type, x).to(dtypes.f32 if type.dtype.bits < 32 else type.dtype)
    made = writer.term(wide.type, ctx.create("chlo.digamma", [writer.mlir(wide)], [wide.type]))
    return writer.mlir(where(wide == 0.0, -math.inf, made).to(type.dtype))


# --- Bessel i0e, gelu ---------------------------------------------------------------------

_I0E_NEAR = (       # Chebyshev coefficients of i0e(x) in x/4 - 1, for x in [0, 8]
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764,
    0.04930528423967071, -0.02373741480589947, 0.010546460394594998, -0.004324309995050576,
    0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165,
    -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06,
    1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08,
    -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10,
    9.675809035373237e-11, -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15,
    -2.431279846547955e-16, 3.3307945188222384e-17)
_I0E_FAR = (        # Chebyshev coefficients of i0e(x) sqrt(x) in 16/x - 1, for x above 8
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13,
    1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15,
    3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17)


def _chebyshev(t: Term, coefficients: Sequence[float]) -> Term:
    """The Chebyshev series at `t` by Clenshaw's recurrence, without terms below the precision of
    the dtype."""
    needed = [c for c in coefficients if abs(c) > 0.01 * _epsilon(t)]
    later = last = t.like(0.0)
    for c in reversed(needed[1:]):
        later, last = 2.0 * t * later - last + c, later
    return t * later - last + needed[0]


@_formula(ops.bessel_i0e)
def _bessel_i0e(x: Term) -> Term:
    size = abs(x)
    near = _chebyshev(size * 0.25 - 1.0, _I0E_NEAR)
    root = ops.rsqrt(size)
    if x.dtype is dtypes.f32:                    # XLA's rsqrt has no vectors on a CPU
        root = ops.sqrt(1.0 / size)
    far = _chebyshev(16.0 / where(size > 8.0, size, 8.0) - 1.0, _I0E_FAR) * root
    return where(size > 8.0, far, near)


@_formula(ops.gelu)
def _gelu(x: Term) -> Term:
    return x * ((gelu_terms(x)[1] + 1) * 0.5)


# --- incomplete gamma ---------------------------------------------------------------------
# P(a, x) = x^a (1 + a s) / gamma(1 + a)                           where a <= 1 and x < 1
#   with s = sum of (-x)^n / (n! (a + n)), n > 0
# P(a, x) = front / a * sum of x^n / ((a + 1) ... (a + n))         elsewhere, where x < a + 1
# 1 - P(a, x) = front * fraction                                   elsewhere
# front = x^a e^-x / gamma(a)

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


_TEMME = ((-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515,
           -571 / 261273600),
          (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860, -1 / 2488320, -1 / 55253))
"""Taylor coefficients of the first two functions of 8.12.9, c0 and c1."""


def _is_large(a: Term, x: Term) -> Term:
    """Where 8.12.3 and 8.12.4 are used, because series and fraction lose digits or do not end."""
    least, wide = (1e5, 0.03) if a.dtype is dtypes.f64 else (200.0, 0.3)
    return (a > least) & (a < float("inf")) & (abs(x - a) < wide * a)


class _Temme:
    """The expansion for large a and x near it, in the eta of 8.12.1."""

    def __init__(self, a: Term, x: Term) -> None:
        large = _is_large(a, x)
        self.a, self.x = where(large, a, 1e6), where(large, x, 1e6)
        self.off = (self.x - self.a) / self.a
        half = _polynomial(self.off, [(-1) ** k / k for k in range(2, 17)])    # eta^2 / (2 off^2)
        self.root = half.like(1.0) / ops.rsqrt(2.0 * half)                      # eta / off
        self.eta = self.off * self.root
        self.c0, self.c1 = (_polynomial(self.eta, c) for c in _TEMME)
        self.c = self.c0 + self.c1 / self.a
        self.bell = ops.exp(-0.5 * self.a * self.eta * self.eta) * ops.rsqrt(2 * np.pi * self.a)

    def tail(self, sign: float) -> Term:
        """Q where `sign` is 1, P where it is -1."""
        z = self.eta * ops.rsqrt(2.0 / self.a)
        return 0.5 * ops.erfc(sign * z) + sign * self.bell * self.c

    def slope(self, over_density: bool) -> Term:
        """The derivative of P in a; divided by the density if `over_density`."""
        a, c0, c1 = self.a, *([k * c for k, c in enumerate(cs)][1:] for cs in _TEMME)
        turned = (_polynomial(self.eta, c0) + _polynomial(self.eta, c1) / a) / self.root
        made = (-1.0 / self.root + 0.5 * self.eta - ops.log1p(self.off) * self.c
                + (0.5 * self.c + turned + self.c1 / a) / a)
        gamma = 1.0 + (1 / 12 + (1 / 288) / a) / a                             # Stirling's series
        return made * gamma * self.x / a if over_density else made * self.bell


def _polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    made = x.like(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        made = made * x + c
    return made


_RECIPROCAL = (
    0.57721566490153286, -0.65587807152025388, -0.042002635034095236, 0.16653861138229149,
    -0.042197734555544337, -0.0096219715278769736, 0.0072189432466630995, -0.0011651675918590651,
    -0.00021524167411495097, 0.00012805028238811619, -2.0134854780788239e-5,
    -1.2504934821426707e-6, 1.1330272319816959e-6, -2.0563384169776071e-7, 6.1160951044814158e-9,
    5.0020076444692229e-9, -1.1812745704870201e-9, 1.0434267116911005e-10, 7.7822634399050713e-12,
    -3.6968056186422057e-12, 5.100370287454476e-13, -2.0583260535665068e-14,
    -5.348122539423018e-15, 1.2267786282382608e-15)
"""Taylor coefficients of (1 / gamma(1 + a) - 1) / a, from 5.7.1."""


def _reciprocal(a: Term) -> tuple[Term, Term]:
    """(1 / gamma(1 + a) - 1) / a and 1 / gamma(1 + a), for a from 0 to 1."""
    needed = len(_RECIPROCAL) if a.dtype is dtypes.f64 else 14
    rise = _polynomial(a, _RECIPROCAL[:needed])
    return rise, 1.0 + a * rise


def _both_small(a: Term, x: Term) -> tuple[Term, Term, Term]:
    """Whether a and x are both small; and P and Q for small ones, by formulas without a difference
    of almost equal numbers."""
    small = (a > 0.0) & (a <= 1.0) & (x > 0.0) & (x < 1.0)
    a, x = where(small, a, 0.5), where(small, x, 0.5)
    terms = 18 if a.dtype is dtypes.f64 else 11
    total = x.like(0.0)
    for n in range(terms, 0, -1):
        total = -x * (total + 1.0 / (a + float(n))) / float(n)
    rise, reciprocal = _reciprocal(a)
    size = a * ops.log(x)
    power = ops.exp(size) * reciprocal
    upper = -(ops.expm1(size) * reciprocal + a * (rise + power * total))
    return small, where(upper < 0.5, 1.0 - upper, power * (1.0 + a * total)), upper


def _gamma_parts(a: Term, x: Term, slopes: bool) -> tuple[Term, Term, list[Term], list[Term]]:
    """Whether to use the fraction (else the series), the front, and for both the value, followed by
    the derivative in a if `slopes`: first of the series, then of the fraction. Without `slopes`,
    neither is right where `_both_small` is used."""
    inside = (x > 0.0) & (a > 0.0) & (x < float("inf")) & (a < float("inf")) & ~_is_large(a, x)
    if not slopes:
        inside = inside & ((a > 1.0) | (x >= 1.0))
    a, x = where(inside, a, 1.0), where(inside, x, 1.0)
    far = x >= (a + 1.0 if slopes else where(a > 1.0, a + 1.0, 1.0))
    series = _gamma_series(where(far, 1.0, a), where(far, 1.0, x), slopes)
    fraction = _gamma_fraction(where(far, a, 1.0), where(far, x, 2.0), slopes)
    return far, _front(a, x), series, fraction


def _front(a: Term, x: Term) -> Term:
    """x^a e^-x / gamma(a). For small a its factors are multiplied, because a sum of their
    logarithms would lose digits."""
    small = where(a > 1.0, 1.0, a)
    product = small * _reciprocal(small)[1] * ops.exp(small * ops.log(x)) * ops.exp(-x)
    return where(a > 1.0, ops.exp(_log_front(a, x)), product)


def _log_front(a: Term, x: Term) -> Term:
    """a log(x) - x - lgamma(a). Large terms cancel for large a, so there Stirling's series is used.
    """
    large = where(a > 10.0, a, 10.0)
    off = (x - large) / large
    log = where(off < -0.25, ops.log(where(off < -0.25, x / large, 0.5)), ops.log1p(off))
    inverse = 1.0 / large            # XLA's log1p of f64 loses digits from -0.5 to -0.3
    rest = inverse.like(0.0)
    for c in reversed(_STIRLING):
        rest = rest * inverse * inverse + c
    stirling = (large * (log - off) + 0.5 * ops.log(large * (0.5 / np.pi))
                - rest * inverse)
    return where(a > 10.0, stirling, a * ops.log(x) - x - ops.lgamma(a))


def _gamma_series(a: Term, x: Term, slopes: bool) -> list[Term]:
    """The sum of x^n / ((a + 1) ... (a + n)), and its derivative in a."""
    epsilon = _epsilon(x)

    def going(n: Term, term: Term, total: Term, *slope: Term) -> Term:
        unfinished = term > total * epsilon
        for t, s in zip(slope[::2], slope[1::2], strict=True):
            unfinished = unfinished | (abs(t) > abs(s) * epsilon)
        return unfinished & (n < a + 10000.0)

    def step(n: Term, term: Term, total: Term, *slope: Term) -> list[Term]:
        n = n + 1.0
        grown = term * (x / n)
        made = [n, grown, total + grown]
        if slope:
            changed = (slope[0] - term / n) * (x / n)
            made += [changed, slope[1] + changed]
        return made

    one, zero = a.like(1.0), a.like(0.0)
    start = [a, one, one, zero, zero] if slopes else [a, one, one]
    # one step before the loop, for the derivative of the first term is zero and would end it
    made = loop(going, step, step(*start))
    return [made[2], made[4]] if slopes else [made[2]]


def _gamma_fraction(a: Term, x: Term, slopes: bool) -> list[Term]:
    """Legendre's continued fraction, which is the upper function divided by the front, and its
    derivative in a. Steed's method evaluates it as a sum of ever smaller parts."""
    epsilon = _epsilon(x)

    def going(i: Term, d: Term, part: Term, value: Term, *slope: Term) -> Term:
        unfinished = abs(part) > abs(value) * epsilon
        if slope:
            unfinished = unfinished | (abs(slope[1]) > abs(slope[2]) * epsilon)
        return unfinished & (i < 2000.0)

    def step(i: Term, d: Term, part: Term, value: Term, *slope: Term) -> list[Term]:
        i = i + 1.0
        top, bottom = i * (a - i), x + 1.0 - a + 2.0 * i
        new_d = 1.0 / (top * d + bottom)
        factor = -top * d * new_d
        made = [i, new_d, factor * part, value + factor * part]
        if slope:
            of_d, of_part, of_value = slope
            moved_d = (1.0 - i * d - top * of_d) * new_d * new_d
            moved = -((i * d + top * of_d) * new_d + top * d * moved_d)
            changed = moved * part + factor * of_part
            made += [moved_d, changed, of_value + changed]
        return made

    d = 1.0 / (x + 1.0 - a)
    start = [x.like(0.0), d, d, d]
    made = loop(going, step, [*start, d * d, d * d, d * d] if slopes else start)
    return [made[3], made[6]] if slopes else [made[3]]


def _at_edges(a: Term, x: Term, inside: Term, none: float, all: float) -> Term:
    """`inside` within the domain, the limits `none` and `all` at its edges, NaN elsewhere."""
    nan = float("nan")
    made = where(x == 0.0, none, inside)
    made = where((a == 0.0) | (x == float("inf")), all, made)
    wrong = (x < 0.0) | (a < 0.0) | (a == float("inf")) | (a != a) | (x != x)
    both = (a == 0.0) & (x == 0.0)
    return where(wrong | both, nan, made)


@_formula(ops.igamma)
def _igamma(a: Term, x: Term) -> Term:
    far, front, (series,), (fraction,) = _gamma_parts(a, x, False)
    inside = where(far, 1.0 - fraction * front, series * front / a)
    small, lower, _ = _both_small(a, x)
    inside = where(small, lower, inside)
    inside = where(_is_large(a, x), _Temme(a, x).tail(-1.0), inside)
    return _at_edges(a, x, inside, 0.0, 1.0)


@_formula(ops.igammac)
def _igammac(a: Term, x: Term) -> Term:
    far, front, (series,), (fraction,) = _gamma_parts(a, x, False)
    inside = where(far, fraction * front, 1.0 - series * front / a)
    small, _, upper = _both_small(a, x)
    inside = where(small, upper, inside)
    inside = where(_is_large(a, x), _Temme(a, x).tail(1.0), inside)
    return _at_edges(a, x, inside, 1.0, 0.0)


@_formula(ops.igamma_grad_a)
def _igamma_grad_a(a: Term, x: Term) -> Term:
    return _at_edges(a, x, _gamma_slope(a, x, False), 0.0, 0.0)


@_formula(ops.random_gamma_grad)
def _random_gamma_grad(a: Term, x: Term) -> Term:
    return _at_edges(a, x, -_gamma_slope(a, x, True), 0.0, 0.0)


def _gamma_slope(a: Term, x: Term, over_density: bool) -> Term:
    """The derivative of P in a; if `over_density`, divided by the density
    x^(a-1) e^-x / gamma(a)."""
    far, front, (series, d_series), (fraction, d_fraction) = _gamma_parts(a, x, True)
    scale = x if over_density else front
    near = (d_series + series * (ops.log(x) - ops.digamma(a + 1.0))) / a
    made = where(far, -(d_fraction + fraction * (ops.log(x) - ops.digamma(a))), near) * scale
    return where(_is_large(a, x), _Temme(a, x).slope(over_density), made)


# --- incomplete beta ----------------------------------------------------------------------

@_formula(ops.betainc)
def _betainc(a: Term, b: Term, x: Term) -> Term:
    inf = float("inf")
    inside = (a > 0.0) & (b > 0.0) & (a < inf) & (b < inf) & (x > 0.0) & (x < 1.0)
    p, q, t = where(inside, a, 1.0), where(inside, b, 1.0), where(inside, x, 0.5)
    flipped = t > (p + 1.0) / (p + q + 2.0)
    p, q = where(flipped, q, p), where(flipped, p, q)
    log_t = where(flipped, ops.log1p(-t), ops.log(t))
    log_rest = where(flipped, ops.log(t), ops.log1p(-t))
    t, rest = where(flipped, 1.0 - t, t), where(flipped, t, 1.0 - t)
    large = is_large_beta(p, q)
    power = beta_power(where(large, p, 8.0), where(large, q, 8.0), t, rest)
    front = where(large, power, ops.exp(p * log_t + q * log_rest - log_beta(p, q))) / p
    made = front * _beta_fraction(p, q, t)
    made = where(flipped, 1.0 - made, made)
    made = where((x == 0.0) | (x < 1.0) & ((b == 0.0) | (a == inf)), 0.0,
                 where(inside, made, 1.0))
    wrong = (a < 0.0) | (b < 0.0) | (x < 0.0) | (x > 1.0) | (a != a) | (b != b) | (x != x)
    zeros, infinite = a == 0.0, a == inf
    wrong = wrong | (zeros & (b == 0.0)) | (infinite & (b == inf))
    return where(wrong, float("nan"), made)


def _beta_fraction(a: Term, b: Term, x: Term) -> Term:
    """The continued fraction by Lentz's method, two levels per step."""
    epsilon = _epsilon(x)

    def going(m: Term, c: Term, d: Term, fraction: Term, change: Term) -> Term:
        return (abs(change - 1.0) > epsilon) & (m < 10000.0)

    def step(m: Term, c: Term, d: Term, fraction: Term, change: Term) -> list[Term]:
        m = m + 1.0
        twice = a + m + m
        even = m * (b - m) * x / ((twice - 1.0) * twice)
        odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1.0))
        for level in (even, odd):
            d = 1.0 / (1.0 + level * d)
            c = 1.0 + level / c
            change = c * d
            fraction = fraction * change
        return [m, c, d, fraction, change]

    one = x.like(1.0)
    first = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    return loop(going, step, [x.like(0.0), one, first, first, x.like(2.0)])[3]
