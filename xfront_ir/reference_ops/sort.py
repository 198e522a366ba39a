"""NumPy rows of `ops/sort.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference
from .wide import wide


@reference("sort")
def _sort(attrs: Any, types: Any, *operands: Any) -> Any:
    keys: list[Any] = []
    for x in map(wide, operands[:attrs["n_keys"]]):
        keys.extend((np.real(x), np.imag(x)) if np.iscomplexobj(x) else (x,))
    axis = attrs["dimension"]
    order = np.lexsort(keys[::-1], axis=axis)              # the last key decides first; stable
    return tuple(np.take_along_axis(x, order, axis) for x in operands)


def _totally(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the numbers: NaN is last and -0.0 below 0.0, as in XLA's top_k."""
    if x.dtype != np.float64:
        return x
    bits, most = x.view(np.int64), np.int64(2**63 - 1)
    return np.where(np.isnan(x), most, bits ^ ((bits >> 63) & most))


@reference("top_k")
def _top_k(attrs: Any, types: Any, x: Any) -> Any:
    axis, size = attrs["axis"], x.shape[attrs["axis"]]
    backwards = np.argsort(np.flip(_totally(wide(x)), axis), axis=axis, kind="stable")
    order = size - 1 - np.flip(backwards, axis)            # the first of equal elements comes first
    order = np.take(order, np.arange(attrs["k"], dtype=np.int64), axis)
    return np.take_along_axis(x, order, axis), order
