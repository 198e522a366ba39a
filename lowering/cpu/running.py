"""Running reductions as loops: XLA makes of them a tree of windows that reads the array many times.

Along the last axis a turn of the loop takes eight elements. Their running reductions within the
eight do not depend on the carry, with which they are combined once per turn. Products of floats are
taken in order, for products in another order may leave the range of the dtype. Along other axes a
turn takes one row. The carry of a sum is wider than the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lowering.forms.conditions import axis, below, condition, floats, real, size
from lowering.forms.prefixes import prefixes
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.dtypes import DType, greatest, least
from xfront_ir.ops.convert import convert
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.while_loop import WHILE
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import I32, tensor

STEP = 8
"""Elements per turn along the last axis. From 16 on, jaxlib 0.10 runs a kernel for each op."""

_WIDER = {dtypes.f16: dtypes.f32, dtypes.bf16: dtypes.f32, dtypes.f32: dtypes.f64,
          dtypes.c64: dtypes.c128}


def _is_long(op: Op, shorter: int) -> bool:
    """Whether the loop is faster than the plain rule, which divides many rows with short windows
    between the cores."""
    x, axis = op.operands[0].type, op.attrs["axis"]
    if not x.size or x.size >= 2 ** 31:
        return False
    n = x.shape[axis]
    if axis != x.ndim - 1:
        return n >= 24
    return n > 16 and (x.size == n or x.size < 2 ** 17 or n > shorter)


@condition
def _long(op: Op) -> bool:
    """The axis has more than 16 elements if it is the last one, else 24 or more. In an array of
    several rows and 2**17 elements or more, each row has more than 512."""
    return _is_long(op, shorter=512)


@condition
def _long_in_few_rows(op: Op) -> bool:
    """The axis has more than 16 elements if it is the last one, else 24 or more. An array of
    several rows has fewer than 2**17 elements, because extrema that propagate NaN take longer. The
    dtype is wider than 8 bits, because the plain rule is fast for bytes."""
    return op.operands[0].type.dtype.bits > 8 and _is_long(op, shorter=2 ** 31)


# More than 16 elements along the last axis, 24 or more along others: shorter axes are one window.
@form(ops.cumsum, when=_long, row="kernels.reduction: cumsum")
def cumsum(b: Builder, op: Op, x: Value) -> Value:
    """Sums within eight elements are rounded to the dtype; the sum of all before them is wider."""
    return _running(b, op, x, ops.add, 0, _WIDER.get(x.type.dtype, x.type.dtype))


@form(ops.cumprod, when=_long, row="kernels.reduction: cumprod")
def cumprod(b: Builder, op: Op, x: Value) -> Value:
    """The carry is not wider: a product that leaves the range of the dtype does not come back."""
    return _running(b, op, x, ops.mul, 1, x.type.dtype)


@form(ops.cummax, when=real & _long_in_few_rows, row="kernels.reduction: cummax")
def cummax(b: Builder, op: Op, x: Value) -> Value:
    return _running(b, op, x, ops.max, least(x.type.dtype), x.type.dtype)


@form(ops.cummin, when=real & _long_in_few_rows, row="kernels.reduction: cummin")
def cummin(b: Builder, op: Op, x: Value) -> Value:
    return _running(b, op, x, ops.min, greatest(x.type.dtype), x.type.dtype)


# Floats, 8 or more along the axis: every window of the plain rule computes logarithms.
@form(ops.cumlogsumexp, when=floats & axis(8) & size(8) & below(2 ** 31),
      row="kernels.reduction: cumlogsumexp")
def cumlogsumexp(b: Builder, op: Op, x: Value) -> Value:
    """The carry is the greatest element m so far, and the sum of exp(x - m), in f64."""
    shape, axis, dtype = x.type.shape, op.attrs["axis"], x.type.dtype
    row = tensor((*shape[:axis], 1, *shape[axis + 1:]), dtypes.f64)

    def step(b: Builder, before: list[Value], x: Value) -> tuple[list[Value], Value]:
        (most, total), new = (Term(b, v) for v in before), Term(b, x).to(dtypes.f64)
        above, after = new > most, ops.max(most, new)
        apart = where(new == most, new.like(0), abs(new - most))
        less = ops.exp(-apart)
        kept = where(above, total * less, total)
        total = kept + where(above, 1, less)
        return [after.value, total.value], (after + ops.log(total)).to(dtype).value

    return _by_rows(b, op, x, [b.full(row, -float("inf")), b.zeros(row)], step)


def _running(b: Builder, op: Op, x: Value, combine: Any, start: Any, wide: DType) -> Value:
    along = _along_last if op.attrs["axis"] == x.type.ndim - 1 else _along_rows
    return along(b, op, x, combine, start, wide)


# --- along the last axis ------------------------------------------------------------------

def _along_last(b: Builder, op: Op, x: Value, combine: Any, start: Any, wide: DType) -> Value:
    """The running reduction, eight elements per turn. Where the axis is not a multiple of eight,
    the second eight elements overlap the first eight."""
    shape, dtype, reverse = x.type.shape, x.type.dtype, op.attrs["reverse"]
    rows, n = x.type.size // shape[-1], shape[-1]
    x = b.emit(ops.reshape, x, shape=(rows, n))
    begin, first = tensor((), wide), n % STEP or STEP
    ordered = combine is ops.mul and dtype.is_inexact

    def turn(b: Builder, row: Value, place: Value, before: Value, x: Value, stack: Value
             ) -> list[Value]:
        at = b.emit(ops.sub, b.full(I32, n - STEP), place) if reverse else place
        eight = b.emit(ops.dynamic_slice, x, row, at, sizes=(1, STEP), in_range=True)
        elements = _elements(b, eight)[::-1 if reverse else 1]
        if ordered:
            within = _chain(b, combine, b.emit(ops.reshape, before, shape=(1, 1)), elements)
        else:
            within = prefixes(b, combine, elements)
        made = b.emit(ops.concatenate, *within[::-1 if reverse else 1], dimension=1)
        if not ordered:
            carried = b.emit(ops.broadcast_in_dim, _as(b, before, dtype), shape=(1, STEP), dims=())
            made = b.emit(combine, carried, made)
        stack = b.emit(ops.dynamic_update_slice, stack, made, row, at, in_range=True)
        last, by = within[-1], b.full(I32, STEP)
        if first < STEP:
            begins = b.emit(ops.eq, place, b.full(I32, 0))
            last = b.emit(ops.select, begins, within[first - 1], last)
            by = b.emit(ops.select, begins, b.full(I32, first), by)
        after = _as(b, b.emit(ops.reshape, last, shape=()), wide)
        after = after if ordered else b.emit(combine, before, after)
        place = b.emit(ops.add, place, by)
        ends = b.emit(ops.ge, place, b.full(I32, n))
        return [b.emit(ops.select, ends, _plus(b, row, 1), row),
                b.emit(ops.select, ends, b.full(I32, 0), place),
                b.emit(ops.select, ends, b.full(begin, start), after), stack]

    inits = [b.full(I32, 0), b.full(I32, 0), b.full(begin, start)]
    stack = _loop(b, rows, inits, x, turn)
    return b.emit(ops.reshape, stack, shape=shape)


def _elements(b: Builder, row: Value) -> list[Value]:
    """The elements of a row, each as an array of shape (1, 1)."""
    return [b.emit(ops.slice, row, starts=(0, i), limits=(1, i + 1), strides=(1, 1))
            for i in range(row.type.shape[1])]


def _chain(b: Builder, combine: Any, before: Value, values: Sequence[Value]) -> list[Value]:
    """For each value, the combination of `before` and all values up to it, in order."""
    made = []
    for value in values:
        before = b.emit(combine, before, value)
        made.append(before)
    return made


# --- along rows ---------------------------------------------------------------------------

def _along_rows(b: Builder, op: Op, x: Value, combine: Any, start: Any, wide: DType) -> Value:
    shape, axis, dtype = x.type.shape, op.attrs["axis"], x.type.dtype

    def step(b: Builder, before: list[Value], row: Value) -> tuple[list[Value], Value]:
        after = b.emit(combine, *before, _as(b, row, wide))
        return [after], _as(b, after, dtype)

    row = tensor((*shape[:axis], 1, *shape[axis + 1:]), wide)
    return _by_rows(b, op, x, [b.full(row, start)], step)


def _by_rows(b: Builder, op: Op, x: Value, inits: Sequence[Value], step: Any) -> Value:
    """The result of a loop of `step(builder, carries, row) -> (carries, row of the result)`."""
    shape, axis = x.type.shape, op.attrs["axis"]
    n, sizes = shape[axis], (*shape[:axis], 1, *shape[axis + 1:])

    def turn(b: Builder, turns: Value, *values: Value) -> list[Value]:
        *before, x, stack = values
        at = b.emit(ops.sub, b.full(I32, n - 1), turns) if op.attrs["reverse"] else turns
        zero = b.full(I32, 0)
        starts = [at if d == axis else zero for d in range(len(shape))]
        row = b.emit(ops.dynamic_slice, x, *starts, sizes=sizes, in_range=True)
        after, made = step(b, before, row)
        stack = b.emit(ops.dynamic_update_slice, stack, made, *starts, in_range=True)
        return [_plus(b, turns, 1), *after, stack]

    return _loop(b, n, [b.full(I32, 0), *inits], x, turn)


# --- loops --------------------------------------------------------------------------------

def _loop(b: Builder, turns: int, inits: Sequence[Value], x: Value,
          turn: Callable[..., list[Value]]) -> Value:
    """The stack when the first carry is `turns`, in a loop of
    `turn(builder, *carries, x, stack) -> [*carries, stack]`."""
    types = [*[v.type for v in inits], x.type]
    test = PlacedBuilder("more")
    counter = [test.param(t) for t in types][0]
    more = test.close([test.emit(ops.lt, counter, test.full(I32, turns))])
    inner = PlacedBuilder("turn")
    const, *carries = [inner.param(t) for t in (x.type, *types)]
    body = inner.close(turn(inner, *carries[:-1], const, carries[-1]))
    return WHILE.emit(b.emit, ops.while_, ((), (x,), (*inits, b.zeros(x.type))), cond=more,
                      body=body)[-1]


def _as(b: Builder, x: Value, dtype: DType) -> Value:
    return x if x.type.dtype is dtype else b.emit(convert, x, dtype=dtype)


def _plus(b: Builder, x: Value, by: int) -> Value:
    return b.emit(ops.add, x, b.full(I32, by))
