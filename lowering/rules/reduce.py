"""Lowering of reductions, positions of extrema and running reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lowering.context import RuleContext, rule
from lowering.partitioning import Partition
from lowering.rules.compare import compare, comparison_kind
from lowering.rules.elementwise import extremum
from lowering.rules.expressions import Writer
from lowering.rules.narrow import converted, widened
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType, greatest, least
from xfront_ir.ops.formulas import Term, where
from xfront_ir.types import BOOL, TensorType, scalar

Combine = Callable[[RuleContext, Any, Any, TensorType], Any]


# --- combiners and their initial values ---------------------------------------------------

def _one_op(name: str) -> Combine:
    return lambda ctx, x, y, type: ctx.create(f"stablehlo.{name}", [x, y], [type])


def _all_ones(dtype: DType) -> Any:
    return -1 if dtype.kind == "int" else greatest(dtype)


def _log_add_exp(ctx: RuleContext, x: Any, y: Any, type: TensorType) -> Any:
    """log(exp(x) + exp(y)): the greater one plus log1p(exp(-difference)), or x where both are the
    same infinity."""
    if type.dtype.is_complex:
        return _complex_log_add_exp(ctx, x, y, type)
    writer = Writer(ctx)
    one, other = (writer.term(type, v) for v in (x, y))
    high, low = ops.max(one, other), ops.min(one, other)
    grown = high + ops.log1p(ops.exp(low - high))
    infinite = ~ops.is_finite(one)
    return writer.mlir(where((one == other) & infinite, one, grown))


def _complex_log_add_exp(ctx: RuleContext, x: Any, y: Any, type: TensorType) -> Any:
    """log(exp(x) + exp(y)), with the greater real part subtracted before the exponentials. This
    shift is real, so the angle stays in (-pi, pi]."""
    writer = Writer(ctx)
    one, other = (writer.term(type, v) for v in (x, y))
    zero = one.like(0, type.with_dtype(dtypes.real_of(type.dtype)))
    high = ops.max(ops.real(one), ops.real(other))
    shift = ops.complex(where(ops.is_finite(high), high, zero), zero)

    def power(v: Term) -> Any:                   # exp(v - shift) does not overflow
        return ctx.create("stablehlo.exponential", [writer.mlir(v - shift)], [type])

    total = ctx.create("stablehlo.add", [power(one), power(other)], [type])
    found = writer.term(type, ctx.create("stablehlo.log", [total], [type]))
    return writer.mlir(found + shift)


Kind = tuple[Combine, Callable[[DType], Any]]

_SUM: Kind = (_one_op("add"), lambda dtype: 0)
_PROD: Kind = (_one_op("multiply"), lambda dtype: 1)
_MAX: Kind = (lambda ctx, x, y, type: extremum(ctx, "GT", x, y, type), least)
_MIN: Kind = (lambda ctx, x, y, type: extremum(ctx, "LT", x, y, type), greatest)
_LOG_SUM: Kind = (_log_add_exp, lambda dtype: least(dtypes.real_of(dtype)))


def _region(combine: Combine, element: TensorType) -> Any:
    return lambda ctx, x, y: combine(ctx, x, y, element)


# --- reductions ---------------------------------------------------------------------------

_BITWISE = (ops.reduce_and, ops.reduce_or)
"""The devices of a CPU exchange no bits of integers, and no `xor`."""

_EXTREMA = (ops.reduce_max, ops.reduce_min)


def loses_nan_between_devices(ctx: RuleContext, type: TensorType) -> bool:
    """Whether a maximum or minimum over devices may lose NaN."""
    parts = ctx.module.partition if ctx.module is not None else Partition()
    several = parts.num_partitions * parts.num_replicas > 1
    return several and ctx.platform == "cpu" and type.dtype.is_float


def is_nan(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    """Which elements are NaN."""
    return compare(ctx, "NE", x, x, type.with_dtype(dtypes.bool_), "FLOAT")


def nan_where(ctx: RuleContext, flags: Any, x: Any, type: TensorType) -> Any:
    """NaN where a flag is raised, else the elements of `x`."""
    return ctx.create("stablehlo.select", [flags, ctx.constant(math.nan, type), x], [type])


def _register_reduction(definition: OpDef, combine: Combine, identity: Any) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        of, axes = op.operands[0].type, op.attrs["axes"]
        if not axes:
            return x
        if definition in _BITWISE and of.dtype is not dtypes.bool_ or definition is ops.reduce_xor:
            x = ctx.undivided(x, of, axes)
        found = ctx.copied((definition, of, axes), [x])
        if found is None:
            element = scalar(of.dtype)
            start = ctx.constant(identity(element.dtype), element)
            found = ctx.kept((definition, of, axes), ctx.create(
                "stablehlo.reduce", [x, start], op.results, [_region(combine, element)],
                [element, element], dimensions=ctx.int_array(axes)))
        if definition in _EXTREMA and loses_nan_between_devices(ctx, of):
            raised = ctx.create(
                "stablehlo.reduce", [is_nan(ctx, x, of), ctx.constant(False, BOOL)],
                [op.results[0].type.with_dtype(dtypes.bool_)], [_region(_one_op("or"), BOOL)],
                [BOOL, BOOL], dimensions=ctx.int_array(axes))
            found = nan_where(ctx, raised, found, op.results[0].type)
        return found


for _definition, _kind in {
        ops.reduce_sum: _SUM, ops.reduce_prod: _PROD, ops.reduce_max: _MAX, ops.reduce_min: _MIN,
        ops.reduce_and: (_one_op("and"), _all_ones),
        ops.reduce_or: (_one_op("or"), lambda dtype: 0),
        ops.reduce_xor: (_one_op("xor"), lambda dtype: 0)}.items():
    _register_reduction(_definition, *_kind)


# --- positions of extrema -----------------------------------------------------------------

def _register_position(definition: OpDef, direction: str, start: Callable[[DType], Any]) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        """A reduction of (value, position) pairs. The first of equal values wins, and NaN wins over
        all numbers."""
        axis, of = op.attrs["axis"], widened(op.operands[0].type)
        x = converted(ctx, x, op.operands[0].type, of)
        element, place = scalar(of.dtype), scalar(op.attrs["index_dtype"])
        places = ctx.create("stablehlo.iota", [], [of.with_dtype(place.dtype)],
                            iota_dimension=ctx.i64(axis))
        starts = [ctx.constant(start(op.operands[0].type.dtype), element), ctx.constant(0, place)]

        def pick(ctx: RuleContext, x: Any, i: Any, y: Any, j: Any) -> Any:
            kind = comparison_kind(of.dtype)
            wins = compare(ctx, direction, x, y, BOOL, kind)
            if of.dtype.is_float:
                wins = ctx.create("stablehlo.or", [wins, compare(ctx, "NE", x, x, BOOL, kind)],
                                  [BOOL])
            tie = ctx.create("stablehlo.and", [
                compare(ctx, "EQ", x, y, BOOL, kind),
                compare(ctx, "LT", i, j, BOOL, comparison_kind(place.dtype))], [BOOL])
            earlier = ctx.create("stablehlo.or", [wins, tie], [BOOL])
            return [ctx.create("stablehlo.select", [wins, x, y], [element]),
                    ctx.create("stablehlo.select", [earlier, i, j], [place])]

        result = op.results[0].type
        return ctx.create("stablehlo.reduce", [x, places, *starts],
                          [result.with_dtype(of.dtype), result], [pick],
                          [element, place, element, place], dimensions=ctx.int_array((axis,)))[1]


_register_position(ops.argmax, "GT", least)
_register_position(ops.argmin, "LT", greatest)


# --- running reductions -------------------------------------------------------------------

def _register_running(definition: OpDef, combine: Combine, identity: Any) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        """A window reduction whose window is as long as the axis and extends beyond one end."""
        result, axis = op.results[0].type, op.attrs["axis"]
        n, type = result.shape[axis], result
        if type.size == 0:
            return x
        if narrow := definition is ops.cumlogsumexp and type.dtype.bits <= 8:
            type = type.with_dtype(dtypes.f32)       # such dtypes cannot hold all differences
            x = ctx.create("stablehlo.convert", [x], [type])
        element = scalar(type.dtype)
        start = ctx.constant(identity(type.dtype), element)
        over = (0, n - 1) if op.attrs["reverse"] else (n - 1, 0)
        made = ctx.create(
            "stablehlo.reduce_window", [x, start], [type], [_region(combine, element)],
            [element, element],
            window_dimensions=ctx.int_array([n if d == axis else 1 for d in range(type.ndim)]),
            padding=ctx.padding([over if d == axis else (0, 0) for d in range(type.ndim)]))
        return ctx.create("stablehlo.convert", [made], [result]) if narrow else made


for _definition, _kind in {ops.cumsum: _SUM, ops.cumprod: _PROD, ops.cummax: _MAX, ops.cummin: _MIN,
                           ops.cumlogsumexp: _LOG_SUM}.items():
    _register_running(_definition, *_kind)
