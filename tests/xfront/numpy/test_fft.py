"""Fourier transforms: values against NumPy, derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax

RNG = np.random.default_rng(7)
REAL = RNG.normal(size=(3, 4, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * RNG.normal(size=REAL.shape)).astype(np.complex64)


def _close(got: object, expected: np.ndarray, tolerance: float = 2e-5) -> None:
    got = np.asarray(got)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name: str, norm: str | None) -> None:
    x = REAL if name in ("rfft", "ihfft") else COMPLEX
    for n, axis in ((None, -1), (3, 1), (7, 0)):
        got = getattr(jnp.fft, name)(x, n=n, axis=axis, norm=norm)
        _close(got, getattr(np.fft, name)(x, n=n, axis=axis, norm=norm))
        assert got.dtype == (np.float32 if name in ("irfft", "hfft") else np.complex64)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "rfft2", "irfft2"])
def test_several_axes(name: str) -> None:
    x = REAL if name.startswith("rfft") else COMPLEX
    _close(getattr(jnp.fft, name)(x), getattr(np.fft, name)(x))
    _close(getattr(jnp.fft, name)(x, s=(2, 6), axes=(0, 1)),
           getattr(np.fft, name)(x, s=(2, 6), axes=(0, 1)))


@pytest.mark.parametrize("name", ["fftn", "rfftn", "irfftn"])
def test_more_axes_than_one_op_transforms(name: str) -> None:
    x = RNG.normal(size=(2, 3, 2, 3, 4)).astype(np.float32)
    axes = tuple(range(5))
    s = (2, 3, 2, 3, 4)
    x = x[..., :3] if name == "irfftn" else x
    _close(getattr(jnp.fft, name)(x, s=s, axes=axes), getattr(np.fft, name)(x, s=s, axes=axes),
           1e-4)


def test_frequencies_and_shifts() -> None:
    for n in (1, 4, 5):
        _close(jnp.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5).astype(np.float32))
        _close(jnp.fft.rfftfreq(n), np.fft.rfftfreq(n).astype(np.float32))
    for axes in (None, 1, (0, 2)):
        _close(jnp.fft.fftshift(REAL, axes), np.fft.fftshift(REAL, axes))
        _close(jnp.fft.ifftshift(REAL, axes), np.fft.ifftshift(REAL, axes))


def test_half_precision_and_integers() -> None:
    assert jnp.fft.fft(jnp.ones(3, jnp.bfloat16)).dtype == np.complex64
    _close(jnp.fft.fft(jnp.arange(4)), np.fft.fft(np.arange(4)))
    _close(lax.fft(jnp.ones(3), "rfft", (3,)), np.fft.rfft(np.ones(3)))


@pytest.mark.parametrize("name", ["rfft", "irfft", "fft"])
def test_derivatives(name: str) -> None:
    weights = RNG.normal(size=(5,))
    with xfront.enable_x64(True):
        def loss(x: object) -> object:
            made = getattr(jnp.fft, name)(x * (1.0 if name == "rfft" else 1.0 + 0.5j), n=5)
            return jnp.sum(jnp.abs(made) ** 2 * weights[:made.shape[0]])

        x = RNG.normal(size=(4,))
        got = np.asarray(xfront.grad(loss)(x))
        for i in range(4):
            e = np.eye(4)[i] * 1e-5
            expected = (float(loss(x + e)) - float(loss(x - e))) / 2e-5
            assert abs(got[i] - expected) < 1e-7 * max(1, abs(expected))


def test_vmap_is_a_loop() -> None:
    got = xfront.vmap(lambda row: jnp.fft.rfft(row, axis=0), in_axes=2, out_axes=1)(REAL)
    _close(got, np.moveaxis(np.fft.rfft(REAL, axis=0), 2, 1))


def test_refuses() -> None:
    with pytest.raises(ValueError, match="real valued"):
        jnp.fft.rfft(COMPLEX)
    with pytest.raises(ValueError, match="Invalid norm"):
        jnp.fft.fft(REAL, norm="x")
    with pytest.raises(ValueError, match="repeated axes"):
        jnp.fft.fft2(REAL, axes=(0, 0))
    with pytest.raises(ValueError, match="positive"):
        jnp.fft.fft(REAL, n=0)
    with pytest.raises(TypeError, match="ndarray or scalar"):
        jnp.fft.fft([1.0, 2.0])
