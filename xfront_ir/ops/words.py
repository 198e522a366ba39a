"""Keys as words: ops that only move or choose values work on the words of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import dtypes
from ..core import Value
from ..definition import lookup
from ..types import TensorType, tensor

if TYPE_CHECKING:
    from ..builder import Builder


def zeros_of(b: Builder, type: TensorType) -> Value:
    """Zeros of any type, keys included, for values that are never read."""
    if not type.dtype.is_key:
        return b.zeros(type)
    return wrapped(b, b.zeros(tensor((*type.shape, *type.dtype.physical), dtypes.u32)), type)


def words_of(b: Builder, v: Value) -> Value:
    """The words of keys; other values stay as they are."""
    return b.emit(lookup("random_unwrap"), v) if v.type.dtype.is_key else v


def wrapped(b: Builder, v: Value, type: TensorType) -> Value:
    """The inverse of `words_of`: `v` as a value of that type."""
    dtype = type.dtype
    return b.emit(lookup("random_wrap"), v, impl=dtype.implementation) if dtype.is_key else v
