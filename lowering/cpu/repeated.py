"""Sums along axes on which the terms do not depend: one term times the number of terms.

    sum(broadcast(a, [4, 512, 2048]))        with a of [512, 1]: 4 * 2048 * sum(a)

Before jaxlib 0.11, XLA's library for reductions divides such sums between threads that add to the
same places without waiting for each other, so results differ from run to run. Where it is not known
along which axes terms are repeated, as behind concatenations, that library gets no reductions of
the program (`repeats_somewhere`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lowering.context import INLINED, body_of
from lowering.forms.conditions import of, over_axes, size
from lowering.forms.places import Outside, Place
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value, bodies_of, remembered
from xfront_ir.definition import OpDef
from xfront_ir.literal import literal
from xfront_ir.ops.formulas import Term, where
from xfront_ir.traits import ELEMENTWISE

_FLOATS = of(dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64)

Axes = frozenset[int]
Repeated = Mapping[Value, Axes]
"""The values of a Function that are the same along some axes, with these. `MIXED` is among them
where elements of such a value are repeated in ways that are not told by axes."""

NONE: Axes = frozenset()
MIXED = -1
_DEEPEST = 8
"""The most calls inside one another whose results are followed."""


def repeats_terms(place: Place, op: Op) -> tuple[int, ...] | None:
    """Broadcasts, and elementwise operations on them, repeat the terms along some of the axes."""
    x = op.operands[0]
    found = _at(place).get(x, NONE)
    return tuple([a for a in op.attrs["axes"] if a in found and x.type.shape[a] > 1]) or None


def _at(place: Place) -> Repeated:
    """The repeated values of a place."""
    given: dict[Value, Axes] = {}
    for p, source in place.given.items():
        if isinstance(source, Outside) and not source.literal_only:
            axes = _at(source.place).get(source.value, NONE)
            if axes:
                given[p] = axes
    return _repeated(place.function, given)


def _repeated(fn: Function, given: Repeated, depth: int = 0) -> Repeated:
    """The repeated values of a Function of which some parameters are `given`, `depth` calls inside
    another; nothing is known of the results of calls further inside."""
    return remembered(fn, ("repeated", depth, *given.items()), _found, fn, given, depth)


def _found(fn: Function, given: Repeated, depth: int) -> Repeated:
    found = dict(given)
    for op in fn.ops:
        definition = op.definition
        rule = _RULES.get(definition)
        if rule is not None:
            axes = rule(op, found)
        elif found and ELEMENTWISE in definition.traits:
            axes = _of_all(op, found)
        else:
            if found and definition in INLINED and depth < _DEEPEST:
                body = body_of(op)
                inside = _repeated(body, _given(body, op, found), depth + 1)
                found.update({v: inside[r] for v, r in zip(op.results, body.returns, strict=True)
                              if r in inside})
            continue
        if axes:
            found[op.results[0]] = axes
    return found


def _given(body: Function, op: Op, found: Repeated) -> Repeated:
    """The repeated values among the parameters of a body that is called with the op's operands."""
    return {p: found[v] for p, v in zip(body.params, op.operands, strict=True) if v in found}


def _every(op: Op) -> Axes:
    return frozenset(range(op.results[0].type.ndim))


def _of_all(op: Op, found: Repeated) -> Axes:
    """The axes along which all operands are the same, but for scalars."""
    axes: Axes | None = None
    mixed = False
    for x in op.operands:
        if x.type.ndim:
            mine = found.get(x)
            if mine is None:
                return NONE
            axes = mine if axes is None else axes & mine
            mixed = mixed or MIXED in mine
    return (axes or NONE) | {MIXED} if mixed else axes or NONE


def _of_first(op: Op, found: Repeated) -> Axes:
    return found.get(op.operands[0], NONE)


def _of_literal(op: Op, found: Repeated) -> Axes:
    return _every(op) if op.attrs["value"].array.size == 1 else NONE


def _of_iota(op: Op, found: Repeated) -> Axes:
    return _every(op) - {op.attrs["dimension"]}


def _of_broadcast(op: Op, found: Repeated) -> Axes:
    x = op.operands[0]
    same = found.get(x, NONE)
    own = {d for i, d in enumerate(op.attrs["dims"]) if x.type.shape[i] > 1 and i not in same}
    return (_every(op) - own) | (same & {MIXED})


def _of_transpose(op: Op, found: Repeated) -> Axes:
    same = found.get(op.operands[0], NONE)
    return frozenset(i for i, d in enumerate(op.attrs["permutation"]) if d in same) | (
        same & {MIXED})


