"""Literals: values known while the program is built, and the op that holds one.

A literal is identified by dtype, shape and bytes, never by `==`: 0.0 and -0.0, NaN, True, 1 and 1.0
are all different. The op broadcasts, so `2.0 * x` records one literal of x's shape.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .definition import ZERO
from .dtypes import DType, from_numpy
from .errors import IRTypeError
from .opdef import LITERAL, SHAPE, define
from .traits import CHEAP, ELEMENTWISE, LIGHT, MOVES, mark
from .types import TensorType, tensor

MAX_LITERAL_BYTES = 4096
"""Arrays above this become parameters of the outermost Function instead."""


class Literal:
    """A constant scalar or small array, compared by content."""

    __slots__ = ("_hash", "array", "key")

    def __init__(self, value: Any, dtype: DType | None = None) -> None:
        array = np.array(value, dtype=None if dtype is None else dtype.numpy, order="C")
        array.flags.writeable = False
        self.array = array
        self.key = (from_numpy(array.dtype).name, array.shape, array.tobytes())
        self._hash = hash(self.key)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return from_numpy(self.array.dtype)

    @property
    def type(self) -> TensorType:
        """Type of the literal before the op broadcasts it."""
        return tensor(self.array.shape, self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Literal({self.array!r})"


def number(value: Any, dtype: DType) -> Literal:
    """A scalar as an element of `dtype`, cast as NumPy casts. Equal ints and equal floats share one
    Literal, except zeros: 0.0 equals -0.0."""
    if type(value) is int or (type(value) is float and value):
        return _number(value, dtype)
    return Literal(np.asarray(value).astype(dtype.numpy))


@lru_cache(maxsize=4096, typed=True)
def _number(value: Any, dtype: DType) -> Literal:
    return Literal(np.asarray(value).astype(dtype.numpy))


def _infer(types: tuple[TensorType, ...], attrs: Any) -> tuple[TensorType, ...]:
    value, shape = attrs["value"], attrs["shape"]
    if value.array.shape not in ((), shape):
        raise IRTypeError(f"literal: a value of shape {value.array.shape} cannot fill shape "
                          f"{shape}")
    return (tensor(shape, value.dtype),)


literal = define("literal", attrs={"value": LITERAL, "shape": SHAPE}, infer=_infer, operands=0,
                 jvp=ZERO)


# --- what passes ask ----------------------------------------------------------------------

mark({ELEMENTWISE, LIGHT, MOVES, CHEAP}, literal)
