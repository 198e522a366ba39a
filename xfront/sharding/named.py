"""Shardings of arrays: `NamedSharding`, a mesh and a spec, and `GSPMDSharding`, for a choice of the
compiler that no spec expresses. Both are C++ classes; this file attaches their public methods.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import sharding as data
from xfront_ir.errors import IRValueError

from .. import binding
from ..binding import NamedSharding, Sharding, SingleDeviceSharding
from ..binding.partition_spec import PartitionSpec, axes_of, ir_spec, public_spec
from .errors import DuplicateSpecError, IndivisibleError
from .mesh import AbstractMesh, Mesh, abstract_mesh, known_by_axes, mesh_of

GSPMDSharding = binding.GSPMDSharding
NamedSharding.__doc__ = """A mesh, and a spec that divides each dimension over its axes.

Args:
  mesh: a Mesh, or an AbstractMesh where the devices are not known.
  spec: a PartitionSpec; it may name fewer dimensions than arrays have.
  memory_kind: in which memory of the devices; None for the default one.
Raises: TypeError for another mesh or spec; ValueError for axes that the mesh does not have.

>>> rows = xfront.NamedSharding(xfront.make_mesh((1,), ("rows",)), xfront.P("rows"))
>>> xfront.device_put(jnp.arange(4.), rows).sharding == rows
True
"""
SingleDeviceSharding.__doc__ = """All of an array on one device.

Args:
  device: the device; memory_kind: in which of its memories, None for the default one.

