"""Lowering of while, and of the linear map that its derivative leaves: a loop too."""

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
    of_cond, of_body = Outside(ctx, cond_consts), Outside(ctx, body_consts)
    sizes = len(of_cond.passed), len(of_body.passed)

    def run_test(ctx: RuleContext, *values: Any) -> Any:
        for_cond, _, carry = cut(values, *sizes)
        return ctx.inline(test, [*of_cond.inside(ctx, for_cond), *carry])

    def run_turn(ctx: RuleContext, *values: Any) -> list[Any]:
        for_cond, for_body, carry = cut(values, *sizes)
        made = ctx.body(body, [*of_body.inside(ctx, for_body), *carry])
        return [*for_cond, *for_body, *made]

    inits = [*of_cond.passed, *of_body.passed, *carry]
    types = [*[v.type for v in of_cond.passed], *[v.type for v in of_body.passed],
             *[v.type for v in op.results]]
    made = loop(ctx, inits, types, run_test, run_turn, ctx.is_ordered(body))
    return cut(made, sum(sizes))[1]


@expanded(ops.while_tangent)
def _while_tangent(op: Op) -> Function:
    return simplify(tangent_loop(tuple([v.type for v in op.operands]), op.attrs))
