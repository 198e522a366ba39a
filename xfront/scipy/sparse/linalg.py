"""Solvers of linear systems that use only products with the matrix.

Vectors are trees of arrays. Solutions are differentiated through the system
(`custom_linear_solve`), not the iterations, so each derivative is one more solution. There is no
derivative in the preconditioner, as the solution does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...base.on_demand import shown as _shown
from ...base.trees import tree_leaves, tree_map, tree_structure
from ...binding.annotations import ArrayLike
from ...binding.tracebacks import front_door
from ...eager.operands import array_like, index_of, is_array_like
from ...lax.control_flow import fori_loop, while_loop
from ...lax.implicit import custom_linear_solve
from ...transforms.autodiff import linear_transpose
from ...transforms.raveling import ravel_pytree

Map = Callable[[Any], Any]


# --- trees as vectors ---------------------------------------------------------------------

def _dot(x: Any, y: Any) -> Any:
    """The sum of conj(x) y."""
    parts = [jnp.vdot(a, b, precision="highest")
             for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True)]
    return sum(parts[1:], parts[0])


def _square(x: Any) -> Any:
    """The squared length."""
    return jnp.real(_dot(x, x))


def _plus(x: Any, factor: Any, y: Any) -> Any:
    """x + factor y, in x's dtypes."""
    return tree_map(lambda a, b: (a + factor * b).astype(a.dtype), x, y)


def _minus(x: Any, y: Any) -> Any:
    return tree_map(lambda a, b: a - b, x, y)


def _apply(A: Map, x: Any) -> Any:
    """A x in x's dtypes, where that loses nothing."""
    def fitted(of_x: Any, made: Any) -> Any:
        if jnp.result_type(of_x, made) == of_x.dtype:
            return jnp.asarray(made).astype(of_x.dtype)
        return made                                # custom_linear_solve raises the error

    made = A(x)
    if tree_structure(made) != tree_structure(x):
        return made
    return tree_map(fitted, x, made)


# --- arguments ----------------------------------------------------------------------------

def _operator(name: str, A: Any) -> Map:
    """The map x -> A x, where A is a function, a matrix or a sparse matrix."""
    if callable(A):
        return A
    if hasattr(A, "todense"):                    # a sparse array has its own product
        if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"{name}: linear operator must be a square matrix, but has shape: "
                             f"{A.shape}")
        return lambda x: A @ x
    if not is_array_like(A):
        raise TypeError(f"{name}: linear operator must be either a function or ndarray, got {A!r}")
    matrix = jnp.asarray(A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: linear operator must be a square matrix, but has shape: "
                         f"{matrix.shape}")
    return lambda x: jnp.matmul(matrix, x, precision="highest")


def _vectors(name: str, A: Any, b: Any, x0: Any) -> tuple[Any, Any]:
    """The right side and the start, in inexact dtypes and one structure."""
    matrix = () if callable(A) else (A.data if hasattr(A, "todense") else A,)

    def inexact(x: Any) -> Any:
        x = array_like(name, x)
        dtype = jnp.result_type(x, *matrix)
        if not jnp.issubdtype(dtype, jnp.inexact):
            dtype = jnp.result_type(dtype, float)
        return jnp.asarray(x, dtype)

    b = tree_map(inexact, b)
    if x0 is None:
        return b, tree_map(jnp.zeros_like, b)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(f"{name}: x0 and b must have matching tree structure: "
                         f"{tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [[np.shape(x) for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: arrays in x0 and b must have matching shapes: {shapes[0]} vs "
                         f"{shapes[1]}")

    def fitted(x: Any, wanted: Any) -> Any:
        x = jnp.asarray(array_like(name, x, "x0"))
        if jnp.issubdtype(x.dtype, jnp.complexfloating) > jnp.issubdtype(wanted.dtype,
                                                                         jnp.complexfloating):
            raise TypeError(f"{name}: x0 is complex ({x.dtype}) but b is not ({wanted.dtype}); "
                            "convert b to a complex dtype")
        return x.astype(wanted.dtype)

    return b, tree_map(fitted, x0, b)


def _limit(b: Any, tol: Any, atol: Any) -> Any:
    """The squared length of the residual at which to stop: max(tol |b|, atol) squared."""
    square = _square(b)
    return jnp.maximum(jnp.square(tol) * square, jnp.square(atol)).astype(square.dtype)


