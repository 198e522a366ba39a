"""Objects of libraries that give an array by `__jax_array__`, concrete and traced."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax


class Held:
    """An object of a library that holds an array."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


X = jnp.array([1.0, 2.0])
USES = {
    "operator": lambda v: X @ v, "reflected": lambda v: 2 + jnp.asarray(v), "unary": jnp.sin,
    "comparison": lambda v: X < v, "power": lambda v: X ** v, "function": lambda v: jnp.dot(X, v),
    "list": lambda v: jnp.stack([v, X]), "where": lambda v: jnp.where(True, v, X),
    "lax": lax.sin, "nn": jax.nn.relu, "dtype": lambda v: X.astype(jnp.result_type(v)),
}


@pytest.mark.parametrize("use", USES)
def test_in_functions_and_operators(use):
    f, x = USES[use], jnp.array([3.0, 4.0])
    wanted = f(x)
    for got in (f(Held(x)), jax.jit(lambda x: f(Held(x)))(x),
                jax.vmap(lambda x: f(Held(x)))(x[None])[0]):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_in_derivatives_and_custom_rules():
    assert jax.grad(lambda x: jnp.sin(Held(x)) * Held(x))(0.0) == 0.0
    assert jax.grad(lambda x: 3 * jnp.asarray(Held(x)))(1.0) == 3.0

    @jax.custom_vjp
    def f(x):
        return jnp.sin(Held(x)) * 2

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * x,))
    assert jax.jit(jax.grad(f))(5.0) == 5.0
