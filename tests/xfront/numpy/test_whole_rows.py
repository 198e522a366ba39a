"""take_along_axis where indices have one place along an axis: whole rows are taken at once."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront_ir import ops

X = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)


def places(shape, size):
    return np.random.default_rng(1).integers(-size, size, shape)


@pytest.mark.parametrize(("shape", "axis"), [
    ((6, 1, 1), 0), ((6, 5, 1), 0), ((1, 2, 1), 1), ((4, 2, 1), 1), ((1, 1, 7), 2), ((1, 5, 2), 2),
    ((0, 1, 1), 0), ((4, 7, 3), 1)])
def test_values_derivatives_and_batches(shape, axis):
    i = places(shape, X.shape[axis])
    take = lambda x: jnp.take_along_axis(x, i, axis)
    expected = np.take_along_axis(X, i, axis)
    np.testing.assert_array_equal(take(X), expected)
    np.testing.assert_array_equal(jax.jit(take)(X), expected)
    batch = np.stack([X, -X])
    np.testing.assert_array_equal(jax.vmap(take)(batch), np.stack([expected, -expected]))
    of_indices = jax.vmap(lambda j: jnp.take_along_axis(X, j, axis))(np.stack([i, i[::-1]]))
    np.testing.assert_array_equal(of_indices[1], np.take_along_axis(X, i[::-1], axis))
    weights = np.arange(expected.size, dtype=np.float32).reshape(expected.shape)
    slope = np.zeros_like(X)
    grid = list(np.indices(expected.shape))
    grid[axis] = np.broadcast_to(i, expected.shape)
    np.add.at(slope, tuple(grid), weights)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.vdot(take(x), weights))(X), slope)


@pytest.mark.parametrize("mode", ["fill", "clip", "one_hot"])
def test_places_outside(mode):
    i = np.array([[[1]], [[9]], [[-7]]])
    got = jnp.take_along_axis(X, i, 0, mode=mode)
    outside = {"fill": np.full_like(X[0], np.nan), "one_hot": np.zeros_like(X[0])}
    np.testing.assert_array_equal(got[0], X[1])
    np.testing.assert_array_equal(got[1], X[3] if mode == "clip" else outside[mode])
    np.testing.assert_array_equal(got[2], X[0] if mode == "clip" else outside[mode])


def test_rows_are_read_at_once():
    ir = jax.make_ir(lambda x, i: jnp.take_along_axis(x, i[:, None], 0))(X[0], np.array([1, 0])).ir
    (gather,) = [op for op in ir.ops if op.definition is ops.gather]
    assert gather.attrs["slice_sizes"] == (1, 3)


def test_array_and_indices_broadcast():
    i = places((4, 1, 3), 5)
    wide = np.broadcast_to(X[:1], X.shape)
    np.testing.assert_array_equal(jnp.take_along_axis(X[:1], i, 1), np.take_along_axis(wide, i, 1))
    y = jnp.put_along_axis(X, i[:, :, :1], 7.0, 1, inplace=False)
    expected = X.copy()
    np.put_along_axis(expected, i[:, :, :1], 7.0, 1)
    np.testing.assert_array_equal(y, expected)
