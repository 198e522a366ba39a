"""dot_product_attention. Source: "Attention is all you need", arXiv:1706.03762."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..arrays.dispatch import eager
from ..arrays.operands import convert, operand
from ..lax.precision import precision_attr
from ..numpy.shorthand import add, choose, compare, div, greatest, mul, stopped, sub, total
from ..tracing.trace import emit

_LEAST = -0.7 * float(np.finfo(np.float32).max)     # masked, yet a row of nothing else has no NaN


@eager(static=("scale", "is_causal", "local_window_size", "implementation", "return_residual"))
def dot_product_attention(
        query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *,
        scale: float | None = None, is_causal: bool = False, query_seq_lengths: Any = None,
        key_value_seq_lengths: Any = None, local_window_size: int | tuple[int, int] | None = None,
        implementation: str | None = None, return_residual: bool = False) -> Any:
    """softmax(scale query key^T + bias) value, for each head.

    Args:
      query: [batch, T, N, H] or [T, N, H]: T positions, N heads of H features.
      key, value: [batch, S, K, H] or [S, K, H], where K divides N: each serves N / K heads.
      bias: added to the logits; broadcasts to [batch, N, T, S].
      mask: bool, false where a position is not to be seen; broadcasts as `bias`.
      scale: of the logits; 1 / sqrt(H) where None.
      is_causal: whether position t sees positions up to t alone.
      query_seq_lengths, key_value_seq_lengths: [batch], how many positions are there.
      local_window_size: how many positions before and after are seen: a number or a pair.
      implementation: None, "xla" or "cudnn"; the result is the same.
      return_residual: whether to give also the logsumexp of the logits, [batch, T, N].
    Returns: an array like `query`.
    Raises: ValueError where shapes do not fit or the implementation is not known.
    """
    if implementation not in (None, "xla", "cudnn"):
        raise ValueError(f"dot_product_attention: there is no implementation {implementation!r}")
    q, k, v = [operand("dot_product_attention", x) for x in (query, key, value)]
    shape = q.shape
    if q.ndim == 3:
        q, k, v = [emit(ops.reshape, x, shape=(1, *x.shape)) for x in (q, k, v)]
    if not (q.ndim == k.ndim == v.ndim == 4 and k.shape == v.shape and q.shape[0] == k.shape[0]
            and q.shape[3] == k.shape[3] and q.shape[2] % k.shape[2] == 0):
        raise ValueError(f"dot_product_attention: query {shape}, key {np.shape(key)} and value "
                         f"{np.shape(value)} do not fit")
    batch, t, heads, features = q.shape
    s, groups = k.shape[1], k.shape[2]
    if groups != heads:
        k, v = [_repeated(x, heads // groups) for x in (k, v)]
    precision = precision_attr(None)
    logits = emit(ops.dot_general, q, k, contract=((3,), (3,)), batch=((0, 2), (0, 2)),
                  precision=precision, preferred=dtypes.f32 if q.value.type.dtype is not dtypes.f64
                  else None)                                     # [batch, N, T, S]
    logits = mul(logits, 1 / math.sqrt(features) if scale is None else float(scale))
    if bias is not None:
        logits = add(logits, convert(operand("bias", bias), logits.value.type.dtype))
    seen = _seen(mask, t, s, is_causal, local_window_size, query_seq_lengths,
                 key_value_seq_lengths)
    for each in seen:
        logits = choose(each, logits, _LEAST)
    top = stopped(greatest(logits, (3,)))
    weights = emit(ops.exp, sub(logits, top))
    whole = total(weights, (3,))
    probabilities = convert(div(weights, whole), k.value.type.dtype)
    made = emit(ops.dot_general, probabilities, v, contract=((3,), (1,)), batch=((0, 1), (0, 2)),
                precision=precision, preferred=None)             # [batch, N, T, H]
    made = emit(ops.transpose, made, permutation=(0, 2, 1, 3))
    if query_seq_lengths is not None:
        made = choose(_below(query_seq_lengths, (batch, t, 1, 1), 1), made, 0)
    made = emit(ops.reshape, made, shape=shape) if made.shape != shape else made
    made = convert(made, operand("query", query).value.type.dtype)
    if not return_residual:
        return made
    residual = add(emit(ops.log, whole), top)
    residual = emit(ops.transpose, emit(ops.reshape, residual, shape=(batch, heads, t)),
                    permutation=(0, 2, 1))
    return made, emit(ops.reshape, residual, shape=shape[:-1])


def _repeated(x: Any, times: int) -> Any:
    """Each head of keys or values for as many heads of queries as share it."""
    b, s, n, h = x.shape
    wide = emit(ops.broadcast_in_dim, x, shape=(b, s, n, times, h), dims=(0, 1, 2, 4))
    return emit(ops.reshape, wide, shape=(b, s, n * times, h))


def _places(shape: tuple[int, ...], axis: int) -> Any:
    return emit(ops.iota, dtype=dtypes.i32, shape=shape, dimension=axis)


def _below(lengths: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Whether the position along an axis is below the length of its batch element."""
    own = convert(operand("seq_lengths", lengths), dtypes.i32)
    if own.shape != shape[:1]:
        raise ValueError(f"dot_product_attention: sequence lengths must be one each batch element "
                         f"({shape[0]}), got {own.shape}")
    wide = emit(ops.broadcast_in_dim, own, shape=shape, dims=(0,))
    return compare(ops.lt, _places(shape, axis), wide)


def _seen(mask: Any, t: int, s: int, is_causal: bool, window: Any, queries: Any, keys: Any
          ) -> list[Any]:
    """The masks that hold, each of which broadcasts to [batch, N, T, S]."""
    seen = []
    if mask is not None:
        mask = operand("mask", mask)
        if mask.value.type.dtype is not dtypes.bool_:
            raise ValueError(f"dot_product_attention: mask must be bool, got {mask.value.type}")
        seen.append(mask)
    shape = (1, 1, t, s)
    if is_causal:
        seen.append(compare(ops.ge, _places(shape, 2), _places(shape, 3)))
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        distance = emit(ops.sub, _places(shape, 3), _places(shape, 2))
        seen.append(compare(ops.ge, distance, -int(before)))
        seen.append(compare(ops.le, distance, int(after)))
    for lengths, axis in ((queries, 2), (keys, 3)):
        if lengths is not None:
            n = operand("seq_lengths", lengths).shape[0]
            seen.append(_below(lengths, (n, 1, t if axis == 2 else 1, s if axis == 3 else 1), axis))
    return seen


