"""Functions of shape, slices, gather and scatter."""

import numpy as np
import pytest

import xfront
from xfront import lax

M = np.arange(20, dtype=np.float32).reshape(4, 5)
V = np.arange(5, dtype=np.float32)


def same(made, wanted):
    np.testing.assert_array_equal(made, wanted)


def test_reshaping():
    same(lax.reshape(M, (5, 4)), M.reshape(5, 4))
    same(lax.reshape(M, 20, (1, 0)), M.T.ravel())
    same(lax.transpose(M, (1, 0)), M.T)
    same(lax.rev(M, (1,)), M[:, ::-1])
    same(lax.squeeze(M[None], (0,)), M)
    same(lax.expand_dims(V, (0, -1)), V[None, :, None])
    same(lax.collapse(M[None], 0, 2), M)
    same(lax.broadcast(V, (2,)), np.stack([V, V]))
    same(lax.broadcast_in_dim(V, (2, 5, 3), (1,)), np.broadcast_to(V[None, :, None], (2, 5, 3)))
    same(lax.tile(M, (2, 1)), np.tile(M, (2, 1)))
    assert lax.broadcast_shapes((2, 1), (3,)) == (2, 3)


def test_joining_and_cutting():
    same(lax.concatenate([M, M], 1), np.concatenate([M, M], 1))
    same(lax.stack([V, V], -1), np.stack([V, V], -1))
    same(lax.pad(V, 9.0, [(1, -1, 2)]), [9, 0, 9, 9, 1, 9, 9, 2, 9, 9, 3, 9, 9])
    for part, wanted in zip(lax.split(M, (1, 3), 0), (M[:1], M[1:]), strict=True):
        same(part, wanted)
    same(lax.unstack(M, 1)[2], M[:, 2])


def test_slices():
    same(lax.slice(M, (1, 0), (4, 5), (2, 3)), M[1:4:2, 0:5:3])
    same(lax.slice_in_dim(M, -3, None, axis=1), M[:, -3:])
    same(lax.index_in_dim(M, -1, 1, keepdims=False), M[:, -1])
    same(lax.dynamic_slice(M, (-2, 1), (2, 3)), M[2:4, 1:4])
    same(lax.dynamic_slice(M, (9, 9), (2, 3)), M[2:, 2:])
    same(lax.dynamic_slice(M, np.array([1, 1], np.int8), (1, 1)), M[1:2, 1:2])
    same(lax.dynamic_index_in_dim(M, 2, keepdims=False), M[2])
    same(xfront.jit(lambda i: lax.dynamic_slice_in_dim(V, i, 2))(-2), V[3:])
    same(xfront.vmap(lambda i: lax.dynamic_slice_in_dim(V, i, 2))(np.array([0, 3])),
         [[0, 1], [3, 4]])
    wanted = M.copy()
    wanted[2:, :3] = 0
    same(lax.dynamic_update_slice(M, np.zeros((2, 3), np.float32), (2, 0)), wanted)
    same(lax.dynamic_update_index_in_dim(V, 7.0, 1, 0), [0, 7, 2, 3, 4])


def test_slices_have_derivatives():
    made = xfront.grad(lambda m: lax.dynamic_slice(m, (1, 2), (2, 2)).sum())(M)
    wanted = np.zeros_like(M)
    wanted[1:3, 2:4] = 1
    same(made, wanted)


def test_new_arrays():
    same(lax.full((2,), 3), [3, 3])
    assert lax.full((2,), 3).weak_type and not lax.full((2,), 3, "float32").weak_type
    same(lax.full_like(V, 2), np.full(5, 2, np.float32))
    assert lax.full_like(xfront.ShapeDtypeStruct((2,), np.int8), 1).dtype == np.int8
    same(lax.iota("int32", 3), [0, 1, 2])
    same(lax.broadcasted_iota(float, (2, 3), 1), np.broadcast_to(np.arange(3.0), (2, 3)))
    assert lax.convert_element_type(1.5, int) == 1
    same(lax.bitcast_convert_type(V, "uint32"), V.view(np.uint32))


