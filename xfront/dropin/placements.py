"""Functions that jaxlib's C++ looks up in JAX's private modules, for placements and specs."""

from __future__ import annotations

from typing import Any

from ..arrays import binding


def make_single_device_sharding(device: Any, memory_kind: str | None = None) -> Any:
    """The placement on one device: `binding.single_device_sharding`."""
    return binding.single_device_sharding(device, memory_kind)


def check_pspec(mesh: Any, spec: Any) -> None:
    """Refuse a partition spec with axes that the mesh does not have, as `NamedSharding` does."""
    binding.check_pspec(mesh, spec)
