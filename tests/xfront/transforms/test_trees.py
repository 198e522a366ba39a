"""Trees of classes that look at their leaves, through every transformation."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp


@jax.tree_util.register_pytree_node_class
class Held:
    """Its constructor makes an array of what it is given."""

    def __init__(self, a):
        self.a = jnp.asarray(a)

    def tree_flatten(self):
        return (self.a,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


@jax.tree_util.register_pytree_node_class
class Shaped(Held):
    """Its constructor asks for an array, and takes no number."""

    def __init__(self, a):
        assert len(a.shape) <= 2 and a.dtype == jnp.float32
        self.a = a


HERE = jax.sharding.SingleDeviceSharding(jax.devices()[0])
DOUBLE = {
    "jit": lambda f, p: jax.jit(f)(p).a,
    "jit that is told where": lambda f, p: jax.jit(f, out_shardings=HERE)(p).a,
    "jit that donates": lambda f, p: jax.jit(f, donate_argnums=0)(jax.device_put(p)).a,
    "compiled": lambda f, p: jax.jit(f).lower(p).compile()(p).a,
    "vmap": lambda f, p: jax.vmap(f)(p).a,
    "vmap of jit": lambda f, p: jax.vmap(jax.jit(f))(p).a,
    "vmap with axes": lambda f, p: jax.vmap(lambda p: (f(p), p.a), out_axes=(0, 0))(p)[0].a,
    "vjp": lambda f, p: jax.vjp(f, p)[1](p)[0].a,
    "jvp": lambda f, p: jax.jvp(f, (p,), (p,))[1].a,
    "linearize": lambda f, p: jax.linearize(f, p)[1](p).a,
    "grad": lambda f, p: jax.grad(lambda p: jnp.sum(f(p).a * p.a) / 2)(p).a,
    "jacrev": lambda f, p: jax.jacrev(lambda p: f(p).a)(p).a @ p.a,
    "map": lambda f, p: jax.lax.map(f, p).a,
    "scan": lambda f, p: jax.lax.scan(lambda c, p: (c, f(p)), Held(0.0), p)[1].a,
    "cond": lambda f, p: jax.lax.cond(True, f, lambda p: p, p).a,
    "checkpoint": lambda f, p: jax.checkpoint(f)(p).a,
}


@pytest.mark.parametrize("kind", [Held, Shaped])
@pytest.mark.parametrize("way", DOUBLE)
def test_trees_whose_constructors_look_at_their_leaves(way, kind):
    x = np.array([1.0, 2.0, 3.0], np.float32)
    np.testing.assert_allclose(DOUBLE[way](lambda p: kind(p.a * 2), kind(x)), 2 * x)


def test_an_object_whose_name_is_no_string():
    class Twice:
        """Doubles."""

        __name__ = None

        def __call__(self, x):
            return 2 * x

    for made in (jax.vmap(Twice()), jax.jit(jax.vmap(Twice()))):
        np.testing.assert_array_equal(made(np.ones(2)), 2)
    assert jax.grad(Twice())(1.0) == 2
    assert jax.vmap(Twice()).__name__ == "Twice"
