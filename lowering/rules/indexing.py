"""Lowering of the slices, pad and concatenate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import Form, RuleContext, one_op, rule
from lowering.rules.narrow import converted, widened
from lowering.rules.padding import cropped, padded
from xfront_ir import ops
from xfront_ir.core import Op, Value
from xfront_ir.dtypes import DType
from xfront_ir.types import I32, scalar


@one_op(ops.slice)
def _slice(ctx: RuleContext, op: Op) -> Form:
    words, a = op.results[0].type.dtype.physical, op.attrs
    return "stablehlo.slice", {
        "start_indices": ctx.int_array((*a["starts"], *(0 for _ in words))),
        "limit_indices": ctx.int_array((*a["limits"], *words)),
        "strides": ctx.int_array((*a["strides"], *(1 for _ in words)))}


@rule(ops.pad)
def _pad(ctx: RuleContext, op: Op, x: Any, value: Any) -> Any:
    a, padding = op.attrs, [*zip(op.attrs["low"], op.attrs["high"], strict=True)]
    x, _, padding = cropped(ctx, x, op.operands[0].type, padding, [n + 1 for n in a["interior"]])
    return padded(ctx, x, value, op.results[0].type, padding, a["interior"])


@rule(ops.concatenate)
def _concatenate(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    result, dimension = op.results[0].type, ctx.i64(op.attrs["dimension"])
    wide = widened(result)
    if wide is not result:
        operands = tuple([converted(ctx, x, v.type, wide)
                          for x, v in zip(operands, op.operands, strict=True)])
    made = ctx.create("stablehlo.concatenate", operands, [wide], dimension=dimension)
    return converted(ctx, made, wide, result)


def _with_words(ctx: RuleContext, starts: Sequence[Any], of: Sequence[Value], dtype: DType
                ) -> Sequence[Any]:
    """The starts, followed by zeros for the axes of a key's words."""
    if not dtype.physical:
        return starts
    type = scalar(of[0].type.dtype) if of else I32
    return [*starts, *(ctx.constant(0, type) for _ in dtype.physical)]


@rule(ops.dynamic_slice)
def _dynamic_slice(ctx: RuleContext, op: Op, x: Any, *starts: Any) -> Any:
    dtype = op.results[0].type.dtype
    whole = _with_words(ctx, starts, op.operands[1:], dtype)
    return ctx.create("stablehlo.dynamic_slice", [x, *whole], op.results,
                      slice_sizes=ctx.int_array((*op.attrs["sizes"], *dtype.physical)))


@rule(ops.dynamic_update_slice)
def _dynamic_update_slice(ctx: RuleContext, op: Op, x: Any, update: Any, *starts: Any) -> Any:
    whole = _with_words(ctx, starts, op.operands[2:], op.results[0].type.dtype)
    return ctx.create("stablehlo.dynamic_update_slice", [x, update, *whole], op.results)
