"""Type annotations for the signatures of public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias

import numpy as np

from .binding import Array, Device, Sharding

if TYPE_CHECKING:
    from ..lax.gathering import GatherScatterMode
    from ..lax.precision import PrecisionLike as PrecisionLike
    from ..sharding.partition_spec import PartitionSpec
else:
    PrecisionLike = "PrecisionLike"              # lax imports this file


class SupportsDType(Protocol):
    """An object with a dtype: an array, or a description of one."""

    @property
    def dtype(self) -> Any:
        """The dtype."""
        ...


class SupportsShape(SupportsDType, Protocol):
    """An object with a shape and a dtype: an array, or a description of one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        ...


ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
"""Values that are accepted as an array: an Array, a NumPy array or scalar, a number."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
"""Values that name a dtype: a scalar type of `xfront.numpy` or of NumPy, a dtype, or its name."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""A shape: a sequence of sizes, or one size."""

AxisLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
"""An axis, axes, or None for all (or for none, as the function says)."""

ModeLike: TypeAlias = "str | GatherScatterMode | None"
"""How indices outside an array are treated."""

ShardingLike: TypeAlias = "Sharding | PartitionSpec | None"
"""Where a result lies: a sharding, a spec on the mesh in context, or None for no preference."""

DeviceLike: TypeAlias = "Device | Sharding | None"
"""Where an array is put: a device, a sharding, or None for the default."""

__all__ = ["Array", "ArrayLike", "AxisLike", "DTypeLike", "DeviceLike", "ModeLike", "PrecisionLike",
           "ShapeLike", "ShardingLike", "SupportsDType", "SupportsShape"]
