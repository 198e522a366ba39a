"""Linear algebra built on factorisations: decompositions, solutions, determinants, ranks.

Matrices are in the last two axes. Integers become floats; half precision has no factorisations.
The names are public in `linalg.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from xfront_ir import dtypes, ops

from ..base.errors import MatrixShapeError
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import (
    broadcast_shapes,
    broadcast_to,
    check_ranks,
    convert,
    index_of,
    operand,
    promote_inexact,
)
from ..lax import factorizations as lax
from ..lax.implicit import custom_linear_solve
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..transforms.custom_jvp import custom_jvp
from .arithmetic import absolute, add, divide, multiply, sign, square, subtract
from .complexes import conj, real
from .contractions import exact_matmul
from .creation import astype, zeros_like
from .diagonals import diagonal
from .logic import equal, greater, greater_equal, logical_and
from .manipulation import expand_dims, matrix_transpose, moveaxis, ravel, reshape
from .positions import take_along_axis
from .reductions import prod, sum
from .sorting import argsort
from .transcendental import log
from .ufuncs import lying_like, shaped, where


class SVDResult(NamedTuple):
    """U, singular values, V^H."""

    U: Array
    S: Array
    Vh: Array


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and vectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Eigenvalues and vectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """Signs of determinants (phases of complex ones) and logarithms of their magnitudes."""

    sign: Array
    logabsdet: Array


def matrices(name: str, a: Any, square: bool = False) -> Tracer:
    (x,) = promote_inexact(name, a)
    return lax.matrices(name, x, square)


def _identity(x: Tracer) -> Tracer:
    """Identity matrices in the shape of these square matrices."""
    made = x.home.lift(np.eye(x.shape[-1], dtype=x.value.type.dtype.numpy))
    return lying_like(broadcast_to(made, x.shape), x)


# --- decompositions -----------------------------------------------------------------------

@eager(static=("upper", "symmetrize_input"))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L L^H = a (or L^H, with `upper`); NaN where a is not positive
    definite.

    Args:
      symmetrize_input: whether to factor (a + a^H) / 2; otherwise only one triangle is read, the
        upper one with `upper`.
    Raises: ValueError where the matrices are not square.
    Source: `numpy.linalg.cholesky`.

    >>> jnp.linalg.cholesky(jnp.array([[4., 2.], [2., 2.]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    x = matrices("cholesky", a, square=True)
    if upper and not symmetrize_input:
        x = lax.adjoint(x)
    made = lax.cholesky(x, symmetrize_input=symmetrize_input)
    return lax.adjoint(as_tracer(made)) if upper else made


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete", "raw"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult: ...
@eager(static=("mode",))
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Q and R with Q R = a.

    Args:
      mode: "reduced" (or "full") for as many columns of Q as a's smaller side, "complete" for a
        square Q, "r" for R alone, "raw" for LAPACK's vectors (transposed) and factors.
    Raises: ValueError for other modes.
    Source: `numpy.linalg.qr`.

    >>> jnp.abs(jnp.linalg.qr(jnp.array([[3., 1.], [4., 1.]])).R)
    Array([[5. , 1.4],
           [0. , 0.2]], dtype=float32)
    """
    x = matrices("qr", a)
    if mode == "raw":
        vectors, taus = emit(ops.geqrf, x)
        return QRResult(lax.transposed(vectors), taus)
    if mode not in ("reduced", "complete", "r", "full"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}': it must be 'reduced', "
                         "'complete', 'r' or 'full'")
    q, r = lax.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@overload
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: Literal[True] = True,
        hermitian: bool = False, subset_by_index: tuple[int, int] | None = None) -> SVDResult: ...
@overload
def svd(a: ArrayLike, full_matrices: bool = True, *, compute_uv: Literal[False],
        hermitian: bool = False, subset_by_index: tuple[int, int] | None = None) -> Array: ...
