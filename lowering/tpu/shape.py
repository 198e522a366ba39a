"""Reshapes on TPU: the one that interleaves the halves of an associative scan."""

from __future__ import annotations

import math

from lowering.forms.conditions import condition
from lowering.forms.places import Place
from lowering.tpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.dtypes import least
from xfront_ir.ops.indexing import concatenate, slice


def _axis_of_pairs(op: Op) -> int | None:
    """The axis of two elements that a reshape joins with the one before it."""
    given, made = op.operands[0].type.shape, op.attrs["shape"]
    for d in range(1, len(given)):
        if given[d] == 2 and made == (*given[:d - 1], 2 * given[d - 1], *given[d + 1:]):
            return d
    return None


@condition
def _joins_pairs(op: Op) -> bool:
    """f32 or i32; an axis of more than one element and one of two become one, behind two to seven
    elements and before 256 or more."""
    x, at = op.operands[0].type, _axis_of_pairs(op)
    return (x.dtype in (dtypes.f32, dtypes.i32) and at is not None and x.shape[at - 1] > 1
            and 2 <= math.prod(x.shape[:at - 1]) <= 7 and math.prod(x.shape[at + 1:]) >= 256)


def halves_of_scan(place: Place, op: Op) -> list[Value] | None:
    """The elements are the only result, of an associative scan of one array: those at even and at
    odd places."""
    made = place.operation(op.operands[0], concatenate)
    if made is None or place.function.returns != op.results or len(made.operands) != 2:
        return None
    even, odd = made.operands
    plain = place.operation(even, ops.reshape)
    first_and_rest = plain and place.operation(plain.operands[0], concatenate)
    if not first_and_rest or made.attrs["dimension"] != _axis_of_pairs(op):
        return None
    _, *rest = first_and_rest.operands
    return [even, odd] if len(rest) == 1 and _cut_from(place, rest[0]) == 2 else None


def _cut_from(place: Place, value: Value) -> int:
    """From how many arrays the slices are that a value is computed from."""
    todo, met, arrays = [(place, value)], set[Value](), set[Value]()
    while todo:
        place, value = todo.pop()
        if value in met:
            continue
        met.add(value)
        found = place.made_by(value)
        if isinstance(found, int):
            arrays.add(value)
            continue
        place, op = found
        if op.definition is slice:
            arrays.add(op.operands[0])
        else:
            todo += [(place, v) for v in op.operands]
    return len(arrays)


# A result has another layout than the pairs, which are copied; from eight elements on before the
# axis, or fewer behind it, or where more arrays are scanned together, the copy takes less time.
@form(ops.reshape, when=_joins_pairs, reads=halves_of_scan)
def interleave(b: Builder, op: Op, pairs: Value, even: Value, odd: Value) -> Value:
    """The greater of two arrays, each with the least number between its elements."""
    shape, at = op.attrs["shape"], _axis_of_pairs(op)
    assert at is not None
    nothing = b.literal(least(even.type.dtype), even.type.dtype)

    def spread(v: Value, before: int) -> Value:
        def along(size: int) -> tuple[int, ...]:
            return tuple([size if d == at - 1 else 0 for d in range(len(shape))])

        flat = b.emit(ops.reshape, v, shape=(*shape[:at - 1], shape[at - 1] // 2, *shape[at:]))
        return b.emit(ops.pad, flat, nothing, low=along(before), high=along(1 - before),
                      interior=along(1))

    return b.emit(ops.max, spread(even, 0), spread(odd, 1))
