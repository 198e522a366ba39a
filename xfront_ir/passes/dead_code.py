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

from ..analysis import op_has_effects
from ..core import Function, Op


def dead_code(fn: Function) -> Function:
    """The Function without the ops that no return and no effect depends on."""
    return _without(fn, True)


def unread_code(fn: Function) -> Function:
    """`dead_code` before a user has seen the Function: ops of users' primitives stay."""
    return _without(fn, False)


def _without(fn: Function, users: bool) -> Function:
    """The Function without ops that nothing needs; `users`: those of users' primitives included."""
    live = set(fn.returns)
    kept: list[Op] = []
    unread = live.isdisjoint
    for op in reversed(fn.ops):
        definition = op.definition
        if unread(op.results) and (users or definition.written is None) and (
                definition.effects is None and not definition.has_bodies or not op_has_effects(op)):
            continue
        live.update(op.operands)
        kept.append(op)
    if len(kept) == len(fn.ops):
        return fn
    kept.reverse()
    return fn.replace(ops=kept)
