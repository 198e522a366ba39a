"""scipy.linalg: matrices of known forms, simpler forms of matrices, and functions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as expected

import xfront as jax
import xfront.numpy as jnp
from xfront.scipy import linalg

RNG = np.random.default_rng(3)
A, B, C = RNG.normal(size=(3, 4, 4)).astype(np.float32)
COMPLEX = (A + 1j * B).astype(np.complex64)
V, W = np.array([3, 1, 2, 5, 4]), np.array([2, 7, 1, 8], np.float32)

KNOWN: list[tuple[str, tuple, dict]] = [
    ("circulant", (V,), {}), ("circulant", (W + 2j,), {}), ("companion", (V,), {}),
    ("companion", (W,), {}), *[("convolution_matrix", (V, n, mode), {})
                               for n in (3, 7) for mode in ("full", "valid", "same")],
    ("dft", (5,), {}), ("dft", (4, "sqrtn"), {}), ("dft", (3,), {"scale": "n"}),
    ("fiedler", (V,), {}), *[("fiedler_companion", (np.arange(1, n),), {}) for n in range(3, 9)],
    ("hadamard", (8,), {}), ("hadamard", (2,), {"dtype": np.float32}), ("hankel", (V,), {}),
    ("hankel", (V, W), {}), ("helmert", (4,), {}), ("helmert", (5, True), {}),
    ("hilbert", (5,), {}), ("invhilbert", (5,), {}), ("leslie", (V, W), {}),
    *[(name, (5,), {"kind": kind}) for name in ("pascal", "invpascal")
      for kind in ("symmetric", "lower", "upper")],
]


def close(got: Any, wanted: Any, tolerance: float = 2e-4) -> None:
    assert np.shape(got) == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_known_forms() -> None:
    made = jax.jit(lambda: [getattr(linalg, name)(*args, **options)
                            for name, args, options in KNOWN])()
    for got, (name, args, options) in zip(made, KNOWN, strict=True):
        wanted = getattr(expected, name)(*args, **options)
        assert got.shape == wanted.shape, (name, args)
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6, err_msg=f"{name}{args}")


def test_known_forms_of_batches() -> None:
    many, beside = np.stack([V, V[::-1]]), np.stack([W, -W])
    calls: list[Callable[..., Any]] = [
        linalg.circulant, linalg.companion, linalg.fiedler, linalg.fiedler_companion, linalg.hankel,
        lambda x: linalg.convolution_matrix(x, 3)]
    for got, one in jax.jit(lambda: [(f(many), f(many[1])) for f in calls])():
        close(got[1], one)
    close(linalg.leslie(many, beside)[1], expected.leslie(V[::-1].astype(float), -W))
    assert linalg.hilbert(0).shape == linalg.pascal(0).shape == linalg.dft(0).shape == (0, 0)


# --- simpler forms --------------------------------------------------------------------------

def back(q: Any, t: Any) -> np.ndarray:
    q = np.asarray(q)
    np.testing.assert_allclose(q @ q.conj().T, np.eye(len(q)), atol=1e-5)
    return q @ np.asarray(t) @ q.conj().T


@pytest.mark.parametrize("a", [A, COMPLEX, A[:1, :1]], ids=["real", "complex", "one"])
def test_similar_matrices(a: np.ndarray) -> None:
    @jax.jit
    def made(a: Any) -> Any:
        return (linalg.schur(a), linalg.schur(a, output="complex"),
                linalg.rsf2csf(*linalg.schur(a)), linalg.hessenberg(a, calc_q=True),
                linalg.hessenberg(a))

    real, full, converted, (h, q), alone = made(a)
    for t, z in (real, full, converted):
        close(back(z, t), a)
    assert real[0].dtype == a.dtype
    for t, _ in (full, converted):
        assert t.dtype == np.complex64
        np.testing.assert_allclose(np.tril(t, -1), 0, atol=1e-6)
    close(back(q, h), a)
    np.testing.assert_array_equal(np.tril(h, -2), np.zeros_like(a))
    close(alone, h)


def test_tridiagonal() -> None:
    e = W[:3]
    values, vectors = linalg.eigh_tridiagonal(W, e)
    wanted = expected.eigh_tridiagonal(W, e)
    close(values, wanted[0])
    close(np.abs(vectors), np.abs(wanted[1]))
    close(linalg.eigh_tridiagonal(W, e, select="i", select_range=(1, 2), eigvals_only=True),
          wanted[0][1:3])
    close(linalg.eigh_tridiagonal(W + 0j, e * 1j, eigvals_only=True), wanted[0])
    close(linalg.eigh_tridiagonal(np.stack([W, W]), np.stack([e, -e]))[0][1], wanted[0])


@pytest.mark.parametrize("a", [A, COMPLEX, A[:, :2], COMPLEX[:2]])
def test_pivoted_qr(a: np.ndarray) -> None:
    for mode in ("full", "economic"):
        got = jax.jit(lambda a, mode=mode: linalg.qr(a, mode=mode, pivoting=True))(a)
        wanted = expected.qr(a, mode=mode, pivoting=True)
        np.testing.assert_array_equal(got[2], wanted[2])
        close(got[0] @ got[1], a[:, wanted[2]])
        close(np.abs(got[1]), np.abs(wanted[1]))
    assert [x.shape for x in linalg.qr(a, mode="r", pivoting=True)] == [a.shape, a.shape[1:]]


@pytest.mark.parametrize("mode", ["left", "right"])
def test_products_with_q(mode: str) -> None:
    for a, pivoting, conjugate in ((A, False, False), (COMPLEX, True, True), (A[:, :2], False,
                                                                              False)):
        c = B if mode == "right" else B[:a.shape[1]]
        q, r, *order = linalg.qr(a, mode="economic", pivoting=pivoting)
        q = np.conj(q) if conjugate else q
        got = linalg.qr_multiply(a, c, mode, pivoting, conjugate)
        close(got[0], c @ q if mode == "right" else q @ c)
        close(got[1], r)
        assert len(got) == 2 + len(order)
    close(linalg.qr_multiply(A, W, mode)[0], W @ linalg.qr(A)[0] if mode == "right" else
          linalg.qr(A)[0] @ W)


@pytest.mark.parametrize("a", [COMPLEX, A[:, :2], A[:2]], ids=["complex", "tall", "wide"])
def test_polar(a: np.ndarray) -> None:
    for side in ("left", "right"):
        for method in ("svd", "qdwh"):
            if method == "qdwh" and a.shape[0] < a.shape[1] and side == "right" or (
                    method == "qdwh" and a.shape[0] > a.shape[1] and side == "left"):
                with pytest.raises(NotImplementedError, match="method='svd'"):
                    linalg.polar(a, side, method=method)
                continue
            u, p = linalg.polar(a, side, method=method)
            for got, wanted in zip((u, p), expected.polar(a, side), strict=True):
                close(got, wanted, 1e-3)


# --- equations and functions ----------------------------------------------------------------

@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester(method: str) -> None:
    @jax.jit
    def made(a: Any, b: Any, c: Any, z: Any) -> Any:
        f = lambda *m: linalg.solve_sylvester(*m, method=method)
        return (f(a, b, c), f(a, b[:2, :2], c[:, :2]), f(a, b, z), f(jnp.stack([a, b]), b, c),
                f(a, -a, c), linalg.solve_sylvester(a, b, c, method=method, tol=100.0))

    whole, narrow, mixed, batch, singular, loose = made(A, B, C, COMPLEX)
    close(whole, expected.solve_sylvester(A, B, C), 2e-3)
    close(narrow, expected.solve_sylvester(A, B[:2, :2], C[:, :2]), 2e-3)
    close(A @ mixed + mixed @ B, COMPLEX, 2e-3)        # SciPy's is wrong for mixed dtypes
    close(batch[0], whole, 2e-3)
    close(batch[1], expected.solve_sylvester(B, B, C), 5e-3)
    assert np.abs(singular).max() > 1e4 or np.isnan(singular).all()
    assert np.isnan(loose).all()


def test_functions_of_matrices() -> None:
    definite = A @ A.T + np.eye(4, dtype=np.float32)

    @jax.jit
    def made(a: Any, z: Any, d: Any) -> Any:
        return (linalg.sqrtm(d), linalg.sqrtm(a), linalg.sqrtm(z), linalg.sqrtm(0 * a),
                linalg.sqrtm(jnp.stack([d, a])), linalg.funm(a, jnp.exp),
                linalg.funm(z, jnp.sin, disp=False), linalg.expm_frechet(a, d),
                linalg.expm_frechet(a, d, method="blockEnlarge"),
                linalg.expm_frechet(a, d, method="SPS", compute_expm=False))

    d, a, z, zero, batch, exp, (sin, error), frechet, enlarged, alone = made(A, COMPLEX, definite)
    for got, x in ((d, definite), (a, A), (z, COMPLEX), (batch[0], definite), (batch[1], A)):
        assert got.dtype == np.complex64
        close(got @ got, x, 1e-3)
        assert np.linalg.eigvals(np.asarray(got)).real.min() > -1e-4
    close(z, expected.sqrtm(COMPLEX), 1e-3)
    np.testing.assert_array_equal(zero, 0 * A)
    close(exp, expected.expm(A), 1e-3)
    close(sin, expected.sinm(COMPLEX), 2e-3)
    assert 0 < error < 1e-2
    wanted = expected.expm_frechet(A.astype(float), definite.astype(float))
    for got in (frechet, enlarged, (wanted[0], alone)):
        for x, y in zip(got, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-3 * np.abs(y).max())


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "sqrtm": lambda x: linalg.sqrtm(x @ x.T + jnp.eye(3)).real,
    "solve_sylvester": lambda x: linalg.solve_sylvester(x + 4 * jnp.eye(3), x, jnp.sin(x)),
    "polar": lambda x: linalg.polar(x, method="svd")[0],
    "qr": lambda x: linalg.qr(x, pivoting=True)[1],
    "eigh_tridiagonal": lambda x: linalg.eigh_tridiagonal(x[0], x[1, :2])[0],
    "circulant": lambda x: linalg.circulant(x) ** 2, "companion": lambda x: linalg.companion(x + 3),
    "fiedler_companion": lambda x: linalg.fiedler_companion(x + 3),
    "convolution_matrix": lambda x: linalg.convolution_matrix(x, 2) ** 2,
}


def test_derivatives() -> None:
    x, moved = np.random.default_rng(4).normal(size=(2, 3, 3))
    with jax.enable_x64(True):
        def losses(x: Any) -> Any:
            made = [f(x) for f in SMOOTH.values()]
            return jnp.stack([jnp.sum(y * (1 + 0.37 * np.arange(y.size).reshape(y.shape)))
                              for y in made])

        run, weights = jax.jit(losses), np.arange(1.0, 1 + len(SMOOTH))
        wanted = (run(x + 1e-6 * moved) - run(x - 1e-6 * moved)) / 2e-6
        forward = jax.jit(lambda x: jax.jvp(losses, (x,), (moved,))[1])(x)
        back = jax.jit(jax.grad(lambda x: losses(x) @ weights))(x)
    for name, w, f in zip(SMOOTH, wanted, forward, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-6, atol=1e-6, err_msg=name)
    np.testing.assert_allclose((back * moved).sum(), forward @ weights, rtol=1e-9)


def test_complex_blocks_of_a_schur_form_become_triangular() -> None:
    given = np.array([[1, 2j, 3], [1j - 2, 0.5, 1], [0, 0, 1j]], np.complex64)
    t, z = map(np.asarray, linalg.rsf2csf(given, np.eye(3, dtype=np.complex64)))
    assert abs(np.tril(t, -1)).max() < 1e-6
    np.testing.assert_allclose(z @ t @ z.conj().T, given, atol=1e-5)
    np.testing.assert_allclose(z @ z.conj().T, np.eye(3), atol=1e-5)



REFUSED: list[tuple[type, str, Callable[[], Any]]] = [
    (ValueError, "at least 2", lambda: linalg.companion(W[:1])),
    (ValueError, "mode", lambda: linalg.convolution_matrix(W, 2, "x")),
    (ValueError, "positive", lambda: linalg.convolution_matrix(W, 0)),
    (ValueError, "at least 1", lambda: linalg.convolution_matrix(W[:0], 2)),
    (ValueError, "scale", lambda: linalg.dft(2, "x")),
    (ValueError, "complex", lambda: linalg.dft(2, dtype=np.float32)),
    (ValueError, "power of 2", lambda: linalg.hadamard(3)),
    (ValueError, "scalar", lambda: linalg.hankel(2.0)),
    (ValueError, "positive", lambda: linalg.helmert(0)),
    (ValueError, "nonnegative", lambda: linalg.hilbert(-1)),
    (ValueError, "kind", lambda: linalg.pascal(3, "x")),
    (ValueError, "kind", lambda: linalg.invpascal(3, "x")),
    (ValueError, "one less", lambda: linalg.leslie(W, W)),
    (TypeError, "circulant", lambda: linalg.circulant([1.0])),
    (ValueError, "output", lambda: linalg.schur(A, "x")),
    (ValueError, "schur", lambda: linalg.schur(A[:2])),
    (ValueError, "'T' must be square", lambda: linalg.rsf2csf(A[:2], A)),
    (ValueError, "match", lambda: linalg.rsf2csf(A, A[:2, :2])),
    (ValueError, "hessenberg", lambda: linalg.hessenberg(A[:2])),
    (ValueError, "select", lambda: linalg.eigh_tridiagonal(W, W[1:], select="x")),
    (NotImplementedError, "'v'", lambda: linalg.eigh_tridiagonal(W, W[1:], select="v")),
    (ValueError, "select_range", lambda: linalg.eigh_tridiagonal(W, W[1:], select="i")),
    (ValueError, "ascending", lambda: linalg.eigh_tridiagonal(W, W[1:], select="i",
                                                              select_range=(2, 1))),
    (TypeError, "one element less", lambda: linalg.eigh_tridiagonal(W, W)),
    (NotImplementedError, "eigenvectors of complex",
     lambda: linalg.eigh_tridiagonal(W + 0j, W[1:] + 0j)),
    (ValueError, "method", lambda: linalg.solve_sylvester(A, B, C, method="x")),
    (ValueError, "Incompatible", lambda: linalg.solve_sylvester(A, B[:2, :2], C)),
    (ValueError, "square", lambda: linalg.funm(A[:2], jnp.exp)),
    (ValueError, "method", lambda: linalg.expm_frechet(A, B, method="x")),
    (ValueError, "E.shape", lambda: linalg.expm_frechet(A, B[:2])),
    (ValueError, "side", lambda: linalg.polar(A, "x")),
    (ValueError, "method", lambda: linalg.polar(A, method="x")),
    (ValueError, "mode", lambda: linalg.qr_multiply(A, B, "x")),
    (ValueError, "do not allow the product", lambda: linalg.qr_multiply(A, B[:, :2])),
    (NotImplementedError, "schur", lambda: jax.jvp(linalg.schur, (A,), (A,))),
]


@pytest.mark.parametrize(("kind", "match", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(kind: type, match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=match):
        call()
