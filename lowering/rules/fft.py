"""Lowering of fft."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op


@rule(ops.fft)
def _fft(ctx: RuleContext, op: Op, x: Any) -> Any:
    result = op.results[0].type
    if result.size == 0:
        return ctx.constant(0, result)
    return ctx.create("stablehlo.fft", [x], op.results,
                      fft_type=ctx.attr(f"#stablehlo<fft_type {op.attrs['kind'].upper()}>"),
                      fft_length=ctx.int_array(op.attrs["lengths"]))