>>> place = xfront.sharding.SingleDeviceSharding(xfront.devices()[0])
>>> place.num_devices, place.shard_shape((4, 2))
(1, (4, 2))
"""


def _check(mesh: Any, spec: Any) -> None:
    """Refuse a spec that does not fit the mesh, when a sharding is made of both.

    Raises: TypeError for a mesh or spec of another type; ValueError for an axis that the mesh does
      not have, or an unreduced or reduced axis that is not explicit; DuplicateSpecError.
    """
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"NamedSharding: mesh must be a Mesh or an AbstractMesh, got {mesh!r} of "
                        f"type {type(mesh).__name__}")
    if not isinstance(spec, PartitionSpec):
        raise TypeError(f"NamedSharding: spec must be a PartitionSpec, got {spec!r} of type "
                        f"{type(spec).__name__}; write P({spec!r})")
    seen: set[str] = set()
    names = [n for e in spec for n in axes_of(e)]
    for name in (*names, *sorted(spec.unreduced), *sorted(spec.reduced)):
        if name not in mesh.axis_names:
            raise ValueError(f"Resource axis: {name} of {spec} is not found in mesh: "
                             f"{mesh.axis_names}.")
        if name in seen:
            raise DuplicateSpecError(
                "A single NamedSharding spec specification can map every mesh axis to at most one "
                f"positional dimension, but {spec} has duplicate entries for `{name}`")
        seen.add(name)
    for word, axes in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        if strays := axes - {*mesh.explicit_axes}:
            raise ValueError(f"{word.capitalize()} axes can only refer to mesh axes that is of "
                             f"type `Explicit`. Got {word} axes: {sorted(strays)} and mesh: {mesh}")


binding.prime_specs()
binding.set_check_pspec(_check)


# --- methods of all shardings on several devices ---------------------------------------------

def _devices(s: Any) -> Any:
    try:
        found = s._internal_device_list
    except binding.JaxRuntimeError:              # the mesh is abstract
        found = None
    if found is None:
        raise ValueError(f"{s} has an abstract mesh, so it has no devices")
    return found


def _is_equivalent(s: Any, other: Any, ndim: int) -> bool:
    """Whether both shardings place an array of `ndim` dimensions alike."""
    if s is other or s == other:
        return True
    if s.memory_kind != other.memory_kind or s.num_devices != other.num_devices:
        return False
    if s._internal_device_list != binding.DeviceList(tuple(other._device_assignment)):
        return False
    if binding.holds_terms(s) or binding.holds_terms(other):
        return s._to_xla_hlo_sharding(ndim) == other._to_xla_hlo_sharding(ndim)
    a, b = s._to_xla_hlo_sharding(ndim), other._to_xla_hlo_sharding(ndim)
    return a == b or _plain(a, ndim) == _plain(b, ndim)


def _plain(hlo: Any, ndim: int) -> Any:
    """A form of an XLA sharding that is equal for two shardings only if they place data alike."""
    if hlo.is_replicated():
        return ((1,) * ndim, None)
    tiles, parts = _tiles(hlo, ndim)
    if all(n == 1 for n in tiles):
        return ((1,) * ndim, None)
    order = np.sort(parts.reshape(*tiles, -1), axis=-1)
    return tiles, order.tobytes()


def _tiles(hlo: Any, ndim: int) -> tuple[tuple[int, ...], np.ndarray]:
    """The number of parts of each dimension, and the devices in the order of the tiles."""
    dims = tuple(hlo.tile_assignment_dimensions())
    devices = np.array(hlo.tile_assignment_devices(), np.int64)
    return (*dims[:ndim], *[1] * (ndim - len(dims))), devices


def _addressable(s: Any) -> set[Any]:
    return set(_devices(s).addressable_device_list)


@functools.lru_cache(maxsize=4096)
def _indices(s: Any, shape: tuple[int, ...]) -> dict[Any, tuple[slice, ...]]:
    _refuse_terms(s)
    part = s.shard_shape(shape)
    devices = s._device_assignment
    hlo = s._to_xla_hlo_sharding(len(shape))
    if hlo.is_replicated() or not shape:
        return dict.fromkeys(devices, (slice(None),) * len(shape))
    tiles, order = _tiles(hlo, len(shape))
    places = np.empty(len(devices), np.int64)
    places[order] = np.arange(len(order)) // (len(order) // int(np.prod(tiles)))
    found = {}
    for device, place in zip(devices, places, strict=True):
        at = np.unravel_index(int(place), tiles)
        found[device] = tuple([
            slice(None) if n == 1 else slice(int(i) * size, (int(i) + 1) * size)
            for i, n, size in zip(at, tiles, part, strict=True)])
    return found


def _indices_map(s: Any, shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
    """A dict from each device to the indices (slices of the whole array) of the part it holds."""
    return dict(_indices(s, tuple(shape)))


def _addressable_map(s: Any, shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
    """A dict from each device of this process to the indices of the part it holds."""
    found = _indices(s, tuple(shape))
    if _devices(s).is_fully_addressable:
        return dict(found)
    here = _addressable(s)
    return {d: i for d, i in found.items() if d in here}


def _compatible(s: Any, shape: Sequence[int]) -> None:
    """Check that an array of this shape can be placed so. Raises: ValueError."""
    s.shard_shape(tuple(shape))


_SHARED: dict[str, Any] = {
    "__module__": "xfront.sharding",
    "_device_assignment": property(lambda s: tuple(_devices(s))),
    "memory_kind": property(lambda s: s._memory_kind, doc="Which memory of the devices."),
    "device_set": property(lambda s: set(_devices(s)), doc="The devices, as a set."),
    "num_devices": property(lambda s: len(_devices(s)), doc="How many devices."),
    "_addressable_device_assignment": property(
        lambda s: tuple(_devices(s).addressable_device_list)),
    "addressable_devices": property(_addressable, doc="Those that this process drives."),
    "has_addressable_devices": property(lambda s: bool(_addressable(s))),
    "is_fully_addressable": property(lambda s: _devices(s).is_fully_addressable,
                                     doc="Whether this process drives all devices."),
    "devices_indices_map": _indices_map,
    "addressable_devices_indices_map": _addressable_map,
    "is_equivalent_to": _is_equivalent,
    "check_compatible_aval": _compatible,
}


def _refuse_terms(s: Any) -> None:
    """Refuse to tell parts of an array whose devices hold terms of a sum. Raises:
    NotImplementedError."""
    if type(s) is NamedSharding and s.spec.unreduced:
        raise NotImplementedError(
            f"{s}: devices hold terms of a sum, of which no part of the array can be read; take "
            "the sum first, `xfront.sharding.reshard(x, P(...))`")


# --- a mesh and a spec ------------------------------------------------------------------------

@functools.lru_cache(maxsize=4096)
def _explicit(s: Any, ndim: int) -> data.Sharding | None:
    """The explicit axes of a sharding in the form of types of arrays of `ndim` dimensions, or None.

    For key arrays `ndim` counts the dimension of their words too.
    """
    known_by_axes(s.mesh.abstract_mesh)
    on_host = s._memory_kind == data.HOST
    if not (s.mesh.explicit_axes or on_host) or len(s.spec) > ndim:
        return None
    return data.explicit(data.Sharding(s.mesh.axes, ir_spec(s.spec, ndim),
                                       data.HOST if on_host else None))


def of_type(aval: Any) -> Any:
    """The NamedSharding of a type of arrays. Its mesh is that of the explicit axes in the type, or
    else that of the array whose type it is, or else the mesh in context."""
    if aval.axes is None or not aval.axes.mesh.names:
        found = binding.mesh_state.value
        mesh = aval._mesh or (
            AbstractMesh((), ()) if found is None or found[1] is None else found[1])
        return NamedSharding(mesh, PartitionSpec(*[None] * aval.ndim))
    return abstract_sharding(aval.axes)


def abstract_sharding(sharding: data.Sharding) -> Any:
    """The NamedSharding of a sharding in a type, on an abstract mesh, with a spec for all
    dimensions."""
    spec = sharding.spec
    return NamedSharding(abstract_mesh(sharding.mesh), PartitionSpec(
        *[_entry(d) for d in spec.dims], unreduced=frozenset(spec.unreduced),
        reduced=frozenset(spec.reduced)))


def _entry(axes: tuple[str, ...]) -> Any:
    return None if not axes else axes[0] if len(axes) == 1 else axes


@functools.lru_cache(maxsize=4096)
def ir_sharding(s: Any, ndim: int) -> data.Sharding:
    """A NamedSharding of arrays of `ndim` dimensions in the form of the IR.

    Raises: ValueError where it is not a NamedSharding or does not fit.
    """
    if type(s) is not NamedSharding:
        raise ValueError(f"expected a NamedSharding, which names axes of a mesh, but got {s}")
    try:
        return data.Sharding(s.mesh.axes, ir_spec(s.spec, ndim))
    except (ValueError, IRValueError) as e:
        raise ValueError(f"Sharding {s}: {e}") from None


def public_sharding(sharding: data.Sharding) -> Any:
    """The NamedSharding of a sharding of the IR whose mesh has devices."""
    mesh = mesh_of(sharding.mesh)
    assert mesh is not None
    return NamedSharding(mesh, public_spec(sharding.spec))


@functools.lru_cache(maxsize=4096)
def _hlo(s: Any, ndim: int) -> Any:
    """XLA's sharding of arrays of `ndim` dimensions."""
    if PartitionSpec.UNCONSTRAINED in s.spec:
        raise ValueError(f"{s} leaves dimensions to the compiler by UNCONSTRAINED, which only "
                         "with_sharding_constraint in a program can do; an array lies somewhere: "
                         "write None or names of axes")
    HloSharding = binding.hlo().HloSharding
    mesh = s.mesh
    entries = [axes_of(e) for e in s.spec][:ndim]
    entries += [()] * (ndim - len(entries))
    size = dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))
    summed = [n for n in mesh.axis_names if n in s.spec.unreduced]
    used = [*[n for e in entries for n in e], *summed]
    if mesh.size == 1 or all(size[n] == 1 for n in used):
        return HloSharding.replicate()
    order = [mesh.axis_names.index(n) for n in used]
    rest = [i for i in range(len(mesh.axis_names)) if i not in order]
    tiles = [int(np.prod([size[n] for n in e], dtype=np.int64)) for e in entries]
    kinds = []
    of = binding.op_sharding_type()
    for axes, kind in ((summed, of.UNREDUCED), (_names(mesh, rest), of.REPLICATED)):
        left = int(np.prod([size[n] for n in axes], dtype=np.int64))
        if left > 1:
            tiles.append(left)
            kinds.append(kind)
    return HloSharding.iota_tile(tuple(tiles), reshape_dims=tuple(mesh.axis_sizes),
                                 transpose_perm=(*order, *rest), subgroup_types=kinds)


