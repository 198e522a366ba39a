"""Lowering of `ffi_call`, a registered function by name, to a custom call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import RuleContext, rule
from lowering.targets import requirement
from xfront_ir import ops
from xfront_ir.core import Op, Value

from .platform_call import custom_call


@rule(ops.ffi_call)
def _ffi_call(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    a = op.attrs
    target, api = a["target_name"], a["custom_call_api_version"]
    if ctx.is_shared and a["has_side_effect"]:
        raise NotImplementedError(
            f"ffi_call({target!r}, has_side_effect=True) in a program on several devices must be "
            "inside shard_map, where each device makes the call for its part")
    ctx.require(requirement(ctx.platform, target, api))
    layouts = (_layouts(ctx, op.operands, a["input_layouts"]),
               _layouts(ctx, op.results, a["output_layouts"]))
    in_place = [(k, i) for i, k in a["input_output_aliases"]]
    return custom_call(ctx, op, operands, target, api, a["config"], layouts, in_place,
                       a["has_side_effect"])


def _layouts(ctx: RuleContext, values: Sequence[Value], layouts: Sequence[tuple[int, ...]]
             ) -> list[Any]:
    """Layouts from the slowest axis to the fastest as MLIR has them, the other way round. The words
    of a key lie together."""
    made = []
    for v, order in zip(values, layouts, strict=True):
        words = range(v.type.ndim, v.type.ndim + len(v.type.dtype.physical))
        listed = [*order, *words][::-1]
        made.append(ctx.attr(f"dense<{listed if listed else ''}> : tensor<{len(listed)}xindex>"))
    return made
