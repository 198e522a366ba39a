"""What the signatures of public functions are written with."""

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
    PrecisionLike = "PrecisionLike"              # lax stands on this file


class SupportsDType(Protocol):
    """What has a dtype: an array, or a description of one."""

    @property
    def dtype(self) -> Any:
        """The dtype."""
        ...


class SupportsShape(SupportsDType, Protocol):
    """What has a shape and a dtype: an array, or a description of one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        ...


ArrayLike: TypeAlias = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
"""What a public function takes for an array: an Array, a NumPy array or scalar, a number."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
"""What names a dtype: a scalar type of `xfront.numpy` or of NumPy, a dtype, or its name."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""A shape: sizes, or one size."""

AxisLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
"""An axis, axes, or None for all (or for none, as the function says)."""

ModeLike: TypeAlias = "str | GatherScatterMode | None"
"""What becomes of indices outside of an array."""

ShardingLike: TypeAlias = "Sharding | PartitionSpec | None"
"""Where a result lies: a sharding, a spec on the mesh in context, or None for as it comes."""

DeviceLike: TypeAlias = "Device | Sharding | None"
"""Where an array is put: a device, a sharding, or None for the default."""

__all__ = ["Array", "ArrayLike", "AxisLike", "DTypeLike", "DeviceLike", "ModeLike", "PrecisionLike",
           "ShapeLike", "ShardingLike", "SupportsDType", "SupportsShape"]
