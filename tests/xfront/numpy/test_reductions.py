"""Reductions, running reductions and statistics against NumPy, and what differs from it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.against import agree, check, weakly

X = np.array([[3.0, -1.5, 2.0, 0.0], [7.0, 4.25, -2.0, 5.5], [1.0, 1.0, 9.0, -6.0]], np.float32)
N = np.where(X > 6, np.nan, X).astype(np.float32)
NAN = float("nan")
I = np.array([[3, -1, 2], [7, 4, 0]], np.int32)
M = X > 0


def test_sums_and_extremes() -> None:
    check({
        "sum": lambda m, x, i, k: m.sum(x),
        "sum axis": lambda m, x, i, k: m.sum(x, axis=1, keepdims=True),
        "sum axes": lambda m, x, i, k: m.sum(x[None], axis=(0, -1)),
        "sum where": lambda m, x, i, k: m.sum(x, axis=0, where=k, initial=2),
        "sum dtype": lambda m, x, i, k: m.sum(i, dtype=np.float32),
        "sum bool": lambda m, x, i, k: m.sum(k, axis=0),
        "sum int8": lambda m, x, i, k: m.sum(i.astype(np.int8), axis=0),
        "sum uint8": lambda m, x, i, k: m.sum(k.astype(np.uint8)),
        "prod": lambda m, x, i, k: m.prod(x, axis=1, where=k),
        "max": lambda m, x, i, k: m.max(x, axis=0),
        "min": lambda m, x, i, k: m.min(i, axis=1, keepdims=True),
        "max where": lambda m, x, i, k: m.max(x, axis=1, where=k, initial=0.5),
        "ptp": lambda m, x, i, k: m.ptp(x, axis=1),
        "all": lambda m, x, i, k: m.all(x, axis=1),
        "any": lambda m, x, i, k: m.any(k, axis=0, keepdims=True),
        "argmax": lambda m, x, i, k: m.argmax(x),
        "argmin": lambda m, x, i, k: m.argmin(x, axis=1, keepdims=True),
        "count": lambda m, x, i, k: m.count_nonzero(i, axis=0),
        "cumsum": lambda m, x, i, k: m.cumsum(x, axis=1),
        "cumsum flat": lambda m, x, i, k: m.cumsum(i),
        "cumprod": lambda m, x, i, k: m.cumprod(x, axis=0),
        "none": lambda m, x, i, k: m.sum(x, axis=()),
    }, X, I, M)


def test_nan_left_out() -> None:
    check({
        "nansum": lambda m, x: m.nansum(x, axis=0),
        "nanprod": lambda m, x: m.nanprod(x),
        "nanmax": lambda m, x: m.nanmax(x, axis=1),
        "nanmin": lambda m, x: m.nanmin(x),
        "nanmean": lambda m, x: m.nanmean(x, axis=0, keepdims=True),
        "nanvar": lambda m, x: m.nanvar(x, axis=1, ddof=1),
        "nanstd": lambda m, x: m.nanstd(x),
        "nanargmax": lambda m, x: m.nanargmax(x, axis=0),
        "nanargmin": lambda m, x: m.nanargmin(x),
        "nanmedian": lambda m, x: m.nanmedian(x, axis=1),
        "nanquantile": lambda m, x: m.nanquantile(x, np.float32(0.3), axis=1),
        "nanpercentile": lambda m, x: m.nanpercentile(x, np.float32(30)),
        "nancumsum": lambda m, x: m.nancumsum(x, axis=0),
        "max of nan": lambda m, x: m.max(x, axis=1),
        "argmax of nan": lambda m, x: m.argmax(x, axis=1),
        "median of nan": lambda m, x: m.median(x, axis=1),
    }, N)
    assert jnp.nanargmax(jnp.array([jnp.nan, jnp.nan])) == -1
    assert jnp.isnan(jnp.nanmax(jnp.array([jnp.nan])))


def test_statistics() -> None:
    q = np.array([0.0, 0.25, 0.6, 1.0], np.float32)
    w = np.array([1.0, 2.0, 0.5, 1.0], np.float32)
    cases = {
        "mean": lambda m, x, i, k, q, w: m.mean(x, axis=1),
        "mean int": lambda m, x, i, k, q, w: m.mean(i, axis=0),
        "mean where": lambda m, x, i, k, q, w: m.mean(x, axis=1, where=k),
        "var": lambda m, x, i, k, q, w: m.var(x, axis=0, ddof=1, keepdims=True),
        "std": lambda m, x, i, k, q, w: m.std(x, axis=(0, 1)),
        "var where": lambda m, x, i, k, q, w: m.var(x, axis=1, where=k),
        "var complex": lambda m, x, i, k, q, w: m.var(x + 1j * x[::-1], axis=1),
        "average": lambda m, x, i, k, q, w: m.average(x, axis=1, weights=w, returned=True),
        "median": lambda m, x, i, k, q, w: m.median(x, axis=1, keepdims=True),
        "quantile": lambda m, x, i, k, q, w: m.quantile(x, q, axis=1),
        "quantile axes": lambda m, x, i, k, q, w: m.quantile(x, q, axis=(0, 1), keepdims=True),
        "percentile": lambda m, x, i, k, q, w: m.percentile(x, 100 * q, axis=0),
        "cov": lambda m, x, i, k, q, w: m.cov(x, aweights=w),
        "cov columns": lambda m, x, i, k, q, w: m.cov(x, rowvar=False, bias=True),
        "corrcoef": lambda m, x, i, k, q, w: m.corrcoef(x),
    }
    for method in ("lower", "higher", "midpoint", "nearest"):
        cases[method] = lambda m, x, i, k, q, w, method=method: m.quantile(
            x, q, axis=1, method=method)
    check(cases, X, I, M, q, w)


@pytest.mark.parametrize("name, scale", [("quantile", 1), ("percentile", 100)])
def test_weighted_quantiles_leave_nan_out(name, scale) -> None:
    x = np.array([[1.0, np.nan, 3, 4, 2], [5, 6, 7, 8, 9], [np.nan] * 5], np.float32)
    w = np.array([1, 5, 1, 2, 0.5], np.float32)
    q = np.array([0.1, 0.5, 0.9]) * scale
    got = getattr(jnp, f"nan{name}")(x, q, axis=1, weights=w, method="inverted_cdf")
    for row, made in zip(x[:2], np.asarray(got).T[:2], strict=True):
        there = ~np.isnan(row)
        want = getattr(np, name)(row[there], q, weights=w[there], method="inverted_cdf")
        np.testing.assert_array_equal(made, want)
    assert np.isnan(np.asarray(got)[:, 2]).all()
    plain = getattr(jnp, name)(x, q, axis=1, weights=w, method="inverted_cdf")
    assert np.isnan(np.asarray(plain)[:, [0, 2]]).all() and not np.isnan(plain[:, 1]).any()


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_at_an_element_take_it_alone_beside_infinite_ones(method) -> None:
    x = np.array([1, 2, np.inf], np.float32)
    q = np.array([0, 0.5, 1], np.float32)
    for sign in (1, -1):
        want = np.sort(sign * x)
        np.testing.assert_array_equal(jnp.quantile(sign * x, q, method=method), want)
        np.testing.assert_array_equal(xfront.jit(jnp.quantile, static_argnames="method")(
            sign * x, q, method=method), want)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64"])
def test_a_covariance_weighted_by_counts_keeps_its_dtype(dtype: str) -> None:
    x = jnp.asarray([[1, 2, 4], [3, 1, 1]], dtype)
    made = jnp.cov(x, fweights=np.array([1, 2, 1]))
    assert made.dtype == x.dtype
    np.testing.assert_allclose(np.asarray(made).astype(complex), np.cov(
        [[1, 2, 2, 4], [3, 1, 1, 1]]), rtol=4 * float(jnp.finfo(dtype).eps))


def test_covariances_of_no_observations_are_nan() -> None:
    for shape in ((2, 0), (0,)):
        got = np.asarray(jnp.cov(np.zeros(shape, np.float32)))
        assert got.shape == np.cov(np.ones((*shape[:-1], 3))).shape and np.isnan(got).all()


def test_weak_types_end_and_integers_widen() -> None:
    three = jnp.asarray(3)
    assert three.weak_type
    made = [f(three) for f in (jnp.sum, jnp.mean, jnp.max, jnp.argmax, jnp.cumsum, jnp.median)]
    assert [weakly(x) for x in made] == ["int32", "float32", "int32", "int32", "int32", "float32"]
    narrow = jnp.ones(3, jnp.int8)
    assert weakly(jnp.sum(narrow)) == "int32"
    assert weakly(jnp.sum(narrow, promote_integers=False)) == "int8"
    assert weakly(jnp.cumsum(narrow)) == "int8"
    assert weakly(jnp.cumulative_sum(narrow)) == "int32"


def test_narrow_floats_sum_in_f32() -> None:
    many = jnp.ones(4096, jnp.bfloat16)
    assert weakly(jnp.sum(many)) == "bfloat16"
    assert float(jnp.sum(many)) == 4096
    half = jnp.full(300, 300, jnp.float16)
    assert float(jnp.mean(half)) == 300
    assert float(jnp.sum(half, dtype=jnp.float32)) == 90000


@pytest.mark.parametrize(("call", "error"), [
    (lambda x: jnp.sum(x, axis=2), ValueError),
    (lambda x: jnp.sum(x, axis=(0, 0)), ValueError),
    (lambda x: jnp.sum(x, axis=1.5), TypeError),
    (lambda x: jnp.sum([1, 2]), TypeError),
    (lambda x: jnp.sum(x, out=x), NotImplementedError),
    (lambda x: jnp.mean(x, dtype=bool), TypeError),
    (lambda x: jnp.nanmean(x, dtype=bool), TypeError),
    (lambda x: jnp.sum(x, where=1), ValueError),
    (lambda x: jnp.max(jnp.zeros(0)), ValueError),
    (lambda x: jnp.max(x, where=x > 1), ValueError),
    (lambda x: jnp.argmax(jnp.zeros(0)), ValueError),
    (lambda x: jnp.argmax(x * 1j), TypeError),
    (lambda x: jnp.ptp(x > 1), TypeError),
    (lambda x: jnp.var(x, ddof=1, correction=1), ValueError),
    (lambda x: jnp.quantile(x, 0.5, method="best"), ValueError),
    (lambda x: jnp.quantile(x * 1j, 0.5), ValueError),
    (lambda x: jnp.average(x, weights=jnp.ones(2)), ValueError),
    (lambda x: jnp.cumulative_sum(x), ValueError),
    (lambda x: jnp.cov(x[None]), ValueError),
])
def test_refusals(call, error) -> None:
    with pytest.raises(error):
        call(jnp.array(X))


def test_gradients_and_batches() -> None:
    def loss(x):
        return (jnp.sum(jnp.var(x, axis=0)) + jnp.max(x) + jnp.mean(jnp.cumsum(x, 1) ** 2)
                + jnp.quantile(x, 0.3) + jnp.nanmean(x, where=x > 0))

    smooth = X + 0.1 * np.arange(1, 13, dtype=np.float32).reshape(X.shape)   # no ties, no zeros
    got = xfront.jit(xfront.grad(loss))(smooth)
    eps, wanted = 1e-2, np.zeros(X.shape)
    value = xfront.jit(xfront.vmap(loss))
    for sign in (1, -1):
        moved = smooth[None] + sign * eps * np.eye(X.size, dtype=np.float32).reshape(-1, *X.shape)
        wanted += sign * np.asarray(value(moved)).reshape(X.shape) / (2 * eps)
    np.testing.assert_allclose(got, wanted, rtol=2e-2, atol=2e-2)
    agree("vmap", xfront.vmap(lambda r: (jnp.std(r), jnp.argmax(r)))(jnp.array(X)),
          (X.std(1), X.argmax(1)))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz",
                                   "float8_e4m3b11fnuz", "float8_e5m2"])
def test_extremes_of_floats_without_infinity(dtype: str) -> None:
    """Reductions start from the dtype's ends: an infinity would be NaN in most."""
    narrow = np.array([[1, 4, 2], [NAN, 0.5, 2]]).astype(getattr(ml_dtypes, dtype))
    mask = np.array([[True, False, True], [False, True, True]])
    long = np.resize(np.array([2, 1, 8, 0.5, 8]), (2, 2 ** 14)).astype(narrow.dtype)
    long[1, 77] = NAN

    @xfront.jit
    def of(x, mask, long):
        widest = xfront.lax.reduce_window(x, -np.inf, xfront.lax.max, (1, 2), (1, 1), "VALID")
        return [jnp.max(x, 1), jnp.min(x[0]), jnp.nanmax(x, 1), jnp.nanmin(x, 1),
                jnp.max(x, 1, where=mask, initial=1), jnp.maximum(x[0], x[1]),
                xfront.lax.reduce(x[0], -np.inf, xfront.lax.max, (0,)), widest,
                jnp.sort(x, 1),
                jnp.nanargmax(x, 1), jnp.nanargmin(x, 1), jnp.argmax(long, 1),
                jnp.argmin(long, 1), jnp.argsort(x, 1), xfront.lax.top_k(x, 2)[1]]

    expected = [[4, NAN], 1, [4, 2], [1, 0.5], [2, 2], [NAN, 4, 2], 4, [[4, 4], [NAN, 2]],
                [[1, 2, 4], [0.5, 2, NAN]], [1, 2], [0, 1], [2, 77], [3, 77],
                [[0, 2, 1], [1, 2, 0]], [[1, 2], [0, 2]]]
    for got, e in zip(of(narrow, mask, long), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(got).astype(np.float64), e)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3fnuz"])
