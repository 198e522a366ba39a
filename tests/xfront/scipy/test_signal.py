"""scipy.signal against SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.signal as expected

import xfront as jax
import xfront.numpy as jnp
from xfront.scipy import signal
from xfront.scipy.signal.tapers import taper

WINDOWS: tuple[Any, ...] = (
    *"box han hamm blk nut bkh flt cosine bart triang parzen bohman barthann exponential".split(),
    "tuk", "poisson", ("hann",), ("kaiser", 8.6), ("gaussian", 2.0), ("general_gaussian", 1.5, 3.0),
    ("exponential", 3.0, 2.0), ("exponential", None, 3.0), ("tukey", 0.25), ("tukey", 0.0),
    ("tukey", 1.5), ("general_hamming", 0.6), ("general_cosine", [0.5, 0.3, 0.2]), 8, 14.5)

RNG = np.random.default_rng(6)
A, B = RNG.normal(size=(5, 6)), RNG.normal(size=(3, 2))
ROW = RNG.normal(size=(2, 40))
MODES = ("full", "same", "valid")

CONVOLVED: list[tuple[str, tuple, dict[str, Any]]] = [
    *[(name, (a, b, mode), {}) for name in ("convolve", "correlate", "fftconvolve")
      for mode in MODES for a, b in ((ROW[0], ROW[1, :7]), (A, B), (A + 1j, B * 1j - 1))],
    *[(name, (A, B), {"method": method}) for name in ("convolve", "correlate")
      for method in ("fft", "direct")],
    *[(name, (A, B, mode, boundary, 0.5), {}) for name in ("convolve2d", "correlate2d")
      for mode in MODES for boundary in ("fill", "wrap", "symm")],
    ("convolve", (B[:, :1], A, "valid"), {}), ("correlate", (B, A, "valid"), {}),
    ("correlate2d", (B, A, "valid"), {}), ("convolve2d", (B, A, "valid"), {}),
    ("convolve", (np.arange(4), np.arange(3)), {}), ("fftconvolve", (A, B[:1]), {"axes": 1}),
]


def test_convolutions() -> None:
    with jax.enable_x64(True):
        made = jax.jit(lambda: [getattr(signal, name)(*args, **options)
                                for name, args, options in CONVOLVED])()
    for got, (name, args, options) in zip(made, CONVOLVED, strict=True):
        wanted = getattr(expected, name)(*args, **options)
        np.testing.assert_allclose(got, wanted, atol=1e-10, err_msg=f"{name} {args[2:]} {options}")


SPECTRA: list[tuple[str, tuple, dict[str, Any]]] = [
    ("detrend", (ROW,), {}), ("detrend", (ROW,), {"bp": [10, 25]}),
    ("detrend", (A,), {"axis": 0, "type": "constant"}),
    ("welch", (ROW,), {"nperseg": 16}), ("welch", (ROW[0] + 1j * ROW[1],), {
        "nperseg": 9, "return_onesided": False}),
    ("welch", (ROW.T,), {"axis": 0, "nperseg": 8, "fs": 4.0, "detrend": "linear"}),
    ("welch", (ROW,), {"nperseg": 15, "scaling": "spectrum", "average": "median", "nfft": 20}),
    ("csd", (ROW[0], ROW[1]), {"window": "hamming", "nperseg": 8, "noverlap": 2}),
    ("csd", (ROW[0], ROW[1, :30]), {"window": np.arange(1.0, 9), "detrend": False}),
    ("csd", (ROW[0], ROW[1]), {"nperseg": 8, "return_onesided": False, "average": "median"}),
    *[("welch", (ROW[0],), {"window": name, "nperseg": 10}) for name in (
        "blackman", "flattop", "boxcar", "bartlett", "cosine")],
    *[("stft", (ROW,), {"nperseg": 8, "boundary": b}) for b in (None, "zeros", "even", "odd",
                                                                  "constant")],
    ("stft", (ROW.T,), {"nperseg": 7, "axis": 0, "noverlap": 2, "padded": False, "fs": 2.0}),
    ("stft", (ROW * 1j,), {"nperseg": 8, "detrend": "constant", "return_onesided": False}),
]


def test_spectra() -> None:
    with jax.enable_x64(True):
        made = jax.jit(lambda: [getattr(signal, name)(*args, **options)
                                for name, args, options in SPECTRA])()
    for got, (name, args, options) in zip(made, SPECTRA, strict=True):
        wanted = getattr(expected, name)(*args, **options)
        for x, y in zip(*[v if isinstance(v, tuple) else (v,) for v in (got, wanted)], strict=True):
            np.testing.assert_allclose(x, y, atol=1e-10, err_msg=f"{name} {options}")


def test_back_from_short_transforms() -> None:
    with jax.enable_x64(True):
        calls: list[tuple[np.ndarray, dict[str, Any]]] = [
            (expected.stft(ROW, nperseg=8)[2], {}),
            (expected.stft(ROW, nperseg=7, noverlap=4)[2], {"nperseg": 7, "noverlap": 4}),
            (expected.stft(ROW * 1j, nperseg=8, return_onesided=False)[2],
             {"input_onesided": False}),
            (expected.stft(ROW, nperseg=8, window="hamming", fs=2.0)[2].T,
             {"window": "hamming", "fs": 2.0, "time_axis": 0, "freq_axis": 1}),
            (expected.stft(ROW[0], nperseg=8, boundary=None, window="hamming")[2],
             {"boundary": False, "window": "hamming"})]
        made = jax.jit(lambda: [signal.istft(z, **options) for z, options in calls])()
    for (times, got), (z, options) in zip(made, calls, strict=True):
        np.testing.assert_allclose(got, expected.istft(z, **options)[1], atol=1e-10,
                                   err_msg=str(options))
        n = got.shape[options.get("time_axis", -1)]       # SciPy counts another axis of batches
        np.testing.assert_allclose(times, np.arange(n) / options.get("fs", 1.0))


def test_derivatives_and_batches() -> None:
    weights = np.arange(1.0, 41)
    with jax.enable_x64(True):
        def loss(x: Any) -> Any:
            back = signal.istft(signal.stft(x, nperseg=8)[2])[1]
            return (back * weights).sum() + (signal.convolve(x, B[:, 0]) ** 2).sum()

        grad = jax.jit(jax.grad(loss))(ROW[0])
        direction = np.cos(weights)
        run = jax.jit(loss)
        wanted = (run(ROW[0] + 1e-5 * direction) - run(ROW[0] - 1e-5 * direction)) / 2e-5
        np.testing.assert_allclose(grad @ direction, wanted, rtol=1e-7)
        many = jax.vmap(lambda x: signal.welch(x, nperseg=8)[1])(ROW)
    np.testing.assert_allclose(many, expected.welch(ROW, nperseg=8)[1], atol=1e-12)


REFUSED: list[tuple[type, str, Callable[[], Any]]] = [
    (ValueError, "mode", lambda: signal.convolve(A, B, "x")),
    (ValueError, "method", lambda: signal.convolve(A, B, method="x")),
    (ValueError, "number of axes", lambda: signal.correlate(A, B[0])),
    (ValueError, "empty", lambda: signal.convolve(A, B[:0])),
    (ValueError, "at least as large", lambda: signal.convolve(A[:2], B, "valid")),
    (ValueError, "2 axes", lambda: signal.convolve2d(A[0], B[0])),
    (ValueError, "boundary", lambda: signal.convolve2d(A, B, boundary="x")),
    (ValueError, "axis 0", lambda: signal.fftconvolve(A, B, axes=1)),
    (ValueError, "type", lambda: signal.detrend(A, type="x")),
    (ValueError, "breakpoints", lambda: signal.detrend(A, bp=99)),
    (ValueError, "not known", lambda: signal.welch(ROW, window="x")),
    (ValueError, "1 parameters", lambda: signal.welch(ROW, window="kaiser")),
    (ValueError, "0 parameters", lambda: signal.stft(ROW, window=("hann", 2.0))),
    (ValueError, "must be an array", lambda: signal.stft(ROW, window=(2.0,))),
    (ValueError, "scaling", lambda: signal.welch(ROW, scaling="x")),
    (ValueError, "average", lambda: signal.welch(ROW, average="x")),
    (ValueError, "noverlap", lambda: signal.welch(ROW, nperseg=8, noverlap=8)),
    (ValueError, "nfft", lambda: signal.welch(ROW, nperseg=8, nfft=4)),
    (ValueError, "positive", lambda: signal.welch(ROW, nperseg=0)),
    (ValueError, "boundary", lambda: signal.stft(ROW, nperseg=8, boundary="x")),
    (ValueError, "distinct", lambda: signal.istft(A, time_axis=0, freq_axis=0)),
    (TypeError, "detrend", lambda: signal.detrend([1.0])),
]


@pytest.mark.parametrize(("kind", "match", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(kind: type, match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=match):
        call()


def test_complex_signals_have_both_sides() -> None:
    np.testing.assert_allclose(signal.welch(ROW + 0j, nperseg=8)[1], expected.welch(
        ROW + 0j, nperseg=8, return_onesided=False)[1], atol=1e-5)


def test_a_function_takes_trends_away() -> None:
    got = signal.welch(ROW, nperseg=8, detrend=lambda x: x - jnp.mean(x, -1, keepdims=True))[1]
    np.testing.assert_allclose(got, expected.welch(ROW, nperseg=8)[1], rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_spectra_of_narrow_floats_are_computed_in_32_bits(dtype: type) -> None:
    x = ROW[0].astype(dtype)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(signal.csd(x, ROW[1].astype(np.float32), nperseg=8)[1],
                               expected.csd(wide, ROW[1], nperseg=8)[1], atol=1e-5)
    np.testing.assert_allclose(signal.stft(x, nperseg=8)[2], expected.stft(wide, nperseg=8)[2],
                               atol=1e-5)


def test_signals_without_elements_have_spectra_without_elements() -> None:
    nothing, row = np.zeros((2, 0)), ROW[0]
    for name, args in (("welch", (nothing,)), ("csd", (nothing, row)), ("stft", (nothing,))):
        for got, wanted in zip(getattr(signal, name)(*args), getattr(expected, name)(*args),
                               strict=True):
            assert got.shape == wanted.shape, name
    assert signal.csd(nothing, row)[1].dtype == np.complex64


def test_times_are_not_weak() -> None:
    assert not signal.istft(np.ones((5, 3), np.complex64))[0].aval.weak_type


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_by_name(window: Any) -> None:
    for n in (1, 2, 3, 8, 11):
        np.testing.assert_allclose(taper("welch", window, n), expected.get_window(window, n),
                                   atol=1e-12)


def test_window_with_parameters() -> None:
    window = ("kaiser", 8.6)
    for name in ("welch", "stft"):
        got = getattr(signal, name)(ROW.astype(np.float32), nperseg=8, window=window)
        for one, other in zip(got, getattr(expected, name)(ROW, nperseg=8, window=window),
                              strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
