"""Devices of the clients, as users ask for them."""

from __future__ import annotations

from typing import Any

from . import clients


def devices(backend: str | None = None) -> list[Any]:
    """All devices of a platform, in all processes; those of the default platform if None.

    Raises: RuntimeError where the platform cannot be used.
    """
    return list(clients.client(backend).devices())


def local_devices(process_index: int | None = None, backend: str | None = None,
                  host_id: int | None = None) -> list[Any]:
    """The devices of one process (this one if None). `host_id` is an alias of `process_index`.

    Raises: RuntimeError where there is no such platform; ValueError where both are given, and where
      there is no such process.
    """
    if host_id is not None:
        if process_index is not None:
            raise ValueError("local_devices: host_id and process_index mean the same; give only "
                             "one of them")
        process_index = host_id
    client = clients.client(backend)
    if process_index is None:
        return list(client.local_devices())
    if not 0 <= process_index < (count := process_count(backend)):
        raise ValueError(f"local_devices: process_index={process_index} is not in [0, {count})")
    return [d for d in client.devices() if d.process_index == process_index]


def device_count(backend: str | None = None) -> int:
    """The number of devices in all processes."""
    return int(clients.client(backend).device_count())


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process."""
    return int(clients.client(backend).local_device_count())


def process_index(backend: str | None = None) -> int:
    """The index of this process."""
    return int(clients.client(backend).process_index())


def process_count(backend: str | None = None) -> int:
    """The number of processes."""
    return max((d.process_index for d in devices(backend)), default=0) + 1
