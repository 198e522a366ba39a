"""The rest of lax.linalg: similar matrices, products by reflections, updates, the polar form."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.lax import linalg

RNG = np.random.default_rng(3)
REAL = RNG.normal(size=(2, 5, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * RNG.normal(size=REAL.shape)).astype(np.complex64)
BOTH = pytest.mark.parametrize("x", [REAL, COMPLEX])


def h(x):
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


def close(got, expected, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=tolerance,
                               atol=tolerance)


def q_of(vectors, taus):
    """Q of vectors that start below the subdiagonal, as hessenberg and tridiagonal keep them."""
    n = vectors.shape[-1]
    made = np.broadcast_to(np.eye(n), vectors.shape).astype(vectors.dtype)
    inner = np.asarray(linalg.householder_product(vectors[..., 1:, :-1], taus))
    made[..., 1:, 1:] = inner
    return made


@BOTH
def test_schur(x):
    t, q = linalg.schur(x)
    close(q @ t @ h(q), x)
    close(h(q) @ q, np.broadcast_to(np.eye(5), x.shape))
    assert not np.tril(np.asarray(t), -1 if np.iscomplexobj(x) else -2).any()
    (alone,) = linalg.schur(x, compute_schur_vectors=False)
    close(alone, t, 1e-4)
    mapped = xfront.vmap(linalg.schur, in_axes=1)(jnp.swapaxes(jnp.array(x), 0, 1))
    close(mapped[0], t, 1e-4)
    assert isinstance(mapped, list)


@BOTH
def test_hessenberg(x):
    made, taus = map(np.asarray, linalg.hessenberg(x))
    q = q_of(made, taus)
    form = np.triu(made, -1)
    close(q @ form @ h(q), x)
    assert taus.shape == (2, 4)


@BOTH
@pytest.mark.parametrize("lower", [True, False])
def test_tridiagonal(x, lower):
    x = x + h(x)
    made, diagonal, beside, taus = map(np.asarray, xfront.jit(
        lambda x: linalg.tridiagonal(x, lower=lower))(x))
    assert diagonal.dtype == beside.dtype == np.float32 and taus.dtype == x.dtype
    form = np.zeros_like(x)
    for d, values in ((0, diagonal), (1, beside), (-1, beside)):
        for lane, v in zip(form, values, strict=True):
            lane += np.diag(v, d)
    for lane, whole in zip(form, x, strict=True):
        close(np.linalg.eigvalsh(lane), np.linalg.eigvalsh(whole), 1e-4)
    if lower:
        q = q_of(np.asarray(made), taus)
        close(q @ form @ h(q), x, 1e-4)


@BOTH
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_ormqr(x, left, transpose):
    made = [np.linalg.qr(lane, mode="raw") for lane in x]
    vectors = np.stack([np.swapaxes(m[0], 0, 1) for m in made]).astype(x.dtype)
    taus = np.stack([m[1] for m in made]).astype(x.dtype)
    q = np.asarray(linalg.householder_product(vectors, taus))
    q = h(q) if transpose else q
    c = x[:, :, :2] if left else x[:, :2]
    got = linalg.ormqr(vectors, taus, c, left=left, transpose=transpose)
    close(got, q @ c if left else c @ q)


def test_ormqr_is_differentiated_in_the_matrix_that_it_multiplies():
    vectors, taus = REAL[0], np.full((5,), 0.3, np.float32)
    ct = RNG.normal(size=(5, 5)).astype(np.float32)
    _, back = xfront.vjp(lambda c: linalg.ormqr(vectors, taus, c), REAL[1])
    close(back(ct)[0], linalg.ormqr(vectors, taus, ct, transpose=True))
    with pytest.raises(NotImplementedError, match="with respect to the matrix that it multiplies"):
        xfront.grad(lambda a: linalg.ormqr(a, taus, REAL[1]).sum())(vectors)


def test_cholesky_update():
    r, w = np.triu(REAL[0]) + 3 * np.eye(5, dtype=np.float32), REAL[1, 0]
    expected = np.linalg.cholesky(r.T @ r + np.outer(w, w)).T
    close(linalg.cholesky_update(r, w), expected)
    close(linalg.cholesky_update(-r, w), expected)
    close(linalg.cholesky_update(r + np.tril(REAL[1], -1), w), expected)
    many = xfront.vmap(linalg.cholesky_update)(jnp.stack([r, 2 * r]), jnp.stack([w, w]))
    close(many[0], expected)
    close(linalg.cholesky_update(np.zeros((3, 3), np.float32), np.zeros(3, np.float32)),
          np.zeros((3, 3)))

    def direct(r, w):
        upper = jnp.triu(r)
        return linalg.cholesky(upper.T @ upper + jnp.outer(w, w)).T

    got = xfront.grad(lambda w: jnp.sin(linalg.cholesky_update(r, w)).sum())(w)
    close(got, xfront.grad(lambda w: jnp.sin(direct(r, w)).sum())(w), 1e-4)


def test_symmetric_product():
    a, c = REAL[:, :, :3], REAL
    product = a @ np.swapaxes(a, -1, -2)
    close(linalg.symmetric_product(a, c), product)
    close(linalg.symmetric_product(a, c, alpha=2.0, beta=0.5), 2 * product + 0.5 * c)
    got = np.asarray(linalg.symmetric_product(a, c, beta=1.0, symmetrize_output=True))
    lower = np.tril(product + c)
    close(got, lower + np.swapaxes(np.tril(product + c, -1), -1, -2))
    close(xfront.grad(lambda a: linalg.symmetric_product(a, c).sum())(a),
          2 * np.broadcast_to(a.sum(1, keepdims=True), a.shape), 1e-4)


@pytest.mark.parametrize("x", [REAL[0], COMPLEX[0], REAL[0][:, :2], COMPLEX[0][:, :3]])
def test_qdwh(x):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    got_u, got_h, count, converged = linalg.qdwh(x)
    close(got_u, u @ vh)
    close(got_h, h(vh) @ np.diag(s) @ vh)
    assert converged and 1 <= count <= 6
    assert not linalg.qdwh(x, max_iterations=1)[3]
    padded = np.pad(x, ((0, 2), (0, 1)), constant_values=7)
    part = linalg.qdwh(padded, dynamic_shape=x.shape)[0]
    close(part, np.pad(u @ vh, ((0, 2), (0, 1))))


def test_derivative_of_qdwh_is_that_of_the_polar_form():
    def by_svd(x):
        u, _, vh = jnp.linalg.svd(x, full_matrices=False)
        return jnp.sin(u @ vh).sum()

    close(xfront.grad(lambda x: jnp.sin(linalg.qdwh(x)[0]).sum())(REAL[0]),
          xfront.grad(by_svd)(REAL[0]), 1e-3)


def test_ways_that_are_not_there_are_refused():
    x = REAL[0]
    for way in ("JACOBI", "POLAR"):
        with pytest.raises(NotImplementedError, match=way):
            linalg.svd(x, algorithm=linalg.SvdAlgorithm[way])
    with pytest.raises(NotImplementedError, match="QDWH"):
        linalg.eigh(x, implementation=linalg.EighImplementation.QDWH)
    with pytest.raises(NotImplementedError, match="MAGMA"):
        linalg.eig(x, implementation=linalg.EigImplementation.MAGMA)
    close(linalg.eigh(x, implementation=linalg.EighImplementation.QR)[1], linalg.eigh(x)[1])
    close(linalg.svd(x, algorithm=linalg.SvdAlgorithm.QR)[1], np.linalg.svd(x)[1])


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: linalg.schur(REAL[0], sort_eig_vals=True), NotImplementedError,
     "sorting of eigenvalues"),
    (lambda: linalg.schur(REAL[0, :2]), ValueError, "schur"),
    (lambda: linalg.hessenberg(REAL[0].astype(np.float16)), NotImplementedError, "f32"),
    (lambda: linalg.tridiagonal(REAL[0, :2]), ValueError, "tridiagonal"),
    (lambda: linalg.ormqr(REAL[0], REAL[0, 0], REAL[0, :2]), ValueError, "as many rows"),
    (lambda: linalg.qdwh(REAL[0, :2]), ValueError, "M >= N"),
    (lambda: linalg.qdwh(REAL), ValueError, "vmap"),
    (lambda: linalg.cholesky_update(REAL[0], REAL[0, 0, :2]), ValueError, "vector of its size"),
    (lambda: linalg.cholesky_update(COMPLEX[0], COMPLEX[0, 0]), TypeError, "complex64"),
    (lambda: linalg.symmetric_product(REAL[0], REAL[0, :2, :2]), ValueError, "shapes"),
    (lambda: xfront.grad(lambda x: linalg.schur(x)[0].sum())(REAL[0]), NotImplementedError,
     "schur"),
])
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_their_primitives():
    assert lax.linalg.schur_p.name == "schur" and lax.linalg.ormqr_p.name == "ormqr"
    assert lax.linalg.hessenberg_p.multiple_results and lax.linalg.tridiagonal_p.multiple_results
    assert lax.linalg.symmetric_product_p.definition is None


def test_wrong_shapes_are_caught_as_type_and_value_errors_and_integers_as_type_errors():
    """As JAX raises the one in some functions and the other in others."""
    wide, vector, square = np.ones((2, 3), "f4"), np.ones(3, "f4"), np.ones((3, 3), "f4")
    calls = [lambda f=f, x=x: f(x) for f in (jnp.linalg.cholesky, lax.linalg.eigh, lax.linalg.schur)
             for x in (wide, vector)]
    calls += [lambda f=f: f(vector) for f in (jnp.linalg.qr, jnp.linalg.svd, lax.linalg.lu)]
    calls += [lambda: lax.linalg.triangular_solve(square, wide, left_side=True),
              lambda: lax.linalg.householder_product(wide, vector),
              lambda: lax.linalg.cholesky_update(square, wide),
              lambda: jnp.linalg.lstsq(vector, vector)]
    for call in calls:
        for kind in (TypeError, ValueError):
            with pytest.raises(kind, match="shape"):
                call()
    for f in (lax.linalg.eig, lax.linalg.lu, lax.linalg.qr):
        with pytest.raises(TypeError, match="convert it first"):
            f(np.eye(3, dtype=int))
    assert type(lax.linalg.qr(square)) is tuple
