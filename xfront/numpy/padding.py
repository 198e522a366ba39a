"""`pad`: an array with elements added at the ends of its axes.

Axes are padded one after another, first to last; each sees what was added along those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xfront_ir import ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import array_like, broadcast_to, convert, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .arithmetic import subtract
from .manipulation import cut, joined
from .ufuncs import shaped

OPTIONS = {"constant": {"constant_values"}, "edge": set(), "empty": set(),
           "linear_ramp": {"end_values"}, "maximum": {"stat_length"}, "mean": {"stat_length"},
           "median": {"stat_length"}, "minimum": {"stat_length"}, "reflect": {"reflect_type"},
           "symmetric": {"reflect_type"}, "wrap": set()}


def pad(array: ArrayLike, pad_width: ArrayLike | Sequence[Any] | Mapping[int, Any],
        mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Array:
    """`array` with elements added before and after, along each axis.

    Args:
      pad_width: known integers: (before, after) for each axis, one pair for all, or one number.
      mode: what is added:
        "constant": `constant_values`, 0 by default; pairs for each axis as in `pad_width`.
        "edge", "reflect", "symmetric", "wrap": the edge, the array mirrored without or with its
          edge, the array from its other end; `reflect_type="odd"` mirrors through the edge value.
        "linear_ramp": from the edge to `end_values`.
        "maximum", "mean", "median", "minimum": of the nearest `stat_length` elements, or all.
        "empty": zeros.
        A function (vector, (before, after), axis, options) -> vector gets each zero-padded vector.
    Raises: TypeError for widths that are not integers; ValueError for negative widths, other shapes
      and options that the mode does not have; NotImplementedError for other modes.
    Source: `numpy.pad`.

    >>> jnp.pad(jnp.array([1, 2]), 1, constant_values=9)
    Array([9, 1, 2, 9], dtype=int32)
    """
    array = array_like("pad", array)
    widths = _pairs(pad_width, len(getattr(array, "shape", ())))
    if callable(mode):
        from .applying import apply_along_axis  # late: only this needs it

        made = _pad(array, None, widths, "constant", None)
        for axis, pair in enumerate(widths):
            made = apply_along_axis(mode, axis, made, pair, axis, kwargs)
        return made
    if mode not in OPTIONS:
        raise NotImplementedError(f"pad: mode must be a function or one of {sorted(OPTIONS)}, got "
                                  f"{mode!r}")
    if set(kwargs) - OPTIONS[mode]:
        raise ValueError(f"pad: unsupported keyword arguments for mode {mode!r}: "
                         f"{set(kwargs) - OPTIONS[mode]}")
    option = next(iter(kwargs.values()), None)
    if mode in ("constant", "linear_ramp"):
        values = 0 if option is None else option
        if isinstance(values, (tuple, list)):
            from .creation import asarray  # late: only this needs it

            values = asarray(values)
        return _pad(array, values, widths, mode, None)
    if OPTIONS[mode] == {"stat_length"} and option is not None:
        option = _pairs(option, len(widths))
        if any(n <= 0 for pair in option for n in pair):
            raise ValueError(f"pad: stat_length must be positive, got {option}")
    if option not in (None, "even", "odd") and type(option) is not tuple:
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {option!r}")
    return _pad(array, None, widths, mode, option)


def _pairs(given: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """A pair of known integers for each axis."""
    if type(given) is int and given >= 0:
        return ((given, given),) * ndim
    if isinstance(given, dict):
        raise TypeError("`pad_width` must be of integral type, got a dict")
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise TypeError(f"`pad_width` must be of integral type, got {given!r}")
    if numbers.shape not in ((ndim, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(f"pad: pad_width for {ndim} axes has unsupported shape {numbers.shape}; "
                         f"valid shapes are {(ndim, 2)}, (1, 2), (2,), (1,) and ()")
    if (numbers < 0).any():
        raise ValueError(f"pad: pad_width can't contain negative values, got {given!r}")
    return tuple((int(low), int(high)) for low, high in np.broadcast_to(numbers, (ndim, 2)))


@eager(static=("widths", "mode", "option"))
def _pad(array: Any, values: Any, widths: Any, mode: str, option: Any) -> Any:
    x = operand("pad", array)
    if mode in ("constant", "empty"):
        return _constant(x, 0 if values is None else values, widths)
    weak = x.weak
    ends = _fitted(values, x, (x.ndim, 2)) if mode == "linear_ramp" else None
    for axis, pair in enumerate(widths):
        if pair == (0, 0):
            continue
        size = x.shape[axis]
        if not size:
            raise ValueError(f"pad: can't extend empty axis {axis} using modes other than "
                             "'constant' or 'empty'")
        if ends is not None:
            low, high = (cut(cut(ends, 0, axis, axis + 1), 1, i, i + 1) for i in (0, 1))
            x = joined([_ramp(x, axis, low, pair[0], True), x,
                        _ramp(x, axis, high, pair[1], False)], axis)
        elif OPTIONS[mode]:
            x = (_mirrored_odd(x, axis, pair, mode) if option == "odd" else
                 _mirrored(x, axis, pair, mode) if mode in ("reflect", "symmetric") else
                 _statistic(x, axis, pair, mode, option[axis] if option else (size, size)))
        else:
            x = _mirrored(x, axis, pair, mode)
    return Tracer(x.home, x.value, weak)


def _fitted(values: Any, x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Values in x's dtype, broadcast to a shape."""
    made = convert(operand("pad", values), x.value.type.dtype, x.weak)
    return broadcast_to(made, shape)


