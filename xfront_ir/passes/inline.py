"""Inline: replace calls by the ops of their bodies.

    %0: f32[3] = call(%x) {body = @g, ...}     %0: f32[3] = sin(%x)
    return %0                                  return %0

`inline` takes bodies used once and small ones; the others stay calls, which the lowering may emit
as one function. `inline_calls` takes all. Bodies that are pending are carried out here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..core import Function, Op, Value
from ..opdef import Pending

SMALL = 8
"""Bodies of at most so many ops are inlined wherever they are used."""


def inline_calls(fn: Function) -> Function:
    """The Function with every call inlined, those inside the inlined bodies too."""
    found = fn.memo.get("inline_calls")
    if found is None:
        found = _inline(fn, lambda body: True)
        found = fn.memo["inline_calls"] = fn if found is fn else found
    return found


def inline(fn: Function, small: int = SMALL) -> Function:
    """The Function with calls inlined whose body occurs once in it or has at most `small` ops.

    A body counts where it is called in `fn` itself; calls inside an inlined body count too.
    """
    uses: Counter[Function] = Counter()
    pending = [fn]
    while pending:
        for op in pending.pop().ops:
            if op.definition.name == "call":
                body = _body(op)
                uses[body] += 1
                if uses[body] == 1:
                    pending.append(body)
    if not uses:
        return fn
    return _inline(fn, lambda body: uses[body] == 1 or len(body.ops) <= small)


def _body(op: Op) -> Function:
    held = op.attrs["body"]
    return held.force() if isinstance(held, Pending) else held


def _inline(fn: Function, wanted: Callable[[Function], bool]) -> Function:
    if not any(op.definition.name == "call" and wanted(_body(op)) for op in fn.ops):
        return fn
    ops: list[Op] = []
    env: dict[Value, Value] = {}
    # One frame a call that is open: its ops, its own names, where its results go. No recursion:
    # calls nest as deep as users write them.
    frames = [(iter(fn.ops), env, None, fn)]
    get = env.get
    while frames:
        rest, names, caller, body = frames[-1]
        get = names.get
        fresh = caller is not None
        for op in rest:
            if op.definition.name == "call" and wanted(inner := _body(op)):
                operands = [get(v, v) for v in op.operands]
                frames.append((iter(inner.ops), dict(zip(inner.params, operands, strict=True)), op,
                               inner))
                break
            results = op.results
            if fresh:
                results = tuple([Value(v.type) for v in results])
                names.update(zip(op.results, results, strict=True))
            elif not names or names.keys().isdisjoint(op.operands):
                ops.append(op)
                continue
            ops.append(Op(op.definition, tuple([get(v, v) for v in op.operands]), op.attrs, results,
                          op.loc or (caller.loc if caller is not None else None)))
        else:
            frames.pop()
            if caller is None:
                return fn.replace(ops=ops, returns=[get(v, v) for v in fn.returns])
            outer = frames[-1][1]
            outer.update(zip(caller.results, [get(v, v) for v in body.returns], strict=True))
    raise AssertionError("the outermost frame returns")


__all__ = ["SMALL", "inline", "inline_calls"]
