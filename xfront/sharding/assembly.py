"""Arrays on several devices from their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import binding
from ..arrays.binding import ArrayImpl
from ..tracebacks import front_door


@front_door
def make_array_from_callback(shape: Sequence[int], sharding: Any,
                             data_callback: Callable[[tuple[slice, ...]], Any], dtype: Any = None
                             ) -> Any:
    """An array whose parts a function gives.

    Args:
      shape: of the whole array.
      sharding: how it lies on devices.
      data_callback: called with the indices (slices of the whole) of each part that devices of this
        process hold, once for equal indices; it gives an array of the part's shape.
      dtype: of the result; None: of the first part.
    Raises: ValueError where a part has another shape or dtype than the first; IndivisibleError
      where the shape does not divide.

    >>> make_array_from_callback((8, 4), NamedSharding(mesh, P("x")), lambda i: data[i])
    """
    whole = tuple([int(n) for n in shape])
    wanted = sharding.shard_shape(whole)
    parts: dict[Any, np.ndarray] = {}
    placed = {}
    for device, index in sharding.addressable_devices_indices_map(whole).items():
        key = tuple([(i.start, i.stop) for i in index])
        if key not in parts:
            part = binding.host_array(data_callback(index))
            if dtype is not None:
                part = part.astype(binding.canonical_dtype(np.dtype(dtype)), copy=False)
            first = next(iter(parts.values()), part)
            if part.shape != wanted or part.dtype != first.dtype:
                raise ValueError(
                    f"make_array_from_callback: the part at {index} is of shape {part.shape} and "
                    f"dtype {part.dtype}; parts of {sharding} of an array of shape {whole} have "
                    f"shape {wanted}, and all one dtype ({first.dtype})")
            parts[key] = part
            placed[device] = part
        else:
            placed[device] = parts[key]
    return binding.put_parts(whole, sharding, placed)


@front_door
def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Any,
                                         arrays: Sequence[Any], *, dtype: Any = None) -> Any:
    """An array of arrays that lie on one device each, without a copy.

    Args:
      shape: of the whole array.
      sharding: how it lies on devices.
      arrays: for each device of this process its part, in any order.
      dtype: that of the parts, or None.
    Raises: ValueError where parts are not those of the devices, or of another shape or dtype;
      TypeError for what is no array.
    """
    whole, name = tuple([int(n) for n in shape]), "make_array_from_single_device_arrays"
    for x in arrays:
        if not isinstance(x, ArrayImpl):
            raise TypeError(f"{name}: parts are arrays on one device, got {type(x)}")
    ids = [d.id for x in arrays for d in x.devices()]
    if len({*ids}) != len(ids):
        raise ValueError("When making an array from single-device arrays, the input arrays must be "
                         f"from distinct devices, but got device IDs {ids}")
    held = {d: x for x in arrays for d in x.devices()}
    devices = list(sharding.addressable_devices_indices_map(whole))
    if {*devices} != {*held}:
        raise ValueError(f"{name}: {sharding} has a part on each of the devices "
                         f"{sorted(d.id for d in devices)} of this process, got parts on "
                         f"{sorted(ids)}")
    if not arrays:
        raise ValueError(f"{name}: this process has no part, which is not supported")
    wanted, kind = sharding.shard_shape(whole), arrays[0].dtype
    if dtype is not None and np.dtype(dtype) != kind:
        raise ValueError(f"{name}: dtype={dtype}, but the parts are of dtype {kind}")
    for x in arrays:
        if x.shape != wanted or x.dtype != kind:
            raise ValueError(f"{name}: parts of {sharding} of an array of shape {whole} have shape "
                             f"{wanted} and dtype {kind}, got {x.aval.str_short()}")
    aval = binding.AbstractArray(whole, kind, False)
    return binding.result_handler(aval, sharding, True)([held[d] for d in devices])


@front_door
def make_array_from_process_local_data(sharding: Any, local_data: Any,
                                       global_shape: Sequence[int] | None = None) -> Any:
    """An array of which each process gives what its own devices hold.

    Args:
      sharding: how it lies on devices.
      local_data: where this process drives all devices, the whole array.
      global_shape: of the whole array; None: as the data.
    Raises: ValueError where the shapes do not agree; NotImplementedError where other processes
      drive some of the devices.
    """
    if not sharding.is_fully_addressable:
        raise NotImplementedError(
            "make_array_from_process_local_data: devices of other processes are not supported; "
            "make_array_from_callback asks for each part by its indices")
    data = binding.host_array(local_data)
    whole = data.shape if global_shape is None else tuple([int(n) for n in global_shape])
    if data.shape != whole:
        raise ValueError(f"make_array_from_process_local_data: the data of all devices has shape "
                         f"{data.shape}, global_shape is {whole}")
    return binding.put(data, sharding)


__all__ = ["make_array_from_callback", "make_array_from_process_local_data",
           "make_array_from_single_device_arrays"]
