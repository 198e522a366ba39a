"""sin, cos, tan and their inverses for f32, in arithmetic that XLA computes with vectors.

XLA's CPU compiler calls a function of the C library for each element. Here angles are reduced in
f64: x / 2 pi modulo 1 is the sum of the fractions of x times parts of 1 / 2 pi. The parts are so
short that the products are exact. Six parts are enough for the greatest f32.
"""

from __future__ import annotations

import math

from lowering.forms.conditions import f32, size
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, polynomial, where

from .pieces import with_sign_of

LEAST = 2 ** 15
"""Smaller arrays are computed on one core, where the C library is as fast or nearly so."""
SIMPLE_LEAST = 2 ** 11
"""The same for the inverse functions, which cost more in the C library and less here."""

_TURNS = int("28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF1586DC91B8E909374B8",
             16)
"""1 / 2 pi in units of 2**-320."""
_LAST_BITS = (31, 60, 89, 118, 147, 200)

_SINE = (6.283185307046696, -41.3417020969272, 81.60522369028166, -76.70417025989131,
                 42.00779729199629, -14.381391832031913)
"""sin(2 pi t) / t in t^2, for t up to 1/4; relative error 2e-11."""
_ARCSINE = (0.1666665987189453, 0.07500510918263517, 0.044515720079219966, 0.031817613555671274,
            0.014402597314325007, 0.03756521456)
"""(asin(s) - s) / s^3 in s^2, for s up to 1/2; error 3e-10."""
_LEAST_NORMAL = 0x00800000
"""The bits of the least f32 that is not subnormal."""
_ARCTANGENT = (-0.3333333223530779, 0.19999932196999531, -0.14284250858575112,
               0.11095202392670674, -0.08988791791414225, 0.07269383453998308,
               -0.05470447286092324, 0.03470464267517334, -0.0164714471655484,
               0.004999313417096459, -0.0007113043084212903)
"""(atan(q) - q) / q^3 in q^2, for q up to 1; error 6e-11."""
_HALF_PI, _HALF_PI_REST = 1.5707963705062866, -4.371138828673793e-08
"""pi / 2 as the sum of two f32."""


def _parts() -> list[float]:
    """1 / 2 pi in parts whose last bits after the point are those of `_LAST_BITS`."""
    made, before = [], 0
    for last in _LAST_BITS:
        count = last - before
        made.append(math.ldexp((_TURNS >> (320 - last)) & ((1 << count) - 1), -last))
        before = last
    return made


def nearest(x: Term) -> Term:
    """The nearest integer, ties to even."""
    return ops.round(x, method="to_nearest_even")


def _turns(x: Term, each: float = 1.0, before: float = 0.0) -> tuple[Term, Term]:
    """`each` * x / 2 pi - `before`, modulo 1, as the sum of two f64.

    The first is in [-1/2, 1/2]. The second is the rounding error of the sums (M. Moller, BIT 5,
    1965), which matters near the zeros of the functions.
    """
    wide = x.to(dtypes.f64)
    first, *parts, last = (part * each for part in _parts())
    total = wide * first
    total = total - nearest(total)
    if before:
        total = total - before
    lost: Term | None = None
    for part in parts:
        product = wide * part
        fraction = product - nearest(product)
        total, error = _two_sum(total, fraction)
        lost = error if lost is None else lost + error
        total = total - nearest(total)
    assert lost is not None
    return total, lost + wide * last


def _two_sum(x: Term, y: Term) -> tuple[Term, Term]:
    """x + y and its rounding error."""
    made = x + y
    of_y = made - x
    return made, (x - (made - of_y)) + (y - of_y)


def _to_quarter(total: Term, lost: Term) -> Term:
    """A quarter turn minus the size of the angle."""
    return (0.25 - abs(total)) + where(total < 0.0, lost, -lost)


def sine_of_turns(t: Term) -> Term:
    """sin(2 pi t) for t in [-1/4, 1/4]."""
    return polynomial(t * t, _SINE) * t


def _unless_small(x: Term, made: Term) -> Value:
    """`x` where its square is below the precision, so that zeros keep their sign; else `made`."""
    return where(abs(x) < 2.0 ** -12, x, made.to(dtypes.f32)).value


# Functions for which the plain rule calls the C library for each element.
@form(ops.sin, when=f32 & size(LEAST), row="kernels.elementwise: sin", is_cheap=True)
def sin(b: Builder, op: Op, x: Value) -> Value:
    """cos(x - pi / 2)"""
    t = Term(b, x)
    return _unless_small(t, sine_of_turns(_to_quarter(*_turns(t, before=0.25))))


