"""Lowering of while, and of the linear map that its derivative leaves: a loop too."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, expanded, rule
from lowering.rules.control import Outside, _loop
from xfront_ir import ops
from xfront_ir.core import Function, Op
from xfront_ir.ops.while_loop import tangent_loop
from xfront_ir.passes.pipeline import simplify


@rule(ops.while_)
def _while(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    n = op.attrs["n_cond_consts"]
    m = n + op.attrs["n_body_consts"]
    test, body = op.attrs["cond"], op.attrs["body"]
    of_cond, of_body = Outside(ctx, operands[:n]), Outside(ctx, operands[n:m])
    consts = [*of_cond.passed, *of_body.passed]
    i, j = len(of_cond.passed), len(consts)

    def run_test(ctx: RuleContext, *values: Any) -> Any:
        return ctx.inline(test, [*of_cond.inside(ctx, values[:i]), *values[j:]])

    def run_turn(ctx: RuleContext, *values: Any) -> list[Any]:
        made = ctx.body(body, [*of_body.inside(ctx, values[i:j]), *values[j:]])
        return [*values[:j], *made]

    types = [*[v.type for v in consts], *[v.type for v in op.results]]
    made = _loop(ctx, [*consts, *operands[m:]], types, run_test, run_turn, ctx.is_ordered(body))
    return made[j:]


@expanded(ops.while_tangent)
def _while_tangent(op: Op) -> Function:
    return simplify(tangent_loop(tuple([v.type for v in op.operands]), op.attrs))
