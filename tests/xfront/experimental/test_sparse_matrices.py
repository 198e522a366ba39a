"""experimental.sparse's COO, CSR and CSC, against dense arrays and the matrices of SciPy; and the
gathers and convolutions of BCOO, against those of dense arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.errors import ConcretizationTypeError
from xfront.experimental import sparse

KINDS = {"coo": sparse.COO, "csr": sparse.CSR, "csc": sparse.CSC}
SCIPY: dict[str, Any] = {"coo": scipy.sparse.coo_matrix, "csr": scipy.sparse.csr_matrix,
                         "csc": scipy.sparse.csc_matrix}
D = np.array([[0, 1, 2], [3, 0, 0]], np.float32)
V, W = np.arange(1, 4, dtype=np.float32), np.array([2, 5], np.float32)
SHAPES = [(2, 3), (5, 4), (1, 7), (6, 1), (3, 0), (0, 4), (0, 0)]


def same(got: Any, wanted: Any) -> None:
    got, wanted = np.asarray(sparse.todense(got)), np.asarray(wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    assert got.shape == wanted.shape


def random_matrix(seed: int, shape: tuple[int, int]) -> np.ndarray:
    draw = np.random.default_rng(seed)
    values = draw.integers(-4, 5, shape) * (draw.random(shape) < 0.4)
    return values.astype(draw.choice(["float32", "int32", "complex64", "float16"]))


def unsorted(kind: str, seed: int, shape: tuple[int, int]) -> tuple[Any, np.ndarray]:
    """A matrix with duplicates, in no order, with padding; and the same as a dense one."""
    draw = np.random.default_rng(seed)
    nse, (rows, columns) = int(draw.integers(0, 12)), shape
    data = draw.integers(-4, 5, nse).astype(np.float32)
    row, col = draw.integers(-1, rows + 2, nse), draw.integers(-1, columns + 2, nse)
    ends = None
    if kind != "coo":
        along, n = (row, rows) if kind == "csr" else (col, columns)
        along[:] = np.sort(draw.integers(0, n, nse)) if n else n
        kept = int(draw.integers(0, nse + 1)) if n else 0
        ends = np.minimum(np.searchsorted(along, np.arange(n + 1)), kept)
        along[kept:] = n
    dense = np.zeros(shape, np.float32)
    for x, i, j in zip(data, row, col, strict=True):
        if 0 <= i < rows and 0 <= j < columns:
            dense[i, j] += x
    parts = {"coo": (data, row, col), "csr": (data, col, ends), "csc": (data, row, ends)}[kind]
    return KINDS[kind](parts, shape=shape), dense


# --- values ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_generated_matrices_are_what_dense_ones_are(kind: str, seed: int) -> None:
    for shape in (SHAPES[seed], SHAPES[(seed + 3) % len(SHAPES)]):
        m, d = unsorted(kind, seed, shape)
        draw = np.random.default_rng(seed)
        v, w = [draw.normal(size=n).astype(np.float32) for n in shape[::-1]]
        many = draw.normal(size=(shape[1], 3)).astype(np.float32)
        same(m, d)
        same(m.T, d.T)
        same(m.T.T, d)
        same(m.transpose((0, 1)), d)
        same(m @ v, d @ v)
        same(m @ many, d @ many)
        same(w @ m, w @ d)
        same(m.T @ w, d.T @ w)
        same(m + m, 2 * d)
        same(m * 2 - d, d)
        same(m.to_bcoo(), d)
        same(m.sum(0), d.sum(0))
        same(jax.jit(lambda m, v: (m.T.T @ v, m.todense()))(m, v)[1], d)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_those_of_scipy(kind: str) -> None:
    for seed, shape in enumerate(SHAPES):
        d = random_matrix(seed, shape)
        m, known = KINDS[kind].fromdense(d), SCIPY[kind](d)
        for name in m._parts:
            part = getattr(m, name)
            np.testing.assert_array_equal(part, getattr(known, name))
            assert part.dtype == (d.dtype if name == "data" else np.int32)
        assert (m.shape, m.nse, m.dtype, m.ndim, m.size) == (shape, known.nnz, d.dtype, 2, d.size)
        same(KINDS[kind](tuple(getattr(known, name) for name in m._parts), shape=shape), d)
        same(m @ np.ones((shape[1], 2), d.dtype), known @ np.ones((shape[1], 2), d.dtype))


@pytest.mark.parametrize("name", ["coo", "csr"])
def test_products_by_name(name: str) -> None:
    matvec, matmat, fromdense, todense = [getattr(sparse, f"{name}_{what}") for what in (
        "matvec", "matmat", "fromdense", "todense")]
    m = fromdense(D)
    same(todense(m), D)
    same(matvec(m, V), D @ V)
    same(matvec(m, W, True), D.T @ W)
    same(matmat(m, np.outer(V, W)), D @ np.outer(V, W))
    same(matmat(m, np.outer(W, V), transpose=True), D.T @ np.outer(W, V))
    same(matmat(m, np.ones((3, 0), np.float32)), np.ones((2, 0)))


@pytest.mark.parametrize("kind", KINDS)
def test_stored_elements_more_and_fewer_than_nonzero_ones(kind: str) -> None:
    make = KINDS[kind].fromdense
    for m in (make(D, nse=5), jax.jit(functools.partial(make, nse=5))(D)):
        assert m.nse == 5
        same(m, D)
        same(m @ V, D @ V)
        same(m.T @ W, D.T @ W)
        same(m.T.to_bcoo().sum_duplicates(), D.T)
    same(make(D, nse=2), [[0, 1, 0], [3, 0, 0]] if kind == "csc" else [[0, 1, 2], [0, 0, 0]])
    same(make(D, nse=0), 0 * D)
    narrow = make(D, index_dtype=np.int8)
    assert {getattr(narrow, part).dtype for part in narrow._parts[1:]} == {np.dtype(np.int8)}
    same(narrow @ V, D @ V)


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes_promote_as_those_of_arrays(kind: str) -> None:
    for a, b, wanted in (("float32", "int32", "float32"), ("float32", "complex64", "complex64"),
                         ("int8", "uint8", "int16"), ("bfloat16", "float16", "float32"),
                         ("int32", "bool", "int32"), ("bool", "bool", "bool")):
        m = KINDS[kind].fromdense(jnp.eye(3, dtype=a))
        made = m @ jnp.ones(3, b)
        assert made.dtype == m.todense().dtype.type(0).dtype if a == wanted else True
        assert made.dtype == wanted
        same(made.astype(np.complex64), np.ones(3))


def test_matrices_made_without_elements_and_with_a_diagonal() -> None:
    for kind, cls in KINDS.items():
        for k in (-5, -1, 0, 1, 5):
            m = sparse.eye(2, 3, k, dtype=np.float16, index_dtype=np.int16, sparse_format=kind)
            assert type(m) is cls and m.dtype == np.float16
            assert m._arrays()[1].dtype == m._arrays()[2].dtype == np.int16
            same(m, np.eye(2, 3, k))
        none = sparse.empty((2, 3), sparse_format=kind)
        assert type(none) is cls and none.nse == 0
        same(none, np.zeros((2, 3)))
        same(none @ V, np.zeros(2))


# --- trees and transformations --------------------------------------------------------------------

@pytest.mark.parametrize("kind", KINDS)
def test_trees(kind: str) -> None:
    m = KINDS[kind].fromdense(D)
    leaves, tree = jax.tree.flatten(m)
    assert [x is y for x, y in zip(leaves, m._arrays(), strict=True)] == [True] * 3
    same(jax.tree.unflatten(tree, leaves), D)
    assert tree == jax.tree.structure(KINDS[kind].fromdense(2 * D))
    assert tree != jax.tree.structure(KINDS[kind].fromdense(np.ones((3, 3), np.float32)))
    assert repr(m) == f"{kind.upper()}(float32[2, 3], nse=3)"
    for other in (object(), None):
        assert repr(jax.tree.unflatten(tree, [other] * 3)) == f"{kind.upper()}(<invalid>)"
    assert len(m) == 2 and m.block_until_ready() is m
    with pytest.raises(TypeError, match="unhashable"):
        hash(m)


def test_promises_of_order_follow_the_transposed_matrix() -> None:
    m = sparse.COO.fromdense(D)
    assert (m._rows_sorted, m._cols_sorted) == (True, False)
    assert (m.T._rows_sorted, m.T._cols_sorted) == (False, True)
    made = jax.jit(lambda m: m.T)(m)
    assert made._cols_sorted and made.row is not m.row and made.shape == (3, 2)
    assert type(sparse.CSR.fromdense(D).T) is sparse.CSC
    assert type(sparse.CSC.fromdense(D).T) is sparse.CSR


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind: str) -> None:
    m, cls = KINDS[kind].fromdense(D), KINDS[kind]
    rest = m._arrays()[1:]
    again = lambda data: cls((data, *rest), shape=D.shape)
    places = again(np.arange(3)).todense()                   # where each element stands
    wanted = np.broadcast_to(V, D.shape)[D != 0]
    order = np.asarray(places)[D != 0]
    got = jax.grad(lambda data: (again(data) @ V).sum())(m.data)
    same(got[order], wanted)
    same(jax.grad(lambda v: (m @ v).sum())(V), D.sum(0))
    same(jax.grad(lambda d: (cls.fromdense(d, nse=4).data ** 2).sum())(D), 2 * D)
    same(jax.jvp(lambda data, v: again(data) @ v, (m.data, V), (m.data, V))[1], 2 * D @ V)
    slope = sparse.grad(lambda m: (m @ V).sum())(m)
    assert type(slope) is cls
    same(slope, np.where(D != 0, V, 0))
    for transform in (sparse.jacfwd, sparse.jacrev):
        same(transform(lambda m: m @ V)(m), np.einsum("ik,ij,j->kij", np.eye(2), D != 0, V))
    same(sparse.sparsify(lambda m, v: (2 * m) @ v)(m, V), 2 * D @ V)


@pytest.mark.parametrize("kind", KINDS)
def test_maps_over_stacked_arrays(kind: str) -> None:
    first, second = [KINDS[kind].fromdense(x, nse=4) for x in (D, 2 * D[::-1])]
    both = jax.tree.map(lambda *x: jnp.stack(x), first, second)
    dense = np.stack([D, 2 * D[::-1]])
    same(jax.vmap(lambda m: m.todense())(both), dense)
    same(jax.vmap(lambda m: m.T @ W)(both), dense.transpose(0, 2, 1) @ W)
    same(jax.vmap(lambda m, v: m @ v, in_axes=(None, 1))(first, np.outer(V, W)),
         (D @ np.outer(V, W)).T)
    same(jax.vmap(lambda d: KINDS[kind].fromdense(d, nse=3) @ V)(dense), dense @ V)
    same(lax.scan(lambda c, m: (c, m @ V), 0.0, both)[1], dense @ V)
    with pytest.raises(ValueError, match=r"do not fit.*jnp\.stack"):
        _ = both @ V
    with pytest.raises(ValueError, match=r"do not fit.*jnp\.stack|inconsistent sizes"):
        jax.vmap(lambda m: m.todense())(first)


# --- what is refused ------------------------------------------------------------------------------

C, R, L = [cls.fromdense(D) for cls in KINDS.values()]


@pytest.mark.parametrize("kind, match, call", [
    (ValueError, "COO: the shape", lambda: sparse.COO(C._arrays(), shape=(2, 3, 1))),
    (ValueError, "CSR: the shape", lambda: sparse.CSR(R._arrays(), shape=(6,))),
    (ValueError, "do not fit", lambda: sparse.COO((V, [0, 1], [0, 1, 2]), shape=(2, 3))),
    (ValueError, "do not fit.*integers", lambda: sparse.COO((V, V, V), shape=(2, 3))),
    (ValueError, "lengths.*3, 3, 3", lambda: sparse.CSR((V, [0, 1, 2], [0, 3]), shape=(2, 3))),
    (ValueError, "lengths.*3, 3, 4", lambda: sparse.CSC((V, [0, 1, 2], [0, 3]), shape=(2, 3))),
    (ValueError, "unpack", lambda: sparse.CSR(C._arrays()[:2], shape=(2, 3))),  # pyright: ignore
    (ValueError, "coo_fromdense.*two axes", lambda: sparse.COO.fromdense(V)),
    (ValueError, "CSC.fromdense.*two axes", lambda: sparse.CSC.fromdense(np.ones((2, 2, 2)))),
    (ConcretizationTypeError, "csr_fromdense.*nse", lambda: jax.jit(sparse.csr_fromdense)(D)),
    (ValueError, "duplicate", lambda: C.transpose((0, 0))),
    (ValueError, "permutation", lambda: C.transpose((0,))),
    (ValueError, "axis", lambda: R.transpose((0, 2))),
    (TypeError, "contracted sizes", lambda: R @ W),
    (ValueError, "matmul", lambda: L @ 2.0),
    (ValueError, r"coo_matvec.*shape \(3,\)", lambda: sparse.coo_matvec(C, W)),
    (ValueError, r"csr_matmat.*shape \(2, columns\)",
     lambda: sparse.csr_matmat(R, np.ones((3, 1)), transpose=True)),
    (TypeError, "dtypes differ.*mat @ x", lambda: sparse.coo_matvec(C, V.astype(np.int32))),
    (TypeError, "expected a COO", lambda: sparse.coo_matvec(R, V)),
    (TypeError, "expected a CSR", lambda: sparse.csr_todense(L)),
    (TypeError, "expected a BCOO.*to_bcoo", lambda: sparse.bcoo_todense(C)),
    (NotImplementedError, "comparisons", lambda: C == C),
    (ValueError, "sparse_format", lambda: sparse.eye(2, sparse_format="dia")),
    (ValueError, "two sparse axes", lambda: sparse.empty((2, 3, 4), sparse_format="csr")),
    (ValueError, "two sparse axes", lambda: sparse.empty((2, 3), sparse_format="coo", n_batch=1)),
    (ValueError, "index_dtype int8", lambda: sparse.CSR.fromdense(
        np.ones((1, 200)), index_dtype=np.int8)),
])
def test_what_is_refused(kind: type, match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=match):
        call()


# --- gathers and convolutions of BCOO -------------------------------------------------------------

CUBE = np.where(np.arange(24).reshape(2, 3, 4) % 3 == 1, np.arange(24.0).reshape(2, 3, 4), 0
                ).astype(np.float32)
NUMBERS = lax.GatherDimensionNumbers


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)])
def test_gathers(n_batch: int, n_dense: int) -> None:
    m = sparse.BCOO.fromdense(CUBE, n_batch=n_batch, n_dense=n_dense)
    cases = [(jnp.asarray(at, np.int32), {
        "dimension_numbers": numbers, "slice_sizes": sizes, "mode": mode,
        "fill_value": 0 if mode == "fill" else None}) for at, numbers, sizes, mode in (
            ([[1], [0], [1]], NUMBERS((1, 2), (0,), (0,)), (1, 3, 4), None),
            ([[2], [0], [-1]], NUMBERS((0, 2), (1,), (1,)), (2, 1, 4), "clip"),
            ([[2], [5]], NUMBERS((0, 1), (2,), (2,)), (2, 3, 1), "fill"),
            ([[[1, 1], [0, 1]]], NUMBERS((1, 3), (0,), (1, 2)), (1, 2, 3), "promise_in_bounds"),
            ([2, 1], NUMBERS((0,), (1, 2), (2, 1)), (2, 1, 1), None),
            (np.zeros((0, 1), int), NUMBERS((1, 2), (0,), (0,)), (1, 2, 2), None))]

    def gathered(m: Any, indices: list) -> list:
        return [sparse.bcoo_gather(m, at, **given)
                for at, (_, given) in zip(indices, cases, strict=True)]

    indices = [at for at, _ in cases]
    together = jax.jit(lambda m, indices: [x.todense() for x in gathered(m, indices)])(m, indices)
    alone = gathered(m, indices) if n_batch == n_dense else together
    for (at, given), made, dense in zip(cases, alone, together, strict=True):
        wanted = lax.gather(CUBE, at, **given)
        same(made, wanted)
        same(dense, wanted)
        assert made.dtype == np.float32
    rows = functools.partial(sparse.bcoo_gather, dimension_numbers=NUMBERS((1, 2), (0,), (0,)),
                             slice_sizes=(1, 3, 4))
    slope = jax.grad(lambda d: rows(m.with_data(d), jnp.array([[1], [1]])).data.sum())(m.data)
    same(m.with_data(slope), np.where(CUBE != 0, [[[0.0]], [[2.0]]], 0) if n_dense == 0 else
         m.with_data(slope).todense())


@pytest.mark.parametrize("shape, of_filter, given", [
    ((1, 1, 8), (1, 1, 3), {}),
    ((2, 3, 7), (4, 3, 2), {"padding": "SAME", "window_strides": (2,)}),
    ((2, 3, 7), (4, 3, 2), {"padding": [(-1, 2)], "lhs_dilation": (2,), "rhs_dilation": (3,)}),
    ((2, 5, 4, 2), (3, 2, 2, 4), {"dimension_numbers": ("NHWC", "HWIO", "NWHC"),
                                  "padding": "SAME_LOWER", "window_strides": (1, 2)}),
    ((2, 4, 5), (6, 2, 3), {"feature_group_count": 2}),
    ((4, 3, 5), (6, 3, 3), {"batch_group_count": 2}),
    ((2, 3), (4, 3), {}), ((1, 1, 2), (1, 1, 3), {}), ((0, 1, 4), (2, 1, 3), {}),
])
def test_convolutions(shape: tuple[int, ...], of_filter: tuple[int, ...], given: dict) -> None:
    given = {"window_strides": (1,) * (len(shape) - 2), "padding": "VALID", **given}
    draw = np.random.default_rng(len(shape))
    x, k = [np.where(draw.random(s) < 0.5, draw.normal(size=s), 0).astype(np.float32)
            for s in (shape, of_filter)]
    wanted = lax.conv_general_dilated(x, k, **given)
    sparse_x, sparse_k = sparse.BCOO.fromdense(x), sparse.BCOO.fromdense(k, n_batch=1, n_dense=1)
    twice = sparse.BCOO((jnp.concatenate([sparse_x.data / 2] * 2),       # duplicates and padding
                         jnp.concatenate([sparse_x.indices] * 2)), shape=shape)
    padded = sparse.BCOO.fromdense(k, nse=k.size + 2)

    def convolved(*pairs: Any) -> list:
        return [sparse.bcoo_conv_general_dilated(*pair, **given) for pair in pairs]

    pairs = ((sparse_x, sparse_k), (twice, padded), (sparse_x, k), (x, sparse_k))
    alone = convolved(pairs[0]) if given["padding"] == "VALID" else []
    for made in jax.jit(convolved)(*pairs) + alone:
        same(made, wanted)
        assert made.dtype == wanted.dtype
    if x.size < 30:
        own = sparse.BCOO.fromdense(k)
        slope = sparse.grad(lambda m: sparse.bcoo_conv_general_dilated(
            m, x, **given).todense().sum()) if shape == of_filter else sparse.grad(
            lambda m: sparse.bcoo_conv_general_dilated(x, m, **given).todense().sum())
        dense = jax.grad(lambda k: lax.conv_general_dilated(x, k, **given).sum())(k)
        same(slope(own), np.where(k != 0, dense, 0))


@pytest.mark.parametrize("kind, match, call", [
    (TypeError, "expected a BCOO", lambda at, by: sparse.bcoo_gather(
        sparse.CSR.fromdense(D), at, by, (1, 3))),  # pyright: ignore
    (NotImplementedError, "fill_value=0", lambda at, by: sparse.bcoo_gather(
        sparse.BCOO.fromdense(D), at, by, (1, 3), mode="fill")),
    (NotImplementedError, "operand_batching_dims", lambda at, by: sparse.bcoo_gather(
        sparse.BCOO.fromdense(D), at, NUMBERS((), (1,), (1,), (0,), (0,)), (1, 1))),
    (ValueError, "integers", lambda at, by: sparse.bcoo_gather(
        sparse.BCOO.fromdense(D), 1.0 * at, by, (1, 3))),
    (TypeError, "slice", lambda at, by: sparse.bcoo_gather(
        sparse.BCOO.fromdense(D), at, by, (1, 4))),
    (TypeError, "dtype", lambda at, by: sparse.bcoo_conv_general_dilated(
        sparse.BCOO.fromdense(CUBE), CUBE.astype(np.int32), window_strides=(1,), padding="VALID")),
    (TypeError, "same number of axes", lambda at, by: sparse.bcoo_conv_general_dilated(
        sparse.BCOO.fromdense(CUBE), D, window_strides=(1,), padding="VALID")),
])
def test_gathers_and_convolutions_that_are_refused(kind: type, match: str, call: Callable) -> None:
    with pytest.raises(kind, match=match):
        call(jnp.array([[0], [1]]), NUMBERS((1,), (0,), (0,)))