def _turns(name: str, maxiter: Any, b: Any) -> int:
    if maxiter is None:
        return 10 * sum(x.size for x in tree_leaves(b))
    return index_of(maxiter, f"{name}: maxiter")


def _known(x: Any, r: Any) -> Any:
    """`x`, or NaN where its residual is NaN: a loop ends there as if the residual were small."""
    return tree_map(lambda leaf: jnp.where(jnp.isnan(_square(r)), np.nan, leaf), x)


Solver = Callable[[Map, Any, Any, Map], Any]


def _solved(name: str, solver: Solver, A: Any, b: Any, x0: Any, M: Any, symmetric: bool) -> Any:
    """The result of a solver (of A, b, x0 and M), differentiated through the system.

    The transposed system is solved from 0 with the transposed preconditioner.
    """
    product = _operator(name, A)
    b, x0 = _vectors(name, A, b, x0)
    if not tree_leaves(b):
        return b
    nearly = (lambda x: x) if M is None else _operator(f"{name}: M", M)

    def preconditioned(x: Any) -> Any:
        return _apply(nearly, x)

    def solve(matvec: Map, rhs: Any) -> Any:
        return solver(lambda x: _apply(matvec, x), rhs, x0, preconditioned)

    def transpose_solve(vecmat: Map, rhs: Any) -> Any:
        transposed = linear_transpose(preconditioned, rhs)
        return solver(vecmat, rhs, tree_map(jnp.zeros_like, rhs), lambda x: transposed(x)[0])

    real = not any(jnp.issubdtype(x.dtype, jnp.complexfloating) for x in tree_leaves(b))
    return custom_linear_solve(lambda x: _apply(product, x), b, solve, transpose_solve,
                               symmetric=symmetric and real)


# --- conjugate gradients ------------------------------------------------------------------

@front_door
def cg(A: Any, b: Any, x0: Any = None, *, tol: ArrayLike = 1e-5, atol: ArrayLike = 0.0,
       maxiter: int | None = None, M: Any = None) -> tuple[Any, None]:
    """x with A x = b for Hermitian, positive definite A, by conjugate gradients.

    Args:
      A: a linear function from trees like `b` to trees like `b`, or a square matrix.
      b: the right side: a tree of arrays. Integers become floats.
      x0: the tree to start from, like `b`; None for zeros.
      tol, atol: stop where the norm of the residual b - A x is at most max(tol |b|, atol).
      maxiter: the most products with A to make; None for ten times the size of b.
      M: the preconditioner, an approximation of A's inverse, Hermitian and positive definite: a
        function as `A`, or a matrix. None for none.
    Returns: (x, None).
    Raises: TypeError for another A; ValueError for matrices that are not square, and where x0 and b
      differ in structure or shapes.
    Source: Hestenes and Stiefel 1952; Saad, Iterative Methods for Sparse Linear Systems, 2003,
      algorithm 9.1; `scipy.sparse.linalg.cg`.

    >>> A, b = jnp.array([[4., 1.], [1., 3.]]), jnp.array([6., 7.])
    >>> x, _ = sparse.linalg.cg(A, b)
    >>> x
    Array([1., 2.], dtype=float32)
    """
    def solver(A: Map, b: Any, x0: Any, M: Map) -> Any:
        limit, turns = _limit(b, tol, atol), _turns("cg", maxiter, b)

        def unfinished(state: Any) -> Any:
            _, r, _, _, k = state
            return (_square(r) > limit) & (k < turns)

        def step(state: Any) -> Any:
            x, r, p, gamma, k = state
            Ap = A(p)
            alpha = gamma / jnp.real(_dot(p, Ap))
            x, r = _plus(x, alpha, p), _plus(r, -alpha, Ap)
            z = M(r)
            after = jnp.real(_dot(r, z))
            return x, r, _plus(z, after / gamma, p), after, k + 1

        r = _minus(b, A(x0))
        z = M(r)
        return _known(*while_loop(unfinished, step, (x0, r, z, jnp.real(_dot(r, z)), 0))[:2])

    return _solved("cg", solver, A, b, x0, M, symmetric=M is None), None


# --- stabilised biconjugate gradients ------------------------------------------------------

