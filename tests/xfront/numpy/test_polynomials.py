"""Polynomials by zeros and samples, and of several axes; averages over axes in any order."""

import numpy as np
import pytest

import xfront as xf
import xfront.numpy as jnp

X = np.linspace(-1, 2, 9).astype(np.float32)
Y = np.stack([X ** 2 - 3 * X + np.sin(9 * X), np.cos(5 * X)], 1).astype(np.float32)
WEIGHTS = np.array([1, 2, 3, 4, 5, 4, 3, 2, 1], np.float32)


def close(made, wanted, rtol=1e-4, atol=1e-4):
    np.testing.assert_allclose(made, wanted, rtol=rtol, atol=atol)


def test_poly():
    for zeros in ([1.0, 2.0, 3.0], [], [3.0], [1j, -1j], [[1.0, 2.0], [3.0, 4.0]],
                  np.cos(np.arange(20.0))):
        close(jnp.poly(np.asarray(zeros)), np.poly(np.asarray(zeros)))
    close(xf.grad(lambda z: jnp.poly(z)[1])(np.array([1.0, 2.0])), [-1, -1])
    with pytest.raises(ValueError, match="square 2d"):
        jnp.poly(np.ones((2, 3)))


def test_roots():
    for p in ([1.0, -3, 2], [0, 0, 1.0, -3, 2, 0], [5.0], [0.0, 0.0], [2, 4], [1, 0, 1], []):
        p = np.asarray(p, float)
        close(np.sort_complex(jnp.roots(p)), np.sort_complex(np.roots(p)))
    traced = xf.jit(lambda p: jnp.roots(p, strip_zeros=False))
    made = np.asarray(traced(np.array([0.0, 0, 1, -3, 2])))
    close(np.sort_complex(made[:2]), [1, 2])
    assert np.isnan(made[2:]).all()
    close(np.sort_complex(jnp.roots(np.array([1.0, -1, 0]), strip_zeros=False)), [0, 1])
    with pytest.raises(xf.errors.ConcretizationTypeError, match="strip_zeros=False"):
        xf.jit(jnp.roots)(X)
    with pytest.raises(ValueError, match="1-d"):
        jnp.roots(np.ones((2, 2)))
    slope = xf.grad(lambda c: jnp.roots(jnp.array([1.0, -1, 0]).at[2].set(c), strip_zeros=False)
                    .real.max())(-2.0)
    close(slope, -1 / 3)                         # r^2 - r + c = 0 at r = 2: dr/dc = -1 / (2r - 1)


def test_polyfit():
    for y, w in ((Y[:, 0], None), (Y, None), (Y[:, 1], WEIGHTS), (Y, WEIGHTS)):
        for deg in (0, 1, 3):
            close(jnp.polyfit(X, y, deg, w=w), np.polyfit(X, y, deg, w=w), 1e-3, 1e-3)
            for cov in (True, "unscaled"):
                for made, wanted in zip(jnp.polyfit(X, y, deg, w=w, cov=cov),
                                        np.polyfit(X, y, deg, w=w, cov=cov), strict=True):
                    close(made, wanted, 1e-3, 1e-3)
    assert jnp.polyfit(X, Y, 2, full=True)[-1].dtype == np.float32
    for made, wanted in zip(jnp.polyfit(X, Y, 2, full=True), np.polyfit(X, Y, 2, full=True),
                            strict=True):
        close(made, wanted, 1e-3, 1e-3)
    close(xf.jit(lambda x, y: jnp.polyfit(x, y, 2))(X, Y), np.polyfit(X, Y, 2), 1e-3, 1e-3)
    slope = xf.grad(lambda y: jnp.polyfit(X, y, 1)[0])(Y[:, 0])        # of the slope itself
    close(slope, (X - X.mean()) / ((X - X.mean()) ** 2).sum())
    for arguments, error in (((X, Y, -1), ValueError), ((X, Y[:3], 1), TypeError),
                             ((Y, Y, 1), TypeError), ((X, Y[..., None], 1), TypeError),
                             ((X, Y, 1, None, False, WEIGHTS[:2]), TypeError),
                             ((X[:2], Y[:2], 1, None, False, None, True), ValueError)):
        with pytest.raises(error):
            jnp.polyfit(*arguments)


