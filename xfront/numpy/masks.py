"""`x.at[mask]` for traced masks: updates whose shape does not depend on the mask."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import NonConcreteBooleanIndexError
from ..running.concrete import may_be_known
from ..tracing.tracer import Tracer
from .ufuncs import where


class Mask(NamedTuple):
    """A traced mask in an index of whole axes, and the axis of the array where it begins."""

    value: Tracer
    axis: int


def traced_mask(x: Any, index: Any) -> Mask | None:
    """The traced mask in an index that has only whole axes beside it; None for other indices.

    Raises: IndexError where it does not fit the array.
    """
    if type(index) is Tracer:
        index = (index,)
    elif type(index) is not tuple:
        return None
    if not any([_is_unknown(part) for part in index]):
        return None
    axis, found, ndim = 0, None, len(x.shape)
    for i, part in enumerate(index):
        if found is None and _is_unknown(part):
            found, axis = Mask(part, axis), axis + part.ndim
        elif part is Ellipsis:
            taken = sum(p.ndim if _is_unknown(p) else 1 for p in index[i + 1:])
            axis = ndim - taken
        elif isinstance(part, slice) and part == slice(None):
            axis += 1
        else:
            return None
    if found is None or axis > ndim:
        return None
    covered = x.shape[found.axis: found.axis + found.value.ndim]
    if found.value.shape != covered:
        raise IndexError(f"boolean index of shape {found.value.shape} does not match the shape "
                         f"{covered} of the axes of the array that it covers, starting at axis "
                         f"{found.axis}")
    return found


def _is_unknown(part: Any) -> bool:
    return (type(part) is Tracer and part.value.type.dtype.kind == "bool"
            and not may_be_known(part))


def _instead(how: str, own: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Advice for an error: code to write instead, if values of shape `own` fit only some masks of
    `shape`."""
    update = f"x.at[...].{how}(values)"
    if own == shape:
        return (f"The values have the array's shape: write jnp.where(mask, {update}, x) to take "
                "those where the mask is true")
    return (f"The values, of shape {own}, have one entry for each true element: write "
            f"x.at[jnp.nonzero(mask, size=n, fill_value=x.shape[0])].{how}(values) for a known "
            "number n of true elements, or jnp.where(mask, y, x) with y of the array's shape "
            f"{shape}")


_NEUTRAL = {"divide": 1, "power": 1}
"""Values used outside of the mask, where other values might give infinite derivatives."""


def masked(x: Any, mask: Mask, values: Any, how: str, write: Any) -> Any:
    """`x` with values set, added, ... where a mask is true.

    Args:
      values: of a shape that does not depend on how many places there are.
      write: the same for the whole array.
    Raises: NonConcreteBooleanIndexError where there is a value for each place.
    """
    shape, ndim = x.shape, len(x.shape)
    behind = ndim - mask.axis - mask.value.ndim
    own = tuple(np.shape(values)) if not hasattr(values, "shape") else values.shape
    if len(own) > behind:
        if own[len(own) - behind - 1] != 1:
            raise NonConcreteBooleanIndexError(mask.value, instead=_instead(how, own, shape))
        own = (*own[:len(own) - behind - 1], *(1,) * mask.value.ndim, *own[len(own) - behind:])
        values = values.reshape(own) if math.prod(own) else values
    flags = mask.value.reshape((1,) * mask.axis + mask.value.shape + (1,) * behind)
    if how in _NEUTRAL:
        values = where(flags, values, _NEUTRAL[how])
    made = write(x, Ellipsis, values)
    assert made.shape == shape
    return where(flags, made, x)
