"""Eigenpairs by LOBPCG and sparse systems, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.experimental import sparse
from xfront.experimental.sparse.linalg import lobpcg_standard, spsolve

RNG = np.random.default_rng(0)


def symmetric(n, eigenvalues):
    Q, _ = np.linalg.qr(RNG.normal(size=(n, n)))
    return ((Q * eigenvalues) @ Q.T).astype(np.float32)


@pytest.mark.parametrize("eigenvalues", [
    np.linspace(1, 9, 24), np.linspace(-9, -1, 24), np.geomspace(1e-4, 1e3, 24), np.ones(24),
    np.r_[np.zeros(21), 1, 2, 3]])
def test_greatest_eigenpairs(eigenvalues):
    A = symmetric(24, eigenvalues)
    values, vectors, n = lobpcg_standard(A, RNG.normal(size=(24, 3)).astype(np.float32))
    scale = abs(eigenvalues).max()
    np.testing.assert_allclose(values, np.sort(eigenvalues)[::-1][:3], atol=1e-4 * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-3 * scale)
    assert n.dtype == jnp.int32 and n <= 100


def test_operators_and_guesses_of_lower_rank():
    A = symmetric(24, np.linspace(1, 9, 24))
    found = jax.jit(lambda X: lobpcg_standard(lambda v: A @ v, X)[0])(jnp.ones((24, 2)))
    np.testing.assert_allclose(found, [9, 9 - 8 / 23], rtol=1e-4)
    start = lobpcg_standard(A, jnp.ones((24, 2)), m=0)
    assert start[2] == 0 and start[0][0] < 9
    assert lobpcg_standard(A, jnp.ones((24, 2)), tol=1.0)[2] == 1


def rows(dense):
    made = sparse.BCSR.fromdense(jnp.asarray(dense))
    return made.data, made.indices, made.indptr


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16"])
def test_systems(dtype):
    A = (np.diag(np.arange(1, 7)) + (RNG.uniform(size=(6, 6)) < 0.3)).astype(dtype)
    b = RNG.normal(size=6).astype(dtype)
    rtol = 1e-2 if dtype == "float16" else 1e-5
    wide = np.result_type(dtype, np.float32)
    for reorder in range(4):
        x = spsolve(*rows(A), b, reorder=reorder)
        assert x.dtype == dtype
        expected = np.linalg.solve(A.astype(wide), b.astype(wide))
        np.testing.assert_allclose(x, expected, rtol=rtol, atol=rtol)


def test_systems_under_transformations():
    A = np.diag(np.arange(1.0, 6)).astype(np.float32)
    A[0, 2], A[4, 1] = 5, -2
    data, indices, indptr = rows(A)
    places = np.nonzero(A)

    def solved(data, b):
        return (spsolve(data, indices, indptr, b) ** 2).sum()

    def expected(data, b):
        return (jnp.linalg.solve(jnp.zeros((5, 5)).at[places].set(data), b) ** 2).sum()

    b = jnp.arange(5.0)
    for ours, dense in zip(jax.jit(jax.grad(solved, (0, 1)))(data, b),
                           jax.grad(expected, (0, 1))(data, b), strict=True):
        np.testing.assert_allclose(ours, dense, rtol=1e-4, atol=1e-5)
    many = jax.vmap(lambda b: spsolve(data, indices, indptr, b))(jnp.eye(5))
    np.testing.assert_allclose(many, np.linalg.inv(A).T, atol=1e-5)


def test_padded_and_singular_matrices():
    A = np.array([[2, 0], [1, 4]], np.float32)
    padded = sparse.BCSR.fromdense(jnp.asarray(A), nse=6)
    x = spsolve(padded.data, padded.indices, padded.indptr, jnp.array([2.0, 9.0]))
    np.testing.assert_allclose(x, [1, 2])
    assert jnp.isnan(spsolve(*rows(np.ones((2, 2), np.float32)), jnp.ones(2))).all()


@pytest.mark.parametrize("error, words, call", [
    (ValueError, "a fifth", lambda: lobpcg_standard(jnp.eye(9), jnp.ones((9, 2)))),
    (ValueError, "at least one column", lambda: lobpcg_standard(jnp.eye(9), jnp.ones((9, 0)))),
    (ValueError, "must take", lambda: lobpcg_standard(jnp.ones((3, 9)), jnp.ones((9, 1)))),
    (TypeError, "matrix of floats", lambda: lobpcg_standard(jnp.eye(9), jnp.ones(9))),
    (ValueError, "shapes", lambda: spsolve(*rows(np.eye(2)), jnp.ones(3))),
    (ValueError, "dtype", lambda: spsolve(*rows(np.eye(2, dtype="f4")), jnp.arange(2))),
    (ValueError, "reorder", lambda: spsolve(*rows(np.eye(2, dtype="f4")), jnp.ones(2), reorder=4)),
    (NotImplementedError, "tol", lambda: spsolve(*rows(np.eye(2, dtype="f4")), jnp.ones(2), tol=1)),
])
def test_wrong_uses(error, words, call):
    with pytest.raises(error, match=words):
        call()
