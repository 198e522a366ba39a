"""Callbacks under transformations: pure_callback, io_callback, debug.print."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.experimental import io_callback

X = jnp.arange(3.0)
SCALAR = jax.ShapeDtypeStruct((), jnp.float32)


def test_results_of_64_bits_are_narrowed():
    spec = jax.ShapeDtypeStruct((3,), jnp.float32)
    made = jax.jit(lambda x: jax.pure_callback(lambda v: np.ones(3), spec, x))(1.0)
    assert made.dtype == np.float32 and made.tolist() == [1, 1, 1]


def test_trees_and_keywords():
    made = jax.pure_callback(lambda a, k: {"r": a + k}, {"r": jax.ShapeDtypeStruct((), np.int32)},
                             1, k=2)
    assert made == {"r": 3}


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap_methods(method):
    def f(x):
        return jax.pure_callback(lambda v: np.asarray(v) * 2, SCALAR, x, vmap_method=method)

    np.testing.assert_array_equal(jax.vmap(f)(X), [0, 2, 4])


def test_vmap_without_a_method_and_unknown_methods():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        jax.vmap(lambda x: jax.pure_callback(lambda v: v, SCALAR, x))(X)
    with pytest.raises(ValueError, match="vmap_method"):
        jax.pure_callback(lambda v: v, SCALAR, 1.0, vmap_method="foo")


def test_derivatives_need_a_rule():
    def call(x):
        return jax.pure_callback(np.sin, SCALAR, x)

    for f in (jax.grad(call), jax.jit(jax.grad(call))):
        with pytest.raises(ValueError, match="custom_jvp"):
            f(1.0)
    sin = jax.custom_jvp(call)
    sin.defjvp(lambda p, t: (sin(p[0]), jnp.cos(p[0]) * t[0]))
    np.testing.assert_allclose(jax.jit(jax.grad(sin))(1.0), np.cos(1.0), rtol=1e-6)


def test_ordered_effects_keep_their_order():
    seen = []

    def step(c, x):
        io_callback(lambda v: seen.append(float(v)), None, x, ordered=True)
        return c, None

    jax.jit(lambda x: lax.scan(step, 0.0, x))(X)
    jax.effects_barrier()
    assert seen == [0, 1, 2]
    with pytest.raises(ValueError, match="ordered"):
        jax.vmap(lambda x: io_callback(lambda v: v, SCALAR, x, ordered=True))(X)


def test_debug_print_under_transformations(capsys):
    def f(x):
        jax.debug.print("x = {x:.1f} {}", 1, x=x)
        return x * x

    f(1.0)
    jax.jit(f)(2.0)
    jax.grad(f)(3.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "x = 1.0 1\nx = 2.0 1\nx = 3.0 1\n"
