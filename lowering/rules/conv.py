"""Lowering of the convolution."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.padding import cropped, sliced
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
    whole = _undivided_axes(ctx, op)
    lhs = ctx.undivided(lhs, op.operands[0].type, whole[0])
    rhs = ctx.undivided(rhs, op.operands[1].type, whole[1])
    lhs, padding = _cropped(ctx, lhs, op)
    result = op.results[0].type
    longer = _like_batches(op, padding)
    padding = [(low, high + more) for (low, high), more in zip(padding, longer, strict=True)]
    shape = list(result.shape)
    for d, more in zip(a["out_spec"][2:], longer, strict=True):
        shape[d] += more > 0
    longer_type = result.with_shape(tuple(shape))
    made = ctx.create("stablehlo.convolution", [lhs, rhs], [longer_type],
                      window_strides=ctx.int_array(a["strides"]),
                      padding=ctx.padding(padding),
                      lhs_dilation=ctx.int_array(a["lhs_dilation"]),
                      rhs_dilation=ctx.int_array(a["rhs_dilation"]),
                      dimension_numbers=ctx.attr(numbers),
                      feature_group_count=ctx.i64(a["feature_groups"]),
                      batch_group_count=ctx.i64(a["batch_groups"]), **attrs)
    if any(longer):
        made = sliced(ctx, made, longer_type, result, (0,) * result.ndim, result.shape)
    return ctx.undivided(made, result, whole[2])


def _like_batches(op: Op, padding: Sequence[tuple[int, int]]) -> list[int]:
    """The padding to add to each axis of windows, for one more window, which is left out later.

    When XLA exchanges the operands, it takes an axis for a batch if its windows and dilations look
    like those that stand for a batch, whatever its length, and then ends the process."""
    a = op.attrs
    kernel = [op.operands[1].type.shape[d] for d in a["rhs_spec"][2:]]
    lengths = [op.operands[0].type.shape[d] for d in a["lhs_spec"][2:]]
    return [by if n > 1 and apart == n != length and by == n - 1 and within == 1 and not any(around)
            else 0 for n, length, by, apart, within, around in zip(
                kernel, lengths, a["strides"], a["lhs_dilation"], a["rhs_dilation"], padding,
                strict=True)]


def _cropped(ctx: RuleContext, lhs: Any, op: Op) -> tuple[Any, Sequence[tuple[int, int]]]:
    """The array that the windows go over, and its padding, which has no negative amounts."""
    a, type = op.attrs, op.operands[0].type
    around, steps = [(0, 0)] * type.ndim, [1] * type.ndim
    spatial = a["lhs_spec"][2:]
    for d, pair, by in zip(spatial, a["padding"], a["lhs_dilation"], strict=True):
        around[d], steps[d] = pair, by
    lhs, _, padding = cropped(ctx, lhs, type, around, steps)
    return lhs, [padding[d] for d in spatial]


def _undivided_axes(ctx: RuleContext, op: Op
                    ) -> tuple[Collection[int], Collection[int], Collection[int]]:
    """The axes of array, kernel and result that XLA's partitioner must not divide.

    The partitioner ends the process or gives wrong numbers if it divides axes of windows with
    strides or dilations, or features or a batch in groups. If the array is divided along axes of
    windows, and the kernel along these or its features, or both along features beside groups of a
    batch, it adds up products over all devices, and counts those several times that several devices
    hold.
    """
    if not ctx.is_shared:
        return (), (), ()
    a = op.attrs
    (batch, features, *along), (outs, ins, *of_kernel) = a["lhs_spec"], a["rhs_spec"]
    by_one = {*a["strides"], *a["lhs_dilation"], *a["rhs_dilation"]} <= {1} and all(
        low >= 0 and high >= 0 for low, high in a["padding"])
    in_groups = a["feature_groups"] > 1, a["batch_groups"] > 1
    if by_one and not any(in_groups):
        return (along, (outs,), ()) if ctx.shared_mesh is not None else ((), (), ())
    result_batch, result_features, *of_result = a["out_spec"]
    if in_groups[1]:
        along, of_result = [*along, batch], [*of_result, result_batch]
        if ctx.shared_mesh is not None or op.operands[1].type.shape[ins] % ctx.num_partitions:
            along, of_kernel = [*along, features], [*of_kernel, ins]
    if in_groups[0]:
        along = [*along, features]
    if any(in_groups):
        of_kernel, of_result = [*of_kernel, outs], [*of_result, result_features]
    return along, of_kernel, of_result
