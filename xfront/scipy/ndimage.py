"""Values of images between their pixels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..binding.annotations import ArrayLike
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager
from ..eager.operands import array_like, default_float, index_of, operand


def _mirrored(i: Any, n: int) -> Any:
    period = max(2 * (n - 1), 1)
    return jnp.abs((i + (n - 1)) % period - (n - 1))


def _reflected(i: Any, n: int) -> Any:
    return jnp.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n))


_INSIDE: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda i, n: i, "nearest": lambda i, n: jnp.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n, "mirror": _mirrored, "reflect": _reflected,
}
"""By mode: the pixel that an index stands for, inside or outside of the image."""


@front_door
def map_coordinates(input: ArrayLike, coordinates: Sequence[Any], order: int,
                    mode: str = "constant", cval: ArrayLike = 0.0) -> Any:
    """The values of an image at coordinates in pixels, where 0 is the middle of the first pixel.

    Args:
      coordinates: a sequence with an array for each axis of `input`; the arrays broadcast.
      order: 0 for the nearest pixel (halves go away from zero), 1 for values between pixels on
        straight lines.
      mode: the values outside the image: "constant" for `cval`, "nearest" for the pixel at the
        edge, "wrap" for the image repeated, "mirror" and "reflect" for the image mirrored at the
        middle of the pixel at the edge and at the edge itself.
      cval: the number outside the image; for order 1, values between it and the pixels at the edge
        are interpolated too.
    Returns: array in the shape of the coordinates and of input's dtype; integers are rounded.
    Raises: ValueError where there is not one array for each axis, and for an image without pixels
      unless the mode is "constant"; NotImplementedError for other orders and modes.
    Source: `scipy.ndimage.map_coordinates`.

    >>> image = jnp.array([[1., 2.], [3., 4.]])
    >>> ndimage.map_coordinates(image, [jnp.array([0., 0.5]), jnp.array([1., 0.5])], order=1)
    Array([2. , 2.5], dtype=float32)
    """
    if index_of(order, "map_coordinates: order") not in (0, 1):
        raise NotImplementedError(f"map_coordinates: only order=0 and order=1 are supported, got "
                                  f"{order}")
    if mode not in _INSIDE:
        raise NotImplementedError(f"map_coordinates: mode={mode!r} is not supported; it must be "
                                  f"one of {', '.join(_INSIDE)}")
    image = array_like("map_coordinates", input)
    given = [array_like("map_coordinates", x, "coordinates") for x in coordinates]
    if len(given) != np.ndim(image):
        raise ValueError("map_coordinates: coordinates must be a sequence of length input.ndim, "
                         f"but {len(given)} != {np.ndim(image)}; give one array for each axis")
    return _values(image, given, cval, index_of(order), mode)


@eager(static=("order", "mode"))
def _values(image: Any, coordinates: Any, cval: Any, order: int, mode: str) -> Any:
    x = operand("map_coordinates", image)
    outside = operand("map_coordinates", cval).astype(x.dtype)
    shape = jnp.broadcast_shapes(*[np.shape(c) for c in coordinates])
    if not x.size:
        if mode != "constant" and math.prod(shape):
            raise ValueError(f"map_coordinates: an image of shape {x.shape} has no pixels to take "
                             f"for mode={mode!r}; mode='constant' gives cval everywhere")
        return jnp.broadcast_to(outside, shape)
    inexact = jnp.issubdtype(x.dtype, jnp.inexact)
    dtype = x.dtype if inexact else default_float().numpy
    sides: list[list[tuple[Any, Any, Any]]] = []
    for axis, given in enumerate(coordinates):
        at, n = operand("map_coordinates", given), x.shape[axis]
        places: list[tuple[Any, Any]] = [(at, None)]
        if jnp.issubdtype(at.dtype, jnp.floating):
            if order == 0:
                places = [(jnp.where(at < 0, jnp.ceil(at - 0.5), jnp.floor(at + 0.5)), None)]
            else:
                below = jnp.floor(at)
                places = [(below, 1 - (at - below)), (below + 1, at - below)]
        elif not jnp.issubdtype(at.dtype, jnp.integer):
            raise TypeError(f"map_coordinates: coordinates must be floats or integers, got "
                            f"{at.dtype}")
        side = []
        for place, weight in places:
            i = place.astype(jnp.result_type(int))
            there = (i >= 0) & (i < n) if mode == "constant" else True
            side.append((_INSIDE[mode](i, n), weight, there))
        sides.append(side)
    made: Any = 0
    for corner in itertools.product(*sides):
        value, weight = x[tuple([i for i, _, _ in corner])], None
        for _, w, there in corner:
            if there is not True:
                value = jnp.where(there, value, outside)
            if w is not None:
                weight = w if weight is None else weight * w
        value = value.astype(dtype) if weight is None else value.astype(dtype) * weight
        made = made + value
    if not inexact:
        made = jnp.where(made < 0, jnp.ceil(made - 0.5), jnp.floor(made + 0.5))
    return jnp.broadcast_to(jnp.asarray(made), shape).astype(x.dtype)


__all__ = ["map_coordinates"]
__dir__ = _shown(globals())
