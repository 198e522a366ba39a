"""Starts and indices in a form that XLA computes right.

XLA merges a slice of a slice into one: it adds up the starts before it clamps either, and reads
constant unsigned starts as signed. Its own passes may make slices of slices in any program. So the
starts of slices are clamped where they are written, and indices are signed and of 32 bits or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import RuleContext
from xfront_ir import dtypes
from xfront_ir.types import TensorType, scalar

_I32, _I64 = 2 ** 31 - 1, 2 ** 63 - 1


def _widest(type: TensorType) -> int:
    return 2 ** (type.dtype.bits - (not type.dtype.is_unsigned)) - 1


def _signed(type: TensorType, limits: Sequence[int]) -> TensorType:
    """`type` in the dtype of signed indices up to `limits`."""
    if type.dtype in (dtypes.i32, dtypes.i64):
        return type
    return type.with_dtype(dtypes.i32 if max(limits, default=0) < _I32 else dtypes.i64)


def clamped(ctx: RuleContext, starts: Sequence[Any], type: TensorType, limits: Sequence[int]
            ) -> tuple[Sequence[Any], TensorType]:
    """Starts, scalars of `type`, each clamped to [0, limit], and the type that they have then."""
    wanted = _signed(type, limits)
    return [_clamped(ctx, start, type, wanted, limit)
            for start, limit in zip(starts, limits, strict=True)], wanted


def _clamped(ctx: RuleContext, start: Any, given: TensorType, wanted: TensorType, limit: int
             ) -> Any:
    if limit == 0:
        return ctx.constant(0, wanted)
    number = ctx.number(start)
    if number is not None:
        return ctx.constant(min(max(number, 0), limit), wanted)
    if given.dtype.is_unsigned:
        return _capped(ctx, start, given, wanted, limit)
    if given is not wanted:
        start = ctx.create("stablehlo.convert", [start], [wanted])
    bounds = ctx.constant(0, wanted), ctx.constant(limit, wanted)
    return ctx.create("stablehlo.clamp", [bounds[0], start, bounds[1]], [wanted])


def _capped(ctx: RuleContext, values: Any, given: TensorType, wanted: TensorType, limit: int
            ) -> Any:
    """The minimum of unsigned values and `limit`, as signed integers of type `wanted`."""
    if limit < _widest(given):
        most = ctx.constant(limit, scalar(given.dtype))
        if given.ndim:
            most = ctx.create("stablehlo.broadcast_in_dim", [most], [given],
                              broadcast_dimensions=ctx.int_array(()))
        values = ctx.create("stablehlo.minimum", [values, most], [given])
    return ctx.create("stablehlo.convert", [values], [wanted])


def widened(ctx: RuleContext, indices: Any, type: TensorType, limits: Sequence[int]
            ) -> tuple[Any, TensorType]:
    """Indices that are signed and have 32 bits or more, and their type. What lies outside of
    `limits` stays outside."""
    wanted = _signed(type, limits)
    if wanted is type:
        return indices, type
    if type.dtype.is_unsigned:
        return _capped(ctx, indices, type, wanted,
                       _I32 if wanted.dtype is dtypes.i32 else _I64), wanted
    return ctx.create("stablehlo.convert", [indices], [wanted]), wanted
