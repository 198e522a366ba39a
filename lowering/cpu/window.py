"""Window extrema that keep NaN, and their gradients, computed for one place in the window after the
other."""

from __future__ import annotations

import itertools
import math
from typing import Any

from lowering.forms.conditions import condition
from lowering.forms.registry import form, in_programs
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.window import patches, windowed_shape

from .reduce import LOSES_GREATEST, LOSES_LEAST, or_nan

Ints = tuple[int, ...]

FLOATS = (dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64)


@condition
def _apart(op: Op) -> bool:
    """Windows that do not overlap; they may have one element."""
    a, counts = op.attrs, op.results[0].type.shape
    return all(window in (1, stride) or count == 1
               for window, stride, count in zip(a["window"], a["strides"], counts, strict=True))


@condition
def _dense(op: Op) -> bool:
    """Nothing is dilated, and padding is not negative."""
    a = op.attrs
    return ({*a["base_dilation"], *a["window_dilation"]} <= {1}
            and all(low >= 0 and high >= 0 for low, high in a["padding"]))


# XLA makes reductions of windows that do not overlap, and leaves them to a library that loses NaN.
@form(ops.reduce_window_max, when=LOSES_GREATEST & _apart & _dense, only=in_programs, needed=True,
      row="kernels.convolution: max-pool 2×2, strides 2")
def greatest_in_windows(b: Builder, op: Op, x: Value) -> Value:
    """A reduction over new axes, along each of which the elements of one window stand."""
    return _along_windows(b, op, x, ops.reduce_max, dtypes.least(x.type.dtype))


@form(ops.reduce_window_min, when=LOSES_LEAST & _apart & _dense, only=in_programs, needed=True,
      row="kernels.convolution: min-pool 2×2, strides 2, channels first")
def least_in_windows(b: Builder, op: Op, x: Value) -> Value:
    return _along_windows(b, op, x, ops.reduce_min, dtypes.greatest(x.type.dtype))


def _along_windows(b: Builder, op: Op, x: Value, definition: OpDef, start: float) -> Value:
    """Each axis is divided into one that counts the windows and one within a window."""
    a, counts = op.attrs, windowed_shape(op.definition.name, x.type, op.attrs)
    rank = range(x.type.ndim)
    padded = b.emit(ops.pad, x, b.literal(start, x.type.dtype), interior=(0,) * len(rank),
                    low=tuple(low for low, _ in a["padding"]),
                    high=tuple(high for _, high in a["padding"]))
    steps = tuple(s if w == 1 else 1 for w, s in zip(a["window"], a["strides"], strict=True))
    cut = b.emit(ops.slice, padded, starts=(0,) * len(rank), strides=steps, limits=tuple(
        (n - 1) * step + w if w == 1 else n * w
        for n, w, step in zip(counts, a["window"], steps, strict=True)))
    split = b.emit(ops.reshape, cut, shape=tuple(
        n for pair in zip(counts, a["window"], strict=True) for n in pair))
    return b.emit(definition, split, axes=tuple(2 * d + 1 for d in rank))


# The same in programs without fences, as those for several devices are: XLA divides windows between
# devices.
@form(ops.reduce_window_max, when=LOSES_GREATEST & _apart, needed=True,
      row="kernels.convolution: max-pool 2×2, strides 2")
@form(ops.reduce_window_min, when=LOSES_LEAST & _apart, needed=True,
      row="kernels.convolution: min-pool 2×2, strides 2, channels first")
def extremum_or_flag_in_windows(b: Builder, op: Op, x: Value) -> Value:
    """NaN where an element of the window is, else the extremum."""
    return or_nan(b, op, x, lambda flags: ops.reduce_window_max(
        flags.to(x.type.dtype), **op.attrs) > 0)


@condition
def _few_places(op: Op) -> bool:
    """Floats, windows of 2 to 16 elements, arrays of 2**11 or more; with padding, no window has an
    axis of 2, along which the plain rule goes in another order."""
    x, window, padding = op.operands[1].type, op.attrs["window"], op.attrs["padding"]
    plain = not any(low or high for low, high in padding)
    ordered = 2 not in window and all(low >= 0 and high >= 0 for low, high in padding)
    return (x.dtype in FLOATS and 2 <= math.prod(window) <= 16 and x.size >= 2048
            and (plain or ordered))


