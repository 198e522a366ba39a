"""How a program is divided between devices, and Shardy's text for meshes and shardings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from xfront_ir.sharding import MeshAxes, Sharding, Spec
from xfront_ir.types import TensorType

MESH = "mesh"
"""The symbol of a module's first mesh."""
FIRST_DEVICE = MeshAxes((), ())
"""Stands for a mesh of the program's first device alone."""


class Partition(NamedTuple):
    """How a program is divided between devices. Its repr is stable, so it can be part of a key.

    `params` and `results` have a sharding for each parameter and result of the program, or None
    where the compiler chooses; where they are empty it chooses all. `mesh` is the mesh over which
    values from the host are replicated.
    """

    num_replicas: int = 1
    num_partitions: int = 1
    params: tuple[Sharding | None, ...] = ()
    results: tuple[Sharding | None, ...] = ()
    mesh: MeshAxes | None = None


def mesh_text(mesh: MeshAxes) -> str:
    """`<["x"=4, "y"=2]>`: what follows `#sdy.mesh`."""
    if mesh == FIRST_DEVICE:
        return "<[], device_ids=[0]>"
    axes = ", ".join([f"{_quoted(n)}={s}" for n, s in zip(mesh.names, mesh.sizes, strict=True)])
    return f"<[{axes}]>"


@lru_cache(maxsize=4096)
def sharding_text(symbol: str, spec: Spec, type: TensorType, whole: tuple[str, ...] = ()) -> str:
    """`<@mesh, [{"x"}, {}]>`: what follows `#sdy.sharding`, for a value of `type`.

    The words of a key have dimensions of their own, which are not divided. Axes in `whole` do not
    divide open dimensions either.
    """
    dims = []
    for i, axes in enumerate(spec.dims):
        names = [*map(_quoted, axes), *["?"] * (i in spec.open)]
        dims.append("{" + ", ".join(names) + "}")
    dims += ["{}"] * len(type.dtype.physical)
    unreduced = f", unreduced={{{', '.join(map(_quoted, spec.unreduced))}}}" * bool(spec.unreduced)
    kept = f", replicated={{{', '.join(map(_quoted, whole))}}}" * bool(whole)
    return f"<@{symbol}, [{', '.join(dims)}]{kept}{unreduced}>"


def check_parted(meshes: Iterable[MeshAxes], parted: Iterable[tuple[MeshAxes, Sequence[str]]]
                 ) -> None:
    """Refuse a `shard_map` over some axes of a mesh that are parts of an axis of another mesh.

    Shardy writes a program for one of its meshes, that with the most axes and the first of several,
    and ends the process there.

    Args:
      meshes: those of a module, the first one last.
      parted: of each such `shard_map` the mesh and the axes.
    Raises: NotImplementedError.
    """
    chosen = None
    for mesh in meshes:
        if chosen is None or len(mesh.names) >= len(chosen.names):
            chosen = mesh
    for mesh, axes in parted:
        if chosen is None or all([{*_span(mesh, a)} <= {*_bounds(chosen)} for a in axes]):
            continue
        raise NotImplementedError(
            f"shard_map over {', '.join(map(repr, axes))} of {mesh.abstract} in a program that "
            f"also names {chosen.abstract}: XLA cannot write a part of one axis as another. Let "
            "the function have all axes of the mesh, or use one mesh for all of the program")


def _bounds(mesh: MeshAxes) -> list[int]:
    """The number of devices that one step along each axis passes over, and the total number."""
    return [math.prod(mesh.sizes[i:]) for i in range(len(mesh.sizes) + 1)]


def _span(mesh: MeshAxes, axis: str) -> list[int]:
    at = mesh.names.index(axis)
    return _bounds(mesh)[at:at + 2]


def _quoted(name: str) -> str:
    return json.dumps(name)


__all__ = ["FIRST_DEVICE", "MESH", "Partition", "check_parted", "mesh_text", "sharding_text"]
