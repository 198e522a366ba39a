"""Lowering of logic, shifts, bit counts, nextafter and reduce_precision."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule, table
from xfront_ir import ops
from xfront_ir.core import Op

table({
    ops.and_: "stablehlo.and", ops.or_: "stablehlo.or", ops.xor: "stablehlo.xor",
    ops.not_: "stablehlo.not", ops.shift_left: "stablehlo.shift_left",
    ops.shift_right_arithmetic: "stablehlo.shift_right_arithmetic",
    ops.shift_right_logical: "stablehlo.shift_right_logical", ops.popcnt: "stablehlo.popcnt",
    ops.clz: "stablehlo.count_leading_zeros", ops.mulhi: "chlo.mulhi",
    ops.nextafter: "chlo.next_after",
})


@rule(ops.reduce_precision)
def _reduce_precision(ctx: RuleContext, op: Op, x: Any) -> Any:
    return ctx.create("stablehlo.reduce_precision", [x], op.results,
                      exponent_bits=ctx.i32(op.attrs["exponent_bits"]),
                      mantissa_bits=ctx.i32(op.attrs["mantissa_bits"]))
