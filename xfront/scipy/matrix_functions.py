"""Simpler forms of matrices, and what is computed through them: functions of matrices, linear
equations of matrices, polar forms.

Matrices are in the last two axes; all axes before them are batches. Elements are f32, f64, c64 or
c128. Permissions are those of `scipy.linalg`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from .. import numpy as jnp
from ..binding.annotations import Array, ArrayLike
from ..binding.tracebacks import front_door
from ..composed.matrix_functions import qdwh
from ..eager.dispatch import eager
from ..eager.operands import array_like, index_of, promote_inexact
from ..lax import factorizations as lax
from ..lax.control_flow import fori_loop
from ..lax.implicit import custom_linear_solve
from ..lax.shape import stop_gradient
from ..numpy.contractions import exact_matmul
from ..tracing.tracer import Tracer
from ..transforms.custom_jvp import custom_jvp
from ..transforms.vmap import vmap
from ..values.arguments import only


def promoted(name: str, *given: Any) -> list[Tracer]:
    """The arguments in one inexact dtype. Lists are arrays, for JAX's `scipy.linalg` takes them,
    unlike its `numpy`."""
    return promote_inexact(name, *map(_listed, given))


def _listed(x: Any) -> Any:
    return jnp.asarray(x) if isinstance(x, (list, tuple)) else x


def _square(name: str, *arrays: Any) -> list[Any]:
    """Square matrices of one inexact dtype."""
    made = promoted(name, *arrays)
    for x in made:
        lax.matrices(name, x, square=True)
    return made


def _complex(x: Any) -> Any:
    return x.astype(jnp.result_type(x.dtype, np.complex64))


def _each(f: Callable[..., Any], *arrays: Any) -> Any:
    """`f`, a function of single matrices, mapped over the batch axes."""
    for _ in range(arrays[0].ndim - 2):
        f = vmap(f)
    return f(*arrays)


def _adjoint(x: Any) -> Any:
    return jnp.conj(jnp.matrix_transpose(x))


def _columns(triangle: Any, shift: Callable[[Any], Any], right: Callable[[Any, Any], Any],
             start: Any) -> Any:
    """`start` with the columns above its diagonal filled in, from the left: the first j elements
    of column j solve (triangle(made) + shift(j) I) x = right(made, j), and are 0 where the
    diagonal is."""
    n = start.shape[-1]
    rows = np.arange(n)

    def column(j: Any, made: Any) -> Any:
        above = rows < j
        matrix = jnp.triu(triangle(made)) + shift(j) * jnp.eye(n, dtype=made.dtype)
        solid = above & (jnp.diagonal(matrix) != 0)
        matrix = jnp.where(solid[:, None] & above, matrix, jnp.eye(n, dtype=made.dtype))
        x = lax.triangular_solve(matrix, jnp.where(solid, right(made, j), 0), left_side=True)
        return made.at[:, j].set(jnp.where(above, x, made[:, j]))

    return fori_loop(0, n, column, start)


# --- similar matrices ---------------------------------------------------------------------

@eager(static=("output",))
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """T and unitary Z with a = Z T Z^H, T upper triangular; for "real" output of real matrices T is
    real, with a block of two rows for each pair of complex eigenvalues.

    There is no derivative.
    Raises: ValueError for other outputs and matrices that are not square.
    Source: `scipy.linalg.schur`.

    >>> linalg.schur(jnp.diag(jnp.array([1., 2.])))[0]
    Array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (x,) = _square("schur", a)
    t, z = lax.schur(_complex(x) if output == "complex" else x)
    return t, z


