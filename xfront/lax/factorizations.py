"""Factorisations of matrices in the last two axes; all axes before are batches.

Elements are f32, f64, c64 or c128. Where an algorithm fails the result is NaN. On CPU these are
LAPACK's kernels. Derivatives are those of `xfront_ir/ops/linalg.py` and `eigen.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from xfront_ir import dtypes, ops

from ..base.errors import MatrixDtypeError, MatrixShapeError
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import index_of, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from ..values.arguments import only
from .strict import ints, same_dtype

_SUPPORTED = (dtypes.f32, dtypes.f64, dtypes.c64, dtypes.c128)


def matrices(name: str, x: Any, square: bool = False) -> Tracer:
    """The tracer of an array of matrices.

    Raises: MatrixShapeError (a TypeError and a ValueError) for other shapes, TypeError for integers
      and bools, MatrixDtypeError (a NotImplementedError and a TypeError) for other dtypes.
    """
    x = operand(name, x)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        wanted = "[..., n, n]" if square else "[..., m, n]"
        raise MatrixShapeError(f"Argument to {name} must have shape {wanted}, got {x.shape}.")
    dtype = x.value.type.dtype
    if dtype not in _SUPPORTED:
        kind = MatrixDtypeError if dtype.is_inexact else TypeError
        raise kind(f"{name} takes f32, f64, c64 or c128, got {x.value.type}; convert it first")
    return x


def transposed(x: Tracer) -> Tracer:
    """Rows and columns exchanged."""
    n = x.ndim
    return emit(ops.transpose, x, permutation=(*range(n - 2), n - 1, n - 2))


def adjoint(x: Tracer) -> Tracer:
    """The conjugate transpose."""
    made = transposed(x)
    return emit(ops.conj, made) if made.value.type.dtype.is_complex else made


def symmetrized(x: Tracer) -> Tracer:
    """(x + x^H) / 2."""
    half = x.home.literal(np.asarray(0.5, x.value.type.dtype.numpy), x.shape)
    return (x + adjoint(x)) * half


class EigImplementation(enum.Enum):
    """How `eig` may be computed; this library has LAPACK, on CPU.

    >>> x = jnp.array([[0., 1.], [2., 1.]])
    >>> lax.linalg.eig(x, implementation=lax.linalg.EigImplementation.LAPACK)[0]
    Array([-1.+0.j,  2.+0.j], dtype=complex64)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """How `eigh` may be computed; this library has QR (LAPACK's), on CPU.

    >>> x = jnp.array([[2., 1.], [1., 2.]])
    >>> lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.QR)[1]
    Array([1., 3.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """How `svd` may be computed; this library has LAPACK's divide and conquer, on CPU.

    >>> x = jnp.array([[3., 0.], [4., 5.]])
    >>> lax.linalg.svd(x, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.DEFAULT)
    Array([6.708, 2.236], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _chosen(name: str, asked: Any, *there: enum.Enum | None) -> None:
    """Refuse an implementation that this library does not have. Raises: NotImplementedError."""
    if asked is not None and asked not in there:
        listed = ", ".join(str(one) for one in there)
        raise NotImplementedError(f"{name}: implementation {asked} is not available; use {listed}")


@eager(static=("symmetrize_input",))
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L L^H = x; NaN where x is not positive definite.

    Args:
      symmetrize_input: whether to factor (x + x^H) / 2; otherwise only the lower triangle of x is
        read.

    >>> lax.linalg.cholesky(jnp.array([[4., 2.], [2., 2.]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    x = matrices("cholesky", x, square=True)
    return emit(ops.cholesky, symmetrized(x) if symmetrize_input else x)


@eager(static=("lower", "symmetrize_input", "sort_eigenvalues", "subset_by_index",
               "implementation"))
def eigh(x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True,
         sort_eigenvalues: bool = True, subset_by_index: tuple[int, int] | None = None,
         implementation: str | EighImplementation | None = None) -> tuple[Array, Array]:
    """Vectors (columns) and values, ascending, of Hermitian matrices.

    Args:
      lower: whether the lower triangle is read, where `symmetrize_input` is False.
      sort_eigenvalues: False allows any order; they are always ascending.
      subset_by_index: the range (first, end) of the values to return; None for all.
    Raises: NotImplementedError for implementations other than QR.

    >>> lax.linalg.eigh(jnp.array([[2., 0.], [0., 3.]]))[1]
    Array([2., 3.], dtype=float32)
    """
    _chosen("eigh", implementation, EighImplementation.QR)
    x = matrices("eigh", x, square=True)
    vectors, values = emit(ops.eigh, symmetrized(x) if symmetrize_input else x, lower=lower)
    if subset_by_index is not None:
        vectors, values = (_part(v, subset_by_index) for v in (vectors, values))
    return vectors, values


def _part(x: Tracer, bounds: tuple[int, int]) -> Tracer:
    """Elements first to end (left out) of the last axis."""
    first, end = ints("subset_by_index", bounds)
    if not 0 <= first <= end <= x.shape[-1]:
        raise ValueError(f"subset_by_index {bounds} must lie in [0, {x.shape[-1]}]")
    starts = (*[0] * (x.ndim - 1), first)
    return emit(ops.slice, x, starts=starts, limits=(*x.shape[:-1], end), strides=(1,) * x.ndim)


def _no_magma(name: str, use_magma: bool | None) -> None:
    if use_magma is not None:
        only(name, False, "the library MAGMA is not used", use_magma=bool(use_magma))


@eager(static=("compute_left_eigenvectors", "compute_right_eigenvectors", "enable_eigvec_derivs",
               "implementation", "use_magma"))
def eig(x: ArrayLike, *, compute_left_eigenvectors: bool = True,
        compute_right_eigenvectors: bool = True, enable_eigvec_derivs: bool = False,
        implementation: str | EigImplementation | None = None, use_magma: bool | None = None
       ) -> list[Array]:
    """Complex eigenvalues and, as asked, left and right vectors (columns of norm 1), in a list.

    The greatest element of a vector is real. Values have a derivative; vectors have one with
    `enable_eigvec_derivs`, valid where no two eigenvalues are equal and no two elements tie for the
    greatest of a vector. Raises: NotImplementedError for an implementation that is not
    LAPACK.

    >>> lax.linalg.eig(jnp.diag(jnp.array([1., 2.])))[0]
    Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    _chosen("eig", implementation, EigImplementation.LAPACK)
    _no_magma("eig", use_magma)
    x = matrices("eig", x, square=True)
    return list(emit(ops.eig, x, left=bool(compute_left_eigenvectors),
                     right=bool(compute_right_eigenvectors),
                     vector_derivatives=bool(enable_eigvec_derivs)))


@eager
def lu(x: ArrayLike) -> list[Array]:
    """Factors, pivots and permutation, in a list: x's rows in the order of the permutation are L U.

    L is below the diagonal of the factors (its own is ones), U above; row i was exchanged with
    row pivots[i].

    >>> lax.linalg.lu(jnp.array([[2., 1.], [4., 3.]]))[0]
    Array([[ 4. ,  3. ],
           [ 0.5, -0.5]], dtype=float32)
    """
    return list(emit(ops.lu, matrices("lu", x)))


@eager(static=("permutation_size",))
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The order of `permutation_size` rows after the exchanges that `pivots` (i32) describes.

    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([1, 1]), 2)
    Array([1, 0], dtype=int32)
    """
    return emit(ops.lu_pivots_to_permutation, operand("lu_pivots_to_permutation", pivots),
                size=index_of(permutation_size))


@overload
def qr(x: ArrayLike, *, pivoting: Literal[False] = False, full_matrices: bool = True,
       use_magma: bool | None = None) -> tuple[Array, Array]: ...
@overload
def qr(x: ArrayLike, *, pivoting: Literal[True], full_matrices: bool = True,
       use_magma: bool | None = None) -> tuple[Array, Array, Array]: ...
@overload
def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True,
       use_magma: bool | None = None) -> tuple[Array, ...]: ...
@eager(static=("pivoting", "full_matrices", "use_magma"))
def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True,
       use_magma: bool | None = None) -> tuple[Array, ...]:
    """Q with orthonormal columns and upper triangular R, Q R = x.

    Args:
      full_matrices: whether Q is square; otherwise it has min(m, n) columns.
      use_magma: None or False.
    Raises: NotImplementedError for `pivoting` and for MAGMA.

    >>> lax.linalg.qr(jnp.array([[3., 1.], [4., 1.]]))[1].shape
    (2, 2)
    """
    _no_magma("qr", use_magma)
    if pivoting:
        raise NotImplementedError("qr: pivoting=True is not available; leave it out")
    q, r = emit(ops.qr, matrices("qr", x), full_matrices=bool(full_matrices))
    return q, r


@eager
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of reflections I - taus[i] v v^H, v below the diagonal of
    column i of `a`.

    >>> lax.linalg.householder_product(jnp.eye(2), jnp.zeros(2))
    Array([[ 1.,  0.],
           [-0.,  1.]], dtype=float32)
    """
    a, taus = same_dtype("householder_product", a, taus)
    a = matrices("householder_product", a)
    (m, n), lead = a.shape[-2:], a.shape[:-2]
    if m < n or taus.ndim != a.ndim - 1 or taus.shape[:-1] != lead or taus.shape[-1] > n:
        raise MatrixShapeError("householder_product takes matrices with at least as many rows as "
                               "columns, and for each at most as many taus as columns, got shapes "
                               f"{a.shape} and {taus.shape}")
    return emit(ops.householder_product, a, taus)


@eager(static=("left", "transpose"))
def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
          ) -> Array:
    """Q c, or c Q, for the Q of reflections as `geqrf` gives them, without making Q.

    Args:
      a, taus: Householder vectors below the diagonal of `a`, and their factors.
      left: whether to compute Q c; otherwise c Q.
      transpose: whether to use Q^H instead of Q.
    Raises: ValueError where shapes do not match.
    Source: LAPACK, ormqr and unmqr.

    >>> lax.linalg.ormqr(jnp.eye(2), jnp.zeros(2), jnp.ones((2, 1)))
    Array([[1.],
           [1.]], dtype=float32)
    """
    a, taus, c = same_dtype("ormqr", a, taus, c)
    a, c = matrices("ormqr", a), matrices("ormqr", c)
    side = "rows" if left else "columns"
    if c.shape[-2 if left else -1] != a.shape[-2]:
        raise MatrixShapeError(f"ormqr with left={left} expects c to have as many {side} as a has "
                               f"rows, got {a.shape} and {c.shape}")
    return emit(ops.ormqr, a, taus, c, left=bool(left), transpose=bool(transpose))


# --- similar matrices of simpler form -----------------------------------------------------

@eager(static=("compute_schur_vectors", "sort_eig_vals", "select_callable"))
def schur(x: ArrayLike, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Callable[..., Any] | None = None) -> list[Array]:
    """T and unitary Q with x = Q T Q^H, in a list; T alone without `compute_schur_vectors`.

    T is upper triangular; for a real x it has blocks of two rows on the diagonal, one for each pair
    of complex eigenvalues. There is no derivative.
    Raises: NotImplementedError for `sort_eig_vals`.

    >>> lax.linalg.schur(jnp.diag(jnp.array([1., 2.])))[0]
    Array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: sorting of eigenvalues is not available; use "
                                  "scipy.linalg.schur of SciPy")
    return list(emit(ops.schur, matrices("schur", x, square=True),
                     vectors=bool(compute_schur_vectors)))


@eager
def hessenberg(a: ArrayLike) -> list[Array]:
    """The Hessenberg form Q^H a Q, zero below its subdiagonal, and the taus of Q, in a list.

    In the place of these zeros are Q's Householder vectors (LAPACK, gehrd). No derivative.

    >>> lax.linalg.hessenberg(jnp.eye(3))[0].shape
    (3, 3)
    """
    return list(emit(ops.hessenberg, matrices("hessenberg", a, square=True)))


@eager(static=("lower",))
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Array]:
    """The tridiagonal form Q^H a Q of Hermitian matrices, of which one triangle is read.

    Returns: a list of the matrix (Q's Householder vectors in the place of zeros), the diagonal and
      the elements beside it (both real), and the taus of Q (LAPACK, sytrd, hetrd). No derivative.

    >>> lax.linalg.tridiagonal(jnp.diag(jnp.array([1., 2.])))[1]
    Array([1., 2.], dtype=float32)
    """
    return list(emit(ops.tridiagonal, matrices("tridiagonal", a, square=True), lower=bool(lower)))


