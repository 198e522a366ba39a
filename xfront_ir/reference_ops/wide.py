"""Rows compute floats and complex numbers in double width; the evaluator rounds the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..reference import Row

where: Callable[[Any, Any, Any], Any] = np.where
"""Typed by hand: type checkers know no result of `np.where` if they know no operand."""


def wide(x: np.ndarray) -> np.ndarray:
    """`x` in f64 or c128 where it is inexact, else `x` itself."""
    dtype = from_numpy(x.dtype)
    if not dtype.is_inexact:
        return x
    return x.astype(np.complex128 if dtype.is_complex else np.float64)


def widened(function: Callable[..., Any]) -> Row:
    """The row that calls `function` on widened operands."""
    def row(attrs: Any, types: Any, *operands: Any) -> Any:
        return function(*map(wide, operands))

    return row
