"""custom_vmap and sequential_vmap: the rule is what a batch gets, derivatives before or after."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.custom_batching import custom_vmap, sequential_vmap


def tenfold():
    f = custom_vmap(lambda x: jnp.sin(x))
    f.def_vmap(lambda size, batched, x: (10.0 * jnp.sin(x), batched[0]))
    return f


X = np.arange(3, dtype="f")
SIN, COS = np.sin(X), np.cos(X)


def test_a_batch_goes_by_the_rule_and_one_example_by_the_function():
    f = tenfold()
    np.testing.assert_allclose(f(X), SIN, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(X), 10 * SIN, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(X), 10 * SIN, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.jit(f))(X), 10 * SIN, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.vmap(f))(X[None]), 10 * SIN[None], rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(lambda x: f(1.0) + x)(X), np.sin(1.0) + X, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_derivatives_before_and_after_the_batch(wrap):
    f = tenfold()
    assert np.isclose(wrap(jax.grad(f))(1.0), np.cos(1.0))
    total = lambda x: jnp.sum(jax.vmap(f)(x))
    np.testing.assert_allclose(wrap(jax.grad(total))(X), 10 * COS, rtol=1e-6)
    np.testing.assert_allclose(wrap(jax.vmap(jax.grad(f)))(X), 10 * COS, rtol=1e-6)
    np.testing.assert_allclose(wrap(jax.vmap(jax.grad(jax.grad(f))))(X), -10 * SIN, atol=1e-6)
    np.testing.assert_allclose(
        wrap(jax.vmap(lambda x: jax.jvp(f, (x,), (2.0,))))(X), [10 * SIN, 20 * COS], rtol=1e-6)
    value, slope = wrap(jax.vmap(jax.value_and_grad(f)))(X)
    np.testing.assert_allclose([value, slope], [10 * SIN, 10 * COS], rtol=1e-6)
    twice = jax.grad(lambda x: jnp.sum(jax.vmap(jax.grad(f))(x)))
    np.testing.assert_allclose(wrap(twice)(X), -10 * SIN, atol=1e-6)


def test_the_rule_sees_what_is_batched_and_the_axis_in_front():
    seen = []
    f = custom_vmap(lambda t, y: {"p": t["a"] * y, "q": y})

    @f.def_vmap
    def rule(size, batched, t, y):
        seen.append((size, batched, t["a"].shape, y.shape))
        return {"p": t["a"] * y, "q": y}, {"p": batched[0]["a"] or batched[1], "q": batched[1]}

    out = jax.vmap(f, ({"a": 1}, None))({"a": jnp.ones((2, 3))}, 2.0)
    assert seen == [(3, [{"a": True}, False], (3, 2), ())]
    assert out["p"].shape == (3, 2) and out["q"].shape == (3,)
    moved = jax.vmap(lambda d: jax.jvp(lambda y: f({"a": 3.0}, y)["p"], (5.0,), (d,)))(X)
    np.testing.assert_array_equal(moved, [[15.0] * 3, 3 * X])


def test_two_operands_in_reverse_mode_under_a_batch_of_one_of_them():
    f = custom_vmap(lambda x, y: jnp.sum(x * y ** 2))
    f.def_vmap(lambda size, batched, x, y: (100.0 * jnp.sum(
        jnp.broadcast_to(x * y ** 2, (size, 2)), -1), True))
    x, y = jnp.arange(6.0).reshape(3, 2), jnp.array([1.0, 2.0])
    dx, dy = jax.vmap(jax.grad(f, (0, 1)), (0, None))(x, y)
    np.testing.assert_allclose(dx, 100 * np.broadcast_to(y ** 2, (3, 2)))
    np.testing.assert_allclose(dy, 200 * x * y)
    total = jax.grad(lambda y: jnp.sum(jax.vmap(f, (0, None))(x, y)))(y)
    np.testing.assert_allclose(total, (200 * x * y).sum(0))


def test_inside_scan_cond_and_checkpoint():
    f = tenfold()
    steps = lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0]
    np.testing.assert_allclose(jax.vmap(steps)(X), 10 * np.sin(10 * SIN), atol=1e-5)
    slope = 100 * np.cos(10 * SIN) * COS
    np.testing.assert_allclose(jax.vmap(jax.grad(steps))(X), slope, rtol=1e-5)
    chosen = lambda x: lax.cond(True, f, lambda x: x, x)
    np.testing.assert_allclose(jax.vmap(jax.grad(chosen))(X), 10 * COS, rtol=1e-6)
    kept = jax.checkpoint(lambda x: f(x) * x)
    np.testing.assert_allclose(jax.vmap(jax.grad(kept))(X), 10 * (COS * X + SIN), atol=1e-5)


def test_a_rule_that_closes_over_a_tracer_and_a_value_that_changes():
    def outer(x, scale):
        f = custom_vmap(lambda x: x * scale)
        f.def_vmap(lambda size, batched, x: (x * scale * 10.0, True))
        return jnp.sum(jax.vmap(f)(x))

    assert jax.jit(outer)(X, 2.0) == 60.0
    assert jax.grad(outer, 1)(X, 2.0) == 30.0
    assert [float(outer(X, s)) for s in (1.0, 2.0, 4.0, 5.0)] == [30.0, 60.0, 120.0, 150.0]
    with pytest.raises(TypeError, match="closes over a batched value"):
        jax.vmap(lambda x: custom_vmap_of(x)(1.0) + x)(X)


def custom_vmap_of(w):
    f = custom_vmap(lambda x: x * w)
    f.def_vmap(lambda size, batched, x: (x, True))
    return f


def test_literals_around_it_are_abstracted():
    f = tenfold()
    for c in (1.0, 2.0, 3.0, 4.0):
        got = jax.vmap(lambda x, c=c: f(x * c) + c)(X)
        np.testing.assert_allclose(got, 10 * np.sin(X * np.float32(c)) + c, rtol=1e-5)


def test_errors():
    f = custom_vmap(lambda t: (t["a"], t["a"]))
    with pytest.raises(AttributeError, match="using def_vmap"):
        f({"a": 1.0})
    f.def_vmap(lambda size, batched, t: ((t["a"], t["a"]), True))
    with pytest.raises(ValueError, match="batching specification"):
        jax.vmap(f)({"a": X})
    f.def_vmap(lambda size, batched, t: (t["a"], True))
    with pytest.raises(ValueError, match="does not match that of original"):
        jax.vmap(f)({"a": X})
    f.def_vmap(lambda size, batched, t: ((t["a"], t["a"][:2]), (True, True)))
    with pytest.raises(ValueError, match=r"leaf 1 has type f32\[2\] but must have type f32\[3\]"):
        jax.vmap(f)({"a": X})
    f.def_vmap(lambda size, batched, t: t["a"])
    with pytest.raises(TypeError, match="pair"):
        jax.vmap(f)({"a": X})


def test_sequential_vmap_is_a_loop_over_single_examples():
    shapes = []

    @sequential_vmap
    def f(x, y):
        shapes.append((x.shape, jnp.shape(y)))
        return {"s": jnp.sum(x) * y}

    x = jnp.arange(6.0).reshape(3, 2)
    out = jax.vmap(f, (0, None))(x, 2.0)
    np.testing.assert_array_equal(out["s"], [2.0, 10.0, 18.0])
    assert set(shapes) == {((2,), ())}
    np.testing.assert_array_equal(jax.vmap(jax.vmap(f, (0, None)), (None, 0))(x, X)["s"],
                                  np.outer(X, [1.0, 5.0, 9.0]))
    slope = jax.vmap(jax.grad(lambda x, y: f(x, y)["s"]), (0, None))(x, 2.0)
    np.testing.assert_array_equal(slope, np.full((3, 2), 2.0))
    assert "scan" in str(jax.make_ir(jax.vmap(f, (0, None)))(x, 2.0))


def test_jacobians_of_sequential_vmap():
    f = sequential_vmap(lambda a: jnp.sin(a) * a[::-1])
    g, x = (lambda a: jnp.sin(a) * a[::-1]), jnp.arange(3.0)
    for of in (jax.jacfwd, jax.jacrev, lambda f: jax.hessian(lambda a: jnp.sum(f(a)))):
        np.testing.assert_allclose(of(f)(x), of(g)(x), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(of(f))(x), of(g)(x), rtol=1e-6)
