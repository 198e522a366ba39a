"""`shard_map` with its older arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..base.on_demand import shown as _shown
from ..binding.tracebacks import front_door
from ..sharding.mesh import AbstractMesh, Mesh
from ..transforms.shard_map import shard_map as _shard_map


@front_door
def shard_map(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any,
              check_rep: bool = True, auto: frozenset[str] = frozenset()) -> Any:
    """`xfront.shard_map` with its older arguments; deprecated.

    Args:
      f, in_specs, out_specs: as for `xfront.shard_map`.
      mesh: a Mesh or AbstractMesh.
      check_rep: the `check_vma` of `xfront.shard_map`.
      auto: names of the mesh axes that are left to the compiler; all others are the `axis_names` of
        `xfront.shard_map`.
    Raises: TypeError where `mesh` is not a mesh; ValueError for an axis in `auto` that the mesh
      does not have; and the errors of `xfront.shard_map`.

    >>> import warnings
    >>> mesh = xfront.sharding.Mesh(xfront.devices()[:1], ("rows",))
    >>> rows, whole = xfront.P("rows"), xfront.P()
    >>> with warnings.catch_warnings(action="ignore"):
    ...     f = shard_map.shard_map(lambda x: lax.psum(x, "rows"), mesh, rows, whole)
    >>> f(jnp.arange(2))
    Array([0, 1], dtype=int32)
    """
    warnings.warn("experimental.shard_map is deprecated: use xfront.shard_map, with axis_names and "
                  "check_vma", DeprecationWarning, stacklevel=3)
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"shard_map: mesh must be a Mesh or an AbstractMesh, got {mesh!r}")
    if strays := {*auto}.difference(mesh.axis_names):
        raise ValueError(f"shard_map: auto has {sorted(strays)[0]!r}, but the axes of the mesh are "
                         f"{mesh.axis_names}")
    names = frozenset(mesh.axis_names).difference(auto) if auto else frozenset()
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep,
                      axis_names=names)


__all__ = ["shard_map"]
__dir__ = _shown(globals())