def test_softmax_of_floats_without_infinity(dtype: str) -> None:
    narrow, mask = np.array([1, 4, 2], getattr(ml_dtypes, dtype)), np.array([True, False, True])
    nn = xfront.nn
    made = xfront.jit(lambda x, m: [nn.softmax(x), nn.softmax(x, where=m), nn.log_softmax(x),
                                    nn.logsumexp(x), nn.logsumexp(x, where=m),
                                    nn.log_softmax(x, where=m)[::2]])(narrow, mask)
    two = [0.2689, 0, 0.7311]
    expected = [[0.042, 0.8438, 0.1142], two, [-3.17, -0.17, -2.17], 4.17, 2.3133,
                [-1.3133, -0.3133]]               # to two units in the last place
    for got, e in zip(made, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got).astype(np.float64), e, rtol=0.2, atol=0.06)


def test_totals_as_bools_are_of_truths() -> None:
    x, i = np.array([[0.5, -0.5], [0, 0.25]], np.float32), np.array([2 ** 31 - 1, -2, 3], np.int32)
    for name in ("sum", "prod", "cumsum", "cumprod"):
        agree(name, getattr(jnp, name)(x, 1, dtype=bool), getattr(np, name)(x, 1, dtype=bool))
        agree(name, getattr(jnp, name)(i, dtype=bool), getattr(np, name)(i, dtype=bool))
    agree("initial", jnp.sum(x * 0, 1, dtype=bool, initial=0.5), np.array([True, True]))


