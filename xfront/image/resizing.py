"""Resizes images, by resampling along some axes with filters."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import public as _public
from ..binding.annotations import Array, ArrayLike
from ..binding.tracebacks import front_door
from ..eager.operands import array_like, normalize_axis, shape_of
from ..lax.precision import Precision, PrecisionLike


class ResizeMethod(enum.Enum):
    """The way in which values between pixels are computed; `from_string` knows more names.

    >>> ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    >>> resize(jnp.array([0., 4.]), (4,), ResizeMethod.NEAREST)
    Array([0., 0., 4., 4.], dtype=float32)
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method named `s`. Raises: ValueError where no method has that name."""
        if not isinstance(s, str) or s not in _NAMES:
            raise ValueError(f"Unknown resize method {s!r}; it must be one of {', '.join(_NAMES)}")
        return _NAMES[s]


_NAMES = {"nearest": ResizeMethod.NEAREST,
          **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
          "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
          **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
          **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch", "tricubic-pytorch"),
                          ResizeMethod.CUBIC_PYTORCH),
          "area": ResizeMethod.AREA}


def _method(method: Any, antialias: bool) -> ResizeMethod:
    found = method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)
    return ResizeMethod.CUBIC if antialias and found is ResizeMethod.CUBIC_PYTORCH else found


# --- filters: functions of the distance to a pixel ------------------------------------------

def _triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def _lanczos(radius: float) -> Callable[[Any], Any]:
    return lambda x: jnp.where(x < radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)


def _keys(a: float) -> Callable[[Any], Any]:
    """Source: Keys, Cubic convolution interpolation for digital image processing, 1981."""
    def weight(x: Any) -> Any:
        near = (1 - x) * (1 + x - (a + 2) * x * x)
        far = a * (x - 1) * (x - 2) * (x - 2)
        return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))

    return weight


_FILTERS = {ResizeMethod.LINEAR: _triangle, ResizeMethod.LANCZOS3: _lanczos(3.0),
            ResizeMethod.LANCZOS5: _lanczos(5.0), ResizeMethod.CUBIC: _keys(-0.5),
            ResizeMethod.CUBIC_PYTORCH: _keys(-0.75)}


def _weights(n: int, places: Any, widths: Any, method: ResizeMethod, dtype: Any) -> Any:
    """The weight of each of n pixels (rows) in the values at `places` (columns).

    The weights are those of the filter, widened by `widths`. The weights of a value sum to 1, and
    pixels outside the image have none; PyTorch's cubic filter repeats the pixels at the edges.
    """
    places = jnp.asarray(places, dtype)[None]
    edge = 2 if method is ResizeMethod.CUBIC_PYTORCH else 0
    pixels = np.arange(-edge, n + edge)[:, None].astype(dtype)
    made = _FILTERS[method](jnp.abs(places - pixels) / jnp.asarray(widths, dtype))
    if edge and n:
        before, made, after = made[:edge], made[edge:n + edge], made[n + edge:]
        made = jnp.concatenate([made[:1] + jnp.sum(before, 0, keepdims=True), made[1:]])
        made = jnp.concatenate([made[:-1], made[-1:] + jnp.sum(after, 0, keepdims=True)])
    total = jnp.sum(made, 0, keepdims=True)
    there = jnp.abs(total) > 1000 * float(np.finfo(dtype).eps)
    made = jnp.where(there, made / jnp.where(there, total, 1), 0)
    return jnp.where((places >= -0.5) & (places <= n - 0.5), made, 0)


def _resampled(x: Any, weights: dict[int, Any], precision: Any) -> Any:
    """`x` with each axis multiplied by its matrix of weights, in float32 at least."""
    dtype = x.dtype
    for axis, matrix in weights.items():
        made = jnp.tensordot(x.astype(jnp.promote_types(dtype, matrix.dtype)), matrix,
                             axes=(axis, 0), precision=precision)
        x = jnp.moveaxis(made, -1, axis)
    return x.astype(dtype)


def _image(name: str, image: Any, inexact: bool) -> Any:
    x = jnp.asarray(array_like(name, image))
    if inexact and not jnp.issubdtype(x.dtype, jnp.inexact):
        return x.astype(jnp.result_type(x.dtype, float))
    return x


def _real(dtype: Any) -> Any:
    """The dtype of the weights for an image: that of its real part, at least float32."""
    return np.dtype(jnp.promote_types(jnp.finfo(dtype).dtype, np.float32))


def _precision(name: str, precision: Any) -> Any:
    if isinstance(precision, str):
        Precision(precision)                       # refuses unknown names
    elif precision is not None and not isinstance(precision, Precision):
        raise TypeError(f"{name}: precision must be a Precision, a name or None, got "
                        f"{precision!r}")
    return precision


# --- public ---------------------------------------------------------------------------------

@front_door
def resize(image: ArrayLike, shape: Sequence[int], method: str | ResizeMethod,
           antialias: bool = True, precision: PrecisionLike = Precision.HIGHEST) -> Array:
    """An image scaled to `shape`. Its pixels count as squares of size 1.

    Args:
      image: array of any rank; integers and bools become floats, unless the method is "nearest".
      shape: the new size of every axis.
      method: a `ResizeMethod` or its name: "nearest"; "linear" ("bilinear", "trilinear",
        "triangle"); "cubic" ("bicubic", "tricubic"), Keys' with a = -1/2; "cubic-pytorch", the same
        with `antialias` and with a = -3/4 without; "lanczos3"; "lanczos5"; "area", the mean over
        the area of the new pixel.
      antialias: whether the filter is widened where the image shrinks, so that no pixel is left
        out.
      precision: precision of the products with weights.
    Returns: array of `shape`; its dtype is the image's, or the float of an integer image.
    Raises: ValueError for another number of axes, an axis of size 0 that grows, or an unknown
      method.
    Source: Heckbert, Fundamentals of texture mapping and image warping, 1989; Keys, 1981.

    >>> resize(jnp.array([0.0, 1.0]), (4,), "linear")
    Array([0.  , 0.25, 0.75, 1.  ], dtype=float32)
    """
    kind, precision = _method(method, antialias), _precision("resize", precision)
    x = _image("resize", image, kind is not ResizeMethod.NEAREST)
    sizes = shape_of(shape)
    if len(sizes) != x.ndim:
        raise ValueError("resize: shape must have length equal to the number of dimensions of the "
                         f"image; got shape {sizes} for an image of shape {x.shape}")
    changed = [axis for axis in range(x.ndim) if x.shape[axis] != sizes[axis]]
    for axis in changed:
        if not x.shape[axis]:
            raise ValueError(f"resize: axis {axis} has size 0, so it cannot be resized to "
                             f"{sizes[axis]}")
    if kind is ResizeMethod.NEAREST:
        for axis in changed:
            n, m = x.shape[axis], sizes[axis]
            x = jnp.take(x, (2 * np.arange(m) + 1) * n // (2 * m), axis=axis, mode="clip")
        return x
    weights, dtype = {}, _real(x.dtype)
    for axis in changed:
        n, m = x.shape[axis], sizes[axis]
        if kind is ResizeMethod.AREA:
            weights[axis] = _areas(n, m, dtype)
            continue
        places = (np.arange(m) + 0.5) * n / max(m, 1) - 0.5
        width = max(n / max(m, 1), 1.0) if antialias else 1.0
        weights[axis] = _weights(n, places, width, kind, dtype)
    return _resampled(x, weights, precision)


def _areas(n: int, m: int, dtype: Any) -> np.ndarray:
    """The share of each of n pixels in the mean over each of m intervals of equal length."""
    edges = np.arange(m + 1) * (n / max(m, 1))
    pixels = np.arange(n)[:, None]
    covered = np.minimum(edges[1:], pixels + 1) - np.maximum(edges[:-1], pixels)
    return (np.maximum(covered, 0) / (n / max(m, 1))).astype(dtype)


@front_door
def scale_and_translate(image: ArrayLike, shape: Sequence[int], spatial_dims: Sequence[int],
                        scale: ArrayLike, translation: ArrayLike, method: str | ResizeMethod,
                        antialias: bool = True, precision: PrecisionLike = Precision.HIGHEST
                        ) -> Array:
    """An image stretched and moved: the coordinate x of an axis goes to `x * scale + translation`.

    Coordinates count from the edge of the first pixel, whose middle is at 1/2. Values from outside
    the image are 0.

    Args:
      image: array of any rank; integers and bools become floats.
      shape: the size of every axis of the result.
      spatial_dims: the axes that are resampled.
      scale, translation: vectors with a number for each of these axes; both have derivatives.
      method, antialias, precision: as for `resize`, without the methods "nearest" and "area".
    Returns: array of `shape`; its dtype is the image's, or the float of an integer image.
    Raises: ValueError for other numbers of axes or factors, for axes that are out of range or occur
      twice, for axes not in `spatial_dims` whose size changes, and for "nearest" and "area".
    Source: as `resize`.

    >>> x, by, to = jnp.array([0.0, 1.0]), jnp.array([2.0]), jnp.array([0.0])
    >>> scale_and_translate(x, (4,), (0,), by, to, "linear")
    Array([0.  , 0.25, 0.75, 1.  ], dtype=float32)
    """
    name = "scale_and_translate"
    kind, precision = _method(method, antialias), _precision(name, precision)
    if kind not in _FILTERS:
        raise ValueError(f"{name}: the method {kind.name.lower()!r} is not supported; use resize, "
                         "or a method with a filter")
    x = _image(name, image, True)
    sizes = shape_of(shape)
    if len(sizes) != x.ndim:
        raise ValueError(f"{name}: shape must have length equal to the number of dimensions of the "
                         f"image; got shape {sizes} for an image of shape {x.shape}")
    axes = [normalize_axis(name, axis, x.ndim) for axis in spatial_dims]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: spatial_dims must be distinct, got {tuple(spatial_dims)}")
    for axis in range(x.ndim):
        if axis not in axes and sizes[axis] != x.shape[axis]:
            raise ValueError(f"{name}: axis {axis} is not in spatial_dims, so its size cannot "
                             f"change from {x.shape[axis]} to {sizes[axis]}")
    dtype = _real(x.dtype)
    vectors = [jnp.asarray(array_like(name, v, which), dtype)
               for v, which in ((scale, "scale"), (translation, "translation"))]
    for v, which in zip(vectors, ("scale", "translation"), strict=True):
        if v.shape != (len(axes),):
            raise ValueError(f"{name}: {which} must have one number for each of spatial_dims, that "
                             f"is shape {(len(axes),)}, got shape {v.shape}")
    weights = {}
    for i, axis in enumerate(axes):
        back = 1 / vectors[0][i]
        middles = (np.arange(sizes[axis]) + 0.5).astype(dtype)
        places = (middles - vectors[1][i]) * back - 0.5
        widths = jnp.maximum(back, 1) if antialias else 1.0
        weights[axis] = _weights(x.shape[axis], places, widths, kind, dtype)
    return _resampled(x, weights, precision)


__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
_public("xfront.image", globals())
