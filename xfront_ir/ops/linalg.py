"""Factorisations that solve: cholesky, lu, qr and its parts, and triangular and tridiagonal solves.

Matrices stand in the last two axes; all axes before them are batches. Elements are f32, f64, c64 or
c128. Where LAPACK fails (a matrix that is not positive definite) the result is NaN. Eigenvalues
and singular values are in `eigen.py`. Sources: LAPACK Users' Guide; derivatives: Giles, An
extended collection of matrix derivative results, 2008.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..core import Op, Value
from ..definition import NONE, ZERO, OpDef
from ..errors import IRTypeError, MissingRule
from ..opdef import BOOL, INT, define
from ..spreading import leading, spreads
from ..types import TensorType
from .compare import eq, ge, gt
from .dot import dot_general
from .elementwise import add, conj
from .families import move_batch, partials_jvp, tangent
from .formulas import Term, formula, where
from .gathering import gather
from .indexing import pad
from .indexing import slice as slice_
from .shape import broadcast_in_dim, iota, reshape, transpose

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

DTYPES = (dtypes.f32, dtypes.f64, dtypes.c64, dtypes.c128)
HIGHEST = ("highest", "highest")


# --- type rules ---------------------------------------------------------------------------

def matrix(name: str, x: TensorType, square: bool = False) -> tuple[int, int]:
    """Rows and columns of a matrix operand. Raises: IRTypeError where it is no matrix."""
    if x.dtype not in DTYPES:
        raise IRTypeError(f"{name} takes f32, f64, c64 or c128 operands, got {x}")
    if x.ndim < 2:
        raise IRTypeError(f"{name} takes matrices, with at least two axes, got {x}")
    m, n = x.shape[-2:]
    if square and m != n:
        raise IRTypeError(f"{name} takes square matrices, got {x}")
    return m, n


def one_batch(name: str, types: Any, ranks: Any) -> None:
    """Refuse operands that differ in dtype or leading axes; `ranks` count their last axes."""
    first = types[0]
    lead = first.shape[:first.ndim - ranks[0]]
    for t, rank in zip(types, ranks):
        if t.dtype is not first.dtype or t.ndim < rank or t.shape[:t.ndim - rank] != lead:
            raise IRTypeError(f"{name}: operands must agree in dtype and leading axes, got "
                              f"{', '.join(map(str, types))}")


# --- matrices of a formula ----------------------------------------------------------------

def matmul(x: Term, y: Term) -> Term:
    """The product of matrices, with paired leading axes."""
    lead = tuple(range(x.type.ndim - 2))
    return dot_general(x, y, contract=((len(lead) + 1,), (len(lead),)), batch=(lead, lead),
                       precision=HIGHEST, preferred=None)


def conjugate(x: Term) -> Term:
    """The complex conjugate; a real value stays itself."""
    return conj(x) if x.dtype.is_complex else x


def transposed(x: Term) -> Term:
    """Rows and columns exchanged."""
    n = x.type.ndim
    return transpose(x, permutation=(*range(n - 2), n - 1, n - 2))


def adjoint(x: Term) -> Term:
    """The conjugate transpose."""
    return conjugate(transposed(x))


def where_places(b: Builder, compare: OpDef[Any], type: TensorType) -> Term:
    """Bools of `type`'s shape that compare the number of each row with that of each column."""
    shape, n = type.shape[-2:], type.ndim
    rows, columns = (Term(b, b.emit(iota, dtype=dtypes.i32, shape=shape, dimension=d))
                     for d in (0, 1))
    mask = compare(rows, columns)
    return mask if n == 2 else broadcast_in_dim(mask, shape=type.shape, dims=(n - 2, n - 1))


def lower_part(x: Term, strict: bool = False) -> Term:
    """`x` with zeros above its diagonal, and on the diagonal where `strict`."""
    return where(where_places(x.b, gt if strict else ge, x.type), x, 0)


def upper_part(x: Term, strict: bool = False) -> Term:
    """`x` with zeros below its diagonal, and on the diagonal where `strict`."""
    return where(where_places(x.b, ge if strict else gt, x.type), 0, x)


def diagonal_part(x: Term) -> Term:
    """`x` with zeros off its diagonal."""
    return where(where_places(x.b, eq, x.type), x, 0)


def eye(b: Builder, type: TensorType) -> Term:
    """Identity matrices of `type`."""
    mask, one = where_places(b, eq, type), Term(b, b.ones(type))
    return where(mask, one, 0)


def block(x: Term, rows: int, columns: int) -> Term:
    """The upper left block of each matrix."""
    lead = x.type.shape[:-2]
    if x.type.shape[-2:] == (rows, columns):
        return x
    return slice_(x, starts=(0,) * x.type.ndim, limits=(*lead, rows, columns),
                  strides=(1,) * x.type.ndim)


