"""Lowering of window reductions and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lowering.context import Region, RuleContext, rule
from lowering.rules.padding import cropped, padded
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType, greatest, least
from xfront_ir.types import BOOL, TensorType, scalar

from .compare import compare


def _undivided(ctx: RuleContext, a: Any, values: Sequence[Any], types: Sequence[TensorType]
               ) -> list[Any]:
    """Operands or results, whole along the axes of windows: XLA's partitioner ends the process for
    some that go beyond a device's part, or for elements apart."""
    per_axis = zip(a["window"], a["strides"], a["padding"], a["base_dilation"], strict=True)
    axes = [d for d, (window, by, (low, high), apart) in enumerate(per_axis)
            if max(window, by, apart) > 1 or low or high]
    return [ctx.undivided(x, t, axes) for x, t in zip(values, types, strict=True)]


def _leaves_axes(a: Any) -> bool:
    """Whether windows have one element along an axis, by steps of one, and do not overlap."""
    pairs = [*zip(a["window"], a["strides"], strict=True)]
    return (1, 1) in pairs and all([window in (1, by) for window, by in pairs])


def _reduced(ctx: RuleContext, op: Op, operands: Sequence[Any], inits: Sequence[Any],
             results: Sequence[TensorType], combine: Region) -> list[Any]:
    """`reduce_window` without negative padding. Along axes where a window has one element, base
    dilation, padding and strides are applied to the results and not to the operands, because XLA's
    CPU compiler forgets some of them there."""
    a, n = op.attrs, len(operands)
    base, window, strides = a["base_dilation"], a["window"], a["strides"]
    operands = _undivided(ctx, a, operands, [v.type for v in op.operands[:n]])
    kept = [cropped(ctx, x, v.type, a["padding"], base)
            for x, v in zip(operands, op.operands[:n], strict=True)]
    x, type, padding = kept[0]
    if n == 1 and ctx.platform == "cpu" and type.dtype.is_float and _leaves_axes(a):
        # XLA makes padding between elements a dilation, which its library forgets
        kept = [(ctx.barrier(x, type), type, padding)]
    later = tuple([w == 1 and (max(by, step) > 1 or any(pair))
                   for by, w, step, pair in zip(base, window, strides, padding, strict=True)])
    shape = tuple([m if late else out for m, out, late in zip(
        type.shape, results[0].shape, later, strict=True)])
    made = ctx.create(
        "stablehlo.reduce_window", [*[x for x, _, _ in kept], *inits],
        [t.with_shape(shape) for t in results], [combine],
        [scalar(t.dtype) for t in results] * 2,
        window_dimensions=ctx.int_array(window),
        window_strides=ctx.int_array([1 if late else by
                                      for by, late in zip(strides, later, strict=True)]),
        padding=ctx.padding([(0, 0) if late else pair
                             for pair, late in zip(padding, later, strict=True)]),
        base_dilations=ctx.int_array([1 if late else by
                                      for by, late in zip(base, later, strict=True)]),
        window_dilations=ctx.int_array(a["window_dilation"]))
    made = _undivided(ctx, a, made if isinstance(made, list) else [made],
                      [t.with_shape(shape) for t in results])
    if not any(later):
        return made
    around = tuple([pair if late else (0, 0) for pair, late in zip(padding, later, strict=True)])
    between = tuple([by - 1 if late else 0 for by, late in zip(base, later, strict=True)])
    whole = tuple([n + low + high + max(n - 1, 0) * within for n, (low, high), within in zip(
        shape, around, between, strict=True)])
    steps = [by if late else 1 for by, late in zip(strides, later, strict=True)]
    return [_by_steps(ctx, padded(ctx, x, t.with_shape(shape), init, t.with_shape(whole), around,
                                  between), t, steps)
            for x, init, t in zip(made, inits, results, strict=True)]


def _by_steps(ctx: RuleContext, x: Any, type: TensorType, steps: Sequence[int]) -> Any:
    """Every `steps[d]`-th element of x along each axis d, of `type`."""
    if max(steps) == 1:
        return x
    return ctx.create("stablehlo.slice", [x], [type], start_indices=ctx.int_array((0,) * type.ndim),
                      limit_indices=ctx.int_array([max(n - 1, 0) * by + (n > 0) for n, by in zip(
                          type.shape, steps, strict=True)]),
                      strides=ctx.int_array([by if n > 1 else 1 for n, by in zip(
                          type.shape, steps, strict=True)]))


def _register(definition: OpDef, combine: str, start: Callable[[DType], Any]) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        type, element = op.results[0].type, scalar(op.results[0].type.dtype)
        return _reduced(ctx, op, [x], [ctx.constant(start(element.dtype), element)], [type],
                        lambda ctx, x, y: ctx.create(combine, [x, y], [element]))


_register(ops.reduce_window_sum, "stablehlo.add", lambda dtype: 0)
_register(ops.reduce_window_prod, "stablehlo.multiply", lambda dtype: 1)
_register(ops.reduce_window_max, "stablehlo.maximum", least)
_register(ops.reduce_window_min, "stablehlo.minimum", greatest)


def _keeps(ctx: RuleContext, a: Any, x: Any, y: Any) -> Any:
    return compare(ctx, a["select"].upper(), x, y, BOOL, "FLOAT")


@rule(ops.select_and_gather_add)
def _gather(ctx: RuleContext, op: Op, tangents: Any, x: Any) -> Any:
    """A reduction of (element, tangent) pairs."""
    a, type = op.attrs, op.results[0].type
    element = scalar(type.dtype)
    loser = least(type.dtype) if a["select"] == "ge" else greatest(type.dtype)

    def pick(ctx: RuleContext, x: Any, t: Any, y: Any, u: Any) -> Any:
        keeps = _keeps(ctx, a, x, y)
        return [ctx.create("stablehlo.select", [keeps, x, y], [element]),
                ctx.create("stablehlo.select", [keeps, t, u], [element])]

    starts = [ctx.constant(loser, element), ctx.constant(0, element)]
    return _reduced(ctx, op, [x, tangents], starts, [type, type], pick)[1]


@rule(ops.select_and_scatter_add)
def _scatter(ctx: RuleContext, op: Op, source: Any, x: Any) -> Any:
    a, result, element = op.attrs, op.results[0].type, scalar(op.results[0].type.dtype)
    if not a["window"]:                         # XLA has no window without axes
        return source
    x, type, padding = cropped(ctx, x, result, a["padding"], (1,) * result.ndim)
    if not type.size:                           # all windows lie in the padding
        return ctx.constant(0, result)
    zero = ctx.constant(0, element)
    made = ctx.create("stablehlo.select_and_scatter", [x, source, zero], [type],
                      [lambda ctx, x, y: _keeps(ctx, a, x, y), _add(element)],
                      [element, element], window_dimensions=ctx.int_array(a["window"]),
                      window_strides=ctx.int_array(a["strides"]), padding=ctx.padding(padding))
    outside = [(max(0, -low), max(0, -high)) for low, high in a["padding"]]
    return padded(ctx, made, type, zero, result, outside, (0,) * result.ndim)


def _add(element: TensorType) -> Callable[..., Any]:
    return lambda ctx, x, y: ctx.create("stablehlo.add", [x, y], [element])


@rule(ops.reduce_window)
def _by_body(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    body, (arrays, inits) = op.attrs["body"], op.definition.regions.split(op.attrs, operands)
    return _reduced(ctx, op, arrays, inits, [v.type for v in op.results],
                    lambda ctx, *values: ctx.inline(body, values))
