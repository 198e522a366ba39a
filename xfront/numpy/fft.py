"""Discrete Fourier transforms along any axes.

All take `norm`: "backward" (the default) divides the inverse transform by the number of points,
"forward" divides the forward one, "ortho" divides both by its square root. Half precision is
computed in single. Given sizes (`n`, `s`) crop the array or pad it with zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import from_numpy

from ..base.dtypes import requested_dtype
from ..base.on_demand import shown as _shown
from ..binding.annotations import Array, ArrayLike, AxisLike, DeviceLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import (
    convert,
    default_float,
    index_of,
    listed,
    normalize_axis,
    operand,
    promote_inexact,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .complexes import conj
from .creation import _placed
from .manipulation import moveaxis
from .repeating import roll

Sizes = Sequence[int] | None


# --- the transform ------------------------------------------------------------------------

def _sized(x: Tracer, axis: int, size: int) -> Tracer:
    """`x` cropped or filled up with zeros to `size` along one axis."""
    if x.shape[axis] == size:
        return x
    high = tuple(size - n if d == axis else 0 for d, n in enumerate(x.shape))
    zero = x.home.literal(np.zeros((), x.value.type.dtype.numpy), ())
    return emit(ops.pad, x, zero, low=(0,) * x.ndim, high=high, interior=(0,) * x.ndim)


def _transform(name: str, kind: str, a: Any, sizes: Any, axes: Any, norm: Any) -> Any:
    from ..lax.fourier import transform  # late: loaded on first use

    full = f"xfront.numpy.fft.{name}"
    (x,) = promote_inexact(full, a)
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if kind == "rfft" and x.value.type.dtype.is_complex:
        raise ValueError(f"only real valued inputs supported for {name}, got {x.value.type}")
    if axes is None:
        n_axes = x.ndim if sizes is None else len(sizes)
        axes = tuple(range(x.ndim - n_axes, x.ndim))
    axes = tuple([normalize_axis(name, axis, x.ndim) for axis in axes])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{full} does not support repeated axes. Got axes {axes}.")
    if not axes:
        dtype = x.value.type.dtype
        return x if kind == "irfft" else convert(x, dtypes.complex_of(dtype), x.weak)
    if sizes is None:
        sizes = [x.shape[axis] for axis in axes]
        if kind in ("fft", "ifft") and not math.prod(sizes):
            return convert(x, dtypes.complex_of(x.value.type.dtype))
        if kind == "irfft":
            sizes[-1] = max(0, 2 * (sizes[-1] - 1))
    elif len(sizes) != len(axes):
        raise ValueError(f"{name}: s and axes must have the same number of elements, got {sizes} "
                         f"and {axes}")
    lengths = tuple([index_of(n, "size") for n in sizes])
    if min(lengths) < 1:
        raise ValueError(f"{full}: sizes should be positive, got {lengths}")
    for axis, n in zip(axes, lengths, strict=True):
        last = kind == "irfft" and axis == axes[-1]
        x = _sized(x, axis, n // 2 + 1 if last else n)
    end = tuple(range(x.ndim - len(axes), x.ndim))
    made = transform(as_tracer(moveaxis(x, axes, end)), kind, lengths)
    points, inverse = math.prod(lengths), kind in ("ifft", "irfft")
    factor = (math.sqrt(points) if inverse else 1 / math.sqrt(points)) if norm == "ortho" else (
        points if inverse else 1 / points) if norm == "forward" else 1
    if factor != 1:
        dtype = made.value.type.dtype.numpy
        made = made * made.home.literal(np.asarray(factor, dtype), made.shape)
    return moveaxis(made, end, axes)


def _one(name: str, kind: str, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    return _transform(name, kind, a, None if n is None else (n,), (index_of(axis),), norm)


_ONE = ("n", "axis", "norm")
_MANY = ("s", "axes", "norm")


@eager(static=_ONE)
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform along one axis; complex. Source: `numpy.fft.fft`.

    >>> jnp.fft.fft(jnp.array([1., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one("fft", "fft", a, n, axis, norm)


@eager(static=_ONE)
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`; complex. Source: `numpy.fft.ifft`.

    >>> jnp.fft.ifft(jnp.array([4., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one("ifft", "ifft", a, n, axis, norm)


@eager(static=_ONE)
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The first n // 2 + 1 coefficients of a real array, which determine the others.

    Raises: ValueError for complex arrays.
    Source: `numpy.fft.rfft`.

    >>> jnp.fft.rfft(jnp.array([1., 0., 0., 0.]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one("rfft", "rfft", a, n, axis, norm)


@eager(static=_ONE)
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The real array of `n` elements (by default an even number) with these coefficients.

    Source: `numpy.fft.irfft`.

    >>> jnp.fft.irfft(jnp.array([4., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _one("irfft", "irfft", a, n, axis, norm)


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _swapped(norm: Any) -> Any:
    return _SWAPPED.get(norm, norm)


@eager(static=_ONE)
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The real transform of a Hermitian array, of which `a` is the first half.

    Source: `numpy.fft.hfft`.

    >>> jnp.fft.hfft(jnp.array([1., 0., 0.]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return irfft(conj(a), n, axis, _swapped(norm))


@eager(static=_ONE)
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`. Source: `numpy.fft.ihfft`.

    >>> jnp.fft.ihfft(jnp.array([4., 0., 0., 0.])).real
    Array([1., 1., 1.], dtype=float32)
    """
    return conj(rfft(a, n, axis, _swapped(norm)))


