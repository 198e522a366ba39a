"""Convolutions and correlations of arrays with any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import numpy as jnp
from ...binding.annotations import Array, ArrayLike, AxisLike
from ...eager.dispatch import eager
from ...eager.operands import normalize_axes, promote_inexact
from ...lax.contractions import conv_general_dilated
from ...lax.precision import PrecisionLike

_PADS = {"wrap": "wrap", "symm": "symmetric"}


def _both(name: str, in1: Any, in2: Any, mode: str, ndim: int | None = None) -> tuple[Any, Any]:
    x, y = promote_inexact(name, in1, in2)
    if x.ndim != y.ndim or ndim not in (None, x.ndim):
        wanted = "the same number of axes" if ndim is None else f"{ndim} axes"
        raise ValueError(f"{name}: in1 and in2 must have {wanted}, got shapes {x.shape} and "
                         f"{y.shape}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be one of 'full', 'same', 'valid'; got {mode!r}")
    if not x.size or not y.size:
        raise ValueError(f"{name}: arrays cannot be empty, got shapes {x.shape} and {y.shape}")
    return x, y


def _ordered(name: str, x: Any, y: Any, mode: str, axes: Sequence[int]) -> tuple[Any, Any]:
    """The two arrays, the larger one first in the mode "valid", in which one covers the other."""
    if mode == "valid" and not all(x.shape[i] >= y.shape[i] for i in axes):
        if not all(x.shape[i] <= y.shape[i] for i in axes):
            raise ValueError(f"{name}: for mode='valid' one input must be at least as large as the "
                             f"other along every axis, got shapes {x.shape} and {y.shape}")
        return y, x
    return x, y


def _direct(name: str, x: Any, y: Any, mode: str, precision: Any) -> Any:
    x, y = _ordered(name, x, y, mode, range(x.ndim))
    if not x.ndim:
        return x * y
    pads = {"full": [(n - 1, n - 1) for n in y.shape], "valid": [(0, 0)] * y.ndim,
            "same": [(n // 2, (n - 1) // 2) for n in y.shape]}[mode]
    made = conv_general_dilated(x[None, None], jnp.flip(y)[None, None], (1,) * x.ndim, pads,
                                precision=precision)
    return made[0, 0]


def _convolved(name: str, x: Any, y: Any, mode: str, method: str, precision: Any) -> Any:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be one of 'auto', 'direct', 'fft'; got {method!r}")
    if method == "fft":
        return _transformed(name, x, y, mode, tuple(range(x.ndim)))
    return _direct(name, x, y, mode, precision)


@eager(static=("mode", "method", "precision"))
def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto",
             precision: PrecisionLike = None) -> Array:
    """The convolution of two arrays.

    Args:
      mode: "full", "same" (the middle, of in1's size) or "valid" (where one covers the other).
      method: "direct" ("auto") for sums of products, "fft" for transforms, which have no
        `precision`.
      precision: precision of the products, as in `lax.conv_general_dilated`.
    Raises: ValueError for other modes and methods, other numbers of axes and empty arrays.
    Source: `scipy.signal.convolve`.

    >>> signal.convolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _both("convolve", in1, in2, mode)
    return _convolved("convolve", x, y, mode, method, precision)


@eager(static=("mode", "method", "precision"))
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto",
              precision: PrecisionLike = None) -> Array:
    """The convolution of `in1` with `in2` conjugated and reversed, as `convolve`.

    Source: `scipy.signal.correlate`.

    >>> signal.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]))
    Array([1., 2., 3., 0.], dtype=float32)
    """
    x, y = _both("correlate", in1, in2, mode)
    return _convolved("correlate", x, jnp.flip(jnp.conj(y)), mode, method, precision)


