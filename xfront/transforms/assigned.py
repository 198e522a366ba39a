"""Placements of lowered programs on devices that are named when they are compiled."""

from __future__ import annotations

from typing import Any

from lowering.topologies import described

from .. import binding
from ..running.placement import Placement, placement_of


def there(place: Any, topology: str) -> Any:
    """The placement on the devices of a topology that corresponds to `place`.

    Raises: the errors of `Lowered.compile`.
    """
    devices = described(topology).devices
    if len(devices) < len(place.devices):
        raise ValueError(f"compile: the program is spread over {len(place.devices)} devices, but "
                         f"{topology} has only {len(devices)}")
    return _on(place, devices)


def assigned(place: Any, devices: tuple[Any, ...], topology: str | None, is_abstract: bool) -> Any:
    """The placement on these devices that corresponds to `place`. They must be those of `place`,
    unless the program was lowered for an abstract mesh.

    Raises: ValueError where it has others, or another number, and where a topology is given too.
    """
    if topology is not None:
        raise ValueError("compile: device_assignment and topology cannot both be given, since each "
                         "names the devices")
    own = tuple(place.devices)
    if len(devices) != len(own):
        raise ValueError(f"compile: device_assignment has {len(devices)} devices, but the program "
                         f"is spread over {len(own)}")
    if is_abstract:
        return _on(place, devices)
    if devices != own:
        raise ValueError("device_assignment passed to `.compile` must match the devices of the "
                         f"arrays and shardings of the program, {[d.id for d in own]}, got "
                         f"{[d.id for d in devices]}")
    return place


def _on(place: Any, devices: Any) -> Any:
    if type(place) is Placement:
        return placement_of(binding.single_device_sharding(devices[0]))
    from ..sharding.spread import elsewhere  # with the first program on several devices

    return elsewhere(place, devices)


__all__ = ["assigned", "there"]