@front_door
def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: ArrayLike = 1e-5, atol: ArrayLike = 0.0,
             maxiter: int | None = None, M: Any = None) -> tuple[Any, None]:
    """x with A x = b by stabilised biconjugate gradients, preconditioned from the right.

    The arguments are those of `cg`, but A and M only have to be linear; each
    turn has two products with A.

    Returns: (x, None).
    Raises: as `cg`.
    Source: van der Vorst 1992; Saad, 2003, algorithm 7.7; `scipy.sparse.linalg.bicgstab`.

    >>> A, b = jnp.array([[4., 1.], [0., 3.]]), jnp.array([6., 6.])
    >>> x, _ = sparse.linalg.bicgstab(lambda x: A @ x, b)
    >>> x
    Array([1., 2.], dtype=float32)
    """
    def solver(A: Map, b: Any, x0: Any, M: Map) -> Any:
        limit, turns = _limit(b, tol, atol), _turns("bicgstab", maxiter, b)

        def unfinished(state: Any) -> Any:
            _, r, _, rho, _, k = state
            return (_square(r) > limit) & (k < turns) & (rho != 0)

        def step(state: Any) -> Any:
            x, r, p, rho, shadow, k = state
            p_hat = M(p)
            v = A(p_hat)
            alpha = rho / _dot(shadow, v)
            s = _plus(r, -alpha, v)
            half = _square(s) <= limit             # close enough without the second half
            s_hat = M(s)
            t = A(s_hat)
            length = _square(t)
            omega = jnp.where(half | (length == 0), 0, _dot(t, s) / jnp.where(
                length == 0, 1, length)).astype(rho.dtype)
            x = _plus(_plus(x, alpha, p_hat), omega, s_hat)
            r = _plus(s, -omega, t)
            after = jnp.where(omega == 0, 0, _dot(shadow, r)).astype(rho.dtype)
            beta = jnp.where(omega == 0, 0, after / rho * (alpha / jnp.where(
                omega == 0, 1, omega))).astype(rho.dtype)
            return x, r, _plus(r, beta, _plus(p, -omega, v)), after, shadow, k + 1

        r = _minus(b, A(x0))
        return _known(*while_loop(unfinished, step, (x0, r, r, _dot(r, r), r, 0))[:2])

    return _solved("bicgstab", solver, A, b, x0, M, symmetric=False), None


# --- generalised minimal residuals ---------------------------------------------------------

