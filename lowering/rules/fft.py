"""Lowering of fft."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.types import TensorType


@rule(ops.fft)
def _fft(ctx: RuleContext, op: Op, x: Any) -> Any:
    source, result, lengths = op.operands[0].type, op.results[0].type, op.attrs["lengths"]
    if result.size == 0:
        return ctx.constant(0, result)
    n, devices = lengths[-1], ctx.num_partitions
    if devices > 1 and op.attrs["kind"] == "fft" and source.ndim > 2 and (
            n % devices == 0 and n % devices ** 2):
        # XLA transforms along a dimension that is divided by all devices, but ends the process
        # where their parts are not divided by all once more.
        along = range(source.ndim - len(lengths), source.ndim)
        return ctx.undivided(_transformed(ctx, op, ctx.undivided(x, source, along)), result, along)
    return _transformed(ctx, op, x)


def _transformed(ctx: RuleContext, op: Op, x: Any) -> Any:
    made = ctx.create("stablehlo.fft", [_by_rows(ctx, x, op.operands[0].type)], op.results,
                      fft_type=ctx.attr(f"#stablehlo<fft_type {op.attrs['kind'].upper()}>"),
                      fft_length=ctx.int_array(op.attrs["lengths"]))
    return _by_rows(ctx, made, op.results[0].type)


def _by_rows(ctx: RuleContext, x: Any, type_: TensorType) -> Any:
    """`x`, its last dimension fastest in memory. On CPU XLA transforms nothing else, but gives to a
    transform the layout in which the devices' parts of its operand or result are exchanged."""
    if ctx.num_partitions == 1 or ctx.platform != "cpu" or type_.ndim < 2:
        return x
    rows = ctx.attr(f"[dense<{[*range(type_.ndim)][::-1]}> : tensor<{type_.ndim}xindex>]")
    return ctx.create("stablehlo.custom_call", [x], [type_], operand_layouts=rows,
                      call_target_name=ctx.string("LayoutConstraint"), result_layouts=rows)
