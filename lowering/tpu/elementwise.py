"""Complex numbers of 128 bits on TPU: ops at which XLA's compiler ends the process."""

from __future__ import annotations

import functools
from typing import Any

from lowering import tpu
from lowering.forms.conditions import of
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where

form = functools.partial(tpu.form, when=of(dtypes.c128))


def _parts(b: Builder, x: Value) -> tuple[Term, Term]:
    return Term(b, b.emit(ops.real, x)), Term(b, b.emit(ops.imag, x))


@form(ops.div)
def div(b: Builder, op: Op, x: Value, y: Value) -> Any:
    """The quotient from the parts, divided by the divisor's greater part, so that no square
    overflows."""
    (p, q), (r, s) = _parts(b, x), _parts(b, y)
    greater = ops.max(abs(r), abs(s))
    by_r, by_s = r / greater, s / greater
    size = r * by_r + s * by_s
    return ops.complex((p * by_r + q * by_s) / size, (q * by_r - p * by_s) / size).value


@form(ops.abs)
def abs_(b: Builder, op: Op, x: Value) -> Any:
    """The size from the parts, divided by the greater one, so that no square overflows."""
    p, q = (abs(part) for part in _parts(b, x))
    greater, less = ops.max(p, q), ops.min(p, q)
    plain = (greater == 0) | (greater == float("inf"))
    ratio = where(plain, 0, less / where(plain, 1, greater))
    return (greater * ops.sqrt(ratio * ratio + 1)).value


@form(ops.pow)
def pow_(b: Builder, op: Op, x: Value, y: Value) -> Any:
    """exp(y log(x)); 1 where y is 0, else 0 where x is 0."""
    base, power = Term(b, x), Term(b, y)
    nothing = base == 0
    raised = ops.exp(power * ops.log(where(nothing, 1, base)))
    return where(power == 0, 1, where(nothing, 0, raised)).value
