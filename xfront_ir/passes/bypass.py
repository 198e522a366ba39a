"""Bypass: values that merely pass through an op with bodies go around it, and what nobody reads
of it is not carried.

    %0, %1 = scan(%w, %c, %d, %xs) {           %0 = scan(%w, %d, %c, %xs) {
        n_consts = 1, n_carry = 2,                 n_consts = 2, n_carry = 1,
        body = func(%w, %c, %d, %x) {              body = func(%w, %d, %c, %x) {
          ...  return %2, %d }}                      ...  return %2 }}
    return %0, %1                              return %0, %d

Dropped: results, carries, operands and scanned values that nothing reads. Forwarded: results that
are operands, carries that every turn leaves as they are, operands and results that occur twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import Function, Op, Value
from ..opdef import lookup
from .dead_code import dead_code, has_effects

Changed = tuple[Op | None, dict[Value, Value], list[Op]]


def bypass(fn: Function) -> Function:
    """The Function with its ops with bodies carrying only what they change and others read."""
    if not any([op.definition.name in _RULES for op in fn.ops]):
        return fn
    while True:
        once = _forward(fn)
        if once is fn:
            return fn
        fn = once


def _forward(fn: Function) -> Function:
    read = {v for op in fn.ops for v in op.operands}.union(fn.returns)
    env: dict[Value, Value] = {}
    ops: list[Op] = []
    changed = False
    for op in fn.ops:
        if env and not env.keys().isdisjoint(op.operands):
            op = Op(op.definition, tuple([env.get(v, v) for v in op.operands]), op.attrs,
                    op.results, op.loc)
        rule = _RULES.get(op.definition.name)
        found = rule(op, read) if rule is not None else None
        if found is None:
            ops.append(op)
            continue
        changed = True
        made, moved, before = found
        ops.extend(before)
        if made is not None:
            ops.append(made)
        env.update(moved)
    if not changed:
        return fn
    return fn.replace(ops=ops, returns=[env.get(v, v) for v in fn.returns])


def _keep(values: Sequence[Any], flags: Sequence[bool]) -> tuple:
    return tuple([v for v, f in zip(values, flags, strict=True) if f])


def _read_in(*bodies: Function) -> list[set[Value]]:
    return [{v for op in body.ops for v in op.operands}.union(body.returns) for body in bodies]


def _around(op: Op, bodies: Sequence[Function], operands: Sequence[Value], read: set[Value]
            ) -> tuple[list[bool], dict[Value, Value]]:
    """Which results stay, and what stands for the others: operands that every body returns, and
    results that every body returns twice."""
    stay, moved = [], {}
    places = [{v: i for i, v in reversed(list(enumerate(body.params)))} for body in bodies]
    seen: dict[tuple, Value] = {}
    for j, result in enumerate(op.results):
        through = {p.get(body.returns[j]) for p, body in zip(places, bodies, strict=True)}
        first = seen.setdefault(tuple([body.returns[j] for body in bodies]), result)
        if len(through) == 1 and (i := next(iter(through))) is not None:
            moved[result] = operands[i]
            stay.append(False)
        elif first is not result and result in read:
            moved[result] = first
            stay.append(False)
        else:
            stay.append(result in read)
    for j, result in enumerate(op.results):      # a result that stands for another one is read
        stay[j] = stay[j] or (result in moved.values() and result not in moved)
    return stay, moved


def _branches(op: Op, bodies: tuple[Function, ...], operands: tuple[Value, ...], read: set[Value]
              ) -> tuple[tuple[Function, ...], tuple[Value, ...], tuple[Value, ...], dict] | None:
    """Bodies that all take the same operands and give the op's results: call, cond, checkpoint."""
    stay, moved = _around(op, bodies, operands, read)
    if not all(stay):
        bodies = tuple([_returning(body, tuple(stay)) for body in bodies])
    inner = _read_in(*bodies)
    used = [any(body.params[i] in seen for body, seen in zip(bodies, inner, strict=True))
            for i in range(len(operands))]
    if all(stay) and all(used):
        return None
    bodies = tuple([_taking(body, tuple(used)) for body in bodies])
    return bodies, _keep(operands, used), _keep(op.results, stay), moved


