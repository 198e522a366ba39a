"""Arrays on many devices: meshes, specs, shardings, and the mesh in context (docs/sharding.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from ..binding.partition_spec import PartitionSpec, UnreducedKind
    from ..transforms.axis_modes import auto_axes, explicit_axes, reshard
    from .context import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
    from .mesh import AbstractDevice, AbstractMesh, AxisType, ManualAxisType, Mesh
    from .named import (
        NamedSharding,
        Sharding,
        SingleDeviceSharding,
        make_single_device_sharding,
    )

    __all__ = [  # the names of this package for type checkers
        "AbstractDevice", "AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec",
        "Sharding", "SingleDeviceSharding", "UnreducedKind", "auto_axes", "explicit_axes",
        "get_abstract_mesh",
        "get_mesh", "make_single_device_sharding", "reshard", "set_mesh", "use_abstract_mesh",
    ]  # fmt: skip

_FAMILIES = {
    ".binding.partition_spec": "PartitionSpec UnreducedKind",
    ".transforms.axis_modes": "auto_axes explicit_axes reshard",
    "context": "get_abstract_mesh get_mesh set_mesh use_abstract_mesh",
    "mesh": "AbstractDevice AbstractMesh AxisType ManualAxisType Mesh",
    "named": "NamedSharding Sharding SingleDeviceSharding make_single_device_sharding",
}

__all__, __getattr__, __dir__ = _on_demand(__name__, _FAMILIES)
