"""Lowering of casts inside `shard_map`: a sum, a choice by the device's index, or nothing."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.types import scalar

from .collective import all_reduced, index_along


@rule(ops.manual_cast)
def _manual_cast(ctx: RuleContext, op: Op, x: Any) -> Any:
    attrs, kind = op.attrs, (op.attrs["old"], op.attrs["new"])
    sizes = [attrs["mesh"].size_of((a,)) for a in attrs["axes"]]
    if all([n == 1 for n in sizes]):
        return x
    if kind == ("unreduced", "invarying"):
        return all_reduced(ctx, op, x, attrs["axes"], sizes)
    if kind == ("invarying", "unreduced"):
        return _of_the_first(ctx, op, x)
    return x


def _of_the_first(ctx: RuleContext, op: Op, x: Any) -> Any:
    """`x` on the first device along the axes, zeros on the others."""
    flag, zero = scalar(dtypes.bool_), ctx.constant(0, scalar(dtypes.i32))
    first = None
    for axis in op.attrs["axes"]:
        own = ctx.create("stablehlo.compare", [index_along(ctx, axis), zero], [flag],
                         comparison_direction=ctx.attr("#stablehlo<comparison_direction EQ>"))
        first = own if first is None else ctx.create("stablehlo.and", [first, own], [flag])
    return ctx.create("stablehlo.select", [first, x, ctx.constant(0, op.results[0].type)],
                      [op.results[0].type])
