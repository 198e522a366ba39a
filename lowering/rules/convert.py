"""Lowering of conversions, bitcasts, copies and barriers."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.compare import compare, comparison_kind
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.ops.convert import convert
from xfront_ir.types import TensorType


@rule(convert)
def _convert(ctx: RuleContext, op: Op, x: Any) -> Any:
    source, target = op.operands[0].type, op.results[0].type
    if source is target:
        return x
    if target.dtype is dtypes.bool_:
        if source.dtype is dtypes.bf16:
            x, source = _without_sign(ctx, x, source)
        return compare(ctx, "NE", x, ctx.constant(0, source), target, comparison_kind(source.dtype))
    if source.dtype.is_complex and not target.dtype.is_complex:
        source = source.with_dtype(dtypes.real_of(source.dtype))
        x = ctx.create("stablehlo.real", [x], [source])
        if source is target:
            return x
    return ctx.create("stablehlo.convert", [x], [target])


def _without_sign(ctx: RuleContext, x: Any, type: TensorType) -> tuple[Any, TensorType]:
    """The bits of a bf16 without the sign, and their type. They are compared as integers, because
    some platforms compare a bf16 as an f32, and a subnormal one is then 0 in some programs only."""
    bits = type.with_dtype(dtypes.u16)
    made = ctx.create("stablehlo.bitcast_convert", [x], [bits])
    return ctx.create("stablehlo.and", [made, ctx.constant(0x7FFF, bits)], [bits]), bits


@rule(ops.bitcast)
def _bitcast(ctx: RuleContext, op: Op, x: Any) -> Any:
    if op.operands[0].type.plain is op.results[0].type.plain:
        return x
    return ctx.create("stablehlo.bitcast_convert", [x], op.results)


@rule(ops.copy)
@rule(ops.stop_gradient)
@rule(ops.idle)
def _copy(ctx: RuleContext, op: Op, x: Any) -> Any:
    return x


@rule(ops.fence)
def _fence(ctx: RuleContext, op: Op, x: Any) -> Any:
    return ctx.fence(x, op.operands[0].type)


@rule(ops.optimization_barrier)
def _optimization_barrier(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    return ctx.create("stablehlo.optimization_barrier", operands, op.results)
