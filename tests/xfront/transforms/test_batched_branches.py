"""cond and switch whose predicate differs by lane: values, derivatives, and what is computed."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.xfront_ir.samples import op_counts
from xfront import lax
from xfront_ir.passes.pipeline import simplify

X = np.array([-2.0, 0.0, 0.25, 4.0], np.float32)


def dear(v):
    """The same number by an op that is not computed in vain."""
    return v * jnp.sum(jnp.sort(jnp.array([1.0, 0.0])))


def plain(v):
    return v


def root(weight):
    """sqrt where x is positive: its derivative is infinite or NaN in the other lanes."""
    return lambda x, w: lax.cond(x > 0, lambda v, u: u * jnp.sqrt(weight(v)),
                                 lambda v, u: weight(v) * 0.5 + u, x, w)


def known(x, w):
    """Values, and derivatives by x and w, of `root` in each lane."""
    safe = np.where(x > 0, x, 1)
    return (np.where(x > 0, w * np.sqrt(safe), x * 0.5 + w),
            np.where(x > 0, w * 0.5 / np.sqrt(safe), 0.5), np.where(x > 0, np.sqrt(safe), 1))


@pytest.fixture(params=[plain, dear], ids=["light", "dear"])
def f(request):
    return root(request.param)


def test_values_and_reverse_mode(f):
    y, by_x, by_w = known(X, 3.0)
    mapped = jax.vmap(f, (0, None))
    np.testing.assert_allclose(mapped(X, 3.0), y, rtol=1e-6)
    total = lambda x, w: jnp.sum(mapped(x, w))
    for made in (jax.grad(total, (0, 1)), jax.jit(jax.grad(total, (0, 1)))):
        of_x, of_w = made(X, 3.0)
        np.testing.assert_allclose(of_x, by_x, rtol=1e-6)
        np.testing.assert_allclose(of_w, by_w.sum(), rtol=1e-6)
    for x, w in zip(jax.vmap(jax.grad(f, (0, 1)), (0, None))(X, 3.0), (by_x, by_w), strict=True):
        np.testing.assert_allclose(x, w, rtol=1e-6)


def test_forward_mode_and_second_order(f):
    _, by_x, _ = known(X, 3.0)
    mapped = lambda x: jax.vmap(f, (0, None))(x, 3.0)
    np.testing.assert_allclose(jax.jvp(mapped, (X,), (np.ones_like(X),))[1], by_x, rtol=1e-6)
    second = np.where(X > 0, -0.75 * np.where(X > 0, X, 1) ** -1.5, 0)
    for made in (jax.hessian(lambda x: jnp.sum(mapped(x))),
                 jax.jacrev(jax.grad(lambda x: jnp.sum(mapped(x)))),
                 jax.jacfwd(jax.jacfwd(lambda x: jnp.sum(mapped(x))))):
        np.testing.assert_allclose(made(X), np.diag(second), rtol=1e-5)


def test_two_batches(f):
    x, w = np.stack([X, X[::-1]]), np.array([3.0, -1.0], np.float32)
    y, by_x, by_w = known(x, w[:, None])
    mapped = jax.vmap(jax.vmap(f, (0, None)))
    np.testing.assert_allclose(mapped(x, w), y, rtol=1e-6)
    of_x, of_w = jax.grad(lambda x, w: jnp.sum(mapped(x, w)), (0, 1))(x, w)
    np.testing.assert_allclose(of_x, by_x, rtol=1e-6)
    np.testing.assert_allclose(of_w, by_w.sum(1), rtol=1e-6)


def test_the_vjp_function_alone(f):
    _, by_x, by_w = known(X, 3.0)
    back = jax.vjp(lambda x, w: jax.vmap(f, (0, None))(x, w), X, 3.0)[1]
    of_x, of_w = back(jnp.ones(4))
    np.testing.assert_allclose(of_x, by_x, rtol=1e-6)
    np.testing.assert_allclose(of_w, by_w.sum(), rtol=1e-6)


@pytest.mark.parametrize("weight", [plain, dear])
def test_switch_by_lane(weight):
    branches = [lambda v: weight(v) * 2.0, lambda v: jnp.log(weight(v)), lambda v: 1.0 / v]
    x = np.array([0.0, 0.5, -1.0, 0.0, 2.0], np.float32)
    index = np.array([-3, 1, 2, 0, 7], np.int32)
    mapped = jax.vmap(lambda i, v: lax.switch(i, branches, v))
    np.testing.assert_allclose(mapped(index, x), [0.0, np.log(0.5), -1.0, 0.0, 0.5], rtol=1e-6)
    found = jax.grad(lambda v: jnp.sum(mapped(index, v)))(x)
    np.testing.assert_allclose(found, [2.0, 2.0, -1.0, 2.0, -0.25], rtol=1e-6)


def test_results_that_no_lane_owns_and_integers():
    def f(p, x, n, w):
        return lax.cond(p, lambda: (w, n, np.float32(1.0)), lambda: (x * w, n + 1, 2.0))

    p, x, n = np.array([True, False]), np.ones((2, 3), np.float32), np.array([1, 2])
    w = np.arange(3, dtype=np.float32)
    got = jax.vmap(f, (0, 1, 0, None), (1, 0, 0))(p, np.full((3, 2), 5, np.float32), n, w)
    np.testing.assert_array_equal(got[0], np.stack([w, 5 * w], 1))
    np.testing.assert_array_equal(got[1], [1, 3])
    np.testing.assert_array_equal(got[2], [1, 2])
    by_w = jax.grad(lambda w: jnp.sum(jax.vmap(f, (0, 0, 0, None))(p, x, n, w)[0]))(w)
    np.testing.assert_array_equal(by_w, [2, 2, 2])


def test_what_every_branch_hands_through_has_no_axis():
    def f(p, x, w, v):
        return lax.cond(p, lambda: (x, w, v, w), lambda: (2 * x, w, w, w + 0))

    p, x = np.array([True, False]), np.ones(2, np.float32)
    w, v = jnp.float32(3), jnp.float32(4)
    got = jax.vmap(f, (0, 0, None, None), (0, None, 0, 0))(p, x, w, v)
    for have, want in zip(got, ([1, 2], 3, [4, 3], [3, 3]), strict=True):
        np.testing.assert_array_equal(have, want)
    only = jax.vmap(lambda p, w: lax.cond(p, lambda w: w, lambda w: w, w), (0, None), None)
    assert only(p, w) == 3 and jax.grad(lambda w: only(p, w))(w) == 1


def conds(f, *args):
    return op_counts(simplify(jax.jit(f).trace(*args).ir))["cond"]


def test_what_a_branch_hands_on_goes_around_it():
    """Also through branches inside of it: large operands are neither copied nor chosen for it."""
    def outer(p, q, state, big):
        inner = lambda s: lax.cond(q, lambda v: (dear(v[0]), v[1]), lambda v: v, s)
        return lax.cond(p, inner, lambda s: (s[0] + 1.0, s[1]), (state, big))

    big = np.arange(4 * 50, dtype=np.float32).reshape(4, 50)
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    mapped = jax.vmap(outer)
    made = simplify(jax.jit(mapped).trace(p, q, X, big).ir)
    assert not any(v.type.shape == (4, 50) for op in made.ops for v in op.results)
    for run in (mapped, jax.jit(mapped)):
        of_state, handed_on = run(p, q, X, big)
        np.testing.assert_array_equal(of_state, np.where(p, X, X + 1.0))
        np.testing.assert_array_equal(handed_on, big)
    slopes = jax.grad(lambda x, b: sum([v.sum() for v in mapped(p, q, x, b)]), (0, 1))(X, big)
    np.testing.assert_array_equal(slopes[0], np.ones(4))
    np.testing.assert_array_equal(slopes[1], np.ones((4, 50)))
    shown: list = []
    jax.vmap(lambda p, x: lax.cond(p, lambda v: (jax.debug.callback(shown.append, v), v)[1],
                                   lambda v: v, x))(p, X)
    jax.effects_barrier()
    assert set(map(float, shown)) == {-2.0, 0.0}


def test_light_branches_are_computed_and_dear_ones_asked_for():
    x = jnp.ones((4, 3))
    choose = lambda g: jax.vmap(lambda v: lax.cond(v[0] > 0, g, lambda u: u, v))
    assert conds(choose(jnp.sin), x) == 0
    assert conds(choose(lambda v: jax.jit(jnp.cos)(v) / 2), x) == 0
    assert conds(choose(jnp.sort), x) == 1         # the other branch has nothing to compute

    def long(v):
        for _ in range(40):
            v = jnp.sin(v) + v
        return v

    assert conds(choose(long), x) == 0             # little work for so few elements
    assert conds(choose(long), jnp.ones((4, 3000))) == 1


def test_what_lanes_share_is_not_computed_for_each_of_them():
    table = jnp.ones(1000)
    f = jax.vmap(lambda p: lax.cond(p, lambda: jnp.sum(jnp.sin(table)), lambda: 0.0))
    assert conds(f, np.array([True, False])) == 1      # the branch that is 0.0 is chosen
    np.testing.assert_allclose(f(np.array([True, False])), [1000 * np.sin(1.0), 0.0], rtol=1e-5)


def test_light_branches_are_computed_beside_each_other():
    x = jnp.array([0.0, 4.0, 2.0])

    def f(x, i):
        y = lax.cond(x[0] > 0, jnp.log, lambda x: x * 2.0, x)
        return jnp.sum(y) + lax.switch(i, [lambda x: x[0], lambda x: x[1] / 0.0, lambda x: x[2]], x)

    assert conds(jax.value_and_grad(f), x, 2) == 0
    for i in (-3, 0, 2, 7):
        value, grad = jax.value_and_grad(f)(x, i)
        at = min(max(i, 0), 2)
        assert value == 12.0 + x[at]
        np.testing.assert_array_equal(grad, 2.0 + np.eye(3)[at])        # no NaN of log, of 1 / 0


@pytest.mark.parametrize("weight", [plain, dear], ids=["light", "dear"])
def test_what_is_linear_is_transposed_and_pushed_forward(weight):
    def slopes(ct):
        return jax.vmap(lambda x, ct: lax.cond(
            x > 0, lambda c: weight(2 * c), lambda c: weight(3 * c), ct))(X, ct)

    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (slopes(ct),))
    expected = np.where(X > 0, 2, 3) * X
    for found in (slopes(X), jax.linear_transpose(slopes, X)(X)[0], jax.jvp(f, (X,), (X,))[1],
                  jax.jit(lambda: jax.jvp(f, (X,), (X,))[1])()):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
