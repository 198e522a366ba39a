"""Types of IR values: `TensorType`, interned, so that equal types are the same object.

A type may say which axes of a mesh divide its values: in `f32[8@x,4]`, over four devices, each
device holds two rows. These are *explicit* axes of the mesh. It may also say that values are in
the host's memory, `f32<host>[8,4]`. Neither changes what a program computes. Type rules of ops see
types without them; `spreading.py` adds those of the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from . import dtypes
from .dtypes import DType
from .fixed import Fixed
from .sharding import Shape, Sharding, Spec, explicit, in_memory


class TensorType(Fixed):
    """A shape and an element type. Made by `tensor`; two equal ones are one object."""

    __slots__ = ("_text", "dtype", "is_inexact", "ndim", "plain", "shape", "sharding", "size")

    shape: Shape
    dtype: DType
    is_inexact: bool                   # whether a derivative can flow through a value of this type
    sharding: Sharding | None          # explicit axes of a mesh over which values are divided
    plain: TensorType                  # the type without them

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape, self.dtype = shape, dtype
        self.ndim, self.is_inexact = len(shape), dtype.is_inexact
        self.size = math.prod(shape)
        self._text = f"{dtype.name}[{','.join(map(str, shape))}]"
        self.sharding, self.plain = None, self

    def __str__(self) -> str:
        return self._text                # short, for people

    def __repr__(self) -> str:
        return self._text if self.sharding is None else f"{self.plain} over {self.sharding}"

    @property
    def dims(self) -> tuple[tuple[str, ...], ...]:
        """For each dimension the explicit axes that divide it."""
        return ((),) * self.ndim if self.sharding is None else self.sharding.spec.dims

    @property
    def memory(self) -> str | None:
        """`"pinned_host"` for values in the host's memory, None for those in the devices' own."""
        return None if self.sharding is None else self.sharding.memory_kind

    @property
    def is_manual(self) -> bool:
        """Whether this is the type of unreduced or reduced values inside a `shard_map`."""
        return self.sharding is not None and self.sharding.sums_inside

    @property
    def sums(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The `unreduced` axes, then the `reduced` ones; see `Spec`."""
        held = self.sharding
        return ((), ()) if held is None else (held.spec.unreduced, held.spec.reduced)

    def in_memory(self, kind: str | None) -> TensorType:
        """The type of the same values in the devices' own memory (None), or `"pinned_host"`."""
        held = self.sharding
        if (None if held is None else held.memory_kind) == kind:
            return self
        return self.over(in_memory(self.ndim, kind) if held is None else
                         Sharding(held.mesh, held.spec, kind))

    @property
    def cotangent(self) -> TensorType:
        """The type of cotangents: over axes along which a value is reduced they are unreduced, and
        the other way round."""
        held = self.sharding
        if held is None or not (held.spec.unreduced or held.spec.reduced):
            return self
        spec = Spec(held.spec.dims, (), held.spec.reduced, held.spec.unreduced)
        return self.over(Sharding(held.mesh, spec, held.memory_kind))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_sharded if self.sharding else tensor), (
            self.shape, self.dtype, *([self.sharding] if self.sharding else ()))

    def with_shape(self, shape: Shape) -> TensorType:
        """The type of the same elements in another shape."""
        return tensor(shape, self.dtype)

    def with_dtype(self, dtype: DType) -> TensorType:
        """The type of the same shape with other elements, divided alike."""
        found = tensor(self.shape, dtype)
        return found if self.sharding is None else found.over(self.sharding)

    def over(self, sharding: Sharding | None) -> TensorType:
        """This type with its values divided as a sharding says, along explicit axes alone."""
        kept = None if sharding is None else explicit(sharding)
        return self.plain if kept is None else _sharded(self.shape, self.dtype, kept)

    def stacked(self, length: int, axis: int = 0) -> TensorType:
        """The type of `length` such values along a new dimension, which is not divided."""
        found = tensor((*self.shape[:axis], length, *self.shape[axis:]), self.dtype)
        if self.sharding is None:
            return found
        return found.over(self.sharding.on(self.sharding.spec.insert(axis)))

    def without(self, axis: int) -> TensorType:
        """The type of one slice along a dimension, without that dimension."""
        found = tensor((*self.shape[:axis], *self.shape[axis + 1:]), self.dtype)
        if self.sharding is None:
            return found
        return found.over(self.sharding.on(self.sharding.spec.without(axis)))


def plain(types: Iterable[TensorType]) -> tuple[TensorType, ...]:
    """Types without the axes that divide values."""
    return tuple([t.plain for t in types])


_INTERNED: dict[tuple[Shape, DType], TensorType] = {}


def tensor(shape: Shape, dtype: DType) -> TensorType:
    """The type of an array of `shape` (a tuple of ints) whose elements are `dtype`."""
    found = _INTERNED.get((shape, dtype))
    if found is None:
        exact = tuple(int(d) for d in shape)      # True and np.int64 hash like ints: keep ints only
        found = _INTERNED.setdefault((exact, dtype), TensorType(exact, dtype))
    return found


_SHARDED: dict[tuple[Shape, DType, Sharding], TensorType] = {}


def _sharded(shape: Shape, dtype: DType, sharding: Sharding) -> TensorType:
    found = _SHARDED.get((shape, dtype, sharding))
    if found is None:
        made, spec = TensorType(shape, dtype), sharding.spec
        made.sharding, made.plain = sharding, tensor(shape, dtype)
        sizes = [f"{n}@{a[0]}" if len(a) == 1 else f"{n}@({','.join(a)})" if a else str(n)
                 for n, a in zip(shape, spec.dims, strict=True)]
        sums = [f"{letter}:{names[0]}" if len(names) == 1 else f"{letter}:({','.join(names)})"
                for letter, names in
                (("U", spec.unreduced), ("R", spec.reduced)) if names]
        memory = "<host>" * (sharding.memory_kind is not None)
        text = f"{dtype.name}{memory}[{','.join(sizes)}]" + f"{{{', '.join(sums)}}}" * bool(sums)
        made._text = text               # pyright: ignore[reportPrivateUsage]
        found = _SHARDED.setdefault((shape, dtype, sharding), made)
    return found


def scalar(dtype: DType) -> TensorType:
    """The type of one element."""
    return tensor((), dtype)


BOOL = scalar(dtypes.bool_)
I32 = scalar(dtypes.i32)
F32 = scalar(dtypes.f32)
