"""Trends and spectra of signals, from transforms of overlapping segments.

Source: Welch 1967; Griffin and Lim 1984; `scipy.signal`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...binding.annotations import Array, ArrayLike
from ...binding.tracebacks import front_door
from ...eager.operands import array_like, index_of, is_array_like, normalize_axis
from .tapers import taper


def _inexact(name: str, x: Any) -> Any:
    x = jnp.asarray(array_like(name, x))
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)


def _signal(name: str, x: Any, axis: int) -> Any:
    """A signal along its last axis, of 32 bits at least, in which its spectra are computed."""
    x = _inexact(name, x)
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return jnp.moveaxis(wide, normalize_axis(name, axis, x.ndim), -1)


# --- trends ---------------------------------------------------------------------------------

@front_door
def detrend(data: ArrayLike, axis: int = -1, type: str = "linear", bp: int | Sequence[int] = 0,
            overwrite_data: None = None) -> Array:
    """Data less its mean ("constant"), or less the straight lines that fit it best ("linear").

    Args:
      bp: positions along the axis at which a new line begins.
      overwrite_data: a permission that is never used.
    Raises: ValueError for other types, and places outside.
    Source: `scipy.signal.detrend`.

    >>> signal.detrend(jnp.array([1., 2., 4.]), type="constant")
    Array([-1.333, -0.333,  1.667], dtype=float32)
    """
    if type not in ("constant", "linear"):
        raise ValueError(f"detrend: trend type must be 'linear' or 'constant', got {type!r}")
    x = _inexact("detrend", data)
    at = normalize_axis("detrend", axis, x.ndim)
    x = jnp.moveaxis(x, at, -1)
    n = x.shape[-1]
    if type == "constant":
        return jnp.moveaxis(x - jnp.mean(x, -1, keepdims=True), -1, at)
    places = sorted({0, n, *[index_of(i, "detrend: bp") for i in np.atleast_1d(bp)]})
    if places[0] < 0 or places[-1] > n:
        raise ValueError(f"detrend: breakpoints must be in [0, {n}], got {bp}")
    parts = [_without_line(x[..., low:high])
             for low, high in zip(places[:-1], places[1:], strict=True)]
    return jnp.moveaxis(jnp.concatenate(parts, -1) if parts else x, -1, at)


def _without_line(x: Any) -> Any:
    n = x.shape[-1]
    t = np.arange(n) - (n - 1) / 2
    x = x - jnp.mean(x, -1, keepdims=True)
    unit = (t / max(np.sqrt((t * t).sum()), 1e-30)).astype(jnp.finfo(x.dtype).dtype)
    return x - jnp.sum(x * unit, -1, keepdims=True) * unit


# --- segments -------------------------------------------------------------------------------

class _Segments:
    """The window and sizes that the arguments of spectra give, and how segments are transformed."""

    def __init__(self, name: str, n: int | None, window: Any, nperseg: Any, noverlap: Any,
                 nfft: Any) -> None:
        given = isinstance(window, list) or (is_array_like(window) and np.ndim(window) > 0)
        self.name = name
        if given:
            self.window: Any = jnp.asarray(window)
            if self.window.ndim != 1:
                raise ValueError(f"{name}: window must have one axis, got shape "
                                 f"{self.window.shape}")
            size = self.window.shape[0]
            if nperseg is not None and nperseg != size:
                raise ValueError(f"{name}: nperseg={nperseg} differs from the size of the window, "
                                 f"{size}; leave nperseg out")
            if n is not None and n < size:
                raise ValueError(f"{name}: the window, of size {size}, is longer than the input, "
                                 f"of size {n}")
        else:
            size = 256 if nperseg is None else index_of(nperseg, f"{name}: nperseg")
            if size < 1:
                raise ValueError(f"{name}: nperseg must be a positive integer, got {size}")
            size = size if n is None else min(size, n)
            self.window = taper(name, window, size)
        self.size = size
        self.overlap = size // 2 if noverlap is None else index_of(noverlap, f"{name}: noverlap")
        self.points = size if nfft is None else index_of(nfft, f"{name}: nfft")
        if not 0 <= self.overlap < size:
            raise ValueError(f"{name}: noverlap must be in [0, nperseg), got "
                             f"noverlap={self.overlap} and nperseg={size}")
        if self.points < size:
            raise ValueError(f"{name}: nfft must be at least nperseg, got nfft={self.points} and "
                             f"nperseg={size}")
        self.step = size - self.overlap

    def weights(self, dtype: Any) -> Any:
        """The window in the dtype of a signal's parts."""
        return jnp.asarray(self.window).astype(jnp.finfo(dtype).dtype)

    def places(self, n: int) -> np.ndarray:
        """Indices of the segments of a signal, [segments, nperseg]."""
        count = max((n - self.overlap) // self.step, 0)
        return np.arange(count)[:, None] * self.step + np.arange(self.size)

    def transforms(self, x: Any, trend: Any, onesided: bool) -> Any:
        """Transforms of a signal's segments along its last axis, [..., segments, frequencies]."""
        parts = x[..., self.places(x.shape[-1])]
        if callable(trend):
            parts = trend(parts)
        elif trend is not False:
            parts = detrend(parts, -1, trend)
        parts = parts * self.weights(x.dtype)
        return (jnp.fft.rfft if onesided else jnp.fft.fft)(parts, self.points)

    def frequencies(self, fs: Any, onesided: bool) -> Any:
        return (jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq)(self.points, 1 / fs)


def _one_sided(asked: bool, *signals: Any) -> bool:
    return bool(asked) and not any(jnp.iscomplexobj(x) for x in signals)


# --- spectra --------------------------------------------------------------------------------

@front_door
def csd(x: ArrayLike, y: ArrayLike | None, fs: ArrayLike = 1.0,
        window: str | ArrayLike | tuple[Any, ...] = "hann", nperseg: int | None = None,
        noverlap: int | None = None, nfft: int | None = None,
        detrend: str | Callable[..., Any] | bool = "constant", return_onesided: bool = True,
        scaling: str = "density", axis: int = -1, average: str = "mean") -> tuple[Any, Any]:
    """Frequencies, and the cross spectral density of two signals.

    Args:
      y: the second signal; None for x. The shorter one is filled up with zeros.
      fs: the number of samples in a unit of time.
      window: an array, a name of SciPy's such as "hann" or "boxcar", or a tuple of a name and its
        parameters, such as ("kaiser", 8.6).
      nperseg: the size of a segment; None for 256, or the size of the window.
      noverlap: the number of samples that two neighbouring segments share; None for half.
      nfft: the number of points to transform, up to which segments are filled with zeros; None for
        the size of a segment.
      detrend: "constant", "linear", False, or a function of segments along the last axis.
      return_onesided: whether to return only the frequencies from 0 on for real signals.
      scaling: "density" or "spectrum".
      average: "mean" or "median", how segments are averaged.
    Raises: ValueError for other names and sizes that do not match.
    Source: Welch 1967; Allen et al. 2012 for the median; `scipy.signal.csd`.

    >>> x, y = jnp.array([1., 0., -1., 0.]), jnp.array([0., 1., 0., -1.])
    >>> frequencies, density = signal.csd(x, y, fs=4.0, window="boxcar", nperseg=4)
    >>> frequencies, density
    (Array([0., 1., 2.], dtype=float32), Array([0.+0.j , 0.-0.5j, 0.+0.j ], dtype=complex64))
    """
    name = "csd"
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")
    if average not in ("mean", "median"):
        raise ValueError(f"{name}: average must be 'median' or 'mean', got {average!r}")
    first = _signal(name, x, axis)
    second = first if y is None or y is x else _signal(name, y, axis)
    if not first.size or not second.size:
        return _of_nothing(first, second, axis)
    n = max(first.shape[-1], second.shape[-1])
    same = second is first
    first = _filled(first, n)
    second = first if same else _filled(second, n)
    segments = _Segments(name, n, window, nperseg, noverlap, nfft)
    onesided = _one_sided(return_onesided, first, second)
    left = segments.transforms(first, detrend, onesided)
    right = left if same else segments.transforms(second, detrend, onesided)
    power = jnp.conj(left) * right
    w = segments.weights(power.dtype)
    power = power / (fs * jnp.sum(w * w) if scaling == "density" else jnp.square(jnp.sum(w)))
    if onesided:
        points = segments.points
        last = points // 2 + (1 if points % 2 else 0)
        twice = np.where((np.arange(points // 2 + 1) > 0) & (np.arange(points // 2 + 1) < last),
                         2, 1)
        power = power * twice.astype(jnp.finfo(power.dtype).dtype)
    if average == "mean" or power.shape[-2] == 1:
        made = jnp.mean(power, -2)
    else:
        k = np.arange(2, power.shape[-2] - 1 + 1, 2)
        bias = 1 + np.sum(1 / (k + 1) - 1 / k)
        made = (jnp.median(jnp.real(power), -2) + 1j * jnp.median(jnp.imag(power), -2)) / bias
    if same:
        made = jnp.real(made)
    return segments.frequencies(fs, onesided), jnp.moveaxis(made, -1, axis)


def _of_nothing(first: Any, second: Any, axis: int) -> tuple[Any, Any]:
    """Frequencies and spectral density where a signal is empty: both have no elements."""
    size = min(first.shape[-1], second.shape[-1])
    shape = (*jnp.broadcast_shapes(first.shape[:-1], second.shape[:-1]), size)
    dtype = jnp.result_type(first, second)
    made = jnp.zeros(shape, jnp.finfo(dtype).dtype if first is second else jnp.result_type(dtype,
                                                                                          1j))
    return jnp.moveaxis(made.real, -1, axis), jnp.moveaxis(made, -1, axis)


def _filled(x: Any, n: int) -> Any:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


@front_door
def welch(x: ArrayLike, fs: ArrayLike = 1.0, window: str | ArrayLike | tuple[Any, ...] = "hann",
          nperseg: int | None = None, noverlap: int | None = None, nfft: int | None = None,
          detrend: str | Callable[..., Any] | bool = "constant", return_onesided: bool = True,
          scaling: str = "density", axis: int = -1, average: str = "mean") -> tuple[Any, Any]:
    """Frequencies, and the power spectral density of a signal: `csd` of it with itself.

    Source: `scipy.signal.welch`.

    >>> x = jnp.array([1., 0., -1., 0., 1., 0., -1., 0.])
    >>> frequencies, density = signal.welch(x, fs=4.0, window="boxcar", nperseg=4)
    >>> frequencies, density
    (Array([0., 1., 2.], dtype=float32), Array([0. , 0.5, 0. ], dtype=float32))
    """
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
               axis, average)


# --- short transforms and back --------------------------------------------------------------

def _extended(name: str, x: Any, n: int, boundary: str | None) -> Any:
    """A signal with n more samples at both ends."""
    pads = [(0, 0)] * (x.ndim - 1) + [(n, n)]
    if boundary is None or not n:
        return x
    if boundary == "zeros":
        return jnp.pad(x, pads)
    if boundary == "constant":
        return jnp.pad(x, pads, mode="edge")
    if boundary in ("even", "odd"):
        return jnp.pad(x, pads, mode="reflect", reflect_type=boundary)
    raise ValueError(f"{name}: boundary must be 'even', 'odd', 'constant', 'zeros' or None, got "
                     f"{boundary!r}")


@front_door
def stft(x: ArrayLike, fs: ArrayLike = 1.0, window: str | ArrayLike | tuple[Any, ...] = "hann",
         nperseg: int | None = 256, noverlap: int | None = None, nfft: int | None = None,
         detrend: str | Callable[..., Any] | bool = False, return_onesided: bool = True,
         boundary: str | None = "zeros", padded: bool = True, axis: int = -1
         ) -> tuple[Any, Any, Any]:
    """Frequencies, times and the short-time Fourier transform of a signal.

    Args:
      boundary: how the signal is extended by half a segment at both ends: "zeros", "constant",
        "even", "odd"; None to leave it as it is.
      padded: whether to fill the end up with zeros, so that every sample is in a segment.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided: as in `csd`.
    Returns: (frequencies, times, transforms), frequencies along `axis`, times along the last axis.
    Raises: as `csd`.
    Source: `scipy.signal.stft`.

    >>> x = jnp.array([1., 0., -1., 0., 1., 0., -1., 0.])
    >>> frequencies, times, spectra = signal.stft(x, fs=4.0, nperseg=4)
    >>> frequencies, times, spectra.shape
    (Array([0., 1., 2.], dtype=float32), Array([0. , 0.5, 1. , 1.5, 2. ], dtype=float32), (3, 5))
    """
    signal = _signal("stft", x, axis)
    if not signal.size:
        nothing = jnp.moveaxis(signal, -1, axis)
        return nothing.real, nothing.real, nothing.astype(jnp.result_type(nothing, 1j))
    segments = _Segments("stft", signal.shape[-1], window, nperseg, noverlap, nfft)
    size, step = segments.size, segments.step
    signal = _extended("stft", signal, size // 2, boundary)
    if padded:
        signal = _filled(signal, signal.shape[-1] + -(signal.shape[-1] - size) % step)
    onesided = _one_sided(return_onesided, signal)
    made = segments.transforms(signal, detrend, onesided) / jnp.sum(segments.weights(signal.dtype))
    starts = np.arange(made.shape[-2]) * step
    times = jnp.asarray(starts + (size / 2 if boundary is None else 0.0), float) / fs
    made = jnp.moveaxis(made, -1, axis - 1 if axis < 0 else axis)
    return segments.frequencies(fs, onesided), times, made


@front_door
def istft(Zxx: ArrayLike, fs: ArrayLike = 1.0, window: str | ArrayLike | tuple[Any, ...] = "hann",
          nperseg: int | None = None, noverlap: int | None = None, nfft: int | None = None,
          input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
          freq_axis: int = -2) -> tuple[Any, Any]:
    """Times, and the signal whose `stft` is nearest to the given one.

    Args:
      Zxx: transforms, frequencies along `freq_axis` and times along `time_axis`.
      nperseg, nfft: those of `stft`; None to compute them from the number of frequencies.
      input_onesided: whether the frequencies are those of a real signal.
      boundary: whether half a segment is cut off at both ends.
      fs, window, noverlap: those of `stft`.
    Raises: ValueError where both axes are the same, and for sizes that do not match.
    Source: Griffin and Lim 1984, equation 6; `scipy.signal.istft`.

    >>> x = jnp.array([1., 0., -1., 0., 1., 0., -1., 0.])
    >>> _, _, spectra = signal.stft(x, nperseg=4)
    >>> times, back = signal.istft(spectra, nperseg=4)
    >>> jnp.allclose(back, x, atol=1e-6)
    Array(True, dtype=bool)
    """
    z = jnp.asarray(array_like("istft", Zxx))
    if z.ndim < 2:
        raise ValueError(f"istft: Zxx must have at least two axes, got shape {z.shape}")
    rows, columns = [normalize_axis("istft", i, z.ndim) for i in (freq_axis, time_axis)]
    if rows == columns:
        raise ValueError(f"istft: time_axis and freq_axis must be distinct, got {time_axis} and "
                         f"{freq_axis}")
    z = jnp.moveaxis(z, (rows, columns), (-1, -2))
    count, there = z.shape[-2], z.shape[-1]
    natural = 2 * (there - 1) if input_onesided else there
    size = natural if nperseg is None else index_of(nperseg, "istft: nperseg")
    points = nfft
    if points is None:
        points = size if input_onesided and size == natural + 1 else natural
    segments = _Segments("istft", None, window, size, noverlap, points)
    parts = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, segments.points)
    parts = parts[..., :segments.size]
    w = segments.weights(parts.dtype)
    length = segments.size + (count - 1) * segments.step
    places = segments.places(length)
    made = jnp.zeros((*parts.shape[:-2], length), parts.dtype).at[..., places].add(
        parts * w * jnp.sum(w))
    norm = jnp.zeros(length, w.dtype).at[places].add(jnp.broadcast_to(w * w, places.shape))
    made = made / jnp.where(norm > 1e-10, norm, 1)
    if boundary:
        half = segments.size // 2
        made = made[..., half:length - half]
    times = jnp.arange(made.shape[-1], dtype=float) / fs
    if made.ndim > 1:                              # time takes its place among the other axes
        made = jnp.moveaxis(made, -1, columns - (rows < columns))
    return times, made


__all__ = ["csd", "detrend", "istft", "stft", "welch"]
