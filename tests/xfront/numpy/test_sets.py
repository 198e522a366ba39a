"""Sets with NaNs: sizes and all results of `unique`, and the functions of two sets."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.against import agree

NAN = float("nan")
FLAT = [3.0, NAN, 1.0, NAN, 1.0, 3.0, 2.0]
ROWS = [[1, NAN], [NAN, 1], [1, NAN], [1, 2], [1, 2], [NAN, NAN], [NAN, NAN]]
OTHER = [NAN, NAN, 1.0, 5.0]
ALL = {"return_index": True, "return_inverse": True, "return_counts": True}
DTYPES = ["float32", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "complex64"]


def _of(values: list, dtype: str) -> tuple:
    """(our array, NumPy's of a dtype whose NaNs it knows)."""
    x = np.asarray(values).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    return jnp.asarray(x), x if dtype == "complex64" else x.astype(np.float32)


def _numbers(results: object) -> list:
    return [np.asarray(v) if np.asarray(v).dtype.kind in "ic" else np.asarray(v).astype(np.float32)
            for v in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_of_nans(dtype: str) -> None:
    x, known = _of(FLAT, dtype)
    for equal_nan in (True, False):
        ours = jnp.unique(x, **ALL, equal_nan=equal_nan)
        assert ours[0].dtype == x.dtype
        agree(f"unique equal_nan={equal_nan}", _numbers(ours),
              _numbers(np.unique(known, **ALL, equal_nan=equal_nan)))
    cut = jnp.unique(x, **ALL, size=2)
    agree("size", _numbers(cut), [v if i == 2 else v[:2] for i, v in enumerate(
        _numbers(np.unique(known, **ALL)))])
    padded = _numbers(jnp.unique(x, **ALL, equal_nan=False, size=7, fill_value=4))
    exact = _numbers(np.unique(known, **ALL, equal_nan=False))
    agree("padded", padded, [np.append(exact[0], [4, 4]), np.append(exact[1], [2, 2]), exact[2],
                             np.append(exact[3], [0, 0])])
    rows, known = _of(ROWS, dtype)
    agree("rows", _numbers(jnp.unique(rows, **ALL, axis=0, equal_nan=False)),
          _numbers(np.unique(known, **ALL, axis=0, equal_nan=False)))


def test_rows_with_equal_nans_are_one() -> None:
    """NumPy tells them apart, whatever `equal_nan` says."""
    values, index, inverse, counts = jnp.unique(_of(ROWS, "float32")[0], **ALL, axis=0)
    agree("values", [values], [np.float32([[1, 2], [1, NAN], [NAN, 1], [NAN, NAN]])])
    assert index.tolist() == [3, 0, 1, 5] and counts.tolist() == [2, 2, 1, 2]
    assert inverse.tolist() == [1, 2, 1, 0, 0, 3, 3]


def test_every_kind_of_complex_nan_is_one() -> None:
    x = np.array([complex(NAN, 0), 1, complex(0, NAN), complex(1, NAN), 1], np.complex64)
    assert jnp.unique(x, return_counts=True)[1].tolist() == [2, 3]
    assert jnp.unique(x, equal_nan=False).shape == (4,)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz"])
def test_two_sets_with_nans(dtype: str) -> None:
    (x, known), (y, of_y) = _of(FLAT, dtype), _of(OTHER, dtype)
    for name in ("union1d", "setdiff1d", "intersect1d", "setxor1d"):
        agree(name, _numbers(getattr(jnp, name)(x, y)), _numbers(getattr(np, name)(known, of_y)))
    of_nan = _of([NAN], dtype)[0]
    assert jnp.intersect1d(x, of_nan).shape == (0,)
    assert [v.shape for v in jnp.intersect1d(x, of_nan, return_indices=True)] == [(0,)] * 3
    assert jnp.setdiff1d(y, y).shape == (1,)


def test_sizes_must_be_known() -> None:
    for f in (jnp.unique, lambda x: jnp.setdiff1d(x, x), lambda x: jnp.intersect1d(x, x),
              lambda x: jnp.setxor1d(x, x)):
        with pytest.raises(xfront.errors.ConcretizationTypeError, match="size"):
            xfront.jit(f)(jnp.ones(3))


def test_known_arrays_have_their_size_while_a_program_is_traced():
    x = np.array([3.0, 1.0, 3.0, 2.0], np.float32)

    @xfront.jit
    def f(y):
        values, counts = jnp.unique(x, return_counts=True)
        return (y * values, counts, jnp.setdiff1d(x, x[:1]), jnp.intersect1d(x, x[1:]),
                jnp.union1d(x, x), jnp.setxor1d(x, x[:1]), jnp.unique_values(x))

    for got, want in zip(f(2.0), f.__wrapped__(2.0), strict=True):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(xfront.errors.ConcretizationTypeError, match="size"):
        xfront.jit(jnp.unique)(x)


def test_sizes_of_sets_of_nothing() -> None:
    none = jnp.zeros(0, jnp.int32)
    some = jnp.arange(3)
    np.testing.assert_array_equal(jnp.setdiff1d(none, some, size=2), [0, 0])
    np.testing.assert_array_equal(jnp.setdiff1d(none, none, size=2, fill_value=7), [7, 7])
    assert jnp.setdiff1d(none, some).shape == (0,)
    got = jnp.intersect1d(some, none, return_indices=True, size=2)
    agree("intersect1d", got, (np.zeros(2, np.int32), np.array([3, 3]), np.zeros(2, np.int64)))
