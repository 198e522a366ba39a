"""Special functions on TPU: the trigamma function."""

from __future__ import annotations

import math
from typing import Any

from lowering.forms.conditions import of
from lowering.forms.places import Place
from lowering.tpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, polynomial, where

STEPS = 4
"""So many terms 1/x^2, 1/(x+1)^2, ... come before the asymptotic series, whose error is 1e-8 then.
"""

_SERIES = (1 / 6, -1 / 30, 1 / 42, -1 / 30)
"""Bernoulli's numbers from the second on."""


def of_first_order(place: Place, op: Op) -> bool:
    """The order is the constant 1."""
    return place.constant(op.operands[0]) == 1


# XLA computes every order as a series of powers, after a factorial by lgamma and exp.
@form(ops.polygamma, when=of(dtypes.f32, dtypes.f16, dtypes.bf16), only=of_first_order)
def trigamma(b: Builder, op: Op, n: Value, x: Value) -> Any:
    """The sum of 1 / (x + k)^2 by its first four terms and the asymptotic series of the others.
    Source: Abramowitz and Stegun 6.4.6, 6.4.12."""
    given = Term(b, x)
    z = given.to(dtypes.f32)
    inverse = 1 / z
    made = inverse * inverse
    for k in range(1, STEPS):
        inverse = 1 / (z + k)
        made = made + inverse * inverse
    inverse = 1 / (z + STEPS)
    tail = polynomial(inverse * inverse, _SERIES)
    made = made + inverse * (inverse * (inverse * tail + 0.5) + 1)
    pole = where(ops.floor(z) == z, math.inf, z.like(math.nan))
    return where(z < 0, pole, made).to(given.dtype).value