@overload
def svd(a: ArrayLike, full_matrices: bool, compute_uv: Literal[False], hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Array: ...
@overload
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Array | SVDResult: ...
@eager(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Array | SVDResult:
    """U, singular values (descending) and V^H: a = U diag(s) V^H.

    Args:
      full_matrices: whether U and V are square.
      compute_uv: whether to compute U and V; otherwise only the values are returned.
      hermitian: promises that `a` is Hermitian, and computes from its eigenvalues.
      subset_by_index: the range (first, end) of the values to return; None for all.
    Source: `numpy.linalg.svd`.

    >>> jnp.linalg.svd(jnp.array([[3., 0.], [0., 4.]])).S
    Array([4., 3.], dtype=float32)
    """
    x = matrices("svd", a, square=hermitian)
    if not hermitian:
        made = lax.svd(x, full_matrices=full_matrices, compute_uv=compute_uv,
                       subset_by_index=subset_by_index)
        return SVDResult(*made) if isinstance(made, tuple) else made
    vectors, values = lax.eigh(x)
    order = argsort(absolute(values), descending=True)
    values = take_along_axis(values, order, -1)
    if not compute_uv:
        return absolute(values)
    u = take_along_axis(vectors, expand_dims(order, -2), -1)
    turned = multiply(u, expand_dims(sign(values), -2))
    return SVDResult(u, absolute(values), lax.adjoint(as_tracer(turned)))


@eager
def svdvals(x: ArrayLike, /) -> Array:
    """Singular values, descending. Source: `numpy.linalg.svdvals`.

    >>> jnp.linalg.svdvals(jnp.array([[3., 0.], [0., 4.]]))
    Array([4., 3.], dtype=float32)
    """
    return lax.svd(matrices("svdvals", x), compute_uv=False)


def _lower(uplo: Any) -> bool:
    if uplo not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {uplo}")
    return uplo != "U"


@eager(static=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues, ascending, and vectors (columns) of Hermitian matrices.

    Args:
      UPLO: the triangle that is read, "L" or "U", where `symmetrize_input` is False.
      symmetrize_input: whether to use (a + a^H) / 2.
    Source: `numpy.linalg.eigh`.

    >>> jnp.linalg.eigh(jnp.array([[2., 1.], [1., 2.]])).eigenvalues
    Array([1., 3.], dtype=float32)
    """
    vectors, values = lax.eigh(matrices("eigh", a, square=True), lower=_lower(UPLO),
                               symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@eager(static=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues, ascending, of Hermitian matrices; as `eigh`. Source: `numpy.linalg.eigvalsh`.

    >>> jnp.linalg.eigvalsh(jnp.array([[2., 1.], [1., 2.]]))
    Array([1., 3.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@eager
def eig(a: ArrayLike) -> EigResult:
    """Complex eigenvalues and vectors (columns of norm 1), in no particular order.

    Derivatives of vectors have to be asked for: `lax.linalg.eig(x, enable_eigvec_derivs=True)`.

    Source: `numpy.linalg.eig`.

    >>> jnp.linalg.eig(jnp.array([[2., 0.], [0., 1.]])).eigenvalues
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    x = matrices("eig", a, square=True)
    return EigResult(*lax.eig(x, compute_left_eigenvectors=False))


@eager
def eigvals(a: ArrayLike) -> Array:
    """Complex eigenvalues, in no particular order. Source: `numpy.linalg.eigvals`.

    >>> jnp.linalg.eigvals(jnp.array([[2., 0.], [0., 1.]]))
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    return lax.eig(matrices("eigvals", a, square=True), compute_left_eigenvectors=False,
                   compute_right_eigenvectors=False)[0]


# --- solutions ----------------------------------------------------------------------------

def lu_solved(factors: Tracer, order: Tracer, b: Tracer, trans: int = 0) -> Tracer:
    """X with A X = b (trans 0), A^T X = b (1) or A^H X = b (2), from A's factors; same batches."""
    if trans == 0:
        b = _rows(b, order)
        b = as_tracer(lax.triangular_solve(factors, b, left_side=True, lower=True,
                                           unit_diagonal=True))
        return as_tracer(lax.triangular_solve(factors, b, left_side=True))
    how: dict[str, bool] = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    b = as_tracer(lax.triangular_solve(factors, b, **how))
    b = as_tracer(lax.triangular_solve(factors, b, lower=True, unit_diagonal=True, **how))
    return _rows(b, argsort(order))


def _rows(x: Tracer, order: Any) -> Tracer:
    """The rows of matrices in the order of a permutation."""
    if not x.size:
        return x
    return as_tracer(take_along_axis(x, expand_dims(order, -1), -2, mode="promise_in_bounds"))


def one_batch(name: str, x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    """Two arrays of matrices with their leading axes broadcast."""
    lead = broadcast_shapes(name, (x.shape[:-2], y.shape[:-2]))
    return broadcast_to(x, (*lead, *x.shape[-2:])), broadcast_to(y, (*lead, *y.shape[-2:]))


@eager
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """X with a X = b.

    Args:
      a: square matrices.
      b: one vector, or matrices; leading axes broadcast.
    Raises: ValueError where shapes do not match.
    Source: `numpy.linalg.solve`.

    >>> jnp.linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 4.]))
    Array([1., 1.], dtype=float32)
    """
    a, b = promote_inexact("solve", a, b)
    lax.matrices("solve", a, square=True)
    if b.ndim == 0 or (b.ndim < 2 and b.shape[0] != a.shape[-1]) or (
            b.ndim >= 2 and b.shape[-2] != a.shape[-1]):
        hint = ("; for a batch of vectors write solve(a, b[..., None])[..., 0]"
                if b.ndim == a.ndim - 1 > 1 else "")
        raise ValueError(f"solve: b must be a vector of {a.shape[-1]} elements or have matrices of "
                         f"{a.shape[-1]} rows, got shapes {a.shape} and {b.shape}{hint}")
    vector = b.ndim == 1
    check_ranks("solve", a.shape, b.shape, cores=(2, 1 if vector else 2))
    if vector:
        b = expand_dims(b, -1)
    factors, _, order = [as_tracer(v) for v in lax.lu(a)]
    a, b = one_batch("solve", as_tracer(a), as_tracer(b))
    factors, order = broadcast_to(factors, a.shape), broadcast_to(order, a.shape[:-1])
    made = custom_linear_solve(lambda x: exact_matmul(a, x), b,    # its slope needs no slope of lu
                               lambda _, y: lu_solved(factors, order, y),
                               lambda _, y: lu_solved(factors, order, y, 1))
    return shaped(made, made.shape[:-1]) if vector else made


@eager
def inv(a: ArrayLike) -> Array:
    """Inverses of square matrices; infinite or NaN where they are singular.

    Raises: ValueError where they are not square.
    Source: `numpy.linalg.inv`.

    >>> jnp.linalg.inv(jnp.array([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    x = matrices("inv", a, square=True)
    return solve(x, _identity(x))


def _epsilon(x: Tracer) -> float:
    return float(np.finfo(x.value.type.dtype.numpy).eps)


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
          ) -> tuple[Array, Array, Array, Array]:
    """The x of least norm among those that minimise the norm of a x - b.

    Args:
      a: one matrix [m, n].
      b: a vector [m] or a matrix [m, k].
      rcond: singular values below `rcond` times the greatest, and 0, count as zero; None or -1
        for eps times the longer side.
      numpy_resid: whether to leave residuals out where NumPy does, which needs a known rank.
    Returns: x, the sums of squares of a x - b for each column, the rank, the singular values.
    Raises: ValueError where shapes do not match.
    Source: `numpy.linalg.lstsq`.

    >>> jnp.linalg.lstsq(jnp.array([[1., 0.], [0., 2.]]), jnp.array([1., 4.]))[0]
    Array([1., 2.], dtype=float32)
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    if numpy_resid:
        m, n = np.shape(a)
        if m <= n or int(rank) < n:
            residuals = residuals[:0]
    return x, residuals, rank, s


@eager(static=("rcond",))
def _lstsq(a: Any, b: Any, rcond: float | None) -> Any:
    a, b = promote_inexact("lstsq", a, b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise MatrixShapeError("lstsq takes a matrix a, and for b a vector or a matrix with as "
                               f"many rows, got shapes {a.shape} and {b.shape}")
    columns = expand_dims(b, -1) if b.ndim == 1 else b
    m, n = a.shape
    u, s, vh = [as_tracer(v) for v in lax.svd(a, full_matrices=False)]
    limit = _epsilon(a) * max(m, n) if rcond is None or rcond < 0 else float(rcond)
    kept = greater(s, 0)
    if s.shape[0]:
        kept = logical_and(kept, greater_equal(s, multiply(broadcast_to(_first(s), s.shape),
                                                           limit)))
    inverse = where(kept, divide(1.0, where(kept, s, 1.0)), 0.0)
    inner = multiply(expand_dims(inverse, -1), exact_matmul(lax.adjoint(u), columns))
    x = exact_matmul(lax.adjoint(vh), inner)
    residuals = sum(square(absolute(subtract(columns, exact_matmul(a, x)))), 0)
    return ravel(x) if b.ndim == 1 else x, residuals, sum(kept), s


def _first(s: Tracer) -> Tracer:
    """The greatest singular values, with their axis kept."""
    return emit(ops.slice, s, starts=(0,) * s.ndim, limits=(*s.shape[:-1], 1),
                strides=(1,) * s.ndim)


@eager(static=("hermitian",))
def pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *,
         rcond: ArrayLike | None = None) -> Array:
    """Pseudo-inverses: singular values below `rtol` (or `rcond`) times the greatest count as zero.

    Args:
      rtol: a scalar, or one for each matrix; None for 10 eps times the longer side.
      hermitian: promises that the matrices are Hermitian.
    Raises: ValueError where both limits are given.
    Source: `numpy.linalg.pinv`.

    >>> jnp.linalg.pinv(jnp.array([[2., 0.], [0., 0.]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: rtol and rcond are the same limit; give one of them")
    x = matrices("pinv", a)
    if not x.value.type.size:
        return x.home.literal(np.zeros((), x.value.type.dtype.numpy),
                              (*x.shape[:-2], x.shape[-1], x.shape[-2]))
    limit = rcond if rtol is None else rtol
    if limit is None:
        limit = 10.0 * max(x.shape[-2:]) * _epsilon(x)
    return _pinv(x, operand("pinv", limit), bool(hermitian))


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _pinv(x: Any, limit: Any, hermitian: bool) -> Any:
    u, s, vh = svd(x, False, True, hermitian)
    cutoff = multiply(expand_dims(astype(limit, s.dtype), -1), s[..., :1])
    kept = greater(s, cutoff)
    inverse = where(kept, divide(1.0, where(kept, s, 1.0)), 0.0)
    return exact_matmul(_adjoint(vh), multiply(expand_dims(inverse, -1), _adjoint(u)))


@_pinv.defjvp
def _pinv_jvp(hermitian: bool, primals: Any, tangents: Any) -> Any:
    """P' = -P A' P + P P^H A'^H (I - A P) + (I - P A) A'^H P^H P, whatever A's singular values.

    Source: Golub and Pereyra, The differentiation of pseudo-inverses, 1973.
    """
    (a, limit), moving = primals, tangents[0]
    p = _pinv(a, limit, hermitian)
    back, ph = _adjoint(moving), _adjoint(p)
    left, right = exact_matmul(exact_matmul(p, ph), back), exact_matmul(back, exact_matmul(ph, p))
    change = subtract(left, exact_matmul(left, exact_matmul(a, p)))
    change = add(change, subtract(right, exact_matmul(p, exact_matmul(a, right))))
    return p, subtract(change, exact_matmul(exact_matmul(p, moving), p))


def _adjoint(x: Any) -> Any:
    return conj(matrix_transpose(x))


@eager(static=("hermitian",))
def matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False,
                tol: ArrayLike | None = None) -> Array:
    """How many singular values are greater than `rtol` times the greatest.

    Args:
      rtol: a scalar, or one for each matrix; None for eps times the longer side.
      tol: the limit itself, in place of `rtol` times the greatest value; None to use `rtol`.
    Raises: ValueError where both limits are given.
    Source: `numpy.linalg.matrix_rank`.

    >>> jnp.linalg.matrix_rank(jnp.array([[1., 2.], [2., 4.]]))
    Array(1, dtype=int32)
    """
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: tol is the limit and rtol a part of the greatest singular "
                         "value; give one of them")
    (x,) = promote_inexact("matrix_rank", M)
    if x.ndim < 2:
        nonzero = x != x.home.literal(np.zeros((), x.value.type.dtype.numpy), x.shape)
        return convert(emit(ops.reduce_or, nonzero, axes=tuple(range(x.ndim))),
                       operand("matrix_rank", 0).value.type.dtype)
    s = as_tracer(svd(x, False, False, hermitian))
    if not s.shape[-1]:
        return sum(s != s, -1)
    if tol is not None:
        limit = expand_dims(convert(operand("matrix_rank", tol), s.value.type.dtype), -1)
    else:
        rtol = max(x.shape[-2:]) * _epsilon(x) if rtol is None else rtol
        rtol = convert(operand("matrix_rank", rtol), s.value.type.dtype)
        limit = multiply(expand_dims(rtol, -1), _first(s))
    return sum(greater(s, limit), -1)


# --- determinants -------------------------------------------------------------------------

def _element(x: Tracer, i: int, j: int) -> Tracer:
    starts = (*[0] * (x.ndim - 2), i, j)
    limits = (*x.shape[:-2], i + 1, j + 1)
    made = emit(ops.slice, x, starts=starts, limits=limits, strides=(1,) * x.ndim)
    return shaped(made, x.shape[:-2])


def _small(x: Tracer, rows: tuple[int, ...], columns: tuple[int, ...]) -> Tracer:
    """The determinant of a block, expanded along its first row."""
    if len(rows) == 1:
        return _element(x, rows[0], columns[0])
    total = None
    for k, column in enumerate(columns):
        rest = _small(x, rows[1:], (*columns[:k], *columns[k + 1:]))
        term = _element(x, rows[0], column) * rest
        total = term if total is None else emit(ops.sub if k % 2 else ops.add, total, term)
    assert total is not None
    return total


def _factored(x: Tracer) -> tuple[Tracer, Tracer]:
    """U's diagonal, and 1 or -1 for an even or odd number of row exchanges."""
    factors, pivots, _ = [as_tracer(v) for v in lax.lu(x)]
    own = x.home.lift(np.arange(x.shape[-1], dtype=np.int32))
    moved = pivots != broadcast_to(own, pivots.shape)
    dtype = factors.value.type.dtype
    parity = where(moved, np.asarray(-1, dtype.numpy), np.asarray(1, dtype.numpy))
    return as_tracer(diagonal(factors, 0, -2, -1)), as_tracer(prod(parity, -1))


@eager
def det(a: ArrayLike) -> Array:
    """Determinants of square matrices; those of narrow floats are computed in float32.

    Raises: ValueError where they are not square.
    Source: `numpy.linalg.det`.

    >>> jnp.linalg.det(jnp.array([[2., 1.], [1., 3.]]))
    Array(5., dtype=float32)
    """
    (x,) = promote_inexact("det", a)
    dtype = x.value.type.dtype
    if dtype.bits < 32:
        return convert(as_tracer(det(convert(x, dtypes.f32))), dtype)
    x = lax.matrices("det", x, square=True)
    n = x.shape[-1]
    if 1 <= n <= 3:
        return _small(x, tuple(range(n)), tuple(range(n)))
    values, parity = _factored(x)
    return multiply(parity, prod(values, -1))


@eager(static=("method",))
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Signs of determinants and logarithms of their magnitudes; 0 and -inf where they are 0.

    Args:
      method: None or "lu", or "qr" for real matrices.
    Raises: ValueError where the matrices are not square, and for other methods;
      NotImplementedError for "qr" of complex matrices.
    Source: `numpy.linalg.slogdet`.

    >>> jnp.linalg.slogdet(jnp.array([[1., 2.], [3., 4.]])).sign
    Array(-1., dtype=float32)
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be None, 'lu' or 'qr', got {method!r}")
    x = matrices("slogdet", a, square=True)
    if method == "qr":
        if x.value.type.dtype.is_complex:
            raise NotImplementedError("slogdet: method='qr' only takes real matrices, got "
                                      f"{x.value.type}; use method='lu'")
        return SlogdetResult(*_slogdet_qr(x))
    return SlogdetResult(*_slogdet_lu(x))


@custom_jvp
def _slogdet_lu(x: Any) -> Any:
    values, parity = _factored(x)
    return multiply(parity, prod(sign(values), -1)), sum(log(absolute(values)), -1)


@_slogdet_lu.defjvp
def _slogdet_lu_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    turn, size = _slogdet_lu(x)                  # the trace of X^-1 X' is the slope of log(det X)
    moved = sum(diagonal(solve(x, t), axis1=-2, axis2=-1), -1)
    if not x.value.type.dtype.is_complex:
        return (turn, size), (zeros_like(turn), moved)
    return (turn, size), (multiply(turn, subtract(moved, real(moved))), real(moved))


@custom_jvp
def _slogdet_qr(x: Any) -> Any:
    """`slogdet` by Householder reflections, each of which flips the determinant's sign."""
    factors, scales = emit(ops.geqrf, x)
    values = diagonal(factors, axis1=-2, axis2=-1)
    turns = where(equal(scales, 0), 1.0, -1.0)
    return (multiply(prod(turns, -1), prod(sign(values), -1)), sum(log(absolute(values)), -1))


@_slogdet_qr.defjvp
def _slogdet_qr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    made = _slogdet_qr(x)
    moved = sum(diagonal(solve(x, t), axis1=-2, axis2=-1), -1)
    return made, (zeros_like(made[0]), moved)


# --- tensors ------------------------------------------------------------------------------

@eager(static=("ind",))
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of tensordot(a, ., ind). Source: `numpy.linalg.tensorinv`.

    >>> jnp.linalg.tensorinv(2 * jnp.eye(2), ind=1)
    Array([[0.5, 0. ],
           [0. , 0.5]], dtype=float32)
    """
    (x,) = promote_inexact("tensorinv", a)
    ind = index_of(ind)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be a positive integer; got {ind=}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    made = inv(reshape(x, (math.prod(rows), math.prod(columns))))
    return reshape(made, (*columns, *rows))


@eager(static=("axes",))
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """x with tensordot(a, x, x.ndim) = b. Source: `numpy.linalg.tensorsolve`.

    >>> jnp.linalg.tensorsolve(jnp.eye(4).reshape(4, 2, 2), jnp.arange(4.)).shape
    (2, 2)
    """
    a, b = promote_inexact("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    wanted = a.shape[b.ndim:]
    if a.shape[:b.ndim] != b.shape or math.prod(wanted) != b.value.type.size:
        raise ValueError("tensorsolve: a must have the shape of b followed by axes with b's number "
                         f"of elements in all, got shapes {a.shape} and {b.shape}")
    return reshape(solve(reshape(a, (b.value.type.size, math.prod(wanted))), ravel(b)), wanted)


__all__ = ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
           "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensorinv",
           "tensorsolve"]
