"""Lowering of ops that set the sharding of a value, to Shardy's constraints."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op


@rule(ops.sharding_constraint)
def _sharding_constraint(ctx: RuleContext, op: Op, x: Any) -> Any:
    sharding = op.attrs["sharding"]
    if sharding.mesh.size == 1 == ctx.num_partitions:      # nothing to divide
        return x
    found = ctx.sharding(sharding, op.results[0].type)
    return ctx.create("sdy.sharding_constraint", [x], op.results, sharding=found)


@rule(ops.reshard)
def _reshard(ctx: RuleContext, op: Op, x: Any) -> Any:
    if ctx.num_partitions == 1:
        return x
    wanted = op.attrs["sharding"]
    x = ctx.whole(x, wanted, op.operands[0].type)
    return ctx.constrained(x, wanted, op.results[0].type)
