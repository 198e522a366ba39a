"""Arrays on several devices from their parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import binding
from ..binding import ArrayImpl, Sharding
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..binding.tracebacks import front_door
from ..values.keys import KeyArray, key_array, key_base


@front_door
def make_array_from_callback(shape: Sequence[int], sharding: Sharding,
                             data_callback: Callable[[tuple[slice, ...]], Any],
                             dtype: DTypeLike | None = None
                             ) -> Array:
    """An array whose parts a function returns.

    Args:
      shape: shape of the whole array, a sequence of ints.
      sharding: how the array lies on devices, a Sharding.
      data_callback: function from the indices (slices of the whole) of a part to an array of the
        part's shape. It is called once for each part that devices of this process hold.
      dtype: dtype of the result, to which the parts are converted; None takes that of the parts.
    Returns: an array of this shape, committed to the sharding.
    Raises: ValueError where a part has another shape than the sharding gives it, or another dtype
      than the first part; IndivisibleError where the shape does not divide.

    >>> make_array_from_callback((8, 4), NamedSharding(mesh, P("x")), lambda i: data[i])
    """
    whole = tuple([int(n) for n in shape])
    wanted = sharding.shard_shape(whole)
    parts: dict[Any, np.ndarray] = {}
    placed, keys = {}, []
    for device, index in sharding.addressable_devices_indices_map(whole).items():
        key = tuple([(i.start, i.stop) for i in index])
        if key not in parts:
            found = data_callback(index)
            keys.append(found._ir if type(found) is KeyArray else None)
            part = binding.host_array(key_base(found))
            if dtype is not None:
                part = part.astype(binding.canonical_dtype(np.dtype(dtype)), copy=False)
            first = next(iter(parts.values()), part)
            if keys[-1] is not keys[0]:
                raise TypeError("make_array_from_callback: all parts must be keys of one dtype, "
                                "where one is")
            words = () if keys[0] is None else keys[0].physical
            if part.shape != (*wanted, *words) or part.dtype != first.dtype:
                raise ValueError(
                    f"make_array_from_callback: the part at {index} has shape {part.shape} and "
                    f"dtype {part.dtype}, but the parts of an array of shape {whole} with "
                    f"{sharding} must have shape {wanted} and the same dtype ({first.dtype})")
            parts[key] = part
            placed[device] = part
        else:
            placed[device] = parts[key]
    if not keys or keys[0] is None:
        return binding.put_parts(whole, sharding, placed)
    return key_array(keys[0], binding.put_parts((*whole, *keys[0].physical), sharding, placed))


@front_door
def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Sharding,
                                         arrays: Sequence[Any], *, dtype: DTypeLike | None = None
                                        ) -> Array:
    """An array assembled, without a copy, from arrays that lie on one device each.

    Args:
      shape: shape of the whole array, a sequence of ints.
      sharding: how the array lies on devices, a Sharding.
      arrays: the part of each device of this process, on that device, in any order.
      dtype: dtype of the parts, or None.
    Returns: an array of this shape, committed to the sharding.
    Raises: ValueError where parts do not lie on the devices of the sharding, or have another shape
      or dtype; TypeError for a part that is not an Array; IndivisibleError where the shape does not
      divide.

    >>> whole = xfront.NamedSharding(xfront.make_mesh((1,), ("rows",)), xfront.P("rows"))
    >>> xfront.make_array_from_single_device_arrays((2,), whole, [jnp.array([1., 2.])])
    Array([1., 2.], dtype=float32)
    """
    whole, name = tuple([int(n) for n in shape]), "make_array_from_single_device_arrays"
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(f"{name}: arrays must be a list or tuple, got {type(arrays)}")
    if KeyArray in map(type, arrays):
        (ir,) = _one_kind(name, arrays)
        words = make_array_from_single_device_arrays(
            (*whole, *ir.physical), sharding, [x._base for x in arrays])
        if dtype is not None and dtype != arrays[0].dtype:
            raise ValueError(f"{name}: dtype={dtype} was given, but the parts have dtype "
                             f"{arrays[0].dtype}")
        return key_array(ir, words)
    for x in arrays:
        if not isinstance(x, ArrayImpl):
            raise TypeError(f"{name}: every part must be an array on one device, got {type(x)}")
    ids = [d.id for x in arrays for d in x.devices()]
    if len({*ids}) != len(ids):
        raise ValueError("When making an array from single-device arrays, the input arrays must be "
                         f"from distinct devices, but got device IDs {ids}")
    held = {d: x for x in arrays for d in x.devices()}
    placed: Any = sharding
    devices = placed._addressable_device_assignment
    if {*devices} != {*held}:
        raise ValueError(f"{name}: {sharding} needs a part on each of the devices "
                         f"{sorted(d.id for d in devices)} of this process, but got parts on "
                         f"devices {sorted(ids)}")
    if not arrays:
        raise ValueError(f"{name}: a process without any part is not supported")
    wanted, kind = sharding.shard_shape(whole), arrays[0].dtype
    if dtype is not None and np.dtype(dtype) != kind:
        raise ValueError(f"{name}: dtype={dtype} was given, but the parts have dtype {kind}")
    for x in arrays:
        if x.shape != wanted or x.dtype != kind:
            raise ValueError(f"{name}: the parts of an array of shape {whole} with {sharding} must "
                             f"have shape {wanted} and dtype {kind}, got {x.aval.str_short()}")
    aval = binding.AbstractArray(whole, kind, False)
    return binding.result_handler(aval, sharding, True)([held[d] for d in devices])


def _one_kind(name: str, parts: Iterable[Any]) -> set[Any]:
    """The key type of parts. Raises: TypeError where they are not keys of one type."""
    kinds = {x._ir if type(x) is KeyArray else None for x in parts}
    if len(kinds) > 1:
        raise TypeError(f"{name}: the parts must all be keys of one dtype, got "
                        f"{sorted({str(x.dtype) for x in parts})}")
    return kinds


@front_door
def make_array_from_process_local_data(sharding: Sharding, local_data: ArrayLike,
                                       global_shape: Sequence[int] | None = None) -> Array:
    """An array for which each process gives the parts that its own devices hold.

    Args:
      sharding: how the array lies on devices, a Sharding.
      local_data: an array with the parts of this process's devices side by side, in the order in
        which they stand in the whole array. Along a dimension where it is as long as the whole
        array, it holds all of that dimension.
      global_shape: shape of the whole array. None computes it: a dimension that is divided between
        processes is as long as the data of all processes together.
    Returns: an array of the global shape, committed to the sharding.
    Raises: ValueError where the shapes do not agree, or where `global_shape` is None and processes
      hold different shares of a dimension.

    >>> whole = xfront.NamedSharding(xfront.make_mesh((1,), ("rows",)), xfront.P("rows"))
    >>> xfront.make_array_from_process_local_data(whole, np.array([1., 2.], np.float32))
    Array([1., 2.], dtype=float32)
    """
    if type(local_data) is KeyArray:
        ir = local_data._ir
        return key_array(ir, make_array_from_process_local_data(
            sharding, local_data._base,
            None if global_shape is None else (*global_shape, *ir.physical)))
    data = binding.host_array(local_data)
    shares = process_shares(sharding, data.ndim)
    if global_shape is None:
        whole = tuple([share.global_size(n) for n, share in zip(data.shape, shares, strict=True)])
    else:
        whole = tuple([int(n) for n in global_shape])
        if len(whole) != data.ndim:
            raise ValueError("make_array_from_process_local_data: the data and global_shape must "
                             f"have the same number of axes, got {data.shape} and {whole}")
    part = sharding.shard_shape(whole)
    for i, (given, total, share) in enumerate(zip(data.shape, whole, shares, strict=True)):
        held = len(share.mine) * part[i]
        if given not in (total, held):
            raise ValueError(
                "Invalid host data, each dimension should match either global or process shape. In "
                f"dimension {i}, the process data has {given} elements. Process addresses {held} "
                f"elements and global_shape={whole}.")

    def local(index: tuple[slice, ...]) -> tuple[slice, ...]:
        found = []
        for i, where in enumerate(index):
            if data.shape[i] == whole[i]:
                found.append(where)
            else:
                first = shares[i].mine.index((where.start or 0) // part[i]) * part[i]
                found.append(slice(first, first + part[i]))
        return tuple(found)

    return make_array_from_callback(whole, sharding, lambda index: data[local(index)])


class Share(NamedTuple):
    """The parts of one dimension that devices of this process hold.

    `mine` are their numbers among all `parts`, in order; `uniform` says whether every process holds
    as many.
    """

    mine: tuple[int, ...]
    parts: int
    uniform: bool

    def global_size(self, n: int) -> int:
        """The length of a dimension of which this process has `n` elements. Raises: ValueError
        where the share does not tell it."""
        if not self.uniform:
            raise ValueError("make_array_from_process_local_data: processes hold different numbers "
                             "of parts of a dimension; pass global_shape")
        if n % len(self.mine):
            raise ValueError(
                f"make_array_from_process_local_data: this process holds {len(self.mine)} of "
                f"{self.parts} parts of a dimension, so its data must have a multiple of that many "
                f"elements there, got {n}")
        return n // len(self.mine) * self.parts


def process_shares(sharding: Any, ndim: int) -> list[Share]:
    """The share that this process holds of each dimension of an array of `ndim` dimensions.

    Raises: ValueError where the parts of this process do not form a block, or where it has none.
    """
    hlo = sharding._to_xla_hlo_sharding(ndim)
    whole = (1,) * ndim if hlo.is_replicated() else tuple(hlo.tile_assignment_dimensions())[:ndim]
    held: dict[int, set[tuple[int, ...]]] = {}
    for device, index in sharding.devices_indices_map(whole).items():
        held.setdefault(device.process_index, set()).add(tuple([i.start or 0 for i in index]))
    here = {d.process_index for d in sharding.addressable_devices}
    if not here:
        raise ValueError(f"{sharding} has no devices of this process")
    mine = held[here.pop()]
    lengths = [{len({part[k] for part in parts}) for parts in held.values()} for k in range(ndim)]
    found = [Share(tuple(sorted({part[k] for part in mine})), whole[k], len(lengths[k]) == 1)
             for k in range(ndim)]
    if len(mine) != math.prod(len(share.mine) for share in found):
        raise ValueError(f"the parts of {sharding} that devices of this process hold do not form a "
                         "block; use make_array_from_callback, which asks for each part by its "
                         "indices")
    return found


__all__ = ["make_array_from_callback", "make_array_from_process_local_data",
           "make_array_from_single_device_arrays", "process_shares"]
