"""Typed key arrays: an array of random keys, its words and its implementation.

A key array is a Python object around a `uint32` array with trailing axes that hold a key's words.
In the trees of the C++ dispatcher it is a node, so that the implementation is part of the key; in
the users' trees it is a leaf. In the IR it is one value of a key type.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from xfront_ir.dtypes import DType, named
from xfront_ir.sharding import Sharding
from xfront_ir.types import TensorType, tensor

from .. import binding
from ..base import dtypes
from ..base.dtypes import KeyDType
from .shards import Shard, shard


def key_dtype(ir: DType) -> KeyDType:
    """The public dtype of a key type of the IR."""
    return dtypes.key_dtype(ir.implementation)


class KeyArray(binding.Array):  # type: ignore[misc]
    """An array of typed random keys; see `xfront.random.key`."""

    __slots__ = ("_base", "_ir", "used")

    def __init__(self, ir: DType, base: Any) -> None:
        self._ir, self._base = ir, base
        self.used: np.ndarray | None = None      # mask of consumed keys, where they are followed

    def use(self, part: Any) -> None:
        """Note that keys are consumed (the option `jax_debug_key_reuse`)."""
        self.used = np.array(np.broadcast_to(part, self.shape)) if self.used is None else (
            self.used | part)

    @property
    def dtype(self) -> Any:                      # a KeyDType, not a dtype of NumPy
        """The key dtype."""
        return key_dtype(self._ir)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in keys, without the axes of the words."""
        shape = self._base.shape
        return shape[: len(shape) - len(self._ir.physical)]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of keys."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def weak_type(self) -> bool:
        """False: key dtypes are never weak."""
        return False

    @property
    def ir_type(self) -> TensorType:
        """The type of the array in the IR."""
        found, axes = tensor(self.shape, self._ir), self._base.aval.axes
        for _ in self._ir.physical:
            axes = axes and Sharding(axes.mesh, axes.spec.without(axes.spec.ndim - 1))
        return found.over(axes)

    @property
    def aval(self) -> Any:
        """Shape and dtype as one object."""
        return binding.AbstractArray(self.shape, self.dtype, False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        words = np.array2string(np.asarray(self._base), separator=" ")
        return f"Array({self.shape}, dtype={self._ir.name}) overlaying:\n{words}"

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("a key array has no truth value; use key_data(keys) for its words")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(f"arrays of dtype {self._ir.name} cannot be converted to NumPy arrays; use "
                        "xfront.random.key_data(keys)")

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d key array")
        return (KeyArray(self._ir, row) for row in self._base)

    def block_until_ready(self) -> KeyArray:
        """Wait for the words; return the array."""
        self._base.block_until_ready()
        return self

    def is_deleted(self) -> bool:
        """Whether the words were deleted or donated."""
        return self._base.is_deleted()

    def delete(self) -> None:
        """Delete the words."""
        self._base.delete()

    def devices(self) -> set:
        """The devices that hold the words."""
        return self._base.devices()

    @property
    def device(self) -> Any:
        """The device that holds the words."""
        return self._base.device

    @property
    def sharding(self) -> Any:
        """The sharding of the words."""
        return self._base.sharding

    @property
    def committed(self) -> bool:
        """Whether operations must run where the words lie."""
        return self._base.committed

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices that hold the words belong to this process."""
        return self._base.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all words."""
        return self._base.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts on devices of this process."""
        return self._shards(self._base.addressable_shards)

    @property
    def global_shards(self) -> list[Shard]:
        """The parts on all devices."""
        return self._shards(self._base.global_shards)

    def addressable_data(self, index: int) -> KeyArray:
        """The part on the device number `index` among those of this process."""
        return KeyArray(self._ir, self._base.addressable_data(index))

    def _shards(self, of_words: list[Shard]) -> list[Shard]:
        return [shard(part.device, part.index[:self.ndim], part.replica_id,
                      None if part.data is None else KeyArray(self._ir, part.data))
                for part in of_words]

    def on_device_size_in_bytes(self) -> int:
        """Bytes of the words on devices."""
        return self._base.on_device_size_in_bytes()

    def unsafe_buffer_pointer(self) -> int:
        """The address of the words. Raises: JaxRuntimeError on several devices."""
        return self._base.unsafe_buffer_pointer()

    def copy_to_host_async(self) -> None:
        """Start to copy the words to the host."""
        self._base.copy_to_host_async()

    def __reduce__(self) -> tuple:
        return (_rebuild, (self._ir.name, np.asarray(self._base)))


def _rebuild(name: str, words: np.ndarray) -> KeyArray:
    return KeyArray(named(name), binding.put(words, copy=True))


def key_array(ir: DType, base: Any) -> KeyArray:
    """The key array with the words `base`."""
    return KeyArray(ir, base)


def key_base(x: Any) -> Any:
    """The words of a key array; any other value unchanged."""
    return x._base if type(x) is KeyArray else x


binding.dispatch_registry.register_node(
    KeyArray, lambda k: ((k._base,), k._ir), lambda ir, children: KeyArray(ir, *children))
