"""Eigenpairs of symmetric operators, and solutions of sparse systems."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...base.on_demand import shown as _shown
from ...binding.tracebacks import front_door
from ...lax.callbacks import pure_callback
from ...transforms.structs import ShapeDtypeStruct

Matvec = Callable[[Any], Any]


# --- eigenpairs ---------------------------------------------------------------------------

@front_door
def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Any, Any, Any]:
    """The greatest eigenvalues of a symmetric matrix and their eigenvectors, by products alone.

    Args:
      A: a symmetric matrix of shape (n, n), or a linear function from arrays of shape (n, k) to
        arrays of that shape, which applies one.
      X: the first guess of the eigenvectors, floats of shape (n, k) with 0 < 5 k < n; its columns
        need not be orthogonal.
      m: the greatest number of iterations, at least 0.
      tol: an eigenpair (theta, u) is found where the norm of A u - theta u is less than
        10 n tol (|theta| + |A u|); None means the machine epsilon of the dtype.
    Returns: the k eigenvalues in descending order, of shape (k,), the eigenvectors in the columns
      of an array of shape (n, k), and the number of iterations as an int32.
    Raises: ValueError where shapes do not fit, where k is 0 or too large, and where the dtypes of X
      and of the products differ; TypeError where X is not an array of floats.
    Source: Knyazev, Toward the optimal preconditioned eigensolver (2001), without preconditioner;
      bases by Stathopoulos and Wu, A block orthogonalization procedure (2002).

    >>> guess = jnp.ones((12, 2)).at[0, 0].set(3.0)
    >>> values, vectors, n = linalg.lobpcg_standard(jnp.diag(jnp.arange(12.0)), guess)
    >>> values.round(3)
    Array([11., 10.], dtype=float32)
    """
    X = jnp.asarray(X)
    if X.ndim != 2 or not jnp.issubdtype(X.dtype, jnp.floating):
        raise TypeError("lobpcg_standard: X must be a matrix of floats, got an array of type "
                        f"{X.dtype}{list(X.shape)}")
    n, k = X.shape
    if not 0 < 5 * k < n:
        raise ValueError("lobpcg_standard: X must have at least one column, and less than a fifth "
                         f"as many columns as rows, got shape {X.shape}")
    matvec: Matvec = A if callable(A) else lambda x: jnp.matmul(A, x, precision="highest")
    made = jnp.shape(matvec(X)), jnp.result_type(matvec(X))
    if made != (X.shape, X.dtype):
        raise ValueError(f"lobpcg_standard: A must take {X.dtype}{list(X.shape)} to an array of "
                         f"the same type, but its product has shape {made[0]} and dtype {made[1]}")
    tol = jnp.finfo(X.dtype).eps if tol is None else tol

    def is_running(state: tuple) -> Any:
        i, _, _, _, _, found = state
        return (i < m) & ~found

    def improve(state: tuple) -> tuple:
        i, theta, U, AU, P, _ = state
        S = jnp.concatenate([U, *_added(U, AU - U * theta, P)], axis=1)
        theta, C, AS = _ritz(matvec, S, k)
        U, AU = S @ C, AS @ C
        return i + 1, theta, U, AU, S[:, k:] @ C[k:], _is_found(theta, U, AU, tol)

    U = _orthonormal(X)
    theta, C, AU = _ritz(matvec, U, k)
    state = (jnp.int32(0), theta, U @ C, AU @ C, jnp.zeros_like(U), jnp.bool_(False))
    i, theta, U, _, _, _ = lax.while_loop(is_running, improve, state)
    return theta, U, i


def _orthonormal(S: Any) -> Any:
    """Orthonormal columns that span those of S; columns too many are zero.

    The eigenvectors of SᵀS lose half of the digits of small directions, so it is done twice.
    """
    eps = jnp.finfo(S.dtype).eps
    for _ in range(2):
        size = jnp.linalg.norm(S, axis=0)
        S = S * jnp.where(size > 0, 1 / jnp.where(size > 0, size, 1), 0)
        squares, V = jnp.linalg.eigh(jnp.matmul(S.T, S, precision="highest"))
        kept = squares > eps * squares.shape[0] * squares[-1]
        S = S @ (V * jnp.where(kept, lax.rsqrt(jnp.where(kept, squares, 1)), 0))
    return S


def _added(U: Any, *blocks: Any) -> list[Any]:
    """Each block as orthonormal columns, orthogonal to U and to the blocks before."""
    made: list[Any] = []
    for block in blocks:
        for _ in range(2):
            for basis in (U, *made):
                block = block - basis @ jnp.matmul(basis.T, block, precision="highest")
            block = _orthonormal(block)
        made.append(block)
    return made


def _ritz(matvec: Matvec, S: Any, k: int) -> tuple[Any, Any, Any]:
    """The k greatest eigenvalues of SᵀAS, descending, their eigenvectors as columns, and AS.

    Columns of zeros get an eigenvalue below all others, so that they are not chosen.
    """
    AS = jnp.concatenate([matvec(S[:, i:i + k]) for i in range(0, S.shape[1], k)], axis=1)
    M = jnp.matmul(S.T, AS, precision="highest")
    below = -2 * jnp.linalg.norm(M) - 1
    M = (M + M.T) / 2 + jnp.diag(jnp.where(jnp.any(S != 0, axis=0), 0, below))
    values, V = jnp.linalg.eigh(M)
    return values[::-1][:k], V[:, ::-1][:, :k], AS


def _is_found(theta: Any, U: Any, AU: Any, tol: Any) -> Any:
    error = jnp.linalg.norm(AU - U * theta, axis=0)
    return jnp.all(error < 10 * U.shape[0] * tol * (abs(theta) + jnp.linalg.norm(AU, axis=0)))


# --- systems ------------------------------------------------------------------------------

_ORDERS = ("NATURAL", "COLAMD", "MMD_AT_PLUS_A", "MMD_ATA")
"""SuperLU's orders of columns by the number `reorder`."""


