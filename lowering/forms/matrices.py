"""Building blocks of forms for accelerators: kernels by name, parts of matrices, eliminations.

Matrices are in the last two axes; all axes before them are batch axes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Value
from xfront_ir.ops import linalg
from xfront_ir.ops.control import SCAN
from xfront_ir.ops.formulas import Term, of_values, where
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType, tensor

from .conditions import Condition

adjoint, block, matmul, padded, lower_part, upper_part = map(of_values, (
    linalg.adjoint, linalg.block, linalg.matmul, linalg.padded, linalg.lower_part,
    linalg.upper_part))

filled = Condition(lambda op: all(v.type.size for v in op.operands), "filled")
"""No operand is empty."""


def kernel(b: Builder, target: str, operands: Sequence[Value], results: Sequence[TensorType],
           lead: int, *, api: int = 1, config: str = "",
           in_place: Sequence[tuple[int, int]] = ()) -> Any:
    """The results of the platform's kernel `target`: see `xfront_ir/ops/platform_call.py`."""
    return b.emit(ops.platform_call, *operands, target=target, results=tuple(results), api=api,
                  config=config, batch_axes=lead, in_place=tuple(in_place))


def _along(x: Term, type: TensorType, dims: Sequence[int]) -> Term:
    """`x` broadcast to the shape of `type`, with its axes at `dims`."""
    return ops.broadcast_in_dim(x, shape=type.shape, dims=tuple(dims))


along = of_values(_along)


def nan_unless(b: Builder, good: Value, values: Sequence[Value]) -> list[Value]:
    """The values, replaced by NaN for each batch element where `good` is false."""
    made = []
    for v in values:
        nan = complex("nan+nanj") if v.type.dtype.is_complex else float("nan")
        wide = along(b, good, v.type, range(good.type.ndim))
        made.append(b.emit(ops.select, wide, v, b.full(v.type, nan)))
    return made


@of_values
def hermitian(x: Term, lower: bool) -> Term:
    """The Hermitian matrix with the lower (or upper) triangle of `x`."""
    part = linalg.lower_part if lower else linalg.upper_part
    kept, beside = part(x), part(x, strict=True)
    if x.dtype.is_complex:                       # only the real part of the diagonal counts
        kept = beside + ops.real(kept - beside).to(x.dtype)
    return kept + linalg.adjoint(beside)


def _abs(x: Term) -> Term:
    """The size by which LAPACK compares pivots: |real| + |imag| for complex numbers."""
    return abs(ops.real(x)) + abs(ops.imag(x)) if x.dtype.is_complex else abs(x)


def orthogonal(b: Builder, x: Value, full: bool) -> tuple[Value, Value]:
    """Q and R, by `geqrf` and `householder_product`, each a kernel of the platform."""
    m, n = x.type.shape[-2:]
    k = m if full else min(m, n)
    factored, taus = b.emit(ops.geqrf, x)
    r = upper_part(b, block(b, factored, k, n))
    if k > n:
        factored = padded(b, factored, (0, 0), (0, k - n))
    else:
        factored = block(b, factored, m, k)
    return b.emit(ops.householder_product, factored, taus), r


# --- LU -----------------------------------------------------------------------------------

def lu(b: Builder, x: Value, results: Sequence[TensorType]) -> list[Value]:
    """The LU factors, pivots and permutation, by partial pivoting, column by column.

    Source: Golub and Van Loan, Matrix Computations, 3.4.
    """
    type, of_pivots, of_order = results
    lead, steps = type.ndim - 2, of_pivots.shape[-1]
    order = b.emit(ops.iota, dtype=dtypes.i32, shape=of_order.shape, dimension=lead)
    counted = b.emit(ops.iota, dtype=dtypes.i32, shape=(steps,), dimension=0)
    factors, order, pivots = SCAN.emit(
        b.emit, ops.scan, ((), (x, order), (counted,)), body=_column(type, of_order),
        length=steps, reverse=False, unroll=1)
    return [factors, b.emit(ops.transpose, pivots, permutation=(*range(1, lead + 1), 0)), order]


