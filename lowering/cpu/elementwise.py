"""Roots, logarithms, powers, remainders and quotients in arithmetic that XLA computes with vectors.

Trigonometric functions are in `trigonometric.py`.
"""

from __future__ import annotations

import math

from lowering.forms.conditions import f32, of, size
from lowering.forms.places import Place
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, polynomial, where

from . import trigonometric  # noqa: F401  (it registers forms of this family)
from .pieces import branch, with_sign_of

LEAST = 2 ** 11
LOGARITHM_LEAST = 2 ** 13
POWER_LEAST = 2 ** 13
REMAINDER_LEAST = 2 ** 13
"""The form of rem takes 0.1 s longer to compile."""
VECTOR_LEAST = 2 ** 16
"""For ops whose plain rule uses vectors too: the form gains where it keeps two cores busy."""


# --- roots --------------------------------------------------------------------------------

_THIRD_OF_ONE = 709921077
"""Two thirds of the bits of 1.0, minus a correction that makes the first guess best."""


# The plain rule calls a function of the C library for each element.
@form(ops.cbrt, when=f32 & size(LEAST), row="kernels.elementwise: cbrt", is_cheap=True)
def cbrt(b: Builder, op: Op, x: Value) -> Value:
    """Newton's method, starting from a third of the exponent; the error is below 1 ulp."""
    t = Term(b, x)
    a = abs(t)
    third = (ops.bitcast(a, dtype=dtypes.i32).to(dtypes.f32) * (1 / 3)).to(dtypes.i32)
    root = ops.bitcast(third + _THIRD_OF_ONE, dtype=dtypes.f32)
    for _ in range(3):
        root = root - (root - a / (root * root)) * (1 / 3)
    at_end = (a < 2.0 ** -126) | (a == math.inf)
    return where(at_end, t, with_sign_of(t, root)).value


# jaxlib 0.11 and later have a vector rsqrt of their own.
@form(ops.rsqrt, when=f32 & size(VECTOR_LEAST), before=(0, 11), row="kernels.elementwise: rsqrt",
      is_cheap=True)
def rsqrt(b: Builder, op: Op, x: Value) -> Value:
    """sqrt(1 / x); large x are scaled down first, as 1 / x would be denormal."""
    t = Term(b, x)
    large = t > 2.0 ** 100
    inverse = 1.0 / where(large, t * 2.0 ** -64, t)
    root = ops.sqrt(inverse)
    made = where(t < 0.0, float("nan"), where(large, root * 2.0 ** -32, root))
    return where(t == 0.0, inverse, made).value


# --- exponentials -------------------------------------------------------------------------

_SINH = (0.16666666488721366, 0.008333350597893377, 0.00019836066274233534,
         2.8174395126520143e-06)
"""(sinh(a) - a) / a^3 in a^2, for a up to 1; error 6e-11."""
_EXP = (0.5000000100986695, 0.16666512890590668, 0.04166618725537824, 0.008369598210817798,
        0.001395171926893491)
"""(exp(r) - 1 - r) / r^2 for r up to log(2) / 2; error 3e-9."""


# The plain rule takes two exponentials; both are off by 2 ulp at most.
@form(ops.sinh, when=f32 & size(VECTOR_LEAST), row="kernels.elementwise: sinh")
def sinh(b: Builder, op: Op, x: Value) -> Value:
    """A polynomial below 1, (e^a - e^-a) / 2 above."""
    t = Term(b, x)
    a = ops.min(abs(t), 89.5)
    n = ops.round(a * 1.4426950408889634, method="to_nearest_even")
    r = (a - n * 0.693359375) + n * 2.12194440e-4
    power = ops.bitcast(ops.shift_left(n.to(dtypes.i32) + 125, 23), dtype=dtypes.f32)
    quarter = ((r + (r * r) * polynomial(r, _EXP)) + 1.0) * power
    far = (quarter - 0.0625 / quarter) * 2.0
    z = a * a
    near = a + a * (z * polynomial(z, _SINH))
    return with_sign_of(t, where(a < 1.0, near, far)).value


# --- logarithms ---------------------------------------------------------------------------

# The plain rule is off by 2.5 ulp at most, this by 1.7.
@form(ops.log1p, when=f32 & size(LOGARITHM_LEAST), row="kernels.elementwise: log1p", is_cheap=True)
def log1p(b: Builder, op: Op, x: Value) -> Value:
    """log(u) plus the rounding error of u = 1 + x, divided by u. The maximum of u and zero keeps
    XLA from simplifying u - 1 to x."""
    t = Term(b, x)
    u = ops.max(t + 1.0, 0.0)
    log = ops.log(u)
    made = where(u == 1.0, t, log + (t - (u - 1.0)) / u)
    made = where((u == 0.0) | (u == math.inf), log, made)
    return where(t < -1.0, math.nan, made).value


# --- powers -------------------------------------------------------------------------------

