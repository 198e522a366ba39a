"""Lowering of ops that set the sharding of a value, to Shardy's constraints."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op


@rule(ops.sharding_constraint)
def _sharding_constraint(ctx: RuleContext, op: Op, x: Any) -> Any:
    sharding = op.attrs["sharding"]
    if ctx.num_partitions == 1 and (sharding.mesh.size == 1 or not sharding.mesh.devices):
        return x                                           # nothing to divide, or no one to share
    found = ctx.sharding(sharding, op.results[0].type)
    return ctx.create("sdy.sharding_constraint", [x], op.results, sharding=found)


@rule(ops.reshard)
def _reshard(ctx: RuleContext, op: Op, x: Any) -> Any:
    old, new, wanted = op.operands[0].type, op.results[0].type, op.attrs["sharding"]
    if ctx.num_partitions > 1 and wanted.mesh.names:
        x = ctx.summed_if_needed(x, wanted, old)
        x = ctx.constrained(x, wanted, new)
    if old.memory == new.memory or ctx.platform == "cpu":    # a CPU's memories are one
        return x
    kind = new.memory or "device"
    return ctx.create("stablehlo.custom_call", [x], [new], **{
        "call_target_name": ctx.string("annotate_device_placement"),
        "has_side_effect": ctx.bool(True), "backend_config": ctx.string(""),
        "mhlo.frontend_attributes": ctx.attr(f'{{_xla_buffer_placement = "{kind}"}}')})
