"""Linear algebra: values against NumPy, derivatives against differences, batches, refusals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.numpy import linalg

RNG = np.random.default_rng(11)
SQUARE = RNG.normal(size=(2, 4, 4)).astype(np.float32)
TALL = RNG.normal(size=(5, 3)).astype(np.float32)
HERMITIAN = (SQUARE + SQUARE.swapaxes(-1, -2)) / 2
DEFINITE = SQUARE @ SQUARE.swapaxes(-1, -2) + 3 * np.eye(4, dtype=np.float32)
COMPLEX = (SQUARE + 1j * RNG.normal(size=SQUARE.shape)).astype(np.complex64)


def _close(got: Any, expected: Any, tolerance: float = 1e-4) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def _h(x: Any) -> np.ndarray:
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


# --- values -------------------------------------------------------------------------------

def test_cholesky() -> None:
    _close(linalg.cholesky(DEFINITE), np.linalg.cholesky(DEFINITE))
    _close(linalg.cholesky(DEFINITE, upper=True), _h(np.linalg.cholesky(DEFINITE)))
    made = np.asarray(linalg.cholesky(-DEFINITE[0]))
    assert np.isnan(made[np.tril_indices(4)]).all() and not made[np.triu_indices(4, 1)].any()


@pytest.mark.parametrize("x", [SQUARE, COMPLEX, TALL, TALL.T])
def test_qr_and_svd_give_the_matrix_back(x: np.ndarray) -> None:
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(x, mode)
        _close(q @ r, x)
        _close(_h(q) @ np.asarray(q), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2],
                                                                          *[q.shape[-1]] * 2)))
        _close(np.abs(r), np.abs(np.linalg.qr(x, mode)[1]))
    for full in (True, False):
        u, s, vh = linalg.svd(x, full)
        k = s.shape[-1]
        _close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
        _close(s, np.linalg.svd(x, full)[1])
        assert u.shape == np.linalg.svd(x, full)[0].shape
    _close(linalg.svdvals(x), np.linalg.svd(x, compute_uv=False))


@pytest.mark.parametrize("x", [HERMITIAN, COMPLEX + _h(COMPLEX)])
def test_hermitian(x: np.ndarray) -> None:
    values, vectors = linalg.eigh(x)
    _close(x @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[..., None, :])
    _close(linalg.eigvalsh(x), np.linalg.eigvalsh(x))
    _close(linalg.eigh(np.triu(x), "U", symmetrize_input=False)[0], np.linalg.eigvalsh(x))
    u, s, vh = linalg.svd(x, hermitian=True)
    _close((u * s[..., None, :]) @ vh, x)
    assert (np.diff(np.asarray(s)) <= 0).all()


@pytest.mark.parametrize("x", [SQUARE, COMPLEX])
def test_eig(x: np.ndarray) -> None:
    values, vectors = linalg.eig(x)
    _close(x @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values)[..., None, :])
    _close(np.sort(np.asarray(linalg.eigvals(x))), np.sort(np.linalg.eigvals(x)))
    w, left, _ = lax.linalg.eig(x)
    _close(_h(left) @ x, np.asarray(w)[..., :, None] * _h(left))


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_determinants_of_narrow_floats(dtype) -> None:
    for x in (SQUARE, SQUARE[:, :2, :2]):
        narrow = jnp.asarray(x / 4, dtype)
        assert linalg.det(narrow).dtype == dtype
        _close(linalg.det(narrow), np.linalg.det(np.asarray(narrow, np.float64)), 2e-2)


@pytest.mark.parametrize("x", [SQUARE, COMPLEX])
def test_solutions(x: np.ndarray) -> None:
    b = RNG.normal(size=(4, 2)).astype(np.float32)
    _close(linalg.solve(x, b), np.linalg.solve(x, b), 1e-3)
    _close(linalg.solve(x[0], b[:, 0]), np.linalg.solve(x[0], b[:, 0]), 1e-3)
    _close(linalg.inv(x), np.linalg.inv(x), 1e-3)
    _close(linalg.det(x), np.linalg.det(x), 1e-3)
    _close(linalg.det(x[:, :3, :3]), np.linalg.det(x[:, :3, :3]), 1e-3)
    for got, expected in zip(linalg.slogdet(x), np.linalg.slogdet(x), strict=True):
        _close(got, expected)
    _close(linalg.matrix_power(x, -2), np.linalg.matrix_power(x, -2), 1e-2)
    for p in (None, -2, 1, np.inf, "fro"):
        _close(np.log(linalg.cond(x, p)), np.log(np.linalg.cond(x, p)), 1e-3)


def test_least_squares_and_ranks() -> None:
    b = RNG.normal(size=(5, 2)).astype(np.float32)
    for rhs in (b, b[:, 0]):
        got, expected = linalg.lstsq(TALL, rhs), np.linalg.lstsq(TALL, rhs, rcond=None)
        for g, e in zip(got, expected, strict=True):
            _close(g, e)
    _close(linalg.pinv(TALL), np.linalg.pinv(TALL))
    _close(linalg.pinv(jnp.ones((3, 2))), np.full((2, 3), 1 / 6))
    assert int(linalg.matrix_rank(jnp.ones((3, 3)))) == 1
    assert linalg.matrix_rank(SQUARE).tolist() == [4, 4]
    assert int(linalg.matrix_rank(jnp.zeros(3))) == 0


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (1, 1)])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_least_squares_of_any_rank(shape: tuple[int, int], rank: int) -> None:
    rng = np.random.default_rng(rank)
    a = (rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))).astype(np.float32)
    for b in (rng.normal(size=shape[0]), rng.normal(size=(shape[0], 2))):
        b = b.astype(np.float32)
        for rcond in (None, -1, 1e-4, 0.9):
            got = linalg.lstsq(a, b, rcond, numpy_resid=True)
            limit = rcond if rcond is not None and rcond >= 0 else (
                np.finfo(np.float32).eps * max(shape))
            expected = np.linalg.lstsq(a, b, limit)
            for g, e in zip(got, expected, strict=True):
                assert g.shape == e.shape
                _close(g, e, 1e-3)
        residuals = linalg.lstsq(a, b, 1e-4)[1]
        x = np.linalg.lstsq(a, b, 1e-4)[0]
        _close(residuals, (np.abs((b - a @ x).reshape(shape[0], -1)) ** 2).sum(0))


def test_determinants_by_reflections() -> None:
    for x in (SQUARE, -SQUARE[:, ::-1], np.eye(3, dtype=np.float32)[::-1], np.zeros((2, 2)),
              np.zeros((0, 0)), SQUARE[:, :1, :1]):
        for got, expected in zip(linalg.slogdet(x, method="qr"), np.linalg.slogdet(x), strict=True):
            _close(got, expected)
    _close(xfront.grad(lambda x: linalg.slogdet(x, method="qr")[1])(SQUARE[0]),
           np.linalg.inv(SQUARE[0]).T, 1e-3)
    with pytest.raises(NotImplementedError, match="real matrices"):
        linalg.slogdet(COMPLEX, method="qr")
    with pytest.raises(ValueError, match="'lu' or 'qr'"):
        linalg.slogdet(SQUARE, method="svd")


def test_singular_tridiagonal_systems() -> None:
    def solved(below: list, diagonal: list, above: list, moved: bool) -> np.ndarray:
        b = np.arange(1, len(diagonal) + 1, dtype=np.float32)[:, None]
        return np.asarray(lax.linalg.tridiagonal_solve(
            *[np.array(v, np.float32) for v in (below, diagonal, above)], b,
            perturb_singular=moved))[:, 0]

    for diagonals in (([0, 1, 1], [0, 0, 0], [1, 1, 0]), ([0, 0, 0], [1, 0, 2], [0, 0, 0]),
                      ([0, 1, 1], [1, 1, 0], [1, 0, 0]), ([0], [0], [0])):
        assert not np.isfinite(solved(*diagonals, moved=False)).all()
        assert np.isfinite(solved(*diagonals, moved=True)).all()
    regular = [0, 1, 1], [2, 3, 4], [1, 1, 0]
    np.testing.assert_allclose(solved(*regular, moved=True), solved(*regular, moved=False),
                               rtol=1e-6)


def test_norms_of_nothing() -> None:
    for shape in ((0, 3), (3, 0), (0, 0)):
        x = np.zeros(shape, np.float32)
        for order in (1, 2, np.inf, "nuc", "fro"):
            for kept in (False, True):
                _close(linalg.norm(x, order, keepdims=kept),
                       np.linalg.norm(x, order, keepdims=kept))
        with pytest.raises(ValueError, match="zero-size"):
            linalg.norm(x, -2)
    rows = np.array([[np.inf, np.inf, -np.inf], [0, 1, 2], [np.inf, 1, 1]], np.float32)
    for order in (-1, -2, -0.5, 3):
        with np.errstate(all="ignore"):
            for x in (rows[:, :0], rows):
                _close(linalg.norm(x, order, 1), np.linalg.norm(x, order, 1))


def test_one_limit_of_singular_values() -> None:
    for call in (lambda: linalg.pinv(TALL, 0.1, rcond=0.1),
                 lambda: linalg.matrix_rank(TALL, 0.1, tol=0.1)):
        with pytest.raises(ValueError, match="give one of them"):
            call()


def test_norms_of_singular_values() -> None:
    for order in (2, -2, "nuc"):
        _close(linalg.norm(TALL, order), np.linalg.norm(TALL, order))
        _close(linalg.norm(SQUARE, order, (0, 2), True),
               np.linalg.norm(SQUARE, order, (0, 2), True))


def test_tensors() -> None:
    a = RNG.normal(size=(2, 3, 6)).astype(np.float32)
    _close(linalg.tensorinv(a), np.linalg.tensorinv(a), 1e-3)
    b = RNG.normal(size=(2, 3)).astype(np.float32)
    _close(linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b), 1e-3)


def test_lu_and_its_permutation() -> None:
    factors, pivots, order = lax.linalg.lu(SQUARE)
    lower = np.tril(factors, -1) + np.eye(4)
    _close(lower @ np.triu(factors), np.take_along_axis(SQUARE, np.asarray(order)[..., None], -2))
    again = lax.linalg.lu_pivots_to_permutation(pivots, 4)
    assert np.array_equal(again, order)


def test_integers_and_dtypes() -> None:
    assert linalg.inv(jnp.array([[2, 1], [1, 1]])).dtype == np.float32
    with pytest.raises(NotImplementedError):
        linalg.inv(jnp.ones((2, 2), jnp.bfloat16))


# --- derivatives and batches --------------------------------------------------------------

def _triangular(x: Any) -> Any:
    return lax.linalg.triangular_solve(x + 4 * jnp.eye(3), x, left_side=True, lower=True)


def _spd(x: Any) -> Any:
    return x @ x.T + jnp.diag(jnp.arange(1.0, 4.0))


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda x: linalg.cholesky(_spd(x)),
    "qr": lambda x: linalg.qr(x)[0] + linalg.qr(x)[1],
    "svd": lambda x: linalg.svd(x)[0] @ linalg.svd(x)[2] * linalg.svd(x)[1],
    "eigh": lambda x: linalg.eigh(_spd(x))[0] * linalg.eigh(_spd(x))[1] ** 2,
    "eigvals": lambda x: jnp.abs(linalg.eigvals(x)) ** 2,
    "solve": lambda x: linalg.solve(x + 2 * jnp.eye(3), x * x),
    "inv": lambda x: linalg.inv(x + 2 * jnp.eye(3)),
    "det": linalg.det,
    "slogdet": lambda x: linalg.slogdet(x)[1],
    "pinv": lambda x: linalg.pinv(x[:, :2]),
    "nuc": lambda x: linalg.norm(x, "nuc"),
    "lu": lambda x: lax.linalg.lu(x)[0],
    "triangular_solve": _triangular,
}


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_gradients(name: str) -> None:
    x, weights = np.random.default_rng(3).normal(size=(2, 3, 3))
    with xfront.enable_x64(True):
        def loss(x: Any) -> Any:
            made = SMOOTH[name](x)
            return (made * weights.ravel()[:made.size].reshape(made.shape)).sum()

        got = np.asarray(xfront.grad(loss)(x))
        run = xfront.jit(loss)
        for i in range(3):
            for j in range(3):
                e = np.zeros((3, 3))
                e[i, j] = 1e-5
                expected = (float(run(x + e)) - float(run(x - e))) / 2e-5
                assert abs(got[i, j] - expected) < 1e-6 * max(1, abs(expected)), (name, i, j)


def test_pseudo_inverse_of_equal_singular_values_has_a_derivative() -> None:
    got = xfront.jacfwd(linalg.pinv)(jnp.eye(2))
    _close(got, -np.einsum("ik,jl->ijkl", np.eye(2), np.eye(2)))
    for f in (xfront.jacrev, xfront.jacfwd):
        whole = f(linalg.pinv)(TALL)
        e = np.zeros_like(TALL)
        e[1, 2] = 1e-2
        _close(whole[..., 1, 2], (np.linalg.pinv(TALL + e) - np.linalg.pinv(TALL - e)) / 2e-2, 1e-3)


def test_derivatives_of_eigenvectors_of_eig_have_to_be_asked_for() -> None:
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs"):
        xfront.grad(lambda x: jnp.abs(linalg.eig(x)[1]).sum())(SQUARE[0])


ROTATING = np.array([[0, 1, 0], [-1, 0, 0.5], [0.2, 1, 1]])       # two values are conjugates
APART = np.array([[1, 2, 0.5], [0.3, 4, 1], [1, 0.7, -2]])


@pytest.mark.parametrize("x, sides", [
    (ROTATING, (True, True)), (ROTATING, (False, True)), (APART, (True, False)),
    (ROTATING + 1j * APART[::-1], (True, True))],
    ids=["conjugates", "conjugates, right", "real, left", "complex"])
def test_derivatives_of_eigenvectors_of_eig(x: np.ndarray, sides: tuple[bool, bool]) -> None:
    """Against differences of what LAPACK gives: norm 1, the greatest element real."""
    def f(x: Any) -> Any:
        return lax.linalg.eig(x, compute_left_eigenvectors=sides[0],
                              compute_right_eigenvectors=sides[1], enable_eigvec_derivs=True)

    def loss(x: Any) -> Any:
        return sum((jnp.abs(v + 0.3) ** 3).sum() for v in f(x))

    rng = np.random.default_rng(0)
    way = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))
    way, other = way if np.iscomplexobj(x) else way.real
    def along(x: Any) -> Any:
        return xfront.jvp(loss, (x,), (way,))[1]

    def everything(x: Any) -> Any:
        return (f(x), xfront.jvp(f, (x,), (way,))[1], loss(x), xfront.grad(loss)(x), along(x),
                xfront.jvp(along, (x,), (other,))[1])

    h = 1e-6
    with xfront.enable_x64(True):
        steps = np.stack([x, x + h * way, x - h * way, x + h * other, x - h * other])
        made = xfront.tree.map(np.asarray, xfront.jit(xfront.vmap(everything))(steps))
        values, moved, losses, slopes, first, second = made
        for v, t in zip(values, moved, strict=True):
            np.testing.assert_allclose(t[0], (v[1] - v[2]) / (2 * h), atol=1e-7)
        np.testing.assert_allclose((slopes[0] * way).sum().real, (losses[1] - losses[2]) / (2 * h),
                                   rtol=1e-7)
        np.testing.assert_allclose(second[0], (first[3] - first[4]) / (2 * h), rtol=1e-6)
        alone = xfront.jvp(f, (x,), (way,))[1]
        for whole, one in zip(moved, alone, strict=True):
            np.testing.assert_allclose(whole[0], one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "qr", "eigh", "solve"])
def test_vmap_is_a_loop(name: str) -> None:
    f = ((lambda x: linalg.solve(x, jnp.ones(4))) if name == "solve" else
         lambda x: xfront.tree.leaves(getattr(linalg, name)(x)))
    got = xfront.vmap(f, in_axes=1)(DEFINITE.swapaxes(0, 1))
    rows = [f(x) for x in DEFINITE]
    for whole, parts in zip(xfront.tree.leaves(got), zip(*map(xfront.tree.leaves, rows),
                                                         strict=True), strict=True):
        _close(whole, np.stack([np.asarray(p) for p in parts]))


def test_one_matrix_for_many_right_hand_sides() -> None:
    a = np.tril(SQUARE[0]) + 3 * np.eye(4, dtype=np.float32)
    b = RNG.normal(size=(6, 4)).astype(np.float32)
    got = xfront.vmap(lambda v: lax.linalg.triangular_solve(a, v, left_side=True, lower=True))(b)
    _close(got, np.linalg.solve(a, b.T).T)


def test_kept_programs_set_lapack_up_again(tmp_path: Path) -> None:
    program = ("import xfront, xfront.numpy as jnp\n"
               "print(xfront.jit(lambda a: jnp.linalg.inv(a))(jnp.diag(jnp.array([2.0, 4.0]))))")
    environment = {**os.environ, "XFRONT_CACHE_DIR": str(tmp_path)}
    shown = [subprocess.run([sys.executable, "-c", program], env=environment, check=True,
                            capture_output=True, text=True).stdout for _ in range(2)]
    assert shown[0] == shown[1]
    assert "0.25" in shown[0]
    assert any(path.is_file() for path in tmp_path.rglob("*"))


# --- refusals -----------------------------------------------------------------------------

def test_refuses() -> None:
    for f in (linalg.inv, linalg.det, linalg.eigh, linalg.cholesky, linalg.eig):
        with pytest.raises(ValueError, match="shape"):
            f(TALL)
    with pytest.raises(ValueError, match="b must be a vector of 4 elements"):
        linalg.solve(SQUARE, jnp.ones(3))
    with pytest.raises(ValueError, match="batch of vectors"):
        linalg.solve(SQUARE, jnp.ones((2, 4)))
    with pytest.raises(ValueError, match="Unsupported QR"):
        linalg.qr(TALL, "x")
    with pytest.raises(TypeError):
        linalg.eigh([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.float32])
def test_powers_of_matrices_have_their_dtype(dtype: type) -> None:
    x = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]]).astype(dtype)
    for n in (0, 1, 2, 5):
        got = jnp.linalg.matrix_power(x, n)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, np.linalg.matrix_power(x, n))
    assert jnp.linalg.matrix_power(x.astype(np.int32), -1).dtype == np.float32


def test_rank_by_several_limits() -> None:
    x = np.diag([1, 2, 0.1]).astype(np.float32)
    np.testing.assert_array_equal(jnp.linalg.matrix_rank(x, np.array([0.6, 0.01])), [1, 3])
    both = np.stack([x, x])
    np.testing.assert_array_equal(jnp.linalg.matrix_rank(both, np.array([0.6, 0.01])), [1, 3])


def test_refusals_of_numbers_and_of_nothing() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        jnp.linalg.cond(jnp.zeros((3, 0)))
    with pytest.raises(ValueError, match="two-dimensional"):
        jnp.linalg.multi_dot([jnp.eye(2), 2.0])