def _constant(x: Tracer, values: Any, widths: Sequence[tuple[int, int]]) -> Tracer:
    given = operand("pad", values)
    none = (0,) * x.ndim
    if not given.ndim:
        value = convert(given, x.value.type.dtype)
        made = emit(ops.pad, x, value, low=tuple([p[0] for p in widths]),
                    high=tuple([p[1] for p in widths]), interior=none)
        return Tracer(made.home, made.value, x.weak)
    pairs, weak = _fitted(given, x, (x.ndim, 2)), x.weak
    for axis, pair in enumerate(widths):
        for side, n in enumerate(pair):
            if n:
                value = cut(cut(pairs, 0, axis, axis + 1), 1, side, side + 1)
                amounts: list[tuple[int, ...]] = [none, none]
                amounts[side] = (*none[:axis], n, *none[axis + 1:])
                x = emit(ops.pad, x, shaped(value, ()), low=amounts[0], high=amounts[1],
                         interior=none)
    return Tracer(x.home, x.value, weak)


def picked(x: Tracer, axis: int, index: np.ndarray) -> Tracer:
    """The elements at known positions along an axis, a slice for each run up, down or in place."""
    parts, start = [], 0
    while start < len(index):
        stop = start + 1
        if stop < len(index) and (step := index[stop] - index[start]) in (-1, 0, 1):
            while stop < len(index) and index[stop] - index[stop - 1] == step:
                stop += 1
        else:
            step = 1
        low, high = sorted((int(index[start]), int(index[stop - 1])))
        part = cut(x, axis, low, high + 1)
        if step == 0:
            shape = x.shape
            part = broadcast_to(part, (*shape[:axis], stop - start, *shape[axis + 1:]))
        elif step < 0:
            part = emit(ops.reverse, part, axes=(axis,))
        parts.append(part)
        start = stop
    return joined(parts, axis) if parts else cut(x, axis, 0, 0)


def _mirrored(x: Tracer, axis: int, pair: tuple[int, int], mode: Any) -> Tracer:
    return picked(x, axis, np.pad(np.arange(x.shape[axis]), pair, mode))


def _mirrored_odd(x: Tracer, axis: int, pair: tuple[int, int], mode: str) -> Tracer:
    """`x` extended by 2 edge - element; each round has more elements to mirror."""
    low, high = pair
    if x.shape[axis] == 1 and mode == "reflect":
        return picked(x, axis, np.zeros(low + 1 + high, int))
    skipped = int(mode == "reflect")
    while low or high:
        size = x.shape[axis]
        parts = [x]
        for side in (0, 1):
            n = min((low, high)[side], size - skipped)
            if not n:
                continue
            edge = 0 if side == 0 else size - 1
            start = skipped if side == 0 else size - skipped - n
            part = emit(ops.reverse, cut(x, axis, start, start + n), axes=(axis,))
            around = broadcast_to(cut(x, axis, edge, edge + 1), part.shape)
            part = subtract(around + around, part)
            parts = [part, *parts] if side == 0 else [*parts, part]
            low, high = (low - n, high) if side == 0 else (low, high - n)
        x = joined(parts, axis)
    return x


def _ramp(x: Tracer, axis: int, end: Tracer, n: int, before: bool) -> Tracer:
    from .ranges import linspace  # late: only this needs it

    size, shape = x.shape[axis], x.shape
    edge = 0 if before else size - 1
    edges = cut(x, axis, edge, edge + 1)
    edges = emit(ops.reshape, edges, shape=shape[:axis] + shape[axis + 1:])
    end = broadcast_to(emit(ops.reshape, end, shape=()), edges.shape)
    made = as_tracer(linspace(end, edges, n, endpoint=False, dtype=x.dtype, axis=axis))
    return made if before or not n else emit(ops.reverse, made, axes=(axis,))


def _statistic(x: Tracer, axis: int, pair: tuple[int, int], mode: str,
               lengths: tuple[int, int]) -> Tracer:
    from . import reductions, rounding, statistics  # late: only this needs it

    rule = {"maximum": reductions.max, "minimum": reductions.min, "mean": statistics.mean,
            "median": statistics.median}[mode]
    size, parts = x.shape[axis], [x]
    for side, n in enumerate(pair):
        length = min(lengths[side], size)
        near = cut(x, axis, 0, length) if side == 0 else cut(x, axis, size - length, size)
        made = rule(near, axis=axis, keepdims=True)
        if x.value.type.dtype.is_integer and made.value.type.dtype.is_inexact:
            made = rounding.round(made)           # a bool is whether the mean is not 0
        made = convert(as_tracer(made), x.value.type.dtype)
        made = broadcast_to(made, (*x.shape[:axis], n, *x.shape[axis + 1:]))
        parts = [made, *parts] if side == 0 else [*parts, made]
    return joined(parts, axis)


__all__ = ["pad"]
