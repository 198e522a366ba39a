"""Lowering of the shape ops. The words of keys are in axes after those that the IR knows."""

from __future__ import annotations

from lowering.context import Form, RuleContext, one_op, table
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.types import TensorType

table({ops.reshape: "stablehlo.reshape"})


def word_axes(type: TensorType) -> tuple[int, ...]:
    """The axes of a key's words in MLIR types; none for other types."""
    return tuple(range(type.ndim, type.ndim + len(type.dtype.physical)))


@one_op(ops.broadcast_in_dim)
def _broadcast_in_dim(ctx: RuleContext, op: Op) -> Form | None:
    result, dims = op.results[0].type, op.attrs["dims"]
    if result is op.operands[0].type and dims == tuple(range(len(dims))):
        return None
    return "stablehlo.broadcast_in_dim", {
        "broadcast_dimensions": ctx.int_array((*dims, *word_axes(result)))}


@one_op(ops.transpose)
def _transpose(ctx: RuleContext, op: Op) -> Form | None:
    permutation = op.attrs["permutation"]
    if permutation == tuple(range(len(permutation))):
        return None
    return "stablehlo.transpose", {
        "permutation": ctx.int_array((*permutation, *word_axes(op.results[0].type)))}


@one_op(ops.reverse)
def _reverse(ctx: RuleContext, op: Op) -> Form:
    return "stablehlo.reverse", {"dimensions": ctx.int_array(op.attrs["axes"])}


@one_op(ops.iota)
def _iota(ctx: RuleContext, op: Op) -> Form:
    return "stablehlo.iota", {"iota_dimension": ctx.i64(op.attrs["dimension"])}
