"""The greater and the lesser of values, clipping, and the choice by a condition."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from xfront_ir import ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import (
    array_like,
    broadcast_to,
    convert,
    ir_dtype,
    operand,
    strong,
    together,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .ufuncs import REAL, binary, inexact, like, refuse, where

ORDERED = REAL | {"bool"}


# --- extremes -----------------------------------------------------------------------------

def _extreme(name: str, definition: Any, x: Any, y: Any) -> Tracer:
    x, y = together(name, x, y)
    dtype = x.value.type.dtype
    if dtype.is_key:
        raise refuse(name, x, "numeric or bool")
    if not dtype.is_complex:
        return emit(definition, x, y)
    a, b = emit(ops.real, x), emit(ops.real, y)
    tied, c, d = a == b, emit(ops.imag, x), emit(ops.imag, y)
    first = where(tied, c > d, a > b) if definition is ops.max else where(tied, c < d, a < b)
    first = first | (x != x)
    return where(first, x, y)


@binary(ops.max, ORDERED)
def maximum(x: Any, y: Any) -> Any:
    """The greater; NaN where one is NaN. Source: `numpy.maximum`.

    >>> jnp.maximum(jnp.array([1, 5]), 3)
    Array([3, 5], dtype=int32)
    """
    return _extreme("maximum", ops.max, x, y)


@binary(ops.min, ORDERED)
def minimum(x: Any, y: Any) -> Any:
    """The lesser; NaN where one is NaN. Source: `numpy.minimum`.

    >>> jnp.minimum(jnp.array([1, 5]), 3)
    Array([1, 3], dtype=int32)
    """
    return _extreme("minimum", ops.min, x, y)


def _number_first(name: str, order: Any, x: Any, y: Any) -> Tracer:
    x, y = together(name, x, y)
    if x.value.type.dtype.is_complex:
        found = _extreme(name, ops.max if order is ops.gt else ops.min, x, y)
        found = where(x != x, y, found)
        return where(y != y, x, found)
    first = emit(order, x, y) | (y != y)
    return where(first, x, y)


@binary()
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greater; where one is NaN, the other. Source: `numpy.fmax`.

    >>> jnp.fmax(jnp.array([1., jnp.nan, 3.]), 2)
    Array([2., 2., 3.], dtype=float32)
    """
    return _number_first("fmax", ops.gt, x1, x2)


@binary()
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The lesser; where one is NaN, the other. Source: `numpy.fmin`.

    >>> jnp.fmin(jnp.array([1., jnp.nan, 3.]), 2)
    Array([1., 2., 2.], dtype=float32)
    """
    return _number_first("fmin", ops.lt, x1, x2)


@eager
def clip(arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
         ) -> Array:
    """`arr` raised to `min`, then lowered to `max`; None leaves a side open.

    Raises: TypeError without `arr`, ValueError for complex values.
    Source: `numpy.clip`.

    >>> jnp.clip(jnp.array([-1., 0.5, 3.]), 0, 1)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    if arr is None:
        raise TypeError("clip: an array is required")
    given = [v for v in (arr, min, max) if v is not None]
    if any(ir_dtype(array_like("clip", v))[0].is_complex for v in given):
        raise ValueError("clip: complex values have no order to clip by; clip real(x) and imag(x) "
                         "instead")
    x = operand("clip", arr)
    if min is not None:
        x = maximum(x, min)
    if max is not None:
        x = minimum(x, max)
    return x


@binary()
def heaviside(x1: ArrayLike, x2: ArrayLike) -> Array:
    """0 where x1 < 0, x2 where x1 is 0, else 1, as a float. Source: `numpy.heaviside`.

    >>> jnp.heaviside(jnp.array([-1., 0., 2.]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = together("heaviside", x1, x2)
    x, y = inexact(x), inexact(y)
    if x.value.type.dtype.is_complex:
        raise refuse("heaviside", x, "real")
    zero = like(x, 0)
    step = where(x < zero, zero, where(x > zero, 1, y))
    return where(x != x, x, step)


@eager
def nan_to_num(x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0,
               posinf: ArrayLike | None = None, neginf: ArrayLike | None = None) -> Array:
    """`x` with NaN and the infinities replaced.

    Args:
      copy: has no effect, since arrays are immutable.
      nan, posinf, neginf: the replacements; None for the greatest or least finite value of the
        dtype.
    Source: `numpy.nan_to_num`.

    >>> jnp.nan_to_num(jnp.array([1., jnp.nan, 3.]), nan=-1.)
    Array([ 1., -1.,  3.], dtype=float32)
    """
    x = strong(operand("nan_to_num", x))
    dtype = x.value.type.dtype
    if not dtype.is_inexact:
        return x
    if dtype.is_complex:
        parts = [nan_to_num(emit(op, x), copy, nan, posinf, neginf) for op in (ops.real, ops.imag)]
        return emit(ops.complex, *parts)
    info = ml_dtypes.finfo(dtype.numpy)
    posinf = float(info.max) if posinf is None else posinf
    neginf = float(info.min) if neginf is None else neginf
    cases = ((x != x, nan), (x == float("inf"), posinf), (x == -float("inf"), neginf))
    made = x
    for mask, value in cases:
        value = broadcast_to(convert(operand("nan_to_num", value), dtype, x.weak), x.shape)
        made = where(mask, value, made)
    return made


__all__ = [
    "clip", "fmax", "fmin", "heaviside", "nan_to_num",
]  # fmt: skip
