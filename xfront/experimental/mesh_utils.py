"""Arrays of devices for meshes.

Devices are in the order in which the client lists them: nothing here looks at how the chips of a
platform are wired.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.on_demand import shown as _shown
from ..binding.tracebacks import front_door
from ..eager.devices import devices as all_devices
from ..values.arguments import only


@front_door
def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                       contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """Devices in the shape of a mesh, for `sharding.Mesh`.

    Args:
      mesh_shape: size of each axis, a sequence of ints.
      devices: sequence of devices; None takes all devices of the default platform.
      contiguous_submeshes: False only; nothing here looks at how chips are wired.
      allow_split_physical_axes: a permission that is not needed here and changes nothing.
    Returns: NumPy array of devices, of shape `mesh_shape`.
    Raises: ValueError where the number of devices is not the product of the sizes;
      NotImplementedError for `contiguous_submeshes`.

    >>> from xfront.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1, 1), xfront.devices()[:1]).shape
    (1, 1)
    """
    only("create_device_mesh", False, "devices always keep the order of the client",
         contiguous_submeshes=contiguous_submeshes)
    found = list(all_devices() if devices is None else devices)
    shape = tuple(int(n) for n in mesh_shape)
    if math.prod(shape) != len(found):
        raise ValueError(f"Number of devices {len(found)} must equal the product of mesh_shape "
                         f"{shape}")
    made = np.empty(len(found), object)
    made[:] = found
    return made.reshape(shape)


@front_door
def create_hybrid_device_mesh(
    mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int], devices: Sequence[Any] | None = None,
    *, process_is_granule: bool = False, should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Devices in the shape of a mesh whose axes are each divided over slow and fast networks.

    Args:
      mesh_shape: size of each axis within a granule, a sequence of ints.
      dcn_mesh_shape: size of each axis over the granules, a sequence of the same length.
      devices: sequence of devices; None takes all devices of the default platform.
      process_is_granule: whether a granule is a process; by default it is a slice, the devices with
        the same `slice_index`.
      should_sort_granules_by_key: whether granules stand in the order of their numbers, as by
        default; else they stand in the order of `devices`.
      allow_split_physical_axes: a permission that is not needed here and changes nothing.
    Returns: NumPy array of devices, whose shape is the elementwise product of both shapes; the
      devices of a granule are next to one another along each axis.
    Raises: ValueError where the numbers of granules, or of devices in one, do not fit the shapes,
      where the shapes differ in length, or where devices have no `slice_index`.

    >>> devices = xfront.devices()[:1]
    >>> mesh_utils.create_hybrid_device_mesh((1,), (1,), devices, process_is_granule=True).shape
    (1,)
    """
    mesh_shape, dcn_mesh_shape = tuple(mesh_shape), tuple(dcn_mesh_shape)
    if len(mesh_shape) != len(dcn_mesh_shape):
        raise ValueError(f"mesh_shape {mesh_shape} and dcn_mesh_shape {dcn_mesh_shape} must have "
                         "the same number of axes")
    found = list(all_devices() if devices is None else devices)
    key = "process_index" if process_is_granule else "slice_index"
    if any(not hasattr(d, key) for d in found):
        raise ValueError(f"device {found[0]} has no attribute {key!r}; pass "
                         "process_is_granule=True to divide devices by process")
    granules: dict[int, list[Any]] = {}
    for device in found:
        granules.setdefault(getattr(device, key), []).append(device)
    keys = sorted(granules) if should_sort_granules_by_key else list(granules)
    if len(keys) != math.prod(dcn_mesh_shape):
        raise ValueError(f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape "
                         f"{dcn_mesh_shape}")
    parts = np.stack([create_device_mesh(
        mesh_shape, granules[k], allow_split_physical_axes=allow_split_physical_axes)
        for k in keys])
    outer = parts.reshape(*dcn_mesh_shape, *mesh_shape)
    n = len(mesh_shape)
    paired = outer.transpose([axis for i in range(n) for axis in (i, n + i)])
    return paired.reshape([a * b for a, b in zip(dcn_mesh_shape, mesh_shape, strict=True)])


__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
__dir__ = _shown(globals())
