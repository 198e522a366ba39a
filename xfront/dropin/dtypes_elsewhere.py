"""Classes of dtypes that JAX does not document."""

from __future__ import annotations

from abc import ABC

import numpy as np

from ..base.dtypes import KeyDType

DType = np.dtype


class ExtendedDType(ABC):  # noqa: B024
    """A dtype whose elements are not numbers, such as the key dtypes. A library can define its own,
    but no array can have it."""


ExtendedDType.register(KeyDType)

__all__ = ["DType", "ExtendedDType"]
