"""Functions of matrices built on other operations: rank-one updates, products, the polar form."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.errors import MatrixShapeError
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import operand
from ..lax import factorizations as linalg
from ..lax.control_flow import cond, scan, while_loop
from ..lax.strict import ints, same_dtype
from ..tracing.tracer import as_tracer


def _real(name: str, *matrices: Any) -> list[Any]:
    made = same_dtype(name, *matrices)
    if not all(jnp.issubdtype(x.dtype, jnp.floating) for x in made):
        raise TypeError(f"{name} does not accept dtype {made[0].dtype}; it takes arrays of floats")
    return made


@eager
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper triangular S with S^T S = R^T R + w w^T, in O(n^2).

    Args:
      r_matrix: floats [n, n], upper triangular; elements below the diagonal are not read.
      w_vector: floats [n].
    Returns: S, [n, n], with a positive diagonal, even where that of R is not.
    Raises: TypeError for other dtypes, ValueError where sizes do not match.
    Source: Golub and Van Loan, Matrix Computations, 6.5.4: one rotation a row.

    >>> lax.linalg.cholesky_update(jnp.eye(2), jnp.array([1., 0.]))
    Array([[1.414, 0.   ],
           [0.   , 1.   ]], dtype=float32)
    """
    r, w = _real("cholesky_update", r_matrix, w_vector)
    n = r.shape[-1] if r.ndim == 2 else -1
    if r.shape != (n, n) or w.shape != (n,):
        raise MatrixShapeError("cholesky_update takes a square matrix and a vector of its size, "
                               f"got shapes {r.shape} and {w.shape}")

    def rotate(w: Any, given: Any) -> Any:
        row, k = given
        here, other = row[k], w[k]
        length = jnp.hypot(here, other)
        still = length == 0
        safe = jnp.where(still, 1, length)
        c, s = jnp.where(still, 1, here / safe), other / safe
        return c * w - s * row, c * row + s * w

    _, rows = scan(rotate, w, (jnp.triu(r), np.arange(n, dtype=np.int32)))
    return jnp.triu(rows)


@eager(static=("symmetrize_output",))
def symmetric_product(a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: ArrayLike = 1.0,
                      beta: ArrayLike = 0.0, symmetrize_output: bool = False) -> Array:
    """alpha A A^T + beta C.

    Args:
      a_matrix: floats, [..., n, k].
      c_matrix: floats, [..., n, n].
      symmetrize_output: whether the lower triangle is copied to the upper one.
    Raises: TypeError for other dtypes, ValueError where shapes do not match.
    Source: BLAS, syrk.

    >>> lax.linalg.symmetric_product(jnp.array([[1., 2.]]), jnp.zeros((1, 1)))
    Array([[5.]], dtype=float32)
    """
    a, c = _real("symmetric_product", a_matrix, c_matrix)
    if a.ndim < 2 or c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError("symmetric_product takes matrices of shapes [..., n, k] and [..., n, n], "
                         f"got {a.shape} and {c.shape}")
    product = jnp.matmul(a, jnp.matrix_transpose(a), precision="highest")
    made = (alpha * product + beta * c).astype(a.dtype)
    if not symmetrize_output:
        return made
    return jnp.tril(made) + jnp.matrix_transpose(jnp.tril(made, -1))


