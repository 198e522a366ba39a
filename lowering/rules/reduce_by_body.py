"""Lowering of `reduce` by a body."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir.core import Op
from xfront_ir.ops.reduce_by_body import reduce


@rule(reduce)
def _reduce(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    body, axes = op.attrs["body"], op.attrs["axes"]
    n = len(op.results)
    # devices exchange sums, products, maxima and minima alone
    whole = [ctx.undivided(x, v.type, axes)
             for x, v in zip(operands[:n], op.operands[:n], strict=True)]
    operands = (*whole, *operands[n:])
    return ctx.create("stablehlo.reduce", operands, op.results,
                      [lambda ctx, *values: ctx.inline(body, values)],
                      [v.type for v in body.params],
                      dimensions=ctx.int_array(axes))
