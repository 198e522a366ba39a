"""Rows compute floats and complex numbers in double width; the evaluator rounds the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import from_numpy


def wide(x: np.ndarray) -> np.ndarray:
    """`x` in f64 or c128 where it is inexact, else as it is."""
    dtype = from_numpy(x.dtype)
    if not dtype.is_inexact:
        return x
    return x.astype(np.complex128 if dtype.is_complex else np.float64)


def widened(function: Any) -> Any:
    """The row that calls `function` on widened operands."""
    return lambda attrs, types, *operands: function(*map(wide, operands))
