"""NumPy rows of `ops/bits.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import plain, reference
from .wide import where, wide

for _name, _function in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
                         "not": np.invert, "nextafter": np.nextafter}.items():
    reference(_name)(plain(_function))


def _unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _shift(x: Any, by: Any, shift: Any, beyond: Any) -> Any:
    """`shift(x, by)`, or `beyond` where `by`, read as unsigned, is at least the width."""
    inside = _unsigned(by) < 8 * x.dtype.itemsize
    return where(inside, shift(x, np.where(inside, by, np.zeros_like(by))), beyond)


@reference("shift_left")
def _shift_left(attrs: Any, types: Any, x: Any, by: Any) -> Any:
    return _shift(x, by, np.left_shift, np.zeros_like(x))


@reference("shift_right_logical")
def _shift_right_logical(attrs: Any, types: Any, x: Any, by: Any) -> Any:
    moved = _shift(_unsigned(x), _unsigned(by), np.right_shift, np.zeros_like(_unsigned(x)))
    return moved.astype(_unsigned(x).dtype).view(x.dtype)


@reference("shift_right_arithmetic")
def _shift_right_arithmetic(attrs: Any, types: Any, x: Any, by: Any) -> Any:
    signed = x.view(np.dtype(f"i{x.dtype.itemsize}"))      # the first bit as a sign
    moved = _shift(signed, by.view(signed.dtype), np.right_shift, np.where(signed < 0, -1, 0))
    return moved.astype(signed.dtype).view(x.dtype)


@reference("popcnt")
def _popcnt(attrs: Any, types: Any, x: Any) -> Any:
    return np.bitwise_count(_unsigned(x))


@reference("clz")
def _clz(attrs: Any, types: Any, x: Any) -> Any:
    count = np.zeros(x.shape, np.int64)
    rest = _unsigned(x)
    while rest.any():
        count += rest != 0
        rest = rest >> rest.dtype.type(1)
    return 8 * x.dtype.itemsize - count


@reference("mulhi")
def _mulhi(attrs: Any, types: Any, x: Any, y: Any) -> Any:
    upper = (x.astype(object) * y.astype(object)) >> (8 * x.dtype.itemsize)
    return np.asarray(upper).astype(x.dtype)


@reference("reduce_precision")
def _reduce_precision(attrs: Any, types: Any, x: Any) -> Any:
    x, bits = wide(x), attrs["mantissa_bits"]
    fraction, exponent = np.frexp(x)
    rounded = np.ldexp(np.rint(np.ldexp(fraction, bits + 1)), exponent - bits - 1)
    bias = 2 ** (attrs["exponent_bits"] - 1) - 1
    size = np.abs(rounded)
    rounded = where(size >= 2.0 ** min(bias + 1, 1023), np.copysign(np.inf, x), rounded)
    rounded = where(size < 2.0 ** (1 - bias), np.copysign(0.0, x), rounded)
    return where(np.isfinite(x), rounded, x)
