"""Fold constants: compute ops whose operands are known, and drop ops that change nothing.

    %0: f32[3] = literal 2.0                   %0: f32[3] = mul(%x, %x)
    %1: f32[3] = literal 0.5                   return %0
    %2: f32[3] = mul(%0, %1)
    %3: f32[3] = mul(%x, %2)
    %4: f32[3] = mul(%3, %x)
    return %4

The pass folds only where IEEE arithmetic fixes every bit: exactly rounded ops on literals, and
identities that hold for infinities, NaN and both zeros (x * 1, x - 0, but not x * 0, x + 0). Ops
that matter to derivatives alone (`stop_gradient`, `idle`) become their operand: no derivatives are
taken any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Function, Op, Value, renamed
from ..definition import OpDef
from ..literal import Literal, literal
from ..ops.control import call
from ..ops.convert import convert, idle, stop_gradient
from ..ops.elementwise import add, div, mul, neg, select, sub
from ..ops.shape import broadcast_in_dim, reshape, transpose
from ..reference import row_of
from ..traits import EXACT, EXACT_COMPLEX, REARRANGES
from ..types import scalar


def fold_constants(fn: Function) -> Function:
    """The Function with ops of literals computed and identities left out."""
    known: dict[Value, Op] = {}                  # literals, and ops that identities look at
    env: dict[Value, Value] = {}
    ops: list[Op] = []
    changed = False
    append, unknown, unchanged = ops.append, known.keys().isdisjoint, env.keys().isdisjoint
    for op in fn.ops:
        if not unchanged(op.operands):
            op = renamed(op, env)
        definition, operands = op.definition, op.operands
        if definition is literal:
            known[op.results[0]] = op
            append(op)
            continue
        rule = _IDENTITIES.get(definition)
        if rule is not None and not (definition in _OF_KNOWN and unknown(operands)):
            same = rule(op, operands, known)
            if same is not None:
                env[op.results[0]] = same
                changed = True
                continue
        if operands and operands[0] in known and not definition.traits.isdisjoint(_FOLDED):
            made = _folded(op, known)
            if made is not None:
                known[made.results[0]] = made
                append(made)
                changed = True
                continue
        if definition in _LOOKED_AT:
            known[op.results[0]] = op
        elif definition.regions is not None and definition.regions.is_choice:
            (index,), given = definition.regions.split(op.attrs, operands)
            chosen = _uniform(known, index)
            if chosen is not None:
                branches = definition.regions.held(op)
                body = branches[min(max(int(chosen), 0), len(branches) - 1)].function
                op = Op(call, tuple(given), {"body": body, "name": body.name},
                        op.results, op.loc)
                changed = True
        append(op)
    if not changed:
        return fn
    return fn.replace(ops=ops, returns=[env.get(v, v) for v in fn.returns])


def _uniform(known: dict[Value, Op], v: Value) -> Any:
    """The element of a literal whose elements are all the same, else None."""
    op = known.get(v)
    if op is None or op.definition is not literal:
        return None
    array = op.attrs["value"].array
    return array[()] if array.ndim == 0 else None


def _folded(op: Op, known: dict[Value, Op]) -> Op | None:
    """The literal that equals the result of an op whose operands are literals, each with all its
    elements equal; None if the op is not folded."""
    elements: list[np.ndarray[Any, Any]] = []
    for v in op.operands:
        found = _uniform(known, v)
        if found is None:
            return None
        elements.append(np.asarray(found))
    result = op.results[0]
    definition = op.definition
    if REARRANGES in definition.traits:
        made = elements[0]
    else:
        type = scalar(result.type.dtype)
        if EXACT_COMPLEX not in definition.traits and any(x.dtype.kind == "c" for x in elements):
            return None
        if definition is div and not type.is_inexact and not elements[1]:
            return None                          # the device decides what 1 // 0 is
        if definition is convert and not type.is_inexact and op.operands[0].type.is_inexact:
            return None                          # out of range: likewise
        with np.errstate(all="ignore"):
            made = np.asarray(row_of(definition.name)(op.attrs, (type,), *elements))
            if made.dtype != type.dtype.numpy:
                made = made.astype(type.dtype.numpy)
            if definition is convert and type.dtype.bits < 32 and (
                    made.astype(elements[0].dtype) != elements[0]):
                return None                      # NumPy rounds twice on the way to narrow floats
    return Op(literal, (), {"value": Literal(made), "shape": result.type.shape}, op.results, op.loc)


# --- identities: the value that equals the result, or None ------------------------------------

Rule = Callable[[Op, tuple[Value, ...], dict[Value, Op]], Value | None]


def _is(known: dict[Value, Op], v: Value, wanted: float, *, negative: bool = False) -> bool:
    found = _uniform(known, v)
    return found is not None and bool(found == wanted) and (
        not v.type.is_inexact or bool(np.signbit(found)) == negative)


def _neutral(op: Op, operands: tuple[Value, ...], known: dict[Value, Op]) -> Value | None:
    """The operand beside one that is neutral."""
    x, y = operands
    if x.type.dtype.is_complex:                  # (inf + 0i) * 1 is not itself
        return None
    number, on_both_sides = _NEUTRAL[op.definition]
    negative = op.definition is add and x.type.is_inexact      # 0.0 + -0.0 is not -0.0
    if _is(known, y, number, negative=negative):
        return x
    return y if on_both_sides and _is(known, x, number, negative=negative) else None


def _neg(op: Op, operands: tuple[Value, ...], known: dict[Value, Op]) -> Value | None:
    inner = known.get(operands[0])
    return inner.operands[0] if inner is not None and inner.definition is op.definition else None


def _same_type(op: Op, operands: tuple[Value, ...], known: dict[Value, Op]) -> Value | None:
    (x,) = operands
    if x.type.plain is not op.results[0].type.plain:
        return None
    dims = op.attrs.get("dims")
    return x if dims is None or dims == tuple(range(x.type.ndim)) else None


def _transpose(op: Op, operands: tuple[Value, ...], known: dict[Value, Op]) -> Value | None:
    permutation, type = op.attrs["permutation"], operands[0].type
    if type is op.results[0].type:
        moved = [d for d in permutation if type.shape[d] != 1]     # axes of size 1 have no order
        if moved == sorted(moved):
            return operands[0]
    inner = known.get(operands[0])
    if inner is None or inner.definition is not op.definition:
        return None
    first = inner.attrs["permutation"]
    undone = all(first[p] == d for d, p in enumerate(permutation))
    return inner.operands[0] if undone else None


def _select(op: Op, operands: tuple[Value, ...], known: dict[Value, Op]) -> Value | None:
    which, yes, no = operands
    if yes is no:
        return yes
    chosen = _uniform(known, which)
    return None if chosen is None else yes if chosen else no


def _operand(op: Op, operands: tuple[Value, ...], known: dict[Value, Op]) -> Value:
    return operands[0]


_NEUTRAL = {mul: (1, True), div: (1, False), add: (0, True), sub: (0, False)}
"""The neutral number of an op, and whether it is neutral on both sides. For floats, add has -0.0.
"""

_IDENTITIES: dict[OpDef, Rule] = {
    **dict.fromkeys(_NEUTRAL, _neutral), neg: _neg, transpose: _transpose, select: _select,
    stop_gradient: _operand, idle: _operand,
    **{definition: _same_type for definition in (broadcast_in_dim, reshape, convert)}}
_OF_KNOWN = frozenset((*_NEUTRAL, neg))
"""Ops whose identities need one operand to be known."""
_LOOKED_AT = frozenset((neg, transpose))
_FOLDED = frozenset((EXACT, REARRANGES))
