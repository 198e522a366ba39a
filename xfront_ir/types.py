"""Types of IR values: `TensorType`, interned, so that equal types are the same object."""

from __future__ import annotations

import math
from typing import Any

from . import dtypes
from .dtypes import DType

Shape = tuple[int, ...]


class TensorType:
    """A shape and an element type. Made by `tensor`; two equal ones are one object."""

    __slots__ = ("_text", "dtype", "is_inexact", "ndim", "shape", "size")

    shape: Shape
    dtype: DType
    is_inexact: bool                   # whether a derivative can flow through a value of this type

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape, self.dtype = shape, dtype
        self.ndim, self.is_inexact = len(shape), dtype.is_inexact
        self.size = math.prod(shape)
        self._text = f"{dtype.name}[{','.join(map(str, shape))}]"

    def __repr__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return (tensor, (self.shape, self.dtype))

    def __copy__(self) -> TensorType:
        return self

    def __deepcopy__(self, memo: object) -> TensorType:
        return self

    def with_shape(self, shape: Shape) -> TensorType:
        """The type of the same elements in another shape."""
        return tensor(shape, self.dtype)

    def with_dtype(self, dtype: DType) -> TensorType:
        """The type of the same shape with other elements."""
        return tensor(self.shape, dtype)


_INTERNED: dict[tuple[Shape, DType], TensorType] = {}


def tensor(shape: Shape, dtype: DType) -> TensorType:
    """The type of an array of `shape` (a tuple of ints) whose elements are `dtype`."""
    found = _INTERNED.get((shape, dtype))
    if found is None:
        exact = tuple(int(d) for d in shape)      # True and np.int64 hash like ints: keep ints only
        found = _INTERNED.setdefault((exact, dtype), TensorType(exact, dtype))
    return found


def scalar(dtype: DType) -> TensorType:
    """The type of one element."""
    return tensor((), dtype)


BOOL = scalar(dtypes.bool_)
I32 = scalar(dtypes.i32)
F32 = scalar(dtypes.f32)
