"""Finds random keys that are consumed twice, in a program before it runs and between programs.

Operations that draw from a key, split it, or make other keys of it (a stack, a choice) consume it.
Folding in, reading the words, comparing, reshaping and cloning do not; a slice consumes its part.
Within a Function the ops show what is consumed; between programs each `KeyArray` records which of
its keys are consumed. Raw keys are plain integers, and nothing follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.core import Function, Op, Value, bodies_of, forced, remembered

from ..base.config import debug_key_reuse
from ..base.errors import KeyReuseError
from ..values.keys import KeyArray

_READS = frozenset((ops.random_fold_in, ops.random_unwrap, ops.eq, ops.ne, ops.copy, ops.gather,
                    ops.dynamic_slice))
_RESHAPES = frozenset((ops.reshape, ops.broadcast_in_dim, ops.transpose))


class Uses:
    """How a Function uses the keys among its parameters.

    `consumed[i]` is the mask of keys of parameter i that it consumes, or None; `origins[j]` is the
    number of the parameter that result j equals, or None; `spent[j]` is the mask of result j's keys
    that are consumed already.
    """

    __slots__ = ("consumed", "origins", "spent")

    def __init__(self, consumed: list[Any], origins: list[int | None], spent: list[Any]) -> None:
        self.consumed, self.origins, self.spent = consumed, origins, spent


def uses_of(function: Function) -> Uses:
    """How a Function uses its keys. Raises: KeyReuseError where it consumes one twice."""
    return remembered(function, "key_uses", _analysed, function)


def _analysed(function: Function) -> Uses:
    roots: dict[Value, Value] = {}                 # a reshaped key is the key
    masks: dict[Value, np.ndarray] = {}

    def consume(v: Value, op: Op, part: Any = ...) -> None:
        root = roots.get(v, v)
        mask = masks.setdefault(root, np.zeros(root.type.shape, bool))
        wanted = np.zeros(root.type.shape, bool)
        wanted[part if root is v else ...] = True
        if (mask & wanted).any():
            raise KeyReuseError(f"a key of type {v.type} is consumed by {op.definition.name} at "
                                f"{op.loc}, but it was already consumed in @{function.name}; split "
                                "it with random.split, or copy it with random.clone")
        mask |= wanted

    for op in function.ops:
        keys = [v for v in op.operands if v.type.dtype.is_key]
        if not keys or op.definition in _READS or (op.loc and "transpose" in op.loc.scope):
            continue                               # reverse mode may draw the same again
        if op.definition in _RESHAPES:
            roots[op.results[0]] = roots.get(keys[0], keys[0])
        elif op.definition is ops.slice:
            a = op.attrs
            part = tuple(map(slice, a["starts"], a["limits"], a["strides"]))
            consume(keys[0], op, part)
        elif op.definition.has_bodies:
            for v, part, origin in _by_bodies(op):
                if part is not None:
                    consume(v, op, part)
                if origin is not None:
                    roots[op.results[origin]] = roots.get(v, v)
        else:
            for v in keys:
                consume(v, op)
    places = {v: i for i, v in enumerate(function.params)}
    returned = [roots.get(v, v) for v in function.returns]
    return Uses([masks.get(v) for v in function.params],
                [places.get(v) if v.type == w.type else None
                 for v, w in zip(returned, function.returns, strict=True)],
                [masks.get(v) if v.type == w.type else None
                 for v, w in zip(returned, function.returns, strict=True)])


def _by_bodies(op: Op) -> list[tuple[Value, Any, int | None]]:
    """(operand, mask of its consumed keys, number of the result that equals it or None)."""
    regions = op.definition.regions
    if regions is not None and regions.is_choice:
        return _by_cond(op)
    if regions is not None and regions.is_loop and regions.free:
        return _by_loop(op)
    body = op.attrs.get("body") and forced(op.attrs["body"])
    if body is None or len(body.params) != len(op.operands):
        return [(v, np.ones(v.type.shape, bool), None) for v in op.operands if v.type.dtype.is_key]
    uses = uses_of(body)
    origins = {i: j for j, i in enumerate(uses.origins)
               if i is not None and j < len(op.results) and body.params[i].type.dtype.is_key}
    return [(v, part, origins.get(i))
            for i, (v, part) in enumerate(zip(op.operands, uses.consumed, strict=True))
            if part is not None or i in origins]


def _by_cond(op: Op) -> list[tuple[Value, Any, int | None]]:
    many = [uses_of(branch) for branch in bodies_of(op)]
    found: list[tuple[Value, Any, int | None]] = []
    for i, v in enumerate(op.definition.regions.groups(op)["operands"]):
        parts = [u.consumed[i] for u in many if u.consumed[i] is not None]
        if parts:
            found.append((v, np.logical_or.reduce(parts), None))
    return found


def _by_loop(op: Op) -> list[tuple[Value, Any, int | None]]:
    regions = op.definition.regions
    turns, operands = regions.turns(op.attrs), regions.groups(op)
    found: list[tuple[Value, Any, int | None]] = []
    for one in regions.held(op) if turns != 0 else ():
        uses, params = uses_of(one.function), regions.params(op, one)
        given = [(name, v) for name in params for v in operands[name]]
        same = {param for param, result in regions.handed(op, one)
                if uses.origins[result] == param}
        for i, ((name, v), part) in enumerate(zip(given, uses.consumed, strict=True)):
            if part is None or (name == "carry" and not one.body.gives):
                continue
            if turns != 1 and (i in same or name not in ("carry", "xs")):
                _refuse_repeated(op, v)
            found.append((v, np.broadcast_to(part, v.type.shape) if name == "xs" else part, None))
    return found


def _refuse_repeated(op: Op, v: Value) -> None:
    raise KeyReuseError(f"the body of {op.definition.name} at {op.loc} consumes a key of type "
                        f"{v.type} that is the same in every iteration; carry the key and split it "
                        "in the body")


# --- between programs -----------------------------------------------------------------------

def before(name: str, function: Function, operands: Sequence[Any]) -> Uses:
    """Consume the keys among a program's operands. Raises: KeyReuseError where one is consumed."""
    uses = uses_of(function)
    taken = [(i, x, part) for i, (x, part) in enumerate(zip(operands, uses.consumed, strict=False))
             if part is not None and type(x) is KeyArray]
    for i, x, part in taken:
        refuse_used(x, part, f"{name} at index {i}")
    for _, x, part in taken:
        x.use(part)
    return uses


