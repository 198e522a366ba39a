"""Helpers of several forms: parts of an array along one axis, signs, branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value
from xfront_ir.ops.formulas import Term
from xfront_ir.placed_builder import PlacedBuilder


def cut(b: Builder, x: Value, axis: int, start: int, size: int) -> Value:
    """The `size` elements of an axis from `start` on."""
    starts, limits = [0] * x.type.ndim, list(x.type.shape)
    starts[axis], limits[axis] = start, start + size
    return b.emit(ops.slice, x, starts=tuple(starts), limits=tuple(limits),
                  strides=(1,) * x.type.ndim)


def at(b: Builder, x: Value, axis: int, i: int) -> Value:
    """The part of an array at position `i` of an axis, without that axis."""
    shape = x.type.shape
    return b.emit(ops.reshape, cut(b, x, axis, i, 1), shape=(*shape[:axis], *shape[axis + 1:]))


def with_sign_of(x: Term, size: Term) -> Term:
    """`size`, an f32 that is not negative, with the sign of `x`, also where they are zero."""
    sign = ops.bitcast(x, dtype=dtypes.i32) & -2 ** 31
    return ops.bitcast(ops.bitcast(size, dtype=dtypes.i32) | sign, dtype=dtypes.f32)


def branch(op: Op, write: Callable[..., Value | Sequence[Value]]) -> Function:
    """A cond's branch on the operands of an op; `write(builder, *operands)` gives its results."""
    b = PlacedBuilder(op.definition.name)
    made = write(b, *[b.param(v.type) for v in op.operands])
    return b.close([made] if isinstance(made, Value) else list(made))