@eager(static=("check_finite",))
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex Schur form (upper triangular T) of the real one, whose T is upper triangular but
    for blocks of two rows; these may be complex.

    Raises: ValueError for matrices that are not square or differ in size.
    Source: Golub and Van Loan, Matrix Computations, 7.4.1: a rotation for each block of two rows;
      `scipy.linalg.rsf2csf`.
    Permissions, as above: `check_finite`.

    >>> linalg.rsf2csf(jnp.eye(2), jnp.eye(2))[0]
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 1.+0.j]], dtype=complex64)
    """
    t, z = promoted("rsf2csf", T, Z)
    for x, name in ((z, "Z"), (t, "T")):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Input '{name}' must be square, got shape {x.shape}.")
    if t.shape != z.shape:
        raise ValueError(f"Input arrays must match: T has shape {t.shape}, but Z has shape "
                         f"{z.shape}")
    return _each(_to_complex, _complex(t), _complex(z))


def _to_complex(t: Any, z: Any) -> Any:
    n, eps = t.shape[-1], float(jnp.finfo(t.dtype).eps)

    def rotate(i: Any, given: Any) -> Any:
        t, z = given
        m = n - 1 - i
        pair = jnp.stack([m - 1, m])
        (a, b), (c, d) = t[pair][:, pair]
        coupled = jnp.abs(c) > eps * (jnp.abs(a) + jnp.abs(d))
        half = (a - d) / 2
        mu = half + jnp.sqrt(half * half + b * c)
        length = jnp.where(coupled, jnp.hypot(jnp.abs(mu), jnp.abs(c)), 1)
        cos = jnp.where(coupled, mu / length, 1)
        sin = jnp.where(coupled, c / length, 0)
        turn = jnp.stack([jnp.stack([jnp.conj(cos), jnp.conj(sin)]), jnp.stack([-sin, cos])])
        t = t.at[pair].set(exact_matmul(turn, t[pair]))
        t = t.at[:, pair].set(exact_matmul(t[:, pair], _adjoint(turn)))
        z = z.at[:, pair].set(exact_matmul(z[:, pair], _adjoint(turn)))
        return t.at[m, m - 1].set(0), z

    if n < 2:
        return t, z
    return fori_loop(0, n - 1, rotate, (t, z))


@overload
def hessenberg(a: ArrayLike, *, calc_q: Literal[False] = False, overwrite_a: bool = False,
               check_finite: bool = True) -> Array: ...
@overload
def hessenberg(a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = False,
               check_finite: bool = True) -> tuple[Array, Array]: ...
@overload
def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False,
               check_finite: bool = True) -> Array | tuple[Array, Array]: ...
@eager(static=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False,
               check_finite: bool = True) -> Array | tuple[Array, Array]:
    """H, zero below its subdiagonal, with a = Q H Q^H; with `calc_q` (H, Q).

    There is no derivative.
    Raises: ValueError for matrices that are not square.
    Source: LAPACK, gehrd; `scipy.linalg.hessenberg`.
    Permissions, as above: `overwrite_a`, `check_finite`.

    >>> linalg.hessenberg(jnp.eye(3)).shape
    (3, 3)
    """
    (x,) = _square("hessenberg", a)
    n = x.shape[-1]
    if n < 2:
        q = jnp.broadcast_to(jnp.eye(n, dtype=x.dtype), x.shape)
        return (x, q) if calc_q else x
    packed, taus = lax.hessenberg(x)
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    inner = lax.householder_product(packed[..., 1:, :-1], taus)
    first = jnp.broadcast_to(jnp.eye(1, n, dtype=x.dtype), (*x.shape[:-2], 1, n))
    return h, jnp.concatenate([first, jnp.pad(inner, [(0, 0)] * (x.ndim - 1) + [(1, 0)])], -2)


@overload
def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: Literal[False] = False,
                     select: str = "a", select_range: tuple[Any, Any] | None = None,
                     tol: float | None = None, key: ArrayLike | None = None
                    ) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: Literal[True], select: str = "a",
                     select_range: tuple[Any, Any] | None = None, tol: float | None = None,
                     key: ArrayLike | None = None) -> Array: ...
@overload
def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[Any, Any] | None = None, tol: float | None = None,
                     key: ArrayLike | None = None) -> Array | tuple[Array, Array]: ...
@front_door
def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[Any, Any] | None = None, tol: float | None = None,
                     key: ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """Eigenvalues, ascending, and vectors (columns) of symmetric matrices with three diagonals.

    They are those of `eigh` of the whole matrix, with its derivatives.

    Args:
      d, e: the diagonal, [..., n], and the elements beside it, [..., n - 1]; for complex `e` (and
        `d`, whose real part is used) only the values are available.
      eigvals_only: whether to return only the values.
      select: "a" for all, "i" for those with numbers in `select_range`, both ends included.
      tol: not used; it would allow errors of this size.
      key: not used; it would be the source of random starts of an iteration.
    Raises: ValueError for another `select` and ranges that are empty or outside; TypeError where
      sizes or dtypes do not match; NotImplementedError for "v", and complex vectors.
    Source: `scipy.linalg.eigh_tridiagonal`.

    >>> linalg.eigh_tridiagonal(jnp.array([1., 2.]), jnp.array([0.]), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal: select must have a value in 'a', 'i', 'v', got "
                         f"{select!r}")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select='v' is not supported, since the number "
                                  "of results would depend on the values; use select='a' and a "
                                  "mask")
    bounds = None
    if select == "i":
        if select_range is None:
            raise ValueError("eigh_tridiagonal: for select='i', select_range must be specified")
        low, high = [index_of(i, "eigh_tridiagonal: select_range") for i in select_range]
        bounds = low, high
    elif select_range is not None:
        only("eigh_tridiagonal", None, "write select='i'", select_range=select_range)
    return _eigh_tridiagonal(d, e, bool(eigvals_only), bounds)