def _column(type: TensorType, of_order: TensorType) -> Function:
    """The Function (matrix, order, column number) -> (matrix and order after the column is
    eliminated, its pivot)."""
    b = PlacedBuilder("column")
    x, order, k = (Term(b, b.param(t)) for t in (type, of_order, tensor((), dtypes.i32)))
    lead = type.ndim - 2
    column = (*range(lead), lead)
    row = (*range(lead), lead + 1)
    places = type.with_dtype(dtypes.i32)

    def numbers(of: TensorType, axis: int) -> Term:
        return Term(b, b.emit(ops.iota, dtype=dtypes.i32, shape=of.shape, dimension=axis))

    rows, columns = numbers(type, lead), numbers(type, lead + 1)
    here = _along(k, places, ())
    zero = x.like(0)

    def picked(mask: Term, of: Term, *axes: int) -> Term:
        return ops.reduce_sum(where(mask, of, 0), axes=axes)

    size = _abs(picked(columns == here, x, lead + 1))
    downwards = numbers(of_order, lead)
    k_of_rows = _along(k, of_order, ())
    pivot = ops.argmax(where(downwards < k_of_rows, -1, size), axis=lead, index_dtype=dtypes.i32)

    def exchanged(v: Term, numbers: Term, at: Term, other: Term, dims: Sequence[int]) -> Term:
        is_one, is_other = numbers == at, numbers == other
        one, two = (_along(picked(mask, v, lead), v.type, dims) for mask in (is_one, is_other))
        return where(is_one, two, where(is_other, one, v))

    order = exchanged(order, downwards, k_of_rows, _along(pivot, of_order, range(lead)),
                      range(lead))
    x = exchanged(x, rows, here, _along(pivot, places, range(lead)), row)
    top = picked(rows == here, x, lead)
    first = picked(columns == here, x, lead + 1)
    on_diagonal = (rows == here) & (columns == here)
    corner = _along(picked(on_diagonal, x, lead, lead + 1), type, range(lead))
    safe = where(corner == zero, 1, corner)
    below = rows > here
    factor = where(below, _along(first, type, column) / safe, zero)
    rest = x - factor * _along(top, type, row)
    x = where(below & (columns > here), rest, x)
    made = where(below & (columns == here), factor, x)
    return b.close([made.value, order.value, pivot.value])


# --- tridiagonal systems ------------------------------------------------------------------

def tridiagonal_solve(b: Builder, below: Value, diagonal: Value, above: Value, rhs: Value,
                      perturbed: bool) -> Value:
    """The solution, by elimination with partial pivoting, row by row, and back substitution.

    Source: LAPACK Users' Guide (gtsv), and lagts for `perturbed`, which moves pivots away from 0.
    """
    type, n = rhs.type, rhs.type.shape[-2]
    lead = type.ndim - 2
    numbers = b.emit(ops.iota, dtype=dtypes.i32, shape=above.type.shape, dimension=lead)
    above = where(Term(b, numbers) == n - 1, 0, Term(b, above)).value      # the last is unused
    lines = [_rows_first(b, v, lead) for v in (below, diagonal, above, rhs)]
    p, q, c = (_line(b, v, 0) for v in lines[1:])
    rows = [_line(b, v, slice(1, n)) for v in lines]
    p, q, c, *eliminated = SCAN.emit(
        b.emit, ops.scan, ((), (p, q, c), rows), length=n - 1, reverse=False, unroll=1,
        body=_elimination(p.type, c.type))
    pivots, firsts, seconds, sides = eliminated
    zero = b.zeros(p.type)
    ends = (p, zero, zero, c)
    pivots, firsts, seconds, sides = (
        b.emit(ops.concatenate, v, b.emit(ops.reshape, end, shape=(1, *end.type.shape)),
               dimension=0) for v, end in zip((pivots, firsts, seconds, sides), ends, strict=True))
    if perturbed:
        pivots = _away_from_zero(b, pivots, firsts, seconds)
    nothing = b.zeros(c.type)
    _, _, solved = SCAN.emit(
        b.emit, ops.scan, ((), (nothing, nothing), (pivots, firsts, seconds, sides)), length=n,
        reverse=True, unroll=1, body=_substitution(p.type, c.type))
    x = b.emit(ops.transpose, solved, permutation=(*range(1, lead + 1), 0, lead + 1))
    if perturbed:
        return x
    singular = ops.reduce_or(Term(b, pivots) == 0, axes=(0,))
    return nan_unless(b, (~singular).value, [x])[0]


