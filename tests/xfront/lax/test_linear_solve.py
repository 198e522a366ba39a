"""custom_linear_solve and linear_call against dense solutions, derivatives in every nesting."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.custom_derivatives import linear_call
from xfront.test_util import check_grads

rng = np.random.RandomState(0)
A = (rng.randn(4, 4) + 4 * np.eye(4)).astype("f")
S = (A + A.T).astype("f")
B = rng.randn(4).astype("f")


def jacobi(matvec, b):
    """A fixed number of turns of a loop that has no reverse mode of its own to speak of."""
    diagonal = jnp.stack([matvec(e)[i] for i, e in enumerate(jnp.eye(4))])

    def unfinished(state):
        return (state[1] < 60) & (jnp.max(jnp.abs(matvec(state[0]) - b)) > 1e-6)

    def better(state):
        x, k = state
        return x + 0.8 * (b - matvec(x)) / diagonal, k + 1
    return lax.while_loop(unfinished, better, (b, 0))[0]


def solve(a, b, **options):
    options.setdefault("transpose_solve", jacobi)
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, **options)


def test_values_and_first_derivatives():
    np.testing.assert_allclose(solve(A, B), np.linalg.solve(A, B), atol=1e-5)
    loss = lambda a, b: jnp.sum(jnp.sin(solve(a, b)))
    dense = lambda a, b: jnp.sum(jnp.sin(jnp.linalg.solve(a, b)))
    for wrap in (lambda f: f, jax.jit):
        got, wanted = wrap(jax.grad(loss, (0, 1)))(A, B), jax.grad(dense, (0, 1))(A, B)
        for g, w in zip(got, wanted, strict=True):
            np.testing.assert_allclose(g, w, atol=1e-5)
    moved = jax.jvp(solve, (A, B), (A * 0.1, B * 2))[1]
    np.testing.assert_allclose(moved, 1.9 * np.linalg.solve(A, B), atol=1e-5)


def test_second_order_in_both_modes():
    wide = lambda a, b: lax.custom_linear_solve(
        lambda x: a @ x, b, lambda _, y: jnp.linalg.solve(a, y),
        lambda vecmat, y: jnp.linalg.solve(a.T, y))
    with jax.enable_x64(True):
        check_grads(wide, (A.astype(float), B.astype(float)), 2)
    hessian = jax.hessian(lambda b: jnp.sum(solve(A, b) ** 2))(B)
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(hessian, 2 * inverse.T @ inverse, atol=1e-4)


def test_the_transposed_system_is_built_from_matvec():
    seen = []

    def transposed(vecmat, ct):
        seen.append(vecmat(ct).shape)
        return jacobi(vecmat, ct)
    got = jax.grad(lambda b: jnp.sum(solve(A, b, transpose_solve=transposed)))(B)
    np.testing.assert_allclose(got, np.linalg.solve(A.T, np.ones(4)), atol=1e-5)
    assert seen[0] == (4,)


def test_symmetric_and_missing_transpose():
    f = lambda b, **o: jnp.sum(lax.custom_linear_solve(lambda x: S @ x, b, jacobi, **o))
    got = jax.grad(lambda b: f(b, symmetric=True))(B)
    np.testing.assert_allclose(got, np.linalg.solve(S, np.ones(4)), atol=1e-5)
    with pytest.raises(TypeError, match="transpose_solve"):
        jax.grad(f)(B)
    moved = jax.jvp(f, (B,), (B,))[1]
    np.testing.assert_allclose(moved, np.linalg.solve(S, B).sum(), rtol=1e-4)


def test_batches_of_either_side():
    many = np.stack([A, A.T, S])
    rights = rng.randn(3, 4).astype("f")
    np.testing.assert_allclose(jax.vmap(solve, (None, 0))(A, rights),
                               np.linalg.solve(A, rights.T).T, atol=1e-5)
    np.testing.assert_allclose(jax.vmap(solve)(many, rights),
                               np.linalg.solve(many, rights[..., None])[..., 0], atol=1e-5)
    loss = lambda a, b: jnp.sum(solve(a, b) ** 2)
    dense = lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2)
    for axes in ((0, 0), (0, None), (None, 0)):
        args = [many if axes[0] == 0 else A, rights if axes[1] == 0 else B]
        got = jax.jit(jax.vmap(jax.grad(loss, (0, 1)), axes))(*args)
        wanted = jax.vmap(jax.grad(dense, (0, 1)), axes)(*args)
        for g, w in zip(got, wanted, strict=True):
            np.testing.assert_allclose(g, w, atol=1e-4)


def test_trees_and_what_is_given_beside():
    b = {"u": B, "v": B[:2]}
    matvec = lambda x: {"u": A @ x["u"], "v": 2.0 * x["v"]}

    def exact(matvec, b):
        return {"u": jnp.linalg.solve(A, b["u"]), "v": b["v"] / 2.0}, {"turns": 3, "b": b["v"]}
    f = lambda b: lax.custom_linear_solve(matvec, b, exact, exact, has_aux=True)
    x, aux = f(b)
    assert aux["turns"] == 3
    np.testing.assert_allclose(x["v"], B[:2] / 2)
    backwards = lambda vecmat, ct: (
        {"u": jnp.linalg.solve(A.T, ct["u"]), "v": ct["v"] / 2.0}, None)
    g = lambda b: lax.custom_linear_solve(matvec, b, exact, backwards, has_aux=True)

    def loss(b):
        x, aux = g(b)
        return jnp.sum(x["u"]) + jnp.sum(x["v"]), aux
    grad, aux = jax.jit(jax.grad(loss, has_aux=True))(b)
    np.testing.assert_allclose(grad["u"], np.linalg.solve(A.T, np.ones(4)), atol=1e-5)
    np.testing.assert_array_equal(grad["v"], [0.5, 0.5])
    np.testing.assert_array_equal(aux["b"], B[:2])


def test_inside_scan_and_with_values_that_change():
    def path(b, scale):
        return lax.scan(lambda c, _: (solve(scale * A, c), None), b, None, 2)[0]
    twice = np.linalg.inv(4.0 * A @ A)
    np.testing.assert_allclose(path(B, 2.0), twice @ B, atol=1e-5)
    got = jax.grad(lambda b: jnp.sum(path(b, 2.0)))(B)
    np.testing.assert_allclose(got, twice.T @ np.ones(4), atol=1e-5)
    for scale in (1.0, 2.0, 3.0, 4.0):
        got = jax.grad(lambda b, s=scale: jnp.sum(solve(s * A, b)))(B)
        np.testing.assert_allclose(got, np.linalg.solve(A.T, np.ones(4)) / scale, atol=1e-5)


def test_wrong_shapes_and_structures():
    with pytest.raises(ValueError, match=r"result of matvec has type f32\[3\]"):
        lax.custom_linear_solve(lambda x: x[:3], B, jacobi)
    with pytest.raises(TypeError, match="result of solve has structure"):
        lax.custom_linear_solve(lambda x: x, B, lambda mv, b: (b, b))
    with pytest.raises(TypeError, match="pair"):
        lax.custom_linear_solve(lambda x: x, B, lambda mv, b: b, has_aux=True)
    with pytest.raises(TypeError, match="float or complex"):
        lax.custom_linear_solve(lambda x: x, np.arange(3), lambda mv, b: b)


# --- linear_call --------------------------------------------------------------------------------

def tenfold(r, x):
    return linear_call(lambda r, x: x * r, lambda r, ct: ct * r * 10.0, r, x)


def test_linear_call_is_transposed_by_its_rule():
    assert tenfold(2.0, 3.0) == 6.0
    assert jax.jvp(lambda x: tenfold(2.0, x), (3.0,), (1.0,))[1] == 2.0
    assert jax.grad(tenfold, 1)(2.0, 3.0) == 20.0
    assert jax.jit(jax.grad(tenfold, 1))(2.0, 3.0) == 20.0
    assert jax.grad(tenfold)(2.0, 3.0) == 3.0
    once = lambda ct: jax.linear_transpose(lambda x: tenfold(2.0, x), 1.0)(ct)[0]
    assert jax.linear_transpose(once, 1.0)(1.0)[0] == 2.0
    assert jax.grad(jax.grad(lambda r, x: tenfold(r, x) ** 2, 1), 1)(2.0, 3.0) == 80.0


def test_linear_call_under_vmap_and_over_tracers():
    r, x = np.arange(3, dtype="f"), np.arange(3, dtype="f") + 1
    np.testing.assert_array_equal(jax.vmap(tenfold)(r, x), r * x)
    np.testing.assert_array_equal(jax.vmap(jax.grad(tenfold, 1))(r, x), 10 * r)
    np.testing.assert_array_equal(jax.vmap(jax.grad(tenfold, 1), (0, None))(r, 1.0), 10 * r)
    total = jax.grad(lambda x: jnp.sum(jax.vmap(tenfold, (0, None))(r, x)))(1.0)
    assert total == 30.0

    def outer(w):
        f = lambda x: linear_call(lambda r, x: {"a": x["b"] * w},
                                  lambda r, ct: {"b": ct["a"] * w * 3.0}, (), {"b": x})["a"]
        return jax.grad(f)(1.0)
    assert jax.jit(outer)(5.0) == 15.0
    assert jax.grad(outer)(5.0) == 3.0


def test_linear_call_errors():
    with pytest.raises(TypeError, match="transpose output pytree structure"):
        linear_call(lambda r, x: x, lambda r, ct: (ct, ct), 1.0, 2.0)
    with pytest.raises(TypeError, match="only float and complex"):
        linear_call(lambda r, x: x, lambda r, ct: ct, 1.0, 2)
