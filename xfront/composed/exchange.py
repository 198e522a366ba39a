"""Exchanges between participants along named axes: rows of any number, sends and receipts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..base.trees import register_pytree_node, tree_flatten, tree_map
from ..binding.annotations import Array, ArrayLike, SupportsShape
from ..eager.operands import array_like
from ..lax.collectives import AxisName, Groups, all_gather, axis_index, axis_sizes, ppermute
from ..lax.composites import Token
from ..transforms.structs import ShapeDtypeStruct


def ragged_all_to_all(operand: ArrayLike, output: ArrayLike, input_offsets: ArrayLike,
                      send_sizes: ArrayLike, output_offsets: ArrayLike, recv_sizes: ArrayLike, *,
                      axis_name: AxisName, axis_index_groups: Groups = None) -> Array:
    """`all_to_all` of slices that differ in length.

    Participant i sends `operand[input_offsets[j]:][:send_sizes[j]]` to participant j, which puts it
    in its result from row `output_offsets[j]` (of i) on. Other rows of the result are those of
    `output`.

    Args:
      operand: array [n, ...] whose slices are sent.
      output: array [m, ...] of the same dtype, into which received slices are written.
      input_offsets, send_sizes, output_offsets, recv_sizes: integer vectors with one entry for each
        participant; `recv_sizes[i]` of participant j equals `send_sizes[j]` of participant i.
    Returns: array [m, ...], `output` with the received slices.
    Raises: TypeError, ValueError where shapes or dtypes do not match; NameError where a name is not
      bound; NotImplementedError for `axis_index_groups`. Rows of slices that lie outside `output`
      or `operand` are dropped.
    Source: XLA operation semantics, RaggedAllToAll.

    >>> def exchange(rows, *numbers):
    ...     return lax.ragged_all_to_all(rows, jnp.zeros(3), *numbers, axis_name="i")
    >>> sizes = jnp.array([[1, 2], [2, 1]])
    >>> starts = jnp.array([[0, 1], [0, 2]])
    >>> places = jnp.array([[0, 0], [1, 2]])
    >>> rows = jnp.array([[1., 2., 3.], [4., 5., 6.]])
    >>> xfront.vmap(exchange, axis_name="i")(rows, starts, sizes, places, sizes.T)
    Array([[1., 4., 5.],
           [2., 3., 6.]], dtype=float32)
    """
    n = math.prod(axis_sizes("ragged_all_to_all", axis_name)[1])
    if axis_index_groups is not None:
        raise NotImplementedError("ragged_all_to_all: axis_index_groups is not supported over axes "
                                  "of vmap; reshape the batch into two mapped axes instead")
    starts, lengths, places, _ = (
        _of_each(name, v, n) for name, v in (
            ("input_offsets", input_offsets), ("send_sizes", send_sizes),
            ("output_offsets", output_offsets), ("recv_sizes", recv_sizes)))
    x, into = (jnp.asarray(array_like("ragged_all_to_all", v)) for v in (operand, output))
    if x.ndim == 0 or x.dtype != into.dtype or x.shape[1:] != into.shape[1:]:
        raise ValueError("ragged_all_to_all: operand and output must have the same dtype and may "
                         "only differ in the size of their first axis, got "
                         f"{x.dtype}{list(x.shape)} and {into.dtype}{list(into.shape)}")

    mine = axis_index(axis_name)
    starts, lengths, places = (all_gather(v, axis_name)[:, mine]
                               for v in (starts, lengths, places))
    rows = jnp.arange(into.shape[0], dtype=np.int32)
    behind = rows - places[:, None]                               # [senders, rows of the result]
    found = starts[:, None] + behind
    sent = (behind >= 0) & (behind < lengths[:, None]) & (found >= 0) & (found < x.shape[0])
    sender = jnp.argmax(sent, axis=0)
    taken = all_gather(x, axis_name)[sender, jnp.take_along_axis(found, sender[None], axis=0)[0]]
    received = sent.any(axis=0).reshape(-1, *[1] * (into.ndim - 1))
    return jnp.where(received, taken, into)


def _of_each(name: str, given: Any, n: int) -> Any:
    """An argument as i32 [n]. Raises: TypeError, ValueError."""
    x = jnp.asarray(array_like("ragged_all_to_all", given))
    if x.ndim != 1 or not np.issubdtype(x.dtype, np.integer):
        raise TypeError(f"ragged_all_to_all: {name} must be integers along one axis, got "
                        f"{x.dtype}{list(x.shape)}")
    if x.shape[0] != n:
        raise ValueError(f"ragged_all_to_all: {name} must have {n} elements, one for each "
                         f"participant, got {x.shape[0]}")
    return x.astype(np.int32)


class SentToken(Token):
    """The token of values that have been sent: `precv` takes them out."""

    __slots__ = ("perm", "sent")

    def __init__(self, sent: Any, perm: tuple[tuple[int, int], ...]) -> None:
        self.sent, self.perm = sent, perm


def psend(x: ArrayLike, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Token:
    """Send a value to other participants, which receive it by `precv` of the token.

    Args:
      x: a tree of arrays.
      perm: (source, destination) pairs, each source and each destination at most once.
    Returns: a token.
    Raises: NameError where the name is not bound.

    >>> def swap(x):
    ...     token = lax.psend(x, "i", [(0, 1), (1, 0)])
    ...     return lax.precv(token, x, "i", [(0, 1), (1, 0)])
    >>> xfront.vmap(swap, axis_name="i")(jnp.array([1., 2.]))
    Array([2., 1.], dtype=float32)
    """
    axis_sizes("psend", axis_name)
    sent = tree_map(lambda leaf: array_like("psend", leaf), x)
    return SentToken(sent, _pairs(perm))


def precv(token: Token, out_shape: SupportsShape, axis_name: AxisName, perm: Sequence[tuple[int,
          int]]
          ) -> Array:
    """The values that other participants have sent; zeros if this one is no destination.

    Args:
      token: the token that `psend` returned.
      out_shape: a tree of ShapeDtypeStructs or arrays with the shapes and dtypes of what was sent.
      perm: the same pairs as those of `psend`.
    Raises: NameError where the name is not bound; TypeError where the token is not from `psend`;
      ValueError where `out_shape` or `perm` differs from that of `psend`.

    >>> def shift(x):
    ...     token = lax.psend(x, "i", [(0, 1), (1, 2)])
    ...     return lax.precv(token, x, "i", [(0, 1), (1, 2)])
    >>> xfront.vmap(shift, axis_name="i")(jnp.array([1., 2., 3.]))
    Array([0., 1., 2.], dtype=float32)
    """
    axis_sizes("precv", axis_name)
    if not isinstance(token, SentToken):
        raise TypeError("precv: the token must come from the psend whose value is received, got "
                        f"{type(token).__name__}")
    if token.perm != _pairs(perm):
        raise ValueError(f"precv: perm must be that of the psend, {list(token.perm)}, got "
                         f"{list(perm)}")
    (wanted, tree), (sent, given) = tree_flatten(out_shape), tree_flatten(token.sent)
    if tree != given or any((tuple(w.shape), np.dtype(w.dtype)) != (np.shape(s), s.dtype)
                            for w, s in zip(wanted, sent, strict=True)):
        shown = tree_map(lambda s: ShapeDtypeStruct(np.shape(s), s.dtype), token.sent)
        raise ValueError(f"precv: out_shape must describe what was sent, {shown}, got {out_shape}")
    return ppermute(token.sent, axis_name, perm)


def _pairs(perm: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple([(int(s), int(d)) for s, d in perm])


register_pytree_node(SentToken, lambda t: ((t.sent,), t.perm),
                     lambda perm, sent: SentToken(sent[0], perm))

__all__ = ["precv", "psend", "ragged_all_to_all"]