def _returning(body: Function, stay: tuple[bool, ...]) -> Function:
    """`body` with some returns, one Function for all ops that hold it."""
    found = body.memo.get(("returning", stay))
    if found is None:
        found = body.memo["returning", stay] = dead_code(
            body.replace(returns=_keep(body.returns, stay), weak_returns=()))
    return found


def _taking(body: Function, used: tuple[bool, ...]) -> Function:
    """`body` with some parameters, one Function for all ops that hold it."""
    if all(used):
        return body
    found = body.memo.get(("taking", used))
    if found is None:
        found = body.memo["taking", used] = body.replace(
            params=_keep(body.params, used), param_names=(), weak_params=())
    return found


def _call(op: Op, read: set[Value]) -> Changed | None:
    body = op.attrs["body"]
    if not isinstance(body, Function):
        return None
    found = _branches(op, (body,), op.operands, read)
    if found is None:
        return None
    (body,), operands, results, moved = found
    made = Op(op.definition, operands, {**op.attrs, "body": body}, results, op.loc)
    return (made if results or has_effects(made) else None), moved, []


def _cond(op: Op, read: set[Value]) -> Changed | None:
    found = _branches(op, op.attrs["branches"], op.operands[1:], read)
    if found is None:
        return None
    branches, operands, results, moved = found
    made = Op(op.definition, (op.operands[0], *operands), {"branches": branches}, results, op.loc)
    return (made if results or has_effects(made) else None), moved, []


# --- loops --------------------------------------------------------------------------------

def _needed(body: Function, carry: Sequence[Value], start: set[int], always: Callable[[Op], bool]
            ) -> set[int]:
    """Carries that the carries in `start`, other returns and effects depend on."""
    place = {v: i for i, v in enumerate(carry)}
    n = len(carry)
    needed = set(start)
    while True:
        live = {body.returns[i] for i in needed}.union(body.returns[n:])
        for op in reversed(body.ops):
            if not live.isdisjoint(op.results) or always(op):
                live.update(op.operands)
        grown = needed | {i for v, i in place.items() if v in live}
        if grown == needed:
            return needed
        needed = grown


def _scan(op: Op, read: set[Value]) -> Changed | None:
    attrs, body = op.attrs, op.attrs["body"]
    n, k = attrs["n_consts"], attrs["n_carry"]
    consts, carry, xs = body.params[:n], body.params[n:n + k], body.params[n + k:]
    moved: dict[Value, Value] = {}
    before: list[Op] = []
    for i, v in enumerate(carry):                # what no turn changes is a constant
        if body.returns[i] is v:
            fixed = [body.returns[j] is c for j, c in enumerate(carry)]
            same, rest = _keep(carry, fixed), _keep(carry, [not f for f in fixed])
            free = [not f for f in fixed]
            inner = body.replace(params=(*consts, *same, *rest, *xs), param_names=(),
                                 weak_params=(), weak_returns=(),
                                 returns=(*_keep(body.returns[:k], free), *body.returns[k:]))
            init = op.operands[n:n + k]
            moved.update(zip(_keep(op.results[:k], fixed), _keep(init, fixed), strict=True))
            made = Op(op.definition, (*op.operands[:n], *_keep(init, fixed), *_keep(init, free),
                                      *op.operands[n + k:]),
                      {**attrs, "body": inner, "n_consts": n + sum(fixed),
                       "n_carry": k - sum(fixed)},
                      (*_keep(op.results[:k], free), *op.results[k:]), op.loc)
            return (made if made.results or has_effects(made) else None), moved, before
    # stacked results that are scanned operands, or constants
    scanned = dict(zip(xs, op.operands[n + k:], strict=True))
    constant = dict(zip(consts, op.operands[:n], strict=True))
    stay = [True] * k
    for v, result in zip(body.returns[k:], op.results[k:], strict=True):
        if v in scanned:
            moved[result] = scanned[v]
        elif v in constant and result in read:
            before.append(Op(lookup("broadcast_in_dim"), (constant[v],), {
                "shape": result.type.shape, "dims": tuple(range(1, result.type.ndim))},
                (whole := Value(result.type),), op.loc))
            moved[result] = whole
        stay.append(result in read and result not in moved)
    if not all(stay):
        body = body.replace(returns=_keep(body.returns, stay), weak_returns=())
    needed = _needed(body, carry, {i for i in range(k) if op.results[i] in read}, has_effects)
    keep_carry = [i in needed for i in range(k)]
    if not all(keep_carry):
        body = body.replace(returns=(*_keep(body.returns[:k], keep_carry), *body.returns[k:]),
                            weak_returns=())
    clean = dead_code(body)
    (inside,) = _read_in(clean)
    used = [v in inside for v in consts] + keep_carry + [v in inside for v in xs]
    if all(stay) and all(used):
        return None
    stay[:k] = keep_carry
    made = Op(op.definition, _keep(op.operands, used),
              {**attrs, "body": clean.replace(params=_keep(clean.params, used), param_names=(),
                                              weak_params=()),
               "n_consts": sum(used[:n]), "n_carry": sum(keep_carry)},
              _keep(op.results, stay), op.loc)
    return (made if made.results or has_effects(made) else None), moved, before


