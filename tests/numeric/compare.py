"""Values beside those of the reference, in units in the last place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .row import kind_of

REAL_OF = {"complex64": "float32", "complex128": "float64"}


def leaves(x: Any) -> list[Any]:
    """The arrays in nested tuples, lists and dictionaries."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x) for leaf in leaves(x[key])]
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in leaves(part)]
    return [] if x is None else [x]


def unit(size: np.ndarray, dtype: str) -> np.ndarray:
    """The unit in the last place of numbers of a size."""
    info = ml_dtypes.finfo(REAL_OF.get(dtype, dtype))
    least = float(info.smallest_normal)
    with np.errstate(all="ignore"):
        bounded = np.clip(np.nan_to_num(size.astype(np.float64)), least, float(info.max))
        _, exponent = np.frexp(bounded)
    return float(info.eps) * np.ldexp(1.0, exponent - 1)


def wide(x: Any) -> np.ndarray:
    """As long doubles, or long complex numbers."""
    x = np.asarray(x)
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def misses(got: np.ndarray, wanted: np.ndarray, room: np.ndarray, dtype: str) -> np.ndarray:
    """Where a result is not what it should be, as far as `room`, beside NaN and infinity."""
    if kind_of(dtype) not in "fc":
        with np.errstate(all="ignore"):
            return got != wanted.astype(got.dtype)
    if kind_of(dtype) == "c":
        got, wanted = wide(got), wanted.astype(np.clongdouble)
        return _beyond(got, wanted, room, dtype)
    return _beyond(wide(got), wanted.astype(np.longdouble), room, dtype)


def _beyond(got: np.ndarray, wanted: np.ndarray, room: np.ndarray, dtype: str) -> np.ndarray:
    info = ml_dtypes.finfo(REAL_OF.get(dtype, dtype))
    most, least = float(info.max), float(info.smallest_normal)
    with np.errstate(all="ignore"):
        far = np.abs(got - wanted)
        near = far <= room + (least if dtype != "float16" else 0.0)
        both_nan = np.isnan(got) & np.isnan(wanted)
        same = got == wanted
        if got.dtype.kind == "c":       # any infinite part makes an infinity
            same |= np.isinf(got) & np.isinf(wanted)
            over = np.isinf(got) & (np.abs(wanted) > most * 0.999)
        else:
            over = np.isinf(got) & (np.sign(got) == np.sign(wanted))
            over &= np.abs(wanted) > most * 0.999
    return ~(near | both_nan | same | over)
