"""Images of other sizes: values that JAX gives, sums of weights, derivatives, wrong uses."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.image import ResizeMethod, resize, scale_and_translate
from xfront.test_util import check_grads

ROW = np.arange(5, dtype=np.float32) ** 2
GRID = np.arange(12, dtype=np.float32).reshape(3, 4)

# method, size, antialias, values of JAX 0.10
RESIZED = [
    ("nearest", 3, True, [0.0, 4.0, 16.0]), ("nearest", 8, False, [0, 0, 1, 4, 4, 9, 16, 16]),
    ("linear", 3, True, [0.4285714, 4.4444447, 12.9999990]),
    ("linear", 3, False, [1 / 3, 4.0, 13.6666667]),
    ("linear", 8, True, [0.0, 0.4375, 1.1875, 3.0625, 5.5625, 8.6875, 12.9375, 16.0]),
    ("cubic", 3, True, [0.1692311, 4.1953497, 13.3384619]),
    ("cubic", 3, False, [0.1724135, 4.0, 14.2413788]),
    ("cubic", 8, True, [-0.0719557, 0.2437493, 1.1289062, 2.8476562, 5.3476562, 8.6289062,
                        13.4881840, 16.5036888]),
    ("cubic-pytorch", 2, True, [1.1351362, 10.2809095]),
    ("cubic-pytorch", 3, False, [0.1481499, 4.0, 14.0740814]),
    ("bicubic-pytorch", 8, False, [-0.0928345, 0.1875610, 1.1765137, 2.6193848, 5.4416504,
                                   8.4714355, 13.3950806, 16.6498413]),
    ("area", 8, True, [0.0, 0.4, 1.0, 3.4, 5.0, 9.0, 13.2, 16.0]),
    ("lanczos3", 3, True, [0.1032882, 4.0, 13.5304985]),
    ("lanczos3", 8, False, [-0.0085465, 0.1952063, 1.1101155, 2.9285474, 5.0412412, 8.4930067,
                            13.7459717, 16.5591278]),
    ("lanczos5", 3, True, [0.1804001, 3.9135952, 13.5840511]),
    ("lanczos5", 3, False, [0.0165559, 4.0, 14.4845533]),
]
MOVED = [
    ("linear", 0.5, 0.7, [0.0, 1.8000001, 9.8205128, 0.0, 0.0, 0.0]),
    ("linear", 2.0, -1.3, [0.4, 0.9, 2.2, 3.7, 6.0, 8.5]),
    ("cubic", 0.5, 0.0, [0.4100418, 7.1439114, 15.609375, 0.0, 0.0, 0.0]),
    ("cubic", 1.0, 0.7, [0.0, 0.1523061, 1.6900007, 5.2900004, 11.3208904, 16.6933975]),
    ("lanczos3", 2.0, 0.7, [0.0, -0.0021449, 0.1612651, 0.8349119, 1.9584159, 3.6652222]),
    ("linear", -1.0, 5.0, [16.0, 9.0, 4.0, 1.0, 0.0, 0.0]), ("linear", 0.0, 0.0, [0.0] * 6),
]


def test_values() -> None:
    made = jax.jit(lambda x: [resize(x, (n,), m, aa) for m, n, aa, _ in RESIZED])(ROW)
    for got, (method, n, antialias, wanted) in zip(made, RESIZED, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5,
                                   err_msg=f"{method} {n} {antialias}")
    made = jax.jit(lambda x: [scale_and_translate(x, (6,), (0,), np.array([s]), np.array([t]), m)
                              for m, s, t, _ in MOVED])(ROW)
    for got, (method, s, t, wanted) in zip(made, MOVED, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5, err_msg=f"{method} {s} {t}")


def test_several_axes() -> None:
    flat, moved, first = jax.jit(lambda x: (
        resize(x, (2, 6), "bicubic"),
        scale_and_translate(x, (4, 3), (0, 1), np.array([1.5, .7]), np.array([.2, -.1]), "linear"),
        scale_and_translate(x, (3, 6), (-1,), np.array([1.5]), np.array([.2]), "linear",
                            antialias=False)))(GRID)
    np.testing.assert_allclose(flat[0], [1.1733756, 1.6509296, 2.4058311, 3.0724981, 3.8274002,
                                         4.3049545], rtol=1e-5)
    np.testing.assert_allclose(moved[1], [1.8897437, 3.2597702, 4.3166671], rtol=1e-5)
    np.testing.assert_allclose(first[1], [4, 4.3666668, 5.0333338, 5.6999998, 6.3666668, 7],
                               rtol=1e-5)


def test_means_over_areas() -> None:
    np.testing.assert_allclose(resize(ROW, (2,), "area"), [(0 + 1 + 2) / 2.5, (2 + 9 + 16) / 2.5],
                               rtol=1e-6)
    np.testing.assert_allclose(resize(GRID, (3, 2), ResizeMethod.AREA), [[.5, 2.5], [4.5, 6.5],
                                                                         [8.5, 10.5]])


def test_a_constant_stays_one() -> None:
    methods = [m for m in ResizeMethod]
    made = jax.jit(lambda x: [resize(x, (n, 2), m, aa) for m in methods for n in (2, 7)
                              for aa in (True, False)])(np.full((4, 2), 3, np.float32))
    for x in made:
        np.testing.assert_allclose(x, np.full(x.shape, 3), rtol=1e-5)


def test_dtypes() -> None:
    for dtype, wanted in ((np.int32, np.float32), (np.uint8, np.float32), (bool, np.float32),
                          (ml_dtypes.bfloat16, ml_dtypes.bfloat16), (np.float16, np.float16),
                          (np.complex64, np.complex64)):
        x = ROW.astype(dtype)
        assert resize(x, (3,), "nearest").dtype == dtype
        got = resize(x, (3,), "linear")
        assert got.dtype == wanted
        np.testing.assert_allclose(got.astype(complex).real, [3 / 7, 40 / 9, 13]
                                   if dtype is not bool else [3 / 7, 1, 1], rtol=0.01)
    with jax.enable_x64(True):
        assert resize(ROW.astype(np.float64), (3,), "cubic").dtype == np.float64


def test_derivatives_and_batches() -> None:
    with jax.enable_x64(True):
        check_grads(lambda x, s, t: scale_and_translate(x, (6,), (0,), s, t, "cubic"),
                    (ROW.astype(float), np.array([1.3]), np.array([0.2])), 1)
    got = jax.grad(lambda s, t: (scale_and_translate(ROW, (6,), (0,), s, t, "cubic")
                                 * np.arange(6)).sum(), (0, 1))(jnp.array([1.3]), jnp.array([.2]))
    np.testing.assert_allclose(got[0], [-206.37265], rtol=1e-3)
    np.testing.assert_allclose(got[1], [-60.138775], rtol=1e-3)
    many = jax.vmap(lambda x: resize(x, (2, 6), "linear"))(np.stack([GRID, -GRID]))
    np.testing.assert_allclose(many[0], -many[1])


@pytest.mark.parametrize(("kind", "match", "call"), [
    (ValueError, "Unknown resize method", lambda: resize(ROW, (3,), "LINEAR")),
    (ValueError, "Unknown resize method", lambda: resize(ROW, (3,), 3)),
    (ValueError, "number of dimensions", lambda: resize(GRID, (3,), "linear")),
    (ValueError, "has size 0", lambda: resize(np.zeros((0, 2)), (3, 2), "linear")),
    (ValueError, "negative", lambda: resize(ROW, (-1,), "linear")),
    (ValueError, "precision|Precision|zz", lambda: resize(ROW, (3,), "linear", precision="zz")),
    (TypeError, "resize", lambda: resize([1.0], (3,), "linear")),
    (TypeError, "shape", lambda: resize(ROW, (2.0,), "linear")),
    (ValueError, "nearest", lambda: scale_and_translate(ROW, (3,), (0,), ROW[:1], ROW[:1],
                                                        "nearest")),
    (ValueError, "distinct", lambda: scale_and_translate(ROW, (3,), (0, 0), ROW[:2], ROW[:2],
                                                         "linear")),
    (ValueError, "out of bounds", lambda: scale_and_translate(ROW, (3,), (1,), ROW[:1], ROW[:1],
                                                              "linear")),
    (ValueError, "not in spatial_dims", lambda: scale_and_translate(GRID, (5, 6), (1,), ROW[:1],
                                                                    ROW[:1], "linear")),
    (ValueError, "one number for each", lambda: scale_and_translate(ROW, (3,), (0,), ROW[:2],
                                                                    ROW[:1], "linear")),
])
def test_refuses(kind: type, match: str, call: Any) -> None:
    with pytest.raises(kind, match=match):
        call()
