"""Moves arrays of several processes from one sharding to another, by a program that copies."""

from __future__ import annotations

import functools
from typing import Any

from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import tensor

from ..binding import AbstractArray, ArrayImpl
from ..running.compiled import Compiled
from ..running.compiling import compile_body
from ..running.keys import emptied
from ..sharding.spread import spread_over
from .operands import from_numpy


def move(x: ArrayImpl, sharding: Any) -> ArrayImpl:
    """The array with another sharding of the same devices; every process of these must call it.

    Raises: ValueError where the sharding has other devices, or has them in another order.
    """
    there = x._sharding
    if there._internal_device_list != sharding._internal_device_list:
        raise ValueError(
            "an array of several processes can only be moved between shardings of the same devices "
            f"in the same order; it has {there}, but {sharding} was requested. Use "
            "multihost_utils.process_allgather to get its value in every process")
    [moved] = _program(x.aval, there, sharding).run([x], True)
    return moved


@functools.lru_cache(maxsize=1024)
def _program(aval: AbstractArray, source: Any, target: Any) -> Compiled:
    b = PlacedBuilder("move")
    made = b.param(tensor(aval.shape, from_numpy(aval.dtype)))
    mesh = getattr(target, "mesh", None) or source.mesh
    place: Any = spread_over(mesh, [source], [target])
    return compile_body(b.close([made], [aval.weak_type]), name="move", place=place)


emptied(_program.cache_clear)

__all__ = ["move"]
