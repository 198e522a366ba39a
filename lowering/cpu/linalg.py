"""Batches of tiny matrices, entry by entry: a call of LAPACK takes longer than their arithmetic.

Each entry is an array over the batch. Results are fenced, so that an op that reads one entry does
not compute all entries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lowering.forms.conditions import Condition, condition, number
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.convert import fence
from xfront_ir.ops.formulas import Term, sum_of, where
from xfront_ir.types import tensor

from .pieces import branch


def _is_tiny(order: int, least: Callable[[int], int], tall: bool = False) -> Condition:
    """The condition for real square matrices with m = 2 to `order` rows, in batches of at least
    `least(m)`; if `tall`, also for matrices with fewer columns (at least 2) without
    `full_matrices`."""
    def holds(op: Op) -> bool:
        x = op.operands[0].type
        m, n = x.shape[-2:]
        fits = m == n or tall and m > n and not op.attrs["full_matrices"]
        if x.dtype not in (dtypes.f32, dtypes.f64) or not fits or not 1 < n <= m <= order:
            return False
        return x.size >= m * n * least(m)

    counts = ", ".join(f"{n}: {number(least(n))}" for n in range(2, order + 1))
    meaning = "f32 or f64, so many rows and columns in batches of so many or more"
    if tall:
        return Condition(holds, f"tiny_or_tall({counts})", ((
            "tiny_or_tall", f"{meaning}; also 2 or more columns, where none are added."),))
    return Condition(holds, f"tiny({counts})", (("tiny", f"{meaning}."),))


def _entries(x: Term) -> list[list[Term]]:
    """The entries of the matrices, each an array over the batch."""
    lead, (m, n) = x.type.shape[:-2], x.type.shape[-2:]
    return [[ops.reshape(_block(x, i, j, 1, 1), shape=lead) for j in range(n)] for i in range(m)]


def _block(x: Term, i: int, j: int, rows: int, columns: int) -> Term:
    zeros, lead = (0,) * (x.type.ndim - 2), x.type.shape[:-2]
    return ops.slice(x, starts=(*zeros, i, j), limits=(*lead, i + rows, j + columns),
                     strides=(1,) * x.type.ndim)


def _matrix(rows: Sequence[Sequence[Term]]) -> Value:
    """The matrices with these entries. XLA makes a kernel of each part of a concatenation, so for
    more than nine entries each element selects its entry instead, which halves the compile time."""
    lead = rows[0][0].type.shape
    if len(rows) * len(rows[0]) > 9:
        return fence(_chosen(rows)).value
    flat = [ops.reshape(v, shape=(*lead, 1)) for row in rows for v in row]
    made = ops.concatenate(*flat, dimension=len(lead))
    return fence(ops.reshape(made, shape=(*lead, len(rows), len(rows[0])))).value


def _chosen(rows: Sequence[Sequence[Term]]) -> Term:
    b, first, lead = rows[0][0].b, rows[0][0].type, rows[0][0].type.shape
    shape, dims = (*lead, len(rows), len(rows[0])), tuple(range(len(lead)))
    row, column = (Term(b, b.emit(ops.iota, dtype=dtypes.i32, shape=shape,
                                  dimension=len(lead) + d)) for d in (0, 1))
    at = row * shape[-1] + column
    made = row.like(0, first.with_shape(shape))
    for place, entry in enumerate(v for line in rows for v in line):
        wide = ops.broadcast_in_dim(entry, shape=shape, dims=dims)
        made = where(at == place, wide, made)
    return made


# Up to 4 rows, in batches of 1024, 2048 or 4096: the form takes 0.1 to 0.2 s more to compile.
@form(ops.cholesky, when=_is_tiny(4, least=lambda n: 2 ** (n + 8)),
      row="kernels.linear: cholesky, 3×3")
def cholesky(b: Builder, op: Op, x: Value) -> Value:
    """Cholesky column by column. A matrix is all NaN where a pivot is not positive; NaNs in it
    spread."""
    a, n = _entries(Term(b, x)), x.type.shape[-1]
    zero, nan = a[0][0].like(0), a[0][0].like(float("nan"))
    factor, bad = [[zero] * n for _ in range(n)], zero.like(0, zero.type.with_dtype(dtypes.bool_))
    for j in range(n):
        for i in range(j, n):
            made = a[i][j]
            for k in range(j):
                made = made - factor[i][k] * factor[j][k]
            if i == j:
                bad = bad | (made <= zero)
                factor[j][j] = ops.sqrt(made)
            else:
                factor[i][j] = made / factor[j][j]
    return _matrix([[where(bad, nan, v) if j <= i else v for j, v in enumerate(row)]
                    for i, row in enumerate(factor)])


# Up to 4 rows, in batches of 1000: LAPACK's call takes longer than the arithmetic.
@form(ops.triangular_solve, when=_is_tiny(4, least=lambda n: 1000),
      row="kernels.linear: triangular solve, 3×3")
def triangular_solve(b: Builder, op: Op, a: Value, rhs: Value) -> Value:
    """The solution row by row; column by column where the matrix is on the right."""
    n, left = a.type.shape[-1], op.attrs["left_side"]
    lower, flipped = op.attrs["lower"], op.attrs["transpose_a"]
    axis = rhs.type.ndim - (2 if left else 1)
    sizes = (1, rhs.type.shape[-1]) if left else (rhs.type.shape[-2], 1)
    line = tensor((*rhs.type.shape[:-2], *sizes), rhs.type.dtype)
    matrix, side = Term(b, a), Term(b, rhs)

    def weight(i: int, j: int) -> Term:
        """The factor of line `j` of the solution in equation `i`."""
        at = (j, i) if flipped == left else (i, j)
        return ops.broadcast_in_dim(_block(matrix, *at, 1, 1), shape=line.shape,
                                    dims=tuple(range(line.ndim)))

    ascending = (lower != flipped) == left
    solved: dict[int, Term] = {}
    for i in range(n) if ascending else range(n)[::-1]:
        made = _block(side, *((i, 0) if left else (0, i)), *sizes)
        for j, known in solved.items():
            made = made - weight(i, j) * known
        solved[i] = made if op.attrs["unit_diagonal"] else made / weight(i, i)
    return fence(ops.concatenate(*[solved[i] for i in range(n)], dimension=axis)).value


@condition
def of_one_row(op: Op) -> bool:
    """f32 or f64, matrices of one row and column."""
    x = op.operands[0].type
    return x.dtype in (dtypes.f32, dtypes.f64) and x.shape[-2:] == (1, 1)


# A filter with one observation has such matrices in a loop, where a call of LAPACK, and copies
# before and behind it, take longer than what is computed around it.
@form(ops.cholesky, when=of_one_row, row="kernels.linear: cholesky, 1×1")
def root(b: Builder, op: Op, x: Value) -> Value:
    """The square root; NaN where the entry is not positive."""
    entry = Term(b, x)
    return where(entry > 0.0, ops.sqrt(entry), float("nan")).value


@form(ops.triangular_solve, when=of_one_row, row="kernels.linear: triangular solve, 1×1")
def quotient(b: Builder, op: Op, a: Value, rhs: Value) -> Value:
    """The right-hand sides by the entry; themselves with `unit_diagonal`."""
    if op.attrs["unit_diagonal"]:
        return rhs
    divisor = b.emit(ops.broadcast_in_dim, a, shape=rhs.type.shape,
                     dims=tuple(range(rhs.type.ndim)))
    return b.emit(ops.div, rhs, divisor)


# 2 rows in batches of 1000, 3 in batches of 2000: the forms take 0.1 and 0.3 s more to compile.
@form(ops.lu, when=_is_tiny(3, least=lambda n: 1000 * (n - 1)),
      row="kernels.linear: solve, 3×3")
def lu(b: Builder, op: Op, x: Value) -> list[Value]:
    """LU with the rows exchanged by comparisons and selections. Of equal pivots the first is taken;
    nothing is divided by a pivot of zero or NaN. (Of a column with NaN and numbers each kernel of
    LAPACK takes another pivot.)"""
    n, lead = x.type.shape[-1], x.type.shape[:-2]
    matrix = Term(b, x)
    places = [matrix.like(i, tensor(lead, dtypes.i32)) for i in range(n)]
    rows = [[*entries, place] for entries, place in zip(_entries(matrix), places, strict=True)]
    pivots: list[Term] = []
    for k in range(n):
        most, at = abs(rows[k][k]), places[k]
        for i in range(k + 1, n):
            size = abs(rows[i][k])
            more = size > most
            most, at = where(more, size, most), where(more, places[i], at)
        pivots.append(at)
        for i in range(k + 1, n):
            here = at == places[i]
            rows[k], rows[i] = ([where(here, v, w) for v, w in zip(one, other)]
                                for one, other in ((rows[i], rows[k]), (rows[k], rows[i])))
        pivot = rows[k][k]
        none = ~(abs(pivot) > 0)
        for row in rows[k + 1:]:
            row[k] = where(none, row[k], row[k] / pivot)
            row[k + 1:n] = [v - row[k] * w for v, w in zip(row[k + 1:n], rows[k][k + 1:n])]
    return [_matrix([row[:n] for row in rows]), _vector(b, pivots),
            _vector(b, [row[n] for row in rows])]


def _vector(b: Builder, entries: Sequence[Term]) -> Value:
    made = _matrix([entries])
    return b.emit(ops.reshape, made, shape=(*made.type.shape[:-2], len(entries)))


# 2 rows in batches of 6000, 3 in 4000, 4 in 3000: the form takes 0.4 s more to compile.
@form(ops.qr, when=_is_tiny(4, least=lambda m: 12_000 // m, tall=True),
      row="kernels.linear: qr, 4×4")
def qr(b: Builder, op: Op, x: Value) -> list[Value]:
    """Householder reflections with LAPACK's signs. The plain rule is used where an entry is not
    finite, for LAPACK skips zeros that this form would multiply by such an entry."""
    finite = b.emit(ops.reduce_and, b.emit(ops.is_finite, x), axes=tuple(range(x.type.ndim)))
    plain = branch(op, lambda b, x: b.emit(ops.qr, x, **op.attrs))
    return b.emit(ops.cond, finite, x, branches=(plain, branch(op, _qr)))


def _qr(b: Builder, x: Value) -> list[Value]:
    """Q and R. The diagonal of R has the opposite sign of the entry that it replaces, or is that
    entry where all below it are zero.

    Source: Golub and Van Loan, Matrix Computations, 5.1 and 5.2.
    """
    m, n = x.type.shape[-2:]
    a = _entries(Term(b, x))
    reflections = []
    for k in range(min(n, m - 1)):
        a[k][k], below, factor = _reflection([row[k] for row in a[k:]])
        _reflect(a[k:], k + 1, below, factor)
        reflections.append((below, factor))
    one = a[0][0].like(1.0)
    q = [[one if i == j else None for j in range(n)] for i in range(m)]
    for k, (below, factor) in reversed(list(enumerate(reflections))):
        _reflect(q[k:], k, below, factor)
    upper = [[a[i][j] if i <= j else None for j in range(n)] for i in range(n)]
    return [_matrix([[one.like(0.0) if v is None else v for v in row] for row in made])
            for made in (q, upper)]


def _reflection(column: Sequence[Term]) -> tuple[Term, list[Term], Term]:
    """The reflection I - factor v v^T that makes all of a column zero but its first entry. Returns
    the new first entry, v without its first entry, which is one, and the factor."""
    first, *rest = column
    most = abs(first)
    for v in rest:
        most = ops.max(most, abs(v))
    unit = where(most == 0.0, 1.0, most)        # squares of the entries could overflow
    length = ops.sqrt(sum_of([(v / unit) * (v / unit) for v in column])) * unit
    word = dtypes.i32 if first.dtype is dtypes.f32 else dtypes.i64
    negative = ops.bitcast(first, dtype=word) < 0
    turned = where(negative, length, -length)
    nothing = rest[0] == 0.0
    for v in rest[1:]:
        nothing = nothing & (v == 0.0)
    divisor = where(nothing, 1.0, first - turned)
    factor = where(nothing, 0.0, (turned - first) / where(nothing, 1.0, turned))
    return where(nothing, first, turned), [v / divisor for v in rest], factor


def _reflect(rows: Sequence[list[Any]], start: int, below: Sequence[Term], factor: Term) -> None:
    """Reflect the columns from `start` on, in place. None is an entry known to be zero."""
    top, *others = rows
    for j in range(start, len(top)):
        products = [v * row[j] for v, row in zip(below, others, strict=True) if row[j] is not None]
        along = sum_of([x for x in (top[j], *products) if x is not None]) * factor
        top[j] = _difference(top[j], along)
        for v, row in zip(below, others, strict=True):
            row[j] = _difference(row[j], v * along)


def _difference(x: Term | None, y: Term) -> Term:
    return -y if x is None else x - y
