"""Samplers of continuous and categorical distributions, by transforming uniform numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType

from ..arrays.arguments import at_home, only
from ..arrays.dispatch import eager
from ..arrays.operands import (
    broadcast_shapes,
    broadcast_to,
    convert,
    normalize_axis,
    operand,
    promote_inexact,
    shape_of,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .bits import chosen_dtype, constant, uniform_in
from .keys import typed_key


def _normal(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Tracer:
    low = np.nextafter(np.asarray(-1, dtype.numpy), np.asarray(0, dtype.numpy), dtype=dtype.numpy)
    drawn = uniform_in(key, shape, dtype, low, 1)
    return emit(ops.mul, constant(math.sqrt(2), dtype, shape), emit(ops.erf_inv, drawn))


@eager(static=("shape", "dtype"))
def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal floats (or, for a complex dtype, of unit variance) of the given shape.

    Source: inverse of the cumulative distribution, sqrt(2) erf_inv(u), u uniform in (-1, 1).
    """
    at_home("normal", out_sharding)
    size = shape_of(shape)
    if dtype is not None and np.issubdtype(np.dtype(dtype), np.complexfloating):
        made = chosen_dtype("normal", dtype, None, "complex")
        real = dtypes.real_of(made)
        pair = emit(ops.random_split, typed_key("normal", key), shape=(2,))
        parts = [_normal(emit(ops.reshape, emit(ops.slice, pair, starts=(i,), limits=(i + 1,),
                                                strides=(1,)), shape=()), size, real)
                 for i in (0, 1)]
        unit = constant(math.sqrt(2), made, size)
        return emit(ops.div, emit(ops.complex, *parts), unit)
    return _normal(typed_key("normal", key), size, chosen_dtype("normal", dtype, float, "float"))


@eager(static=("shape", "dtype"))
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *,
                     out_sharding: Any = None) -> Any:
    """Standard normal floats conditioned to lie in (lower, upper), which broadcast to `shape`."""
    at_home("truncated_normal", out_sharding)
    made = chosen_dtype("truncated_normal", dtype, float, "float")
    low, high = (convert(operand("truncated_normal", x), made) for x in (lower, upper))
    size = broadcast_shapes("truncated_normal", [low.shape, high.shape]) if shape is None \
        else shape_of(shape)
    low, high = broadcast_to(low, size), broadcast_to(high, size)
    root = constant(math.sqrt(2), made, size)
    a, b = (emit(ops.erf, emit(ops.div, x, root)) for x in (low, high))
    drawn = uniform_in(typed_key("truncated_normal", key), size, made, a, b)
    out = emit(ops.mul, root, emit(ops.erf_inv, drawn))
    inside_low = emit(ops.nextafter, low, constant(np.inf, made, size))
    inside_high = emit(ops.nextafter, high, constant(-np.inf, made, size))
    return emit(ops.min, emit(ops.max, out, inside_low), inside_high)


def _gumbel(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Tracer:
    tiny = np.finfo(dtype.numpy).tiny if dtype is not dtypes.bf16 else 2.0 ** -126
    drawn = uniform_in(key, shape, dtype, tiny, 1)
    return emit(ops.neg, emit(ops.log, emit(ops.neg, emit(ops.log, drawn))))


@eager(static=("shape", "dtype", "mode"))
def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *,
           out_sharding: Any = None) -> Any:
    """Standard Gumbel floats: -log(-log(u)).

    Args:
      mode: None or "low": one uniform number for each.
    Raises: ValueError for another mode; NotImplementedError for "high", which takes two.
    """
    if mode not in (None, "low", "high"):
        raise ValueError(f"gumbel: mode must be 'low' or 'high', got {mode!r}")
    only("gumbel", "low", "for a wider range draw with dtype float64", mode=mode or "low")
    at_home("gumbel", out_sharding)
    return _gumbel(typed_key("gumbel", key), shape_of(shape),
                   chosen_dtype("gumbel", dtype, float, "float"))


@eager(static=("shape", "dtype"))
def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Floats of the exponential distribution with rate 1: -log1p(-u)."""
    at_home("exponential", out_sharding)
    made, size = chosen_dtype("exponential", dtype, float, "float"), shape_of(shape)
    drawn = uniform_in(typed_key("exponential", key), size, made, 0, 1)
    return emit(ops.neg, emit(ops.log1p, emit(ops.neg, drawn)))


@eager(static=("axis", "shape"))
def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, *,
                out_sharding: Any = None) -> Any:
    """Integers drawn with the probabilities softmax(logits) along `axis`.

    Args:
      logits: floats, any shape.
      shape: of the result; it ends with the shape of the logits without `axis`.
    Source: the Gumbel-max trick.
    """
    at_home("categorical", out_sharding)
    x = promote_inexact("categorical", logits)[0]
    place = normalize_axis("categorical", axis, x.ndim)
    batch = tuple(n for i, n in enumerate(x.shape) if i != place)
    size = batch if shape is None else shape_of(shape)
    if size[len(size) - len(batch):] != batch:
        raise ValueError(f"categorical: shape {size} must end with the batch shape {batch}")
    prefix = size[:len(size) - len(batch)]
    whole = (*prefix, *x.shape)
    noise = _gumbel(typed_key("categorical", key), whole, x.value.type.dtype)
    total = emit(ops.add, noise, broadcast_to(x, whole))
    from ..arrays.operands import default_int

    return emit(ops.argmax, total, axis=place + len(prefix), index_dtype=default_int())
