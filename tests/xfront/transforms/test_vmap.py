"""vmap: axes in and out, names of axes, errors."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

X = jnp.arange(3.0)
M = jnp.arange(6.0).reshape(2, 3)


def test_axes_of_arguments():
    np.testing.assert_array_equal(jax.vmap(lambda x, y: x + y, (0, None))(X, 1.0), [1, 2, 3])
    np.testing.assert_array_equal(jax.vmap(jnp.sum, -1)(M), [3, 5, 7])
    np.testing.assert_array_equal(
        jax.vmap(lambda d: d["a"] + d["b"], ({"a": 0, "b": None},))({"a": X, "b": 2.0}), [2, 3, 4])
    np.testing.assert_array_equal(
        jax.vmap(lambda p, y: p[0] + p[1] + y, ((0, None), 0))((X, 1.0), X), [1, 3, 5])
    np.testing.assert_array_equal(jax.vmap(lambda x, *, k: x * k)(X, k=X), [0, 1, 4])
    np.testing.assert_array_equal(jax.vmap(lambda x, s: x * len(s), (0, None))(X, "ab"), [0, 2, 4])


def test_none_in_arguments_and_results():
    for axes in (0, (0, None), (0, 0)):
        made, none = jax.vmap(lambda x, n: (x * 2, n), axes)(X, None)
        np.testing.assert_array_equal(made, [0, 2, 4])
        assert none is None


def test_axes_of_results():
    outer = jax.vmap(lambda x: x * M[1], out_axes=-1)(X)
    np.testing.assert_array_equal(outer, np.outer([3, 4, 5], [0, 1, 2]))
    made = jax.vmap(lambda x: {"a": x * M, "b": 1.0}, out_axes={"a": -2, "b": None})(X)
    assert made["a"].shape == (2, 3, 3) and made["b"].shape == ()
    np.testing.assert_array_equal(jax.vmap(lambda x: 3.0)(X), [3, 3, 3])
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        jax.vmap(lambda x: x, out_axes=None)(X)


def test_sizes():
    np.testing.assert_array_equal(jax.vmap(lambda: 1.0, axis_size=3)(), [1, 1, 1])
    for call in (lambda: jax.vmap(lambda x, y: x)(X, jnp.ones(4)),
                 lambda: jax.vmap(lambda x: x, axis_size=4)(X),
                 lambda: jax.vmap(lambda x: x)(1.0),
                 lambda: jax.vmap(lambda x: x)(),
                 lambda: jax.vmap(lambda x: x, in_axes=None)(1.0),
                 lambda: jax.vmap(lambda x: x, in_axes=2)(M),
                 lambda: jax.vmap(lambda x: x, out_axes=3)(M),
                 lambda: jax.vmap(lambda x, y: x, in_axes=(0,))(M, M),
                 lambda: jax.vmap(lambda x: x, in_axes=({"b": 0},))({"a": M})):
        with pytest.raises(ValueError):
            call()
    for axes in (1.5, "a"):
        with pytest.raises(TypeError):
            jax.vmap(lambda x: x, in_axes=axes)(M)


def test_collectives():
    def f(x):
        return (lax.psum(x, "i"), lax.pmean(x, "i"), lax.axis_index("i"), lax.all_gather(x, "i"),
                lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), lax.psum(1, "i"))

    total, mean, index, whole, moved, size = jax.vmap(f, axis_name="i")(X)
    np.testing.assert_array_equal(total, [3, 3, 3])
    np.testing.assert_array_equal(mean, [1, 1, 1])
    np.testing.assert_array_equal(index, [0, 1, 2])
    np.testing.assert_array_equal(whole, [[0, 1, 2]] * 3)
    np.testing.assert_array_equal(moved, [2, 0, 1])
    np.testing.assert_array_equal(size, [3, 3, 3])
    both = jax.vmap(jax.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")(M)
    np.testing.assert_array_equal(both, np.full((2, 3), 15))
    with pytest.raises(NameError, match="k"):
        jax.vmap(lambda x: lax.psum(x, "k"), axis_name="i")(X)


def test_static_arguments_of_a_jitted_function():
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    np.testing.assert_array_equal(jax.vmap(f, in_axes=(0, None))(X, 3), [0, 3, 6])


@pytest.mark.parametrize("axes", [True, (True,), 0.5, "a", {"a": 0}, ({"a": True},)])
def test_axes_are_ints(axes):
    with pytest.raises(TypeError, match="in_axes must be an int"):
        jax.vmap(lambda x: x, in_axes=axes)
    if not isinstance(axes, dict):
        with pytest.raises(TypeError, match="out_axes must be an int"):
            jax.vmap(lambda x: x, out_axes=axes)


@pytest.mark.parametrize(("sizes", "axis_size", "lines"), [
    ((3, 4), None, ["one axis had size 3: axis 0 of argument a of type f32[3];",
                    "one axis had size 4: axis 0 of argument b of type f32[4]"]),
    ((3, 4, 4), None, ["most axes (2 of them) had size 4, e.g. axis 0 of argument b of type "
                       "f32[4];",
                       "one axis had size 3: axis 0 of argument a of type f32[3]"]),
    ((3, 3, 4, 4), None, ["most axes (2 of them) had size 3, e.g. axis 0 of argument a of type "
                          "f32[3];",
                          "some axes (2 of them) had size 4, e.g. axis 0 of argument c of type "
                          "f32[4]"]),
    ((3,), 5, ["the `axis_size` argument was 5;",
               "one axis had size 3: axis 0 of argument a of type f32[3]"])])
def test_sizes_that_do_not_agree_are_listed_by_size(sizes, axis_size, lines):
    def f(a, b=None, c=None, d=None):
        return a

    with pytest.raises(ValueError, match="inconsistent sizes") as caught:
        jax.vmap(f, axis_size=axis_size)(*map(jnp.ones, sizes))
    assert [line.strip(" *") for line in str(caught.value).splitlines()[1:-1]] == lines


def test_the_documentation_says_that_the_function_is_mapped():
    def f(x):
        """The docs."""
        return x

    assert jax.vmap(f).__doc__.startswith("f, mapped") and jax.vmap(f).__doc__.endswith("The docs.")
    assert "Original" not in jax.vmap(lambda x: x).__doc__ and f.__doc__ == "The docs."
