"""Dead code: drop ops whose results nobody reads.

    func @f(%x: f32[3]) -> (f32[3]) {          func @f(%x: f32[3]) -> (f32[3]) {
      %0: f32[3] = sin(%x)                       %0: f32[3] = cos(%x)
      %1: f32[3] = cos(%x)                       return %0
      return %1                                }
    }

Ops with effects stay, and so do ops whose bodies have some. Bodies themselves are cleaned by
`pipeline.simplify`; results of loops and branches that nobody reads are dropped by `bypass`.

`unread_code` leaves the ops of users' primitives too: a program that a user may still look at, such
as that of a gradient, shows them (libraries mark values by primitives whose results nobody reads).
They go when the program is compiled, before anything asks for their lowering.
"""

from __future__ import annotations

from ..core import Function, Op, bodies_of


def has_effects(op: Op) -> bool:
    """Whether an op, or one in its bodies, must be kept even if nobody reads its results."""
    definition = op.definition
    if definition.effects is not None and definition.has_effects(op.attrs):
        return True
    return definition.has_bodies and any(map(is_effectful, bodies_of(op)))


def is_effectful(fn: Function) -> bool:
    """Whether some op of a Function has effects; derived once."""
    found = fn.memo.get("effectful")             # asked for each op with bodies by each pass
    if found is None:
        found = fn.memo["effectful"] = any(map(has_effects, fn.ops))
    return found


def dead_code(fn: Function) -> Function:
    """The Function without the ops that no return and no effect depends on."""
    return _without(fn, True)


def unread_code(fn: Function) -> Function:
    """`dead_code` before a user has seen the Function: ops of users' primitives stay."""
    return _without(fn, False)


def _without(fn: Function, users: bool) -> Function:
    """The Function without what is not needed; `users`: ops of users' primitives may go too."""
    live = set(fn.returns)
    kept: list[Op] = []
    unread = live.isdisjoint
    for op in reversed(fn.ops):
        definition = op.definition
        if unread(op.results) and (users or definition.written is None) and (
                (definition.effects is None and not definition.has_bodies) or not has_effects(op)):
            continue
        live.update(op.operands)
        kept.append(op)
    if len(kept) == len(fn.ops):
        return fn
    kept.reverse()
    return fn.replace(ops=kept)
