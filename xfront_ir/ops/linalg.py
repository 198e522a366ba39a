"""Factorisations that solve: cholesky, lu, qr and its parts, and triangular and tridiagonal solves.

Matrices stand in the last two axes, all axes before are batches. Elements are f32, f64, c64 or
c128. Where LAPACK fails (a matrix that is not positive definite) the result is NaN. Eigenvalues
and singular values are in `eigen.py`. Sources: LAPACK Users' Guide; derivatives: Giles, An
extended collection of matrix derivative results, 2008.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core import Op, Value
from ..errors import IRTypeError, MissingRule
from ..opdef import BOOL, INT, NONE, ZERO, define
from ..types import TensorType
from .compare import eq, ge, gt
from .dot import dot_general
from .elementwise import add, conj, mul, neg, select, sub
from .families import lit, move_batch, sum_tangents
from .gathering import gather
from .indexing import pad
from .indexing import slice as slice_
from .shape import broadcast_in_dim, iota, reshape, transpose

DTYPES = (dtypes.f32, dtypes.f64, dtypes.c64, dtypes.c128)
HIGHEST = ("highest", "highest")


# --- type rules ---------------------------------------------------------------------------

def matrix(name: str, x: TensorType, square: bool = False) -> tuple[int, int]:
    """Rows and columns of a matrix operand. Raises: IRTypeError where it is none."""
    if x.dtype not in DTYPES:
        raise IRTypeError(f"{name}: takes f32, f64, c64 or c128 operands, got {x}")
    if x.ndim < 2:
        raise IRTypeError(f"{name}: takes matrices, with two axes or more, got {x}")
    m, n = x.shape[-2:]
    if square and m != n:
        raise IRTypeError(f"{name}: takes square matrices, got {x}")
    return m, n


def one_batch(name: str, types: Any, ranks: Any) -> None:
    """Refuse operands that differ in dtype or leading axes, `ranks` being their own axes."""
    first = types[0]
    lead = first.shape[:first.ndim - ranks[0]]
    for t, rank in zip(types, ranks):
        if t.dtype is not first.dtype or t.ndim < rank or t.shape[:t.ndim - rank] != lead:
            raise IRTypeError(f"{name}: operands must agree in dtype and leading axes, got "
                              f"{', '.join(map(str, types))}")


# --- matrices of a rule -------------------------------------------------------------------

def matmul(b: Any, x: Value, y: Value) -> Value:
    """The product of matrices, the leading axes in step."""
    lead = tuple(range(x.type.ndim - 2))
    return b.emit(dot_general, x, y, contract=((len(lead) + 1,), (len(lead),)),
                  batch=(lead, lead), precision=HIGHEST, preferred=None)


def conjugate(b: Any, x: Value) -> Value:
    """The complex conjugate; a real value is its own."""
    return b.emit(conj, x) if x.type.dtype.is_complex else x


def transposed(b: Any, x: Value) -> Value:
    """Rows and columns exchanged."""
    n = x.type.ndim
    return b.emit(transpose, x, permutation=(*range(n - 2), n - 1, n - 2))


def adjoint(b: Any, x: Value) -> Value:
    """The conjugate transpose."""
    return conjugate(b, transposed(b, x))


def where_places(b: Any, definition: Any, type: TensorType) -> Value:
    """A bool of `type`'s shape: how the number of the row compares with that of the column."""
    shape, n = type.shape[-2:], type.ndim
    rows, columns = (b.emit(iota, dtype=dtypes.i32, shape=shape, dimension=d) for d in (0, 1))
    mask = b.emit(definition, rows, columns)
    if n == 2:
        return mask
    return b.emit(broadcast_in_dim, mask, shape=type.shape, dims=(n - 2, n - 1))


def lower_part(b: Any, x: Value, strict: bool = False) -> Value:
    """`x` with zeros above its diagonal, and on it where `strict`."""
    return b.emit(select, where_places(b, gt if strict else ge, x.type), x, b.zeros(x.type))


def upper_part(b: Any, x: Value, strict: bool = False) -> Value:
    """`x` with zeros below its diagonal, and on it where `strict`."""
    return b.emit(select, where_places(b, ge if strict else gt, x.type), b.zeros(x.type), x)


def diagonal_part(b: Any, x: Value) -> Value:
    """`x` with zeros off its diagonal."""
    return b.emit(select, where_places(b, eq, x.type), x, b.zeros(x.type))


def eye(b: Any, type: TensorType) -> Value:
    """The identity in each matrix of `type`."""
    return b.emit(select, where_places(b, eq, type), b.ones(type), b.zeros(type))