@pytest.mark.parametrize("name", ["sum", "prod", "all", "any", "mean", "std", "nansum", "nanvar"])
def test_masks_with_more_axes_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="where must broadcast"):
        getattr(jnp, name)(jnp.ones(3), where=np.ones((2, 3), bool))


def test_axes_are_a_sequence_of_any_class() -> None:
    x = jnp.arange(24.0).reshape(2, 3, 4)
    for axes in (range(1, 3), np.array([1, 2]), jnp.array([2, 1])):
        np.testing.assert_array_equal(x.sum(axes), np.asarray(x).sum((1, 2)))
        np.testing.assert_array_equal(jnp.flip(x, axes), np.flip(x, (1, 2)))
    np.testing.assert_array_equal(jnp.roll(x, (1, 2), range(2)), np.roll(x, (1, 2), (0, 1)))
    np.testing.assert_array_equal(jnp.moveaxis(x, range(2), range(1, 3)),
                                  np.moveaxis(x, (0, 1), (1, 2)))
    np.testing.assert_array_equal(xfront.scipy.fft.dctn(x, axes=1),
                                  xfront.scipy.fft.dctn(x, axes=(1,)))
    assert jnp.fft.fftshift(x, range(2)).shape == x.shape
    np.testing.assert_array_equal(jnp.linalg.norm(x, axis=range(2)),
                                  jnp.linalg.norm(x, axis=(0, 1)))


