"""Hoist: values that a loop computes from constants alone are computed once, before it.

    scan(%w, %c, %xs) {body = func(%w, %c, %x) {         %0 = sin(%w)
      %0 = sin(%w)                                       scan(%0, %c, %xs) {body = func(%s, %c,
      %1 = mul(%c, %0)                                       %x) {
      return %1                                            %1 = mul(%c, %s)
    }}                                                     return %1
                                                         }}

Literals and ops that merely enlarge a value stay inside: they cost less there than as an operand.
So does one cheap op on an array that the loop reads anyway: there is an array less to be read.
Ops with bodies stay too: before a loop of no turns they would be wasted work, or might never end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core import Function, Op, Value
from ..regions import Regions, add
from ..traits import CHEAP
from .bodies import slice_of
from .linearize import is_cheap


def hoist(fn: Function) -> Function:
    """The Function with loop-invariant ops moved in front of its scans and whiles."""
    ops: list[Op] = []
    for op in fn.ops:
        regions = op.definition.regions
        if regions is not None and regions.is_loop and regions.free:
            op = _hoisted(op, ops)
        ops.append(op)
    return fn.with_ops(ops)


def _hoisted(op: Op, ops: list[Op]) -> Op:
    """Append to `ops` what a loop computes from constants alone; gives the loop without these."""
    regions: Regions = op.definition.regions
    turns = regions.turns(op.attrs)
    if turns is not None and turns <= 1:
        return op
    held, groups = regions.held(op), regions.groups(op)
    functions: list[Function] = [one.function for one in held]
    extra: list[list[Value]] = [[] for _ in held]
    for i, one in reversed([*enumerate(held)]):
        constants = regions.params(op, one)[one.body.grows]
        functions[i], extra[i] = _moved_out(one.function, constants, groups[one.body.grows], ops)
    return add(op, functions, extra) if any(extra) else op


def _moved_out(body: Function, consts: Sequence[Value], operands: Sequence[Value], ops: list[Op]
               ) -> tuple[Function, list[Value]]:
    """Append to `ops` what `body` computes from its constants. Gives the rest of the body, with
    trailing parameters for the values moved out that it reads, and the operands for these."""
    outside = set(consts)
    moved: list[Value] = []
    stay: list[Op] = []
    for op in body.ops:
        definition = op.definition
        if not outside.issuperset(op.operands) or definition.has_bodies or (
                definition.effects is not None and definition.has_effects(op.attrs)):
            stay.append(op)
            continue
        outside.update(op.results)
        if is_cheap(op) or not op.operands:
            stay.append(op)
        else:
            moved.extend(op.results)
    read = {v for op in stay for v in op.operands}.union(body.returns)
    arrays = {v for v in consts if v in read and v.type.size > 1}
    literals = {v for op in stay if not op.operands for v in op.results}
    back = {op for op in body.ops if CHEAP in op.definition.traits
            and not arrays.isdisjoint(op.operands) and not read.isdisjoint(op.results)
            and literals.union(arrays).issuperset(op.operands)}
    fresh = [v for v in moved if v in read and not any(v in op.results for op in back)]
    if not fresh:
        return body, []
    if back:
        gone = set(moved).difference(*[op.results for op in back])
        stay = [op for op in body.ops if gone.isdisjoint(op.results)]
    env = dict(zip(consts, operands, strict=True))
    for op in slice_of(body, fresh, consts).ops:
        results = tuple([Value(v.type) for v in op.results])
        ops.append(Op(op.definition, tuple([env[v] for v in op.operands]), op.attrs, results,
                      op.loc))
        env.update(zip(op.results, results, strict=True))
    inner = Function(body.name, (*body.params, *fresh), stay, body.returns,
                     weak_returns=body.weak_returns)
    return inner, [env[v] for v in fresh]