def block(b: Any, x: Value, rows: int, columns: int) -> Value:
    """The upper left block of each matrix."""
    lead = x.type.shape[:-2]
    if x.type.shape[-2:] == (rows, columns):
        return x
    return b.emit(slice_, x, starts=(0,) * x.type.ndim, limits=(*lead, rows, columns),
                  strides=(1,) * x.type.ndim)


def padded(b: Any, x: Value, low: tuple[int, int], high: tuple[int, int]) -> Value:
    """`x` with zeros before and after its rows and columns (negative: cut off)."""
    lead = (0,) * (x.type.ndim - 2)
    if not any((*low, *high)):
        return x
    return b.emit(pad, x, b.zeros(x.type.with_shape(())), low=(*lead, *low), high=(*lead, *high),
                  interior=(*lead, 0, 0))


def batch_leading(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    """Batching of ops whose leading axes are batches already: one more in front."""
    moved_in = [move_batch(b, v, p, 0, axis[1]) for v, p in zip(operands, positions, strict=True)]
    made = b.emit(op.definition, *moved_in, **op.attrs)
    return (made,) if op.definition.single else made, (0,) * len(op.results)


# --- cholesky -----------------------------------------------------------------------------

def _infer_cholesky(types: Any, attrs: Any) -> Any:
    matrix("cholesky", types[0], square=True)
    return types


def _jvp_cholesky(b: Any, op: Op, tangents: Any) -> Any:
    """L' = L half(L^-1 A' L^-H): the lower triangle, its diagonal halved."""
    factor = op.results[0]
    solve = {"lower": True, "unit_diagonal": False}
    middle = b.emit(triangular_solve, factor, tangents[0], left_side=False, transpose_a=True,
                    conjugate_a=True, **solve)
    middle = b.emit(triangular_solve, factor, middle, left_side=True, transpose_a=False,
                    conjugate_a=False, **solve)
    half = b.emit(mul, diagonal_part(b, middle), lit(b, middle, 0.5))
    return (matmul(b, factor, b.emit(add, lower_part(b, middle, strict=True), half)),)


cholesky = define("cholesky", infer=_infer_cholesky, operands=1, jvp=_jvp_cholesky,
                  batch=batch_leading)
"""The lower triangular L with L L^H = A, for Hermitian positive definite A, of which the lower
triangle is read; NaN for others. Derivatives take A's tangent to be Hermitian too."""


# --- triangular_solve ---------------------------------------------------------------------

def _infer_triangular_solve(types: Any, attrs: Any) -> Any:
    a, rhs = types
    n, _ = matrix("triangular_solve", a, square=True)
    matrix("triangular_solve", rhs)
    one_batch("triangular_solve", types, (2, 2))
    if rhs.shape[-2 if attrs["left_side"] else -1] != n:
        raise IRTypeError(f"triangular_solve: {a} and {rhs} do not fit, left_side being "
                          f"{attrs['left_side']}")
    return (rhs,)


def _jvp_triangular_solve(b: Any, op: Op, tangents: Any) -> Any:
    a, x, attrs = op.operands[0], op.results[0], op.attrs
    rhs = tangents[1]
    if tangents[0] is not None:                 # op(A) X' = B' - op(A') X
        part = lower_part if attrs["lower"] else upper_part
        moving = part(b, tangents[0], strict=attrs["unit_diagonal"])
        moving = transposed(b, moving) if attrs["transpose_a"] else moving
        moving = conjugate(b, moving) if attrs["conjugate_a"] else moving
        of_a = matmul(b, moving, x) if attrs["left_side"] else matmul(b, x, moving)
        rhs = sum_tangents(b, rhs, b.emit(neg, of_a))
    return (b.emit(triangular_solve, a, rhs, **attrs),)


def _transpose_triangular_solve(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    attrs = {**op.attrs, "transpose_a": not op.attrs["transpose_a"]}
    return None, b.emit(triangular_solve, known[0], cotangents[0], **attrs)


def _batch_triangular_solve(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    (a, rhs), (p, q), size = operands, positions, axis[1]
    if p is not None:
        return batch_leading(b, op, operands, positions, axis)
    left, shape = op.attrs["left_side"], op.operands[1].type.shape
    rows, columns = shape[-2:]                  # one matrix for the batch: more columns or rows
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
"""X with op(A) X = B, or X op(A) = B where not `left_side`. op(A) is A, transposed and conjugated
as said. The other triangle of A is not read, nor its diagonal where `unit_diagonal`."""


# --- lu -----------------------------------------------------------------------------------

def _infer_lu(types: Any, attrs: Any) -> Any:
    (x,) = types
    m, n = matrix("lu", x)
    lead = x.shape[:-2]
    places = x.with_dtype(dtypes.i32)
    return x, places.with_shape((*lead, min(m, n))), places.with_shape((*lead, m))


def _take_rows(b: Any, x: Value, order: Value) -> Value:
    """The rows of each matrix in the order that the vector beside it says."""
    lead = tuple(range(x.type.ndim - 2))
    n = len(lead)
    places = b.emit(reshape, order, shape=(*order.type.shape, 1))
    return b.emit(gather, x, places, offset_dims=(n + 1,), collapsed_slice_dims=(n,),
                  operand_batching_dims=lead, start_indices_batching_dims=lead,
                  start_index_map=(n,), slice_sizes=(*(min(1, d) for d in x.type.shape[:-1]),
                                                     x.type.shape[-1]),
                  mode="promise_in_bounds", fill_value=None, indices_are_sorted=False,
                  unique_indices=True)


def _jvp_lu(b: Any, op: Op, tangents: Any) -> Any:
    """With M = L^-1 P A' U^-1: L' = L lower(M), U' = upper(M) U; L and U made square."""
    factors, _, order = op.results
    m, n = factors.type.shape[-2:]
    k, lead = min(m, n), factors.type.shape[:-2]
    left = padded(b, lower_part(b, block(b, factors, m, k), strict=True), (0, 0), (0, m - k))
    left = b.emit(add, left, eye(b, left.type))
    right = padded(b, upper_part(b, block(b, factors, k, n)), (0, 0), (n - k, 0))
    if n > k:
        corner = eye(b, factors.type.with_shape((*lead, n - k, n - k)))
        right = b.emit(add, right, padded(b, corner, (k, k), (0, 0)))
    plain = {"transpose_a": False, "conjugate_a": False}
    middle = b.emit(triangular_solve, left, _take_rows(b, tangents[0], order), left_side=True,
                    lower=True, unit_diagonal=True, **plain)
    middle = b.emit(triangular_solve, right, middle, left_side=False, lower=False,
                    unit_diagonal=False, **plain)
    moving = b.emit(add, matmul(b, left, lower_part(b, middle, strict=True)),
                    matmul(b, upper_part(b, middle), right))
    return moving, None, None


lu = define("lu", infer=_infer_lu, operands=1, single=False, jvp=_jvp_lu, batch=batch_leading)
"""Factors, pivots, permutation: the rows of A in the order of the permutation are L U. L, without
its diagonal of ones, is below the diagonal of the factors, U above. Row i was exchanged with row
pivots[i]. A singular A gives a zero on U's diagonal."""


def _infer_permutation(types: Any, attrs: Any) -> Any:
    (x,), size = types, attrs["size"]
    if x.dtype is not dtypes.i32 or not x.ndim or not x.shape[-1] <= size:
        raise IRTypeError(f"lu_pivots_to_permutation: takes vectors of at most {size} i32, got "
                          f"{x}")
    return (x.with_shape((*x.shape[:-1], size)),)


lu_pivots_to_permutation = define("lu_pivots_to_permutation", attrs={"size": INT}, operands=1,
                                  infer=_infer_permutation, jvp=ZERO, batch=batch_leading)
"""The order of `size` rows after row i was exchanged with row pivots[i], for each i in turn."""


# --- qr -----------------------------------------------------------------------------------

def _infer_qr(types: Any, attrs: Any) -> Any:
    (x,) = types
    m, n = matrix("qr", x)
    k, lead = m if attrs["full_matrices"] else min(m, n), x.shape[:-2]
    return x.with_shape((*lead, m, k)), x.with_shape((*lead, k, n))


def _jvp_qr(b: Any, op: Op, tangents: Any) -> Any:
    """With M = Q^H A' R^-1 and skew S, S below the diagonal as M: Q' = Q (S - M) + A' R^-1,
    R' = (M - S) R."""
    q, r = op.results
    m, n = op.operands[0].type.shape[-2:]
    if m < n or (op.attrs["full_matrices"] and m != n):
        raise MissingRule("qr has derivatives for matrices with as many rows as columns or more, "
                          f"without full_matrices; got {op.operands[0].type}")
    solved = b.emit(triangular_solve, r, tangents[0], left_side=False, lower=False,
                    transpose_a=False, conjugate_a=False, unit_diagonal=False)
    middle = matmul(b, adjoint(b, q), solved)
    below = lower_part(b, middle, strict=True)
    skew = b.emit(sub, below, adjoint(b, below))
    if q.type.dtype.is_complex:                  # R's diagonal stays real
        turning = b.emit(sub, middle, conjugate(b, middle))
        turning = b.emit(mul, diagonal_part(b, turning), lit(b, turning, 0.5))
        skew = b.emit(add, skew, turning)
    of_q = b.emit(add, matmul(b, q, b.emit(sub, skew, middle)), solved)
    return of_q, matmul(b, b.emit(sub, middle, skew), r)


qr = define("qr", attrs={"full_matrices": BOOL}, operands=1, infer=_infer_qr, single=False,
            jvp=_jvp_qr, batch=batch_leading)
"""Q with orthonormal columns and upper triangular R (of real diagonal), Q R = A."""


def _infer_geqrf(types: Any, attrs: Any) -> Any:
    (x,) = types
    m, n = matrix("geqrf", x)
    return x, x.with_shape((*x.shape[:-2], min(m, n)))


geqrf = define("geqrf", operands=1, infer=_infer_geqrf, single=False, jvp=NONE,
               batch=batch_leading)
"""R above and Householder vectors below the diagonal, and the factors tau of these vectors."""


def _infer_householder_product(types: Any, attrs: Any) -> Any:
    a, taus = types
    m, n = matrix("householder_product", a)
    one_batch("householder_product", types, (2, 1))
    if m < n or taus.shape[-1] > n:
        raise IRTypeError(f"householder_product: takes as many rows as columns or more and no more "
                          f"taus than columns, got {a} and {taus}")
    return (a,)


householder_product = define("householder_product", operands=2, jvp=NONE, batch=batch_leading,
                             infer=_infer_householder_product)
"""The first columns of H1 H2 ..., Hi = I - taus[i] v v^H with v below the diagonal of column i."""


# --- tridiagonal_solve --------------------------------------------------------------------

def _infer_tridiagonal_solve(types: Any, attrs: Any) -> Any:
    rhs = types[3]
    n, _ = matrix("tridiagonal_solve", rhs)
    one_batch("tridiagonal_solve", types, (1, 1, 1, 2))
    if any(t.shape[-1] != n for t in types[:3]):
        raise IRTypeError(f"tridiagonal_solve: diagonals must have as many elements as {rhs} has "
                          f"rows, got {', '.join(map(str, types[:3]))}")
    return (rhs,)


def _rows_shifted(b: Any, x: Value, axis: int, by: int) -> Value:
    """`x` moved by one place along `axis`, a zero moving in."""
    zero = b.zeros(x.type.with_shape(()))
    low = tuple(by if d == axis else 0 for d in range(x.type.ndim))
    return b.emit(pad, x, zero, low=low, high=tuple(-n for n in low), interior=(0,) * len(low))


def _jvp_tridiagonal_solve(b: Any, op: Op, tangents: Any) -> Any:
    x, rhs = op.results[0], tangents[3]
    n = x.type.ndim
    shifted = (lambda: _rows_shifted(b, x, n - 2, 1), lambda: x,
               lambda: _rows_shifted(b, x, n - 2, -1))
    for t, rows in zip(tangents[:3], shifted, strict=True):
        if t is not None:
            wide = b.emit(broadcast_in_dim, t, shape=x.type.shape, dims=tuple(range(n - 1)))
            rhs = sum_tangents(b, rhs, b.emit(neg, b.emit(mul, wide, rows())))
    return (b.emit(tridiagonal_solve, *op.operands[:3], rhs, **op.attrs),)


def _transpose_tridiagonal_solve(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    below, diagonal, above = known[:3]
    last = diagonal.type.ndim - 1
    made = b.emit(tridiagonal_solve, _rows_shifted(b, above, last, 1), diagonal,
                  _rows_shifted(b, below, last, -1), cotangents[0], **op.attrs)
    return None, None, None, made


tridiagonal_solve = define("tridiagonal_solve", operands=4, infer=_infer_tridiagonal_solve,
                           attrs={"perturb_singular": BOOL}, jvp=_jvp_tridiagonal_solve,
                           transpose=_transpose_tridiagonal_solve, batch=batch_leading)
"""X with T X = B for tridiagonal T: operands are the diagonals below, on and above, and B. Row i
has below[i], diagonal[i], above[i]; the first of `below` and the last of `above` are not read.
Solutions of singular T are NaN; with `perturb_singular` pivots near 0 are moved by about eps times
the greatest element of U."""
