"""Histograms of equal bins: exact at the edges, whatever the range."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp

RANGES = ((-4.0, 4.0), (0.0, 1.0), (1e6, 1e6 + 1), (1e8, 1e8 + 8), (-1e-30, 3e-30), (0.1, 0.7),
          (-3e38, 3e38), (-1.0, 1e9), (5.0, 5.0))


@pytest.mark.parametrize("bins", (1, 3, 10, 100, 1000, 70_000))
@pytest.mark.parametrize("bounds", RANGES)
def test_values_at_and_beside_edges(bins: int, bounds: tuple[float, float]) -> None:
    edges = np.asarray(jnp.histogram_bin_edges(jnp.zeros(1), bins, bounds))
    up, down = np.float32(np.inf), np.float32(-np.inf)
    low, high = np.array(bounds) / 4
    with np.errstate(over="ignore"):
        beside = [np.nextafter(edges, up), np.nextafter(edges, down)]
    x = np.concatenate([edges, *beside, np.array([np.nan, np.inf, -np.inf, 0.0], np.float32),
                        np.random.default_rng(0).uniform(low, high, 500).astype(np.float32) * 4])
    x[np.abs(x) < np.finfo(x.dtype).tiny] = 0                 # as XLA's arithmetic takes them
    counts, same = jnp.histogram(x, bins, bounds)
    np.testing.assert_array_equal(same, edges)
    place = np.searchsorted(edges, x, "right")
    place = np.where(x == edges[-1], bins, place)
    want = np.bincount(place, minlength=bins + 2)[1:bins + 1]
    if (edges[1:] >= edges[:-1]).all():
        np.testing.assert_array_equal(counts, want)
    else:                                      # as many bins as numbers: edges out of order
        assert np.sum(counts) == want.sum()


def test_by_rows_and_with_weights() -> None:
    x = np.random.default_rng(0).normal(size=(4, 300)).astype(np.float32)
    many = xfront.vmap(lambda row: jnp.histogram(row, 20)[0])(x)
    for row, got in zip(x, many, strict=True):
        edges = np.asarray(jnp.histogram_bin_edges(row, 20))
        np.testing.assert_array_equal(got, np.histogram(row, edges)[0])
    slope = xfront.grad(lambda w: jnp.sum(jnp.histogram(x[0], 20, (-2, 2), w)[0] ** 2) / 2)(
        np.ones(300, np.float32))
    counts = np.histogram(x[0], np.asarray(jnp.histogram_bin_edges(x[0], 20, (-2, 2))))[0]
    inside = np.abs(x[0]) <= 2
    assert np.asarray(slope)[~inside].max(initial=0) == 0
    assert set(np.unique(np.asarray(slope)[inside])) <= set(np.unique(counts).astype(np.float32))


def test_bincount_of_unsigned_integers() -> None:
    x = np.array([1, 2, 2], np.uint8)
    np.testing.assert_array_equal(jnp.bincount(jnp.asarray(x)), np.bincount(x))
    np.testing.assert_array_equal(jnp.bincount(jnp.asarray(x[:0]), minlength=2), [0, 0])
    with pytest.raises(ValueError, match="1-dimensional"):
        jnp.bincount(0)


def test_edges_have_the_dtype_of_the_values() -> None:
    x, edges = jnp.array([1, 2, 3], jnp.bfloat16), jnp.array([1, 2, 3], jnp.uint8)
    assert jnp.histogram(x, edges)[1].dtype == jnp.histogram_bin_edges(x, edges).dtype == x.dtype
    for f in (lambda e: jnp.histogram(x, e), lambda e: jnp.digitize(x, e)):
        with pytest.raises(TypeError, match="real|complex"):
            f(edges * 1j)
    with pytest.raises(ValueError, match="2-d"):
        jnp.histogramdd(2)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, bool])
def test_weights_of_several_axes_are_summed_as_floats(dtype: type) -> None:
    x, y, weights = np.arange(4.0), np.array([0.0, 1, 1, 3]), np.array([1, 0, 2, 1]).astype(dtype)
    got = jnp.histogram2d(x, y, 2, weights=weights)[0]
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.histogram2d(x, y, 2, weights=weights)[0])
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        jnp.histogram(np.ones(3, np.float32), -1)
    with pytest.raises(ValueError, match="weights should have one element"):
        jnp.histogram2d(x, y, 2, weights=weights[:3])