def _names(mesh: Any, places: Sequence[int]) -> list[str]:
    return [mesh.axis_names[i] for i in places]


def _first_terms(s: Any) -> Any:
    """The sharding without its unreduced axes, and the first devices along these axes. When an
    array is moved to the sharding, these devices get its values, and the others zeros."""
    spec, mesh = s.spec, s.mesh
    first = tuple([0 if n in spec.unreduced else slice(None) for n in mesh.axis_names])
    return s.update(spec=spec.update(unreduced=frozenset())), {*np.ravel(mesh.devices[first])}


def _shard_shape(s: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of a device's part of an array of the given shape.

    Raises: ValueError where the spec has more entries than the shape; IndivisibleError where a
      dimension does not divide.
    """
    shape, spec = tuple(shape), s.spec
    if len(spec) > len(shape):
        raise ValueError(
            f"Sharding {s} is only valid for values of rank at least {len(spec)}, but was applied "
            f"to a value of rank {len(shape)}"
            + ". For scalars the PartitionSpec should be P()" * (not shape))
    sizes = s.mesh.shape
    parts = [math.prod([sizes[n] for n in axes_of(e)]) for e in spec]
    for i, (n, count) in enumerate(zip(shape, parts, strict=False)):
        if n % count:
            raise IndivisibleError(
                f"Sharding {s} implies that array axis {i} is partitioned {count} times, but the "
                f"dimension size is {n} (full shape: {shape}, per-dimension tiling factors: "
                f"{parts} should evenly divide the shape)")
    return (*[n // c for n, c in zip(shape, parts, strict=False)], *shape[len(parts):])


def _text(s: Any) -> str:
    memory = f", memory_kind={s.memory_kind}" if s.memory_kind is not None else ""
    return f"NamedSharding(mesh={s.mesh}, spec={s.spec}{memory})"


def _update(s: Any, **changes: Any) -> Any:
    """A copy with another `mesh`, `spec` or `memory_kind`."""
    return NamedSharding(changes.pop("mesh", s.mesh), changes.pop("spec", s.spec),
                         memory_kind=changes.pop("memory_kind", s._memory_kind), **changes)


def _rebuilt(mesh: Any, spec: PartitionSpec, memory_kind: str | None) -> Any:
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


def _replicated_axes(s: Any) -> frozenset[str]:
    used = {n for e in s.spec for n in axes_of(e)} | s.spec.unreduced
    return frozenset(s.mesh.axis_names) - used


binding.install_on(NamedSharding, {
    **_SHARED,
    "__repr__": _text,
    "__str__": _text,
    "__reduce__": lambda s: (_rebuilt, (s.mesh, s.spec, s._memory_kind)),
    "__copy__": lambda s: s,
    "__deepcopy__": lambda s, memo: s,
    "_explicit": _explicit,
    "_first_terms": _first_terms,
    "_to_xla_hlo_sharding": _hlo,
    "num_devices": property(lambda s: s.mesh.size, doc="How many devices."),
    "is_fully_replicated": property(
        lambda s: not s.spec.unreduced and all(
            s.mesh.shape[n] == 1 for e in s.spec for n in axes_of(e)),
        doc="Whether every device holds the whole array."),
    "replicated_axes": property(_replicated_axes, doc="Axes that divide nothing."),
    "shard_shape": _shard_shape,
    "with_memory_kind": lambda s, kind: _update(s, memory_kind=kind),
    "update": _update,
})


# --- choices of the compiler that no spec expresses -------------------------------------------

def _parts(s: Any, ndim: int) -> tuple[int, ...]:
    hlo = s._hlo_sharding
    return (1,) * ndim if hlo.is_replicated() else _tiles(hlo, ndim)[0]


def _gspmd_shard_shape(s: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of a device's part of an array of the given shape. Raises: IndivisibleError."""
    parts = _parts(s, len(tuple(shape)))
    if any(n % c for n, c in zip(shape, parts, strict=True)):
        raise IndivisibleError(f"{s} divides an array of shape {tuple(shape)} into {parts} parts, "
                               "which must evenly divide the shape")
    return tuple([n // c for n, c in zip(shape, parts, strict=True)])


def _gspmd(devices: Sequence[Any], text: str, memory_kind: str | None) -> Any:
    return GSPMDSharding(binding.DeviceList(tuple(devices)),
                         binding.hlo().HloSharding.from_string(text), memory_kind)


binding.install_on(GSPMDSharding, {
    **_SHARED,
    "__repr__": lambda s: f"GSPMDSharding({s._hlo_sharding})",
    "__eq__": lambda a, b: a is b or (
        type(b) is GSPMDSharding and a._hlo_sharding == b._hlo_sharding
        and a._internal_device_list == b._internal_device_list
        and a._memory_kind == b._memory_kind),
    "__hash__": lambda s: hash((str(s._hlo_sharding), s._internal_device_list)),
    "_to_xla_hlo_sharding": lambda s, ndim: s._hlo_sharding,
    "is_fully_replicated": property(lambda s: s._hlo_sharding.is_replicated()),
    "__reduce__": lambda s: (_gspmd, (s._device_assignment, str(s._hlo_sharding), s._memory_kind)),
    "__copy__": lambda s: s,
    "__deepcopy__": lambda s, memo: s,
    "shard_shape": _gspmd_shard_shape,
    "with_memory_kind": lambda s, kind: GSPMDSharding(s._internal_device_list, s._hlo_sharding,
                                                      kind),
})


_FOUND: dict[Any, Any] = {}


def compiled_sharding(meshes: tuple[Mesh, ...], proto: Any, ndim: int) -> Any:
    """The sharding of a result of a program, translated from XLA's: a NamedSharding on that of
    these meshes whose axes express it with the fewest names (the first of several), or a
    GSPMDSharding if none expresses it.

    Meshes without explicit axes are preferred: no type says that explicit axes divide the result.
    """
    hlo = binding.hlo().HloSharding.from_proto(proto)
    key = (meshes, str(hlo), ndim)
    found = _FOUND.get(key)
    if found is None:
        if len(_FOUND) > 4096:
            _FOUND.clear()
        named = [s for mesh in meshes if (s := _on_mesh(mesh, hlo, ndim)) is not None]
        found = _FOUND[key] = min(named, key=_names_in, default=GSPMDSharding(
            meshes[0]._internal_device_list, hlo))
    return found


def _names_in(sharding: Any) -> tuple[bool, int]:
    own = sharding.mesh.explicit_axes
    names = [n for e in sharding.spec for n in axes_of(e)]
    return any([n in own for n in names]), len(names)


def _on_mesh(mesh: Mesh, hlo: Any, ndim: int) -> Any:
    """The NamedSharding on a mesh, or None where its axes cannot express XLA's."""
    if hlo.is_replicated():
        return NamedSharding(mesh, PartitionSpec(*[None] * (ndim * bool(mesh.explicit_axes))))
    if hlo.is_manual() or hlo.is_maximal():
        return None
    tiles, order = _tiles(hlo, ndim)
    spec = _spec_of(mesh, tiles, order)
    if spec is not None and mesh.explicit_axes:  # an entry for each dimension, as in types
        spec = PartitionSpec(*spec, *[None] * (ndim - len(spec)))
    made = None if spec is None else NamedSharding(mesh, spec)
    same = made is not None and (
        _plain(made._to_xla_hlo_sharding(ndim), ndim) == _plain(hlo, ndim))
    return made if same else None


def _spec_of(mesh: Mesh, tiles: tuple[int, ...], order: np.ndarray) -> PartitionSpec | None:
    """The spec for tiles in this order, where a step along each axis of the mesh leads to another
    tile along one dimension at most; None where a step leads along several."""
    copies = len(order) // int(np.prod(tiles))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) // copies       # the tile of each device
    by_mesh = place.reshape(mesh.axis_sizes)
    steps: list[list[tuple[int, str]]] = [[] for _ in tiles]
    for k, (name, size) in enumerate(mesh.shape_tuple):
        if size == 1:
            continue
        first = np.array(np.unravel_index(int(by_mesh.flat[0]), tiles))
        second = np.array(np.unravel_index(int(np.take(by_mesh, 1, k).flat[0]), tiles))
        moved = np.flatnonzero(second != first)
        if len(moved) > 1:
            return None
        if len(moved):
            steps[moved[0]].append((int(abs(second - first)[moved[0]]), name))
    entries: list[Any] = [tuple([n for _, n in sorted(s, key=lambda x: -x[0])]) for s in steps]
    while entries and not entries[-1]:
        entries.pop()
    return PartitionSpec(*entries)


@functools.lru_cache(maxsize=4096)
def replicated(mesh: Mesh) -> Any:
    """The sharding with which every device of a mesh holds the whole array."""
    return NamedSharding(mesh, PartitionSpec())


@functools.lru_cache(maxsize=4096)
def replicated_for(mesh: Mesh, ndim: int) -> Any:
    """As `replicated`, for arrays of `ndim` dimensions: the spec has an entry for each dimension
    where all axes of the mesh are explicit."""
    explicit = mesh.axes.of_type("explicit") == mesh.axis_names
    return NamedSharding(mesh, PartitionSpec(*[None] * ndim * explicit))


def make_single_device_sharding(device: Any, memory_kind: str | None = None) -> Any:
    """The sharding of arrays on one device.

    Args:
      device: the device.
      memory_kind: which of its memories; None means its default memory.

    >>> place = xfront.sharding.make_single_device_sharding(xfront.devices()[0])
    >>> place.num_devices, place.is_fully_replicated
    (1, True)
    """
    return binding.single_device_sharding(device, memory_kind)


__all__ = ["GSPMDSharding", "NamedSharding", "Sharding", "SingleDeviceSharding",
           "compiled_sharding", "ir_sharding", "make_single_device_sharding", "public_sharding",
           "replicated", "replicated_for"]
