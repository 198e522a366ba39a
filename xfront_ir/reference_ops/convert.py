"""NumPy rows of `ops/convert.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, from_numpy
from ..reference import reference
from .wide import wide

# --- convert ------------------------------------------------------------------------------


@reference("convert")
def _convert(attrs: Any, types: Any, x: Any) -> Any:
    source, target = from_numpy(x.dtype), attrs["dtype"]
    if target.kind == "bool":
        return wide(x) != 0
    if source.is_complex and not target.is_complex:
        x, source = x.real, from_numpy(x.real.dtype)
    if source.is_float and target.is_integer:
        return _saturated(wide(x), target)
    return x.astype(target.numpy)


def _saturated(x: Any, target: DType) -> Any:
    """Floats as integers: rounded towards zero and clamped to the range; NaN gives 0."""
    least = 0 if target.is_unsigned else -(2 ** (target.bits - 1))
    greatest = 2 ** (target.bits - (not target.is_unsigned)) - 1
    inside = (x > least) & (x < greatest)
    whole = np.where(inside, np.trunc(x), 0).astype(np.uint64 if target.is_unsigned else np.int64)
    whole = np.where(x >= greatest, np.array(greatest, whole.dtype), whole)
    return np.where(x <= least, np.array(least, whole.dtype), whole).astype(target.numpy)


# --- bitcast ------------------------------------------------------------------------------

@reference("bitcast")
def _bitcast(attrs: Any, types: Any, x: Any) -> Any:
    (made,), source, target = types, from_numpy(x.dtype), attrs["dtype"]
    if source is target:
        return x
    raw = np.ascontiguousarray(x).reshape(*x.shape, 1).view(np.uint8)
    bits = np.unpackbits(raw, axis=-1, bitorder="little")[..., :source.bits]
    return _from_bits(bits.reshape(*made.shape, target.bits), target)


def _from_bits(bits: Any, target: DType) -> Any:
    """The elements whose bits stand in the last axis, the least significant first."""
    if target.bits >= 8:
        return np.packbits(bits, axis=-1, bitorder="little").view(target.numpy)[..., 0]
    weights = 1 << np.arange(target.bits)
    if target.kind == "int":
        weights[-1] = -weights[-1]
    values = (bits * weights).sum(-1)
    return (values.astype(target.numpy) if target.is_integer
            else values.astype(np.uint8).view(target.numpy))


# --- copy and barriers --------------------------------------------------------------------

@reference("copy")
@reference("stop_gradient")
@reference("idle")
@reference("fence")
def _copy(attrs: Any, types: Any, x: Any) -> Any:
    return x


@reference("optimization_barrier")
def _optimization_barrier(attrs: Any, types: Any, *operands: Any) -> Any:
    return operands
