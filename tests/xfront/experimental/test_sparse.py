"""experimental.sparse against dense arrays: values, transformations, and what is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.errors import ConcretizationTypeError
from xfront.experimental import sparse
from xfront.scipy.sparse.linalg import cg

D = np.array([[0, 1, 2], [3, 0, 0]], np.float32)
M = sparse.BCOO.fromdense(D)
TWICE = sparse.BCOO((np.arange(1, 6, dtype=np.float32),
                     np.array([[0, 1], [1, 0], [0, 1], [2, 3], [0, 9]])), shape=(2, 3))
"""With a coordinate that stands twice, and two outside."""
E = np.array([[0, 4, 0], [2, 0, 0]], np.float32)
V = np.arange(3, dtype=np.float32)
CUBE = np.where(np.arange(24).reshape(2, 3, 4) % 3 == 1, np.arange(24.0).reshape(2, 3, 4), 0
                ).astype(np.float32)
LAYOUTS = {"bcoo": M, "twice": TWICE, "batch": sparse.BCOO.fromdense(D, n_batch=1),
           "dense": sparse.BCOO.fromdense(D, n_dense=1), "rows": sparse.BCSR.fromdense(D),
           "no sparse": sparse.BCOO.fromdense(D, n_batch=1, n_dense=1)}


def same(got: Any, wanted: Any) -> None:
    got = np.asarray(sparse.todense(got))
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    assert got.shape == np.shape(wanted)


@pytest.mark.parametrize("name", LAYOUTS)
def test_operators(name: str) -> None:
    m = LAYOUTS[name]
    d = E if name == "twice" else D
    same(m, d)
    same(m + m, 2 * d)
    same(m + D, d + D)
    same(D - m, D - d)
    same(m - 2 * m, -d)
    same(m * V, d * V)
    same(jnp.asarray(V) * m, d * V)
    same(m * V[:2, None], d * V[:2, None])
    same(m * m, d * d)
    same(m / 2, d / 2)
    same(m ** 2, d ** 2)
    same(abs(-m), d)
    same(m @ V, d @ V)
    same(m @ np.outer(V, V), d @ np.outer(V, V))
    same(jnp.ones(2) @ m, d.sum(0))
    same(np.ones((4, 2), np.float32) @ m, np.ones((4, 2)) @ d)
    same(m.sum(), d.sum())
    same(m.sum(1), d.sum(1))
    same(m.astype(np.int32), d)


def test_products_of_sparse_arrays() -> None:
    same(M @ M.T, D @ D.T)
    same(TWICE @ M.T, E @ D.T)
    assert (M @ M.T).nse == 4
    numbers = (((2,), (1,)), ((0,), (0,)))
    batched = sparse.BCOO.fromdense(CUBE, n_batch=1)
    right = CUBE.transpose(0, 2, 1)
    for other in (right, sparse.BCOO.fromdense(right, n_batch=1)):
        same(sparse.bcoo_dot_general(batched, other, dimension_numbers=numbers), CUBE @ right)
    whole = sparse.BCOO.fromdense(CUBE)
    same(sparse.bcoo_dot_general(whole, right, dimension_numbers=numbers), CUBE @ right)
    same(sparse.bcoo_dot_general(right, whole, dimension_numbers=numbers), right @ CUBE)
    inner = sparse.BCOO.fromdense(CUBE, n_dense=1)
    same(sparse.bcoo_dot_general(inner, CUBE, dimension_numbers=(((0, 2), (0, 2)), ((), ()))),
         np.einsum("aib,ajb->ij", CUBE, CUBE))
    same(sparse.bcoo_dot_general_sampled(D.T, E, M.T.indices, dimension_numbers=(
        ((1,), (0,)), ((), ()))), (D.T @ E)[tuple(np.asarray(M.T.indices).T)])


def test_moving_elements() -> None:
    same(M.T, D.T)
    same(TWICE.reshape(3, 2), E.reshape(3, 2))
    same(M.reshape(-1), D.reshape(-1))
    cube = sparse.BCOO.fromdense(CUBE)
    same(cube.transpose((2, 0, 1)), CUBE.transpose(2, 0, 1))
    same(cube.reshape(6, 2, 2), CUBE.reshape(6, 2, 2))
    same(sparse.BCOO.fromdense(CUBE, n_batch=1).reshape(2, 12), CUBE.reshape(2, 12))
    same(sparse.BCOO.fromdense(CUBE, n_batch=1).reshape(3, 8), CUBE.reshape(3, 8))
    for index in (0, -1, (slice(None), 1), (0, 1), (slice(None, None, -1), slice(0, 3, 2)),
                  (Ellipsis, 1), None, (slice(None), None), (slice(2, 0), 0)):
        same(M[index], D[index])
        same(TWICE[index], E[index])
    for n_batch, n_dense in ((1, 0), (1, 1), (2, 0)):
        x = sparse.BCOO.fromdense(CUBE, n_batch=n_batch, n_dense=n_dense)
        same(x[1, ::2, 1:], CUBE[1, ::2, 1:])
        same(x[:, ::-1], CUBE[:, ::-1])
        same(sparse.bcoo_concatenate([x, x], dimension=1), np.concatenate([CUBE, CUBE], 1))
        same(sparse.bcoo_concatenate([x, x], dimension=2), np.concatenate([CUBE, CUBE], 2))
        same(sparse.bcoo_reduce_sum(x, axes=(0, 2)), CUBE.sum((0, 2)))
        same(sparse.bcoo_dynamic_slice(x, (0, 1, 3), (2, 2, 2)), CUBE[:, 1:, 2:])
        same(sparse.bcoo_update_layout(x, n_batch=0, n_dense=0), CUBE)
    same(sparse.bcoo_concatenate([M, TWICE], dimension=0), np.concatenate([D, E]))
    same(sparse.bcoo_broadcast_in_dim(M, shape=(2, 3, 4), broadcast_dimensions=(0, 1)),
         np.broadcast_to(D[..., None], (2, 3, 4)))
    same(sparse.bcoo_broadcast_in_dim(M[:1], shape=(5, 4, 3), broadcast_dimensions=(1, 2)),
         np.broadcast_to(D[:1], (5, 4, 3)))


def test_duplicates_order_and_layout() -> None:
    once = TWICE.sum_duplicates()
    assert (once.nse, once.unique_indices, once.indices_sorted) == (2, True, True)
    assert once.indices.tolist() == [[0, 1], [1, 0]] and once.data.tolist() == [4.0, 2.0]
    assert TWICE.sum_duplicates(nse=4).indices.tolist() == [[0, 1], [1, 0], [2, 3], [2, 3]]
    zero = M * np.array([1, 0, 1], np.float32)
    assert zero.sum_duplicates().nse == 2 and sparse.bcoo_sum_duplicates(zero).nse == 3
    assert M.T.sort_indices().indices.tolist() == [[0, 1], [1, 0], [2, 0]]
    same(sparse.bcoo_update_layout(TWICE, n_batch=1, on_inefficient=None), E)
    same(sparse.bcoo_update_layout(TWICE, n_dense=1, on_inefficient=None), E)
    with pytest.raises(sparse.SparseEfficiencyError, match="n_dense=1"):
        M.update_layout(n_dense=1)
    with pytest.warns(sparse.SparseEfficiencyWarning):
        same(M.update_layout(n_batch=1, on_inefficient="warn"), D)
    few = sparse.BCOO.fromdense(np.ones((2, 3)), nse=4)
    assert few.indices.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert sparse.bcoo_extract(TWICE, D).data.tolist() == [1.0, 3.0, 0.0, 0.0, 0.0]
    same(sparse.eye(2, 3, k=1), np.eye(2, 3, k=1))
    same(sparse.eye(3, sparse_format="bcsr"), np.eye(3))
    same(sparse.empty((2, 3), nse=2), np.zeros((2, 3)))
    random = sparse.random_bcoo(jax.random.key(0), (2, 4, 5), nse=0.5, n_batch=1, n_dense=0)
    assert random.nse == 10 and (np.asarray(random.todense()) != 0).sum() == 20
    with pytest.raises(ValueError, match="whole number or below 1, got 1.5"):
        sparse.random_bcoo(jax.random.key(0), (4, 5), nse=1.5)
    with jax.enable_x64(True):
        assert sparse.random_bcoo(jax.random.key(0), (4,), nse=2).indices.dtype == np.int64
    rows = sparse.BCSR.fromdense(D)
    assert rows.indptr.tolist() == [0, 2, 3] and rows.indices.tolist() == [1, 2, 0]
    assert sparse.bcsr_extract(rows.indices, rows.indptr, E).tolist() == [4.0, 0.0, 2.0]
    assert repr(rows) == "BCSR(float32[2, 3], nse=3)"


class Scipys:
    """What is asked of a matrix of SciPy, which need not be installed."""

    shape, row, col, data = (2, 3), np.array([0, 0, 1]), np.array([1, 2, 0]), D[D != 0]
    indices, indptr = np.array([1, 2, 0]), np.array([0, 2, 3])

    def tocoo(self) -> Any:
        return self

    tocsr = tocoo


def test_matrices_of_scipy() -> None:
    same(sparse.BCOO.from_scipy_sparse(Scipys()), D)
    same(sparse.BCSR.from_scipy_sparse(Scipys()), D)


@pytest.mark.parametrize("make", [sparse.BCOO.fromdense, sparse.BCSR.fromdense])
def test_derivatives(make: Callable[..., Any]) -> None:
    m = make(D)

    def loss(m: Any, v: Any) -> Any:
        return jnp.sin(m @ v).sum()

    value, (by_m, by_v) = sparse.value_and_grad(loss, (0, 1))(m, V)
    dense, (at_m, at_v) = jax.value_and_grad(loss, (0, 1))(D, V)
    same(value, dense)
    same(by_m, np.where(D != 0, at_m, 0))
    same(by_v, at_v)
    assert type(by_m) is type(m)
    tree = sparse.grad(lambda t: loss(t["m"] * 2, t["v"]))({"m": m, "v": V})
    same(tree["m"], np.where(D != 0, 2 * jax.grad(loss)(2 * D, V), 0))
    for jacobian in (sparse.jacfwd, sparse.jacrev):
        made = jacobian(lambda m: m @ V)(m)
        same(made, np.where(D != 0, jax.jacrev(lambda m: m @ V)(D), 0))
        assert type(made) is type(m) and made.n_batch == 1
        pair = jacobian(lambda m, v: {"a": m @ v, "b": v}, (0, 1))(m, V)
        same(pair["a"][0], made.todense())
        same(pair["a"][1], D)
        same(pair["b"][1], np.eye(3))
    by_elements = jax.grad(lambda d: loss(sparse.BCOO((d, M.indices), shape=D.shape), V))(M.data)
    same(by_elements, at_m[D != 0])


def test_transformations() -> None:
    batch = sparse.BCOO.fromdense(CUBE, n_batch=1)
    v = np.arange(4, dtype=np.float32)
    same(jax.vmap(lambda m: m @ v)(batch), CUBE @ v)
    same(jax.vmap(lambda m: m.T * 2)(batch), 2 * CUBE.transpose(0, 2, 1))
    same(jax.vmap(lambda x: M @ x)(np.ones((4, 3), np.float32)), np.ones((4, 3)) @ D.T)
    same(jax.vmap(lambda m: m @ v[:3])(sparse.BCSR.fromdense(CUBE.transpose(0, 2, 1), n_batch=1)),
         CUBE.transpose(0, 2, 1) @ v[:3])
    same(jax.jit(lambda m, x: (m.T @ x)[:2])(M, np.ones(2, np.float32)), D.sum(0)[:2])
    same(jax.jit(lambda x: sparse.BCOO.fromdense(x, nse=4) @ V)(D), D @ V)
    same(jax.lax.scan(lambda x, m: (x + m @ v, m * 2), np.zeros(3, np.float32), batch)[1], 2 * CUBE)
    with pytest.raises(ConcretizationTypeError, match="nse"):
        jax.jit(sparse.BCOO.fromdense)(D)
    with pytest.raises(ConcretizationTypeError, match="nse"):
        jax.jit(lambda m: m.sum_duplicates())(M)
    square = sparse.BCOO.fromdense(np.diag([2.0, 4, 8]).astype(np.float32))
    same(cg(lambda x: square @ x, V + 1)[0], (V + 1) / [2, 4, 8])
    same(cg(square, V + 1)[0], (V + 1) / [2, 4, 8])


def test_sparsify() -> None:
    @sparse.sparsify
    def f(x: Any, v: Any) -> Any:
        moved = jnp.concatenate([x.T.reshape(2, 3), x[:, ::-1]])
        return {"a": jnp.sin(2.0 * x) * v - x / 4, "b": moved, "c": x @ v, "d": x.sum(),
                "e": jax.jit(jnp.square)(x)[1], "f": jnp.sum(x * x, axis=0), "g": x + jnp.ones(3)
                * jnp.ones((2, 1)), "h": v * 2}

    for m, d in ((M, D), (TWICE, E), (sparse.BCSR.fromdense(D), D)):
        got, x = f(m, V), jnp.asarray(d)
        for key, wanted in f.__wrapped__(x, V).items():
            same(got[key], wanted)
        assert all(isinstance(got[key], sparse.BCOO) for key in "abef")
    same(jax.jit(f)(M, V)["c"], D @ V)
    large = sparse.BCOO((np.ones(1, np.float32), np.array([[5, 7]])), shape=(10 ** 6, 10 ** 6))
    assert sparse.sparsify(lambda x: 2 * x - x * jnp.arange(10.0 ** 6))(large).data.tolist() == [
        2.0, -7.0]                               # no array of its shape is made


@pytest.mark.parametrize(("kind", "match", "call"), [
    (NotImplementedError, "cos", lambda: sparse.sparsify(jnp.cos)(M)),
    (NotImplementedError, "would be dense", lambda: M + 1.0),
    (NotImplementedError, "divide the results of", lambda: M / M),
    (NotImplementedError, "positive", lambda: M ** 0),
    (NotImplementedError, "comparisons", lambda: M == M),
    (NotImplementedError, "broadcasting", lambda: M * np.ones((2, 2, 3))),
    (NotImplementedError, "mixes", lambda: LAYOUTS["batch"].T),
    (NotImplementedError, "integers, slices", lambda: M[np.array([0, 1])]),
    (NotImplementedError, "use_tracer", lambda: sparse.sparsify(jnp.sin, use_tracer=True)),
    (IndexError, "out of bounds", lambda: M[2]), (IndexError, "too many", lambda: M[0, 0, 0]),
    (ValueError, "different shapes", lambda: M + M.T), (ValueError, "reshaped", lambda:
                                                        M.reshape(4)),
    (ValueError, "do not fit", lambda: sparse.BCOO((np.ones(2), np.zeros((3, 2), int)),
                                                   shape=(2, 3))),
    (ValueError, "must be integers", lambda: sparse.BCOO((np.ones(2), np.zeros((2, 2))),
                                                         shape=(2, 3))),
    (ValueError, "do not fit", lambda: sparse.BCSR((np.ones(2), np.zeros(2, int), np.zeros(2, int)),
                                                   shape=(2, 3))),
    (TypeError, "contracted sizes", lambda: M @ np.ones(2)),
    (ValueError, "sparse_format", lambda: sparse.eye(2, sparse_format="dia")),
    (ValueError, "on_inefficient", lambda: M.update_layout(n_batch=1, on_inefficient="no")),
    (TypeError, "sizes of axes", lambda: sparse.bcoo_dot_general(
        M, D, dimension_numbers=(((0,), (1,)), ((), ())))),
    (TypeError, "grad", lambda: jax.grad(lambda m: m.sum())(M)),
    (TypeError, "BCOO", lambda: jnp.sin(M)),
    *[(TypeError, f"expected a BCOO.*{how}", functools.partial(call, x)) for x, how in (
        (D, "fromdense"), (sparse.BCSR.fromdense(D), "to_bcoo")) for call in (
        sparse.bcoo_todense, sparse.bcoo_sort_indices, sparse.bcoo_sum_duplicates,
        lambda x: sparse.bcoo_extract(x, D), lambda x: sparse.bcoo_multiply_dense(x, D),
        lambda x: sparse.bcoo_multiply_sparse(M, x), lambda x: sparse.bcoo_reduce_sum(x, axes=[0]),
        lambda x: sparse.bcoo_update_layout(x, n_batch=1), lambda x: sparse.bcoo_rev(x, [0]),
        lambda x: sparse.bcoo_transpose(x, permutation=(1, 0)),
        lambda x: sparse.bcoo_squeeze(x, dimensions=()),
        lambda x: sparse.bcoo_reshape(x, new_sizes=(6,)),
        lambda x: sparse.bcoo_broadcast_in_dim(x, shape=D.shape, broadcast_dimensions=(0, 1)),
        lambda x: sparse.bcoo_slice(x, start_indices=(0, 0), limit_indices=(1, 1)),
        lambda x: sparse.bcoo_dynamic_slice(x, (0, 0), (1, 1)))],
    *[(TypeError, "expected a BCSR", functools.partial(call, M)) for call in (
        sparse.bcsr_todense, sparse.bcsr_sum_duplicates,
        lambda x: sparse.bcsr_concatenate([x], dimension=0),
        lambda x: sparse.bcsr_broadcast_in_dim(x, shape=D.shape, broadcast_dimensions=(0, 1)))],
])
def test_what_is_refused(kind: type, match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=match):
        call()


def test_maps_over_other_axes_than_the_first_batch_are_refused() -> None:
    by_two = sparse.BCOO.fromdense(CUBE, n_batch=2)
    same(jax.vmap(lambda m: m.todense())(by_two), CUBE)
    same(jax.vmap(lambda m, x: m.todense() + x, in_axes=(None, 0))(by_two, np.ones(2)),
         np.stack([CUBE + 1] * 2))
    for mat, axis in ((by_two, 1), (sparse.BCOO.fromdense(CUBE, n_batch=1), 1), (by_two, -1),
                      (sparse.BCSR.fromdense(CUBE, n_batch=1), 1)):
        with pytest.raises(ValueError, match="first batch axis"):
            jax.vmap(lambda m: m.data.sum(), in_axes=axis)(mat)
    with pytest.raises(ValueError, match="first batch axis"):
        jax.vmap(lambda x: sparse.BCOO.fromdense(x, nse=4), out_axes=1)(CUBE)


@pytest.mark.parametrize("mat", [M, sparse.BCOO.fromdense(D, n_dense=1), sparse.BCSR.fromdense(D)])
@pytest.mark.parametrize("part", [lambda m: m.todense(), lambda m: m.sum(), lambda m: m @ V])
def test_maps_over_arrays_without_batch_axes_are_refused(mat: Any, part: Callable) -> None:
    with pytest.raises(ValueError, match="n_batch=1|sizes"):
        jax.vmap(part)(mat)


def test_dense_operands_of_products_are_of_the_default_dtype() -> None:
    numbers = (((1,), (0,)), ((), ()))
    made = sparse.bcoo_dot_general(M, np.ones((3, 2)), dimension_numbers=numbers)
    same(made, D @ np.ones((3, 2)))
    made = sparse.bcoo_dot_general(np.ones((4, 2)), M, dimension_numbers=numbers)
    same(made, np.ones((4, 2)) @ D)