@eager(static=("eigvals_only", "bounds"))
def _eigh_tridiagonal(d: Any, e: Any, eigvals_only: bool, bounds: Any) -> Any:
    (d,), (e,) = promoted("eigh_tridiagonal", d), promoted("eigh_tridiagonal", e)
    if d.dtype != e.dtype:
        raise TypeError(f"eigh_tridiagonal: diagonal and off-diagonal values must have the same "
                        f"dtype, got {d.dtype} and {e.dtype}")
    n = d.shape[-1] if d.ndim else 0
    if not d.ndim or e.shape != (*d.shape[:-1], max(n - 1, 0)):
        raise TypeError(f"eigh_tridiagonal: e must have one element less than d, got shapes "
                        f"{d.shape} and {e.shape}")
    if jnp.issubdtype(d.dtype, jnp.complexfloating):
        if not eigvals_only:
            raise NotImplementedError("eigh_tridiagonal: eigenvectors of complex matrices are not "
                                      "supported; pass eigvals_only=True, or use eigh")
        d, e = jnp.real(d), jnp.abs(e)
    below = jnp.pad(e, [(0, 0)] * (e.ndim - 1) + [(1, 0)]) if n else e
    matrix = jnp.where(np.eye(n, dtype=bool), jnp.expand_dims(d, -1),
                       jnp.where(np.eye(n, k=-1) == 1, jnp.expand_dims(below, -1), 0))
    matrix = jnp.where(np.eye(n, k=1) == 1, jnp.matrix_transpose(matrix), matrix)
    vectors, values = lax.eigh(matrix, symmetrize_input=True)
    if bounds is not None:
        low, high = bounds
        if not 0 <= low <= high < n:
            raise ValueError(f"eigh_tridiagonal: select_range {bounds} must be ascending and lie "
                             f"in [0, {n})")
        values, vectors = values[..., low:high + 1], vectors[..., low:high + 1]
    return values if eigvals_only else (values, vectors)


# --- linear equations of matrices -----------------------------------------------------------

