"""Shardings on one device, one object for each, with the methods that C++ leaves to Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir import sharding as data

from .classes import Device, SingleDeviceSharding, install_on

_SINGLE: dict[tuple, SingleDeviceSharding] = {}


def single_device_sharding(device: Device, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding on one device; there is one object for each device and memory kind."""
    try:
        return _SINGLE[device, memory_kind]
    except KeyError:
        made = SingleDeviceSharding(device, memory_kind=memory_kind)
        return _SINGLE.setdefault((device, memory_kind), made)


def _replicate(sharding: SingleDeviceSharding, ndim: int) -> Any:
    return _hlo_replicate()


_REPLICATED: list[Any] = []


def _hlo_replicate() -> Any:
    if not _REPLICATED:
        import jaxlib._hlo as hlo

        _REPLICATED.append(hlo.HloSharding.replicate())
    return _REPLICATED[0]


def _same_placement(a: SingleDeviceSharding, b: Any) -> bool:
    if a is b:
        return True
    if not isinstance(b, SingleDeviceSharding):
        return NotImplemented
    return a._device == b._device and a._memory_kind == b._memory_kind


def _devices_indices_map(sharding: SingleDeviceSharding, shape: Sequence[int]
                         ) -> dict[Device, tuple]:
    """A dict from the device to the indices of the part that it holds, which is the whole array."""
    return {sharding._device: (slice(None),) * len(shape)}


def _addressable(sharding: SingleDeviceSharding) -> set[Device]:
    device = sharding._device
    return {device} if device.process_index == device.client.process_index() else set()


def _is_equivalent(sharding: SingleDeviceSharding, other: Any, ndim: int) -> bool:
    """Whether both shardings place an array of `ndim` axes alike."""
    return (
        sharding.memory_kind == other.memory_kind
        and len(other.device_set) == 1
        and sharding.device_set == other.device_set
    )


def _with_memory_kind(sharding: SingleDeviceSharding, kind: str) -> SingleDeviceSharding:
    """The sharding on the same device in another of its memories."""
    return single_device_sharding(sharding._device, kind)


def _explicit(sharding: SingleDeviceSharding, ndim: int) -> data.Sharding | None:
    """The part of the sharding that types keep: the host's memory for arrays there, else None."""
    return data.in_memory(ndim, data.HOST) if sharding._memory_kind == data.HOST else None


def _shard_shape(sharding: SingleDeviceSharding, shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of a device's part of an array of the given shape."""
    return tuple(shape)


def _sharding_text(sharding: SingleDeviceSharding) -> str:
    return f"SingleDeviceSharding(device={sharding._device!r}, memory_kind={sharding._memory_kind})"


_SINGLE_DEVICE_SURFACE: dict[str, Any] = {
    "__eq__": _same_placement,
    "__hash__": lambda s: hash((s._device, s._memory_kind)),
    "__repr__": _sharding_text,
    "__reduce__": lambda s: (single_device_sharding, (s._device, s._memory_kind)),
    "__copy__": lambda s: s,
    "__deepcopy__": lambda s, memo: s,
    "__module__": "xfront.sharding",
    "_explicit": _explicit,
    "_to_xla_hlo_sharding": _replicate,
    "_addressable_device_assignment": property(lambda s: tuple(_addressable(s))),
    "_device_assignment": property(lambda s: (s._device,)),
    "memory_kind": property(lambda s: s._memory_kind, doc="Which memory of the device."),
    "device_set": property(lambda s: {s._device}, doc="The devices, as a set."),
    "num_devices": property(lambda s: 1, doc="How many devices."),
    "addressable_devices": property(_addressable, doc="Those devices that this process drives."),
    "has_addressable_devices": property(lambda s: bool(_addressable(s))),
    "is_fully_addressable": property(lambda s: bool(_addressable(s))),
    "is_fully_replicated": property(lambda s: True, doc="Every device holds the whole array."),
    "devices_indices_map": _devices_indices_map,
    "addressable_devices_indices_map": lambda s, shape: {
        d: i for d, i in _devices_indices_map(s, shape).items() if d in _addressable(s)
    },
    "shard_shape": _shard_shape,
    "is_equivalent_to": _is_equivalent,
    "with_memory_kind": _with_memory_kind,
    "check_compatible_aval": lambda s, shape: None,
}


install_on(SingleDeviceSharding, _SINGLE_DEVICE_SURFACE)
