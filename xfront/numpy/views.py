"""The bytes of an array read as another dtype."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType, from_numpy

from ..base.dtypes import requested_dtype
from ..eager.dispatch import eager
from ..eager.operands import convert, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer

_WORDS = {8: dtypes.u8, 16: dtypes.u16, 32: dtypes.u32, 64: dtypes.u64}


def view(x: Any, dtype: Any = None) -> Any:
    """The same bytes as elements of `dtype`; the last axis changes by the ratio of the widths.

    Raises: ValueError where the last axis is not divisible. Source: `numpy.ndarray.view`.
    """
    return x if dtype is None else _view(x, requested_dtype("view", dtype))


@eager(static=("dtype",))
def _view(x: Any, dtype: Any) -> Any:
    x, wanted = operand("view", x), from_numpy(dtype)
    own = x.value.type.dtype
    if own is wanted:
        return x
    if own.bits != wanted.bits and not x.ndim:
        raise ValueError("view: only arrays with an axis can be read at another width, got "
                         f"{x.value.type} as {wanted}")
    return _from_real(_cast(_to_real(x), _real(wanted)), wanted)


def _real(dtype: DType) -> DType:
    if dtype.is_complex:
        return dtypes.real_of(dtype)
    return dtypes.u8 if dtype.kind == "bool" else dtype


def _to_real(x: Tracer) -> Tracer:
    dtype = x.value.type.dtype
    if dtype.kind == "bool":
        return convert(x, dtypes.u8)
    if not dtype.is_complex:
        return x
    shape = (*x.shape, 1)
    parts = [emit(ops.reshape, emit(op, x), shape=shape) for op in (ops.real, ops.imag)]
    both = emit(ops.concatenate, *parts, dimension=x.ndim)
    return emit(ops.reshape, both, shape=(*x.shape[:-1], 2 * x.shape[-1]) if x.ndim else (2,))


def _from_real(x: Tracer, wanted: DType) -> Tracer:
    if wanted.kind == "bool":
        return convert(x, wanted)
    if not wanted.is_complex:
        return x
    if x.shape[-1] % 2:
        raise ValueError("view: the last axis must have an even size to read pairs of "
                         f"{x.value.type.dtype} as {wanted}, got {x.value.type}")
    pairs = emit(ops.reshape, x, shape=(*x.shape[:-1], x.shape[-1] // 2, 2))
    shape = pairs.shape[:-1]
    parts = []
    for i in range(2):
        part = emit(ops.slice, pairs, starts=(0,) * len(shape) + (i,), limits=(*shape, i + 1),
                    strides=(1,) * (len(shape) + 1))
        parts.append(emit(ops.reshape, part, shape=shape))
    return emit(ops.complex, *parts)


def _cast(x: Tracer, wanted: DType) -> Tracer:
    own = x.value.type.dtype
    if own.bits == wanted.bits:
        return emit(ops.bitcast, x, dtype=wanted)
    if own.bits > wanted.bits:
        made = emit(ops.bitcast, x, dtype=wanted)
        return emit(ops.reshape, made, shape=(*x.shape[:-1], x.shape[-1] * own.bits // wanted.bits))
    ratio = wanted.bits // own.bits
    if x.shape[-1] % ratio:
        raise ValueError(f"view: the last axis of {x.value.type} must be divisible by {ratio} to "
                         f"be read as {wanted}")
    grouped = emit(ops.reshape, x, shape=(*x.shape[:-1], x.shape[-1] // ratio, ratio))
    return emit(ops.bitcast, grouped, dtype=wanted)


@eager
def byteswap(x: Any) -> Any:
    """The bytes of each element in the opposite order. Source: `numpy.ndarray.byteswap`."""
    x = operand("byteswap", x)
    dtype = x.value.type.dtype
    if dtype.is_complex:
        return emit(ops.complex, byteswap(emit(ops.real, x)), byteswap(emit(ops.imag, x)))
    if dtype.kind == "bool" or dtype.bits == 8:
        return x
    raw = emit(ops.bitcast, x, dtype=dtypes.u8)
    return emit(ops.bitcast, emit(ops.reverse, raw, axes=(x.ndim,)), dtype=dtype)