@front_door
def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur",
                    tol: ArrayLike = 1e-8) -> Array:
    """X with A X + X B = C.

    Args:
      A, B: square matrices [..., m, m] and [..., n, n].
      C: matrices [..., m, n].
      method: "schur", or "eigen" for A and B with independent eigenvectors.
      tol: the distance of an eigenvalue of A from one of -B below which all of X is NaN.
    Raises: ValueError for other methods and shapes that do not match.
    Source: Bartels and Stewart 1972; `scipy.linalg.solve_sylvester`.

    >>> linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), 2 * jnp.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    return _solve_sylvester(A, B, C, tol, method)


@eager(static=("method",))
def _solve_sylvester(A: Any, B: Any, C: Any, tol: Any, method: str) -> Any:
    a, b, c = promoted("solve_sylvester", A, B, C)
    if (min(a.ndim, b.ndim, c.ndim) < 2 or a.shape[-1] != a.shape[-2]
            or b.shape[-1] != b.shape[-2] or c.shape[-2:] != (a.shape[-1], b.shape[-1])):
        raise ValueError(f"Incompatible shapes for Sylvester equation: A: {a.shape}, B: {b.shape}, "
                         f"C: {c.shape}; they must be [..., m, m], [..., n, n], [..., m, n]")
    outer = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = [jnp.broadcast_to(x, (*outer, *x.shape[-2:])) for x in (a, b, c)]
    return _each(lambda a, b, c: sylvester(a, b, c, tol, method), a, b, c)


def sylvester(a: Any, b: Any, c: Any, tol: Any = 0.0, method: str = "schur") -> Any:
    """X with a X + X b = c, for single matrices of the same dtype."""
    solver = _by_schur if method == "schur" else _by_eigenvectors
    return custom_linear_solve(
        lambda x: exact_matmul(a, x) + exact_matmul(x, b), c,
        lambda _, y: solver(a, b, y, tol),
        lambda _, y: solver(jnp.matrix_transpose(a), jnp.matrix_transpose(b), y, tol))


def _known(x: Any, sums: Any, tol: Any, like: Any) -> Any:
    """`x` in the dtype of `like`; NaN where a sum of eigenvalues is nearly 0."""
    x = jnp.where((jnp.abs(sums) < tol).any(), np.nan, x)
    return x.astype(like.dtype) if jnp.iscomplexobj(like) else jnp.real(x).astype(like.dtype)


def _by_schur(a: Any, b: Any, c: Any, tol: Any) -> Any:
    r, u = lax.schur(_complex(a))
    s, v = lax.schur(_complex(b))
    f = exact_matmul(exact_matmul(_adjoint(u), _complex(c)), v)
    m, n = c.shape
    one = jnp.eye(m, dtype=r.dtype)

    def column(k: Any, y: Any) -> Any:
        done = jnp.where(np.arange(n) < k, s[:, k], 0)
        right = f[:, k] - exact_matmul(y, done)
        return y.at[:, k].set(lax.triangular_solve(r + s[k, k] * one, right, left_side=True))

    y = fori_loop(0, n, column, jnp.zeros_like(f))
    x = exact_matmul(exact_matmul(u, y), _adjoint(v))
    return _known(x, jnp.diagonal(r)[:, None] + jnp.diagonal(s), tol, c)


def _by_eigenvectors(a: Any, b: Any, c: Any, tol: Any) -> Any:
    p, u = lax.eig(a, compute_left_eigenvectors=False)
    q, v = lax.eig(b, compute_left_eigenvectors=False)
    sums = p[:, None] + q
    y = jnp.linalg.solve(u, exact_matmul(_complex(c), v)) / sums
    x = jnp.linalg.solve(v.T, exact_matmul(u, y).T).T
    return _known(x, sums, tol, c)


# --- functions of matrices ------------------------------------------------------------------

@eager(static=("blocksize",))
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The principal square root of square matrices: complex, with eigenvalues of positive real
    part. Its derivative solves X dX + dX X = dA.

    Args:
      blocksize: 1, the only value.
    Raises: ValueError for matrices that are not square; NotImplementedError for blocks.
    Source: Björck and Hammarling 1983; Higham, Functions of Matrices, 2008, algorithm 6.3;
      `scipy.linalg.sqrtm`.

    >>> linalg.sqrtm(jnp.array([[4., 0.], [0., 9.]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    only("sqrtm", 1, "the block size does not change the result", blocksize=blocksize)
    (x,) = _square("sqrtm", A)
    return _each(_root, _complex(x))


@custom_jvp
def _root(a: Any) -> Any:
    t, z = lax.schur(a)
    start = jnp.sqrt(jnp.diagonal(t))
    root = _columns(lambda made: made, lambda j: start[j], lambda _, j: t[:, j], jnp.diag(start))
    return exact_matmul(exact_matmul(z, root), _adjoint(z))


@_root.defjvp
def _root_jvp(primals: Any, tangents: Any) -> Any:
    root = _root(*primals)
    return root, sylvester(root, root, tangents[0])


@overload
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: Literal[True] = True) -> Array: ...
@overload
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: Literal[False]) -> tuple[Array, Array]: ...
@overload
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True
        ) -> Array | tuple[Array, Array]: ...
@front_door
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True
        ) -> Array | tuple[Array, Array]:
    """A function of square matrices, from its values at their eigenvalues; the result is complex.

    It is inexact where eigenvalues are equal or close. There is no derivative.

    Args:
      func: a function of vectors that works on each element.
      disp: whether to return the result alone; False for (result, estimate of its error).
    Raises: ValueError for matrices that are not square.
    Source: Parlett 1976; Golub and Van Loan, Matrix Computations, 9.1.4; `scipy.linalg.funm`.

    >>> linalg.funm(jnp.diag(jnp.array([1., 2.])), jnp.exp)
    Array([[2.718+0.j, 0.   +0.j],
           [0.   +0.j, 7.389+0.j]], dtype=complex64)
    """
    x = jnp.asarray(array_like("funm", _listed(A)))
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x = x.astype(float)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"funm: expected square array_like input, got shape {x.shape}")
    made, error = _each(lambda x: _of_matrix(x, func), _complex(x))
    return made if disp else (made, error)


def _of_matrix(x: Any, func: Callable[[Any], Any]) -> Any:
    t, z = lax.schur(x)
    n, diagonal = x.shape[-1], jnp.diagonal(t)
    values = jnp.asarray(func(diagonal)).astype(x.dtype)
    f = _columns(lambda _: t, lambda j: -diagonal[j],
                 lambda made, j: exact_matmul(made, jnp.where(np.arange(n) < j, t[:, j], 0))
                 - values[j] * t[:, j], jnp.diag(values))
    eps = float(jnp.finfo(x.dtype).eps)
    gaps = jnp.abs(diagonal[:, None] - diagonal)
    none = float(jnp.finfo(x.dtype).max)     # stands for infinity, as results of ops stay finite
    gaps = jnp.where(np.tri(n, k=-1, dtype=bool) & (gaps > 0), gaps, none)
    least = jnp.min(gaps, initial=none)
    least = jnp.where(least == none, 1, least)
    norm = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), 0), initial=0)
    error = jnp.minimum(1, jnp.maximum(eps, eps / least * norm))
    error = jnp.where(jnp.isfinite(f).all(), error, np.inf).astype(jnp.finfo(x.dtype).dtype)
    return exact_matmul(exact_matmul(z, f), _adjoint(z)), error


# --- polar forms, products with Q -------------------------------------------------------------

@eager(static=("side", "method", "eps", "max_iterations"))
def polar(a: ArrayLike, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
          max_iterations: int | None = None) -> tuple[Array, Array]:
    """U with orthonormal columns or rows and Hermitian P: a = U P, or P U for the "left" side.

    Args:
      method: "svd", or "qdwh", an iteration of products, for [m, n] with m >= n on the right side
        and m <= n on the left.
      eps, max_iterations: only for "qdwh", as in `lax.linalg.qdwh`.
    Raises: ValueError for other sides and methods; NotImplementedError for other shapes.
    Source: Nakatsukasa, Bai and Gygi 2010; Higham, 2008, chapter 8; `scipy.linalg.polar`.

    >>> linalg.polar(jnp.array([[2., 0.], [0., 3.]]))[1]
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: the argument `side` must be 'right' or 'left', got {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: unknown polar decomposition method {method!r}; it must be 'qdwh' "
                         "or 'svd'")
    (x,) = promoted("polar", a)
    x = lax.matrices("polar", x)
    if method == "svd":
        only("polar", None, "method='svd' has no iteration", eps=eps, max_iterations=max_iterations)
        u, s, vh = jnp.linalg.svd(x, full_matrices=False)
        half = vh if side == "right" else _adjoint(u)
        return exact_matmul(u, vh), exact_matmul(_adjoint(half), jnp.expand_dims(s, -1) * half)
    m, n = x.shape[-2:]
    if (m < n) if side == "right" else (m > n):
        raise NotImplementedError(f"polar: method='qdwh' with side={side!r} does not support "
                                  f"matrices of shape {(m, n)}; pass method='svd'")

    def parts(x: Any) -> Any:
        u, h, _, _ = qdwh(x, eps=eps, max_iterations=max_iterations)
        return u, h

    if side == "right":
        return _each(parts, x)
    u, h = _each(parts, _adjoint(x))
    return _adjoint(u), h


