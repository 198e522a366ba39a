"""Sums on TPU: the one in the derivative of a softmax."""

from __future__ import annotations

from lowering.forms.conditions import of
from lowering.forms.places import Place
from lowering.tpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term

from . import running  # noqa: F401  (forms of the same family)


def softmax(place: Place, op: Op) -> list[Value] | None:
    """The operand is x * (e / s) * -(1 / s), with e = exp(z - max z) and s = sum e of each row: x,
    e and s."""
    product = place.operation(op.operands[0], ops.mul)
    slope = product and place.operation(product.operands[1], ops.mul)
    if product is None or slope is None:
        return None
    share = place.operation(slope.operands[0], ops.div)
    opposite = place.operation(slope.operands[1], ops.neg)
    inverse = opposite and place.operation(opposite.operands[0], ops.div)
    if share is None or inverse is None:
        return None
    (e, s), (number, other) = share.operands, inverse.operands
    sums, exponential = place.operation(s, ops.broadcast_in_dim), place.operation(e, ops.exp)
    total = sums and place.operation(sums.operands[0], ops.reduce_sum)
    shifted = exponential and place.operation(exponential.operands[0], ops.sub)
    top = shifted and place.operation(shifted.operands[1], ops.broadcast_in_dim)
    greatest = top and place.operation(top.operands[0], ops.reduce_max)
    if not (total and shifted and greatest):
        return None
    found = (other is s and place.constant(number) == 1 and total.operands[0] is e
             and greatest.operands[0] is shifted.operands[0]
             and op.attrs["axes"] == total.attrs["axes"] == greatest.attrs["axes"])
    return [product.operands[0], e, total.results[0]] if found else None


# XLA computes the sum in one kernel with a product of matrices that makes x, if there is no
# quotient between them.
@form(ops.reduce_sum, when=of(dtypes.f32, dtypes.bf16, dtypes.f64), reads=softmax)
def slope_of_softmax(b: Builder, op: Op, terms: Value, x: Value, e: Value, s: Value) -> Value:
    """The sum of x e, times -1 / s^2, which is in range for 1 <= s < 2 ** 63."""
    rows = Term(b, s)
    made = ops.reduce_sum(Term(b, x) * Term(b, e), axes=op.attrs["axes"])
    return (made * (-1 / (rows * rows))).value