@eager(static=_MANY)
def fftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """The transform along several axes (None: all, or the last `len(s)`); complex.

    Source: `numpy.fft.fftn`.

    >>> jnp.fft.fftn(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("fftn", "fft", a, s, axes, norm)


@eager(static=_MANY)
def ifftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """The inverse of `fftn`. Source: `numpy.fft.ifftn`.

    >>> jnp.fft.ifftn(jnp.ones((2, 2))).real
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("ifftn", "ifft", a, s, axes, norm)


@eager(static=_MANY)
def rfftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """`rfft` along the last of `axes`, `fft` along the others. Source: `numpy.fft.rfftn`.

    >>> jnp.fft.rfftn(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("rfftn", "rfft", a, s, axes, norm)


@eager(static=_MANY)
def irfftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """The inverse of `rfftn`. Source: `numpy.fft.irfftn`.

    >>> jnp.fft.irfftn(jnp.ones((2, 2)))
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("irfftn", "irfft", a, s, axes, norm)


@eager(static=_MANY)
def fft2(a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
         ) -> Array:
    """`fftn` along two axes. Source: `numpy.fft.fft2`.

    >>> jnp.fft.fft2(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("fft2", "fft", a, s, axes, norm)


@eager(static=_MANY)
def ifft2(a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
          ) -> Array:
    """`ifftn` along two axes. Source: `numpy.fft.ifft2`.

    >>> jnp.fft.ifft2(jnp.ones((2, 2))).real
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("ifft2", "ifft", a, s, axes, norm)


@eager(static=_MANY)
def rfft2(a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
          ) -> Array:
    """`rfftn` along two axes. Source: `numpy.fft.rfft2`.

    >>> jnp.fft.rfft2(jnp.ones((2, 2))).real
    Array([[4., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("rfft2", "rfft", a, s, axes, norm)


@eager(static=_MANY)
def irfft2(a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
           ) -> Array:
    """`irfftn` along two axes. Source: `numpy.fft.irfft2`.

    >>> jnp.fft.irfft2(jnp.ones((2, 2)))
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _transform("irfft2", "irfft", a, s, axes, norm)


# --- frequencies --------------------------------------------------------------------------

def _frequencies(name: str, places: np.ndarray, n: int, d: Any, dtype: Any) -> Any:
    wanted = default_float() if dtype is None else from_numpy(requested_dtype(name, dtype))
    if not wanted.is_float:
        raise ValueError(f"fftfreq and rfftfreq: dtype must be a floating dtype, got {dtype}")
    step = convert(operand(name, d), wanted)
    if not places.size:
        return step.home.literal(np.zeros((), wanted.numpy), (0,))
    if step.ndim:
        raise ValueError("The d argument of jnp.fft.fftfreq only takes a single value, got shape "
                         f"{step.shape}")
    span = step * step.home.literal(np.asarray(n, wanted.numpy), ())
    made = step.home.lift(places.astype(wanted.numpy))
    return made / emit(ops.broadcast_in_dim, span, shape=places.shape, dims=())


def _points(n: Any) -> int:
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of jnp.fft.fftfreq should be an integer, got {n!r}")
    return index_of(n, "n")


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None
            ) -> Array:
    """The frequencies of `fft`'s coefficients: 0, 1, ..., then the negative ones, over n d.

    Args:
      d: the distance between samples, a scalar.
      dtype: a float dtype; None for the default float.
      device: a device or a sharding to place the result on.
    Source: `numpy.fft.fftfreq`.

    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return _placed(_fftfreq(n, d, dtype), device)


@eager(static=("n", "dtype"))
def _fftfreq(n: int, d: Any, dtype: Any) -> Any:
    n = _points(n)
    places = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies("fftfreq", places, n, d, dtype)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None,
             device: DeviceLike = None
             ) -> Array:
    """The frequencies of `rfft`'s coefficients: 0, 1, ..., n // 2, over n d.

    Args: as in `fftfreq`, with `d`, `dtype` and `device`.
    Source: `numpy.fft.rfftfreq`.

    >>> jnp.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    return _placed(_rfftfreq(n, d, dtype), device)


@eager(static=("n", "dtype"))
def _rfftfreq(n: int, d: Any, dtype: Any) -> Any:
    n = _points(n)
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype)


def _shift(name: str, x: Any, axes: Any, way: int) -> Any:
    x = operand(name, x)
    axes = range(x.ndim) if axes is None else listed(axes)
    axes = tuple([normalize_axis(name, a, x.ndim) for a in axes])
    by = tuple([x.shape[a] // 2 if way > 0 else -(x.shape[a] // 2) for a in axes])
    return roll(x, by, axes) if axes else x


@eager(static=("axes",))
def fftshift(x: ArrayLike, axes: AxisLike = None) -> Array:
    """The array with the halves of its axes exchanged, so that frequency 0 is in the middle.

    Source: `numpy.fft.fftshift`.

    >>> jnp.fft.fftshift(jnp.arange(4))
    Array([2, 3, 0, 1], dtype=int32)
    """
    return _shift("fftshift", x, axes, 1)


@eager(static=("axes",))
def ifftshift(x: ArrayLike, axes: AxisLike = None) -> Array:
    """The inverse of `fftshift`. Source: `numpy.fft.ifftshift`.

    >>> jnp.fft.ifftshift(jnp.arange(4))
    Array([2, 3, 0, 1], dtype=int32)
    """
    return _shift("ifftshift", x, axes, -1)


__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]
__dir__ = _shown(globals())
