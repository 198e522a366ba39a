"""Order, search, sets, counts, differences and interpolation against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.against import agree, check, weakly

X = np.array([[3.0, -1.5, 2.0, 3.0], [7.0, 4.25, -2.0, 5.5], [1.0, 1.0, 9.0, -6.0]], np.float32)
N = np.array([2.0, np.nan, -np.inf, 0.5, np.nan, np.inf, 0.5], np.float32)
I = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], np.int32)
Z = np.array([1 + 1j, 0, 1 - 1j, -1], np.complex64)


def test_order() -> None:
    check({
        "sort": lambda m, x, n, i, z: [m.sort(x), m.sort(x, 0), m.sort(x, None), m.sort(n),
                                       m.sort(i), m.sort(z), m.sort(x > 1, 1)],
        "argsort": lambda m, x, n, i, z: [m.argsort(x, 0, stable=True), m.argsort(n, stable=True),
                                          m.argsort(i, stable=True)],
        "lexsort": lambda m, x, n, i, z: [m.lexsort((i, i % 3)), m.lexsort(x.astype("int32"))],
        "sort_complex": lambda m, x, n, i, z: [m.sort_complex(z), m.sort_complex(x),
                                               m.sort_complex(x.reshape(2, 3, 2))],
    }, X, N, I, Z)
    agree("descending", jnp.sort(I, descending=True), np.sort(I)[::-1])
    agree("descending, stable", jnp.argsort(I, descending=True), np.argsort(-I, stable=True))
    for kth in (0, 3, -1):
        parted = np.asarray(jnp.partition(I, kth))
        assert parted[kth] == np.sort(I)[kth]
        assert (np.sort(parted) == np.sort(I)).all()
        assert (parted[:kth] <= parted[kth]).all()
        order = np.asarray(jnp.argpartition(I, kth))
        first = kth % len(I) + 1
        assert (I[order[:first]] == parted[:first]).all()
        assert (np.sort(order) == np.arange(len(I))).all()
        assert (np.diff(order[first:]) > 0).all()


@pytest.mark.parametrize("method", ["compare_all", "scan", "scan_unrolled", "sort"])
def test_searchsorted(method) -> None:
    edges = np.array(sorted([-6.0, 0.5, 0.5, 2.0, *np.linspace(3, 90, 61)]), np.float32)
    values = np.concatenate([N, X.ravel(), edges[::7]])[1:].reshape(2, -1)
    f = xfront.jit(lambda a, v: [jnp.searchsorted(a, v, side, method=method)
                                 for side in ("left", "right")])
    agree(method, f(edges, values), [np.searchsorted(edges, values, s) for s in ("left", "right")])


def test_counts() -> None:
    bins = np.array([-2.0, 0, 3, 5.5, 8], np.float32)
    check({
        "digitize": lambda m, x, i, b: [m.digitize(x, b), m.digitize(x, b, right=True),
                                        m.digitize(x, b[::-1]), m.digitize(x, b[::-1], True)],
        "edges": lambda m, x, i, b: m.histogram_bin_edges(x, 5),
        "density": lambda m, x, i, b: m.histogram(x, 4, density=True),
        "weights": lambda m, x, i, b: m.histogram(x, b, weights=x),
        "2d": lambda m, x, i, b: m.histogram2d(x[0], x[1], [3, 2], density=True),
    }, X, I, bins, eagerly=1)
    check({
        "histogram": lambda m, x, i, b: [m.histogram(x, 6), m.histogram(x, b),
                                         m.histogram(i, 3, (0, 8))],
        "2d": lambda m, x, i, b: m.histogram2d(x[0], x[1], 3),
    }, X, I, bins, dtype=False, eagerly=0)
    agree("bincount", jnp.bincount(I), np.bincount(I))
    agree("minlength", jnp.bincount(I, minlength=12), np.bincount(I, minlength=12))
    agree("weights", jnp.bincount(I, weights=jnp.array(I, jnp.float32)),
          np.bincount(I, weights=I))
    agree("length", xfront.jit(lambda i: jnp.bincount(i, length=4))(I), np.bincount(I)[:4])
    with pytest.raises(xfront.errors.ConcretizationTypeError):
        xfront.jit(jnp.bincount)(I)


def test_unique() -> None:
    rows = np.array([[1, 2], [0, 3], [1, 2], [0, 2]], np.int32)
    flags = {"return_index": True, "return_inverse": True, "return_counts": True}
    for x, axis in ((I, None), (rows, None), (rows, 0), (rows, 1), (N, None)):
        ours, theirs = jnp.unique(x, axis=axis, **flags), np.unique(x, axis=axis, **flags)
        agree(f"unique {axis}", [v.ravel() for v in ours], [v.ravel() for v in theirs])
    assert jnp.unique(N, equal_nan=False).shape == (6,)
    f = xfront.jit(lambda x, n, fill: jnp.unique(x, size=n, fill_value=fill, **flags),
                   static_argnums=(1, 2))
    values, index, inverse, counts = f(I, 9, None)
    agree("values", values, np.array([1, 2, 3, 4, 5, 6, 9, 1, 1]))
    agree("counts", counts, np.array([2, 1, 2, 1, 2, 1, 1, 0, 0]))
    agree("inverse", values[inverse], I)
    agree("index", I[np.asarray(index)], values)
    agree("filled", f(I, 8, -1)[0], np.array([1, 2, 3, 4, 5, 6, 9, -1]))
    agree("cut", f(I, 2, None)[0], np.array([1, 2]))
    with pytest.raises(xfront.errors.ConcretizationTypeError):
        xfront.jit(jnp.unique)(I)
    named = jnp.unique_all(jnp.array(I))
    agree("unique_all", [named.values, named.counts], np.unique(I, return_counts=True))


def test_sets() -> None:
    other = np.array([5, 2, 7, 2, 8], np.int32)
    many = np.arange(0, 200, 3).astype(np.int32)
    for name in ("union1d", "setdiff1d", "intersect1d", "setxor1d"):
        ours, theirs = getattr(jnp, name), getattr(np, name)
        agree(name, ours(I, other), theirs(I, other))
        expected = theirs(I, other)
        sized = xfront.jit(lambda x, y, f=ours: f(x, y, size=12, fill_value=-1))(I, other)
        agree(f"{name} sized", sized, np.append(expected, [-1] * (12 - len(expected))))
    agree("nothing", jnp.intersect1d(I, other + 1000), np.intersect1d(I, other + 1000))
    agree("indices", jnp.intersect1d(I, other, return_indices=True),
          np.intersect1d(I, other, return_indices=True))
    for tests in (other, many, other[:0]):
        agree("isin", [jnp.isin(X, tests), jnp.isin(I, tests, invert=True)],
              [np.isin(X, tests), np.isin(I, tests, invert=True)])


def test_differences_and_interpolation() -> None:
    p = np.array([0.0, 1.0, 2.5, 4.0], np.float32)
    check({
        "diff": lambda m, x, i, p: [m.diff(x), m.diff(x, 2, 0), m.diff(x > 1), m.diff(i, 3),
                                    m.diff(x, prepend=1, append=x[:, :1])],
        "ediff1d": lambda m, x, i, p: [m.ediff1d(x), m.ediff1d(i, to_end=7, to_begin=i[:2])],
        "gradient": lambda m, x, i, p: [m.gradient(x), m.gradient(x, 2.0, axis=1),
                                        m.gradient(x, p, axis=1), m.gradient(x, 0.5, p)],
        "trapezoid": lambda m, x, i, p: [m.trapezoid(x), m.trapezoid(x, p),
                                         m.trapezoid(x, dx=0.5, axis=0), m.trapezoid(i)],
        "interp": lambda m, x, i, p: [m.interp(x, p, x[0]), m.interp(x, p, x[0], -1.0, 99.0),
                                      m.interp(x, p, x[1], period=3.0)],
    }, X, I, p)
    agree("extrapolate", jnp.interp(np.float32(6.0), p, p * 2, right="extrapolate"), 12.0)


def test_types() -> None:
    assert weakly(jnp.argsort(X)) == weakly(jnp.searchsorted(p := X[0], p)) == "int32"
    assert weakly(jnp.sort(jnp.asarray(2)[None])) == "int32*"
    assert weakly(jnp.histogram(I)[0]) == "float32"
    assert weakly(jnp.argsort(X, dtype=jnp.int8)) == "int8"


@pytest.mark.parametrize(("call", "error"), [
    (lambda x: jnp.sort(x, 5), ValueError),
    (lambda x: jnp.sort(3), ValueError),
    (lambda x: jnp.sort(x, kind="quicksort"), TypeError),
    (lambda x: jnp.lexsort((x, x[0])), ValueError),
    (lambda x: jnp.partition(x, 9), ValueError),
    (lambda x: jnp.searchsorted(x, 1), ValueError),
    (lambda x: jnp.searchsorted(x[0], 1, side="middle"), ValueError),
    (lambda x: jnp.searchsorted(x[0], 1, method="guess"), ValueError),
    (lambda x: jnp.digitize(x, x), ValueError),
    (lambda x: jnp.unique([1, 2]), TypeError),
    (lambda x: jnp.bincount(x[0]), TypeError),
    (lambda x: jnp.histogram(x, "auto"), TypeError),
    (lambda x: jnp.interp(1.0, x, x), ValueError),
    (lambda x: jnp.diff(x, -1), ValueError),
    (lambda x: jnp.gradient(x, 1.0, 2.0, 3.0), TypeError),
    (lambda x: jnp.gradient(x, edge_order=2), NotImplementedError),
    (lambda x: jnp.isin(x, x, method="guess"), ValueError),
])
def test_refusals(call, error) -> None:
    with pytest.raises(error):
        call(jnp.array(X))


def test_gradients_and_batches() -> None:
    w = np.arange(12, dtype=np.float32)
    got = xfront.jit(xfront.grad(lambda x: jnp.sum(w * jnp.sort(x, None))))(X)
    places = np.argsort(X, None, kind="stable")
    wanted = np.zeros(12)
    wanted[places] = w
    agree("sort", got, wanted.reshape(X.shape))
    slope = xfront.jit(xfront.grad(lambda t: jnp.interp(t, jnp.arange(4.0), jnp.array(X[1]))))
    agree("interp", slope(1.5), X[1, 2] - X[1, 1])
    rows = np.sort(X)
    made = xfront.jit(xfront.vmap(lambda r: (jnp.argsort(r), jnp.searchsorted(r, 2.0))))(rows)
    agree("vmap", made, (np.argsort(rows), np.array([np.searchsorted(r, 2) for r in rows])))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_every_order_of_many_axes_is_along_its_axis(axis) -> None:
    x = np.random.default_rng(0).permutation(24).astype(np.float32).reshape(2, 4, 3)
    kth = 1
    agree("sort", jnp.sort(x, axis), np.sort(x, axis))
    agree("argsort", jnp.argsort(x, axis), np.argsort(x, axis).astype(np.int32))
    if axis is not None:
        agree("lexsort", jnp.lexsort((x, -x), axis), np.lexsort((x, -x), axis).astype(np.int32))
        parted, places = np.asarray(jnp.partition(x, kth, axis)), jnp.argpartition(x, kth, axis)
        np.testing.assert_array_equal(np.take(parted, kth, axis), np.take(np.sort(x, axis), kth,
                                                                          axis))
        np.testing.assert_array_equal(np.sort(parted, axis), np.sort(x, axis))
        order = np.take_along_axis(x, np.asarray(places), axis)
        np.testing.assert_array_equal(np.take(order, range(kth + 1), axis),
                                      np.take(parted, range(kth + 1), axis))
        np.testing.assert_array_equal(np.sort(order, axis), np.sort(x, axis))


def test_a_difference_of_sets_has_the_dtype_of_the_first() -> None:
    for first, second, want in ((np.array([1.5, 2, 3], np.float16), np.array([2], np.int16),
                                 [1.5, 3]),
                                (np.array([300, 2, 3], np.int32), np.array([44], np.uint8),
                                 [2, 3, 300]),
                                (np.array([1, 2, 3], np.int16), np.array([2.5, 1], np.float32),
                                 [2, 3])):
        got = jnp.setdiff1d(first, second)
        assert got.dtype == first.dtype and got.tolist() == want
    with pytest.raises(OverflowError):
        jnp.searchsorted(np.arange(3), 2 ** 40)
    long = xfront.ShapeDtypeStruct((2 ** 31,), np.int8)
    with pytest.raises(OverflowError, match="enable x64"):
        xfront.eval_shape(lambda a: jnp.searchsorted(a, 1), long)
    with xfront.enable_x64():
        assert xfront.eval_shape(lambda a: jnp.searchsorted(a, 1), long).dtype == np.int64
    assert jnp.bincount(np.array([True, False, True])).tolist() == [1, 2]
    assert jnp.bincount(np.array([-5, -3])).tolist() == [2]


def test_trapezoid_promotes_samples_and_distance() -> None:
    y = np.array([1, 2, 4], np.float32)
    np.testing.assert_allclose(jnp.trapezoid(y, dx=1j), np.trapezoid(y, dx=1j))
    assert jnp.trapezoid(y.astype(np.float16), dx=np.float32(2)).dtype == np.float32
    made = jnp.trapezoid(np.arange(3), dx=2)
    assert (made.dtype, made.weak_type) == (np.float32, False)
