"""Tiny matrices entry by entry against LAPACK: errors, failures, pivots, shapes beside the edge."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.lowering.cpu.against_plain import named, program, takes_a_form, variants
from xfront_ir import ops

SOLVE = {"left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False,
         "unit_diagonal": False}


def batch(dtype: str, count: int, n: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(count, n, n))
    return x.astype(named(dtype).dtype.numpy)


def positive(x: np.ndarray) -> np.ndarray:
    """Matrices with all eigenvalues above 0.1."""
    return x @ np.swapaxes(x, -1, -2) + 0.1 * np.eye(x.shape[-1], dtype=x.dtype)


def norm(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x.astype(np.float64), axis=(-2, -1))


@pytest.mark.parametrize("dtype, count, n, taken", (
    ("f32", 2047, 3, False), ("f32", 2048, 3, True), ("f64", 1024, 2, True),
    ("f32", 1023, 2, False), ("f32", 4095, 4, False), ("f32", 4096, 4, True),
    ("f64", 4096, 4, True), ("f32", 9000, 5, False), ("c64", 1024, 2, False)))
def test_cholesky(monkeypatch, dtype, count, n, taken) -> None:
    """Backward stable; NaN altogether where a pivot is zero or negative."""
    type = named(dtype, count, n, n)
    fn = program(("", ops.cholesky, (type,), {}, taken))
    assert takes_a_form(fn, ops.cholesky) == taken
    if not taken:
        return
    fast, plain = variants(fn, monkeypatch)
    x = positive(batch(dtype, count, n))
    (made,) = fast(x)
    assert not made[..., *np.triu_indices(n, 1)].any()
    eps = np.finfo(x.dtype).eps
    wide = made.astype(np.float64)
    assert (norm(wide @ np.swapaxes(wide, -1, -2) - x) <= 2 * n * eps * norm(x)).all()
    x[0], x[1], x[2] = -np.eye(n), 0, np.nan
    x[3] = np.eye(n)
    x[3, -1, -1] = -1
    x[4] = np.ones((n, n))
    x[5] = np.where(np.triu(np.ones((n, n)), 1), np.nan, np.eye(n))
    x[6] = np.where(np.eye(n), np.inf, 0)
    x[7] = np.eye(n)
    x[7, -1, 0] = np.nan
    np.testing.assert_array_equal(np.isnan(fast(x)[0][:8]), np.isnan(plain(x)[0][:8]))
    np.testing.assert_array_equal(fast(x)[0][5], np.eye(n))


@pytest.mark.parametrize("left_side, lower, transpose_a, unit_diagonal",
                         list(itertools.product((True, False), repeat=4)))
def test_triangular_solve(monkeypatch, left_side, lower, transpose_a, unit_diagonal) -> None:
    """Nothing of the other triangle is read."""
    attrs = {**SOLVE, "left_side": left_side, "lower": lower, "transpose_a": transpose_a,
             "unit_diagonal": unit_diagonal}
    for dtype, n in (("f32", 3), ("f64", 2), ("f32", 4)):
        shape = (1000, n, 5) if left_side else (1000, 5, n)
        types = (named(dtype, 1000, n, n), named(dtype, *shape))
        fn = program(("", ops.triangular_solve, types, attrs, True))
        assert takes_a_form(fn, ops.triangular_solve)
        fast, plain = variants(fn, monkeypatch)
        keep = np.tril(np.ones((n, n))) if lower else np.triu(np.ones((n, n)))
        if unit_diagonal:
            keep -= np.eye(n)
        a = batch(dtype, 1000, n) + 3 * np.eye(n, dtype=types[0].dtype.numpy)
        a = np.where(keep, a, np.nan).astype(a.dtype)
        rhs = np.random.default_rng(1).normal(size=shape).astype(a.dtype)
        x = fast(a, rhs)[0].astype(np.float64)
        whole = np.where(keep, a, np.eye(n) if unit_diagonal else 0).astype(np.float64)
        if transpose_a:
            whole = np.swapaxes(whole, -1, -2)
        left = (whole @ x if left_side else x @ whole) - rhs
        eps = np.finfo(a.dtype).eps
        assert (norm(left) <= n * eps * norm(whole) * norm(x)).all()
        a[0, 0, 0] = np.nan
        a[1] = 0
        a[2, -1, -1] = np.inf
        got, want = fast(a, rhs)[0][:3], plain(a, rhs)[0][:3]
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("dtype, shape, taken", (
    ("f32", (1, 1), True), ("f64", (7, 1, 1), True), ("c64", (1, 1), False),
    ("f32", (2, 2), False)))
def test_one_row(monkeypatch, dtype, shape, taken) -> None:
    """A root and quotients, with NaN, infinities and zeros where LAPACK has them."""
    type, n = named(dtype, *shape), shape[-1]
    root = program(("", ops.cholesky, (type,), {}, taken))
    assert takes_a_form(root, ops.cholesky) == taken
    odd = np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 2.0, 1e-30, 3e38], type.dtype.numpy)
    if taken:
        fast, plain = variants(root, monkeypatch)
        for x in odd:
            x = np.full(shape, x)
            np.testing.assert_allclose(fast(x)[0], plain(x)[0], rtol=2e-7)
    for left, unit, flipped in itertools.product((True, False), repeat=3):
        attrs = {**SOLVE, "left_side": left, "unit_diagonal": unit, "transpose_a": flipped}
        side = (*shape[:-2], n, 3) if left else (*shape[:-2], 3, n)
        solve = program(("", ops.triangular_solve, (type, named(dtype, *side)), attrs, taken))
        assert takes_a_form(solve, ops.triangular_solve) == taken
        if taken:
            fast, plain = variants(solve, monkeypatch)
            rhs = np.array([1.5, -2.0, 0.0], type.dtype.numpy)
            for a in odd[:8]:
                given = np.full(shape, a), np.broadcast_to(rhs.reshape(side[-2:]), side)
                np.testing.assert_allclose(fast(*given)[0], plain(*given)[0], rtol=3e-7)


@pytest.mark.parametrize("dtype, shape, taken", (
    ("f32", (2000, 3, 3), True), ("f32", (1999, 3, 3), False), ("f64", (10, 100, 2, 2), True),
    ("f32", (999, 2, 2), False), ("f32", (9000, 4, 4), False), ("f32", (9000, 3, 2), False),
    ("f32", (9000, 2, 3), False)))
def test_lu(monkeypatch, dtype, shape, taken) -> None:
    """The same exchanges, ties included; factors as near; singular matrices have zeros in U."""
    fn = program(("", ops.lu, (named(dtype, *shape),), {}, taken))
    assert takes_a_form(fn, ops.lu) == taken
    if not taken:
        return
    fast, plain = variants(fn, monkeypatch)
    n, rng = shape[-1], np.random.default_rng(0)
    x = rng.normal(size=shape).astype(named(dtype).dtype.numpy)
    x.reshape(-1, n, n)[:500] = rng.integers(-2, 3, (500, n, n))
    got, want = fast(x), plain(x)
    whole = [v.reshape(-1, *v.shape[len(shape) - 2:]) for v in got]
    others = [v.reshape(-1, *v.shape[len(shape) - 2:]) for v in want]
    np.testing.assert_array_equal(whole[1][500:], others[1][500:])
    np.testing.assert_array_equal(whole[2][500:], others[2][500:])
    factors, order, flat = whole[0].astype(np.float64), whole[2], x.reshape(-1, n, n)
    product = (np.tril(factors, -1) + np.eye(n)) @ np.triu(factors)
    rows = np.take_along_axis(flat, order[..., None], axis=1)
    assert (np.abs(np.tril(factors, -1)) <= 1).all()
    assert (norm(product - rows) <= 2 * n * np.finfo(x.dtype).eps * norm(flat)).all()
    for pivots, of in zip(whole[1], order, strict=True):
        rows_of = list(range(n))
        for k, p in enumerate(pivots):
            rows_of[k], rows_of[p] = rows_of[p], rows_of[k]
        assert rows_of == list(of)
    x.reshape(-1, n, n)[0] = np.nan
    assert np.isnan(fast(x)[0].reshape(-1, n, n)[0]).any()
    x.reshape(-1, n, n)[:, 0, 0] = np.nan                   # LAPACK does not divide by it
    for made, other in zip(fast(x), plain(x), strict=True):
        np.testing.assert_allclose(made[..., :500, :], other[..., :500, :], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype, shape, full, taken", (
    ("f32", (3000, 4, 4), True, True), ("f32", (2999, 4, 4), False, False),
    ("f64", (2, 2000, 3, 3), False, True), ("f32", (6000, 2, 2), True, True),
    ("f32", (4000, 3, 2), False, True), ("f32", (4000, 3, 2), True, False),
    ("f32", (3000, 4, 2), False, True), ("f32", (9000, 2, 3), False, False),
    ("f32", (9000, 5, 2), False, False), ("f32", (9000, 4, 1), False, False)))
def test_qr(monkeypatch, dtype, shape, full, taken) -> None:
    """Orthonormal columns, backward stable, LAPACK's signs; zeros, large and small columns; what is
    not finite spreads as in LAPACK."""
    fn = program(("", ops.qr, (named(dtype, *shape),), {"full_matrices": full}, taken))
    assert takes_a_form(fn, ops.qr) == taken
    if not taken:
        return
    fast, plain = variants(fn, monkeypatch)
    (m, n), rng = shape[-2:], np.random.default_rng(0)
    x = rng.normal(size=shape).astype(named(dtype).dtype.numpy)
    flat = x.reshape(-1, m, n)
    flat[:500] = rng.integers(-1, 2, (500, m, n))
    flat[500:700] *= 10.0 ** rng.integers(-25, 30, (200, 1, 1))
    flat[700:800] *= 10.0 ** rng.integers(-25, 25, (100, 1, n))
    q, r = (v.reshape(-1, *v.shape[len(shape) - 2:]).astype(np.float64) for v in fast(x))
    eps = np.finfo(x.dtype).eps
    assert not np.tril(r, -1).any()
    assert (norm(np.swapaxes(q, -1, -2) @ q - np.eye(n)) <= 4 * n * eps).all()
    assert (norm(q @ r - flat) <= 4 * n * eps * norm(flat)).all()
    signs = [np.sign(np.diagonal(v, axis1=1, axis2=2)) for v in (r, plain(x)[1].reshape(-1, n, n))]
    np.testing.assert_array_equal(*[v[500:] for v in signs])    # rounding decides some of integers
    flat[:2] = 0
    flat[0, -1, 0], flat[1, 0, -1] = np.inf, np.nan
    for got, want in zip(fast(x), plain(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = (positive(batch("f64", 4000, 3)) + np.eye(3)).astype(np.float32)
    rhs = np.random.default_rng(2).normal(size=(4000, 3)).astype(np.float32)

    def both(f) -> None:
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            program = xfront.jit(lambda x, rhs: f(x, rhs)).lower(x, rhs).compile()
            made.append(np.asarray(program(x, rhs)))
        assert (np.abs(made[0] - made[1]) <= 1e-5 * (1 + np.abs(made[1]))).all()

    both(lambda x, rhs: xfront.vmap(jnp.linalg.solve)(x, rhs[..., None]))
    both(lambda x, rhs: jnp.linalg.inv(x))
    both(lambda x, rhs: xfront.vmap(jnp.linalg.qr)(x)[0])
    both(lambda x, rhs: xfront.grad(lambda x: jnp.sum(jnp.sin(jnp.linalg.qr(x)[1])))(x))
    both(lambda x, rhs: jnp.linalg.det(x))
    both(lambda x, rhs: xfront.grad(lambda x: jnp.sum(jnp.sin(jnp.linalg.cholesky(x))))(x))
    both(lambda x, rhs: xfront.grad(
        lambda x: jnp.sum(jnp.sin(jnp.linalg.solve(x, rhs[..., None]))))(x))