def after(uses: Uses, operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Record which keys among a program's results are consumed already."""
    for x, origin, part in zip(results, uses.origins, uses.spent, strict=False):
        if type(x) is KeyArray:
            given = operands[origin] if origin is not None else None
            if type(given) is KeyArray and given.used is not None:
                x.use(given.used)
            elif part is not None:
                x.use(part)


def refuse_used(x: KeyArray, part: Any, where: str) -> None:
    """Refuse to consume keys that are consumed already. Raises: KeyReuseError."""
    if x.used is not None and (x.used & part).any():
        raise KeyReuseError(f"Previously-consumed key passed to {where}; split it with "
                            "random.split, or copy it with random.clone")


def taken(getitem: Callable[[Any, Any], Any], keys: KeyArray, index: Any) -> Any:
    """`keys[index]`; it consumes the keys that are taken out."""
    part = np.zeros(keys.shape, bool)
    try:
        part[index] = True
    except (TypeError, IndexError, ValueError):
        return getitem(keys, index)                # the index is traced, or getitem refuses it
    if not part.all() or part.ndim == 1:           # keys[None] and keys[...] only reshape an array
        refuse_used(keys, part, "getitem at index 0")
        keys.use(part)
    with debug_key_reuse(False):
        return getitem(keys, index)


__all__ = ["after", "before", "taken", "uses_of"]
