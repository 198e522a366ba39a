"""dot_product_attention. Source: "Attention is all you need", arXiv:1706.03762."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, operand
from ..lax.precision import precision_attr
from ..numpy.masked_reductions import greatest, total
from ..numpy.transcendental import exp, log
from ..numpy.ufuncs import where
from ..tracing.trace import emit
from ..tracing.tracer import as_tracer

_LEAST = -0.7 * float(np.finfo(np.float32).max)     # finite, so that a fully masked row is not NaN


@overload
def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike,
                          bias: ArrayLike | None = None, mask: ArrayLike | None = None, *,
                          scale: float | None = None, is_causal: bool = False,
                          query_seq_lengths: ArrayLike | None = None,
                          key_value_seq_lengths: ArrayLike | None = None,
                          local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: Literal[False] = False
                         ) -> Array: ...
@overload
def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike,
                          bias: ArrayLike | None = None, mask: ArrayLike | None = None, *,
                          scale: float | None = None, is_causal: bool = False,
                          query_seq_lengths: ArrayLike | None = None,
                          key_value_seq_lengths: ArrayLike | None = None,
                          local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: Literal[True]
                         ) -> tuple[Array, Array]: ...
@overload
def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike,
                          bias: ArrayLike | None = None, mask: ArrayLike | None = None, *,
                          scale: float | None = None, is_causal: bool = False,
                          query_seq_lengths: ArrayLike | None = None,
                          key_value_seq_lengths: ArrayLike | None = None,
                          local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: bool = False
                         ) -> Array | tuple[Array, Array]: ...
@eager(static=("scale", "is_causal", "local_window_size", "implementation", "return_residual"))
def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike,
                          bias: ArrayLike | None = None, mask: ArrayLike | None = None, *,
                          scale: float | None = None, is_causal: bool = False,
                          query_seq_lengths: ArrayLike | None = None,
                          key_value_seq_lengths: ArrayLike | None = None,
                          local_window_size: int | tuple[int, int] | None = None,
                          implementation: str | None = None, return_residual: bool = False
                          ) -> Array | tuple[Array, Array]:
    """softmax(scale query key^T + bias) value, for each head.

    Args:
      query: floats [batch, T, N, H] or [T, N, H]: T positions, N heads of H features.
      key, value: as query, [batch, S, K, H] or [S, K, H], where K divides N: each of the K heads
        serves N / K heads of the query.
      bias: added to the logits; broadcasts to [batch, N, T, S].
      mask: bools, False where a query must not see a key; broadcasts to [batch, N, T, S].
      scale: factor of the logits; None for 1 / sqrt(H).
      is_causal: whether position t only sees positions up to t.
      query_seq_lengths, key_value_seq_lengths: integers [batch], the number of valid positions.
      local_window_size: how many positions before and after a position it sees: an int or a pair.
      implementation: None or "xla"; cuDNN's kernels are not there on any platform.
      return_residual: whether to return also the logsumexp of the logits, [batch, T, N], in the
        dtype of the query.
    Returns: an array like `query`. Where there are more than 2^24 logits, blocks of queries are
      computed one after the other, and again in the backward pass: memory then grows with T + S.
    Raises: ValueError where shapes or dtypes do not match or the implementation is not known;
      NotImplementedError (a RuntimeError) for implementation="cudnn".

    >>> nn.dot_product_attention(*[jnp.ones((1, 4, 2, 8))] * 3).shape
    (1, 4, 2, 8)
    """
    if implementation == "cudnn":
        raise NotImplementedError("dot_product_attention: implementation='cudnn' is not supported, "
                                  "for cuDNN's kernels are not called from here; use "
                                  "implementation='xla', which takes the same arguments, or None")
    if implementation not in (None, "xla"):
        raise ValueError("dot_product_attention: implementation must be None or 'xla', got "
                         f"{implementation!r}")
    q, k, v = [operand("dot_product_attention", x) for x in (query, key, value)]
    shape, own = q.shape, q.value.type.dtype
    for name, x in (("key", k), ("value", v)):
        if x.value.type.dtype is not own:
            raise ValueError(f"dot_product_attention: {name} must have the dtype of query, {own}; "
                             f"got {x.value.type}")
    if q.ndim == 3:
        q, k, v = [emit(ops.reshape, x, shape=(1, *x.shape)) for x in (q, k, v)]
    if not (q.ndim == k.ndim == v.ndim == 4 and k.shape == v.shape and q.shape[0] == k.shape[0]
            and q.shape[3] == k.shape[3] and q.shape[2] % k.shape[2] == 0):
        raise ValueError("dot_product_attention: query must be [batch, time, heads, size] and key "
                         "and value [batch, source, key_heads, size], where heads must be a "
                         f"multiple of key_heads, got shapes {shape}, {np.shape(key)} and "
                         f"{np.shape(value)}")
    batch, t, heads, features = q.shape
    s, groups = k.shape[1], k.shape[2]
    if groups != heads:
        k, v = [_repeated(x, heads // groups) for x in (k, v)]
    scale = 1 / math.sqrt(max(features, 1)) if scale is None else float(scale)
    if bias is not None:
        bias = operand("bias", bias)
    if mask is not None:
        mask = operand("mask", mask)
        if mask.value.type.dtype is not dtypes.bool_:
            raise ValueError(f"dot_product_attention: mask must be bool, got {mask.value.type}")
    lengths = [_lengths(name, x, batch) for name, x in (
        ("query_seq_lengths", query_seq_lengths), ("key_value_seq_lengths", key_value_seq_lengths))]
    limits = _Limits(t, s, is_causal, local_window_size, *lengths)
    block = block_of(batch * heads, t, s)
    rows = _in_one_block if block is None else functools.partial(_in_blocks, block)
    made, residual = rows(q, k, v, bias, mask, scale, limits)
    if limits.queries is not None:
        made = where(_below(limits.queries, (batch, t, 1, 1), 1), made, 0)
    made = emit(ops.reshape, made, shape=shape) if made.shape != shape else made
    made = convert(as_tracer(made), own)
    if not return_residual:
        return made
    return made, convert(emit(ops.reshape, residual, shape=shape[:-1]), own)


def _lengths(name: str, given: Any, batch: int) -> Any:
    """Lengths of sequences as i32; None where they are not given."""
    if given is None:
        return None
    x = operand(name, given)
    if not x.value.type.dtype.is_integer or x.shape != (batch,):
        raise ValueError(f"dot_product_attention: {name} must be integers of shape ({batch},), "
                         f"got {x.value.type}")
    return convert(x, dtypes.i32)


class _Limits(NamedTuple):
    """Which positions see which, in addition to the given mask."""

    t: int
    s: int
    is_causal: bool
    window: Any
    queries: Any
    keys: Any


def _in_one_block(q: Any, k: Any, v: Any, bias: Any, mask: Any, scale: float, limits: _Limits,
                  first: Any = None) -> tuple[Any, Any]:
    """Attention of all queries at once; the first of them is at position `first`.

    Returns: [batch, T, N, H] and the logsumexp of the logits, [batch, T, N].
    """
    logits = emit(ops.dot_general, q, k, contract=((3,), (3,)), batch=((0, 2), (0, 2)),
                  precision=precision_attr(None),
                  preferred=dtypes.f32 if q.value.type.dtype is not dtypes.f64 else None)
    logits = logits * scale                                      # [batch, N, T, S]
    if bias is not None:
        logits = logits + convert(bias, logits.value.type.dtype)
    for each in (*([] if mask is None else [mask]), *_seen(limits, q.shape[1], first)):
        logits = where(each, logits, _LEAST)
    top = emit(ops.stop_gradient, greatest(as_tracer(logits), (3,)))
    weights = exp(logits - top)
    whole = total(weights, (3,))
    probabilities = convert(as_tracer(weights / whole), k.value.type.dtype)
    made = emit(ops.dot_general, probabilities, v, contract=((3,), (1,)), batch=((0, 1), (0, 2)),
                precision=precision_attr(None), preferred=None)  # [batch, N, T, H]
    residual = log(whole) + top
    residual = emit(ops.reshape, residual, shape=residual.shape[:3])
    return (emit(ops.transpose, made, permutation=(0, 2, 1, 3)),
            emit(ops.transpose, residual, permutation=(0, 2, 1)))


# --- long sequences -----------------------------------------------------------------------

_AT_ONCE = 2 ** 24                               # logits computed together: 64 MiB of them
_IN_A_BLOCK = 2 ** 22
_SHORTEST, _LONGEST = 16, 1024


def block_of(heads: int, t: int, s: int) -> int | None:
    """How many queries make a block, with `heads` heads in all; None for all of them at once."""
    if heads * t * s <= _AT_ONCE:
        return None
    fitting = max(_IN_A_BLOCK // (heads * s), 1)
    block = min(max(1 << (fitting.bit_length() - 1), _SHORTEST), _LONGEST)
    return block if block < t else None


def _in_blocks(block: int, q: Any, k: Any, v: Any, bias: Any, mask: Any, scale: float,
               limits: _Limits) -> tuple[Any, Any]:
    """As `_in_one_block`, one block of queries after another: memory grows with the lengths of the
    sequences, not with their product. The backward pass recomputes the logits of each block."""
    from ..lax.control_flow import scan  # late: they need functions of arrays
    from ..transforms.checkpoint import checkpoint

    operands, n = (q, bias, mask), -(-limits.t // block)
    apart = [None if x is None else _apart(x, axis, n, block, limits.t)
             for x, axis in zip(operands, (1, 2, 2), strict=True)]
    own = [x for x, given in zip(apart, operands, strict=True) if x is not given]

    @functools.partial(checkpoint, prevent_cse=False)
    def step(carry: Any, given: tuple) -> tuple[Any, Any]:
        first, *parts = given
        left = iter(parts)
        q, bias, mask = [x if x is same else next(left)
                         for x, same in zip(apart, operands, strict=True)]
        return carry, _in_one_block(q, k, v, bias, mask, scale, limits, first)

    starts = _places((n,), 0) * block
    made, residual = scan(step, (), (starts, *own))[1]
    return tuple([_together(x, limits.t) for x in (made, residual)])


def _apart(x: Any, axis: int, n: int, block: int, t: int) -> Any:
    """[..., t, ...] cut into n blocks along a new first axis; what all queries share stays."""
    axis -= 4 - x.ndim                           # a bias or mask may have fewer axes
    if axis < 0 or x.shape[axis] == 1:
        return x
    behind = [0] * x.ndim
    behind[axis] = n * block - t
    nothing = [0] * x.ndim
    zero = x.home.literal(np.zeros((), x.value.type.dtype.numpy), ())
    x = emit(ops.pad, x, zero, low=tuple(nothing), high=tuple(behind),
             interior=tuple(nothing))
    x = emit(ops.reshape, x, shape=(*x.shape[:axis], n, block, *x.shape[axis + 1:]))
    return emit(ops.transpose, x, permutation=(axis, *[a for a in range(x.ndim) if a != axis]))


def _together(x: Any, t: int) -> Any:
    """[n, batch, block, ...] as [batch, t, ...]."""
    x = emit(ops.transpose, x, permutation=(1, 0, *range(2, x.ndim)))
    x = emit(ops.reshape, x, shape=(x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:]))
    return emit(ops.slice, x, starts=(0,) * x.ndim, limits=(x.shape[0], t, *x.shape[2:]),
                strides=(1,) * x.ndim)


def _repeated(x: Any, times: int) -> Any:
    """Keys or values with each head repeated for the heads of queries that share it."""
    b, s, n, h = x.shape
    wide = emit(ops.broadcast_in_dim, x, shape=(b, s, n, times, h), dims=(0, 1, 2, 4))
    return emit(ops.reshape, wide, shape=(b, s, n * times, h))


def _places(shape: tuple[int, ...], axis: int) -> Any:
    return emit(ops.iota, dtype=dtypes.i32, shape=shape, dimension=axis)


def _below(lengths: Any, shape: tuple[int, ...], axis: int, first: Any = None) -> Any:
    """Whether a position along an axis, counted from `first`, is below its sequence's length."""
    wide = emit(ops.broadcast_in_dim, lengths, shape=shape, dims=(0,))
    places = _places(shape, axis)
    return (places if first is None else places + first) < wide


def _seen(limits: _Limits, t: int, first: Any) -> list[Any]:
    """The masks for `t` queries from position `first` on; each broadcasts to [batch, N, t, S]."""
    seen = []
    shape = (1, 1, t, limits.s)
    here = _places(shape, 2)
    if first is not None:
        here = here + first
    if limits.is_causal:
        seen.append(here >= _places(shape, 3))
    if limits.window is not None:
        window = limits.window
        before, after = (window, window) if isinstance(window, int) else window
        distance = _places(shape, 3) - here
        seen.append(distance >= -int(before))
        seen.append(distance <= int(after))
    if limits.queries is not None:
        n = limits.queries.shape[0]
        seen.append(_below(limits.queries, (n, 1, t, 1), 2, first))
    if limits.keys is not None:
        n = limits.keys.shape[0]
        seen.append(_below(limits.keys, (n, 1, 1, limits.s), 3))
    return seen
