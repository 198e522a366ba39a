"""ragged_dot, scaled_dot, local convolutions and index_take against NumPy loops."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
from xfront import lax

RNG = np.random.default_rng(5)
LHS = RNG.normal(size=(6, 3)).astype(np.float32)
RHS = RNG.normal(size=(3, 3, 4)).astype(np.float32)


def by_rows(lhs, rhs, sizes):
    made = np.zeros((len(lhs), rhs.shape[-1]), lhs.dtype)
    start = 0
    for matrix, n in zip(rhs, sizes, strict=True):
        made[start:start + n] = lhs[start:start + n] @ matrix
        start += n
    return made


@pytest.mark.parametrize("sizes", [(1, 2, 3), (0, 4, 0), (6, 0, 0), (0, 0, 0), (2, 0, 4)])
def test_ragged_dot(sizes):
    sizes = np.array(sizes, np.int32)
    expected = by_rows(LHS, RHS, sizes)
    np.testing.assert_allclose(lax.ragged_dot(LHS, RHS, sizes), expected, rtol=1e-5)
    np.testing.assert_allclose(xfront.jit(lax.ragged_dot)(LHS, RHS, sizes), expected, rtol=1e-5)


def test_ragged_dot_in_batches_and_its_gradient():
    sizes = np.array([[1, 2, 3], [2, 0, 1]], np.int32)
    made = xfront.vmap(lax.ragged_dot, in_axes=(None, None, 0))(LHS, RHS, sizes)
    np.testing.assert_allclose(made, [by_rows(LHS, RHS, s) for s in sizes], rtol=1e-5)
    ct = RNG.normal(size=(6, 4)).astype(np.float32)
    _, back = xfront.vjp(lambda x, y: lax.ragged_dot(x, y, sizes[1]), LHS, RHS)
    for_lhs, for_rhs = back(ct)
    groups = ((0, 0), (0, 1), (2, 2))            # (group, row)
    wanted_lhs, wanted_rhs = np.zeros_like(LHS), np.zeros_like(RHS)
    for g, row in groups:
        wanted_lhs[row] = RHS[g] @ ct[row]
        wanted_rhs[g] += np.outer(LHS[row], ct[row])
    np.testing.assert_allclose(for_lhs, wanted_lhs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(for_rhs, wanted_rhs, rtol=1e-5, atol=1e-6)


def test_ragged_contraction_gives_a_product_a_group():
    numbers = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), [1], [])
    x, y, sizes = LHS.T, RNG.normal(size=(6, 2)).astype(np.float32), np.array([2, 3])
    made = lax.ragged_dot_general(x, y, sizes, numbers)
    np.testing.assert_allclose(made, [x[:, :2] @ y[:2], x[:, 2:5] @ y[2:5]], rtol=1e-5, atol=1e-6)


def test_ragged_rows_and_contractions_with_batch_axes():
    x = RNG.normal(size=(2, 6, 3)).astype(np.float32)
    y = RNG.normal(size=(2, 2, 3, 5)).astype(np.float32)
    sizes = np.array([[1, 2], [5, 1]])
    numbers = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (0,))), [1], [1])
    made = lax.ragged_dot_general(x, y, sizes, numbers)
    expected = [by_rows(a, b, s) for a, b, s in zip(x, y, sizes, strict=True)]
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
    inner = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((0,), (0,))), [1], [])
    z = RNG.normal(size=(2, 6, 5)).astype(np.float32)
    made = lax.ragged_dot_general(x, z, sizes, inner)
    expected = np.stack([[x[b, lo:hi].T @ z[b, lo:hi]
                          for lo, hi in ((0, s[0]), (s[0], s[0] + s[1]))]
                         for b, s in enumerate(sizes)], 1)
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)


def test_groups_of_a_batch_axis_change_nothing():
    numbers = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), [0], [])
    x, y = RNG.normal(size=(4, 2, 5)), RNG.normal(size=(4, 5, 3))
    x, y = x.astype(np.float32), y.astype(np.float32)
    np.testing.assert_allclose(lax.ragged_dot_general(x, y, np.array([2, 1]), numbers), x @ y,
                               rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: lax.ragged_dot(LHS, RHS, np.ones(3, np.float32)), TypeError, "integers"),
    (lambda: lax.ragged_dot(LHS, RHS, np.ones(2, np.int32)), TypeError, "3 groups"),
    (lambda: lax.ragged_dot(LHS[:, :2], RHS, np.ones(3, np.int32)), TypeError, "sizes differ"),
    (lambda: lax.ragged_dot(LHS, RHS, np.ones(3, np.int32), group_offset=np.array([1])),
     NotImplementedError, "group_offset"),
    (lambda: lax.scaled_dot(LHS, LHS.T, lhs_scale=np.ones((6, 2), np.float32)), TypeError,
     "3 elements"),
    (lambda: lax.index_take(LHS, (np.zeros((1, 2), np.int32),), (0,)), TypeError, "vectors"),
    (lambda: lax.index_take(LHS, (np.zeros(2, np.float32),), (0,)), TypeError, "vectors"),
])
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_scaled_dot():
    x, y = RNG.normal(size=(3, 8)).astype(np.float32), RNG.normal(size=(8, 2)).astype(np.float32)
    by_x, by_y = np.array([[1, 2], [0.5, 4], [8, 1]]), np.array([[2.0, 1], [1, 0.25]])
    by_x, by_y = by_x.astype(np.float32), by_y.astype(np.float32)
    expected = (x * np.repeat(by_x, 4, 1)) @ (y * np.repeat(by_y, 4, 0))
    made = lax.scaled_dot(x, y, lhs_scale=by_x, rhs_scale=by_y, preferred_element_type=np.float32)
    np.testing.assert_allclose(made, expected, atol=0.02 * np.abs(expected).max())
    assert lax.scaled_dot(x, y).dtype.name == "bfloat16"
    exact = np.round(x), np.round(y)             # small integers are exact in bfloat16
    batched = lax.scaled_dot(np.stack([exact[0]] * 2), np.stack([exact[1].T] * 2),
                             lhs_scale=np.stack([by_x] * 2), preferred_element_type=np.float32,
                             dimension_numbers=(((2,), (2,)), ((0,), (0,))))
    wanted = (exact[0] * np.repeat(by_x, 4, 1)) @ exact[1]
    np.testing.assert_array_equal(batched, np.stack([wanted] * 2))


def test_local_convolution_has_a_filter_for_each_place():
    x = RNG.normal(size=(2, 2, 5, 4)).astype(np.float32)
    rhs = RNG.normal(size=(3, 2 * 2 * 3, 2, 2)).astype(np.float32)
    made = lax.conv_general_dilated_local(x, rhs, (2, 1), "VALID", (2, 3))
    expected = np.zeros((2, 3, 2, 2), np.float32)
    for i in range(2):
        for j in range(2):
            seen = x[:, :, 2 * i:2 * i + 2, j:j + 3].reshape(2, -1)
            expected[:, :, i, j] = seen @ rhs[:, :, i, j].T
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)
    last = lax.conv_general_dilated_local(
        x.transpose(0, 2, 3, 1), rhs.transpose(2, 3, 1, 0), (2, 1), "VALID", (2, 3),
        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    np.testing.assert_allclose(last, expected.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)


def test_index_take():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    i, j = np.array([0, -1, 5]), np.array([3, 1, -2])
    np.testing.assert_array_equal(lax.index_take(x, (i, j), (1, 2)), x[:, i % 3, j % 4].T)
    np.testing.assert_array_equal(lax.index_take(x, (j, i), (2, 1)), x[:, i % 3, j % 4].T)
    np.testing.assert_array_equal(lax.index_take(x, (i,), (0,)), x[i % 2])
