"""Functions of JAX's private modules for placements and specs; jaxlib's C++ looks up the first two.
"""

from __future__ import annotations

from typing import Any

from .. import binding
from ..sharding import NamedSharding, PartitionSpec, get_abstract_mesh


def make_single_device_sharding(device: Any, memory_kind: str | None = None) -> Any:
    """The placement on one device: `binding.single_device_sharding`."""
    return binding.single_device_sharding(device, memory_kind)


def check_pspec(mesh: Any, spec: Any) -> None:
    """Refuse a partition spec with axes that the mesh does not have, as `NamedSharding` does."""
    binding.check_pspec(mesh, spec)


def canonicalize_sharding(sharding: Any, api_name: str, check_mesh_consistency: bool = True) -> Any:
    """A placement as types have it: on a mesh without devices; None for None and an empty mesh.

    Args:
      sharding: a NamedSharding, a spec on the mesh of `set_mesh`, or None.
      api_name: the function for which it was given, for errors.
      check_mesh_consistency: whether another mesh than that of `set_mesh` is refused.
    Raises: TypeError for other placements; ValueError for a spec where no mesh is set.
    """
    if sharding is None:
        return None
    mesh = get_abstract_mesh()
    if isinstance(sharding, PartitionSpec):
        if mesh.empty:
            raise ValueError(f"{api_name}: {sharding} is a spec, and no mesh is set: pass a "
                             "NamedSharding, or call it inside jax.set_mesh(mesh)")
        return NamedSharding(mesh, sharding)
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"`out_sharding` argument of {api_name} only supports instances of "
                        f"`NamedSharding` or `PartitionSpec`. Got {sharding} of type: "
                        f"{type(sharding)}")
    if sharding.mesh.empty:
        return None
    own = sharding.mesh.abstract_mesh
    if check_mesh_consistency and not mesh.empty and own != mesh:
        raise ValueError(f"{api_name}: the placement is on {own}, but the mesh that is set is "
                         f"{mesh}")
    return NamedSharding(own, sharding.spec)
