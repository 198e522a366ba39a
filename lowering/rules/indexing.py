"""Lowering of the slices, pad and concatenate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import Form, RuleContext, one_op, rule
from lowering.rules.narrow import converted, widened
from lowering.rules.padding import apart, cropped, padded, sliced
from lowering.rules.starts import clamped
from xfront_ir import ops
from xfront_ir.core import Op, Value
from xfront_ir.dtypes import DType
from xfront_ir.types import I32


def _limits(op: Op) -> tuple[list[int], list[int]]:
    """Limits and steps up to the last element that is taken, and one element by a step of one:
    XLA's partitioner counts the elements of a device's part wrongly where a step goes beyond the
    limit."""
    a, shape = op.attrs, op.results[0].type.shape
    steps = [by if n > 1 else 1 for n, by in zip(shape, a["strides"], strict=True)]
    return [start + max(n - 1, 0) * by + (n > 0)
            for start, n, by in zip(a["starts"], shape, steps, strict=True)], steps


def _apart(ctx: RuleContext, op: Op, x: Any) -> Any:
    return apart(ctx, x, op.operands[0].type, op.attrs["starts"], _limits(op)[0])


@one_op(ops.slice, shared=_apart)
def _slice(ctx: RuleContext, op: Op) -> Form:
    words, (limits, steps) = op.results[0].type.dtype.physical, _limits(op)
    return "stablehlo.slice", {
        "start_indices": ctx.int_array((*op.attrs["starts"], *(0 for _ in words))),
        "limit_indices": ctx.int_array((*limits, *words)),
        "strides": ctx.int_array((*steps, *(1 for _ in words)))}


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
