"""Shares arrays with other libraries through DLPack."""

from __future__ import annotations

from typing import Any

from .abstract import AbstractArray
from .beside import without_jax
from .buffers import copy_array, put_sharded, result_handler, sharding_of
from .classes import ArrayImpl, cpp
from .default_client import default_sharding
from .single_device import single_device_sharding


def to_dlpack(x: ArrayImpl, stream: Any = None, max_version: tuple | None = None) -> Any:
    """A DLPack capsule over the array's memory."""
    if hasattr(cpp, "dlpack_version"):
        return cpp.buffer_to_dlpack_managed_tensor(x, stream, max_version)
    return cpp.buffer_to_dlpack_managed_tensor(x, stream)


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> ArrayImpl:
    """An array over the memory of an object with `__dlpack__`.

    Args:
      x: the object.
      device: a device or sharding to which the array is committed; None leaves it uncommitted where
        the memory is.
      copy: whether the memory is copied; None copies memory that is not aligned, and False raises
        where a copy is needed.
    Raises: ValueError for a sharding over several devices, and where `copy` cannot be False.
    """
    committed = device is not None
    wanted = sharding_of(device) if committed else default_sharding()
    if len(wanted.device_set) > 1:
        raise ValueError(f"from_dlpack makes an array on one device, got device={device!r} of "
                         f"{len(wanted.device_set)} devices; divide it with xfront.device_put")
    [device] = wanted.device_set
    sharding = single_device_sharding(device)
    newer = hasattr(cpp, "dlpack_version")
    capsule = x.__dlpack__(max_version=cpp.dlpack_version) if newer else x.__dlpack__()
    kind = int(x.__dlpack_device__()[0])
    try:
        with without_jax:
            made = cpp.dlpack_managed_tensor_to_buffer(capsule, device, None, copy, kind)
    except RuntimeError as error:
        if copy is not False:
            raise
        raise ValueError(f"from_dlpack: copy=False, but a copy is needed: {error}") from None
    # the array of C++ may have no type; a transfer through the C++ sharding has the right one
    aval = AbstractArray(made.aval.shape, made.aval.dtype)
    made = result_handler(aval, sharding, committed)(made)
    if sharding != wanted:
        return put_sharded(made, wanted)  # another memory of the device
    return copy_array(made) if copy else made  # C++ ignores copy=True for aligned memory
