"""Type annotations that need no class of xfront: shapes, axes, dtypes, numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias

import numpy as np


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


NumberLike: TypeAlias = np.ndarray | np.bool_ | np.number | bool | int | float | complex
"""Values of NumPy and Python that are accepted as an array."""

DTypeLike: TypeAlias = str | type[Any] | np.dtype | SupportsDType
"""Values that name a dtype: a scalar type of `xfront.numpy` or of NumPy, a dtype, or its name."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""A shape: a sequence of sizes, or one size."""

AxisLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
"""An axis, axes, or None for all (or for none, as the function says)."""

__all__ = ["AxisLike", "DTypeLike", "NumberLike", "ShapeLike", "SupportsDType", "SupportsShape"]
