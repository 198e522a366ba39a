"""Positions of extrema, any and all, and reductions of short axes, in ops that XLA vectorises."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from lowering import compat
from lowering.forms.conditions import (
    Condition,
    axis,
    condition,
    floats,
    number,
    of,
    over_axes,
    real,
    size,
)
from lowering.forms.places import Place
from lowering.forms.registry import form, in_programs, near_memory
from xfront_ir import dtypes, ops
from xfront_ir.analysis import functions
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value, remembered
from xfront_ir.definition import OpDef
from xfront_ir.ops.convert import convert
from xfront_ir.ops.formulas import Term, where
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.traits import ELEMENTWISE
from xfront_ir.types import TensorType

from . import repeated, running  # noqa: F401  (forms of the same family)
from .pieces import at, cut
from .sort import float_order

_LONG = real & axis(32) & size(2 ** 15)


# Axes of 32 or more, 2**15 elements: the plain rule reduces pairs, one element at a time on one
# core; for fewer elements this takes less time than compiling two reductions.
@form(ops.argmax, when=_LONG, row="kernels.order: argmax")
def argmax(b: Builder, op: Op, x: Value) -> Value:
    """The least position of the elements that equal the greatest."""
    if not x.type.dtype.is_float:
        return _first(b, op, x, _reduced(b, ops.reduce_max, x, (op.attrs["axis"],)))
    greatest = _reduced(b, ops.reduce_max, float_order(Term(b, x)).value, (op.attrs["axis"],))
    # the second kernel computes the keys again: storing them would take a third kernel
    again, greatest = b.emit(ops.optimization_barrier, x, greatest)
    return _first(b, op, float_order(Term(b, again)).value, greatest)


@form(ops.argmin, when=_LONG, row="kernels.order: argmin of columns")
def argmin(b: Builder, op: Op, x: Value) -> Value:
    """The least position of the elements that equal the least. For floats it is the position of the
    greatest negated element, as NaN wins."""
    if x.type.dtype.is_float:
        if x.type.dtype.bits < 32:          # a dtype may have no negative numbers
            x = b.emit(convert, x, dtype=dtypes.f32)
        return argmax(b, op, b.emit(ops.neg, x))
    return _first(b, op, x, _reduced(b, ops.reduce_min, x, (op.attrs["axis"],)))


def _first(b: Builder, op: Op, keys: Value, extremum: Value) -> Value:
    """The least position where `keys` equals `extremum`. Keys are integers, for XLA's reductions of
    long axes lose NaNs of floats."""
    axis, place = op.attrs["axis"], keys.type.with_dtype(op.attrs["index_dtype"])
    dims = tuple(d for d in range(keys.type.ndim) if d != axis)
    whole = b.emit(ops.broadcast_in_dim, extremum, shape=keys.type.shape, dims=dims)
    at = b.emit(ops.iota, dtype=place.dtype, shape=place.shape, dimension=axis)
    last = b.full(place, keys.type.shape[axis] - 1)
    found = where(Term(b, keys) == Term(b, whole), Term(b, at), Term(b, last))
    return _reduced(b, ops.reduce_min, found.value, (axis,))


def _reduced(b: Builder, definition: OpDef, x: Value, axes: tuple[int, ...]) -> Value:
    """A reduction of integers, as one kernel where that is faster."""
    if _is_faster_in_one_kernel(x.type, axes):
        return _in_one_kernel(b, definition, x, axes)
    return b.emit(definition, x, axes=axes)


def _is_faster_in_one_kernel(x: TensorType, axes: tuple[int, ...]) -> bool:
    """Whether one kernel is faster: for the last axes, and for arrays of up to 2**20 elements."""
    return _are_last(x, axes) or x.size <= 2 ** 20


def _are_last(x: TensorType, axes: tuple[int, ...]) -> bool:
    return axes == tuple(range(x.ndim - len(axes), x.ndim))


_COMBINING = {ops.reduce_max: ops.max, ops.reduce_min: ops.min, ops.reduce_sum: ops.add}


def _in_one_kernel(b: Builder, definition: OpDef, x: Value, axes: tuple[int, ...]) -> Value:
    """A reduction together with a second one, of the greatest or least element.

    XLA divides a long reduction of one array into up to five, each a kernel to compile. A reduction
    of two arrays stays one kernel, and is merged with the ops that it reads. The barrier keeps the
    unused second result.
    """
    other = ops.reduce_min if definition is ops.reduce_max else ops.reduce_max
    inner, element = PlacedBuilder("whole"), x.type.with_shape(())
    lefts, rights = ([inner.param(element) for _ in range(2)] for _ in range(2))
    body = inner.close([inner.emit(_COMBINING[d], left, right) for d, left, right in zip(
        (definition, other), lefts, rights, strict=True)])
    inits = [b.full(element, _neutral(d, element)) for d in (definition, other)]
    made = b.emit(ops.reduce, x, x, *inits, body=body, axes=axes)
    return b.emit(ops.optimization_barrier, *made)[0]


def _neutral(definition: OpDef, element: TensorType) -> float:
    if definition is ops.reduce_sum:
        return 0
    return (dtypes.least if definition is ops.reduce_max else dtypes.greatest)(element.dtype)


@condition
def _side_by_side(op: Op) -> bool:
    """Integers of 32 bits or more, reduced over the last axes: 64 or more in each sum, at least
    2**10 in all."""
    x, axes = op.operands[0].type, op.attrs["axes"]
    return (x.dtype.is_integer and x.dtype.bits >= 32 and x.size >= 2 ** 10 and bool(axes)
            and _are_last(x, axes) and math.prod(x.shape[axes[0]:]) >= 64)


# 64 or more integers of at least 32 bits, next to each other: XLA reduces them in several steps,
# each a kernel. For narrower integers it has a library.
@form(ops.reduce_sum, when=_side_by_side, only=near_memory,
      row="kernels.reduction: sum of rows, int32")
def sum_of_integers(b: Builder, op: Op, x: Value) -> Value:
    """The sum in one kernel."""
    return _in_one_kernel(b, op.definition, x, op.attrs["axes"])


@form(ops.reduce_max, when=_side_by_side, only=near_memory,
      row="kernels.reduction: max of rows, int32")
def greatest_integer(b: Builder, op: Op, x: Value) -> Value:
    return _in_one_kernel(b, op.definition, x, op.attrs["axes"])


@form(ops.reduce_min, when=_side_by_side, only=near_memory,
      row="kernels.reduction: min of rows, int32")
def least_integer(b: Builder, op: Op, x: Value) -> Value:
    return _in_one_kernel(b, op.definition, x, op.attrs["axes"])


_BOOLS = of(dtypes.bool_) & size(2 ** 17) & over_axes


# Bools of 2**17 elements or more: XLA reduces bytes with vectors, single bits one by one.
@form(ops.reduce_or, when=_BOOLS, row="kernels.reduction: any")
def reduce_or(b: Builder, op: Op, x: Value) -> Value:
    """The greatest of the bools as 0 and 1."""
    made = ops.reduce_max(Term(b, x).to(dtypes.u8), axes=op.attrs["axes"])
    return made.to(dtypes.bool_).value


@form(ops.reduce_and, when=_BOOLS, row="kernels.reduction: all of rows")
def reduce_and(b: Builder, op: Op, x: Value) -> Value:
    """The negation of `reduce_or` of the negated elements."""
    return b.emit(ops.not_, reduce_or(b, op, b.emit(ops.not_, x)))


def of_many_axes(place: Place, op: Op) -> bool:
    """An array of 7 axes or more is computed in the same kernel as the op."""
    if not any([_has_many_axes(fn) for fn in _in_reach(place)]):
        return False
    seen: set[Value] = set()
    left = [(place, op.operands[0])]
    while left and len(seen) < _MOST_OPS:
        at, value = left.pop()
        found = at.defining_op(value)
        if value.type.ndim >= 7 or (not isinstance(found, int) and found[1] is not op
                                    and found[1].results[0].type.ndim >= 7):
            return True
        if not isinstance(found, int) and not seen.issuperset(found[1].results):
            at, made = found
            seen.update(made.results)
            if made.definition in (ops.reshape, ops.broadcast_in_dim) or (
                    ELEMENTWISE in made.definition.traits):
                left.extend([(at, v) for v in made.operands])
    return False


_MOST_OPS = 100
"""The most operations that are looked at."""


def _in_reach(place: Place) -> set[Function]:
    """The Function of a place, and those around it whose values it is given."""
    found, left = {place.function}, [place]
    while left:
        around = {source.place for source in left.pop().given.values()
                  if not isinstance(source, int)}
        left += [p for p in around if p.function not in found]
        found.update([p.function for p in around])
    return found


def _has_many_axes(fn: Function) -> bool:
    """Whether some array in a Function, or in one inside it, has 7 axes or more."""
    return remembered(fn, "many axes", lambda: any([
        v.type.ndim >= 7 for one in functions(fn)
        for v in (*one.params, *[r for op in one.ops for r in op.results])]))


# Arrays of 7 axes or more, of 2**12 elements or more: XLA's library ends the process where the
# terms are products of which one factor is repeated, or an axis has one element. Other passes would
# move the reshape; the barrier is gone when operations are merged.
@form(ops.reduce_sum, when=floats & size(2 ** 12) & over_axes, only=of_many_axes, before=(0, 11),
      needed=True,
      row="kernels.reduction: sum of products, 7 axes")
def sum_over_merged_axes(b: Builder, op: Op, x: Value) -> Value:
    """The sum over fewer axes: no two reduced ones follow each other, and no two others."""
    merged, axes = _merged(b, x, op.attrs["axes"])
    kept = tuple(n for d, n in enumerate(x.type.shape) if d not in op.attrs["axes"])
    if axes:
        (held,) = b.emit(ops.optimization_barrier, merged)
        merged = b.emit(ops.reduce_sum, held, axes=axes)
    return b.emit(ops.reshape, merged, shape=kept)


def _is_short(longest: int, least: int) -> Condition:
    def holds(op: Op) -> bool:
        x, axes = op.operands[0].type, op.attrs["axes"]
        if (x.dtype not in (dtypes.f32, dtypes.f64) or len(axes) != 1
                or not 2 <= x.shape[axes[0]] <= longest):
            return False
        before, after = math.prod(x.shape[:axes[0]]), math.prod(x.shape[axes[0] + 1:])
        if before == 1:
            return compat.VERSION < (0, 11) and x.size >= 2 ** 18
        return before * after >= least if after <= 8 else x.size >= 2 ** 20

    return Condition(holds, f"short({longest}, {number(least)})", ((
        "short(m, n)", "f32 or f64, one axis of 2 to m: n times and more where at most 8 elements "
        "lie behind each, else 2**20 elements; the first axis 2**18, before jaxlib 0.11."),))


# Sums of 2 to 8 floats along one axis, 2**14 of them or more where at most 8 elements lie behind
# each: XLA computes each sum in a loop of its own, and along the first axis uses no vectors before
# jaxlib 0.11. Each part repeats the code that computes x, so more parts, or longer code, would take
# longer to compile and lose the vectors. As with the plain rule, readers do not repeat the sum.
@form(ops.reduce_sum, when=_is_short(8, 2 ** 14), only=near_memory,
      row="kernels.reduction: sum of rows of 3")
def reduce_sum(b: Builder, op: Op, x: Value) -> Value:
    """The parts added one after the other; the sum of negative zeros is zero."""
    total = _folded(b, op, x, ops.add)
    zero = total.like(0.0)
    return ops.fence(where(total == zero, zero, total)).value


# Extrema of 2 to 4 floats along one axis, 2**15 of them: these gain less than sums.
@form(ops.reduce_max, when=_is_short(4, 2 ** 15), only=near_memory,
      row="kernels.reduction: max of rows of 4")
def reduce_max(b: Builder, op: Op, x: Value) -> Value:
    return ops.fence(_folded(b, op, x, ops.max)).value


@form(ops.reduce_min, when=_is_short(4, 2 ** 15), only=near_memory,
      row="kernels.reduction: min of rows of 4")
def reduce_min(b: Builder, op: Op, x: Value) -> Value:
    return ops.fence(_folded(b, op, x, ops.min)).value


LOSES_GREATEST = LOSES_LEAST = of(dtypes.f32, dtypes.f64, dtypes.f16, dtypes.bf16) & size(2 ** 12)
"""Operands of a maximum and of a minimum that XLA's library loses NaN of. Of f16 and bf16 a maximum
loses NaN with a sign, which is what inf - inf is on x86."""


def _work(place: Place, op: Op) -> int:
    """How many operations compute the operand, up to 8."""
    return place.work(op.operands[0], 8)


# XLA leaves these to a library that loses NaN. It takes reductions with one result, the greatest or
# the least, and no operations on whole arrays.
@form(ops.reduce_max, when=LOSES_GREATEST & over_axes, only=in_programs, known=_work, needed=True,
      row="kernels.reduction: max of rows, float32")
def greatest_or_nan(b: Builder, op: Op, x: Value) -> Value:
    """Rows are reduced together with whether there is a NaN; of columns the greater of parts is
    taken, element by element."""
    return _keeping_nan(b, op, x)


# Minima are left to it in f16 and bf16 too.
@form(ops.reduce_min, when=LOSES_LEAST & over_axes, only=in_programs, known=_work, needed=True,
      row="kernels.reduction: min of columns, float32")
def least_or_nan(b: Builder, op: Op, x: Value) -> Value:
    return _keeping_nan(b, op, x)


_MOST_PARTS = 16
"""The most parts of columns that one kernel combines."""
_LONG_ROW, _PARTS_OF_ROW = 2 ** 15, 8


def _keeping_nan(b: Builder, op: Op, x: Value) -> Value:
    """The extremum of the last axes first: what is left is small."""
    near = op.attrs["known"] < 8                  # parts repeat the operations that compute x
    made, axes = _merged(b, x, op.attrs["axes"])
    last = made.type.ndim - 1
    if last in axes:
        if near and made.type.shape[last] >= _LONG_ROW:
            made = _combined(b, op, made, last, _PARTS_OF_ROW)
        made, axes, near = _of_rows(b, op, made), axes[:-1], True
    room = _MOST_PARTS if near else 0             # how many parts this kernel may still combine
    for d in reversed(axes):
        while (n := made.type.shape[d]) > 1:
            if n > room:
                made, room = b.emit(ops.fence, made) if room < _MOST_PARTS else made, _MOST_PARTS
            made, room = _combined(b, op, made, d, min(n, room)), room // n
    made = b.emit(ops.fence, made) if axes else made
    kept = [n for d, n in enumerate(x.type.shape) if d not in op.attrs["axes"]]
    return b.emit(ops.reshape, made, shape=tuple(kept))


def _of_rows(b: Builder, op: Op, x: Value) -> Value:
    """The extrema along the last axis, together with whether there is a NaN."""
    flags = b.emit(ops.ne, x, x)
    inner = PlacedBuilder("extremum_and_flag")
    (one, flag), (other, raised) = [[inner.param(v.type.with_shape(())) for v in (x, flags)]
                                    for _ in range(2)]
    body = inner.close([inner.emit(_COMBINING[op.definition], one, other),
                        inner.emit(ops.or_, flag, raised)])
    start = b.literal(_neutral(op.definition, one.type), x.type.dtype)
    made, found = b.emit(ops.reduce, x, flags, start, b.literal(False, dtypes.bool_), body=body,
                         axes=(x.type.ndim - 1,))
    return where(Term(b, found), math.nan, Term(b, made)).value


def _merged(b: Builder, x: Value, axes: tuple[int, ...]) -> tuple[Value, tuple[int, ...]]:
    """An array with its reduced axes, of which no two follow one another, and so for the others."""
    shape: list[int] = []
    reduced: list[bool] = []
    for d, n in enumerate(x.type.shape):
        if n != 1 and reduced and reduced[-1] == (d in axes):
            shape[-1] *= n
        elif n != 1:
            shape.append(n)
            reduced.append(d in axes)
    return (b.emit(ops.reshape, x, shape=tuple(shape)),
            tuple(d for d, is_reduced in enumerate(reduced) if is_reduced))


def _combined(b: Builder, op: Op, x: Value, axis: int, most: int) -> Value:
    """The parts of an axis combined, `most` or fewer of the same size; the last may overlap."""
    n = x.type.shape[axis]
    size = -(-n // most)
    return functools.reduce(lambda one, other: b.emit(_COMBINING[op.definition], one, other), [
        cut(b, x, axis, min(start, n - size), size) for start in range(0, n, size)])


# The same in programs without fences, as those for several devices are: XLA divides these
# reductions between devices.
@form(ops.reduce_max, when=LOSES_GREATEST & over_axes, needed=True,
      row="kernels.reduction: max of rows, float32")
@form(ops.reduce_min, when=LOSES_LEAST & over_axes, needed=True,
      row="kernels.reduction: min of columns, float32")
def extremum_or_flag(b: Builder, op: Op, x: Value) -> Value:
    """NaN where an element is, else the extremum."""
    return or_nan(b, op, x, lambda flags: ops.reduce_or(flags, axes=op.attrs["axes"]))


def or_nan(b: Builder, op: Op, x: Value, raised: Callable[[Term], Term]) -> Value:
    """The extremum; NaN where `raised`, given the mask of elements that are NaN, is true."""
    given = Term(b, x)
    return where(raised(given != given), math.nan,
                 Term(b, b.emit(op.definition, x, **op.attrs))).value


def _folded(b: Builder, op: Op, x: Value, combine: OpDef) -> Term:
    """The parts of the reduced axis combined, from the first to the last."""
    (axis,) = op.attrs["axes"]
    return functools.reduce(combine, [
        Term(b, at(b, x, axis, i)) for i in range(x.type.shape[axis])])
