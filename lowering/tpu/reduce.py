"""Running reductions on TPU, in blocks: XLA reduces every window of up to 128 elements anew.

The windows are those of the eight elements of a block. The combination of all blocks before a block
comes from a tree of the blocks' totals; if these are many, they are divided into blocks again.
"""

from __future__ import annotations

from typing import Any

from lowering.forms.conditions import condition
from lowering.forms.prefixes import prefixes
from lowering.tpu import form
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import greatest, least
from xfront_ir.ops.reduce import cut

BLOCK = 8
"""Elements of a block."""

MOST = 32
"""So many totals are combined in a tree at most."""

@condition
def _of_columns(op: Op) -> bool:
    """Real, along more than 128 rows of a matrix with 128 or more columns."""
    x = op.operands[0].type
    return (x.ndim == 2 and op.attrs["axis"] == 0 and x.shape[0] > 128 and x.shape[1] >= 128
            and not x.dtype.is_complex)


@form(ops.cumprod, when=_of_columns)
def cumprod(b: Builder, op: Op, x: Value) -> Value:
    """Products of eight elements, and of all blocks before them."""
    return _running(b, op, x, ops.mul, 1)


@form(ops.cummax, when=_of_columns)
def cummax(b: Builder, op: Op, x: Value) -> Value:
    """Maxima of eight elements, and of all blocks before them."""
    return _running(b, op, x, ops.max, least(x.type.dtype))


@form(ops.cummin, when=_of_columns)
def cummin(b: Builder, op: Op, x: Value) -> Value:
    """Minima of eight elements, and of all blocks before them."""
    return _running(b, op, x, ops.min, greatest(x.type.dtype))


def _running(b: Builder, op: Op, x: Value, combine: OpDef[Value], start: Any) -> Value:
    axis, reverse = op.attrs["axis"], op.attrs["reverse"]
    n = x.type.shape[axis]
    beyond = -n % BLOCK
    if beyond:
        x = _padded(b, x, start, axis, *((beyond, 0) if reverse else (0, beyond)))
    shape = x.type.shape
    blocks = b.emit(ops.reshape, x,
                    shape=(*shape[:axis], shape[axis] // BLOCK, BLOCK, *shape[axis + 1:]))
    within = b.emit(op.definition, blocks, axis=axis + 1, reverse=reverse)
    last = 0 if reverse else BLOCK - 1
    totals = cut(b, within, axis + 1, last, last + 1)
    count = shape[axis] // BLOCK
    if count <= MOST:
        parts = [cut(b, totals, axis, i, i + 1) for i in range(count)][::-1 if reverse else 1]
        parts = [b.full(parts[0].type, start), *prefixes(b, combine, parts[:-1])]
        before = b.emit(ops.concatenate, *parts[::-1 if reverse else 1], dimension=axis)
    else:
        made = _running(b, op, totals, combine, start)
        made = cut(b, made, axis, 1, count) if reverse else cut(b, made, axis, 0, count - 1)
        before = _padded(b, made, start, axis, *((0, 1) if reverse else (1, 0)))
    before = b.emit(ops.broadcast_in_dim, before, shape=within.type.shape,
                    dims=tuple(range(within.type.ndim)))
    made = b.emit(ops.reshape, b.emit(combine, before, within), shape=shape)
    if not beyond:
        return made
    return cut(b, made, axis, beyond, n + beyond) if reverse else cut(b, made, axis, 0, n)


def _padded(b: Builder, x: Value, start: Any, axis: int, low: int, high: int) -> Value:
    """`x` with `start` before and after it along an axis."""
    lows, highs, none = [tuple([size if d == axis else 0 for d in range(x.type.ndim)])
                         for size in (low, high, 0)]
    return b.emit(ops.pad, x, b.literal(start, x.type.dtype), low=lows, high=highs, interior=none)
