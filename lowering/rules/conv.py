"""Lowering of the convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.padding import cropped
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.errors import IRTypeError

from .dot import precision_config


def _layout(spec: tuple[int, ...], first: str, second: str) -> str:
    """The role of each axis as text: `[b, f, 0, 1]`."""
    named = {axis: str(i - 2) for i, axis in enumerate(spec)}
    named[spec[0]], named[spec[1]] = first, second
    return f"[{', '.join(named[d] for d in range(len(spec)))}]"


@rule(ops.conv_general_dilated)
def _conv(ctx: RuleContext, op: Op, lhs: Any, rhs: Any) -> Any:
    a, precision = op.attrs, op.attrs.get("precision")
    if type(precision) is str:
        raise IRTypeError("conv_general_dilated: precision must be a pair; algorithms are only for "
                          f"matrix products, got {precision!r}")
    numbers = (f"#stablehlo.conv<{_layout(a['lhs_spec'], 'b', 'f')}"
               f"x{_layout(a['rhs_spec'], 'o', 'i')}->{_layout(a['out_spec'], 'b', 'f')}>")
    attrs = {} if precision is None else {"precision_config": precision_config(ctx, precision)}
    lhs, padding = _cropped(ctx, lhs, op)
    rhs = _whole_kernel(ctx, rhs, op)
    return ctx.create("stablehlo.convolution", [lhs, rhs], op.results,
                      window_strides=ctx.int_array(a["strides"]),
                      padding=ctx.padding(padding),
                      lhs_dilation=ctx.int_array(a["lhs_dilation"]),
                      rhs_dilation=ctx.int_array(a["rhs_dilation"]),
                      dimension_numbers=ctx.attr(numbers),
                      feature_group_count=ctx.i64(a["feature_groups"]),
                      batch_group_count=ctx.i64(a["batch_groups"]), **attrs)


def _cropped(ctx: RuleContext, lhs: Any, op: Op) -> tuple[Any, Sequence[tuple[int, int]]]:
    """The array that the windows go over, and its padding, which has no negative amounts."""
    a, type = op.attrs, op.operands[0].type
    around, steps = [(0, 0)] * type.ndim, [1] * type.ndim
    spatial = a["lhs_spec"][2:]
    for d, pair, by in zip(spatial, a["padding"], a["lhs_dilation"], strict=True):
        around[d], steps[d] = pair, by
    lhs, _, padding = cropped(ctx, lhs, type, around, steps)
    return lhs, [padding[d] for d in spatial]


def _whole_kernel(ctx: RuleContext, rhs: Any, op: Op) -> Any:
    """The kernel, undivided along its spatial axes in programs over several axes of a mesh: where
    both operands are divided there, XLA adds up products over all devices, also over those that
    hold the same ones."""
    if ctx.shared_mesh is None:
        return rhs
    return ctx.undivided(rhs, op.operands[1].type, op.attrs["rhs_spec"][2:])
