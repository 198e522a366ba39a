"""Lowering of window reductions and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowering.context import RuleContext, rule
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.dtypes import DType, greatest, least
from xfront_ir.opdef import OpDef
from xfront_ir.types import BOOL, TensorType, scalar

from .compare import compare


def _attrs(ctx: RuleContext, a: Any) -> dict[str, Any]:
    made = {"window_dimensions": ctx.int_array(a["window"]),
            "window_strides": ctx.int_array(a["strides"]), "padding": ctx.padding(a["padding"])}
    if "base_dilation" in a:
        made["base_dilations"] = ctx.int_array(a["base_dilation"])
        made["window_dilations"] = ctx.int_array(a["window_dilation"])
    return made


def _register(definition: OpDef, combine: str, start: Callable[[DType], Any]) -> None:
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        element = scalar(op.results[0].type.dtype)
        return ctx.create("stablehlo.reduce_window",
                          [x, ctx.constant(start(element.dtype), element)], op.results,
                          [lambda ctx, x, y: ctx.create(combine, [x, y], [element])],
                          [element, element], **_attrs(ctx, op.attrs))


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
    return ctx.create("stablehlo.reduce_window", [x, tangents, *starts], [type, type], [pick],
                      [element] * 4, **_attrs(ctx, a))[1]


@rule(ops.select_and_scatter_add)
def _scatter(ctx: RuleContext, op: Op, source: Any, x: Any) -> Any:
    a, element = op.attrs, scalar(op.results[0].type.dtype)
    if not a["window"]:                         # XLA has no window without axes
        return source
    return ctx.create("stablehlo.select_and_scatter", [x, source, ctx.constant(0, element)],
                      op.results,
                      [lambda ctx, x, y: _keeps(ctx, a, x, y), _add(element)],
                      [element, element], **_attrs(ctx, a))


def _add(element: TensorType) -> Callable[..., Any]:
    return lambda ctx, x, y: ctx.create("stablehlo.add", [x, y], [element])


@rule(ops.reduce_window)
def _by_body(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    body = op.attrs["body"]
    return ctx.create("stablehlo.reduce_window", operands, op.results,
                      [lambda ctx, *values: ctx.inline(body, values)],
                      [v.type for v in body.params], **_attrs(ctx, op.attrs))
