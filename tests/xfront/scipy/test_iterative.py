"""scipy.sparse.linalg: solutions of systems, and derivatives, against dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.scipy.sparse import linalg
from xfront.test_util import check_grads

RNG = np.random.default_rng(0)
ANY = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
IMAGINARY = RNG.normal(size=(4, 4))
B = RNG.normal(size=4)
SOLVERS: dict[str, Any] = {
    "cg": linalg.cg, "bicgstab": linalg.bicgstab, "gmres": linalg.gmres,
    "gmres incremental": lambda *a, **k: linalg.gmres(*a, solve_method="incremental", **k),
    "gmres restarted": lambda *a, **k: linalg.gmres(*a, restart=2, **k),
}
THREE = {"cg": linalg.cg, "bicgstab": linalg.bicgstab, "gmres": linalg.gmres}


def matrix(name: str, dtype: Any) -> np.ndarray:
    a = ANY + 1j * IMAGINARY if np.issubdtype(dtype, np.complexfloating) else ANY
    return (a @ a.conj().T + np.eye(4) if name == "cg" else a).astype(dtype)


@pytest.mark.parametrize(("name", "dtype"), [
    ("cg", np.float32), ("cg", np.complex64), ("bicgstab", np.complex64), ("gmres", np.complex64),
    ("gmres incremental", np.float32), ("gmres restarted", np.float32)])
def test_solutions(name: str, dtype: Any) -> None:
    a, b = matrix(name, dtype), (B * (1 + 2j) if dtype == np.complex64 else B).astype(dtype)
    nearly = np.diag(1 / np.diag(a))

    @jax.jit
    def made(a: Any, b: Any) -> Any:
        solve = SOLVERS[name]
        tree = solve(lambda t: {"x": a[:2, :2] @ t["x"] + a[:2, 2:] @ t["y"],
                                "y": a[2:, :2] @ t["x"] + a[2:, 2:] @ t["y"]},
                     {"x": b[:2], "y": b[2:]}, tol=1e-6)[0]
        return [solve(a, b, tol=1e-6)[0], jnp.concatenate([tree["x"], tree["y"]]),
                solve(lambda x: a @ x, b, x0=b, tol=1e-6, M=nearly)[0],
                solve(a, b, tol=1e-6, M=lambda x: nearly @ x)[0]]

    for got in made(a, b):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, np.linalg.solve(a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(THREE))
def test_derivatives(name: str) -> None:
    with jax.enable_x64(True):
        a = matrix(name, np.float64)
        nearly = np.diag(1 / np.diag(a)) + (name != "cg") * 0.02 * np.triu(ANY)

        def loss(a: Any, b: Any) -> Any:
            return jnp.sin(SOLVERS[name](a, b, tol=1e-13, M=nearly)[0])

        def dense(a: Any, b: Any) -> Any:
            return jnp.sin(jnp.linalg.solve(a, b))

        got = jax.jit(jax.jacrev(loss, (0, 1)))(a, B)
        for g, w in zip(got, jax.jacrev(dense, (0, 1))(a, B), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-10)
        if name == "cg":
            check_grads(lambda b: loss(a, b), (B,), 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(THREE))
def test_batches_and_when_it_stops(name: str) -> None:
    solve, a = THREE[name], matrix("cg", np.float32)
    b = np.stack([B, 2 * B, 0 * B]).astype(np.float32)

    @jax.jit
    def made(b: Any) -> Any:
        return (jax.vmap(lambda b: solve(a, b, tol=1e-6)[0])(b),
                solve(a, b[0], x0=b[1], maxiter=0)[0], solve(a, b[0], atol=100.0)[0],
                solve(a, b[0], maxiter=1)[0], solve(a * np.nan, b[0]))

    many, kept, loose, one, (unknown, info) = made(b)
    np.testing.assert_allclose(many, np.linalg.solve(a, b.T).T, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(kept, b[1])
    np.testing.assert_array_equal(loose, 0 * B)
    far = np.linalg.norm(a @ np.asarray(one) - b[0])
    assert 1e-3 < far < np.linalg.norm(b[0]) or name == "gmres"
    assert np.isnan(np.asarray(unknown)).all()
    assert info == -1 if name == "gmres" else info is None


def test_a_short_restart_is_a_least_squares_problem() -> None:
    a, b = matrix("cg", np.float32), B.astype(np.float32)
    space = np.linalg.lstsq(np.stack([a @ b, a @ a @ b], 1), b, rcond=None)[0]
    x, info = linalg.gmres(a, b, restart=2, maxiter=1)
    np.testing.assert_allclose(x, np.stack([b, a @ b], 1) @ space, rtol=1e-3, atol=1e-4)
    assert info == 0


def test_integers_numbers_and_nothing() -> None:
    np.testing.assert_allclose(linalg.cg(4 * np.eye(2, dtype=int), np.array([4, 8]))[0], [1, 2])
    assert linalg.bicgstab(lambda x: 2 * x, 3.0)[0] == 1.5
    assert linalg.cg(lambda x: x, [])[0] == []
    half = jnp.bfloat16
    np.testing.assert_allclose(linalg.gmres(np.diag([2.0, 4]).astype(half), jnp.ones(2, half)
                                            )[0].astype(float), [0.5, 0.25], rtol=0.02)


@pytest.mark.parametrize("solve", [linalg.cg, linalg.bicgstab, linalg.gmres])
@pytest.mark.parametrize(("kind", "match", "args", "options"), [
    (ValueError, "square matrix", (ANY[:3], B), {}), (ValueError, "square matrix", (B, B), {}),
    (TypeError, "function or ndarray", ("a", B), {}),
    (ValueError, "tree structure", (ANY, B), {"x0": [B]}),
    (ValueError, "matching shapes", (ANY, B), {"x0": B[:2]}),
    (TypeError, "x0 is complex", (ANY, B), {"x0": B + 1j}),
    (TypeError, "M: linear operator", (ANY, B), {"M": "a"}),
    (TypeError, "maxiter", (ANY, B), {"maxiter": 1.5}),
    (ValueError, "matvec", (lambda x: x[:2], B), {}), (TypeError, "matvec", (lambda x: [x], B), {}),
])
def test_refuses(solve: Any, kind: type, match: str, args: tuple, options: dict) -> None:
    with pytest.raises(kind, match=match):
        solve(*args, **options)


def test_gmres_refuses() -> None:
    with pytest.raises(ValueError, match="solve_method"):
        linalg.gmres(ANY, B, solve_method="x")
    with pytest.raises(ValueError, match="restart"):
        linalg.gmres(ANY, B, restart=0)
