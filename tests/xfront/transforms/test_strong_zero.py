"""grad(strong_zero=True): a branch that is not taken leaves nothing in the gradient."""

import functools

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.custom_batching import custom_vmap
from xfront.custom_derivatives import linear_call

strong = functools.partial(jax.grad, strong_zero=True)
X = np.array([-1.0, 0.0, 4.0], "f")


def root(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


def logarithm(x):
    return jnp.where(x > 0, jnp.log(x), 0.0)


def ratio(x):
    return jnp.where(x == 0, 1.0, x / x)


def sinc(x):
    return jnp.where(x == 0, 1.0, jnp.sin(x) / x)


def softplus(x):
    return jnp.where(x > 88, x, jnp.log1p(jnp.exp(x)))


def power(x):
    return jnp.where(x > 0, x ** 0.3, 0.0)


def arc(x):
    return jnp.where(jnp.abs(x) < 1, jnp.arcsin(x), jnp.sign(x))


CASES = {
    root: (X, [0, 0, 0.25], [0, 0, -1 / 32]),
    logarithm: (X, [0, 0, 0.25], [0, 0, -1 / 16]),
    ratio: (X, [0, 0, 0], [0, 0, 0]),
    softplus: (np.array([0.0, 100.0, 1000.0], "f"), [0.5, 1, 1], [0.25, 0, 0]),
    power: (np.array([-2.0, 0.0, 1.0], "f"), [0, 0, 0.3], [0, 0, -0.21]),
    arc: (np.array([-2.0, 1.0, 0.0], "f"), [0, 0, 1], [0, 0, 0]),
}


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_classical_cases_of_first_and_second_order(f):
    x, first, second = CASES[f]
    assert np.isnan(jax.vmap(jax.grad(f))(x)).any()
    for made in (jax.vmap(strong(f)), jax.jit(jax.vmap(strong(f))),
                 strong(lambda x: jnp.sum(f(x)))):
        np.testing.assert_allclose(made(x), first, rtol=1e-6, atol=1e-6)
    for made in (strong(strong(f)), strong(lambda x: jax.jit(strong(f))(x))):
        np.testing.assert_allclose(jax.vmap(made)(x), second, rtol=1e-5, atol=1e-6)


def test_norms_at_zero():
    for norm in (jnp.linalg.norm, lambda x: jnp.sqrt(jnp.sum(x ** 2))):
        np.testing.assert_array_equal(strong(norm)(jnp.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(strong(jnp.linalg.norm)(jnp.array([3.0, 4.0])), [0.6, 0.8],
                               rtol=1e-6)


def test_where_nothing_is_infinite_it_is_the_plain_gradient():
    def f(w, x):
        y = jnp.tanh(w @ x) / (1.0 + x[:2] ** 2)
        return jnp.sum(jnp.where(y > 0, y * jnp.exp(-y), y ** 3)) + jnp.max(x) * jnp.prod(x)
    w, x = np.linspace(-1, 1, 6, dtype="f").reshape(2, 3), np.array([0.5, -1.0, 2.0], "f")
    for a, b in zip(strong(f, argnums=(0, 1))(w, x), jax.grad(f, (0, 1))(w, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_infinities_that_are_reached_stay():
    assert strong(jnp.sqrt)(0.0) == np.inf
    assert np.isnan(strong(lambda x: jnp.log(x) * 2.0)(np.nan))
    assert strong(lambda x: jnp.where(x >= 0, jnp.sqrt(x), 0.0))(0.0) == np.inf


def test_matrix_products():
    a, x = np.arange(6, dtype="f").reshape(2, 3), np.array([1.0, 0.0, -1.0], "f")
    taken = np.array([False, True])
    f = lambda a, x: jnp.sum(jnp.where(taken, a @ jnp.log(x), 0.0))
    da, dx = strong(f, (0, 1))(a, x)
    np.testing.assert_array_equal(da, [[0, 0, 0], [0, -np.inf, np.nan]])
    np.testing.assert_array_equal(dx, [3, np.inf, -5])
    none = lambda a, x: jnp.where(x[2] > 0, jnp.sum(a @ jnp.log(x)), 0.0)
    for wrap in (lambda f: f, jax.jit):
        da, dx = wrap(strong(none, (0, 1)))(a, x)
        assert not da.any() and not dx.any()
    batch = jax.vmap(strong(none, (0, 1)), (None, 0))(a, np.stack([x, abs(x) + 1]))
    assert np.isfinite(batch[0]).all() and batch[0][1].any() and not batch[0][0].any()


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_inside_scan_while_and_cond(wrap):
    def scanned(x):
        return lax.scan(lambda c, y: (c + logarithm(y) * c, root(y)), 1.0, x)[0]
    np.testing.assert_allclose(wrap(strong(scanned))(X), [0, 0, 0.25], rtol=1e-6)

    def carried(x):
        return lax.scan(lambda c, _: (root(c), None), x, None, 3)[0]
    assert wrap(strong(carried))(0.0) == 0.0

    def looped(x):
        return lax.while_loop(lambda s: s[1] < 3, lambda s: (root(s[0] - 1.0), s[1] + 1), (x, 0))[0]
    assert wrap(strong(looped))(2.5) == 0.0

    def chosen(x):
        return lax.cond(x > 2, lambda x: x ** 2, lambda x: logarithm(x) * 2.0, x)
    np.testing.assert_allclose(wrap(jax.vmap(strong(chosen)))(X), [0, 0, 8])


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_inside_checkpoints_custom_rules_and_inner_transformations(wrap):
    kept = jax.checkpoint(lambda x: logarithm(x) * x)
    np.testing.assert_allclose(wrap(jax.vmap(strong(kept)))(X), [0, 0, np.log(4) + 1], rtol=1e-6)

    by_jvp = jax.custom_jvp(lambda x: jnp.log(x))
    by_jvp.defjvp(lambda p, t: (by_jvp(*p), t[0] / p[0]))
    by_vjp = jax.custom_vjp(lambda x: jnp.log(x))
    by_vjp.defvjp(lambda x: (by_vjp(x), x), lambda x, ct: (ct * (1.0 / x),))
    by_vmap = custom_vmap(lambda x: jnp.log(x))
    by_vmap.def_vmap(lambda size, batched, x: (jnp.log(x), True))
    by_call = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: ct / r, jnp.zeros_like(x), x)
    for f, slope in ((by_jvp, 0.25), (by_vjp, 0.25), (by_vmap, 0.25), (by_call, np.inf)):
        made = strong(lambda x, f=f: jnp.where(x > 0, f(x), 0.0))
        np.testing.assert_allclose(wrap(jax.vmap(made))(X), [0, 0, slope], rtol=1e-6)
        if f is not by_call:
            np.testing.assert_allclose(wrap(made)(0.0), 0.0)
    batched = jax.vmap(by_vjp)
    total = strong(lambda x: jnp.sum(jnp.where(x > 0, batched(x), 0.0)))
    np.testing.assert_allclose(wrap(total)(X), [0, 0, 0.25], rtol=1e-6)
    mixed = strong(lambda x: jnp.sum(jax.vmap(lambda y: jax.jvp(root, (y,), (y,))[1])(x)))
    np.testing.assert_allclose(wrap(mixed)(X), [0, 0, 0.125], rtol=1e-6)


def test_value_and_grad_vjp_and_auxiliary_values():
    (value, aux), slope = jax.value_and_grad(
        lambda x: (jnp.sum(root(x)), x), has_aux=True, strong_zero=True)(X)
    assert value == 2.0
    np.testing.assert_allclose(slope, [0, 0, 0.25])
    np.testing.assert_array_equal(aux, X)
    value, pull = jax.vjp(logarithm, X, strong_zero=True)
    np.testing.assert_allclose(pull(jnp.ones(3))[0], [0, 0, 0.25])
    assert np.isnan(jax.vjp(logarithm, X)[1](jnp.ones(3))[0]).any()


def test_complex_values_and_changing_literals():
    f = lambda z: jnp.real(jnp.where(jnp.abs(z) > 0, jnp.log(z), 0.0))
    got = jax.vmap(strong(f))(np.array([0, 2j], "F"))
    np.testing.assert_allclose(got, [0, -0.5j], atol=1e-6)
    for c in (1.0, 0.0, np.inf, 3.0):
        got = strong(lambda x, c=c: jnp.where(x > 0, x * c, 0.0))(-1.0)
        assert got == 0.0