@eager(static=("is_hermitian", "max_iterations", "eps", "dynamic_shape"))
def qdwh(x: ArrayLike, *, is_hermitian: bool = False, max_iterations: int | None = None,
         eps: float | None = None, dynamic_shape: tuple[int, int] | None = None
         ) -> tuple[Array, Array, Array, Array]:
    """The polar form U H of a matrix, by Halley's iteration with dynamic weights.

    Args:
      x: [m, n] with m >= n, float or complex.
      is_hermitian: a promise that x is Hermitian; the iteration is the same either way.
      max_iterations: the most iterations to make; None for 10.
      eps: the precision to reach; None for that of the dtype.
      dynamic_shape: the number of (rows, columns) of x that are used; other elements are taken for
        zeros. None for all.
    Returns: U with orthonormal columns, H Hermitian and positive semidefinite, the number of
      iterations (i32), and whether they converged.
    Raises: ValueError where x has more columns than rows or is not a matrix.
    Source: Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar
      decomposition, SIAM J. Matrix Anal. Appl. 31 (2010).

    >>> lax.linalg.qdwh(jnp.diag(jnp.array([1., 2.])))[1]
    Array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    x = as_tracer(linalg.matrices("qdwh", operand("qdwh", x)))
    if x.ndim != 2 or x.shape[0] < x.shape[1]:
        raise ValueError("qdwh: the input matrix of shape M x N must have M >= N, got "
                         f"{x.shape}; take its adjoint, or vmap over a batch")
    if dynamic_shape is not None:
        rows, columns = ints("dynamic_shape", dynamic_shape)
        inside = (np.arange(x.shape[0])[:, None] < rows) & (np.arange(x.shape[1]) < columns)
        x = as_tracer(jnp.where(inside, x, 0))
    real = np.finfo(x.dtype)
    eps = float(real.eps) if eps is None else float(eps)
    most = 10 if max_iterations is None else int(max_iterations)
    bound = jnp.sqrt(jnp.linalg.norm(x, 1) * jnp.linalg.norm(x, np.inf)) if x.size else 1.0
    first = x / jnp.where(bound > 0, bound, 1).astype(x.dtype)

    def goes_on(carry: Any) -> Any:
        _, _, count, done = carry
        return (count < most) & ~done

    def step(carry: Any) -> Any:
        u, low, count, _ = carry
        a, b, c = _weights(low)
        moved = cond(c > 100, _by_qr, _by_cholesky, u, a, b, c)
        after = low * (a + b * low ** 2) / (1 + c * low ** 2)
        small = jnp.linalg.norm(moved - u) < (4 * eps) ** (1 / 3)
        return moved, after, count + 1, small & (jnp.abs(1 - after) < 10 * eps)

    start = (first, jnp.asarray(eps, real.dtype), jnp.asarray(0, np.int32), jnp.asarray(False))
    u, _, count, done = while_loop(goes_on, step, start)
    h = jnp.matmul(linalg.adjoint(u), x, precision="highest")
    return u, linalg.symmetrized(as_tracer(h)), count, done


def _weights(low: Any) -> tuple[Any, Any, Any]:
    """The weights of an iteration where no singular value is below `low`."""
    squared = low ** 2
    d = jnp.cbrt(4 * (1 / squared - 1) / squared)
    root = jnp.sqrt(1 + d)
    a = root + jnp.sqrt(8 - 4 * d + 8 * (2 - squared) / (squared * root)) / 2
    b = (a - 1) ** 2 / 4
    return a, b, a + b - 1


def _by_qr(u: Any, a: Any, b: Any, c: Any) -> Any:
    """b/c U + (a - b/c) / sqrt(c) Q1 Q2^H, where [sqrt(c) U; 1] is [Q1; Q2] R."""
    m, n = u.shape
    wide = jnp.concatenate([jnp.sqrt(c).astype(u.dtype) * u, jnp.eye(n, dtype=u.dtype)])
    q, _ = linalg.qr(wide, full_matrices=False)
    product = jnp.matmul(q[:m], linalg.adjoint(as_tracer(q[m:])), precision="highest")
    return (b / c).astype(u.dtype) * u + ((a - b / c) / jnp.sqrt(c)).astype(u.dtype) * product


def _by_cholesky(u: Any, a: Any, b: Any, c: Any) -> Any:
    """b/c U + (a - b/c) U (1 + c U^H U)^-1; as exact as `_by_qr` where c is small."""
    gram = jnp.matmul(linalg.adjoint(u), u, precision="highest")
    factor = linalg.cholesky(jnp.eye(u.shape[1], dtype=u.dtype) + c.astype(u.dtype) * gram)
    solved = linalg.triangular_solve(factor, u, left_side=False, lower=True, transpose_a=True,
                                     conjugate_a=True)
    solved = linalg.triangular_solve(factor, solved, left_side=False, lower=True)
    return (b / c).astype(u.dtype) * u + (a - b / c).astype(u.dtype) * solved


__all__ = ["cholesky_update", "qdwh", "symmetric_product"]
