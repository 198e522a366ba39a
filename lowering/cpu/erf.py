"""The error function and its inverse for f32, in fewer operations.

The plain rule of the inverse takes log1p, which is exact next to zero as well, and costs as much as
all the rest; there the inverse hardly depends on the logarithm. Source: M. Giles, Approximating the
erfinv function, GPU Computing Gems, Jade edition, 2011.
"""

from __future__ import annotations

import math

from lowering.forms.conditions import f32, size
from lowering.forms.places import Place
from lowering.forms.registry import form, near_memory
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, polynomial, where

LEAST = 2 ** 13
APART_LEAST = 2 ** 19
"""The same for a kernel of its own, which compiles 0.02 s longer."""

_NEAR = (1.501409421576325, 0.24664072612115434, -0.004177707744664641, -0.0012537075153371234,
         0.00021860219396164626, -4.3967812514907885e-06, -3.528859550131719e-06,
         3.437270595336855e-07, 2.8534790034189853e-08)
"""erf_inv(x) / x in w - 5/2, where w = -log(1 - x^2) is below 5; relative error 1e-7."""
_FAR = (2.8329769061762424, 1.0016740268370854, 0.009439355848992343, -0.0076214141746551115,
        0.005736475398012432, -0.0036770020655953924, 0.0013558918963833984,
        0.00010431109956600676, -0.00020497531332768312)
"""The same in sqrt(w) - 3, for w from 5 to 16; relative error 6e-8."""
_LOGARITHM = (0.9999998139340475, -0.5000066741797992, 0.3333618176737812, -0.24959342753553238,
              0.19873052707141417, -0.17333483337815414, 0.1641994872245207, -0.10102132199847245)
"""log(1 + s) / s for s from sqrt(1/2) - 1 to sqrt(2) - 1; the logarithm's error is 4e-8."""
_ERF = ((1.1283791, 0.19040744, 0.05274885, 0.0037656561, 0.0002848833, 2.0500752e-06),
        (1.0, 0.50207686, 0.1141095, 0.014969302, 0.0011625441, 3.8091624e-05))
"""Top and bottom of erf(x) / x in x^2, for x up to 3.92; the numbers of f32 whose rounding errors
are least."""
_LAST = 3.92
"""From here on erf rounds to 1."""
_ROOT_OF_HALF = 0x3F3504F3
"""Bits of sqrt(1/2) in f32."""


def far_from_memory(place: Place, op: Op) -> bool:
    """8 operations or more compute the operand."""
    return not near_memory(place, op)


# --- forms --------------------------------------------------------------------------------

# The plain rule writes each vector to the stack and reads it again.
@form(ops.erf, when=f32 & size(LEAST), before=(0, 11), row="kernels.elementwise: erf")
def erf(b: Builder, op: Op, x: Value) -> Value:
    """A quotient of polynomials; the error is at most 6 ulp, as that of the plain rule."""
    t = ops.min(ops.max(Term(b, x), -_LAST), _LAST)
    top, bottom = (polynomial(t * t, part) for part in _ERF)
    return ops.min(ops.max(t * top / bottom, -1.0), 1.0).value


# In one kernel with many other operations there are no registers for its many constants, and XLA
# divides fewer elements between two cores.
@form(ops.erf_inv, when=f32 & size(APART_LEAST), only=far_from_memory,
      row="kernels.randomness: random.normal")
def erf_inv_of_computed(b: Builder, op: Op, x: Value) -> Value:
    """The next form, behind a fence."""
    return erf_inv(b, op, b.emit(ops.fence, x))


# The plain rule computes log1p, which takes more operations than all the rest.
@form(ops.erf_inv, when=f32 & size(LEAST), row="kernels.elementwise: erf_inv")
def erf_inv(b: Builder, op: Op, x: Value) -> Value:
    """The error is at most 3 ulp more than that of the plain rule."""
    t = Term(b, x)
    rest = 1.0 - ops.min(t * t, 2.0)
    w = -_log(rest)
    is_near = w < 5.0
    along = where(is_near, w - 2.5, ops.sqrt(w) - 3.0)
    made = where(is_near, _NEAR[-1], along.like(_FAR[-1]))
    for near, far in zip(_NEAR[-2::-1], _FAR[-2::-1], strict=True):
        made = made * along + where(is_near, near, along.like(far))
    at_end = where(rest == 0.0, t * math.inf, math.nan)
    return where(rest > 0.0, made * t, at_end).value


def _log(x: Term) -> Term:
    """The logarithm of a positive normal number; its absolute error is 4e-8 next to 1."""
    bits = ops.bitcast(x, dtype=dtypes.i32)
    power = ops.shift_right_arithmetic(bits - _ROOT_OF_HALF, 23)
    s = ops.bitcast(bits - ops.shift_left(power, 23), dtype=dtypes.f32) - 1.0
    return power.to(dtypes.f32) * math.log(2) + s * polynomial(s, _LOGARITHM)
