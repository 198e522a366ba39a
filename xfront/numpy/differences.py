"""Differences, gradients, integrals and interpolation along samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike, AxisLike
from ..eager.dispatch import eager
from ..eager.operands import (
    array_like,
    broadcast_to,
    convert,
    listed,
    normalize_axis,
    operand,
    promote,
    promote_inexact,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .arithmetic import absolute, add, divide, multiply, remainder, subtract
from .extremes import maximum, minimum
from .logic import less
from .manipulation import concatenate, cut, joined, moveaxis, ravel
from .positions import take
from .reductions import sum
from .running import cumsum
from .sorting import searchsorted
from .ufuncs import arithmetic, like, refuse, shaped, where

# --- differences --------------------------------------------------------------------------


@eager(static=("n", "axis"))
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None,
         append: ArrayLike | None = None) -> Array:
    """Each element less the one before it along an axis, n times; for bools, whether they differ.

    Args:
      prepend, append: arrays to add at the ends along the axis first; a scalar is one slice.
    Raises: ValueError for scalars, negative n and axes out of range.
    Source: `numpy.diff`.

    >>> jnp.diff(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = operand("diff", a)
    if n < 0:
        raise ValueError(f"diff: order must be non-negative but got {n}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional; got "
                         f"{x.value.type}")
    if n == 0:
        return x
    at = normalize_axis("diff", axis, x.ndim)
    parts: list[Any] = []
    for given in (prepend, x, append):
        if given is None or given is x:
            parts += [] if given is None else [x]
            continue
        v = operand("diff", given)
        if not v.ndim:
            v = broadcast_to(v, (*x.shape[:at], 1, *x.shape[at + 1:]))
        parts.append(v)
    x = as_tracer(concatenate(parts, at))
    definition = ops.ne if x.value.type.dtype.kind == "bool" else ops.sub
    for _ in range(n):
        size = x.shape[at]
        x = emit(definition, cut(x, at, min(1, size), size), cut(x, at, 0, max(size - 1, 0)))
    return x


@eager
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
            ) -> Array:
    """Differences of the flattened elements, with values around them. Source: `numpy.ediff1d`.

    >>> jnp.ediff1d(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = as_tracer(ravel(operand("ediff1d", ary)))
    if x.value.type.dtype.kind == "bool":
        raise refuse("ediff1d", x, "numeric")
    made = as_tracer(diff(x))
    dtype = x.value.type.dtype
    ends = [None if v is None else convert(as_tracer(ravel(operand("ediff1d", v))), dtype)
            for v in (to_begin, to_end)]
    return joined([v for v in (ends[0], made, ends[1]) if v is not None], 0)


@eager(static=("axis",))
def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1,
           period: ArrayLike = 2 * math.pi) -> Array:
    """`p` shifted by whole periods where its values jump by more than half a period.

    Args:
      discont: the least jump that is changed; None, and smaller values, mean half a period.
      period: the period, a number; an array of integers keeps its dtype where it is an integer.
    Raises: ValueError for arrays without axes; TypeError for complex ones.
    Source: `numpy.unwrap`.

    >>> jnp.unwrap(jnp.array([0., 3., 6., -0.5]))
    Array([0.   , 3.   , 6.   , 5.783], dtype=float32)
    """
    x = operand("unwrap", p)
    if x.value.type.dtype.is_complex:
        raise refuse("unwrap", x, "real")
    x, turn = promote("unwrap", arithmetic(x), period)
    if not x.ndim:
        raise ValueError(f"unwrap requires an array with an axis, got {x.value.type}")
    at, dtype = normalize_axis("unwrap", axis, x.ndim), x.value.type.dtype
    step = diff(x, axis=at)
    turn = broadcast_to(turn, step.shape)
    two = like(turn, 2)
    half = turn / two if dtype.is_inexact else emit(ops.div, turn, two)
    low = -half
    moved = add(remainder(subtract(step, low), turn), low)
    # a jump of exactly half a period keeps its direction; an odd integer period has no exact half
    edge = (moved == low) & (step > 0)
    if dtype.is_integer:
        edge = edge & (emit(ops.rem, turn, two) == 0)
    moved = where(edge, half, as_tracer(moved))
    least = half if discont is None else discont
    small = less(absolute(step), least)
    change = where(as_tracer(small), 0, as_tracer(subtract(moved, step)))
    first, rest = cut(x, at, 0, min(1, x.shape[at])), cut(x, at, min(1, x.shape[at]), x.shape[at])
    return joined([first, add(rest, cumsum(change, at))], at)


# --- gradient -----------------------------------------------------------------------------

def _slope(x: Tracer, axis: int, h: Tracer) -> Tracer:
    """Central differences inside, one-sided ones at the ends."""
    n = x.shape[axis]

    def part(start: int, stop: int) -> Tracer:
        return cut(x, axis, start, stop)

    if not h.ndim:
        inner = divide(subtract(part(2, n), part(0, n - 2)), multiply(h, 2))
        first = divide(subtract(part(1, 2), part(0, 1)), h)
        last = divide(subtract(part(n - 1, n), part(n - 2, n - 1)), h)
        return as_tracer(concatenate([first, inner, last], axis))
    steps = shaped(as_tracer(subtract(cut(h, 0, 1, n), cut(h, 0, 0, n - 1))),
                   (1,) * axis + (n - 1,) + (1,) * (x.ndim - axis - 1))
    slopes = divide(subtract(part(1, n), part(0, n - 1)), steps)
    before, after = cut(steps, axis, 0, n - 2), cut(steps, axis, 1, n - 1)
    slopes = as_tracer(slopes)
    inner = divide(add(multiply(cut(slopes, axis, 0, n - 2), after),
                       multiply(cut(slopes, axis, 1, n - 1), before)), add(before, after))
    ends = cut(slopes, axis, 0, 1), cut(slopes, axis, n - 2, n - 1)
    return as_tracer(concatenate([ends[0], inner, ends[1]], axis))


@eager(static=("axes",))
def _gradient(f: Any, spacing: Any, axes: tuple[int, ...]) -> list[Tracer]:
    x, *steps = promote_inexact("gradient", f, *spacing)
    steps = steps or [convert(operand("gradient", 1.0), x.value.type.dtype)] * len(axes)
    for axis, h in zip(axes, steps, strict=True):
        if h.ndim and h.shape != (x.shape[axis],):
            raise ValueError(f"gradient: coordinates along axis {axis} of an array of shape "
                             f"{x.shape} must be of shape ({x.shape[axis]},), got {h.shape}")
    return [_slope(x, axis, h) for axis, h in zip(axes, steps, strict=True)]


def gradient(f: ArrayLike, *varargs: ArrayLike | Sequence[ArrayLike], axis: AxisLike = None,
             edge_order: int | None = None) -> Array | list[Array]:
    """Slopes by central differences, one-sided at the ends.

    Args:
      varargs: distances of the samples, one for all axes or one for each: a number, or the
        coordinates as a 1-d array.
      axis: axis or axes; None for all.
    Returns: an array for a single axis, otherwise a list of arrays.
    Raises: TypeError for another number of distances; ValueError for fewer than two samples;
      NotImplementedError where `edge_order` is given.
    Source: `numpy.gradient`.

    >>> jnp.gradient(jnp.array([1., 4., 9.]))
    Array([3., 4., 5.], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to gradient is not supported.")
    f = array_like("gradient", f)
    shape = getattr(f, "shape", ())
    axes = tuple([normalize_axis("gradient", i, len(shape))
                  for i in (range(len(shape)) if axis is None else listed(axis))])
    if any(shape[i] < 2 for i in axes):
        raise ValueError("gradient: Shape of array too small to calculate a numerical gradient, at "
                         f"least 2 elements along each axis are required; got {shape}")
    if len(varargs) <= 1:
        spacing = list(varargs) * len(axes)
    elif len(varargs) == len(axes):
        spacing = list(varargs)
    else:
        raise TypeError(f"gradient: Invalid number of spacing arguments {len(varargs)} for "
                        f"axis={axis}; give one, or one for each of {len(axes)} axes")
    made: list[Array] = list(_gradient(f, spacing, axes))
    return made[0] if len(axes) == 1 else made


# --- integral -----------------------------------------------------------------------------

@eager(static=("axis",))
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
              ) -> Array:
    """The integral over samples along an axis, by the trapezoidal rule.

    Args:
      x: coordinates of the samples, 1-d along the axis or of y's shape; None for samples `dx`
        apart.
      dx: distances between neighbours; they broadcast with y, of which the axis has one less.
    Source: `numpy.trapezoid`.

    >>> jnp.trapezoid(jnp.array([1., 2., 3.]), dx=2.)
    Array(8., dtype=float32)
    """
    if x is None:
        y, step = promote_inexact("trapezoid", *promote_inexact("trapezoid", y), dx)
        at = normalize_axis("trapezoid", axis, y.ndim)
    else:
        y, x = promote_inexact("trapezoid", y, x)
        y = moveaxis(y, axis, -1)
        step = diff(x) if x.ndim == 1 else diff(moveaxis(x, axis, -1))
        axis, at = -1, y.ndim - 1
    n = y.shape[at]
    both = add(cut(as_tracer(y), at, min(1, n), n), cut(as_tracer(y), at, 0, max(n - 1, 0)))
    return multiply(sum(multiply(step, both), axis), 0.5)