@front_door
def gmres(A: Any, b: Any, x0: Any = None, *, tol: ArrayLike = 1e-5, atol: ArrayLike = 0.0,
          restart: int = 20, maxiter: int | None = None, M: Any = None,
          solve_method: str = "batched") -> tuple[Any, Any]:
    """x with A x = b by generalised minimal residuals, preconditioned from the right.

    The arguments are those of `cg`, but A and M only have to be linear.

    Args:
      restart: the number of products with A before the search starts again from the x found so far;
        that many vectors are kept, but at most as many as b has elements.
      maxiter: the most times that the search starts; None for ten times the size of b.
      solve_method: "batched" makes all products before it looks at the residual, "incremental"
        looks after each and stops early.
    Returns: (x, info): info is 0, or -1 where x is NaN.
    Raises: as `cg`; ValueError for another `solve_method` or a restart below 1.
    Source: Saad and Schultz 1986; Saad, 2003, algorithms 6.9 and 9.5; `scipy.sparse.linalg.gmres`.

    >>> A, b = jnp.array([[4., 1.], [0., 3.]]), jnp.array([6., 6.])
    >>> x, _ = sparse.linalg.gmres(lambda x: A @ x, b)
    >>> x
    Array([1., 2.], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres: solve_method must be 'batched' or 'incremental', got "
                         f"{solve_method!r}")
    asked = index_of(restart, "gmres: restart")
    if asked < 1:
        raise ValueError(f"gmres: restart must be at least 1, got {asked}")

    def solver(A: Map, b: Any, x0: Any, M: Map) -> Any:
        limit, turns = _limit(b, tol, atol), _turns("gmres", maxiter, b)
        flat, unravel = ravel_pytree(b)
        start, _ = ravel_pytree(x0)
        size = min(asked, flat.size)

        def product(v: Any) -> Any:
            return ravel_pytree(A(M(unravel(v))))[0]

        def unfinished(state: Any) -> Any:
            _, r, k = state
            return (_square(r) > limit) & (k < turns)

        def step(state: Any) -> Any:
            x, r, k = state
            early = limit if solve_method == "incremental" else jnp.full_like(limit, -1)
            y = _krylov(product, r, size, early)
            x = x + ravel_pytree(M(unravel(y)))[0]
            return x, flat - ravel_pytree(A(unravel(x)))[0], k + 1

        residual = flat - ravel_pytree(A(x0))[0]
        return unravel(_known(*while_loop(unfinished, step, (start, residual, 0))[:2]))

    x = _solved("gmres", solver, A, b, x0, M, symmetric=False)
    bad = [jnp.isnan(leaf).any() for leaf in tree_leaves(x)]
    failed = sum(bad[1:], bad[0]) if bad else False
    return x, jnp.where(failed, -1, 0)


def _krylov(product: Map, r: Any, size: int, early: Any) -> Any:
    """The y in the span of the `size` vectors r, A r, ... for which r - A y is shortest.

    The basis is made orthogonal by two Gram-Schmidt sweeps; rotations make the Hessenberg matrix
    triangular as it grows, so that the residual's length is known after each product (Saad, 2003,
    section 6.5.3). It stops when that length squared is `early` or less, and when the basis is
    complete.
    """
    small = jnp.promote_types(r.dtype, np.float32)
    length = jnp.sqrt(_square(r))
    eps = float(jnp.finfo(r.dtype).eps)
    columns = np.arange(size)

    def unfinished(state: Any) -> Any:
        k, _, _, _, rhs, complete = state
        return (k < size) & ~complete & (_square(rhs[k]) > early)

    def rotated(i: Any, given: Any) -> Any:
        h, turns = given
        (c, s), (a, b) = turns[i], (h[i], h[i + 1])
        return h.at[i].set(c * a + s * b).at[i + 1].set(c * b - jnp.conj(s) * a), turns

    def step(state: Any) -> Any:
        k, basis, triangle, turns, rhs, _ = state
        w = product(basis[k])
        before = jnp.sqrt(_square(w))
        h = jnp.zeros(size + 1, r.dtype)
        for _ in range(2):
            part = jnp.matmul(jnp.conj(basis), w, precision="highest")
            w = w - jnp.matmul(part, basis, precision="highest")
            h = h + part
        rest = jnp.sqrt(_square(w))
        complete = rest <= eps * before
        rest = jnp.where(complete, 0, rest)
        basis = basis.at[k + 1].set(w / jnp.where(complete, 1, rest) * ~complete)
        h = h.at[k + 1].set(rest.astype(r.dtype)).astype(small)
        h, _ = fori_loop(0, k, rotated, (h, turns))
        size_a = jnp.abs(h[k])
        total = jnp.hypot(size_a, jnp.abs(h[k + 1]))
        still = total == 0
        phase = jnp.where(size_a == 0, 1, h[k] / jnp.where(size_a == 0, 1, size_a))
        c = jnp.where(still, 1, size_a / jnp.where(still, 1, total)).astype(small)
        s = jnp.where(still, 0, phase * jnp.conj(h[k + 1]) / jnp.where(still, 1, total)
                      ).astype(small)
        turns = turns.at[k].set(jnp.stack([c, s]))
        h = h.at[k].set(c * h[k] + s * h[k + 1])
        triangle = triangle.at[:, k].set(jnp.where(columns <= k, h[:size], 0))
        rhs = rhs.at[k + 1].set(-jnp.conj(s) * rhs[k]).at[k].set(c * rhs[k])
        return k + 1, basis, triangle, turns, rhs, complete

    basis = jnp.zeros((size + 1, r.size), r.dtype).at[0].set(
        r / jnp.where(length == 0, 1, length))
    rhs = jnp.zeros(size + 1, small).at[0].set(length.astype(small))
    k, basis, triangle, _, rhs, _ = while_loop(unfinished, step, (
        0, basis, jnp.zeros((size, size), small), jnp.zeros((size, 2), small), rhs, False))
    diagonal = jnp.diagonal(triangle)
    there = (columns < k) & (jnp.abs(diagonal) > eps * jnp.max(jnp.abs(diagonal)))
    triangle = jnp.where(there[:, None] & there, triangle, jnp.eye(size, dtype=small))

    def back(i: Any, y: Any) -> Any:
        j = size - 1 - i
        over = jnp.matmul(triangle[j], y, precision="highest")
        return y.at[j].set((jnp.where(there[j], rhs[j], 0) - over) / triangle[j, j])

    y = fori_loop(0, size, back, jnp.zeros(size, small)).astype(r.dtype)
    return jnp.matmul(y, basis[:size], precision="highest")


__all__ = ["bicgstab", "cg", "gmres"]
__dir__ = _shown(globals())