@form(ops.cos, when=f32 & size(LEAST), row="kernels.elementwise: cos", is_cheap=True)
def cos(b: Builder, op: Op, x: Value) -> Value:
    """The sine of a quarter turn minus the size of the angle."""
    return sine_of_turns(_to_quarter(*_turns(Term(b, x)))).to(dtypes.f32).value


@form(ops.tan, when=f32 & size(LEAST), row="kernels.elementwise: tan", is_cheap=True)
def tan(b: Builder, op: Op, x: Value) -> Value:
    """Sine over cosine of the angle modulo half a turn."""
    t = Term(b, x)
    total, lost = _turns(t, each=2.0)
    total, lost = total * 0.5, lost * 0.5
    return _unless_small(t, sine_of_turns(total + lost) / sine_of_turns(_to_quarter(total, lost)))


# --- inverse functions --------------------------------------------------------------------

def _arcsine(a: Term) -> tuple[Term, Term, Term]:
    """Whether a > 1/2, and two terms whose sum is asin(sqrt((1 - a) / 2)) if so, else asin(a)."""
    far = a > 0.5
    square = where(far, (1.0 - a) * 0.5, a * a)
    root = where(far, ops.sqrt(square), a)
    return far, root, root * (square * polynomial(square, _ARCSINE))


# Functions for which the plain rule calls the C library for each element; they are cheaper here
# than functions of angles.
@form(ops.asin, when=f32 & size(SIMPLE_LEAST), row="kernels.elementwise: asin")
def asin(b: Builder, op: Op, x: Value) -> Value:
    """asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2))"""
    t = Term(b, x)
    far, root, rest = _arcsine(abs(t))
    outer = (_HALF_PI - root * 2.0) + (_HALF_PI_REST - rest * 2.0)
    return with_sign_of(t, where(far, outer, root + rest)).value


@form(ops.acos, when=f32 & size(SIMPLE_LEAST), row="kernels.elementwise: acos")
def acos(b: Builder, op: Op, x: Value) -> Value:
    """acos(a) = 2 asin(sqrt((1 - a) / 2)); acos(-a) = pi - acos(a)."""
    t = Term(b, x)
    far, root, rest = _arcsine(abs(t))
    made, below = root + rest, t < 0.0
    twice = made * 2.0
    outer = where(below, (2 * _HALF_PI - twice) + 2 * _HALF_PI_REST, twice)
    inner = (_HALF_PI - where(below, -made, made)) + _HALF_PI_REST
    return where(far, outer, inner).value


def _arctangent(low: Term, high: Term) -> Term:
    """atan(low / high) for 0 <= low <= high."""
    q = low / high
    square = q * q
    return q + q * (square * polynomial(square, _ARCTANGENT))


def _larger(word: Term, least: Term) -> Term:
    """The positive f32 with these bits, times 2^125 where the one with the bits `least` is
    subnormal, which a CPU takes for zero."""
    x = ops.bitcast(word, dtype=dtypes.f32)
    grown = where(word < _LEAST_NORMAL, word.to(dtypes.f32) * 2.0 ** -24, x * 2.0 ** 125)
    return where(least < _LEAST_NORMAL, grown, x)


# jaxlib 0.11 and later have a vector atan of their own.
@form(ops.atan, when=f32 & size(SIMPLE_LEAST), before=(0, 11), row="kernels.elementwise: atan")
def atan(b: Builder, op: Op, x: Value) -> Value:
    """atan(a) = pi / 2 - atan(1 / a)"""
    t = Term(b, x)
    a = abs(t)
    far = a > 1.0
    made = _arctangent(where(far, 1.0, a), where(far, a, 1.0))
    return with_sign_of(t, where(far, (_HALF_PI - made) + _HALF_PI_REST, made)).value


@form(ops.atan2, when=f32 & size(SIMPLE_LEAST), row="kernels.elementwise: atan2", is_cheap=True)
def atan2(b: Builder, op: Op, y: Value, x: Value) -> Value:
    """The angle in the first eighth of the circle, moved to the eighth in which (x, y) lies."""
    over, along = Term(b, y), Term(b, x)
    first, second = (ops.bitcast(abs(t), dtype=dtypes.i32) for t in (over, along))
    steep, least = first > second, ops.min(first, second)
    low, high = _larger(least, least), _larger(ops.max(first, second), least)
    same, nothing = low == high, high == 0.0
    p = _arctangent(where(same, where(nothing, 0.0, high.like(1.0)), low), where(same, 1.0, high))
    p = where(steep, (_HALF_PI - p) + _HALF_PI_REST, p)
    left = ops.bitcast(along, dtype=dtypes.i32) < 0
    return with_sign_of(over, where(left, (2 * _HALF_PI - p) + 2 * _HALF_PI_REST, p)).value