# --- interpolation ------------------------------------------------------------------------

@eager(static=("extend_left", "extend_right"))
def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, extend_left: bool,
            extend_right: bool) -> Any:
    (values,) = promote_inexact("interp", fp)
    x, xp = promote_inexact("interp", x, xp)
    if x.value.type.dtype.is_complex:
        raise refuse("interp", x, "real coordinates in")
    if period is not None:
        x, xp, values = _periodic(x, xp, values, operand("interp", period))
        left = right = None
    n = xp.size
    if n < 2:
        return broadcast_to(shaped(values, ()), x.shape)
    above = searchsorted(xp, x, "right")
    above = as_tracer(above)
    above = maximum(minimum(above, n - 1), 1)
    below = above - 1
    x0, x1 = take(xp, below, mode="clip"), take(xp, above, mode="clip")
    f0, f1 = take(values, below, mode="clip"), take(values, above, mode="clip")
    width = x1 - x0
    flat = width == 0
    inside = x
    if period is None:               # keeps slopes that are not used out of derivatives
        if not extend_left:
            inside = where(x < _element(xp, 0, x.shape), as_tracer(x0), inside)
        if not extend_right:
            inside = where(x > _element(xp, n - 1, x.shape), as_tracer(x0), inside)
    share = divide(subtract(inside, x0), where(flat, 1, width))
    made = add(f0, multiply(share, subtract(f1, f0)))
    made = where(flat, f0, made)
    if period is None:
        if not extend_left:
            made = where(x < _element(xp, 0, x.shape),
                         _element(values, 0, ()) if left is None else left, made)
        if not extend_right:
            made = where(x > _element(xp, n - 1, x.shape),
                         _element(values, n - 1, ()) if right is None else right, made)
    return made


