"""Errors in units in the last place."""

from __future__ import annotations

import numpy as np


def error(got: np.ndarray, near: np.ndarray, rest: np.ndarray, dtype: str) -> np.ndarray:
    """|got - right| in units in the last place of |right|; 0 where right is not a normal number."""
    limits, size = np.finfo(dtype), np.abs(near)
    wide = got.astype(np.complex128 if got.dtype.kind == "c" else np.float64)
    normal = (size >= limits.tiny) & (size <= limits.max)
    unit = np.spacing(np.where(normal, size, 1.0).astype(dtype)).astype(np.float64)
    with np.errstate(invalid="ignore"):          # infinite, as the right value is
        found = np.abs((wide - near) - rest) / unit
    return np.where(normal, np.where(np.isnan(found), np.inf, found), 0.0)
