"""NumPy rows of `ops/elementwise.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..reference import reference
from .wide import where, wide, widened

# --- arithmetic ---------------------------------------------------------------------------


def _divide(x: Any, y: Any) -> Any:
    """The quotient, rounded towards zero. Integers over zero have all bits set; the least integer
    over -1 is itself."""
    if not np.issubdtype(x.dtype, np.integer):
        return x / y
    zero, least = y == 0, _overflows(x, y)
    safe = where(zero | least, np.ones_like(y), y)
    quotient = x // safe
    towards_zero = quotient + ((quotient * safe != x) & ((x < 0) != (safe < 0))).astype(x.dtype)
    return where(zero, ~np.zeros_like(x), where(least, x, towards_zero))


def _overflows(x: Any, y: Any) -> Any:
    info = np.iinfo(x.dtype)
    return (x == info.min) & (y == -1) if info.min < 0 else np.zeros(x.shape, bool)


def _remainder(x: Any, y: Any) -> Any:
    """The remainder of `_divide`, with the sign of x; integers over zero give x."""
    if not np.issubdtype(x.dtype, np.integer):
        return np.fmod(x, y)
    odd = (y == 0) | _overflows(x, y)
    return where(y == 0, x, where(odd, 0, np.fmod(x, where(odd, np.ones_like(y), y))))


def _sign(x: Any) -> Any:
    return where(x == 0, x, np.sign(x))          # the sign of -0.0 is -0.0


def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _arctan2(y: Any, x: Any) -> Any:
    if np.iscomplexobj(x):
        return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    return np.arctan2(y, x)


def _one_minus_square(x: Any) -> Any:
    return (1 + x) * (1 - x)


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _exp2(x: Any) -> Any:
    return np.power(2.0, x)


def _complex(x: Any, y: Any) -> Any:
    return x + 1j * y


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divide, "rem": _remainder,
    "neg": np.negative, "abs": np.abs, "sign": _sign, "square": np.square, "pow": np.power,
    "one_minus_square": _one_minus_square,
    "sqrt": np.sqrt, "rsqrt": _rsqrt, "cbrt": np.cbrt,
    "exp": np.exp, "exp2": _exp2, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "log2": np.log2, "logistic": _logistic, "floor": np.floor, "ceil": np.ceil,
    "is_finite": np.isfinite, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": _arctan2, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "real": np.real, "imag": np.imag, "conj": np.conj, "complex": _complex,
    "max": np.maximum, "min": np.minimum}
for _name, _function in _FUNCTIONS.items():
    reference(_name)(widened(_function))


@reference("integer_pow")
def _integer_pow(attrs: Any, types: Any, x: Any) -> Any:
    x, n = wide(x), attrs["exponent"]
    if not np.issubdtype(x.dtype, np.integer):
        return np.power(x, float(n)) if not np.iscomplexobj(x) else np.power(x, n)
    power = np.ones_like(x)
    for _ in range(n):
        power = power * x                                # wraps around, as the op does
    return power


@reference("round")
def _round(attrs: Any, types: Any, x: Any) -> Any:
    x = wide(x)
    if attrs["method"] == "to_nearest_even":
        return np.rint(x)
    whole = np.trunc(x)
    return where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


# --- choosing -----------------------------------------------------------------------------

def _of_elements(which: Any, types: Any) -> Any:
    """What is chosen for each element, with an axis for each one of the words of keys."""
    words = types[0].dtype.physical
    return np.reshape(which, (*np.shape(which), *[1] * len(words))) if words else which


@reference("select")
def _select(attrs: Any, types: Any, predicate: Any, on_true: Any, on_false: Any) -> Any:
    return where(_of_elements(predicate, types), on_true, on_false)


@reference("select_n")
def _select_n(attrs: Any, types: Any, which: Any, *cases: Any) -> Any:
    index = np.clip(_of_elements(which, types).astype(np.int64), 0, len(cases) - 1)
    chosen = cases[0]
    for i, case in enumerate(cases):
        chosen = where(index == i, case, chosen)
    return chosen


@reference("clamp")
def _clamp(attrs: Any, types: Any, low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(wide(x), wide(low)), wide(high))
