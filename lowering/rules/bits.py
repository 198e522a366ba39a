"""Lowering of logic, shifts, bit counts, nextafter and reduce_precision."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule, table
from lowering.rules.expressions import Writer
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.ops.formulas import Term, where

table({
    ops.and_: "stablehlo.and", ops.or_: "stablehlo.or", ops.xor: "stablehlo.xor",
    ops.not_: "stablehlo.not", ops.shift_left: "stablehlo.shift_left",
    ops.shift_right_arithmetic: "stablehlo.shift_right_arithmetic",
    ops.shift_right_logical: "stablehlo.shift_right_logical", ops.popcnt: "stablehlo.popcnt",
    ops.clz: "stablehlo.count_leading_zeros",
    ops.nextafter: "chlo.next_after",
})


@rule(ops.mulhi)
def _mulhi(ctx: RuleContext, op: Op, x: Any, y: Any) -> Any:
    """The upper half of a product. Integers of up to 32 bits are multiplied in a wider type, those
    of 64 bits by halves. XLA has an op for it, which its fusions on CPU refuse."""
    type = op.results[0].type
    dtype, writer = type.dtype, Writer(ctx)
    p, q = writer.term(type, x), writer.term(type, y)
    if dtype.bits == 64:
        return writer.mlir(upper_half(p, q, dtype is dtypes.i64))
    if dtype.is_unsigned:
        wide, shift = (dtypes.u64 if dtype.bits == 32 else dtypes.u32), ops.shift_right_logical
    else:
        wide, shift = (dtypes.i64 if dtype.bits == 32 else dtypes.i32), ops.shift_right_arithmetic
    return writer.mlir(shift(p.to(wide) * q.to(wide), dtype.bits).to(dtype))


def upper_half(p: Term, q: Term, is_signed: bool) -> Term:
    """The upper half of a product of 64-bit integers, computed from 32-bit halves, whose products
    and carries fit in 64 bits. A negative number x has the bits of x + 2^64, so for each one the
    other factor is subtracted from the upper half."""
    def upper(v: Term) -> Term:
        return ops.shift_right_logical(v, 32)

    def lower(v: Term) -> Term:
        return v & 0xFFFFFFFF

    middle = upper(p) * lower(q) + upper(lower(p) * lower(q))
    other = lower(p) * upper(q) + lower(middle)
    product = upper(p) * upper(q) + upper(middle) + upper(other)
    return product - where(p < 0, q, 0) - where(q < 0, p, 0) if is_signed else product


@rule(ops.reduce_precision)
def _reduce_precision(ctx: RuleContext, op: Op, x: Any) -> Any:
    return ctx.create("stablehlo.reduce_precision", [x], op.results,
                      exponent_bits=ctx.i32(op.attrs["exponent_bits"]),
                      mantissa_bits=ctx.i32(op.attrs["mantissa_bits"]))
