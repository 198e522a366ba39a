"""Segments, and trees as vectors: values against NumPy, dtypes, derivatives, wrong uses."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.flatten_util import ravel_pytree

IDS = np.array([0, 3, 3, -1, 1, 7, 0, 1], np.int32)
DATA = np.array([[3, 1], [4, 1], [5, 9], [2, 6], [5, 3], [5, 8], [9, 7], [2, 3]])
KINDS = {"sum": (np.add, 0), "prod": (np.multiply, 1), "max": (np.maximum, None),
         "min": (np.minimum, None)}


def least_and_greatest(dtype: Any) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return False, True
    return (-np.inf, np.inf) if not np.issubdtype(dtype, np.integer) else (
        np.iinfo(dtype).min, np.iinfo(dtype).max)


def expected(how: str, data: np.ndarray, ids: np.ndarray, n: int) -> np.ndarray:
    ufunc, empty = KINDS[how]
    if empty is None:
        empty = least_and_greatest(data.dtype)[how == "min"]
    made = np.full((n, *data.shape[1:]), empty, data.dtype)
    for row, i in zip(data, ids, strict=True):
        if 0 <= i < n:
            made[i] = ufunc(made[i], row)
    return made


@pytest.mark.parametrize("how", sorted(KINDS))
def test_values(how: str) -> None:
    f = getattr(jax.ops, f"segment_{how}")
    dtypes = [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.uint8]
    dtypes += [np.complex64] if how in ("sum", "prod") else [np.bool_]

    def all_of(arrays: Any) -> Any:
        return [[f(x, IDS, 4), f(x, IDS, 4, bucket_size=3), f(x, IDS, 2, mode="clip"),
                 f(x[:0], IDS[:0], 2), f(x[:0], IDS[:0], 2, bucket_size=2)] for x in arrays]

    arrays = [DATA.astype(d) for d in dtypes]
    for x, made in zip(arrays, jax.jit(all_of)(arrays), strict=True):
        wanted = expected(how, x, IDS, 4)
        none = expected(how, x[:0], IDS[:0], 2)
        for got, known in zip(made, (wanted, wanted, expected(how, x, np.clip(IDS, 0, 1), 2), none,
                                     none), strict=True):
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, known)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int32", "uint64"])
def test_segments_of_integers_without_rows_have_the_ends_of_the_dtype(dtype: str) -> None:
    with jax.enable_x64(dtype == "uint64"):
        data, info = np.array([3, 1], dtype), np.iinfo(dtype)
        made = [f(data, np.array([0, 0]), 2) for f in (jax.ops.segment_min, jax.ops.segment_max)]
        assert [m.tolist() for m in made] == [[1, info.max], [3, info.min]]


@pytest.mark.parametrize("dtype", ["int2", "uint4", "int8", "uint8"])
def test_segment_numbers_may_be_the_greatest_of_a_narrow_dtype(dtype: str) -> None:
    last = int(jnp.iinfo(dtype).max)
    made = jax.ops.segment_sum(jnp.array([1.0, 2.0, 4.0]), jnp.array([last, 0, last], dtype))
    assert made.shape == (last + 1,)
    assert made[0] == 2 and made[last] == 5 and made.sum() == 7


def test_number_of_segments_is_found() -> None:
    x = jnp.arange(8.0)
    assert jax.ops.segment_sum(x, IDS).shape == (8,)
    assert jax.ops.segment_sum(x, np.full(8, -2)).shape == (0,)
    np.testing.assert_array_equal(
        jax.vmap(lambda x: jax.ops.segment_sum(x, IDS, 4))(jnp.stack([x, 2 * x])),
        np.stack([expected("sum", np.arange(8.0), IDS, 4) * i for i in (1, 2)]))


def test_gradients() -> None:
    weights = np.array([1.0, 2, 3, 4], np.float32)
    x = np.array([3.0, 4, 5, 2, 5, 5, 9, 2], np.float32)

    def of(how: str, **options: Any) -> Any:
        f = getattr(jax.ops, f"segment_{how}")
        return jax.grad(lambda x: (jnp.nan_to_num(f(x, IDS, 4, **options)) * weights).sum())(x)

    np.testing.assert_array_equal(of("sum"), [1, 4, 4, 0, 2, 0, 1, 2])
    np.testing.assert_array_equal(of("sum", bucket_size=3), [1, 4, 4, 0, 2, 0, 1, 2])
    np.testing.assert_array_equal(of("max"), [0, 0, 4, 0, 2, 0, 1, 0])
    np.testing.assert_array_equal(of("min"), [1, 4, 0, 0, 0, 0, 0, 2])


@pytest.mark.parametrize(("kind", "match", "call"), [
    (ValueError, "num_segments", lambda f, x: f(x, IDS, -1)),
    (ValueError, "bucket_size", lambda f, x: f(x, IDS, 4, bucket_size=0)),
    (ValueError, "mode", lambda f, x: f(x, IDS, 4, mode="wrap")),
    (ValueError, "broadcast", lambda f, x: f(x, IDS[:3], 4)),
    (TypeError, "segment_ids", lambda f, x: f(x, IDS * 1.0, 4)),
    (TypeError, "segment_sum", lambda f, x: f([1.0], IDS[:1], 4)),
    (TypeError, "num_segments", lambda f, x: f(x, IDS, 4.0)),
    (TypeError, "bool", lambda f, x: f(x > 0, IDS, 4)),
    (TypeError, "out_sharding", lambda f, x: f(x, IDS, 4, out_sharding="x")),
    (TypeError, "number of segments", lambda f, x: jax.jit(f)(x, IDS)),
])
def test_refuses(kind: type, match: str, call: Any) -> None:
    with pytest.raises(kind, match=match):
        call(jax.ops.segment_sum, np.arange(8, dtype=np.float32))


def test_complex_numbers_by_real_parts() -> None:
    x = np.array([1 + 2j, 3 - 1j, 2 + 9j], np.complex64)
    np.testing.assert_array_equal(jax.ops.segment_max(x, np.array([0, 0, 0]), 2), [3 - 1j, -np.inf])


# --- trees as vectors -----------------------------------------------------------------------

TREES: list[tuple[Any, str]] = [
    ({"a": np.ones((2, 2), np.float32), "b": np.float32(3)}, "float32"),
    ([np.ones(2, ml_dtypes.bfloat16), ()], "bfloat16"),
    ((np.ones(2, np.complex64), np.int32(4), np.ones((2, 0), np.float32), True), "complex64"),
    ([1.5, 2], "float32"), ([], "float32"), ([np.arange(3, dtype=np.int8), np.int16(4)], "int16"),
]


@pytest.mark.parametrize(("tree", "dtype"), TREES, ids=range(len(TREES)))
def test_there_and_back(tree: Any, dtype: str) -> None:
    flat, unravel = ravel_pytree(tree)
    assert flat.dtype == dtype and not flat.weak_type
    leaves, structure = jax.tree_util.tree_flatten(tree)
    np.testing.assert_array_equal(flat, np.concatenate([np.ravel(x) for x in leaves] or [[]]))
    back, same = jax.tree_util.tree_flatten(unravel(flat))
    assert same == structure
    for x, y in zip(leaves, back, strict=True):
        assert y.dtype == jnp.asarray(x).dtype and y.shape == np.shape(x)
        np.testing.assert_array_equal(x, y)
    again = ravel_pytree(tree)[1]
    assert unravel == again and hash(unravel) == hash(again)


def test_through_transformations() -> None:
    tree = {"a": jnp.array([[1.0, 2.0]]), "b": jnp.array(3.0)}
    flat, unravel = ravel_pytree(tree)
    f = lambda t: (t["a"] ** 2).sum() * t["b"]
    np.testing.assert_allclose(jax.grad(lambda v: f(unravel(v)))(flat),
                               ravel_pytree(jax.grad(f)(tree))[0])
    np.testing.assert_allclose(jax.jit(jax.hessian(lambda v: f(unravel(v))))(flat),
                               [[6, 0, 2], [0, 6, 4], [2, 4, 0]])
    many = jax.vmap(lambda t: ravel_pytree(t)[0])({"a": jnp.ones((4, 1, 2)), "b": jnp.arange(4.0)})
    assert many.shape == (4, 3)
    assert jax.vmap(unravel)(many)["a"].shape == (4, 1, 2)
    assert unravel(flat.astype(jnp.bfloat16))["b"].dtype == jnp.bfloat16


def test_what_does_not_fit() -> None:
    flat, unravel = ravel_pytree([np.float32(1), np.int32(2)])
    with pytest.raises(TypeError, match="dtype int32, but expected dtype float32"):
        unravel(flat.astype(int))
    with pytest.raises(ValueError, match="expected shape"):
        unravel(flat[:1])
    with pytest.raises(TypeError, match="ravel_pytree"):
        ravel_pytree(["text"])
    with pytest.raises(TypeError, match="random keys"):
        ravel_pytree([jax.random.key(0)])