def test_vander():
    for x in (np.arange(4), np.array([0.5, -2, 0], np.float32), np.array([1j, 2.0])):
        for arguments in ((), (2,), (0,), (1,), (5, True)):
            made = jnp.vander(x, *arguments)
            close(made, np.vander(x, *arguments))
            assert made.dtype == jnp.asarray(x).dtype
    close(xf.grad(lambda x: jnp.vander(x, 4).sum())(np.array([0.0, 2.0])), [1, 17])
    with pytest.raises(ValueError, match="one-dimensional"):
        jnp.vander(np.ones((2, 2)))
    with pytest.raises(ValueError, match="nonnegative"):
        jnp.vander(X, -1)


def test_sums_of_several_polynomials():
    a, b = np.arange(6.0).reshape(3, 2), np.ones((2, 2))
    close(jnp.polyadd(a, b), [[0, 1], [3, 4], [5, 6]])
    close(jnp.polysub(a, b), [[0, 1], [1, 2], [3, 4]])
    close(jnp.polysub(b, a), [[0, -1], [-1, -2], [-3, -4]])
    close(jnp.polyadd(b, a), jnp.polyadd(a, b))
    for short, long in (([1.0, 2], [3.0, 4, 5]), (2.0, [1.0, 1]), ([1.0], [2.0])):
        for name in ("polyadd", "polysub"):
            for p, q in ((short, long), (long, short)):
                p, q = np.asarray(p), np.asarray(q)
                close(getattr(jnp, name)(p, q), getattr(np, name)(p, q))


def test_average_over_axes_in_any_order():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis, shape in (((2, 0), (4, 2)), ((0, 2), (2, 4)), ((1, 0), (3, 2)), ((-1, 1), (4, 3)),
                        ((2, 0, 1), (4, 2, 3))):
        w = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        made = jnp.average(x, axis, w, returned=True)
        for mine, wanted in zip(made, np.average(x, axis, w, returned=True), strict=True):
            close(mine, wanted)
        with pytest.raises(ValueError, match="consistent"):
            jnp.average(x, axis, w.reshape(-1))


def test_fromfunction_maps():
    def choose(i, j):
        return [i * 2, j] if i.shape == () else 1 / 0

    made = jnp.fromfunction(choose, (2, 3), dtype=int)
    np.testing.assert_array_equal(made[0], np.fromfunction(lambda i, j: i * 2, (2, 3)))
    assert made[1].dtype == np.int32
    np.testing.assert_array_equal(
        jnp.fromfunction(lambda i, a: jnp.stack([i, a]), (3,), a=5.0), [[0, 5], [1, 5], [2, 5]])
    np.testing.assert_array_equal(jnp.fromfunction(lambda i, j: 1, (2, 3)), np.ones((2, 3)))


def test_text_is_a_number():
    assert jnp.float32("inf") == np.inf and jnp.int32("3") == 3
    assert jnp.float32("1.5").dtype == np.float32
    with pytest.raises(ValueError):
        jnp.float32("one")


def test_coefficients_with_more_axes() -> None:
    p, x = np.arange(6).reshape(2, 3), np.array([[1, 2, 3], [4, 5, 6]])
    for at in (2, x, x[0]):
        np.testing.assert_array_equal(jnp.polyval(jnp.asarray(p), at), np.polyval(p, at))
    many = np.arange(40.0).reshape(20, 2)
    np.testing.assert_allclose(jnp.polyval(jnp.asarray(many), 0.5), np.polyval(many, 0.5),
                               rtol=1e-6)
    for f in (jnp.polyder, jnp.polyint, lambda p: jnp.polydiv(p, p)):
        with pytest.raises(ValueError, match="must be 1-d"):
            f(jnp.asarray(p))
