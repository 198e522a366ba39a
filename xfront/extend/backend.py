"""The clients of platforms, under the names that libraries use."""

from __future__ import annotations

from typing import Any

from lowering import clients, compat

from ..base.config import config
from ..base.on_demand import shown as _shown
from ..eager.devices import clear_caches, local_devices


def backends() -> dict[str, Any]:
    """A dict of the clients of this process by platform, which has the default platform's."""
    clients.default_client()
    return clients.existing()


def get_backend(platform: Any = None) -> Any:
    """jaxlib's client of a platform.

    Args:
      platform: name of a platform, or None for the default one; a client is returned as it is.
    Raises: RuntimeError where the platform is unknown or cannot be used.
    """
    return clients.client(platform) if platform is None or isinstance(platform, str) else platform


def get_default_device() -> Any:
    """The device of new arrays: that of the option `default_device`, else the first local one."""
    chosen = config.jax_default_device
    if chosen is None:
        return local_devices()[0]
    return local_devices(backend=chosen)[0] if isinstance(chosen, str) else chosen


def clear_backends() -> None:
    """Drop all clients and compiled programs; arrays of the old clients stay with these."""
    clear_caches()
    clients.clear()


def clear_in_memory_compilation_cache() -> None:
    """Drop compiled programs and traces of this process, as `xfront.clear_caches`."""
    clear_caches()


def get_compile_options(num_replicas: int, num_partitions: int, device_assignment: Any = None,
                        env_options_overrides: dict[str, str] | None = None,
                        backend: Any = None) -> Any:
    """jaxlib's options for its compiler.

    Args:
      num_replicas, num_partitions: numbers of replicas and partitions of a program.
      device_assignment: ids of devices, [num_replicas, num_partitions] or flat; None takes the
        first devices.
      env_options_overrides: dict of XLA's debug options by name, or None.
      backend: client whose devices are taken where no ids are given; None means the default one.
    """
    ids = device_assignment
    if ids is None:
        there = get_backend(backend).devices()[:num_replicas * num_partitions]
        ids = [d.id for d in there]
    flat = [int(i) for row in ids for i in (row if hasattr(row, "__iter__") else [row])]
    return compat.compile_options(num_replicas, num_partitions, flat,
                                  [*(env_options_overrides or {}).items()])


__all__ = ["backends", "clear_backends", "clear_in_memory_compilation_cache", "get_backend",
           "get_compile_options", "get_default_device"]
__dir__ = _shown(globals())