def padded(x: Term, low: tuple[int, int], high: tuple[int, int]) -> Term:
    """`x` with zeros before and after its rows and columns (negative: cut off)."""
    lead = (0,) * (x.type.ndim - 2)
    if not any((*low, *high)):
        return x
    return pad(x, x.like(0, x.type.with_shape(())), low=(*lead, *low), high=(*lead, *high),
               interior=(*lead, 0, 0))


def batch_leading(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                  ) -> Batched:
    """Batching of ops whose leading axes are batches already: the new one is put in front."""
    moved_in = [move_batch(b, v, p, 0, axis[1]) for v, p in zip(operands, positions, strict=True)]
    made = b.emit(op.definition, *moved_in, **op.attrs)
    return (made,) if op.definition.single else made, (0,) * len(op.results)


# --- cholesky -----------------------------------------------------------------------------

def _infer_cholesky(types: Types, attrs: Attrs) -> Types:
    matrix("cholesky", types[0], square=True)
    return types


def _tangent_cholesky(t: Term, x: Term, factor: Term) -> Term:
    """L' = L half(L^-1 A' L^-H), where half is the lower triangle with its diagonal halved."""
    solve = {"lower": True, "unit_diagonal": False}
    middle = triangular_solve(factor, t, left_side=False, transpose_a=True, conjugate_a=True,
                              **solve)
    middle = triangular_solve(factor, middle, left_side=True, transpose_a=False, conjugate_a=False,
                              **solve)
    half = diagonal_part(middle) * 0.5
    return matmul(factor, lower_part(middle, strict=True) + half)


cholesky = define("cholesky", infer=_infer_cholesky, operands=1, batch=batch_leading,
                  jvp=partials_jvp(tangent(_tangent_cholesky)))
"""The lower triangular L with L L^H = A, for Hermitian positive definite A; NaN for other A. Only
A's lower triangle is read. Derivatives assume that A's tangent is Hermitian too."""


# --- triangular_solve ---------------------------------------------------------------------

def _infer_triangular_solve(types: Types, attrs: Attrs) -> Types:
    a, rhs = types
    n, _ = matrix("triangular_solve", a, square=True)
    matrix("triangular_solve", rhs)
    one_batch("triangular_solve", types, (2, 2))
    if rhs.shape[-2 if attrs["left_side"] else -1] != n:
        raise IRTypeError(f"triangular_solve: {a} and {rhs} have sizes that do not match for "
                          f"left_side={attrs['left_side']}")
    return (rhs,)


