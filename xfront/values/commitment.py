"""Commitment: the sharding to which an argument is committed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binding import ArrayImpl, NamedSharding, SingleDeviceSharding
from .keys import KeyArray


class Promised:
    """A stand-in for an argument that will be committed: for a program that is compiled before its
    call, or for a sharding given to `jit`. `what` names it in errors if it is no argument."""

    __slots__ = ("aval", "sharding", "what")

    def __init__(self, aval: Any, sharding: Any, what: str = "") -> None:
        self.aval, self.sharding, self.what = aval, sharding, what


def commitment(x: Any) -> Any:
    """The sharding to which an argument is committed, or None."""
    kind = type(x)
    if kind is KeyArray:
        x = x._base
    elif kind is not ArrayImpl:
        return x.sharding if kind is Promised else None
    return x._sharding if x._committed else None


def has_devices(sharding: Any) -> bool:
    """Whether a sharding is given, and not on an abstract mesh."""
    mesh = getattr(sharding, "mesh", None)
    return sharding is not None and (mesh is None or bool(mesh.axes.devices))


def beside(x: Any, shape: tuple[int, ...]) -> Any:
    """The sharding of an array of `shape` that is made like `x`, or None where `x` has none.

    It is the sharding of `x` if that fits. Else, if `x` lies on several devices, the new array is
    replicated on them.
    """
    found = commitment(x)
    if type(x).__name__ == "ShapeDtypeStruct" and has_devices(x.sharding):
        found = x.sharding
    if found is None or type(found) is SingleDeviceSharding or tuple(np.shape(x)) == tuple(shape):
        return found
    return found.update(spec=type(found.spec)()) if type(found) is NamedSharding else None
