"""Applying a pass to the bodies of ops: recursion over bodies, never over ops."""

from __future__ import annotations

from collections.abc import Callable

from ..core import Function, bodies_of, remembered, stays
from ..regions import with_bodies

Pass = Callable[[Function], Function]


def everywhere(change: Pass, name: str) -> Pass:
    """The pass that applies `change` to all bodies, innermost first, then to the Function.
    Pending bodies are carried out.

    Each Function is changed only once; `name` is the key of the result in its memo.
    """
    def changed(fn: Function) -> Function:
        return stays(change(fn.with_ops([        # passes are idempotent
            with_bodies(op, [*map(apply, bodies_of(op))]) if op.definition.has_bodies else op
            for op in fn.ops])), name)

    def apply(fn: Function) -> Function:
        return remembered(fn, name, changed, fn)

    return apply
