"""Common subexpressions: the same op of the same operands is computed once.

    %0: f32[3] = sin(%x)                       %0: f32[3] = sin(%x)
    %1: f32[3] = sin(%x)                       %1: f32[3] = mul(%0, %0)
    %2: f32[3] = mul(%0, %1)                   return %1
    return %2

All ops with effects are kept. Bodies are compared by identity.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from ..analysis import op_has_effects
from ..core import Function, Op, Value, renamed


def common_subexpressions(fn: Function) -> Function:
    """The Function with each op that repeats an earlier one left out."""
    seen: dict[Any, tuple[Value, ...]] = {}
    env: dict[Value, Value] = {}
    kept: list[Op] = []
    unchanged, first, keep = env.keys().isdisjoint, seen.setdefault, kept.append
    for op in fn.ops:
        if not unchanged(op.operands):
            op = renamed(op, env)
        definition, operands, attrs = op.definition, op.operands, op.attrs
        if (definition.effects is not None or definition.has_bodies) and op_has_effects(op):
            keep(op)
            continue
        if not attrs:
            key: tuple[Any, ...] = (definition, operands)
        elif definition.has_floats:
            key = (definition, operands, _key(definition.attrs, attrs))
        else:
            key = (definition, operands, *map(attrs.get, definition.attrs))
        results = op.results
        found = first(key, results)
        if found is results or results and found[0].type is not results[0].type:
            keep(op)                             # the same value, divided in another way
        else:
            env.update(zip(results, found, strict=True))
    if not env:
        return fn
    return fn.replace(ops=kept, returns=[env.get(v, v) for v in fn.returns])


def _key(schema: Iterable[str], attrs: dict[str, Any]) -> tuple[Any, ...]:
    """Attributes in the order of the schema, floats by their bits."""
    return tuple([struct.pack("d", v) if type(v) is float else v
                  for v in map(attrs.get, schema)])
