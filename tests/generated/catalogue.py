"""Everything that a program may write, with how often it does."""

from __future__ import annotations

from . import moving, nested, straight
from .writer import MAX_DEPTH, Scope

STRAIGHT = (
    *[straight.unary] * 6, *[straight.binary] * 6, *[straight.choose] * 2, straight.compare,
    straight.logic, straight.counting, straight.convert, *[straight.reduce] * 2,
    straight.reduce_logic, straight.running, straight.ordered, *[straight.complex_] * 2,
    *[moving.reshape] * 2, *[moving.index] * 2, *[moving.update] * 2, *[moving.product] * 2,
    moving.matrix, moving.window, nested.collective,
)
CONTROL = (nested.cond, nested.switch, nested.scan, nested.scan_of_tree, nested.while_loop,
           nested.fori_loop, nested.lax_map, nested.associative_scan)
WRAPPED = (nested.jit, nested.vmap, nested.named_axis, nested.custom_rule, nested.known_rule)
DERIVATIVES = (nested.grad, nested.grad_with_aux, nested.hessian, nested.jvp, nested.vjp,
               nested.jacobian)


def write_one(s: Scope) -> None:
    """Write one statement, with a body where this one is not too deep."""
    kind = s.writer.number(0, 9)
    if kind < 7 or s.depth >= MAX_DEPTH:
        rows = STRAIGHT
    elif kind < 9:
        rows = CONTROL + WRAPPED
    else:
        rows = DERIVATIVES if s.order == 0 else CONTROL
    s.writer.choice(rows)(s)
