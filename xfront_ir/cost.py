"""Estimates of a program's cost, without a compiler: operations, memory traffic, memory in use.

The estimates follow from sizes: nothing is fused, each op reads its operands and writes its
results. A loop's body counts once per trip where the op says how many trips there are (`length`);
otherwise it counts once, and the result says so. Of several branches the most expensive counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .analysis import functions, last_uses
from .core import Function, Op, Value, bodies_of
from .traits import MOVES
from .types import TensorType


class Cost(NamedTuple):
    """Scalar operations, bytes read and written, and bytes alive at the worst moment.

    `peak` counts parameters as alive from beginning to end. `exact_trips` is False where a loop
    was counted once because its trips depend on values.
    """

    flops: int = 0
    bytes: int = 0
    peak: int = 0
    exact_trips: bool = True


def size_in_bytes(type: TensorType) -> int:
    """Bytes of an array of `type`; elements narrower than a byte are packed, keys are words."""
    dtype = type.dtype
    return (type.size * math.prod(dtype.physical) * dtype.bits + 7) // 8


def cost(fn: Function) -> Cost:
    """The cost of one call of `fn`; derived once for each Function in it."""
    if "cost" not in fn.memo:
        for f in functions(fn):
            if "cost" not in f.memo:
                f.memo["cost"] = _cost(f)
    return fn.memo["cost"]


def op_cost(op: Op) -> Cost:
    """The cost of one op with its bodies; `peak` is what it needs beside operands and results."""
    if not op.definition.has_bodies or op.definition.cost is not None:
        return Cost(*_own(op))
    bodies = tuple(bodies_of(op))
    found, regions = [cost(body) for body in bodies], op.definition.regions
    if not regions.takes_from_outside:                       # a body that combines two elements
        size = max([v.type.size for v in op.operands])
        return Cost(size * max([c.flops for c in found]), _bytes(op.operands) + _bytes(op.results))
    turns = regions.turns(op.attrs)
    trips, unknown = (1, True) if turns is None else (turns, False)
    total = max if regions.is_choice else sum
    own = [max(0, c.peak - _bytes(body.params) - _bytes(body.returns))
           for c, body in zip(found, bodies, strict=True)]
    return Cost(trips * total([c.flops for c in found] or [0]),
                trips * total([c.bytes for c in found] or [0]), max(own, default=0),
                not unknown and all(c.exact_trips for c in found))


def cost_by_location(fn: Function) -> list[tuple[str, Cost]]:
    """Flops and bytes of the ops of `fn` by where they come from, the most expensive first.

    An op with bodies counts whole at its own place; `peak` is zero here.
    """
    table: dict[str, Cost] = {}
    for op in fn.ops:
        where = str(op.loc) if op.loc is not None else "?"
        a, c = table.get(where, Cost()), op_cost(op)
        table[where] = Cost(a.flops + c.flops, a.bytes + c.bytes, 0,
                            a.exact_trips and c.exact_trips)
    return sorted(table.items(), key=lambda item: (-item[1].flops, -item[1].bytes, item[0]))


def _cost(fn: Function) -> Cost:
    flops = moved = 0
    exact = True
    params = set(fn.params)
    last = last_uses(fn)
    alive = peak = _bytes(fn.params)
    for i, op in enumerate(fn.ops):
        own = op_cost(op)
        flops, moved, exact = flops + own.flops, moved + own.bytes, exact and own.exact_trips
        alive += _bytes(op.results)
        peak = max(peak, alive + own.peak)
        for v in {*op.operands, *op.results}:
            if last[v] == i and v not in params:
                alive -= size_in_bytes(v.type)
    return Cost(flops, moved, peak, exact)


def _own(op: Op) -> tuple[int, int]:
    definition = op.definition
    if definition.cost is not None:
        flops, moved = definition.cost(op)
        return int(flops), int(moved)
    sizes = [v.type.size for v in (*op.operands, *op.results)]
    flops = 0 if MOVES in definition.traits else max(sizes, default=0)
    return flops, _bytes(op.operands) + _bytes(op.results)


def _bytes(values: Sequence[Value]) -> int:
    return sum([size_in_bytes(v.type) for v in values])