@overload
def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: Literal[True] = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: str | SvdAlgorithm | None = None
       ) -> tuple[Array, Array, Array]: ...
@overload
def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: Literal[False],
        subset_by_index: tuple[int, int] | None = None, algorithm: str | SvdAlgorithm | None = None
       ) -> Array: ...
@overload
def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: str | SvdAlgorithm | None = None
       ) -> Array | tuple[Array, Array, Array]: ...
@eager(static=("full_matrices", "compute_uv", "subset_by_index", "algorithm"))
def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: str | SvdAlgorithm | None = None
       ) -> Array | tuple[Array, Array, Array]:
    """U, singular values (descending) and V^H, x = U diag(s) V^H; s alone without `compute_uv`.

    Args:
      full_matrices: whether U and V are square.
      subset_by_index: the range (first, end) of the values to return, not with `full_matrices`;
        None for all.
    Raises: NotImplementedError for the algorithms JACOBI and POLAR.

    >>> lax.linalg.svd(jnp.array([[3., 0.], [0., 4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    _chosen("svd", algorithm, SvdAlgorithm.DEFAULT, SvdAlgorithm.QR,
            SvdAlgorithm.DIVIDE_AND_CONQUER)
    x = matrices("svd", x)
    if not compute_uv:
        s = emit(ops.svd, x, full_matrices=False, compute_uv=False)[0]
        return s if subset_by_index is None else _part(s, subset_by_index)
    s, u, vh = emit(ops.svd, x, full_matrices=bool(full_matrices), compute_uv=True)
    if subset_by_index is not None:
        of_all = (0, min(x.shape[-2:]))
        if full_matrices and ints("subset_by_index", subset_by_index) != of_all:
            raise ValueError("full_matrices and subset_by_index cannot both be set")
        u, s = _part(u, subset_by_index), _part(s, subset_by_index)
        vh = transposed(_part(transposed(vh), subset_by_index))
    return u, s, vh


@eager(static=("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"))
def triangular_solve(a: ArrayLike, b: ArrayLike, *, left_side: bool = False, lower: bool = False,
                     transpose_a: bool = False, conjugate_a: bool = False,
                     unit_diagonal: bool = False) -> Array:
    """X with X op(a) = b, or op(a) X = b where `left_side`; of `a` one triangle is read.

    Args:
      b: matrices; with one axis less than `a`, vectors.
      transpose_a, conjugate_a: whether op transposes or conjugates `a`.
      unit_diagonal: whether the diagonal of `a` is taken to be ones.
    Raises: MatrixShapeError (a TypeError and a ValueError) where shapes do not match, TypeError
      where dtypes do not.

    >>> a, b = jnp.array([[2., 0.], [1., 1.]]), jnp.array([[2.], [3.]])
    >>> lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    Array([[1.],
           [2.]], dtype=float32)
    """
    a, b = same_dtype("triangular_solve", a, b)
    matrices("triangular_solve", a, square=True)
    shape = b.shape
    vector = b.ndim == a.ndim - 1
    if vector:
        shape = (*b.shape, 1) if left_side else (*b.shape[:-1], 1, b.shape[-1])
    if len(shape) != a.ndim or shape[:-2] != a.shape[:-2] or (
            shape[-2 if left_side else -1] != a.shape[-1]):
        raise MatrixShapeError(f"triangular_solve with left_side={bool(left_side)}: the shape of "
                               f"b must have a's leading axes and {a.shape[-1]} "
                               f"{'rows' if left_side else 'columns'}, got a {a.value.type} and "
                               f"b {b.value.type}")
    if vector:
        b = emit(ops.reshape, b, shape=shape)
    conjugated = conjugate_a and a.value.type.dtype.is_complex
    made = emit(ops.triangular_solve, a, b, left_side=bool(left_side), lower=bool(lower),
                transpose_a=bool(transpose_a), conjugate_a=bool(conjugated),
                unit_diagonal=bool(unit_diagonal))
    if not vector:
        return made
    return emit(ops.reshape, made, shape=(*made.shape[:-2], a.shape[-1]))


@eager(static=("perturb_singular",))
def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *,
                      perturb_singular: bool = False) -> Array:
    """X with T X = b for T with `dl` below, `d` on and `du` above its diagonal.

    Row i has dl[i], d[i], du[i]; the first of `dl` and the last of `du` are not read.

    Args:
      perturb_singular: whether to move pivots that are nearly 0 by about eps times the greatest, so
        that a singular T has a finite solution (for inverse iteration). Otherwise it is NaN.

    >>> below, diagonal, above = jnp.array([0., 1.]), jnp.array([2., 2.]), jnp.array([1., 0.])
    >>> lax.linalg.tridiagonal_solve(below, diagonal, above, jnp.array([[3.], [3.]]))
    Array([[1.],
           [1.]], dtype=float32)
    """
    return emit(ops.tridiagonal_solve, *same_dtype("tridiagonal_solve", dl, d, du, b),
                perturb_singular=bool(perturb_singular))


__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "eig", "eigh",
    "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "ormqr", "qr",
    "schur", "svd", "triangular_solve", "tridiagonal", "tridiagonal_solve",
]  # fmt: skip