def test_no_axes_are_rolled() -> None:
    x = jnp.arange(3.0)
    assert jnp.roll(x, 1, ()).tolist() == jnp.roll(x, (), 0).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="do not match"):
        jnp.roll(x, (1, 2), ())


@pytest.mark.parametrize("reduce", [jnp.sum, jnp.prod, jnp.max, jnp.nanmin, jnp.add.reduce])
def test_a_reduction_begins_with_a_scalar(reduce):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for initial in (np.ones(1), np.ones(3), jnp.ones((1, 1))):
        with pytest.raises(ValueError, match="initial must be a scalar"):
            reduce(x, axis=0, initial=initial)


def test_masks_of_softmax_have_no_more_axes_than_the_array():
    """Elsewhere an axis of the mask was summed; logsumexp takes the array in the mask's shape."""
    x, column = np.float32([[1, 2, 3]]), np.array([[True], [True]])
    wide = np.float32([[1, 2, 3]] * 2)
    logsumexp = xfront.nn.logsumexp
    mask = np.array([[True, False, True], [True, True, True]])
    for axis in (None, 0, -1):
        np.testing.assert_allclose(logsumexp(x[0], axis, where=mask),
                                   logsumexp(wide, axis, where=mask))
    for f in (xfront.nn.softmax, xfront.nn.log_softmax, xfront.nn.standardize):
        with pytest.raises(ValueError, match="where must broadcast"):
            f(x[0], where=column)
        np.testing.assert_allclose(f(x, where=column), f(wide, where=column))
