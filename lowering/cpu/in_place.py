"""Loops that write arrays in place: a turn reads all it needs before it writes.

    x = a[i]; y = b[j]                          x = a[i]; y = b[j]
    a = a.at[i].set(f(y))        becomes        x, y = optimization_barrier(x, y)
    b = b.at[j].set(g(x))                       a = a.at[i].set(f(y)); b = b.at[j].set(g(x))

Since jaxlib 0.11 XLA merges a slice into the ops that read it. By then the sliced array may have
been written, so the loop copies the whole array every turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lowering.forms.conditions import condition
from lowering.forms.registry import form
from xfront_ir import ops
from xfront_ir.analysis import has_effects
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value

_UPDATES = {ops.dynamic_update_slice: 1, ops.scatter: 2, ops.scatter_add: 2, ops.scatter_mul: 2,
            ops.scatter_min: 2, ops.scatter_max: 2}
"""The ops that update an array, with the position of the operand that is written."""

Carries = Sequence[tuple[Value, Value]]
"""The carries of a turn, as pairs of the value before and the value after."""

_READS = (ops.dynamic_slice, ops.gather, ops.slice)


@condition
def _reads_late(op: Op) -> bool:
    """Turns without effects read elements of arrays that they update; there are several updates, or
    the update does not depend on all elements read."""
    return reading_first(op) is not None


# Turns read elements of arrays that they also update. From jaxlib 0.12 on, XLA copies such an array
# in each turn if the update could come before a read.
@form(ops.scan, when=_reads_late, since=(0, 12),
      row="kernels.reduction: loop of two arrays that read each other")
def scan(b: Builder, op: Op, *operands: Value) -> tuple[Value, ...]:
    """The same loop, whose turns read before they write: no array is copied."""
    return b.emit(ops.scan, *operands, **{**op.attrs, "body": reading_first(op)})


# The same for loops without a known length.
@form(ops.while_, when=_reads_late, since=(0, 12),
      row="kernels.reduction: while loop of two arrays that read each other")
def while_(b: Builder, op: Op, *operands: Value) -> tuple[Value, ...]:
    """The same loop, whose turns read before they write: no array is copied."""
    return b.emit(ops.while_, *operands, **{**op.attrs, "body": reading_first(op)})


def reading_first(loop: Op) -> Function | None:
    """The body of a loop with a barrier between the reads of the carries that it updates and the
    updates; None where that would gain nothing."""
    regions = loop.definition.regions
    turn = next(one for one in regions.held(loop) if "carry" in one.body.gives)
    body = turn.function
    known = body.memo.get("reading_first")
    if known is None:
        carries = [*zip(regions.params(loop, turn)["carry"], regions.returns(loop, turn)["carry"],
                        strict=True)]
        known = body.memo["reading_first"] = (_reordered(body, carries),)
    return known[0]


def _reordered(body: Function, carries: Carries) -> Function | None:
    made_by = {v: op for op in body.ops for v in op.results}
    arrays, updates = _updated(carries, made_by)
    if not updates or has_effects(body):
        return None
    too_late = _depending(body, {v for op in updates for v in op.results})
    read = {op.results[0] for op in body.ops if op.definition in _READS
            and op.operands[0] in arrays and op.results[0] not in too_late}
    if not read:
        return None
    written = {op: op.operands[_UPDATES[op.definition]] for op in updates}
    if len(updates) == 1 and read <= {
            v for op in _needed(written.values(), made_by) for v in op.results}:
        return None
    waiting = _depending(body, read)
    free = [v for v in dict.fromkeys(written.values()) if v not in waiting and v not in too_late]
    early = _needed((*read, *free), made_by)
    return _with_barrier(body, early, waiting, free, written)


def _updated(carries: Carries, made_by: dict[Value, Op]) -> tuple[set[Value], list[Op]]:
    """The carries that a turn returns updated, and the ops that update them."""
    arrays, updates = set(), []
    for carry, value in carries:
        chain = []
        while value in made_by and made_by[value].definition in _UPDATES:
            chain.append(made_by[value])
            value = chain[-1].operands[0]
        if value is carry and chain:
            arrays.add(carry)
            updates += chain
    return arrays, list(dict.fromkeys(updates))


def _depending(body: Function, values: set[Value]) -> set[Value]:
    """The values, and all values that are computed from them."""
    found = set(values)
    for op in body.ops:
        if not found.isdisjoint(op.operands):
            found.update(op.results)
    return found


def _needed(values: Iterable[Value], made_by: dict[Value, Op]) -> set[Op]:
    """All ops that the values depend on."""
    found: set[Op] = set()
    stack = list(values)
    while stack:
        op = made_by.get(stack.pop())
        if op is not None and op not in found:
            found.add(op)
            stack += op.operands
    return found


def _with_barrier(body: Function, early: set[Op], waiting: set[Value], free: list[Value],
                  written: dict[Op, Value]) -> Function:
    """The body with the early ops first, then a barrier on the values that the other ops read from
    them, then the other ops."""
    late = [op for op in body.ops if op not in early]
    asked = {v for op in late for v in op.operands}.union(body.returns)
    before = {v: Value(v.type) for op in body.ops if op in early for v in op.results
              if v in asked and v in waiting}
    after = {v: Value(v.type) for v in free}
    ahead = [Op(op.definition, tuple([before.get(v, v) for v in op.operands]), op.attrs,
                tuple([before.get(v, v) for v in op.results]), op.loc)
             for op in body.ops if op in early]
    barrier = Op(ops.optimization_barrier, (*before.values(), *free), {},
                 (*before, *after.values()))
    rest = [_late(op, after) if op in written else op for op in late]
    return body.replace(ops=(*ahead, barrier, *rest))


def _late(op: Op, after: dict[Value, Value]) -> Op:
    at = _UPDATES[op.definition]
    operands = [after.get(v, v) if i == at else v for i, v in enumerate(op.operands)]
    return Op(op.definition, tuple(operands), op.attrs, op.results, op.loc)
