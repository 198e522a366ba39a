"""Lowering of `platform_call`, a kernel by name, to a custom call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op

from .linalg import layout


@rule(ops.platform_call)
def _platform_call(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    a, lead = op.attrs, op.attrs["batch_axes"]
    layouts = () if a["api"] != 4 else ([layout(ctx, v.type, lead) for v in op.operands],
                                        [layout(ctx, v.type, lead) for v in op.results])
    return custom_call(ctx, op, operands, a["target"], a["api"], a["config"], layouts,
                       a["in_place"])


def custom_call(ctx: RuleContext, op: Op, operands: Sequence[Any], target: str, api: int,
                config: str, layouts: Sequence[list[Any]], in_place: Iterable[Any],
                has_side_effect: bool = False) -> Any:
    """The results of a kernel by name.

    Args:
      config: as in the definition of `platform_call`.
      layouts: those of the operands and those of the results, as MLIR's attributes; or none.
      in_place: pairs (result, operand) that share their memory.
    """
    alone = len(op.results) == 1
    attrs = {"call_target_name": ctx.string(target), "api_version": ctx.i32(api),
             "backend_config": ctx.attr(config or "{}") if api == 4 else ctx.string(config)}
    if layouts:
        attrs["operand_layouts"], attrs["result_layouts"] = map(ctx.array, layouts)
    if in_place:
        attrs["output_operand_aliases"] = ctx.array([ctx.attr(
            f"#stablehlo.output_operand_alias<output_tuple_indices = {[] if alone else [k]}, "
            f"operand_index = {i}, operand_tuple_indices = []>") for k, i in in_place])
    if has_side_effect:
        attrs["has_side_effect"] = ctx.bool(True)
    return ctx.create("stablehlo.custom_call", operands, op.results, **attrs)
