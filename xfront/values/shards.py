"""The parts of arrays on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import binding
from ..binding import ArrayImpl, deleted_error, device_arrays


class Shard:
    """The part of an array on one device: `device`, `index` (slices of the global array),
    `replica_id`, and `data`, an array on that device or None where another process drives it.

    Args:
      device: one of those of `sharding`.
      sharding: how an array of shape `global_shape` is divided.
      data: the part, where it is at hand.
    Raises: ValueError where the device is none of them; IndivisibleError where a dimension does not
      divide.

    >>> shard, = jnp.array([1., 2.]).addressable_shards
    >>> shard.index, shard.data
    ((slice(None, None, None),), Array([1., 2.], dtype=float32))
    """

    __slots__ = ("_data", "device", "index", "replica_id")

    index: tuple[slice, ...]
    replica_id: int

    def __init__(self, device: Any, sharding: Any, global_shape: Sequence[int],
                 data: ArrayImpl | None = None) -> None:
        parts = _parts(sharding, tuple(global_shape))
        if device not in parts:
            raise ValueError(f"Shard: {device!r} is none of the devices of {sharding}")
        self.device, self._data = device, data
        self.index, self.replica_id = parts[device]

    @property
    def data(self) -> ArrayImpl | None:
        """The part as an array on its device."""
        return self._data

    def __repr__(self) -> str:
        data = "" if self._data is None else f", data={self._data}"
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}{data})"
        )


def shards_of(x: ArrayImpl, everywhere: bool) -> list[Shard]:
    """The parts of an array on devices of this process, or on all.

    Raises: RuntimeError where it was deleted.
    """
    if x.is_deleted():
        raise deleted_error(x)
    sharding, shape = x._sharding, x.aval.shape
    data = {part._sharding._device: part for part in device_arrays(x)}
    shards = []
    for device, (index, replica) in _parts(sharding, shape).items():
        if everywhere or device in data:
            shards.append(shard(device, index, replica, data.get(device)))
    return shards


def shard(device: Any, index: tuple[slice, ...], replica: int, data: Any) -> Shard:
    """A Shard of these parts."""
    made = object.__new__(Shard)
    made.device, made._data = device, data
    made.index, made.replica_id = index, replica
    return made


def _parts(sharding: Any, shape: tuple[int, ...]) -> dict[Any, tuple[tuple[slice, ...], int]]:
    """For each device, the slices of its part, and how many devices before it have that part."""
    if binding.holds_terms(sharding):
        sharding, _ = sharding._first_terms()
    seen: dict[str, int] = {}
    parts = {}
    for device, index in sharding.devices_indices_map(shape).items():
        parts[device] = index, seen.get(str(index), 0)
        seen[str(index)] = parts[device][1] + 1
    return parts


__all__ = ["Shard", "shard", "shards_of"]
