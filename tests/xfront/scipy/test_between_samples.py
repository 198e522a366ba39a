"""scipy.fft, ndimage, interpolate, integrate, cluster.vq and optimize, against SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft as expected
import scipy.interpolate
import scipy.ndimage
import scipy.optimize

import xfront as jax
import xfront.numpy as jnp
from xfront.scipy import cluster, fft, integrate, interpolate, ndimage, optimize
from xfront.test_util import check_grads

RNG = np.random.default_rng(2)
X = RNG.normal(size=(3, 5)).astype(np.float32)


# --- cosine transforms ----------------------------------------------------------------------

COSINES = [(name, kind, norm) for name in ("dct", "idct") for kind in (1, 2, 3, 4)
           for norm in (None, "ortho", "forward")]


def test_cosine_transforms() -> None:
    arrays = (X, X[:, :4], X + 1j * X[::-1])
    made = jax.jit(lambda arrays: [[getattr(fft, name)(x, kind, norm=norm) for x in arrays]
                                   for name, kind, norm in COSINES])(arrays)
    for got, (name, kind, norm) in zip(made, COSINES, strict=True):
        for y, x in zip(got, arrays, strict=True):
            wanted = getattr(expected, name)(x.astype(complex) if x.dtype.kind == "c" else
                                             x.astype(float), kind, norm=norm)
            assert y.dtype == x.dtype
            np.testing.assert_allclose(y, wanted, atol=1e-5, err_msg=f"{name} {kind} {norm}")


def test_cosine_transforms_of_axes() -> None:
    ints = np.arange(6).reshape(2, 3)
    made = jax.jit(lambda x: (fft.dctn(x), fft.idctn(x, norm="ortho"), fft.dct(x, n=7, axis=0),
                              fft.dctn(x, s=(2,), axes=(1,)), fft.dctn(x, s=(2,)), fft.dct(ints),
                              fft.dct(x[:, :1])))(X)
    wanted = (expected.dctn(X), expected.idctn(X, norm="ortho"), expected.dct(X, n=7, axis=0),
              expected.dctn(X, s=(2,), axes=(1,)), expected.dct(X, n=2, axis=1), expected.dct(ints),
              expected.dct(X[:, :1]))
    for got, w in zip(made, wanted, strict=True):
        np.testing.assert_allclose(got, w, atol=1e-5)
    with jax.enable_x64(True):
        check_grads(lambda x: fft.idct(fft.dct(x, 4) ** 2, 2, norm="ortho"), (X[0].astype(float),),
                    1)


# --- images and grids -----------------------------------------------------------------------

AT = np.array([0.5, 1.5, 3.9, 2.0, 0.0, 1.2], np.float32)


def test_map_coordinates() -> None:
    row = np.arange(5, dtype=np.float32) ** 2
    far = np.array([.5, 1.5, -1, -.4, 4.4, 4.5, 7, -6.3], np.float32)
    modes = ("constant", "nearest", "mirror", "wrap", "reflect")
    made = jax.jit(lambda x: [[ndimage.map_coordinates(x, [far], order, mode=m, cval=9.0)
                               for order in (0, 1)] for m in modes])(row)
    for (rounded, lines), mode in zip(made, modes, strict=True):
        known = {"wrap": "grid-wrap", "constant": "grid-constant"}.get(mode, mode)
        np.testing.assert_allclose(lines, scipy.ndimage.map_coordinates(
            row, [far], order=1, mode=known, cval=9.0), rtol=1e-5, err_msg=mode)
        whole = np.where(far < 0, np.ceil(far - 0.5), np.floor(far + 0.5))
        np.testing.assert_allclose(rounded, scipy.ndimage.map_coordinates(
            row, [whole], order=0, mode=known, cval=9.0), err_msg=mode)
    places = [AT[:3] * 0.5, AT[3:] * 2]
    np.testing.assert_allclose(ndimage.map_coordinates(X, places, 1),
                               scipy.ndimage.map_coordinates(X, places, order=1), rtol=1e-5)
    got = ndimage.map_coordinates(np.arange(5), [AT[:3]], 1)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, [1, 2, 4])
    np.testing.assert_array_equal(ndimage.map_coordinates(np.arange(5), [np.array([1, 9])], 1,
                                                          cval=2.7), [1, 2])
    with jax.enable_x64(True):
        check_grads(lambda x, c: ndimage.map_coordinates(x, [c, 2 * c], 1, mode="reflect"),
                    (X.astype(float), AT.astype(float) + 0.21), 1)


def test_grid() -> None:
    points = (np.array([0.0, 1, 3]), np.array([-1.0, 0, 2, 5, 6]))
    values = np.stack([X, X ** 2], -1).astype(float)
    xi = np.array([[0.5, 0.3], [3, 6], [0, -1], [2.9, 5.5], [1.0, 1.0], [1.1, 7], [np.nan, 0]])
    with jax.enable_x64(True):
        for method in ("linear", "nearest"):
            for fill in (np.nan, 7.0, None):
                made = jax.jit(lambda v, x, m=method, f=fill: interpolate.RegularGridInterpolator(
                    points, v, m, fill_value=f)(x))(values, xi)
                np.testing.assert_allclose(made, scipy.interpolate.RegularGridInterpolator(
                    points, values, method, bounds_error=False, fill_value=fill)(xi))
        grid = interpolate.RegularGridInterpolator(points, values[..., 0])
        known = scipy.interpolate.RegularGridInterpolator(points, values[..., 0])
        pair = (np.array([0.5, 0.7]), np.array([[1.0], [2.0]]))
        np.testing.assert_allclose(grid(pair), known(pair))
        np.testing.assert_allclose(grid(xi[0], method="nearest"), known(xi[0], method="nearest"))
        check_grads(lambda v, x: interpolate.RegularGridInterpolator(points, v)(x),
                    (values, xi[[0, 3]]), 1)


def test_dtype_of_grid() -> None:
    """Values between points have the dtype to which values, points and coordinates promote."""
    def made(values: str, points: str, xi: str) -> str:
        f = interpolate.RegularGridInterpolator((np.arange(4).astype(points),),
                                                jnp.arange(4).astype(values))
        return str(jax.eval_shape(f, jnp.zeros((2, 1), xi)).dtype)

    assert made("float16", "float16", "float16") == "float16"
    assert made("float16", "float16", "float32") == "float32"
    assert made("float16", "float32", "float16") == "float32"
    assert made("bfloat16", "float16", "float16") == "float32"
    assert made("complex64", "float32", "float32") == "complex64"


def test_integral_and_codes() -> None:
    np.testing.assert_allclose(integrate.trapezoid(X, dx=0.5), np.trapezoid(X, dx=0.5), rtol=1e-5)
    for obs, codes in ((X, X[:2] + 0.1), (X[0], X[1, :2])):
        for got, wanted in zip(cluster.vq.vq(obs, codes), scipy.cluster.vq.vq(obs, codes),
                               strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5)


# --- minima ---------------------------------------------------------------------------------

def rosenbrock(x: Any) -> Any:
    return ((1 - x[:-1]) ** 2).sum() + 100 * ((x[1:] - x[:-1] ** 2) ** 2).sum()


def bowl(x: Any, a: Any) -> Any:
    return ((x - a) ** 2 * np.arange(1, 4)).sum() + (x ** 4).sum()


def test_minima() -> None:
    with jax.enable_x64(True):
        @jax.jit
        def made(a: Any) -> Any:
            return (optimize.minimize(rosenbrock, jnp.zeros(2), method="BFGS", tol=1e-9),
                    optimize.minimize(bowl, jnp.zeros(3), (a,), method="bfgs"),
                    optimize.minimize(bowl, jnp.zeros(3), (a,), method="BFGS",
                                      options={"maxiter": 1}),
                    optimize.minimize(lambda x: x.sum() * np.nan, a, method="BFGS"),
                    optimize.minimize(lambda x: jnp.log(x).sum() + 1 / x[0] + 1 / x[1], a[1:],
                                      method="BFGS"))

        hard, easy, short, unknown, partly = made(np.arange(3.0))
    assert isinstance(hard, optimize.OptimizeResults)
    np.testing.assert_allclose(hard.x, [1, 1], atol=1e-8)
    known = scipy.optimize.minimize(rosenbrock, np.zeros(2), method="BFGS")
    assert hard.success and hard.status == 0 and hard.nit < 2 * known.nit
    np.testing.assert_allclose(hard.hess_inv, [[0.5, 1], [1, 2.005]], rtol=0.05)
    wanted = scipy.optimize.minimize(bowl, np.zeros(3), (np.arange(3.0),), method="BFGS")
    np.testing.assert_allclose(easy.x, wanted.x, atol=1e-5)
    np.testing.assert_allclose(easy.fun, wanted.fun, rtol=1e-9)
    assert easy.success and np.abs(easy.jac).max() < 1e-5 and easy.nfev == easy.njev >= easy.nit
    assert not short.success and short.status == 1 and short.nit == 1
    assert not unknown.success and unknown.status == 5
    np.testing.assert_allclose(partly.x, [1, 1], atol=1e-4)       # steps to log(x < 0) are too long


def test_many_minima_and_their_derivative() -> None:
    def found(a: Any) -> Any:
        return optimize.minimize(lambda x: ((x - a) ** 2).sum(), jnp.zeros(2), method="BFGS").x

    np.testing.assert_allclose(jax.vmap(found)(np.array([[1.0, 2], [3, 4]])), [[1, 2], [3, 4]],
                               atol=1e-4)
    np.testing.assert_allclose(jax.jvp(found, (np.ones(2, np.float32),),
                                       (np.ones(2, np.float32),))[1], [1, 1], atol=1e-3)


REFUSED: list[tuple[type, str, Callable[[], Any]]] = [
    (ValueError, "type", lambda: fft.dct(X, 5)), (ValueError, "norm", lambda: fft.dct(X, norm="x")),
    (ValueError, "sizes", lambda: fft.dct(X[:, :1], 1)),
    (ValueError, "sizes", lambda: fft.dct(X, n=0)),
    (ValueError, "same number", lambda: fft.dctn(X, s=(2,), axes=(0, 1))),
    (ValueError, "distinct", lambda: fft.idctn(X, axes=(0, 0))),
    (NotImplementedError, "order", lambda: ndimage.map_coordinates(X, [AT, AT], 2)),
    (NotImplementedError, "mode", lambda: ndimage.map_coordinates(X, [AT, AT], 1, mode="x")),
    (ValueError, "length input.ndim", lambda: ndimage.map_coordinates(X, [AT], 1)),
    (ValueError, "'x' is not defined", lambda: interpolate.RegularGridInterpolator(
        (AT[:0],), X, "x")),
    (NotImplementedError, "bounds_error", lambda: interpolate.RegularGridInterpolator(
        (np.arange(3.0),), X, bounds_error=True)),
    (ValueError, "ascending", lambda: interpolate.RegularGridInterpolator((np.zeros(3),), X)),
    (ValueError, "as many", lambda: interpolate.RegularGridInterpolator((np.arange(2.0),), X)),
    (ValueError, "point arrays", lambda: interpolate.RegularGridInterpolator((AT,) * 3, X)),
    (ValueError, "dimension 1", lambda: interpolate.RegularGridInterpolator(
        (np.arange(3.0),), X)(np.ones((2, 2)))),
    (ValueError, "vq", lambda: cluster.vq.vq(X, X[0])),
    (ValueError, "vq", lambda: cluster.vq.vq(X, X[:, :2])),
    (ValueError, "BFGS", lambda: optimize.minimize(rosenbrock, X[0], method="x")),
    (TypeError, "'disp'", lambda: optimize.minimize(rosenbrock, X[0], method="BFGS",
                                                    options={"disp": True})),
    (TypeError, "args", lambda: optimize.minimize(bowl, X[0], 2.0, method="BFGS")),
    (TypeError, "x0", lambda: optimize.minimize(rosenbrock, X, method="BFGS")),
    (TypeError, "x0", lambda: optimize.minimize(rosenbrock, np.arange(2), method="BFGS")),
    (TypeError, "scalar", lambda: optimize.minimize(lambda x: x, X[0], method="BFGS")),
]


@pytest.mark.parametrize(("kind", "match", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(kind: type, match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=match):
        call()


def test_images_without_pixels() -> None:
    none, at = np.zeros((0, 3), np.float32), [np.array([0.0, 1.0])] * 2
    np.testing.assert_array_equal(ndimage.map_coordinates(none, at, 1, cval=7.0), [7, 7])
    assert ndimage.map_coordinates(none, [np.zeros(0)] * 2, 1, mode="wrap").shape == (0,)
    with pytest.raises(ValueError, match="no pixels"):
        ndimage.map_coordinates(none, at, 1, mode="nearest")


@pytest.mark.parametrize(("given", "made"), [(np.int32, np.float32), (np.int64, np.float64)])
def test_integers_on_a_grid_become_floats_of_their_width(given: type, made: type) -> None:
    with jax.enable_x64(True):
        values = np.array([0, 1, 4, 9], given)
        at = interpolate.RegularGridInterpolator((np.arange(4, dtype=np.float32),), values)(
            np.array([[0.5], [2.5]], np.float32))
        assert at.dtype == made and at.tolist() == [0.5, 6.5]