@pytest.mark.parametrize(("error", "call"), [
    (TypeError, lambda: lax.reshape(M, (3,))), (TypeError, lambda: lax.reshape(M, (-1,))),
    (TypeError, lambda: lax.transpose(M, (0,))), (ValueError, lambda: lax.squeeze(M, (0,))),
    (ValueError, lambda: lax.expand_dims(V, (0, 0))), (TypeError, lambda: lax.expand_dims(V, 0)),
    (TypeError, lambda: lax.concatenate([V, M], 0)), (ValueError, lambda: lax.concatenate([], 0)),
    (TypeError, lambda: lax.concatenate([V, V.astype(int)], 0)),
    (TypeError, lambda: lax.pad(V, 0, [(1, 1, 0)])),
    (ValueError, lambda: lax.pad(V, 0.0, [(1, 1, -1)])),
    (TypeError, lambda: lax.slice(V, (0,), (9,))), (IndexError, lambda: lax.index_in_dim(V, 5)),
    (TypeError, lambda: lax.dynamic_slice(V, (0,), (9,))),
    (ValueError, lambda: lax.dynamic_slice(V, (0, 0), (2,))),
    (TypeError, lambda: lax.dynamic_slice(V, (0.0,), (2,))),
    (TypeError, lambda: lax.full((2,), V)), (ValueError, lambda: lax.convert_element_type(V, None)),
    (TypeError, lambda: lax.convert_element_type([1.0], float)),
    (ValueError, lambda: lax.broadcast_shapes((2,), (3,))),
    (TypeError, lambda: lax.iota(bool, 3)),
    (TypeError, lambda: lax.broadcast_in_dim(V, (4,), (0,))),
])
def test_errors(error, call):
    with pytest.raises(error):
        call()


INDICES = np.array([[3], [0], [9], [-1]], np.int32)
ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))


def test_gather_modes():
    clipped = M[[3, 0, 3, 0]]
    same(lax.gather(M, INDICES, ROWS, (1, 5)), clipped)
    same(lax.gather(M, INDICES, ROWS, (1, 5), mode="clip"), clipped)
    filled = lax.gather(M, INDICES, ROWS, (1, 5), mode="fill", fill_value=7.0)
    same(filled, np.stack([M[3], M[0], np.full(5, 7), np.full(5, 7)]))
    assert np.isnan(np.asarray(lax.gather(M, INDICES, ROWS, (1, 5), mode="fill"))[2]).all()
    with pytest.raises(ValueError, match="not a mode"):
        lax.gather(M, INDICES, ROWS, (1, 5), mode="no")


def test_scatters():
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    updates, where = np.ones((2, 5), np.float32), np.array([[1], [9]], np.int32)
    for f, row in ((lax.scatter, np.ones(5)), (lax.scatter_add, M[1] + 1),
                   (lax.scatter_sub, M[1] - 1), (lax.scatter_mul, M[1]),
                   (lax.scatter_min, np.minimum(M[1], 1)), (lax.scatter_max, np.maximum(M[1], 1))):
        wanted = M.copy()
        wanted[1] = row
        same(f(M, where, updates, numbers), wanted)
    made = lax.scatter_apply(M, where, lambda x: x * 2, numbers, update_shape=(2, 5))
    same(made, np.where(np.arange(4)[:, None] == 1, M * 2, M))
    often = np.array([[1], [1], [9]], np.int32)
    made = lax.scatter_apply(M, often, lambda x: x + x.sum(), numbers, update_shape=(3, 5))
    same(made, np.where(np.arange(4)[:, None] == 1, M * 4, M))
    slope = xfront.grad(lambda u: lax.scatter_add(M, where, u, numbers).sum())(updates)
    same(slope, [[1] * 5, [0] * 5])


def test_barrier_keeps_trees():
    made = lax.optimization_barrier({"a": V, "b": 1})
    same(made["a"], V)
    assert made["b"].weak_type


def test_stop_gradient_makes_arrays_of_numbers():
    made = lax.stop_gradient({"a": 1.0, "b": np.float16(2), "c": np.ones(2, np.float32), "d": None})
    assert all(isinstance(x, xfront.Array) for x in (made["a"], made["b"], made["c"]))
    assert made["a"].weak_type and made["b"].dtype == np.float16 and made["d"] is None