def _while(op: Op, read: set[Value]) -> Changed | None:
    attrs, test, body = op.attrs, op.attrs["cond"], op.attrs["body"]
    n, m = attrs["n_cond_consts"], attrs["n_body_consts"]
    for_test, for_body, init = op.operands[:n], op.operands[n:n + m], op.operands[n + m:]
    carry, carried = body.params[m:], test.params[n:]
    fixed = [r is v for r, v in zip(body.returns, carry, strict=True)]
    free = [not f for f in fixed]
    if any(fixed):                               # what no turn changes is a constant of both
        moved = dict(zip(_keep(op.results, fixed), _keep(init, fixed), strict=True))
        same = _keep(init, fixed)
        made = Op(op.definition, (*for_test, *same, *for_body, *same, *_keep(init, free)), {
            "cond": test.replace(params=(*test.params[:n], *_keep(carried, fixed),
                                         *_keep(carried, free)), param_names=(), weak_params=()),
            "body": body.replace(params=(*body.params[:m], *_keep(carry, fixed),
                                         *_keep(carry, free)),
                                 returns=_keep(body.returns, free), param_names=(), weak_params=(),
                                 weak_returns=()),
            "n_cond_consts": n + sum(fixed), "n_body_consts": m + sum(fixed)},
            _keep(op.results, free), op.loc)
        return made, moved, []
    (tested,) = _read_in(test)
    start = {i for i, (v, r) in enumerate(zip(carried, op.results, strict=True))
             if v in tested or r in read}
    needed = _needed(body, carry, start, has_effects)
    keep = [i in needed for i in range(len(carry))]
    if not all(keep):
        body = dead_code(body.replace(returns=_keep(body.returns, keep), weak_returns=()))
    (inside,) = _read_in(body)
    in_test = [v in tested for v in test.params[:n]]
    in_body = [v in inside for v in body.params[:m]]
    if all(keep) and all(in_test) and all(in_body):
        return None
    made = Op(op.definition, (*_keep(for_test, in_test), *_keep(for_body, in_body),
                              *_keep(init, keep)), {
        "cond": test.replace(params=_keep(test.params, in_test + keep), param_names=(),
                             weak_params=()),
        "body": body.replace(params=_keep(body.params, in_body + keep), param_names=(),
                             weak_params=()),
        "n_cond_consts": sum(in_test), "n_body_consts": sum(in_body)},
        _keep(op.results, keep), op.loc)
    return made, {}, []


_RULES: dict[str, Callable[[Op, set[Value]], Changed | None]] = {
    "call": _call, "checkpoint": _call, "cond": _cond, "scan": _scan, "while": _while}
