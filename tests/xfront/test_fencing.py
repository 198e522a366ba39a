"""fence: the identity under every transformation; what it does to a compiled program."""

import re

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def largest_fusion(f, *args) -> int:
    """Instructions of the largest fused computation."""
    text = jax.jit(f).lower(*args).compile().as_text()
    return max(c.count(" = ") for c in text.split("\n\n") if "fused_computation" in c.strip()[:40])


def test_a_tree_stays_as_it_is():
    made = jax.fence({"a": X, "b": (1, jnp.array([True]))})
    assert made["a"] is X and made["b"][0] == 1 and made["b"][1].dtype == bool
    made = jax.jit(lambda t: jax.fence(t))({"a": X, "b": (1, jnp.array([True]))})
    np.testing.assert_array_equal(made["a"], X)
    assert made["b"][0].weak_type and made["b"][1].dtype == bool
    assert jax.fence(()) == ()
    key = jax.jit(lambda k: jax.fence(k))(jax.random.key(3))
    assert jax.random.key_data(key).tolist() == [0, 3]


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="fence requires ndarray or scalar"):
        jax.fence({"a": "text"})


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_derivatives_and_batches_pass(wrap):
    def f(x, fence):
        y = fence(jnp.sin(x))
        return jnp.sum(y * y * fence(x))

    for transform in (jax.grad, jax.hessian, lambda f: jax.vmap(jax.grad(f)),
                      lambda f: lambda x: jax.jvp(f, (x,), (x,))):
        got = wrap(transform(lambda x: f(x, jax.fence)))(X)
        want = wrap(transform(lambda x: f(x, lambda x: x)))(X)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6), got, want)


def test_it_cuts_fusions_forward_and_backward():
    def f(x, fence):
        for _ in range(8):
            x = fence(jnp.tanh(x) + x * 0.5)
        return jnp.sum(x)

    for transform in (lambda f: f, jax.grad):
        cut = largest_fusion(transform(lambda x: f(x, jax.fence)), X)
        assert 2 * cut < largest_fusion(transform(lambda x: f(x, lambda x: x)), X)


def test_fences_that_are_off_are_barriers(monkeypatch):
    def text():
        f = jax.jit(lambda x: jax.fence(jnp.tanh(x)) * 2)
        return f.lower(X).compile().as_text()

    assert "inlineable" in text()
    monkeypatch.setenv("XFRONT_CPU_FENCES", "0")
    assert "inlineable" not in text()


def test_elsewhere_it_is_a_barrier():
    text = jax.jit(lambda x: jax.fence(x * 2)).trace(X).lower(passes=()).as_text()
    assert re.search(r"optimization_barrier %\d+ : tensor<3x4xf32>", text)
