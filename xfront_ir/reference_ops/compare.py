"""NumPy rows of `ops/compare.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..reference import reference
from .wide import where, widened

for _name, _function in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
                         "gt": np.greater, "ge": np.greater_equal}.items():
    reference(_name)(widened(_function))


def _ordered(x: Any) -> Any:
    """Integers in the total order of the floats `x`."""
    if not from_numpy(x.dtype).is_float:
        return x
    bits = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


for _name, _function in {"eq_to": np.equal, "le_to": np.less_equal, "lt_to": np.less}.items():
    def _total(attrs: Any, types: Any, x: Any, y: Any, f: Any = _function) -> Any:
        return f(_ordered(x), _ordered(y))

    reference(_name)(_total)