def _of_reshape(op: Op, found: Repeated) -> Axes:
    x = op.operands[0]
    same = found.get(x)
    if same is None:
        return NONE
    axes, long = set(same & {MIXED}), [d for d in same if d >= 0 and x.type.shape[d] > 1]
    for old, new in _groups(x.type.shape, op.results[0].type.shape):
        if all(x.type.shape[i] == 1 or i in same for i in old):
            axes.update(new)
        elif any(i in long for i in old):
            axes.add(MIXED)
    return frozenset(axes)


def _of_pad(op: Op, found: Repeated) -> Axes:
    same = found.get(op.operands[0])
    if same is None:
        return NONE
    around = zip(op.attrs["low"], op.attrs["high"], op.attrs["interior"], strict=True)
    padded = {d for d, amounts in enumerate(around) if any(amounts)}
    return (same - padded) | {MIXED} if padded & same else same


def _of_concatenate(op: Op, found: Repeated) -> Axes:
    same = _of_all(op, found)
    d = op.attrs["dimension"]
    return (same - {d}) | {MIXED} if d in same else same


_RULES: dict[OpDef, Callable[[Op, Repeated], Axes]] = {
    literal: _of_literal, ops.iota: _of_iota, ops.broadcast_in_dim: _of_broadcast,
    ops.slice: _of_first, ops.dynamic_slice: _of_first, ops.reverse: _of_first,
    ops.transpose: _of_transpose, ops.reshape: _of_reshape, ops.pad: _of_pad,
    ops.concatenate: _of_concatenate}


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """The axes before and after a reshape, in the smallest groups that have the same elements."""
    if 0 in old:
        return []
    made: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right, size, wanted = [], [], 1, 1
        while not left and not right or size != wanted:
            if j == len(new) or (i < len(old) and size <= wanted):
                left.append(i)
                size, i = size * old[i], i + 1
            else:
                right.append(j)
                wanted, j = wanted * new[j], j + 1
        made.append((left, right))
    return made


def repeats_somewhere(fn: Function) -> bool:
    """Whether a program takes a sum of many repeated terms that is no sum along known axes.

    Nothing is known of what loops and branches are given: it is computed before.
    """
    left: list[tuple[Function, Repeated]] = [(fn, {})]
    seen: set[tuple[Any, ...]] = {(fn,)}
    while left:
        one, given = left.pop()
        found = _repeated(one, given)
        for op in one.ops:
            if op.definition in _SUMS and _takes(op, found):
                return True
            if op.definition.has_bodies:
                for body in bodies_of(op):
                    inside = _given(body, op, found) if op.definition in INLINED else {}
                    key = (body, *inside.items())
                    if key not in seen:
                        seen.add(key)
                        left.append((body, inside))
    return False


_SUMS = {ops.reduce_sum, ops.reduce, ops.dot_general, ops.reduce_window_sum}
_LEAST = 2 ** 12
"""XLA leaves sums of so many terms to its library."""


def _takes(op: Op, found: Repeated) -> bool:
    x = op.operands[0]
    same = found.get(x)
    if not same or not x.type.dtype.is_float or x.type.size < _LEAST:
        return False
    if op.definition is ops.dot_general:
        return op.operands[1] in found and _is_repeated(found, op.operands)
    if op.definition is ops.reduce_sum:
        return MIXED in same
    return _is_repeated(found, [x])


def _is_repeated(found: Repeated, values: Sequence[Value]) -> bool:
    """Whether one of the values is not the same number everywhere."""
    return any([MIXED in found[v] or len(found[v]) < v.type.ndim for v in values])


# Sums of repeated terms: before jaxlib 0.11, XLA's library adds them up in threads that do not wait
# for each other. Elsewhere this is less work. The library takes sums of 2**12 terms or more.
@form(ops.reduce_sum, when=_FLOATS & size(2 ** 12) & over_axes, known=repeats_terms, needed=True,
      row="kernels.reduction: sum of a broadcast")
def sum_of_repeated(b: Builder, op: Op, x: Value) -> Value:
    """The sum of the terms that differ, times how often each occurs."""
    repeated, axes, shape = op.attrs["known"], op.attrs["axes"], x.type.shape
    rank = range(len(shape))
    once = b.emit(ops.slice, x, starts=(0,) * len(rank), strides=(1,) * len(rank), limits=tuple(
        1 if d in repeated else n for d, n in enumerate(shape)))
    wide = dtypes.f32 if x.type.dtype.bits < 32 else x.type.dtype
    kept = [d for d in rank if d not in repeated]
    terms = Term(b, b.emit(ops.reshape, once, shape=tuple(shape[d] for d in kept))).to(wide)
    left = tuple(i for i, d in enumerate(kept) if d in axes)
    total = ops.reduce_sum(terms, axes=left) if left else terms
    total = total * math.prod(shape[d] for d in repeated)
    return where(total == 0, 0, total).to(x.type.dtype).value
