"""Applying a pass to the bodies of ops: recursion over bodies, never over ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import Function, Op
from ..opdef import Pending

Pass = Callable[[Function], Function]


def with_bodies(op: Op, change: Pass) -> Op:
    """The op with `change` applied to each body; the same object where none changes.

    A pending body is carried out first.
    """
    changed: dict[str, Any] = {}
    for name in op.definition.body_attrs:
        held: Function | Pending | tuple[Function, ...] | None = op.attrs[name]
        if held is None:
            continue
        if isinstance(held, tuple):
            made: Any = tuple([change(body) for body in held])
            same = all([a is c for a, c in zip(held, made, strict=True)])
        else:
            made = change(held.force() if isinstance(held, Pending) else held)
            same = made is held
        if not same:
            changed[name] = made
    if not changed:
        return op
    return Op(op.definition, op.operands, {**op.attrs, **changed}, op.results, op.loc)


def everywhere(change: Pass, name: str) -> Pass:
    """The pass that applies `change` to all bodies, innermost first, then to the Function.

    Each Function is changed only once; `name` is the key of the result in its memo.
    """
    def apply(fn: Function) -> Function:
        found = fn.memo.get(name)
        if found is None:
            inner = fn
            if any([op.definition.has_bodies for op in fn.ops]):
                ops = [with_bodies(op, apply) if op.definition.has_bodies else op for op in fn.ops]
                same = all([a is c for a, c in zip(ops, fn.ops, strict=True)])
                inner = fn if same else fn.replace(ops=ops)
            found = change(inner)
            fn.memo[name] = found if found is not fn else True
            if found is not fn:
                found.memo.setdefault(name, True)     # passes are idempotent
        return fn if found is True else found

    return apply
