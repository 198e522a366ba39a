"""Arguments and results of `pmap` where its devices belong to several processes.

Each process passes the elements for its own devices, and gets the results of these back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import binding
from ..binding.partition_spec import PartitionSpec, axes_of
from ..sharding.assembly import make_array_from_single_device_arrays
from ..sharding.mesh import Mesh
from ..sharding.named import NamedSharding
from ..values.keys import KeyArray


def local_part(mesh: Mesh) -> Mesh | None:
    """The mesh of those devices of `mesh`, which has one axis, that belong to this process, in the
    same order; None if none does."""
    own = [d for d in mesh.devices.flat if d.process_index == d.client.process_index()]
    return Mesh(np.array(own, object), mesh.axis_names) if own else None


def is_of_several(x: Any) -> bool:
    """Whether a value is an array of several processes."""
    x = x._base if type(x) is KeyArray else x
    return isinstance(x, binding.ArrayImpl) and not x.is_fully_addressable


def joined(x: Any, mesh: Mesh, local: Mesh, spec: PartitionSpec) -> Any:
    """An argument as one array on the mesh of all processes.

    Args:
      x: an array or number that holds the elements of this process, or the same value in every
        process if `spec` names no axis. An array of several processes already holds all elements.
      mesh, local: the mesh, and the mesh of this process's devices in it.
    """
    if type(x) is KeyArray:
        return KeyArray(x._ir, joined(x._base, mesh, local, spec))
    if is_of_several(x):
        return binding.put(x, NamedSharding(mesh, spec))
    placed = binding.put(x, NamedSharding(local, spec), type(x) in (int, float, complex))
    return _of_parts(placed, mesh, spec, lambda n: n // local.size * mesh.size)


def own_part(x: Any, mesh: Mesh, local: Mesh) -> Any:
    """The elements of this process of a result on the whole mesh."""
    if type(x) is KeyArray:
        return KeyArray(x._ir, own_part(x._base, mesh, local))
    return _of_parts(x, local, x.sharding.spec, lambda n: n // mesh.size * local.size)


def _of_parts(x: Any, mesh: Mesh, spec: PartitionSpec, length: Callable[[int], int]) -> Any:
    """The array on another mesh that has the same parts on the devices of this process."""
    divided = [bool(axes_of(entry)) for entry in spec]
    shape = [length(n) if i < len(divided) and divided[i] else n for i, n in enumerate(x.shape)]
    made = make_array_from_single_device_arrays(
        shape, NamedSharding(mesh, spec), [s.data for s in x.addressable_shards])
    return binding.rewrap(made, weak=True) if x.aval.weak_type else made


__all__ = ["is_of_several", "joined", "local_part", "own_part"]