@eager(static=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(a: ArrayLike, c: ArrayLike, mode: str = "right", pivoting: bool = False,
                conjugate: bool = False, overwrite_a: bool = False, overwrite_c: bool = False
                ) -> tuple[Array, ...]:
    """(c Q, R) for the Q and R of `qr(a, mode="economic")`; (Q c, R) for the mode "left".

    Args:
      c: matrices, or a vector: a row on the left of Q, a column on its right.
      pivoting: whether columns are permuted, as in `qr`; the permutation is a third result.
      conjugate: whether to use conj(Q) instead of Q.
    Raises: ValueError for other modes and shapes that do not match.
    Source: `scipy.linalg.qr_multiply`.
    Permissions, as above: `overwrite_a`, `overwrite_c`.

    >>> linalg.qr_multiply(jnp.eye(2), jnp.ones((2, 2)))[0].shape
    (2, 2)
    """
    if mode not in ("right", "left"):
        raise ValueError(f"qr_multiply: mode must be 'right' or 'left', got {mode!r}")
    x, c = promoted("qr_multiply", a, c)
    lax.matrices("qr_multiply", x)
    order = pivots(x) if pivoting else None
    q, r = lax.qr(x if order is None else permuted(x, order), full_matrices=False)
    q = jnp.conj(q) if conjugate else q
    inner = q.shape[-2] if mode == "right" else q.shape[-1]
    have = c.shape[-1 if mode == "right" or c.ndim == 1 else -2] if c.ndim else 0
    if have != inner:
        what = f"c @ Q: Q has {inner} rows" if mode == "right" else f"Q @ c: Q has {inner} columns"
        raise ValueError(f"qr_multiply: shapes {x.shape} of a and {c.shape} of c do not allow the "
                         f"product {what}")
    made = exact_matmul(c, q) if mode == "right" else exact_matmul(q, c)
    return (made, r) if order is None else (made, r, order)


def permuted(x: Any, order: Any) -> Any:
    """The columns of matrices in the given orders."""
    return jnp.take_along_axis(x, jnp.expand_dims(order, -2), -1)


def pivots(x: Any) -> Any:
    """The order (i32) of columns for a QR decomposition with pivoting: next comes the column with
    the longest part orthogonal to those before it.

    Source: Golub and Van Loan, Matrix Computations, 5.4.2; LAPACK, geqp3.
    """
    def one(x: Any) -> Any:
        m, n = x.shape

        def choose(k: Any, given: Any) -> Any:
            rest, order = given
            lengths = jnp.sum(jnp.abs(rest) ** 2, 0)
            j = jnp.argmax(jnp.where(np.arange(n) < k, -1, lengths))
            swap, back = jnp.stack([k, j]), jnp.stack([j, k])
            rest, order = rest.at[:, swap].set(rest[:, back]), order.at[swap].set(order[back])
            length = jnp.sqrt(jnp.sum(jnp.abs(rest[:, k]) ** 2))
            q = rest[:, k] / jnp.where(length == 0, 1, length)
            return rest - jnp.outer(q, exact_matmul(jnp.conj(q), rest)), order

        return fori_loop(0, min(m, n), choose, (x, jnp.arange(n, dtype=np.int32)))[1]

    return _each(one, stop_gradient(x))


__all__ = ["eigh_tridiagonal", "funm", "hessenberg", "polar", "qr_multiply",
           "rsf2csf", "schur", "solve_sylvester", "sqrtm"]
