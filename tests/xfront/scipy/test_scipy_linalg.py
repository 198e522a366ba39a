"""scipy.linalg: values against SciPy, derivatives against differences, batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as expected

import xfront
import xfront.numpy as jnp
from xfront.scipy import linalg

RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 4)).astype(np.float32)
B = RNG.normal(size=(4, 2)).astype(np.float32)
DEFINITE = A @ A.T + 3 * np.eye(4, dtype=np.float32)
COMPLEX = (A + 1j * RNG.normal(size=A.shape)).astype(np.complex64)


def _close(got: Any, wanted: Any, tolerance: float = 2e-4) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower: bool) -> None:
    hermitian = COMPLEX @ COMPLEX.conj().T + 2 * np.eye(4)
    for a in (DEFINITE, hermitian.astype(np.complex64)):
        half = np.tril(a) if lower else np.triu(a)
        _close(linalg.cholesky(half, lower), expected.cholesky(a, lower))
        for b in (B, B[:, 0]):
            _close(linalg.cho_solve(linalg.cho_factor(half, lower), b), np.linalg.solve(a, b))
            _close(linalg.solve(half, b, lower=lower, assume_a="pos"), np.linalg.solve(a, b))


def test_slopes_of_positive_definite_systems_are_those_of_any_system() -> None:
    hermitian = (COMPLEX @ COMPLEX.conj().T + 2 * np.eye(4)).astype(np.complex64)
    tangents = (A.T, B[::-1].copy())
    for a, b in ((DEFINITE, B), (DEFINITE, B[:, 0]), (hermitian, B.astype(np.complex64))):
        moved = tuple([t[:, 0] if x.ndim < t.ndim else t for x, t in zip((a, b), tangents,
                                                                         strict=True)])

        def derivatives(a: Any, b: Any, moved: Any, **options: Any) -> Any:
            def solved(a: Any, b: Any) -> Any:
                return linalg.solve(a, b, **options)

            def pulled(a: Any, b: Any) -> Any:
                made, pull = xfront.vjp(solved, a, b)
                return pull(jnp.cos(jnp.real(made)).astype(made.dtype))

            moved = tuple([t.astype(x.dtype) for x, t in zip((a, b), moved, strict=True)])
            return xfront.jvp(solved, (a, b), moved)[1], xfront.jvp(pulled, (a, b), moved)

        wanted = xfront.jit(derivatives)(a, b, moved)
        for lower in (True, False):
            options = {"assume_a": "pos", "lower": lower}
            for made in (derivatives(a, b, moved, **options),
                         xfront.jit(lambda *given, options=options: derivatives(
                             *given, **options))(a, b, moved)):
                for x, y in zip(xfront.tree.leaves(made), xfront.tree.leaves(wanted), strict=True):
                    _close(x, y, 1e-3)


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
def test_triangular(trans: int | str) -> None:
    for a in (A + 4 * np.eye(4, dtype=np.float32), COMPLEX + 4 * np.eye(4, dtype=np.float32)):
        for lower in (True, False):
            for b in (B, B[:, 0]):
                _close(linalg.solve_triangular(a, b, trans, lower),
                       expected.solve_triangular(a, b, trans, lower))


@pytest.mark.parametrize("a", [A, COMPLEX, A[:, :3], A[:3]])
def test_lu(a: np.ndarray) -> None:
    for permuted in (False, True):
        for got, wanted in zip(linalg.lu(a, permuted), expected.lu(a, permuted), strict=True):
            _close(got, wanted)
    if a.shape[0] == a.shape[1]:
        for trans, matrix in enumerate((a, a.T, a.conj().T)):
            for b in (B, B[:, 0]):
                _close(linalg.lu_solve(linalg.lu_factor(a), b, trans), np.linalg.solve(matrix, b),
                       1e-3)
        _close(linalg.solve(a, B), np.linalg.solve(a, B), 1e-3)
        _close(linalg.inv(a), np.linalg.inv(a), 1e-3)
        _close(linalg.det(a), np.linalg.det(a), 1e-3)


def test_decompositions() -> None:
    for mode in ("full", "economic"):
        q, r = linalg.qr(A[:, :2], mode=mode)
        _close(q @ r, A[:, :2])
        assert q.shape == expected.qr(A[:, :2], mode=mode)[0].shape
    assert len(linalg.qr(A, mode="r")) == 1
    _close(linalg.svd(A)[1], expected.svd(A)[1])
    _close(linalg.eigh(DEFINITE)[0], expected.eigh(DEFINITE)[0])
    _close(linalg.eigh(DEFINITE, eigvals_only=True), expected.eigh(DEFINITE)[0])


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 5.0])
def test_expm(scale: float) -> None:
    for a in (scale * A, scale * COMPLEX):
        wanted = expected.expm(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64))
        _close(linalg.expm(a) / np.abs(wanted).max(), wanted / np.abs(wanted).max())
    with xfront.enable_x64(True):
        a = A.astype(np.float64) * scale
        _close(linalg.expm(a) / expected.expm(a).max(), expected.expm(a) / expected.expm(a).max(),
               1e-12)
    assert np.isnan(np.asarray(linalg.expm(1e9 * jnp.eye(2)))).all()


def test_special_matrices() -> None:
    _close(linalg.block_diag(A, B, B[0], 2.0), expected.block_diag(A, B, B[0], 2.0))
    _close(linalg.toeplitz(A[0]), expected.toeplitz(A[0]))
    _close(linalg.toeplitz(A[0], B[:, 0]), expected.toeplitz(A[0], B[:, 0]))


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "expm": linalg.expm,
    "cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(x @ x.T + jnp.eye(3)), x),
    "solve_triangular": lambda x: linalg.solve_triangular(x + 4 * jnp.eye(3), x, "C", True),
    "lu_solve": lambda x: linalg.lu_solve(linalg.lu_factor(x + 2 * jnp.eye(3)), x, 1),
    "block_diag": lambda x: linalg.block_diag(x, x * x)[:3, :3],
}


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_gradients(name: str) -> None:
    x, weights = np.random.default_rng(4).normal(size=(2, 3, 3))
    with xfront.enable_x64(True):
        def loss(x: Any) -> Any:
            return (SMOOTH[name](x) * weights).sum()

        got = np.asarray(xfront.grad(loss)(x))
        run = xfront.jit(loss)
        for i, j in np.ndindex(3, 3):
            e = np.zeros((3, 3))
            e[i, j] = 1e-5
            wanted = (float(run(x + e)) - float(run(x - e))) / 2e-5
            assert abs(got[i, j] - wanted) < 1e-6 * max(1, abs(wanted)), (name, i, j)


def test_batches() -> None:
    many = np.stack([DEFINITE, 2 * DEFINITE])
    for f in (linalg.expm, linalg.cholesky, linalg.inv):
        _close(xfront.vmap(f)(many / 20), np.stack([f(a / 20) for a in many]))
        _close(f(many / 20), np.stack([f(a / 20) for a in many]))


def test_refuses() -> None:
    with pytest.raises(ValueError, match="trans"):
        linalg.solve_triangular(A, B, trans=3)
    with pytest.raises(ValueError, match="assume_a"):
        linalg.solve(A, B, assume_a="x")
    with pytest.raises(ValueError, match="b must have 4 rows"):
        linalg.cho_solve((A, True), B[:3])
    with pytest.raises(NotImplementedError, match="b=None"):
        linalg.eigh(A, A)


def test_a_vector_for_each_matrix_is_solved_as_in_jax_with_a_warning() -> None:
    many = np.stack([A, A + 1, 2 * A, A + 3]).astype(np.float32)        # as many as rows
    many = many @ np.swapaxes(many, -1, -2) + np.eye(4, dtype=np.float32)
    b = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    want = np.linalg.solve(many, b[..., None])[..., 0]
    lower = np.linalg.cholesky(many)
    half = np.linalg.solve(lower, b[..., None])[..., 0]
    for solve, wanted in (
            (lambda b: linalg.cho_solve((lower, True), b), want),
            (lambda b: linalg.lu_solve(linalg.lu_factor(many), b), want),
            (lambda b: linalg.solve(many, b, assume_a="pos"), want),
            (lambda b: linalg.solve_triangular(lower, b, lower=True), half)):
        with pytest.warns(FutureWarning, match="b\\[..., None\\]"):
            _close(solve(b), wanted, 1e-3)
        _close(solve(b[..., None])[..., 0], wanted, 1e-3)


def test_batches_of_toeplitz_matrices_broadcast() -> None:
    columns, row = np.array([[1, 2], [3, 4]]), np.array([9, 8, 7])
    np.testing.assert_array_equal(linalg.toeplitz(columns, row),
                                  [expected.toeplitz(c, row) for c in columns])
    np.testing.assert_array_equal(linalg.toeplitz(row, columns),
                                  [expected.toeplitz(row, r) for r in columns])


def test_dtypes_of_permutations_and_of_filled_corners() -> None:
    p, lower, upper = linalg.lu(A.astype(np.complex64))
    assert p.dtype == np.float32 and upper.dtype == np.complex64
    np.testing.assert_allclose(p @ lower @ upper, A, rtol=1e-5, atol=1e-5)
    assert linalg.hankel(np.array([True, False])).dtype == bool


@pytest.mark.parametrize("solve", [
    lambda: linalg.solve_triangular(A, 2.0), lambda: linalg.solve(A, 2.0, assume_a="pos"),
    lambda: linalg.lu_solve((A, np.arange(4)), 2.0)])
def test_numbers_are_no_right_sides(solve: Any) -> None:
    with pytest.raises(ValueError, match="b must have 4 rows"):
        solve()


@pytest.mark.parametrize("f", [
    linalg.cholesky, linalg.lu, linalg.lu_factor, linalg.qr, linalg.svd, linalg.eigh, linalg.polar,
    lambda a: linalg.solve_triangular(a, [1.0, 2.0]), lambda a: linalg.cho_solve((a, True), [1, 2]),
    lambda a: linalg.funm(a, jnp.exp), lambda a: linalg.solve_sylvester(a, a, a)])
def test_lists_are_arrays(f) -> None:
    matrix = [[4.0, 1.0], [1.0, 3.0]]
    for made, wanted in zip(xfront.tree.leaves(f(matrix)),
                              xfront.tree.leaves(f(jnp.array(matrix))), strict=True):
        np.testing.assert_array_equal(made, wanted)
