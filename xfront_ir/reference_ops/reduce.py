"""NumPy rows of `ops/reduce.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import from_numpy
from ..reference import reference
from .wide import wide

# --- reductions ---------------------------------------------------------------------------


def _extreme(x: Any, sign: int) -> Any:
    """What every element of x's dtype is at least (sign -1) or at most (sign 1)."""
    dtype = from_numpy(x.dtype)
    if dtype.kind == "bool":
        return sign > 0
    if dtype.is_inexact:
        return complex(sign * np.inf, sign * np.inf) if dtype.is_complex else sign * np.inf
    info = np.iinfo(x.dtype)
    return info.max if sign > 0 else info.min


for _name, _function, _identity in (
        ("sum", np.add, lambda x: 0), ("prod", np.multiply, lambda x: 1),
        ("max", np.maximum, lambda x: _extreme(x, -1)), ("min", np.minimum,
                                                        lambda x: _extreme(x, 1)),
        ("and", np.bitwise_and, lambda x: np.invert(np.zeros((), x.dtype))),
        ("or", np.bitwise_or, lambda x: np.zeros((), x.dtype)),
        ("xor", np.bitwise_xor, lambda x: np.zeros((), x.dtype))):
    def _reduce(attrs: Any, types: Any, x: Any, f: Any = _function, one: Any = _identity) -> Any:
        x = wide(x)
        return f.reduce(x, axis=attrs["axes"], initial=one(x), dtype=x.dtype)

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
