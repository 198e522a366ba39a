"""Lowering of the slices, pad and concatenate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.narrow import converted, widened
from lowering.rules.padding import cropped, padded, sliced
from lowering.rules.starts import clamped
from xfront_ir import ops
from xfront_ir.core import Op, Value
from xfront_ir.dtypes import DType
from xfront_ir.types import I32


@rule(ops.slice)
def _slice(ctx: RuleContext, op: Op, x: Any) -> Any:
    """Up to the last element that is taken, and one element by a step of one: XLA's partitioner
    counts the elements of a device's part wrongly where a step goes beyond the limit."""
    a, type = op.attrs, op.results[0].type
    steps = tuple([by if n > 1 else 1 for n, by in zip(type.shape, a["strides"], strict=True)])
    limits = tuple([start + max(n - 1, 0) * by + (n > 0)
                    for start, n, by in zip(a["starts"], type.shape, steps, strict=True)])
    return sliced(ctx, x, op.operands[0].type, type, a["starts"], limits, steps)


@rule(ops.pad)
def _pad(ctx: RuleContext, op: Op, x: Any, value: Any) -> Any:
    a, padding = op.attrs, [*zip(op.attrs["low"], op.attrs["high"], strict=True)]
    x, of, padding = cropped(ctx, x, op.operands[0].type, padding, [n + 1 for n in a["interior"]])
    return padded(ctx, x, of, value, op.results[0].type, padding, a["interior"])


@rule(ops.concatenate)
def _concatenate(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    result, dimension = op.results[0].type, ctx.i64(op.attrs["dimension"])
    wide = widened(result)
    if wide is not result:
        operands = tuple([converted(ctx, x, v.type, wide)
                          for x, v in zip(operands, op.operands, strict=True)])
    made = ctx.create("stablehlo.concatenate", operands, [wide], dimension=dimension)
    return converted(ctx, made, wide, result)


def _starts(ctx: RuleContext, op: Op, starts: Sequence[Any], of: Sequence[Value],
            shape: Sequence[int], sizes: Sequence[int], dtype: DType) -> Sequence[Any]:
    """The starts of slices of `sizes`, followed by zeros for the axes of a key's words."""
    made, type = starts, of[0].type if of else I32
    if not op.attrs.get("in_range"):
        made, type = clamped(ctx, starts, type,
                             [n - size for n, size in zip(shape, sizes, strict=True)])
    return [*made, *(ctx.constant(0, type) for _ in dtype.physical)]


@rule(ops.dynamic_slice)
def _dynamic_slice(ctx: RuleContext, op: Op, x: Any, *starts: Any) -> Any:
    dtype, sizes, (of_x, *of_starts) = op.results[0].type.dtype, op.attrs["sizes"], op.operands
    whole = _starts(ctx, op, starts, of_starts, of_x.type.shape, sizes, dtype)
    if ctx.is_shared:
        known = [k for start in whole[:len(sizes)] if (k := ctx.number(start)) is not None]
        if len(known) == len(sizes):                   # which XLA makes a slice
            return sliced(ctx, x, of_x.type, op.results[0].type, known, [
                k + size for k, size in zip(known, sizes, strict=True)])
    return ctx.create("stablehlo.dynamic_slice", [x, *whole], op.results,
                      slice_sizes=ctx.int_array((*sizes, *dtype.physical)))


@rule(ops.dynamic_update_slice)
def _dynamic_update_slice(ctx: RuleContext, op: Op, x: Any, update: Any, *starts: Any) -> Any:
    of_x, of_update, *of_starts = op.operands
    whole = _starts(ctx, op, starts, of_starts, of_x.type.shape, of_update.type.shape,
                    of_x.type.dtype)
    return ctx.create("stablehlo.dynamic_update_slice", [x, update, *whole], op.results)
