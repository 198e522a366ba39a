"""lgamma and digamma for f32, computed in f64 in arithmetic that XLA computes with vectors. XLA's
own lowering calls functions of the C library for each element.

From 1 to 2 they are polynomials, from which one step of recurrence leads to the rest of 0 to 3;
above 3 Stirling's formula is used, below 0 the reflection formula. Source: DLMF 5.5.1-5.5.4,
5.11.1, 5.11.2.
"""

from __future__ import annotations

import math

from lowering.forms.conditions import f32, size
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, polynomial, where

from . import erf  # noqa: F401  (it registers forms of this family)
from .trigonometric import nearest, sine_of_turns

LEAST = 2 ** 17
"""Smaller arrays are computed on one core, where the C library is as fast or nearly so."""
SLOPE_LEAST = 2 ** 15
"""The same for digamma, whose form takes 0.03 s longer to compile."""

_NEAR = (0.48312895049714205, -0.1459598958869427, 0.06291141368299658, -0.03130849537087994,
         0.016796514370089517, -0.009425257787561038, 0.005456284864522071, -0.0032182068080868612,
         0.0018491879253835115, -0.0011184132096307986, 0.0009585090935483713,
         -0.0005920239037255214)
"""lgamma(z) / ((z - 1)(z - 2)) in z - 3/2, for z from 1 to 2; error 6e-11."""
_FAR = (0.08333333333139985, -0.0027777765182039507, 0.0007935148822728759,
        -0.0005897124887243115, 0.0007344743117052241, -0.0008228200612568517)
"""z times the rest of lgamma(z) after Stirling's formula, in 1 / z^2, for z from 3 on; error 2e-12.
"""
_ROOT = 1.4616321449683623
"""Where digamma is zero."""
_SLOPE_NEAR = (0.9510558754482102, -0.42362742163640316, 0.24054265293114885,
               -0.14840497564715888, 0.0949808857703921, -0.061918254473959114,
               0.04089278966370083, -0.02705140497982195, 0.01691877235675862,
               -0.011298877168990569, 0.011217448382491179, -0.007400941079518287)
"""digamma(z) / (z - root) in z - 3/2, for z from 1 to 2; error 8e-10."""
_SLOPE_FAR = (0.08333333304900002, -0.008333200965833027, 0.003958206041783489,
              -0.0038891245316855674, 0.004124757180221778)
"""z^2 times (log(z) - 1 / 2z - digamma(z)), in 1 / z^2, for z from 3 on; error 3e-11."""
_LOGARITHM = tuple(2 / (2 * i + 1) for i in range(7))
"""log((1 + s) / (1 - s)) / s in s^2, for s up to (sqrt(2) - 1) / (sqrt(2) + 1); error 4e-12."""
_ROOT_OF_HALF = 0x3FE6A09E667F3BCD
"""Bits of sqrt(1/2) in f64."""


def _reduced(t: Term) -> tuple[Term, Term, Term, tuple[Term, Term, Term], Term]:
    """The argument in f64; whether it is negative; z, which is the argument, or its reflection if
    it is negative; whether z is below 1, 2 and 3; for z below 3, z or the number a step away from
    it that lies from 1 to 2."""
    wide = t.to(dtypes.f64)
    below = wide < 0.0
    z = where(below, 1.0 - wide, wide)
    first, second = z < 1.0, z < 2.0
    step = where(first, z + 1.0, where(second, z, z - 1.0))
    return wide, below, z, (first, second, z < 3.0), step


# The plain rule calls a sine of the C library for each element.
@form(ops.lgamma, when=f32 & size(LEAST), row="kernels.elementwise: lgamma")
def lgamma(b: Builder, op: Op, x: Value) -> Value:
    """The error is at most 1 ulp; next to zeros at negative numbers it is 1e-9."""
    t = Term(b, x)
    wide, below, z, (first, second, third), step = _reduced(t)
    log = _log(where(first, z, where(second, 1.0, where(third, step, z))))
    near = (step - 1.0) * (step - 2.0) * polynomial(step - 1.5, _NEAR) + where(first, -log, log)
    part = 1.0 / z
    far = (z - 0.5) * log - z + 0.5 * math.log(2 * math.pi) + part * polynomial(part * part, _FAR)
    made = where(third, near, far)
    size = abs(wide)
    turn = size - ops.floor(size)
    turn = ops.min(turn, 1.0 - turn) * 0.5
    made = where(below, math.log(math.pi) - _log(sine_of_turns(turn)) - made, made)
    at_pole = (t <= 0.0) & (turn == 0.0) | (abs(t) == math.inf)
    return where(at_pole, math.inf, made.to(dtypes.f32)).value


# The plain rule calls a tangent of the C library for each element.
@form(ops.digamma, when=f32 & size(SLOPE_LEAST), row="kernels.elementwise: digamma")
def digamma(b: Builder, op: Op, x: Value) -> Value:
    """The error is at most 1 ulp; next to zeros at negative numbers it is 3e-10."""
    t = Term(b, x)
    wide, below, z, (first, second, third), step = _reduced(t)
    part = 1.0 / where(second, z, where(third, step, z))
    near = (step - _ROOT) * polynomial(step - 1.5, _SLOPE_NEAR)
    near = near + where(first, -part, where(second, 0.0, part))
    square = part * part
    far = _log(z) - part * 0.5 - square * polynomial(square, _SLOPE_FAR)
    made = where(third, near, far)
    half = (wide - nearest(wide)) * 0.5
    cotangent = sine_of_turns(0.25 - abs(half)) / sine_of_turns(half)
    made = where(below, made - cotangent * math.pi, made).to(dtypes.f32)
    made = where(t == math.inf, math.inf, made)
    at_pole = (t <= 0.0) & (half == 0.0)
    return where(at_pole, where(t == 0.0, -math.inf, t.like(math.nan)), made).value


def _log(x: Term) -> Term:
    """The logarithm of positive normal numbers; relative error 4e-12."""
    bits = ops.bitcast(x, dtype=dtypes.i64)
    power = ops.shift_right_arithmetic(bits - _ROOT_OF_HALF, 52)
    mantissa = ops.bitcast(bits - ops.shift_left(power, 52), dtype=dtypes.f64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return power.to(dtypes.i32).to(dtypes.f64) * math.log(2) + s * polynomial(s * s, _LOGARITHM)
