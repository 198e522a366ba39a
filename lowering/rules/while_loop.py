"""Lowering of while, and of while_tangent, the linear map of its derivative, also as a loop.

From a test `i < n`, the step of `i` and its start, XLA derives how often a loop runs. The number is
wrong if the last step goes beyond n or past the greatest integer, or if the loop does not run at
all. Tests of counters are therefore written as two comparisons, `i <= n and i != n`, in which XLA
sees no counter. Only a counter that goes by one between two known numbers keeps its test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import INLINED, RuleContext, body_of, expanded, rule
from lowering.rules.control import Outside, loop
from xfront_ir import ops
from xfront_ir.core import Function, Op, Value
from xfront_ir.literal import literal
from xfront_ir.ops.while_loop import tangent_loop
from xfront_ir.passes.pipeline import simplify
from xfront_ir.regions import cut

_AS_TWO = {ops.lt: (ops.le, ops.ne, ops.and_), ops.le: (ops.lt, ops.eq, ops.or_),
           ops.gt: (ops.ge, ops.ne, ops.and_), ops.ge: (ops.gt, ops.eq, ops.or_),
           ops.ne: (ops.lt, ops.gt, ops.or_), ops.eq: (ops.le, ops.ge, ops.and_)}
"""For each comparison two others, and what makes of them the same."""


@rule(ops.while_)
def _while(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    cond_consts, body_consts, carry = op.definition.regions.split(op.attrs, operands)
    test, body = op.attrs["cond"], op.attrs["body"]
    outside = Outside(ctx, [*cond_consts, *body_consts])
    n_held, n_cond = len(outside.passed), len(cond_consts)
    if not _goes_by_one(ctx, op, carry):
        test = _as_two(test)

    def run_test(ctx: RuleContext, *values: Any) -> Any:
        held, carry = cut(values, n_held)
        return ctx.inline(test, [*outside.inside(ctx, held)[:n_cond], *carry])

    def run_turn(ctx: RuleContext, *values: Any) -> list[Any]:
        held, carry = cut(values, n_held)
        return [*held, *ctx.body(body, [*outside.inside(ctx, held)[n_cond:], *carry])]

    types = [*[v.type for v in outside.passed], *[v.type for v in op.results]]
    made = loop(ctx, [*outside.passed, *carry], types, run_test, run_turn, ctx.is_ordered(body))
    return cut(made, n_held)[1]


def _compares(op: Op) -> bool:
    return (op.definition in _AS_TWO and op.operands[0].type.dtype.is_integer
            and not op.operands[0].type.ndim)


def _as_two(test: Function) -> Function:
    """The test, with each comparison of integers in it written as two."""
    made = test.memo.get("as_two")
    if made is None:
        made = test.memo["as_two"] = test.with_ops(
            [part for op in test.ops for part in _parts(op)])
    return made


def _parts(op: Op) -> Sequence[Op]:
    if op.definition in INLINED:
        body = body_of(op)
        new = _as_two(body)
        return [op] if new is body else [Op(
            op.definition, op.operands, {**op.attrs, INLINED[op.definition]: new}, op.results,
            op.loc)]
    if not _compares(op):
        return [op]
    one, other, both = _AS_TWO[op.definition]
    first, second = Value(op.results[0].type), Value(op.results[0].type)
    return [Op(one, op.operands, {}, (first,), op.loc),
            Op(other, op.operands, {}, (second,), op.loc),
            Op(both, (first, second), {}, op.results, op.loc)]


def _goes_by_one(ctx: RuleContext, op: Op, inits: list[Any]) -> bool:
    """Whether the loop runs over the integers between two that are known, one after the other."""
    regions, test, body = op.definition.regions, op.attrs["cond"], op.attrs["body"]
    found = _defining_op(test, test.returns[0])
    if found is None or not _compares(found) or found.definition not in (ops.lt, ops.gt):
        return False
    turn = next(one for one in regions.held(op) if "carry" in one.body.gives)
    counter, last = found.operands[0], _number(test, found.operands[1])
    carry = test.params[len(test.params) - len(inits):]
    if counter not in carry or last is None:
        return False
    at, step = carry.index(counter), 1 if found.definition is ops.lt else -1
    before, after = regions.params(op, turn)["carry"][at], body.returns[at]
    init = ctx.number(inits[at])
    return (init is not None and (last - init) * step > 0
            and _adds(body, _defining_op(body, after), before, step))


def _adds(body: Function, op: Op | None, before: Value, step: int) -> bool:
    """Whether an op adds `step` to a value."""
    if op is None or op.definition not in (ops.add, ops.sub):
        return False
    if op.definition is ops.sub:
        return op.operands[0] is before and _number(body, op.operands[1]) == -step
    return any(one is before and _number(body, other) == step
               for one, other in (op.operands, op.operands[::-1]))


def _number(fn: Function, value: Value) -> int | None:
    """The integer of a value in a Function that is a literal; else None."""
    op = _defining_op(fn, value)
    return int(op.attrs["value"].array) if op is not None and op.definition is literal else None


def _defining_op(fn: Function, value: Value) -> Op | None:
    """The op whose result a value is; None for a parameter."""
    return next((op for op in reversed(fn.ops) if value in op.results), None)


@expanded(ops.while_tangent)
def _while_tangent(op: Op) -> Function:
    return simplify(tangent_loop(tuple([v.type for v in op.operands]), op.attrs))
