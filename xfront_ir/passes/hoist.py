"""Hoist: what a loop computes from constants alone, it computes once, before.

    scan(%w, %c, %xs) {body = func(%w, %c, %x) {         %0 = sin(%w)
      %0 = sin(%w)                                       scan(%0, %c, %xs) {body = func(%s, %c,
      %1 = mul(%c, %0)                                       %x) {
      return %1                                            %1 = mul(%c, %s)
    }}                                                     return %1
                                                         }}

Literals and what merely enlarges a value stay inside: they cost less there than as an operand.
Ops with bodies stay too: in a loop of no turns they would run in vain, and may not end.
"""

from __future__ import annotations

from typing import Any

from ..core import Function, Op, Value
from .bodies import slice_of
from .linearize import is_cheap


def hoist(fn: Function) -> Function:
    """The Function with loop-invariant ops moved in front of its scans and whiles."""
    ops: list[Op] = []
    for op in fn.ops:
        name = op.definition.name
        if name == "scan":
            op = _from_scan(op, ops)
        elif name == "while":
            op = _from_while(op, ops)
        ops.append(op)
    if len(ops) == len(fn.ops) and all(a is c for a, c in zip(ops, fn.ops, strict=True)):
        return fn
    return fn.replace(ops=ops)


def _moved_out(body: Function, n_consts: int, operands: tuple[Value, ...], ops: list[Op]
               ) -> tuple[Function, list[Value]] | None:
    """Append to `ops` what `body` computes from its first parameters; the rest of it, with new
    constants after these, and the operands for them. None where nothing moves."""
    consts = body.params[:n_consts]
    outside = set(consts)
    moved: list[Value] = []
    stay = []
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
    fresh = [v for v in moved if v in read]
    if not fresh:
        return None
    env = dict(zip(consts, operands, strict=False))
    for op in slice_of(body, fresh, consts).ops:
        results = tuple([Value(v.type) for v in op.results])
        ops.append(Op(op.definition, tuple([env[v] for v in op.operands]), op.attrs, results,
                      op.loc))
        env.update(zip(op.results, results, strict=True))
    inner = Function(body.name, (*consts, *fresh, *body.params[n_consts:]), stay, body.returns,
                     weak_returns=body.weak_returns)
    return inner, [env[v] for v in fresh]


def _rebuilt(op: Op, operands: tuple[Value, ...], **attrs: Any) -> Op:
    return Op(op.definition, operands, {**op.attrs, **attrs}, op.results, op.loc)


def _from_scan(op: Op, ops: list[Op]) -> Op:
    n = op.attrs["n_consts"]
    found = _moved_out(op.attrs["body"], n, op.operands[:n], ops) if op.attrs["length"] > 1 \
        else None
    if found is None:
        return op
    body, fresh = found
    return _rebuilt(op, (*op.operands[:n], *fresh, *op.operands[n:]), body=body,
                    n_consts=n + len(fresh))


def _from_while(op: Op, ops: list[Op]) -> Op:
    n, m = op.attrs["n_cond_consts"], op.attrs["n_body_consts"]
    found = _moved_out(op.attrs["body"], m, op.operands[n:n + m], ops)
    if found is not None:
        body, fresh = found
        op = _rebuilt(op, (*op.operands[:n + m], *fresh, *op.operands[n + m:]), body=body,
                      n_body_consts=m + len(fresh))
    found = _moved_out(op.attrs["cond"], n, op.operands[:n], ops)
    if found is not None:
        test, fresh = found
        op = _rebuilt(op, (*op.operands[:n], *fresh, *op.operands[n:]), cond=test,
                      n_cond_consts=n + len(fresh))
    return op
