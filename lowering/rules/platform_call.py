"""Lowering of `platform_call`, a kernel by name, to a custom call."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op

from .linalg import layout


@rule(ops.platform_call)
def _platform_call(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    a, lead = op.attrs, op.attrs["batch_axes"]
    typed, alone = a["api"] == 4, len(op.results) == 1
    config = ctx.attr(a["config"] or "{}") if typed else ctx.string(a["config"])
    attrs = {"call_target_name": ctx.string(a["target"]), "api_version": ctx.i32(a["api"]),
             "backend_config": config}
    if typed:
        attrs["operand_layouts"] = ctx.array([layout(ctx, v.type, lead) for v in op.operands])
        attrs["result_layouts"] = ctx.array([layout(ctx, v.type, lead) for v in op.results])
    if a["in_place"]:
        attrs["output_operand_aliases"] = ctx.array([ctx.attr(
            f"#stablehlo.output_operand_alias<output_tuple_indices = {[] if alone else [k]}, "
            f"operand_index = {i}, operand_tuple_indices = []>") for k, i in a["in_place"]])
    return ctx.create("stablehlo.custom_call", operands, op.results, **attrs)
