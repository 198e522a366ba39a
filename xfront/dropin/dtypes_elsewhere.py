"""Classes of dtypes that JAX does not document."""

from __future__ import annotations

from abc import ABC

import numpy as np

from ..dtypes import KeyDType

DType = np.dtype


class ExtendedDType(ABC):  # noqa: B024
    """A dtype whose elements are no numbers. Those of keys are such ones; a library's own can be
    written down, and no array is made of it."""


ExtendedDType.register(KeyDType)

__all__ = ["DType", "ExtendedDType"]
