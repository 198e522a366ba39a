"""Numbers that sum up data along an axis: its mode, the ranks in it, the error of its mean.

Source: `scipy.stats`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import default_float, normalize_axis, operand
from ...lax.reductions import cummax, cummin


class ModeResult(NamedTuple):
    """The result of `mode`: the values, and how often they occur."""

    mode: Any
    count: Any


def _policy(name: str, nan_policy: str, *there: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got "
                         f"{nan_policy!r}")
    if nan_policy not in there:
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not supported; pass "
                                  + " or ".join(map(repr, there)))


@eager(static=("axis", "nan_policy", "keepdims"))
def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
         ) -> ModeResult:
    """The value that occurs most often along an axis (the least of several), and how often.

    Args:
      axis: the axis; None for all elements.
      nan_policy: "propagate", the only one: all NaNs are one value like others.
      keepdims: whether the axis stays in the result with size 1.
    Returns: `ModeResult(mode, count)`; NaN and 0 where there are no elements.
    Raises: ValueError for another policy; NotImplementedError for "omit" and "raise".

    >>> stats.mode(jnp.array([1, 2, 2, 3]))[0]
    Array(2, dtype=int32)
    """
    _policy("mode", nan_policy, "propagate")
    x = operand("mode", a)
    shape = x.shape
    if axis is None:
        x, axis = jnp.ravel(x), 0
        kept = (1,) * len(shape)
    else:
        x = jnp.atleast_1d(x)
        axis = normalize_axis("mode", axis, x.ndim)
        kept = tuple([1 if i == axis else n for i, n in enumerate(shape)])
    n, rest = x.shape[axis], x.shape[:axis] + x.shape[axis + 1:]
    out = kept if keepdims else rest
    if not n:
        dtype = x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else None
        return ModeResult(jnp.full(out, math.nan, dtype), jnp.zeros(out))
    x = jnp.sort(jnp.moveaxis(x, axis, -1))
    place = jnp.arange(n)
    so_far = place - cummax(jnp.where(_starts(x), place, 0), axis=x.ndim - 1) + 1
    at = jnp.argmax(so_far, axis=-1, keepdims=True)
    found = [jnp.take_along_axis(v, at, -1).reshape(out) for v in (x, so_far)]
    return ModeResult(found[0], found[1])


def _starts(x: Any) -> Any:
    """Where an element of sorted x differs from the one before; all NaN count as equal."""
    same = (x[..., 1:] == x[..., :-1]) | ((x[..., 1:] != x[..., 1:]) & (x[..., :-1] != x[..., :-1]))
    return jnp.concatenate([jnp.ones((*x.shape[:-1], 1), bool), ~same], -1)


_METHODS = ("average", "min", "max", "dense", "ordinal")


@eager(static=("method", "axis", "nan_policy"))
def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None,
             nan_policy: str = "propagate") -> Array:
    """The rank of each element among those along an axis, from 1 on.

    Args:
      method: the rank of equal elements: "average", "min" or "max" of their ranks, "dense" for one
        more than the number of smaller values, "ordinal" for ranks in their order.
      axis: the axis; None ranks all elements, and returns a vector.
      nan_policy: "propagate", the only one: where there is a NaN, all ranks are NaN.
    Returns: floats of the default width.
    Raises: ValueError for another method or policy; NotImplementedError for "omit" and "raise".

    >>> stats.rankdata(jnp.array([3., 1., 3.]))
    Array([2.5, 1. , 2.5], dtype=float32)
    """
    _policy("rankdata", nan_policy, "propagate")
    if method not in _METHODS:
        raise ValueError(f"rankdata: method must be one of {', '.join(_METHODS)}, got {method!r}")
    x = operand("rankdata", a)
    if axis is None:
        x, axis = jnp.ravel(x), 0
    axis = normalize_axis("rankdata", axis, x.ndim)
    dtype = default_float().numpy
    if not x.size:
        return jnp.zeros(x.shape, dtype)
    x = jnp.moveaxis(x, axis, -1)
    n, order = x.shape[-1], jnp.argsort(x, axis=-1, stable=True)
    inverse = jnp.argsort(order, axis=-1, stable=True)
    if method == "ordinal":
        ranks = inverse + 1
    else:
        starts = _starts(jnp.take_along_axis(x, order, -1))
        ranks = jnp.take_along_axis(_tied_ranks(starts, method, n), inverse, -1)
    ranks = ranks.astype(dtype)
    if jnp.issubdtype(x.dtype, jnp.inexact):
        ranks = jnp.where((x != x).any(-1, keepdims=True), math.nan, ranks)
    return jnp.moveaxis(ranks, -1, axis)


def _tied_ranks(starts: Any, method: str, n: int) -> Any:
    """Ranks of sorted elements; `starts` marks those that differ from the one before."""
    if method == "dense":
        return jnp.cumsum(starts, axis=-1)
    place, last = jnp.arange(1, n + 1), starts.ndim - 1
    least = cummax(jnp.where(starts, place, 0), axis=last)
    if method == "min":
        return least
    ends = jnp.concatenate([starts[..., 1:], jnp.ones_like(starts[..., :1])], -1)
    most = cummin(jnp.where(ends, place, n), axis=last, reverse=True)
    return most if method == "max" else (least + most) / 2


@eager(static=("axis", "ddof", "nan_policy", "keepdims"))
def sem(a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
        keepdims: bool = False) -> Array:
    """The standard error of the mean along an axis: the deviation over the root of the count.

    Args:
      axis: the axis; None for all elements.
      ddof: a number that is subtracted from the count in the variance.
      nan_policy: "propagate", or "omit" to leave NaNs out.
      keepdims: whether the axis stays in the result with size 1.
    Raises: ValueError for another policy; NotImplementedError for "raise".

    >>> stats.sem(jnp.array([1., 2., 3.]))
    Array(0.577, dtype=float32)
    """
    _policy("sem", nan_policy, "propagate", "omit")
    x = jnp.atleast_1d(operand("sem", a))
    options = {"axis": axis, "keepdims": keepdims}
    if nan_policy == "propagate":
        n = x.size if axis is None else x.shape[normalize_axis("sem", axis, x.ndim)]
        return jnp.std(x, ddof=ddof, **options) / math.sqrt(n) if n else jnp.std(x, **options)
    spread = jnp.nanstd(x, ddof=ddof, **options)
    return spread / jnp.sqrt((x == x).sum(**options)).astype(spread.dtype)


__all__ = ["mode", "rankdata", "sem"]
