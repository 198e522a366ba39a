"""Reductions over axes, positions of extrema, and running reductions along one axis.

Sources: StableHLO spec, `reduce`; NumPy for sum, prod, cumsum and their kin. Extrema share their
tangent evenly among ties. The tangents of products and running extrema are carried through a tree
of the pairwise operation, which is exact where elements are zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core import Op, Value
from ..definition import LINEAR_OP, ZERO, OpDef
from ..errors import IRTypeError
from ..opdef import AXES, BOOL, DTYPE, INT, define
from ..spreading import SUMS, along, gone, spreads
from ..traits import BRANCHES, EXPENSIVE, LIGHT, MERGED, REDUCES, does, mark
from ..types import TensorType
from .elementwise import add, complex_, exp, imag, is_finite, log, logistic, max_, min_, mul, real
from .families import (
    is_any,
    is_inexact,
    is_integer,
    is_logical,
    is_numeric,
    moved_axes,
)
from .formulas import Term, formula, where
from .indexing import concatenate, pad, slice
from .shape import broadcast_in_dim, position_of, reshape, reverse, transpose

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

Combine = Callable[..., tuple[Value, ...]]
"""`combine(b, left, right)`: combines two neighbouring tuples of values, element by element."""


def _check_axes(name: str, x: Any, axes: Sequence[int]) -> None:
    if len(set(axes)) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise IRTypeError(f"{name}: axes must be distinct and in [0, {x.ndim}), got "
                          f"{tuple(axes)} for {x}")


def _without(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for d, n in enumerate(shape) if d not in axes)


# --- reductions ---------------------------------------------------------------------------

def _reducer(name: str, jvp: Any, allowed: Callable[[Any], bool], wanted: str,
             transpose: Any = None) -> OpDef:
    def infer(types: Types, attrs: Attrs) -> Types:
        (x,), axes = types, attrs["axes"]
        _check_axes(name, x, axes)
        if not allowed(x.dtype):
            raise IRTypeError(f"{name} takes {wanted} operands, got {x}")
        return (x.with_shape(_without(x.shape, axes)),)

    return define(name, attrs={"axes": AXES}, infer=infer, operands=1, jvp=jvp,
                  transpose=transpose, batch=_batch_reduction)


def _batch_reduction(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                     ) -> Batched:
    (x,), p = operands, position_of(positions)
    axes, place = moved_axes(op.attrs["axes"], p)
    return (b.emit(op.definition, x, axes=axes),), (place,)


@formula
def _broadcast_back(reduced: Term, x: TensorType, axes: tuple[int, ...]) -> Term:
    """A reduction's result, repeated along the axes that it reduced."""
    return broadcast_in_dim(reduced, shape=x.shape, dims=_without(range(x.ndim), axes))


