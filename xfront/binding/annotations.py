"""Type annotations for the signatures of public functions."""

from __future__ import annotations

from typing import TypeAlias

from . import Array, Device, Sharding
from .likes import AxisLike, DTypeLike, NumberLike, ShapeLike, SupportsDType, SupportsShape
from .partition_spec import PartitionSpec

ArrayLike: TypeAlias = Array | NumberLike
"""Values that are accepted as an array: an Array, a NumPy array or scalar, a number."""

ShardingLike: TypeAlias = Sharding | PartitionSpec | None
"""Where a result lies: a sharding, a spec on the mesh in context, or None for no preference."""

DeviceLike: TypeAlias = Device | Sharding | None
"""Where an array is put: a device, a sharding, or None for the default."""

__all__ = ["Array", "ArrayLike", "AxisLike", "DTypeLike", "DeviceLike", "ShapeLike", "ShardingLike",
           "SupportsDType", "SupportsShape"]