def _with_edges(name: str, x: Any, y: Any, mode: str, boundary: str, fillvalue: Any,
                precision: Any, late: int) -> Any:
    """The convolution of matrices; a middle between two elements is moved on by `late`."""
    if boundary not in ("fill", *_PADS):
        raise ValueError(f"{name}: boundary must be one of 'fill', 'wrap', 'symm'; got "
                         f"{boundary!r}")
    x, y = _ordered(name, x, y, mode, (0, 1))
    pads = {"full": [(n - 1, n - 1) for n in y.shape], "valid": [(0, 0)] * 2,
            "same": [((n - late) // 2, (n - 1 + late) // 2) for n in y.shape]}[mode]
    if boundary == "fill":
        x = jnp.pad(x, pads, constant_values=fillvalue)
    else:
        x = jnp.pad(x, pads, mode=_PADS[boundary])
    return _direct(name, x, y, "valid", precision)


@eager(static=("mode", "boundary", "precision"))
def convolve2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill",
               fillvalue: ArrayLike = 0, precision: PrecisionLike = None) -> Array:
    """The convolution of two matrices.

    Args:
      mode, precision: as in `convolve`.
      boundary: the values around in1: "fill" for `fillvalue`, "wrap" for the matrix repeated,
        "symm" for its mirror image.
    Raises: ValueError for other modes and boundaries, and arrays that are not matrices.
    Source: `scipy.signal.convolve2d`.

    >>> signal.convolve2d(jnp.eye(2), jnp.ones((1, 2)))
    Array([[1., 1., 0.],
           [0., 1., 1.]], dtype=float32)
    """
    x, y = _both("convolve2d", in1, in2, mode, 2)
    return _with_edges("convolve2d", x, y, mode, boundary, fillvalue, precision, 0)


@eager(static=("mode", "boundary", "precision"))
def correlate2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill",
                fillvalue: ArrayLike = 0, precision: PrecisionLike = None) -> Array:
    """The convolution of `in1` with `in2` conjugated and reversed, as `convolve2d`, with
    the middle of the mode "same" of `correlate2d`.

    Source: `scipy.signal.correlate2d`.

    >>> signal.correlate2d(jnp.eye(2), jnp.ones((1, 2)))
    Array([[1., 1., 0.],
           [0., 1., 1.]], dtype=float32)
    """
    x, y = _both("correlate2d", in1, in2, mode, 2)
    return _with_edges("correlate2d", x, jnp.flip(jnp.conj(y)), mode, boundary, fillvalue,
                       precision, 1)


def _transformed(name: str, x: Any, y: Any, mode: str, axes: tuple[int, ...]) -> Any:
    for i in range(x.ndim):
        if i not in axes and x.shape[i] != y.shape[i] and 1 not in (x.shape[i], y.shape[i]):
            raise ValueError(f"{name}: shapes {x.shape} and {y.shape} must have equal sizes, or "
                             f"size 1, along axis {i}, which is not in axes")
    x, y = _ordered(name, x, y, mode, axes)
    if not axes:
        return x * y
    sizes = [x.shape[i] + y.shape[i] - 1 for i in axes]
    if jnp.iscomplexobj(x):
        made = jnp.fft.ifftn(jnp.fft.fftn(x, sizes, axes) * jnp.fft.fftn(y, sizes, axes), sizes,
                             axes)
    else:
        made = jnp.fft.irfftn(jnp.fft.rfftn(x, sizes, axes) * jnp.fft.rfftn(y, sizes, axes), sizes,
                              axes)
    if mode == "full":
        return made
    index: list[Any] = [slice(None)] * x.ndim
    for i in axes:
        first = y.shape[i] - 1 if mode == "valid" else (y.shape[i] - 1) // 2
        size = x.shape[i] - y.shape[i] + 1 if mode == "valid" else x.shape[i]
        index[i] = slice(first, first + size)
    return made[tuple(index)]


@eager(static=("mode", "axes"))
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: AxisLike = None) -> Array:
    """The convolution of two arrays along some axes (None: all), by Fourier transforms; along the
    others they broadcast.

    Raises: as `convolve`.
    Source: `scipy.signal.fftconvolve`.

    >>> signal.fftconvolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _both("fftconvolve", in1, in2, mode)
    return _transformed("fftconvolve", x, y, mode, normalize_axes("fftconvolve", axes, x.ndim))


__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]
