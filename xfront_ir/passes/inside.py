"""Applies a pass to a Function and to all bodies of ops in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ..core import Function, bodies_of
from ..regions import with_bodies

Pass = Callable[[Function], Function]


def everywhere(change: Pass, name: Hashable) -> Pass:
    """The pass that applies `change` to all bodies, innermost first, then to the Function.
    Pending bodies are carried out.

    Each Function is changed only once; `name` is the key of the result in its memo.
    """
    def apply(fn: Function) -> Function:
        found = fn.memo.get(name)
        if found is None:
            found = change(fn.with_ops([
                with_bodies(op, [*map(apply, bodies_of(op))]) if op.definition.has_bodies else op
                for op in fn.ops]))
            fn.memo[name] = True if found is fn else found      # a memo never holds its Function
            if found is not fn:
                found.memo.setdefault(name, True)               # passes are idempotent
        return fn if found is True else found

    return apply
