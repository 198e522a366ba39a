"""vmap(chunk=n): the same result as at once, by way of a scan."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp


def pairwise(x, w):
    return {"a": jnp.sin(x @ w), "b": (jnp.sum(x), w * 2.0)}


@pytest.mark.parametrize("chunk", [1, 3, 4, 7, 10, 12])
def test_any_chunk_gives_the_result_of_one_batch(chunk):
    x = np.linspace(-0.5, 0.5, 40, dtype="f").reshape(10, 4)
    w = np.linspace(0, 1, 12, dtype="f").reshape(4, 3)
    axes = {"a": 1, "b": (-1, None)}
    whole = jax.vmap(pairwise, (0, None), axes)(x, w)
    parts = jax.vmap(pairwise, (0, None), axes, chunk=chunk)(x, w)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_axes_and_keyword_arguments():
    f = lambda t, i, *, scale: (t["u"] - t["v"][:, None]) * scale + i
    t = {"u": np.random.RandomState(0).randn(2, 5, 3).astype("f"), "v": np.ones((2, 5), "f")}
    axes = ({"u": 1, "v": -1}, None)
    call = lambda **o: jax.vmap(f, axes, -1, **o)(t, 7, scale=np.arange(5.0, dtype="f"))
    np.testing.assert_array_equal(call(chunk=2), call())


def test_under_jit_grad_and_vmap():
    x = np.linspace(-1, 1, 7, dtype="f")
    loss = lambda w, **o: jnp.sum(jax.vmap(lambda a: jnp.tanh(a * w) * a, **o)(x))
    for wrap in (lambda f: f, jax.jit):
        np.testing.assert_allclose(wrap(jax.grad(lambda w: loss(w, chunk=3)))(0.5),
                                   jax.grad(loss)(0.5), rtol=1e-6)
    many = jax.vmap(lambda w: loss(w, chunk=3))(np.ones(2, "f"))
    np.testing.assert_allclose(many, [loss(1.0)] * 2, rtol=1e-6)
    second = jax.grad(jax.grad(lambda w: loss(w, chunk=2)))(0.5)
    np.testing.assert_allclose(second, jax.grad(jax.grad(loss))(0.5), rtol=1e-5)


def test_the_program_is_a_scan_over_chunks():
    x = jnp.ones((10, 4))
    text = str(jax.make_ir(jax.vmap(jnp.sum, chunk=3))(x))
    assert "length = 3" in text and "f32[3,4]" in text


def test_keys_and_a_batch_that_nothing_maps():
    keys = jax.random.split(jax.random.key(0), 5)
    draw = lambda key: jax.random.normal(key, (2,))
    np.testing.assert_array_equal(jax.vmap(draw, chunk=2)(keys), jax.vmap(draw)(keys))
    same = jax.vmap(lambda x: x + 1, None, axis_size=6, chunk=4)(1.0)
    np.testing.assert_array_equal(same, np.full(6, 2.0, "f"))


def test_bad_chunks():
    with pytest.raises(ValueError, match="at least 1"):
        jax.vmap(jnp.sin, chunk=0)
    with pytest.raises(TypeError, match="number of examples"):
        jax.vmap(jnp.sin, chunk="2")
    with pytest.raises(ValueError, match="cannot be combined"):
        jax.vmap(jnp.sin, axis_name="i", chunk=2)
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        jax.vmap(jnp.sin, out_axes=None, chunk=2)(jnp.ones(5))
    with pytest.raises(ValueError, match="inconsistent sizes"):
        jax.vmap(jnp.add, chunk=2)(jnp.ones(5), jnp.ones(4))
