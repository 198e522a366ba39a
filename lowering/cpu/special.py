"""The logarithm of the gamma function of f32, in f64 and in arithmetic that XLA computes with
vectors: its own calls a function of the C library for each element."""

from __future__ import annotations

import math

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value

from .formulas import Term, polynomial, where
from .registry import form
from .trigonometric import SINE_OF_TURNS

LEAST = 2 ** 17
"""Smaller arrays are computed on one core, where the C library is as fast or nearly so."""

_NEAR = (0.48312895049714205, -0.1459598958869427, 0.06291141368299658, -0.03130849537087994,
         0.016796514370089517, -0.009425257787561038, 0.005456284864522071, -0.0032182068080868612,
         0.0018491879253835115, -0.0011184132096307986, 0.0009585090935483713,
         -0.0005920239037255214)
"""lgamma(z) / ((z - 1)(z - 2)) in z - 3/2, for z from 1 to 2; error 6e-11."""
_FAR = (0.08333333333139985, -0.0027777765182039507, 0.0007935148822728759,
        -0.0005897124887243115, 0.0007344743117052241, -0.0008228200612568517)
"""z times what Stirling's formula leaves of lgamma(z), in 1 / z^2, for z from 3 on; error 2e-12."""
_LOGARITHM = tuple(2 / (2 * i + 1) for i in range(7))
"""log((1 + s) / (1 - s)) / s in s^2, for s up to (sqrt(2) - 1) / (sqrt(2) + 1); error 4e-12."""
_ROOT_OF_HALF = 0x3FE6A09E667F3BCD
"""Bits of sqrt(1/2) in f64."""


# A sine of the C library for each element.
@form(ops.lgamma, when=lambda op: (op.operands[0].type.dtype is dtypes.f32
                                   and op.operands[0].type.size >= LEAST))
def lgamma(b: Builder, op: Op, x: Value) -> Value:
    """Between 0 and 3 a polynomial from 1 to 2 and one step there, above Stirling's formula, below
    reflected: at most 1 ulp, next to the zeros of negative numbers 1e-9. Sources: DLMF 5.5.1,
    5.5.3, 5.11.1."""
    t = Term(b, x)
    wide = t.to(dtypes.f64)
    below = wide < 0.0
    z = where(below, 1.0 - wide, wide)
    first, second, third = z < 1.0, z < 2.0, z < 3.0
    log = _log(where(first, z, where(second, 1.0, where(third, z - 1.0, z))))
    step = where(first, z + 1.0, where(second, z, z - 1.0))
    near = (step - 1.0) * (step - 2.0) * polynomial(step - 1.5, _NEAR) + where(first, -log, log)
    part = 1.0 / z
    far = (z - 0.5) * log - z + 0.5 * math.log(2 * math.pi) + part * polynomial(part * part, _FAR)
    made = where(third, near, far)
    size = abs(wide)
    turn = size - size.op(ops.floor)
    turn = turn.op(ops.min, 1.0 - turn) * 0.5
    sine = turn * polynomial(turn * turn, SINE_OF_TURNS)
    made = where(below, math.log(math.pi) - _log(sine) - made, made)
    at_pole = (t <= 0.0) & turn.equals(0.0) | abs(t).equals(math.inf)
    return where(at_pole, math.inf, made.to(dtypes.f32)).value


def _log(x: Term) -> Term:
    """Of positive numbers, not denormal; relative error 4e-12."""
    bits = x.bits(dtypes.i64)
    power = (bits - _ROOT_OF_HALF).op(ops.shift_right_arithmetic, 52)
    mantissa = (bits - power.op(ops.shift_left, 52)).bits(dtypes.f64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return power.to(dtypes.i32).to(dtypes.f64) * math.log(2) + s * polynomial(s * s, _LOGARITHM)
