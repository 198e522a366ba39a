"""The mesh in context: `set_mesh`, `use_abstract_mesh`, and the functions that read it.

The state is None or a pair: the mesh with devices (or None) and the abstract one; it is part of the
key of every trace and compiled function. `with mesh:` sets only the mesh to which specs without a
mesh belong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding
from ..binding.partition_spec import PartitionSpec, axes_of
from ..binding.tracebacks import front_door
from ..tracing.trace import state as tracing
from .entered import Entered
from .mesh import AbstractMesh, Mesh
from .named import NamedSharding

_EMPTY_ABSTRACT = AbstractMesh((), ())


class set_mesh:
    """Set the mesh in context, from here on or for the length of a `with`.

    Specs without a mesh belong to it; programs without committed arguments run on its devices, and
    their results are committed there.

    Args:
      mesh: a Mesh; the empty one leaves no mesh in context.
    Raises: TypeError where `mesh` is not a Mesh; ValueError where something is being traced.

    >>> with xfront.set_mesh(xfront.make_mesh((1,), ("rows",))):
    ...     x = xfront.device_put(jnp.arange(4), xfront.P("rows"))
    >>> x.sharding.mesh.axis_names, x.sharding.spec
    (('rows',), P('rows',))
    """

    __slots__ = ("_before",)

    def __init__(self, mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh: mesh must be a Mesh, got {mesh!r} of type "
                            f"{type(mesh).__name__}; use use_abstract_mesh for an AbstractMesh")
        if tracing.current is not None:
            raise ValueError("`set_mesh` can only be used outside of `jit`; use use_abstract_mesh "
                             "in a function that is traced")
        value = None if mesh.empty else (mesh, mesh.abstract_mesh, mesh)
        self._before = binding.mesh_state.swap_local(value)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        binding.mesh_state.swap_local(self._before)


class use_abstract_mesh:
    """Set the abstract mesh in context for the length of a `with`, also while tracing.

    Args:
      mesh: an AbstractMesh.
    Raises: TypeError where `mesh` is not an AbstractMesh.

    >>> with xfront.sharding.use_abstract_mesh(xfront.sharding.AbstractMesh((8,), ("rows",))):
    ...     xfront.sharding.get_abstract_mesh().axis_sizes
    (8,)
    """

    __slots__ = ("_swapped",)

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise TypeError(f"use_abstract_mesh: mesh must be an AbstractMesh, got {mesh!r} of "
                            f"type {type(mesh).__name__}")
        before = binding.mesh_state.value
        concrete = before[0] if before else None
        self._swapped = Entered((concrete, mesh, concrete))

    def __enter__(self) -> None:
        self._swapped.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._swapped.__exit__(*exc)


@front_door
def get_mesh() -> Mesh:
    """The mesh that `set_mesh` set; an empty mesh where none is set.

    Raises: ValueError where something is being traced.

    >>> with xfront.set_mesh(xfront.make_mesh((1,), ("rows",))):
    ...     xfront.sharding.get_mesh().axis_names
    ('rows',)
    """
    if tracing.current is not None:
        raise ValueError("get_mesh() can only be used outside of `jit`; use get_abstract_mesh() in "
                         "a function that is traced")
    found = context_mesh()
    return empty_mesh() if found is None else found


@front_door
def get_abstract_mesh() -> AbstractMesh:
    """The abstract mesh in context; an empty mesh where none is set.

    >>> with xfront.set_mesh(xfront.make_mesh((1,), ("rows",))):
    ...     xfront.sharding.get_abstract_mesh().axis_names
    ('rows',)
    """
    found = binding.mesh_state.value
    return _EMPTY_ABSTRACT if found is None or found[1] is None else found[1]


def empty_mesh() -> Mesh:
    """The mesh without axes."""
    return Mesh(np.empty((), object), ())


def context_mesh() -> Mesh | None:
    """The mesh whose devices run programs without committed arguments; None for a single device."""
    found = binding.mesh_state.value
    return None if found is None else found[0]


def abstract_alone() -> Any:
    """The mesh in context where it has explicit axes and no devices; else None."""
    devices, mesh, _ = binding.mesh_state.value or (None, None, None)
    return mesh if devices is None and mesh is not None and mesh.explicit_axes else None


def spec_mesh() -> Any:
    """The mesh to which specs without a mesh belong: a Mesh, an AbstractMesh or None."""
    found = binding.mesh_state.value
    if found is None:
        return None
    if found[1] is not None and found[0] is not None and found[1] != found[0].abstract_mesh:
        return found[1]
    return found[2] or found[1]


def on_devices(function: str, sharding: Any, spare: Sequence[Any] = (), advice: str = "") -> Any:
    """A sharding on an abstract mesh as one on the devices of the mesh in context, in their order.

    Args:
      function: name of the function, for errors.
      sharding: any sharding; others are given back as they are.
      spare: devices that stand for those of the mesh where none is in context.
      advice: what else to do about the error, for its text.
    Raises: ValueError where no mesh of as many devices is in context, and there are fewer in
      `spare`.
    """
    mesh = getattr(sharding, "mesh", None)
    if type(mesh) is not AbstractMesh:
        return sharding
    found = context_mesh()
    devices = found.devices if found is not None else np.array(spare[:mesh.size], object)
    if devices.size != mesh.size:
        few = f", of which this process has {len(spare)}" if spare else ""
        raise ValueError(f"{function}: {sharding} has an abstract mesh, and so no devices; enter "
                         f"`with xfront.set_mesh(mesh)` with a mesh of {mesh.size} devices{few}"
                         f"{advice}")
    own = Mesh(devices.reshape(mesh.axis_sizes), mesh.axis_names, axis_types=mesh.axis_types)
    return NamedSharding(own, sharding.spec, memory_kind=sharding.memory_kind)


def as_sharding(function: str, x: Any, what: str = "shardings") -> Any:
    """The sharding `x`, or the NamedSharding of a spec `x` on the mesh in context.

    Args:
      function, what: names of the function and of its argument, for errors.
      x: a Sharding or PartitionSpec.
    Raises: for a spec without a mesh in context RuntimeError in `jit` and
      `with_sharding_constraint`, and ValueError elsewhere; TypeError for anything else.
    """
    if isinstance(x, binding.Sharding):
        return x
    if isinstance(x, PartitionSpec):
        mesh = spec_mesh()
        if mesh is None:
            old = function in ("jit", "with_sharding_constraint")
            raise (RuntimeError if old else ValueError)(
                f"{function} requires a non-empty mesh in context if you are passing "
                f"`PartitionSpec`s to {what}. You can define a context mesh via "
                "`xfront.set_mesh(mesh)`. Alternatively, provide `Sharding`s to "
                f"{what} and then the mesh context manager is not required.")
        return NamedSharding(mesh, x)
    raise TypeError(f"{function}: {what} must be PartitionSpecs or Shardings, such as that of "
                    f"an array, x.sharding, got {x!r} of type {type(x).__name__}")


def of_explicit_axes(function: str, sharding: Any) -> Any:
    """The sharding itself. All axes in its spec must be explicit: over other axes the compiler
    divides values, and no type can say that these divide a result.

    Raises: ValueError where its spec names another axis.
    """
    if type(sharding) is NamedSharding:
        own = sharding.mesh.explicit_axes
        for name in [n for entry in sharding.spec for n in axes_of(entry)]:
            if name not in own:
                kind = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types,
                                strict=True))[name]
                raise ValueError(
                    f"PartitionSpec passed to {function} cannot contain axis names that are of "
                    f"type Auto or Manual. Got PartitionSpec: {sharding.spec} with axis name: "
                    f"{name} of type: AxisType.{kind.name}. The compiler divides along such axes: "
                    "use lax.with_sharding_constraint, device_put or a mesh with explicit axes")
    return sharding


def with_entries(sharding: Any, ndim: int) -> Any:
    """The sharding; on a mesh with explicit axes its spec has an entry for each of ndim dimensions,
    as in types."""
    if type(sharding) is not NamedSharding or len(sharding.spec) >= ndim or (
            not sharding.mesh.explicit_axes):
        return sharding
    spec = sharding.spec
    missing = [None] * (ndim - len(spec))
    return NamedSharding(sharding.mesh, spec.update(partitions=[*spec.partitions, *missing]),
                         memory_kind=sharding.memory_kind)


__all__ = ["as_sharding", "context_mesh", "get_abstract_mesh", "get_mesh",
           "of_explicit_axes", "set_mesh", "spec_mesh", "use_abstract_mesh",
           "with_entries"]