def _jvp_triangular_solve(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """op(A) X' = B' - op(A') X"""
    rhs = tangents[1]
    if tangents[0] is not None:
        of_matrix: Value = _of_matrix(b, tangents[0], op.results[0], **op.attrs)
        rhs = of_matrix if rhs is None else b.emit(add, rhs, of_matrix)
    return (b.emit(triangular_solve, op.operands[0], rhs, **op.attrs),)


@formula
def _of_matrix(t: Term, x: Term, left_side: bool, lower: bool, transpose_a: bool,
               conjugate_a: bool, unit_diagonal: bool) -> Term:
    moving = (lower_part if lower else upper_part)(t, strict=unit_diagonal)
    moving = transposed(moving) if transpose_a else moving
    moving = conjugate(moving) if conjugate_a else moving
    return -(matmul(moving, x) if left_side else matmul(x, moving))


def _transpose_triangular_solve(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                                ) -> NewTangents:
    attrs = {**op.attrs, "transpose_a": not op.attrs["transpose_a"]}
    return None, b.emit(triangular_solve, known[0], cotangents[0], **attrs)


def _batch_triangular_solve(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                            ) -> Batched:
    (a, rhs), (p, q), size = operands, positions, axis[1]
    if p is not None:
        return batch_leading(b, op, operands, positions, axis)
    left, shape = op.attrs["left_side"], op.operands[1].type.shape
    rows, columns = shape[-2:]                  # one matrix: the batch becomes columns or rows
    to = len(shape) if left else len(shape) - 2
    rhs = move_batch(b, rhs, q, to, size)
    wide = (rows, columns * size) if left else (size * rows, columns)
    made = b.emit(triangular_solve, a, b.emit(reshape, rhs, shape=(*shape[:-2], *wide)),
                  **op.attrs)
    return (b.emit(reshape, made, shape=rhs.type.shape),), (to,)


def _cost_triangular_solve(op: Op) -> Any:
    a, rhs = (v.type for v in op.operands)
    return rhs.size * a.shape[-1], sum(t.size * t.dtype.bits // 8 for t in (a, rhs, rhs))


triangular_solve = define("triangular_solve", operands=2, infer=_infer_triangular_solve,
                          jvp=_jvp_triangular_solve, transpose=_transpose_triangular_solve,
                          batch=_batch_triangular_solve, cost=_cost_triangular_solve,
                          attrs={"left_side": BOOL, "lower": BOOL, "transpose_a": BOOL,
                                 "conjugate_a": BOOL, "unit_diagonal": BOOL})
"""X with op(A) X = B, or X op(A) = B without `left_side`. op(A) is A, transposed and conjugated as
the attributes say. The other triangle of A is not read, nor its diagonal with `unit_diagonal`."""


# --- lu -----------------------------------------------------------------------------------

def _infer_lu(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    m, n = matrix("lu", x)
    lead = x.shape[:-2]
    places = x.with_dtype(dtypes.i32)
    return x, places.with_shape((*lead, min(m, n))), places.with_shape((*lead, m))


def _take_rows(x: Term, order: Term) -> Term:
    """The rows of each matrix, in the order that its vector in `order` gives."""
    lead = tuple(range(x.type.ndim - 2))
    n = len(lead)
    places = reshape(order, shape=(*order.type.shape, 1))
    return gather(x, places, offset_dims=(n + 1,), collapsed_slice_dims=(n,),
                  operand_batching_dims=lead, start_indices_batching_dims=lead,
                  start_index_map=(n,), slice_sizes=(*(min(1, d) for d in x.type.shape[:-1]),
                                                     x.type.shape[-1]),
                  mode="promise_in_bounds", fill_value=None, indices_are_sorted=False,
                  unique_indices=True)


def _tangent_lu(t: Term, x: Term, factors: Term, pivots: Term, order: Term) -> Term:
    """With M = L^-1 P A' U^-1: L' = L lower(M), U' = upper(M) U; L and U made square."""
    m, n = factors.type.shape[-2:]
    k, lead = min(m, n), factors.type.shape[:-2]
    left = padded(lower_part(block(factors, m, k), strict=True), (0, 0), (0, m - k))
    left = left + eye(left.b, left.type)
    right = padded(upper_part(block(factors, k, n)), (0, 0), (n - k, 0))
    if n > k:
        corner = eye(factors.b, factors.type.with_shape((*lead, n - k, n - k)))
        right = right + padded(corner, (k, k), (0, 0))
    plain = {"transpose_a": False, "conjugate_a": False}
    middle = triangular_solve(left, _take_rows(t, order), left_side=True, lower=True,
                              unit_diagonal=True, **plain)
    middle = triangular_solve(right, middle, left_side=False, lower=False, unit_diagonal=False,
                              **plain)
    return matmul(left, lower_part(middle, strict=True)) + matmul(upper_part(middle), right)


_moved_lu = tangent(_tangent_lu)
lu = define("lu", infer=_infer_lu, operands=1, single=False, batch=batch_leading,
            jvp=lambda b, op, tangents: (_moved_lu(b, tangents[0], op), None, None))
"""Factors, pivots and permutation: the rows of A in the order of the permutation are L U. The
factors hold L below the diagonal, without its diagonal of ones, and U on and above it. Row i was
exchanged with row pivots[i]. A singular A gives a zero on U's diagonal."""


def _infer_permutation(types: Types, attrs: Attrs) -> Types:
    (x,), size = types, attrs["size"]
    if x.dtype is not dtypes.i32 or not x.ndim or not x.shape[-1] <= size:
        raise IRTypeError(f"lu_pivots_to_permutation takes vectors of at most {size} i32, got "
                          f"{x}")
    return (x.with_shape((*x.shape[:-1], size)),)


lu_pivots_to_permutation = define("lu_pivots_to_permutation", attrs={"size": INT}, operands=1,
                                  infer=_infer_permutation, jvp=ZERO, batch=batch_leading)
"""The order of `size` rows after row i was exchanged with row pivots[i], for each i in turn."""


# --- qr -----------------------------------------------------------------------------------

def _infer_qr(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    m, n = matrix("qr", x)
    k, lead = m if attrs["full_matrices"] else min(m, n), x.shape[:-2]
    return x.with_shape((*lead, m, k)), x.with_shape((*lead, k, n))


def _jvp_qr(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    m, n = op.operands[0].type.shape[-2:]
    if m < n or (op.attrs["full_matrices"] and m != n):
        raise MissingRule("qr has derivatives only for matrices with at least as many rows as "
                          f"columns, and without full_matrices; got {op.operands[0].type}")
    return _tangents_qr(b, tangents[0], *op.results)


@formula
def _tangents_qr(t: Term, q: Term, r: Term) -> tuple[Term, Term]:
    """With M = Q^H A' R^-1 and the skew S that equals M below the diagonal:
    Q' = Q (S - M) + A' R^-1, R' = (M - S) R."""
    solved = triangular_solve(r, t, left_side=False, lower=False, transpose_a=False,
                              conjugate_a=False, unit_diagonal=False)
    middle = matmul(adjoint(q), solved)
    below = lower_part(middle, strict=True)
    skew = below - adjoint(below)
    if q.dtype.is_complex:                       # R's diagonal stays real
        skew = skew + diagonal_part(middle - conjugate(middle)) * 0.5
    return matmul(q, skew - middle) + solved, matmul(middle - skew, r)


qr = define("qr", attrs={"full_matrices": BOOL}, operands=1, infer=_infer_qr, single=False,
            jvp=_jvp_qr, batch=batch_leading)
"""Q with orthonormal columns and upper triangular R with real diagonal, such that Q R = A."""


def _infer_geqrf(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    m, n = matrix("geqrf", x)
    return x, x.with_shape((*x.shape[:-2], min(m, n)))


geqrf = define("geqrf", operands=1, infer=_infer_geqrf, single=False, jvp=NONE,
               batch=batch_leading)
"""A matrix with R on and above its diagonal and Householder vectors below, and their factors tau.
"""


def _infer_householder_product(types: Types, attrs: Attrs) -> Types:
    a, taus = types
    m, n = matrix("householder_product", a)
    one_batch("householder_product", types, (2, 1))
    if m < n or taus.shape[-1] > n:
        raise IRTypeError("householder_product takes at least as many rows as columns and at most "
                          f"as many taus as columns, got {a} and {taus}")
    return (a,)


householder_product = define("householder_product", operands=2, jvp=NONE, batch=batch_leading,
                             infer=_infer_householder_product)
"""The first columns of H1 H2 ..., Hi = I - taus[i] v v^H with v below the diagonal of column i."""


# --- tridiagonal_solve --------------------------------------------------------------------

def _infer_tridiagonal_solve(types: Types, attrs: Attrs) -> Types:
    rhs = types[3]
    n, _ = matrix("tridiagonal_solve", rhs)
    one_batch("tridiagonal_solve", types, (1, 1, 1, 2))
    if any(t.shape[-1] != n for t in types[:3]):
        raise IRTypeError(f"tridiagonal_solve: diagonals must have as many elements as {rhs} has "
                          f"rows, got {', '.join(map(str, types[:3]))}")
    return (rhs,)


def _rows_shifted(x: Term, axis: int, by: int) -> Term:
    """`x` moved by one place along `axis`, with zeros moved in."""
    low = tuple(by if d == axis else 0 for d in range(x.type.ndim))
    return pad(x, x.like(0, x.type.with_shape(())), low=low, high=tuple(-n for n in low),
               interior=(0,) * len(low))


@formula
def _of_diagonal(t: Term, x: Term, by: int) -> Term:
    n = x.type.ndim
    wide = broadcast_in_dim(t, shape=x.type.shape, dims=tuple(range(n - 1)))
    return -(wide * (_rows_shifted(x, n - 2, by) if by else x))


def _jvp_tridiagonal_solve(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    rhs = tangents[3]
    for t, by in zip(tangents[:3], (1, 0, -1), strict=True):
        if t is not None:
            of_diagonal: Value = _of_diagonal(b, t, op.results[0], by=by)
            rhs = of_diagonal if rhs is None else b.emit(add, rhs, of_diagonal)
    return (b.emit(tridiagonal_solve, *op.operands[:3], rhs, **op.attrs),)


@formula
def _by_transpose(ct: Term, below: Term, diagonal: Term, above: Term, perturb_singular: bool
                  ) -> Term:
    last = diagonal.type.ndim - 1
    return tridiagonal_solve(_rows_shifted(above, last, 1), diagonal,
                             _rows_shifted(below, last, -1), ct,
                             perturb_singular=perturb_singular)


def _transpose_tridiagonal_solve(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                                 ) -> NewTangents:
    return None, None, None, _by_transpose(b, cotangents[0], *known[:3], **op.attrs)


tridiagonal_solve = define("tridiagonal_solve", operands=4, infer=_infer_tridiagonal_solve,
                           attrs={"perturb_singular": BOOL}, jvp=_jvp_tridiagonal_solve,
                           transpose=_transpose_tridiagonal_solve, batch=batch_leading)
"""X with T X = B for tridiagonal T: operands are the diagonals below, on and above, and B. Row i
has below[i], diagonal[i], above[i]; the first of `below` and the last of `above` are not read.
Solutions of singular T are NaN; with `perturb_singular` pivots near 0 are moved by about eps times
the greatest element of U."""


spreads(leading(2), cholesky, triangular_solve, lu, qr, geqrf, householder_product,
        tridiagonal_solve)
spreads(leading(1), lu_pivots_to_permutation)
