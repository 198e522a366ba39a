"""Reshapes on TPU: those that interleave two arrays."""

from __future__ import annotations

import math

from lowering.forms.conditions import condition
from lowering.forms.places import Place
from lowering.tpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.indexing import concatenate
from xfront_ir.traits import ELEMENTWISE
from xfront_ir.types import I32


def _axis_of_pairs(op: Op) -> int | None:
    """The axis of two elements that a reshape joins with the one before it."""
    given, made = op.operands[0].type.shape, op.attrs["shape"]
    for d in range(1, len(given)):
        if given[d] == 2 and made == (*given[:d - 1], 2 * given[d - 1], *given[d + 1:]):
            return d
    return None


@condition
def _joins_pairs(op: Op) -> bool:
    """`[..., n, 2, ...]` becomes `[..., 2 n, ...]`, with n > 1 and at most 64 elements behind."""
    x, at = op.operands[0].type, _axis_of_pairs(op)
    return at is not None and x.shape[at - 1] > 1 and math.prod(x.shape[at + 1:]) <= 64


def joined_halves(place: Place, op: Op) -> list[Value] | None:
    """Two arrays were joined along the axis of two elements: the arrays."""
    made = place.operation(op.operands[0], concatenate)
    if made is None or len(made.operands) != 2 or made.attrs["dimension"] != _axis_of_pairs(op):
        return None
    return list(made.operands)


def stays_joined(place: Place, op: Op) -> bool:
    """Elementwise operations do not lead to a reshape that takes the pairs apart again, as in the
    gradient of the reshape: XLA would compute them on pairs, and neither reshape moves anything."""
    joined = {op.results[0]}
    for later in place.function.ops:
        if joined.isdisjoint(later.operands):
            continue
        if (later.definition is ops.reshape
                and later.attrs["shape"] == op.operands[0].type.shape):
            return False
        if ELEMENTWISE in later.definition.traits:
            joined.update(later.results)
    return True


# Memory is laid out in tiles of 128 elements of the last axis. The axis of two elements, or a short
# axis behind it, fills few of these.
@form(ops.reshape, when=_joins_pairs, only=stays_joined, reads=joined_halves)
def interleave(b: Builder, op: Op, pairs: Value, even: Value, odd: Value) -> Value:
    """A select between two arrays: one has its elements at even places, the other at odd ones."""
    shape, at = op.attrs["shape"], _axis_of_pairs(op)
    assert at is not None
    joined = at - 1
    nothing = b.zeros(even.type.with_shape(()))

    def with_gaps(v: Value, before: int) -> Value:
        def along(size: int) -> tuple[int, ...]:
            return tuple([size if d == joined else 0 for d in range(len(shape))])

        flat = b.emit(ops.reshape, v, shape=(*shape[:joined], shape[joined] // 2, *shape[at:]))
        return b.emit(ops.pad, flat, nothing, low=along(before), high=along(1 - before),
                      interior=along(1))

    places = Term(b, b.emit(ops.iota, dtype=I32.dtype, shape=shape, dimension=joined))
    return where((places & 1) == 0, Term(b, with_gaps(even, 0)), Term(b, with_gaps(odd, 1))).value
