"""Lowering of the shape ops. Keys have their words in axes behind those that the IR knows."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.types import TensorType


def word_axes(type: TensorType) -> tuple[int, ...]:
    """The axes that a key's words take in memory; none for other types."""
    return tuple(range(type.ndim, type.ndim + len(type.dtype.physical)))


@rule(ops.broadcast_in_dim)
def _broadcast_in_dim(ctx: RuleContext, op: Op, x: Any) -> Any:
    (result,), dims = op.results, op.attrs["dims"]
    if result.type is op.operands[0].type and dims == tuple(range(len(dims))):
        return x
    dims = (*dims, *word_axes(result.type))
    return ctx.create("stablehlo.broadcast_in_dim", [x], op.results,
                      broadcast_dimensions=ctx.int_array(dims))


@rule(ops.reshape)
def _reshape(ctx: RuleContext, op: Op, x: Any) -> Any:
    if op.results[0].type is op.operands[0].type:
        return x
    return ctx.create("stablehlo.reshape", [x], op.results)


@rule(ops.transpose)
def _transpose(ctx: RuleContext, op: Op, x: Any) -> Any:
    permutation = op.attrs["permutation"]
    if permutation == tuple(range(len(permutation))):
        return x
    return ctx.create("stablehlo.transpose", [x], op.results,
                      permutation=ctx.int_array((*permutation, *word_axes(op.results[0].type))))


@rule(ops.reverse)
def _reverse(ctx: RuleContext, op: Op, x: Any) -> Any:
    return ctx.create("stablehlo.reverse", [x], op.results,
                      dimensions=ctx.int_array(op.attrs["axes"]))


@rule(ops.iota)
def _iota(ctx: RuleContext, op: Op) -> Any:
    return ctx.create("stablehlo.iota", [], op.results,
                      iota_dimension=ctx.i64(op.attrs["dimension"]))