# Windows of up to 16 elements: the plain rule goes through the windows one by one.
@form(ops.select_and_scatter_add, when=_few_places,
      row="kernels.convolution: gradient of max-pool 2×2, strides 2")
def select_and_scatter_add(b: Builder, op: Op, source: Value, x: Value) -> Value:
    """Find the place that wins in each window, for all windows at once; then each element adds up
    the gradients of the windows in which it wins. Along an axis, element `stride * q + r` (counted
    with padding) has place `stride * j + r` in window `q - j`."""
    a, shape, given = op.attrs, source.type.shape, Term(b, source)
    gained = ops.fence(where(given == 0, 0, given))        # -0 becomes 0, as in 0 + source
    x = b.emit(ops.fence, x)
    strides, reach = a["strides"], [-(-w // by) for w, by in zip(
        a["window"], a["strides"], strict=True)]
    sizes = [-(-(n + low + high) // by) for n, by, (low, high) in zip(
        x.type.shape, strides, a["padding"], strict=True)]
    units = [math.prod(n * by for n, by in zip(reach[d + 1:], strides[d + 1:], strict=True))
             for d in range(len(shape))]
    winner = ops.fence(_winner(b, x, shape, a, units))
    full = tuple(n for pair in zip(sizes, strides, strict=True) for n in pair)
    rest = winner.like(0, winner.type.with_shape(full))
    for d, (unit, stride) in enumerate(zip(units, strides, strict=True)):
        if stride > 1:
            at = b.emit(ops.iota, dtype=rest.dtype, shape=full, dimension=2 * d + 1)
            rest = rest + Term(b, at) * unit
    zero = gained.like(0, gained.type.with_shape(full))

    def part(back: Ints) -> Term:
        """What each element gets from the window that begins `back` windows before its own."""
        def seen(v: Term, fill: Any) -> Term:
            high = tuple(n - m - i for n, m, i in zip(sizes, shape, back, strict=True))
            moved = ops.pad(v, Term(b, b.literal(fill, v.dtype)), low=back, high=high,
                            interior=(0,) * len(shape))
            return ops.broadcast_in_dim(moved, shape=full, dims=tuple(range(0, len(full), 2)))

        first = sum(i * by * unit for i, by, unit in zip(back, strides, units, strict=True))
        place = rest + first
        return where(seen(winner, -1) == place, seen(gained, 0), zero)

    first, *later = reversed(list(itertools.product(*map(range, reach))))    # earlier windows first
    total = part(first)
    for back in later:
        total = total + part(back)
    whole = tuple(n * by for n, by in zip(sizes, strides, strict=True))
    return ops.slice(ops.reshape(total, shape=whole),
                     starts=tuple(low for low, _ in a["padding"]),
                     limits=tuple(low + n for n, (low, _) in zip(
                         x.type.shape, a["padding"], strict=True)),
                     strides=(1,) * len(shape)).value


def _winner(b: Builder, x: Value, shape: Ints, a: Any, units: list[int]) -> Term:
    """The number of the place that wins in each window: the first of equal ones, and never padding.
    The number of a place is its distance from the first place, with `units` for a step along each
    axis."""
    keeps = ops.ge if a["select"] == "ge" else ops.le
    ones = (1,) * x.type.ndim
    attrs = {**a, "base_dilation": ones, "window_dilation": ones}
    held = [Term(b, v) for v in patches(b, x, shape, attrs, 0)]
    numbers = [sum(i * unit for i, unit in zip(at, units, strict=True))
               for at in itertools.product(*map(range, a["window"]))]
    span = a["strides"][0] * -(-a["window"][0] // a["strides"][0]) * units[0]
    best = held[0]
    places = best.type.with_dtype(dtypes.i8 if span < 128 else dtypes.i32)
    winner = best.like(0, places)
    if not any(low or high for low, high in a["padding"]):
        for k, value in zip(numbers[1:], held[1:], strict=True):
            stays = keeps(best, value)
            winner, best = where(stays, winner, k), where(stays, best, value)
        return winner
    everywhere = b.ones(x.type.with_dtype(dtypes.bool_))
    inside = [Term(b, v) for v in patches(b, everywhere, shape, attrs, False)]
    found = inside[0]
    winner = where(found, winner, -1)
    for k, value, there in zip(numbers[1:], held[1:], inside[1:], strict=True):
        moves = there & (~found | ~keeps(best, value))
        winner, best = where(moves, k, winner), where(moves, value, best)
        found = found | there
    return winner