def _element(x: Tracer, i: int, shape: tuple[int, ...]) -> Tracer:
    return broadcast_to(shaped(cut(x, 0, i, i + 1), ()), shape)


def _periodic(x: Tracer, xp: Tracer, fp: Tracer, period: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Coordinates within one period; the samples sorted, with one more at each end."""
    period = abs(convert(period, x.value.type.dtype))
    x, xp = as_tracer(remainder(x, period)), as_tracer(remainder(xp, period))
    n = xp.size
    xp, order = emit(ops.sort, xp, emit(ops.iota, dtype=dtypes.i32, shape=(n,), dimension=0),
                     dimension=0, n_keys=1, stable=True)
    fp = as_tracer(take(fp, order, 0, mode="clip"))
    last, first = cut(xp, 0, n - 1, n), cut(xp, 0, 0, 1)
    xp = joined([subtract(last, period), xp, add(first, period)], 0)
    return x, xp, joined([cut(fp, 0, n - 1, n), fp, cut(fp, 0, 0, 1)], 0)


def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: ArrayLike | str | None = None,
           right: ArrayLike | str | None = None, period: ArrayLike | None = None) -> Array:
    """Values between samples, on straight lines.

    Args:
      x: coordinates at which to interpolate, of any shape.
      xp, fp: 1-d arrays, the ascending coordinates and the values of the samples.
      left, right: values before and after the samples: None for the first and the last value,
        "extrapolate" to continue the outer lines, or a number.
      period: the period of the coordinates, which may then be in any order; None for no period.
    Raises: ValueError where the samples are not 1-d and of the same size.
    Source: `numpy.interp`.

    >>> jnp.interp(1.5, jnp.array([1., 2., 3.]), jnp.array([10., 20., 30.]))
    Array(15., dtype=float32)
    """
    x, xp, fp = (array_like("interp", v) for v in (x, xp, fp))
    shapes = [np.shape(v) if not hasattr(v, "shape") else v.shape for v in (xp, fp)]
    if shapes[0] != shapes[1] or len(shapes[0]) != 1:
        raise ValueError("interp: xp and fp must be one-dimensional arrays of equal size, got "
                         f"shapes {shapes[0]} and {shapes[1]}")
    extend = []
    for given in (left, right):
        if isinstance(given, str) and given != "extrapolate":
            raise ValueError("interp: the only valid string for left and right is 'extrapolate', "
                             f"got {given!r}")
        extend.append(isinstance(given, str))
    return _interp(x, xp, fp, None if extend[0] else left, None if extend[1] else right, period,
                   *extend)


__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]