_EXPONENTS = {dtypes.f32: (1.5, 2.5, 3.5, -1.5, -2.5), dtypes.f64: (1.5, 2.5)}


def half_power(place: Place, op: Op) -> float | None:
    """The exponent is a constant: 1.5 or 2.5, in f32 also 3.5, -1.5 or -2.5."""
    stated = place.constant(op.operands[1])
    return stated if stated in _EXPONENTS[op.operands[0].type.dtype] else None


# Constant exponents k + 1/2: XLA computes exp(y log(x)), with a long logarithm.
@form(ops.pow, when=of(*_EXPONENTS) & size(POWER_LEAST), known=half_power,
      row="kernels.elementwise: x ** 1.5")
def pow_(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """Products of x and its root, in f64 unless y is 1.5; the error is at most 2 ulp."""
    t, exponent = Term(b, x), op.attrs["known"]
    t = where(t == -math.inf, math.inf, t)
    if exponent != 1.5 and x.type.dtype is dtypes.f32:
        t = t.to(dtypes.f64)
    made = t
    for _ in range(int(abs(exponent)) - 1):
        made = made * t
    made = made * ops.sqrt(t)
    return abs(1.0 / made if exponent < 0 else made).to(x.type.dtype).value


# --- remainders and quotients -------------------------------------------------------------

_ABOVE_ANY_RATIO = 2.0 ** -40


def _ratio(top: Term, bottom: Term) -> Term:
    """top / bottom in f64. The divisor is written so that it seems to depend on the dividend, for
    XLA would multiply by the reciprocal of a scalar divisor, which is off by one at multiples."""
    wide = top.to(dtypes.f64)
    return wide / ops.max(bottom.to(dtypes.f64), wide * _ABOVE_ANY_RATIO)


# The plain rule calls a function of the C library for each element.
@form(ops.rem, when=f32 & size(REMAINDER_LEAST), row="kernels.elementwise: x % y", is_cheap=True)
def rem(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The remainder from the quotient in f64. It is exact if all quotients are below 2^28 and all y
    above 2^-100, where the quotient has all its digits; else the plain rule is used."""
    along, by = abs(Term(b, x)), abs(Term(b, y))
    exact = (along < by * 2.0 ** 28) & (by > 2.0 ** -100)
    whole = tuple(range(x.type.ndim))
    all_exact = b.emit(ops.reduce_and, exact.value, axes=whole)
    branches = (branch(op, _plain_remainder), branch(op, _remainder))
    return b.emit(ops.cond, all_exact, x, y, branches=branches)[0]


def _plain_remainder(b: Builder, x: Value, y: Value) -> Value:
    """The plain rule behind a barrier, for XLA computes both branches if they are elementwise."""
    return b.emit(ops.rem, *b.emit(ops.optimization_barrier, x, y))


def _remainder(b: Builder, x: Value, y: Value) -> Value:
    t, along, by = Term(b, x), abs(Term(b, x)), abs(Term(b, y))
    whole = ops.floor(_ratio(along, by))
    rest = along.to(dtypes.f64) - whole * by.to(dtypes.f64)
    return where(along < by, t, with_sign_of(t, rest.to(dtypes.f32))).value


_INTEGERS = of(dtypes.i32, dtypes.u32) & size(LEAST)


def by_computed(place: Place, op: Op) -> bool:
    """The program computes the divisor, which is not a constant."""
    return place.constant(op.operands[1]) is None


# 32-bit integers, by divisors that the program computes: before jaxlib 0.11 the plain rule divides
# one element at a time.
@form(ops.div, when=_INTEGERS, only=by_computed, before=(0, 11),
      row="kernels.elementwise: x // y, int32")
def div(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The quotient in f64, which has enough digits for all quotients of 32-bit integers."""
    return _quotient(Term(b, x), Term(b, y)).value


@form(ops.rem, when=_INTEGERS, only=by_computed, before=(0, 11),
      row="kernels.elementwise: x % y, int32")
def integer_rem(b: Builder, op: Op, x: Value, y: Value) -> Value:
    """The remainder from the quotient; x where the divisor is zero."""
    t, by = Term(b, x), Term(b, y)
    return where(by == 0, t, t - _quotient(t, by) * by).value


def _quotient(t: Term, by: Term) -> Term:
    """The quotient; all bits are set where the divisor is zero. The absolute value of the least
    integer is itself, which is right as an unsigned number."""
    if t.dtype is dtypes.u32:
        return where(by == 0, 2 ** 32 - 1, _ratio(t, by).to(dtypes.u32))
    sizes = [ops.bitcast(abs(v), dtype=dtypes.u32) for v in (t, by)]
    made = ops.bitcast(_ratio(*sizes).to(dtypes.u32), dtype=dtypes.i32)
    return where(by == 0, -1, where((t < 0) != (by < 0), -made, made))
