"""Integers of two bits as bytes, for ops that XLA cannot do with two bits: to concatenate them,
pair them with positions, or sort them along with others."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext
from xfront_ir import dtypes
from xfront_ir.types import TensorType

_BYTES = {dtypes.i2: dtypes.i8, dtypes.u2: dtypes.u8}


def widened(type: TensorType) -> TensorType:
    """The type of bytes for one of integers of two bits; other types as they are."""
    found = _BYTES.get(type.dtype)
    return type if found is None else type.with_dtype(found)


def converted(ctx: RuleContext, x: Any, given: TensorType, wanted: TensorType) -> Any:
    """`x`, of the type `given`, with the dtype of `wanted`."""
    if wanted.dtype is given.dtype:
        return x
    return ctx.create("stablehlo.convert", [x], [given.with_dtype(wanted.dtype)])
