"""vjp: cotangents, their structure and types; the vjp function as a tree."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp

X = jnp.arange(3.0)


def test_the_function_may_be_called_again():
    value, pull = jax.vjp(lambda x, y: x * y, 2.0, 3.0)
    assert value == 6 and pull(1.0) == (3, 2) and pull(2.0) == (6, 4)


def test_trees_and_none():
    value, pull = jax.vjp(lambda d, n: {"s": d["a"] * 2, "t": (d["b"],)},
                          {"a": X, "b": 1.0}, None)
    got, none = pull({"s": X, "t": (1.0,)})
    np.testing.assert_array_equal(got["a"], [0, 2, 4])
    assert got["b"] == 1 and none is None


def test_integers_have_cotangents_of_float0():
    _, pull = jax.vjp(lambda x, n: (x * n, jnp.arange(3)), 2.0, 3)
    got = pull((1.0, np.zeros(3, jax.float0)))
    assert got[0] == 3 and got[1].dtype == jax.float0


@pytest.mark.parametrize("cotangent", [jnp.float32(1), jnp.ones(3), np.zeros(2, jax.float0),
                                       np.zeros((), jax.float0)])
def test_cotangents_of_integers_are_zeros_of_their_shape(cotangent):
    _, pull = jax.vjp(lambda n: n, jnp.arange(3))
    with pytest.raises(ValueError, match="float0"):
        pull(cotangent)
    assert pull(jnp.arange(3))[0].dtype == jax.float0


@pytest.mark.parametrize("cotangent", [1, X, jnp.int32(1), jnp.float16(1), (1.0,)])
def test_cotangents_of_another_type_are_refused(cotangent):
    _, pull = jax.vjp(lambda x: x * 2, 2.0)
    with pytest.raises(ValueError, match="vjp function"):
        pull(cotangent)


def test_constants_have_a_cotangent_of_zero():
    value, pull = jax.vjp(lambda x: 3.0, 1.0)
    assert value == 3 and pull(1.0) == (0,)


def test_vjp_inside_and_out_of_jit_and_vmap():
    assert jax.jit(lambda x: jax.vjp(lambda z: z * z, x)[1](1.0)[0])(3.0) == 6
    value, pull = jax.jit(lambda x: jax.vjp(lambda z: z * z * z, x))(2.0)
    assert value == 8 and pull(1.0) == (12,)
    assert jax.jit(lambda p, ct: p(ct))(pull, 2.0) == (24,)
    np.testing.assert_array_equal(jax.vmap(lambda x: jax.vjp(lambda z: z * z, x)[1](1.0)[0])(X),
                                  [0, 2, 4])
    _, pulls = jax.vmap(lambda x: jax.vjp(lambda z: z * z, x))(X)
    np.testing.assert_array_equal(jax.vmap(lambda p, ct: p(ct)[0])(pulls, X), [0, 2, 8])
    _, pull = jax.vjp(lambda z: z * z, X)
    np.testing.assert_array_equal(jax.vmap(pull)(jnp.eye(3))[0], np.diag([0, 2, 4]))


def test_arguments_that_do_not_move():
    """JAX's values: cotangents of zero, tangents that count as zero, and which results move."""
    def f(x, pair):
        return {"a": x * pair[0], "b": [x, pair[1] * 2]}

    value, pull = jax.vjp(f, 2.0, (3.0, X), in_nzs=(False, (True, False)))
    assert pull.out_nzs == {"a": True, "b": [False, False]} and value["a"] == 6
    x, (y, z) = pull({"a": 1.0, "b": [1.0, X]})
    assert x == 0 and y == 2 and x.weak_type
    np.testing.assert_array_equal(z, [0, 0, 0])
    _, move = jax.linearize(f, 2.0, (3.0, X), in_nzs=(True, False))
    assert move.out_nzs == {"a": True, "b": [True, False]}
    moved = move(1.0, (5.0, X))
    assert moved["a"] == 3 and moved["b"][0] == 1
    np.testing.assert_array_equal(moved["b"][1], [0, 0, 0])
    assert jax.vjp(lambda x: (x, 3.0), 2.0)[1].out_nzs == (True, False)
    assert jax.jit(jax.grad(lambda x: jax.vjp(lambda u, v: u * v, x, x, in_nzs=(True, False))[1](
        1.0)[0]))(3.0) == 1
    for wrong, text in (((True,), "it has 1 children where they have 2"),
                        ((1, True), "must be a tree of bools")):
        with pytest.raises(ValueError, match=text):
            jax.vjp(f, 2.0, (3.0, X), in_nzs=wrong)
    with pytest.raises(TypeError, match="structure"):
        move(1.0, 5.0)
    with pytest.raises(NotImplementedError, match="saveable_args"):
        jax.vjp(f, 2.0, (3.0, X), saveable_args=False)