def _transpose_sum(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    return (_broadcast_back(b, cotangents[0], x=op.operands[0].type, axes=op.attrs["axes"]),)


def _jvp_extremum(greatest: bool) -> Any:
    def jvp(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
        (x,), (y,), axes = op.operands, op.results, op.attrs["axes"]
        return (_tangent_extremum(b, tangents[0], x, y, axes=axes, greatest=greatest),)

    return jvp


@formula
def _tangent_extremum(t: Term, x: Term, y: Term, axes: tuple[int, ...], greatest: bool) -> Term:
    """The tangent of an extremum, which tied elements share. Where the extremum is NaN, so is the
    tangent: no element is tied there, and of 0 / 0 compilers make either NaN or 0."""
    kept = _without(range(x.type.ndim), axes)
    whole = broadcast_in_dim(y, shape=x.type.shape, dims=kept)
    if x.dtype.is_complex:
        mask = (x == whole).to(x.dtype)
        return reduce_sum(t * mask, axes=axes) / reduce_sum(mask, axes=axes)
    mask = (~(x < whole if greatest else x > whole)).to(x.dtype)
    count = where(y == y, reduce_sum(mask, axes=axes), math.nan)
    return reduce_sum(t * mask, axes=axes) / count


def _jvp_prod(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    (x,), axes = op.operands, op.attrs["axes"]
    rows = [leading(b, v, axes) for v in (x, tangents[0])]
    if rows[0].type.shape[0] == 0:
        return (None,)
    return (tree_reduce(b, _product_rule, rows, in_order=False)[1],)


@formula
def _product(x: Term, tx: Term, y: Term, ty: Term) -> tuple[Term, Term]:
    return x * y, tx * y + ty * x


def _product_rule(b: Builder, left: Any, right: Any) -> tuple[Value, ...]:
    return _product(b, *left, *right)


def leading(b: Builder, x: Value, axes: Sequence[int]) -> Value:
    """`x` with `axes` flattened into one leading axis; the others follow in their order."""
    kept = _without(range(x.type.ndim), axes)
    order = (*axes, *kept)
    if order != tuple(range(x.type.ndim)):
        x = b.emit(transpose, x, permutation=order)
    rest = x.type.shape[len(axes):]
    n = 1
    for size in x.type.shape[:len(axes)]:
        n *= size
    return x if x.type.shape == (n, *rest) else b.emit(reshape, x, shape=(n, *rest))


def tree_reduce(b: Builder, combine: Combine, values: Sequence[Value], in_order: bool = True
                ) -> tuple[Value, ...]:
    """Reduce axis 0, of the same size (at least 1) in all values, by combining neighbours in order.

    Where the order is free, the two halves are combined instead. Each is contiguous in memory, so
    slices, and pads in the derivative, have no strides and the compiler vectorises them.
    """
    values = tuple(values)
    while (n := values[0].type.shape[0]) > 1:
        odd = n % 2
        middle = odd + n // 2
        lefts, rights = ((odd, n, 2), (odd + 1, n, 2)) if in_order else (
            (odd, middle), (middle, n))
        made = combine(b, tuple(cut(b, v, 0, *lefts) for v in values),
                       tuple(cut(b, v, 0, *rights) for v in values))
        if odd:
            made = tuple(b.emit(concatenate, cut(b, v, 0, 0, 1), m, dimension=0)
                         for v, m in zip(values, made, strict=True))
        values = made
    return tuple(b.emit(reshape, v, shape=v.type.shape[1:]) for v in values)


def cut(b: Builder, x: Value, axis: int, start: int, limit: int, stride: int = 1) -> Value:
    """Elements start, start + stride, ... below limit along one axis."""
    ndim, shape = x.type.ndim, x.type.shape
    starts = tuple(start if d == axis else 0 for d in range(ndim))
    limits = tuple(limit if d == axis else shape[d] for d in range(ndim))
    strides = tuple(stride if d == axis else 1 for d in range(ndim))
    return b.emit(slice, x, starts=starts, limits=limits, strides=strides)


reduce_sum = _reducer("reduce_sum", LINEAR_OP, is_numeric, "numeric", transpose=_transpose_sum)
reduce_prod = _reducer("reduce_prod", _jvp_prod, is_numeric, "numeric")
reduce_max = _reducer("reduce_max", _jvp_extremum(greatest=True), is_any, "number or bool")
reduce_min = _reducer("reduce_min", _jvp_extremum(greatest=False), is_any, "number or bool")
reduce_and = _reducer("reduce_and", ZERO, is_logical, "integer or bool")
reduce_or = _reducer("reduce_or", ZERO, is_logical, "integer or bool")
reduce_xor = _reducer("reduce_xor", ZERO, is_logical, "integer or bool")


# --- positions of extrema -----------------------------------------------------------------

def _arg(name: str) -> OpDef:
    def infer(types: Types, attrs: Attrs) -> Types:
        (x,), axis = types, attrs["axis"]
        _check_axes(name, x, (axis,))
        if x.shape[axis] == 0:
            raise IRTypeError(f"{name}: axis {axis} of {x} has no elements")
        if x.dtype.is_key or x.dtype.is_complex:
            raise IRTypeError(f"{name} takes real or bool operands, got {x}")
        if not is_integer(attrs["index_dtype"]):
            raise IRTypeError(f"{name}: index_dtype must be an integer type, got "
                              f"{attrs['index_dtype']}")
        return (x.with_shape(_without(x.shape, (axis,))).with_dtype(attrs["index_dtype"]),)

    return define(name, attrs={"axis": INT, "index_dtype": DTYPE}, infer=infer, operands=1,
                  jvp=ZERO, batch=_batch_arg)


def _batch_arg(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (x,), p = operands, position_of(positions)
    (at,), place = moved_axes((op.attrs["axis"],), p)
    return (b.emit(op.definition, x, axis=at, index_dtype=op.attrs["index_dtype"]),), (place,)


argmax = _arg("argmax")        # the first of equal elements; a NaN counts as the extremum
argmin = _arg("argmin")


# --- running reductions -------------------------------------------------------------------

def _running(name: str, jvp: Any, allowed: Callable[[Any], bool], wanted: str,
             transpose: Any = None) -> OpDef:
    def infer(types: Types, attrs: Attrs) -> Types:
        _check_axes(name, types[0], (attrs["axis"],))
        if not allowed(types[0].dtype):
            raise IRTypeError(f"{name} takes {wanted} operands, got {types[0]}")
        return types

    return define(name, attrs={"axis": INT, "reverse": BOOL}, infer=infer, operands=1, jvp=jvp,
                  transpose=transpose, batch=_batch_running)


def _batch_running(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    (x,), (p,), at = operands, positions, op.attrs["axis"]
    made = b.emit(op.definition, x, axis=at + (at >= p), reverse=op.attrs["reverse"])
    return (made,), (p,)


def _transpose_cumsum(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    return (b.emit(cumsum, cotangents[0], axis=op.attrs["axis"],
                   reverse=not op.attrs["reverse"]),)


def _scanned_tangent(combine: Combine) -> Any:
    """Tangent of a running reduction: the pairs (element, tangent), scanned together."""
    def jvp(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
        return (_upwards(b, op, tangents, lambda x, t, y: _tangents(
            b, combine, x, t, y, op.attrs["axis"])),)

    return jvp


def _with_tangent_of(definition: OpDef) -> Combine:
    """The combination of (element, tangent) pairs by an op of two operands."""
    def combine(b: Builder, left: Any, right: Any) -> tuple[Value, ...]:
        (x, tx), (y, ty) = left, right
        made = b.emit(definition, x, y)
        (t,) = definition.jvp(b, Op(definition, (x, y), {}, (made,)), (tx, ty))
        return made, t

    return combine


def _log_add_exp(b: Builder, left: Any, right: Any) -> tuple[Value, ...]:
    return _log_sum(b, *left, *right)


@formula
def _log_sum(x: Term, tx: Term, y: Term, ty: Term) -> tuple[Term, Term]:
    """log(exp(x) + exp(y)) with its tangent; the shift keeps the exponentials in range."""
    complex_valued = x.dtype.is_complex

    def finite(v: Term) -> Term:
        return where(is_finite(v), v, 0)

    sizes = [real(v) if complex_valued else v for v in (x, y)]
    shift = finite(max_(*sizes))
    shift = complex_(shift, 0) if complex_valued else shift
    made = log(exp(x - shift) + exp(y - shift)) + shift
    if not complex_valued:                   # also exact where log(2) is lost beside the shift
        apart, same = x - y, x == y
        apart = where(same & ~is_finite(x), 0, apart)
        return made, tx * logistic(apart) + ty * logistic(-apart)
    safe = complex_(finite(real(made)), finite(imag(made)))
    return made, tx * exp(x - safe) + ty * exp(y - safe)


def _upwards(b: Builder, op: Op, tangents: Tangents,
             tangent_of: Callable[[Value, Value, Value], Value]) -> Value:
    """`tangent_of(operand, tangent, result)`, where the axis is reversed before and after if the op
    runs from its end."""
    (t,), axes = tangents, (op.attrs["axis"],)
    assert t is not None
    x, y = op.operands[0], op.results[0]
    if not op.attrs["reverse"]:
        return tangent_of(x, t, y)
    x, t, y = (b.emit(reverse, v, axes=axes) for v in (x, t, y))
    return b.emit(reverse, tangent_of(x, t, y), axes=axes)


def _tangents(b: Builder, combine: Combine, x: Value, t: Value, y: Value, axis: int) -> Value:
    """The tangents of the running combinations `y` of `x`, in logarithmic depth: first of pairs,
    then between them."""
    n = x.type.shape[axis]
    if n < 2:
        return t
    (x_even, t_even), (x_odd, t_odd) = [
        [cut(b, v, axis, first, n, 2) for v in (x, t)] for first in (0, 1)]
    x_pairs, t_pairs = combine(b, [cut(b, v, axis, 0, n // 2) for v in (x_even, t_even)],
                               (x_odd, t_odd))
    y_odd, even = cut(b, y, axis, 1, n, 2), cut(b, t_even, axis, 0, 1)
    odd = _tangents(b, combine, x_pairs, t_pairs, y_odd, axis)
    if n > 2:
        before = [cut(b, v, axis, 0, (n - 1) // 2) for v in (y_odd, odd)]
        own = [cut(b, v, axis, 1, (n + 1) // 2) for v in (x_even, t_even)]
        even = b.emit(concatenate, even, combine(b, before, own)[1], dimension=axis)
    return _interleave(b, even, odd, axis)


def _jvp_cumprod(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """The tangent T[i] = x[i] T[i-1] + y[i-1] t[i], where y is the result."""
    axis: int = op.attrs["axis"]

    def tangent_of(x: Value, t: Value, y: Value) -> Value:
        n = y.type.shape[axis]
        if n > 1:
            t = b.emit(mul, t, _after(b, cut(b, y, axis, 0, n - 1), axis, 1))
        return _recurrence(b, x, t, axis)

    return (_upwards(b, op, tangents, tangent_of),)


def _recurrence(b: Builder, x: Value, t: Value, axis: int) -> Value:
    """T[i] = x[i] T[i-1] + t[i], in logarithmic depth: first of pairs, then between them."""
    n = x.type.shape[axis]
    if n < 2:
        return t
    (x_even, t_even), (x_odd, t_odd) = [
        [cut(b, v, axis, first, n, 2) for v in (x, t)] for first in (0, 1)]
    x_pair, t_pair = [cut(b, v, axis, 0, n // 2) for v in (x_even, t_even)]
    pairs: tuple[Value, Value] = _steps(b, x_pair, t_pair, x_odd, t_odd)
    odd = _recurrence(b, *pairs, axis)
    if n > 2:
        carried = b.emit(mul, cut(b, odd, axis, 0, (n - 1) // 2),
                         cut(b, x_even, axis, 1, (n + 1) // 2))
        t_even = b.emit(add, t_even, _after(b, carried, axis, 0))
    return _interleave(b, t_even, odd, axis)


@formula
def _steps(x: Term, t: Term, y: Term, u: Term) -> tuple[Term, Term]:
    """Two steps of the recurrence as one."""
    return x * y, t * y + u


def _after(b: Builder, x: Value, axis: int, first: int) -> Value:
    """`x` with one more element before it along an axis."""
    zeros = (0,) * x.type.ndim
    low = tuple([int(d == axis) for d in range(x.type.ndim)])
    return b.emit(pad, x, b.literal(first, x.type.dtype), low=low, high=zeros, interior=zeros)


def _interleave(b: Builder, even: Value, odd: Value, axis: int) -> Value:
    """even[0], odd[0], even[1], ...: both are padded with zeros between their elements and added.
    """
    n = even.type.shape[axis] + odd.type.shape[axis]
    zero = b.literal(0, even.type.dtype)

    def with_gaps(v: Value, low: int) -> Value:
        def only(amount: int) -> tuple[int, ...]:
            return tuple(amount if d == axis else 0 for d in range(v.type.ndim))

        high = n - low - (2 * v.type.shape[axis] - 1)
        return b.emit(pad, v, zero, low=only(low), high=only(high), interior=only(1))

    return b.emit(add, with_gaps(even, 0), with_gaps(odd, 1))


cumsum = _running("cumsum", LINEAR_OP, is_numeric, "numeric", transpose=_transpose_cumsum)
cumprod = _running("cumprod", _jvp_cumprod, is_numeric, "numeric")
cummax = _running("cummax", _scanned_tangent(_with_tangent_of(max_)), is_numeric, "numeric")
cummin = _running("cummin", _scanned_tangent(_with_tangent_of(min_)), is_numeric, "numeric")
cumlogsumexp = _running("cumlogsumexp", _scanned_tangent(_log_add_exp), is_inexact, "inexact")


# --- axes that divide ---------------------------------------------------------------------

def _summed_axes(types: Types, attrs: Attrs) -> tuple[tuple[str, ...], Types]:
    axes: tuple[int, ...] = attrs["axes"]
    return tuple([a for i in axes for a in types[0].dims[i]]), types


spreads(gone("axes"), reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or,
        reduce_xor)
spreads(gone("axis"), argmax, argmin)
SUMS[reduce_sum] = _summed_axes
spreads(along("axis"), cumsum, cumprod, cummax, cummin, cumlogsumexp)


# --- what passes ask ----------------------------------------------------------------------

mark({LIGHT}, reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor,
     argmax, argmin, cumsum, cumprod, cummax, cummin, cumlogsumexp)
mark({MERGED, EXPENSIVE, REDUCES}, reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and,
     reduce_or, reduce_xor, argmax, argmin)
mark({BRANCHES}, cummax, cummin)
does(16, cumsum, cumprod, cummax, cummin)           # a window of elements for each one
