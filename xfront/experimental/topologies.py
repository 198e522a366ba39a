"""Descriptions of devices that need not be present, to compile programs for.

    topology = get_topology_desc("v5e:2x2", "tpu")
    mesh = make_mesh(topology, (2, 2), ("x", "y"))
    jit(f, in_shardings=NamedSharding(mesh, P("x"))).lower(shape).compile().as_text()

`jit(f).lower(x).compile(topology="v5e:2x2")` does the same for a program that names no device.
docs/accelerators.md has the names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from lowering import clients
from lowering.topologies import described

from ..base.on_demand import shown as _shown
from ..binding import Device
from ..sharding.mesh import Mesh
from ..values.arguments import only


class TopologyDescription:
    """A description of devices; `devices` is their list.

    >>> topologies.TopologyDescription(xfront.devices()[:1]).devices
    [CpuDevice(id=0)]
    """

    __slots__ = ("devices",)

    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices

    def __repr__(self) -> str:
        return f"TopologyDescription({self.devices})"


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices that are present, including those of other processes.

    Args:
      platform: name of a platform: `cpu`, `gpu`, `cuda` or `tpu`; None means the default one.
    Raises: RuntimeError where the platform cannot be used.

    >>> len(topologies.get_attached_topology("cpu").devices) == xfront.device_count("cpu")
    True
    """
    return TopologyDescription(list(clients.client(platform).devices()))


def get_topology_desc(topology_name: str = "", platform: str | None = None, **kwargs: Any
                      ) -> TopologyDescription:
    """The described devices, which need not be present; only their plugin must be installed.

    Args:
      topology_name: name of a TPU with its layout, such as `v5e:2x2` or `v5p:2x2x1`, or of a GPU
        with numbers of slices, hosts and devices, such as `h100` or `h100:1x1x4`. With neither a
        name nor a platform, the result describes the devices that are present.
      platform: `tpu`, `cuda` or `gpu`; None means the platform of the name.
      kwargs: further options of the plugin: `chips_per_host_bounds` for TPUs, `target_config`
        (XLA's `GpuTargetConfigProto` as text) and `topology` for GPUs.
    Raises: ValueError for an unknown name; NotImplementedError for other platforms; RuntimeError
      where the plugin is not installed; JaxRuntimeError where it refuses the description.

    >>> topologies.get_topology_desc(platform="cpu")
    Traceback (most recent call last):
        ...
    NotImplementedError: topology not implemented for cpu, only for tpu and cuda
    """
    if not topology_name and not kwargs and platform is None:
        return get_attached_topology()
    return TopologyDescription(list(described(topology_name, platform, kwargs).devices))


def make_mesh(topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: tuple[str, ...], *,
              contiguous_submeshes: bool = False) -> Mesh:
    """A mesh of all devices of a topology, in their order, with automatic axes.

    Args:
      topo: the description that `get_topology_desc` returned.
      mesh_shape, axis_names: an int and a string for each axis, its size and its name.
      contiguous_submeshes: False only; devices stay in their order.
    Raises: ValueError where the product of the sizes is not the number of devices;
      NotImplementedError for `contiguous_submeshes`.

    >>> here = topologies.TopologyDescription(xfront.devices()[:1])
    >>> topologies.make_mesh(here, (1,), ("rows",)).axis_names
    ('rows',)
    """
    only("make_mesh", False, "devices always keep their own order",
         contiguous_submeshes=contiguous_submeshes)
    shape = tuple(mesh_shape)
    if math.prod(shape) != len(topo.devices):
        raise ValueError(f"Number of devices {len(topo.devices)} must equal the product of "
                         f"mesh_shape {shape}")
    return Mesh(np.array(topo.devices, object).reshape(shape), axis_names)


__all__ = ["Device", "TopologyDescription", "get_attached_topology", "get_topology_desc",
           "make_mesh"]
__dir__ = _shown(globals())
