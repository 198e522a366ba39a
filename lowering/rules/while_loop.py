"""Lowering of while, and of while_tangent, the linear map of its derivative, also as a loop."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, expanded, rule
from lowering.rules.control import Outside, loop
from xfront_ir import ops
from xfront_ir.core import Function, Op
from xfront_ir.ops.while_loop import tangent_loop
from xfront_ir.passes.pipeline import simplify
from xfront_ir.regions import cut


@rule(ops.while_)
def _while(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    cond_consts, body_consts, carry = op.definition.regions.split(op.attrs, operands)
    test, body = op.attrs["cond"], op.attrs["body"]
    outside = Outside(ctx, [*cond_consts, *body_consts])
    n_held, n_cond = len(outside.passed), len(cond_consts)

    def run_test(ctx: RuleContext, *values: Any) -> Any:
        held, carry = cut(values, n_held)
        return ctx.inline(test, [*outside.inside(ctx, held)[:n_cond], *carry])

    def run_turn(ctx: RuleContext, *values: Any) -> list[Any]:
        held, carry = cut(values, n_held)
        return [*held, *ctx.body(body, [*outside.inside(ctx, held)[n_cond:], *carry])]

    types = [*[v.type for v in outside.passed], *[v.type for v in op.results]]
    made = loop(ctx, [*outside.passed, *carry], types, run_test, run_turn, ctx.is_ordered(body))
    return cut(made, n_held)[1]


@expanded(ops.while_tangent)
def _while_tangent(op: Op) -> Function:
    return simplify(tangent_loop(tuple([v.type for v in op.operands]), op.attrs))
