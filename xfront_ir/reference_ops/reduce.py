"""NumPy rows of `ops/reduce.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import DType, greatest, least
from ..reference import reference
from .wide import wide

# --- reductions ---------------------------------------------------------------------------


def _zero(of: DType) -> Any:
    return np.zeros((), of.numpy)


_REDUCTIONS: tuple[tuple[str, Any, Callable[[DType], Any]], ...] = (
    ("sum", np.add, lambda of: 0), ("prod", np.multiply, lambda of: 1),
    ("max", np.maximum, least), ("min", np.minimum, greatest),
    ("and", np.bitwise_and, lambda of: np.invert(_zero(of))),
    ("or", np.bitwise_or, _zero), ("xor", np.bitwise_xor, _zero))

for _name, _function, _identity in _REDUCTIONS:
    def _reduce(attrs: Any, types: Any, x: Any, f: Any = _function, one: Any = _identity) -> Any:
        x = wide(x)
        return f.reduce(x, axis=attrs["axes"], initial=one(types[0].dtype), dtype=x.dtype)

    reference(f"reduce_{_name}")(_reduce)


@reference("argmax")
def _argmax(attrs: Any, types: Any, x: Any) -> Any:
    return np.argmax(wide(x), attrs["axis"])


@reference("argmin")
def _argmin(attrs: Any, types: Any, x: Any) -> Any:
    return np.argmin(wide(x), attrs["axis"])


# --- running reductions -------------------------------------------------------------------

def _log_add_exp(x: Any, y: Any) -> Any:
    if not np.iscomplexobj(x):
        return np.logaddexp(x, y)
    shift = np.maximum(x.real, y.real)
    shift = np.where(np.isfinite(shift), shift, 0)
    return shift + np.log(np.exp(x - shift) + np.exp(y - shift))


for _name, _function in {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum,
                         "cummin": np.minimum, "cumlogsumexp": _log_add_exp}.items():
    def _running(attrs: Any, types: Any, x: Any, f: Any = _function) -> Any:
        rows = np.moveaxis(wide(x), attrs["axis"], 0)
        made = rows.copy()
        steps = range(1, len(rows))
        for i in steps:
            if attrs["reverse"]:
                made[-1 - i] = f(made[-i], rows[-1 - i])
            else:
                made[i] = f(made[i - 1], rows[i])
        return np.moveaxis(made, 0, attrs["axis"])

    reference(_name)(_running)