@front_door
def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6,
            reorder: int = 1) -> Any:
    """The x with A x = b, where A is a square matrix in compressed sparse rows.

    SciPy, which jaxlib brings, factorizes A on the host. It works under jit and vmap and is
    differentiable with respect to `data` and `b`.

    Args:
      data, indices, indptr: the matrix as in `BCSR`, of shapes (nse,), (nse,) and (n + 1,).
      b: the right side of shape (n,), of the dtype of `data`, a float or complex one.
      tol: 1e-6 only; other libraries take a matrix with a smaller pivot as singular.
      reorder: how columns are ordered to keep factors sparse: 0 leaves them, 1, 2 and 3 are
        COLAMD, MMD_AT_PLUS_A and MMD_ATA of SuperLU.
    Returns: x of shape (n,); NaNs where A is singular.
    Raises: ValueError where shapes or dtypes do not fit, and for another `reorder`;
      NotImplementedError for another `tol`.
    Source: `scipy.sparse.linalg.spsolve`.

    >>> A = xfront.experimental.sparse.BCSR.fromdense(jnp.array([[2.0, 0.0], [1.0, 4.0]]))
    >>> linalg.spsolve(A.data, A.indices, A.indptr, jnp.array([2.0, 9.0]))
    Array([1., 2.], dtype=float32)
    """
    data, indices, indptr, b = (jnp.asarray(x) for x in (data, indices, indptr, b))
    shapes = data.shape, indices.shape, indptr.shape, b.shape
    if any(len(s) != 1 for s in shapes) or data.shape != indices.shape or (
            indptr.shape[0] != b.shape[0] + 1):
        raise ValueError("spsolve: data, indices, indptr and b must have shapes (nse,), (nse,), "
                         f"(n + 1,) and (n,), got {', '.join(map(str, shapes))}")
    if data.dtype != b.dtype or not jnp.issubdtype(b.dtype, jnp.inexact):
        raise ValueError("spsolve: data and b must have the same float or complex dtype, got "
                         f"{data.dtype} and {b.dtype}")
    if not 0 <= reorder < len(_ORDERS):
        raise ValueError(f"spsolve: reorder must be 0, 1, 2 or 3, got {reorder!r}")
    if tol != 1e-6:
        raise NotImplementedError(f"spsolve: tol must be 1e-6, got {tol!r}: SciPy has no tolerance")
    rows = jnp.repeat(jnp.arange(b.shape[0]), jnp.diff(indptr), total_repeat_length=data.shape[0])
    stored = jnp.arange(data.shape[0]) < indptr[-1]

    def solver(transposed: bool) -> Callable[[Matvec, Any], Any]:
        def solve(_: Matvec, right: Any) -> Any:
            return pure_callback(
                partial(_solve, _ORDERS[reorder], transposed),
                ShapeDtypeStruct(right.shape, right.dtype), lax.stop_gradient(data), indices,
                indptr, right, vmap_method="sequential")

        return solve

    def matvec(x: Any) -> Any:
        products = jnp.where(stored, data * x[indices], 0)
        return jnp.zeros_like(x).at[rows].add(products, mode="drop")

    return lax.custom_linear_solve(matvec, b, solver(False), solver(True))


def _solve(order: str, transposed: bool, data: Any, indices: Any, indptr: Any, b: Any) -> Any:
    """On the host: the solution of A x = b or, transposed, of Aᵀ x = b."""
    scipy_sparse, solvers = map(import_module, ("scipy.sparse", "scipy.sparse.linalg"))
    data, indices, indptr, b = map(np.asarray, (data, indices, indptr, b))
    wide = np.result_type(data.dtype, np.float32) if data.dtype.itemsize > 2 else np.float32
    end, n = int(indptr[-1]), b.shape[0]
    flipped = scipy_sparse.csc_matrix((data[:end].astype(wide), indices[:end], indptr), (n, n))
    flipped.sum_duplicates()                     # rows taken as columns are Aᵀ
    try:
        factors = solvers.splu(flipped, permc_spec=order)
        x = factors.solve(b.astype(wide), "N" if transposed else "T")
    except RuntimeError:                         # a pivot is zero
        x = np.full(b.shape, np.nan, wide)
    return x.astype(b.dtype)


__all__ = ["lobpcg_standard", "spsolve"]
__dir__ = _shown(globals())
