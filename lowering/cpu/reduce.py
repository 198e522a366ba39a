"""Positions of extrema, any and all, and short sums, by what XLA computes with vectors."""

from __future__ import annotations

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.convert import convert

from . import running  # noqa: F401  (forms of the same family)
from .registry import form
from .sort import float_order


def _is_long(op: Op) -> bool:
    x = op.operands[0].type
    return not x.dtype.is_complex and x.shape[op.attrs["axis"]] >= 32


# Axes of 32 or more: the plain rule reduces pairs, one element at a time on one core.
@form(ops.argmax, when=_is_long)
def argmax(b: Builder, op: Op, x: Value) -> Value:
    """The least position of the elements that equal the greatest."""
    keys = float_order(b, x) if x.type.dtype.is_float else x
    return _first(b, op, keys, b.emit(ops.reduce_max, keys, axes=(op.attrs["axis"],)))


@form(ops.argmin, when=_is_long)
def argmin(b: Builder, op: Op, x: Value) -> Value:
    """The same for the least; that of floats is the greatest of their negatives, as NaN wins."""
    if x.type.dtype.is_float:
        return argmax(b, op, b.emit(ops.neg, x))
    return _first(b, op, x, b.emit(ops.reduce_min, x, axes=(op.attrs["axis"],)))


def _first(b: Builder, op: Op, keys: Value, extremum: Value) -> Value:
    """Floats come as integers: XLA's reductions of long axes lose NaNs."""
    axis, place = op.attrs["axis"], keys.type.with_dtype(op.attrs["index_dtype"])
    dims = tuple(d for d in range(keys.type.ndim) if d != axis)
    whole = b.emit(ops.broadcast_in_dim, extremum, shape=keys.type.shape, dims=dims)
    at = b.emit(ops.iota, dtype=place.dtype, shape=place.shape, dimension=axis)
    last = b.full(place, keys.type.shape[axis] - 1)
    found = b.emit(ops.select, b.emit(ops.eq, keys, whole), at, last)
    return b.emit(ops.reduce_min, found, axes=(axis,))


def _is_large_bool(op: Op) -> bool:
    x = op.operands[0].type
    return x.dtype is dtypes.bool_ and x.size >= 2 ** 17 and bool(op.attrs["axes"])


# Bools of 2**17 elements or more: XLA reduces bytes with vectors, single bits one by one.
@form(ops.reduce_or, when=_is_large_bool)
def reduce_or(b: Builder, op: Op, x: Value) -> Value:
    """The greatest of 0 and 1."""
    made = b.emit(ops.reduce_max, b.emit(convert, x, dtype=dtypes.u8), axes=op.attrs["axes"])
    return b.emit(convert, made, dtype=dtypes.bool_)


@form(ops.reduce_and, when=_is_large_bool)
def reduce_and(b: Builder, op: Op, x: Value) -> Value:
    """Not any that is not."""
    return b.emit(ops.not_, reduce_or(b, op, b.emit(ops.not_, x)))


def _is_short_sum(op: Op) -> bool:
    x, axes = op.operands[0].type, op.attrs["axes"]
    return (x.dtype in (dtypes.f32, dtypes.f64) and axes == (x.ndim - 1,)
            and 2 <= x.shape[-1] <= 4 and x.size >= 4096)


# Rows of 2 to 4 floats: XLA sums each row in a loop of its own. Each column repeats what x is made
# of in the code, so longer rows would pay for it in compiling.
@form(ops.reduce_sum, when=_is_short_sum)
def reduce_sum(b: Builder, op: Op, x: Value) -> Value:
    """The columns one after the other; the sum of negative zeros is zero."""
    columns = (_column(b, x, i) for i in range(x.type.shape[-1]))
    total = next(columns)
    for column in columns:
        total = b.emit(ops.add, total, column)
    zero = b.full(total.type, 0.0)
    return b.emit(ops.select, b.emit(ops.eq, total, zero), zero, total)


def _column(b: Builder, x: Value, i: int) -> Value:
    """Column `i` of the last axis."""
    outer = x.type.shape[:-1]
    column = b.emit(ops.slice, x, starts=(*(0 for _ in outer), i), limits=(*outer, i + 1),
                    strides=(1,) * x.type.ndim)
    return b.emit(ops.reshape, column, shape=outer)
