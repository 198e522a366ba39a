"""Arguments that all samplers share: the dtype, the shape, and parameters converted to both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.dtypes import DType, from_numpy

from ..base.config import numpy_rank_promotion
from ..base.dtypes import TypePromotionError, finfo, requested_dtype
from ..eager.operands import broadcast_shapes, broadcast_to, convert, operand, shape_of
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .generators import split_key

_KINDS = {"float": "a float", "complex": "a complex", "int": "an integer",
          "uint": "an unsigned integer"}


def chosen_dtype(name: str, dtype: Any, default: Any, kind: str) -> DType:
    """The element type that a sampler was asked for. Raises: ValueError for another kind,
    which `randint` calls a TypeError."""
    found = from_numpy(requested_dtype(name, default if dtype is None else dtype))
    if found.kind != kind and not (kind == "int" and found.kind == "uint"):
        raise (TypeError if name == "randint" else ValueError)(
            f"dtype argument to `{name}` must be {_KINDS[kind]} dtype, got {found.numpy.name}")
    return found


def constant(value: Any, dtype: DType, shape: tuple[int, ...] = ()) -> Tracer:
    """A literal in the trace of a body."""
    return state.current.literal(np.asarray(value, dtype.numpy), shape)  # type: ignore[union-attr]


_OF_ONE_RANK = ("truncated_normal",)
"""Samplers that let `numpy_rank_promotion` hold their parameters to one rank without a shape."""


def _broadcast(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """As `broadcast_shapes`, but ranks may differ whatever `numpy_rank_promotion` says."""
    if numpy_rank_promotion.value == "allow":
        return broadcast_shapes(name, shapes)
    rank = max(map(len, shapes))
    return broadcast_shapes(name, [(1,) * (rank - len(s)) + s for s in shapes])


def size_of(name: str, shape: Any, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the result: `shape`, to which the parameters must broadcast, or else their own.

    `numpy_rank_promotion` does not refuse a shape that the user has asked for.

    Raises: ValueError where they do not.
    """
    if shape is None:
        return broadcast_shapes(name, shapes) if name in _OF_ONE_RANK else _broadcast(name, shapes)
    size = shape_of(shape)
    if any([s and s != size for s in shapes]) and _broadcast(name, [size, *shapes]) != size:
        listed = ", ".join(map(str, shapes))
        raise ValueError(f"{name} parameter shapes must be broadcast-compatible with shape "
                         "argument, and the result of broadcasting the shapes must equal the shape "
                         f"argument, but the parameters have shapes {listed} and shape={size}")
    return size


def parameters(name: str, shape: Any, dtype: DType, *values: Any
               ) -> tuple[tuple[int, ...], list[Tracer]]:
    """The shape of the result, and the parameters in that shape and in `dtype`.

    Raises: ValueError where they do not broadcast to `shape`; TypePromotionError, which is one,
    where `dtype` does not hold the values of a parameter's.
    """
    given = [in_dtype(name, x, dtype) for x in values]
    size = size_of(name, shape, *[x.shape for x in given])
    return size, [broadcast_to(x, size) for x in given]


def in_dtype(name: str, x: Any, dtype: DType) -> Tracer:
    """A parameter converted to a float dtype to which its own dtype promotes."""
    t = operand(name, x)
    own = t.value.type.dtype
    if own.is_key or own.is_complex or own.is_float and not t.weak and own is not dtype and (
            own.bits >= dtype.bits):
        raise TypePromotionError(f"In arguments to {name}, cannot safely cast argument of type "
                                 f"{own.name} to {dtype.name}; convert it first")
    return convert(t, dtype)


def pieces(keys: Tracer) -> list[Tracer]:
    """The elements of a one-dimensional array, each of shape ()."""
    return [emit(ops.reshape, emit(ops.slice, keys, starts=(i,), limits=(i + 1,), strides=(1,)),
                 shape=()) for i in range(keys.shape[0])]


def new_keys(key: Tracer, n: int = 2) -> list[Tracer]:
    """`n` new keys from one."""
    return pieces(split_key(key, (n,)))


def tiny(dtype: DType) -> float:
    """The smallest normal number of a float dtype."""
    return float(finfo(dtype.numpy).tiny)
