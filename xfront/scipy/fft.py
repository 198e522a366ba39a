"""Cosine transforms, by the Fourier transform of an even extension.

Source: Makhoul, A fast cosine transform in one and two dimensions, 1980; `scipy.fft`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, index_of, listed, normalize_axis, promote_inexact
from ..numpy.fft import _sized
from ..numpy.reductions import wide
from ..tracing.tracer import as_tracer

Sizes = Sequence[int] | None
_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _transform(name: str, a: Any, kind: int, sizes: Any, axes: Any, norm: Any, back: bool) -> Any:
    if kind not in _INVERSE or isinstance(kind, bool):
        raise ValueError(f"{name}: type must be 1, 2, 3 or 4, got {kind!r}")
    if norm not in _SWAPPED:
        raise ValueError(f"{name}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    if back:
        kind, norm = _INVERSE[kind], _SWAPPED[norm]
    (x,) = promote_inexact(name, a)
    x = convert(x, wide(x.value.type.dtype))
    if axes is None:
        n_axes = x.ndim if sizes is None else len(sizes)
        axes = range(x.ndim - n_axes, x.ndim)
    axes = listed(axes)
    places = [normalize_axis(name, axis, x.ndim) for axis in axes]
    if len(set(places)) != len(places):
        raise ValueError(f"{name}: axes must be distinct, got {tuple(axes)}")
    lengths = [x.shape[axis] for axis in places] if sizes is None else [
        index_of(n, f"{name}: size") for n in sizes]
    if len(lengths) != len(places):
        raise ValueError(f"{name}: s and axes must have the same number of elements, got {sizes} "
                         f"and {tuple(axes)}")
    least = 2 if kind == 1 else 1
    if min(lengths, default=least) < least:
        raise ValueError(f"{name}: sizes must be at least {least} for type {kind}, got "
                         f"{tuple(lengths)}")
    for axis, n in zip(places, lengths, strict=True):
        x = jnp.moveaxis(_sized(as_tracer(x), axis, n), axis, -1)
        if jnp.iscomplexobj(x):
            x = _cosines(jnp.real(x), kind, norm) + 1j * _cosines(jnp.imag(x), kind, norm)
        else:
            x = _cosines(x, kind, norm)
        x = jnp.moveaxis(x, -1, axis)
    return x


def _cosines(x: Any, kind: int, norm: Any) -> Any:
    """The transform of the last axis."""
    n, dtype = x.shape[-1], x.dtype
    turn = np.exp(-0.5j * np.pi / n * np.arange(n))
    quarter = np.exp(-0.25j * np.pi / n * (2 * np.arange(n) + 1))
    turn, quarter = [v.astype(np.result_type(np.complex64, np.dtype(dtype)))
                     for v in (turn, quarter)]
    ends = np.ones(n)
    ends[[0, -1] if kind == 1 else [0]] = math.sqrt(2)
    ends = ends.astype(dtype)
    points = 2 * (n - 1 if kind == 1 else n)
    if norm == "ortho" and kind in (1, 3):
        x = x * ends
    if kind == 1:
        y = jnp.real(jnp.fft.rfft(jnp.concatenate([x, x[..., -2:0:-1]], -1)))
    elif kind == 2:
        both = jnp.fft.rfft(jnp.concatenate([x, jnp.flip(x, -1)], -1))
        y = jnp.real(both[..., :n] * turn)
    elif kind == 3:
        y = jnp.fft.irfft(_sized(x * jnp.conj(turn), x.ndim - 1, n + 1), 2 * n,
                          norm="forward")[..., :n]
    else:
        y = 2 * jnp.real(jnp.fft.fft(x * turn, 2 * n)[..., :n] * quarter)
    if norm == "ortho" and kind in (1, 2):
        y = y / ends
    factor = {"ortho": points ** -0.5, "forward": 1 / points}.get(norm)
    return (y if factor is None else y * factor).astype(dtype)


@eager(static=("type", "n", "axis", "norm"))
def dct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
        ) -> Array:
    """The cosine transform along one axis.

    Args:
      x: floats, which become f32 where they are narrower; integers become floats, and both parts
        of complex numbers are transformed.
      type: the type of the transform, 1 to 4; 2 is 2 sum_j x[j] cos(pi k (2 j + 1) / 2 n).
      n: the size to which the axis is cropped or filled up with zeros first; None for its own size.
      norm: "backward" (None) for no factor, "forward" for all of it, "ortho" for an orthogonal
        transform.
    Raises: ValueError for other types and norms, and sizes that are too small.
    Source: `scipy.fft.dct`.

    >>> fft.dct(jnp.array([1., 2., 4.]))
    Array([14.   , -5.196,  1.   ], dtype=float32)
    """
    return _transform("dct", x, type, None if n is None else (n,), (axis,), norm, False)


@eager(static=("type", "n", "axis", "norm"))
def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
         ) -> Array:
    """The inverse of `dct` of the same type and norm. Source: `scipy.fft.idct`.

    >>> fft.idct(fft.dct(jnp.array([1., 2., 3.])))
    Array([1., 2., 3.], dtype=float32)
    """
    return _transform("idct", x, type, None if n is None else (n,), (axis,), norm, True)


@eager(static=("type", "s", "axes", "norm"))
def dctn(x: ArrayLike, type: int = 2, s: Sizes = None, axes: Sizes = None, norm: str | None = None
         ) -> Array:
    """The cosine transform along several axes: None for all, or for the last ones with sizes `s`.

    Source: `scipy.fft.dctn`.

    >>> fft.dctn(jnp.array([[1., 2.], [3., 5.]])).shape
    (2, 2)
    """
    return _transform("dctn", x, type, s, axes, norm, False)


@eager(static=("type", "s", "axes", "norm"))
def idctn(x: ArrayLike, type: int = 2, s: Sizes = None, axes: Sizes = None, norm: str | None = None
          ) -> Array:
    """The inverse of `dctn` of the same type and norm. Source: `scipy.fft.idctn`.

    >>> fft.idctn(fft.dctn(jnp.array([[1., 2.], [3., 4.]])))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _transform("idctn", x, type, s, axes, norm, True)


__all__ = ["dct", "dctn", "idct", "idctn"]
__dir__ = _shown(globals())
