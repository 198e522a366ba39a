"""Padding without negative amounts, which become slices of the operand.

XLA merges padding of padding into one, and its CPU compiler then gets negative amounts wrong; a
window of one element with negative padding ends the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import RuleContext
from xfront_ir.types import TensorType

Pairs = tuple[tuple[int, int], ...]
Ints = tuple[int, ...]


def cropped(ctx: RuleContext, x: Any, type: TensorType, padding: Sequence[Sequence[int]],
            steps: Sequence[int]) -> tuple[Any, TensorType, Pairs]:
    """x without the elements that negative padding removes; its type; what is left to pad.

    Args:
      padding: for each axis what is added before and after; negative amounts take positions away.
      steps: how far apart the elements of each axis lie when the padding is added.
    """
    if all([low >= 0 and high >= 0 for low, high in padding]):
        return x, type, tuple([(low, high) for low, high in padding])
    found = [_crop(n, low, high, step)
             for n, (low, high), step in zip(type.shape, padding, steps, strict=True)]
    starts, limits = tuple([c[0] for c in found]), tuple([c[1] for c in found])
    made = type.with_shape(tuple([c[1] - c[0] for c in found]))
    if made is not type:
        x = sliced(ctx, x, type, made, starts, limits)
    return x, made, tuple([c[2:] for c in found])


def _crop(n: int, low: int, high: int, step: int) -> tuple[int, int, int, int]:
    """The first and the last place of the elements that stay along an axis, and the padding that
    is then left, without negative amounts."""
    first, last = max(0, -(low // step)), max(0, -(high // step))
    if first + last < n:
        return first, n - last, low + first * step, high + last * step
    whole = (n - 1) * step + 1 if n else 0                 # no element stays, or only gaps do
    return 0, 0, max(0, whole + low + high), 0


def apart(ctx: RuleContext, x: Any, of: TensorType, starts: Sequence[int], limits: Sequence[int]
          ) -> Any:
    """x, of type `of`, as a slice of it reads it.

    Parts of devices may be the same before and after where fewer than one element a device is left
    out at the end. XLA's partitioner then takes the one whole array for the other, so these read
    copies.
    """
    if ctx.is_shared and any([start == 0 and 0 < n - limit < ctx.num_partitions for start, limit, n
                              in zip(starts, limits, of.shape, strict=True)]):
        return ctx.barrier(x, of)
    return x


def sliced(ctx: RuleContext, x: Any, of: TensorType, type: TensorType, starts: Sequence[int],
           limits: Sequence[int]) -> Any:
    """The elements of x, of type `of`, from `starts` up to `limits`, of `type`."""
    words = type.dtype.physical
    return ctx.create("stablehlo.slice", [apart(ctx, x, of, starts, limits)], [type],
                      start_indices=ctx.int_array((*starts, *(0 for _ in words))),
                      limit_indices=ctx.int_array((*limits, *words)),
                      strides=ctx.int_array((1,) * (of.ndim + len(words))))


def padded(ctx: RuleContext, x: Any, of: TensorType, value: Any, type: TensorType,
           padding: Sequence[tuple[int, int]], interior: Ints) -> Any:
    """x, of type `of`, with padding of no negative amounts, of `type`; x itself where nothing is
    added. Axes with padding between elements are whole on each device: XLA's partitioner puts
    elements of other parts in the wrong place."""
    if not any(interior) and not any([low or high for low, high in padding]):
        return x
    spread = [d for d, n in enumerate(interior) if n]
    made = ctx.create("stablehlo.pad", [ctx.undivided(x, of, spread), value], [type],
                      edge_padding_low=ctx.int_array([low for low, _ in padding]),
                      edge_padding_high=ctx.int_array([high for _, high in padding]),
                      interior_padding=ctx.int_array(interior))
    return ctx.undivided(made, type, spread)
