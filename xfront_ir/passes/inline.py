"""Inline: replace calls by the ops of their bodies.

    %0: f32[3] = call(%x) {body = @g, ...}     %0: f32[3] = sin(%x)
    return %0                                  return %0

`inline` inlines bodies used once and small ones; the other calls stay, and the lowering may emit
each body as one function. `inline_calls` inlines all, `inline_pending` those of transformations.
Pending bodies are carried out here. `expand` replaces ops that matter only to derivatives (custom
rules, checkpoints) by their bodies: nothing differentiates a program that is about to be lowered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ..core import Function, Op, Value, forced, remembered, stays
from ..opdef import Pending

SMALL = 8
"""Bodies of at most this many ops are inlined wherever they are used."""


def inline_calls(fn: Function) -> Function:
    """The Function with every call inlined, those inside the inlined bodies too."""
    def wanted(op: Op) -> Function | None:
        return _body(op) if op.definition.is_call else None

    return remembered(fn, "inline_calls", _inline, fn, wanted)


def inline_pending(fn: Function) -> Function:
    """The Function with transformations (pending bodies) carried out in place of their calls; calls
    of other bodies stay."""
    def wanted(op: Op) -> Function | None:
        if not op.definition.is_call or not isinstance(held := _held(op), Pending):
            return None
        return held.force()

    return remembered(fn, "inline_pending", _inline, fn, wanted)


def settle(fn: Function) -> Function:
    """The Function with pending bodies of calls carried out, innermost first, and calls inlined as
    `inline` does.

    Passes start with this: transformations and calls nest as deep as users write them, and a pass
    must not recurse that deep.
    """
    if not any([op.definition.is_call for op in fn.ops]):
        return fn
    stack = [fn]
    while stack:
        f = stack[-1]
        if "settled" in f.memo:
            stack.pop()
            continue
        inner = [_inside(_held(op)) for op in f.ops if op.definition.is_call]
        if needed := [g for g in inner if g is not None and "settled" not in g.memo]:
            stack.extend(needed)
            continue
        ops = [_settled(op) if op.definition.is_call else op for op in f.ops]
        made = stays(inline(f.replace(ops=ops)) if inner else f, "settled")
        remembered(f, "settled", lambda made: made, made)
        stack.pop()
    return _after(fn)


def _after(fn: Function) -> Function:
    """A Function that is settled already."""
    return remembered(fn, "settled", settle, fn)


def _inside(held: Function | Pending) -> Function | None:
    """The Function to settle before a body can be; None for a pending body that is carried out."""
    if isinstance(held, Pending):
        return None if held.forced else held.function
    return held


def _settled(op: Op) -> Op:
    held = _held(op)
    if isinstance(held, Pending):
        made = held.forced or held.force(_after(held.function))
    else:
        made = _after(held)
    attrs = {**op.attrs, op.definition.regions.value: made}
    return Op(op.definition, op.operands, attrs, op.results, op.loc)


def inline(fn: Function) -> Function:
    """The Function with calls inlined whose body occurs once in it or has at most `SMALL` ops.

    Calls inside a body count once, however often the body itself is called.
    """
    uses: Counter[Function] = Counter()
    pending = [fn]
    while pending:
        for op in pending.pop().ops:
            if op.definition.is_call:
                body = _body(op)
                uses[body] += 1
                if uses[body] == 1:
                    pending.append(body)
    if not uses:
        return fn

    def wanted(op: Op) -> Function | None:
        if not op.definition.is_call:
            return None
        body = _body(op)
        return body if uses[body] == 1 or len(body.ops) <= SMALL else None

    return _inline(fn, wanted)


def expand(fn: Function) -> Function:
    """The Function with the bodies of custom rules and checkpoints in place of their ops."""
    return _inline(fn, _expansion)


def _expansion(op: Op) -> Function | None:
    regions = op.definition.regions
    if regions is None or regions.is_call or not regions.value:
        return None
    return regions.expanded(op) if regions.expanded else op.attrs[regions.value]


def _held(op: Op) -> Function | Pending:
    return op.attrs[op.definition.regions.value]


def _body(op: Op) -> Function:
    return forced(_held(op))


def _inline(fn: Function, wanted: Callable[[Op], Function | None]) -> Function:
    """Replace each op for which `wanted` returns a Function by the ops of that Function, and so on
    inside it.

    A body's values are kept unless they occur here already, where it, or a Function that shares
    them, was inlined before.
    """
    while len(fn.ops) == 1 and (made := _unwrapped(fn, wanted(fn.ops[0]))) is not None:
        fn = made
    if not any([op.definition.has_bodies and wanted(op) is not None for op in fn.ops]):
        return fn
    ops: list[Op] = []
    taken = {v for op in fn.ops for v in op.results}.union(fn.params)
    # One frame for each open call: its ops, its own names, the call, its body. There is no
    # recursion: calls nest as deep as users write them.
    frames: list[tuple[Iterator[Op], dict[Value, Value], Op | None, Function]] = [
        (iter(fn.ops), {}, None, fn)]
    while True:
        rest, names, caller, body = frames[-1]
        get, renamed = names.get, names.keys().isdisjoint
        for op in rest:
            inner = wanted(op) if op.definition.has_bodies else None
            if inner is not None:
                operands = [get(v, v) for v in op.operands]
                frames.append((iter(inner.ops), dict(zip(inner.params, operands, strict=True)), op,
                               inner))
                break
            results, loc = op.results, op.loc
            if caller is not None:
                loc = loc or caller.loc
                if taken.isdisjoint(results):
                    taken.update(results)
                else:
                    results = tuple([Value(v.type) for v in results])
                    names.update(zip(op.results, results, strict=True))
            operands = op.operands
            if not renamed(operands):
                operands = tuple([get(v, v) for v in operands])
            elif results is op.results and loc is op.loc:
                ops.append(op)
                continue
            ops.append(Op(op.definition, operands, op.attrs, results, loc))
        else:
            frames.pop()
            returns = [get(v, v) for v in body.returns]
            if caller is None:
                return fn.replace(ops=ops, returns=returns)
            frames[-1][1].update(zip(caller.results, returns, strict=True))


def _unwrapped(fn: Function, body: Function | None) -> Function | None:
    """The body of fn's only op, with fn's parameters and returns; transformations leave such a
    `fn`. None where an operand is no parameter, or is there twice."""
    (op,) = fn.ops
    if body is None or not set(fn.params).issuperset(op.operands):
        return None
    inner = dict(zip(op.operands, body.params, strict=True))
    if len(inner) < len(body.params):
        return None
    inner.update(zip(op.results, body.returns, strict=True))
    get, loc = inner.get, op.loc
    ops = [o if o.loc is not None else Op(o.definition, o.operands, o.attrs, o.results, loc)
           for o in body.ops]
    return fn.replace(params=[get(v, v) for v in fn.params], ops=ops,
                      returns=[get(v, v) for v in fn.returns])


__all__ = ["SMALL", "expand", "inline", "inline_calls", "inline_pending", "settle"]