def _rows_first(b: Builder, x: Value, axis: int) -> Value:
    others = [d for d in range(x.type.ndim) if d != axis]
    return b.emit(ops.transpose, x, permutation=(axis, *others))


def _line(b: Builder, x: Value, at: int | slice) -> Value:
    """The row `at` of the first axis, or the rows of a slice."""
    start, stop = (at, at + 1) if isinstance(at, int) else (at.start, at.stop)
    rest = x.type.shape[1:]
    made = b.emit(ops.slice, x, starts=(start, *[0] * len(rest)), limits=(stop, *rest),
                  strides=(1,) * x.type.ndim)
    return b.emit(ops.reshape, made, shape=rest) if isinstance(at, int) else made


def _elimination(entry: TensorType, side: TensorType) -> Function:
    """The Function (rest of a row, next row) -> (rest of the next row, row of U). The row with the
    greater pivot becomes the row of U, and a multiple of it is subtracted from the other row."""
    b = PlacedBuilder("eliminate")
    p, q = (Term(b, b.param(entry)) for _ in range(2))
    c = Term(b, b.param(side))
    lower, on, upper = (Term(b, b.param(entry)) for _ in range(3))
    rhs = Term(b, b.param(side))
    dims = range(entry.ndim)
    swaps = _abs(lower) > _abs(p)
    swaps_side = _along(swaps, side, dims)
    pivot, first, second = where(swaps, lower, p), where(swaps, on, q), where(swaps, upper, 0)
    taken, other = where(swaps_side, rhs, c), where(swaps_side, c, rhs)
    nothing = pivot == 0
    factor = where(nothing, 0, where(swaps, p, lower) / where(nothing, 1, pivot))
    left = where(swaps, q, on) - factor * first
    beyond = where(swaps, 0, upper) - factor * second
    rest = other - _along(factor, side, dims) * taken
    return b.close([v.value for v in (left, beyond, rest, pivot, first, second, taken)])


def _substitution(entry: TensorType, side: TensorType) -> Function:
    """The Function (the next two unknowns, a row of U, its right side) -> (this unknown, the next
    one, this unknown): the carry for the row before, and the row's result."""
    b = PlacedBuilder("substitute")
    one, two = (Term(b, b.param(side)) for _ in range(2))
    pivot, first, second = (Term(b, b.param(entry)) for _ in range(3))
    rhs = Term(b, b.param(side))
    pivot, first, second = (_along(v, side, range(entry.ndim)) for v in (pivot, first, second))
    x = (rhs - first * one - second * two) / pivot
    return b.close([x.value, one.value, x.value])


@of_values
def _away_from_zero(pivots: Term, *others: Term) -> Term:
    """The pivots; those smaller than eps times the greatest element of U are moved to that size."""
    sizes = [abs(v) for v in (pivots, *others)]
    most = functools.reduce(ops.max, [ops.reduce_max(v, axes=(0,)) for v in sizes])
    eps = float(np.finfo(dtypes.real_of(pivots.dtype).numpy).eps)
    least = most * eps
    least = where(least == 0, eps, least)
    least_of_each = _along(least, sizes[0].type, range(1, sizes[0].type.ndim))
    small = sizes[0] < least_of_each
    moved = least_of_each.to(pivots.dtype)
    if not pivots.dtype.is_complex:
        moved = where(pivots < 0, -moved, moved)
    return where(small, moved, pivots)
