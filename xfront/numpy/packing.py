"""Bits as bytes and back: packbits, unpackbits."""

from __future__ import annotations

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import broadcast_to, convert, normalize_axis, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .logic import truth
from .manipulation import cut, joined, moveaxis
from .ufuncs import shaped


def _shifts(x: Tracer, bitorder: str) -> Tracer:
    """For each bit of the last axis, how far it stands from the lowest one."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder must be 'little' or 'big', got {bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    if bitorder == "big":
        places = places[::-1].copy()
    return broadcast_to(operand("packbits", places), (*x.shape[:-1], 8))


def _zeros(x: Tracer, n: int) -> Tracer:
    return x.home.literal(np.zeros((), x.dtype), (*x.shape[:-1], n))


@eager(static=("axis", "bitorder"))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Each eight elements along an axis as the bits of one `uint8`, the last padded with 0.

    Args:
      a: integers or bools; each nonzero element is a bit that is set.
      axis: the axis; None for the flattened array.
      bitorder: "big" to make the first element the highest bit, "little" the lowest.
    Raises: TypeError for other dtypes; ValueError for other orders.
    Source: `numpy.packbits`.

    >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 0, 1]))
    Array([129], dtype=uint8)
    """
    x = operand("packbits", a)
    if x.value.type.dtype.kind not in ("bool", "int", "uint"):
        raise TypeError("packbits expects an array of integer or boolean dtype, got "
                        f"{x.value.type}")
    if axis is None:
        x, axis = shaped(x, (x.size,)), 0
    axis = normalize_axis("packbits", axis, x.ndim)
    x = convert(truth(as_tracer(moveaxis(x, axis, -1))), dtypes.u8)
    n = x.shape[-1]
    n_bytes = -(-n // 8)
    if n % 8:
        x = joined([x, _zeros(x, 8 * n_bytes - n)], x.ndim - 1)
    x = shaped(x, (*x.shape[:-1], n_bytes, 8))
    x = emit(ops.shift_left, x, _shifts(x, bitorder))
    return moveaxis(emit(ops.reduce_sum, x, axes=(x.ndim - 1,)), -1, axis)


@eager(static=("axis", "count", "bitorder"))
def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None,
               bitorder: str = "big") -> Array:
    """The bits of each `uint8` as eight elements 0 or 1 along an axis.

    Args:
      axis: the axis; None for the flattened array.
      count: the size of the result along the axis, filled with zeros where there are fewer
        elements; a negative number removes that many from the end; None for all.
      bitorder: as in `packbits`.
    Raises: TypeError for other dtypes than uint8; ValueError for other orders, and where `count`
      removes more elements than there are.
    Source: `numpy.unpackbits`.

    >>> jnp.unpackbits(jnp.array([129], dtype=jnp.uint8))
    Array([1, 0, 0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    x = operand("unpackbits", a)
    if x.value.type.dtype is not dtypes.u8:
        raise TypeError(f"unpackbits expects an array of dtype uint8, got {x.value.type}")
    if axis is None:
        x, axis = shaped(x, (x.size,)), 0
    axis = normalize_axis("unpackbits", axis, x.ndim)
    x = moveaxis(x, axis, -1)
    n = 8 * x.shape[-1]
    x = broadcast_to(shaped(as_tracer(x), (*x.shape, 1)), (*x.shape, 8))
    x = emit(ops.shift_right_logical, x, _shifts(x, bitorder))
    x = x & x.home.literal(np.ones((), np.uint8), x.shape)
    x = shaped(x, (*x.shape[:-2], n))
    wanted = n if count is None else count if count >= 0 else n + count
    if wanted < 0:
        raise ValueError(f"unpackbits: count={count} would remove more elements than the {n} there "
                         "are")
    if wanted < n:
        x = cut(x, x.ndim - 1, 0, wanted)
    elif wanted > n:
        x = joined([x, _zeros(x, wanted - n)], x.ndim - 1)
    return moveaxis(x, -1, axis)


__all__ = ["packbits", "unpackbits"]
