"""Meshes: arrays of devices whose axes have names, sizes and types; and meshes without devices."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from lowering.topologies import devices_of, name_of
from xfront_ir.sharding import MeshAxes

from .. import binding
from ..base.config import disallow_mesh_context_manager
from ..binding.fixed import Fixed
from ..binding.manual_axes import ManualAxisType
from ..binding.tracebacks import front_door
from .entered import Entered


class AxisType(enum.Enum):
    """Who decides how values are divided over a mesh axis.

    Auto: the compiler decides. Explicit: the program decides, by the shardings of its arguments and
    by what follows from them in types (docs/sharding.md). Manual: the body of a `shard_map`
    computes with parts.

    >>> kinds = (xfront.sharding.AxisType.Explicit,)
    >>> mesh = xfront.make_mesh((1,), ("rows",), axis_types=kinds)
    >>> x = xfront.device_put(jnp.ones(4), xfront.NamedSharding(mesh, xfront.P("rows")))
    >>> xfront.typeof(x)
    ShapedArray(float32[4@rows])
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class AbstractDevice(Fixed):
    """The kind of devices of an abstract mesh.

    Args:
      device_kind: name of the kind, as devices give it.
      num_cores: number of cores of a device, or None.
      platform: name of the platform, or None.

    >>> kind = xfront.sharding.AbstractDevice("TPU v5e", num_cores=1)
    >>> kind.device_kind
    'TPU v5e'
    """

    __slots__ = ("device_kind", "num_cores", "platform")

    def __init__(self, device_kind: str, num_cores: int | None = None,
                 platform: str | None = None) -> None:
        self.device_kind, self.num_cores, self.platform = device_kind, num_cores, platform

    def _key(self) -> tuple:
        return self.device_kind, self.num_cores, self.platform

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractDevice) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (f"AbstractDevice({self._text()})")

    def _text(self) -> str:
        return (f"device_kind={self.device_kind}, num_cores={self.num_cores}, "
                f"platform={self.platform}")


class _Axes(Fixed):
    """The base of meshes with and without devices: names, sizes and types of axes."""

    __slots__ = ()

    axis_names: tuple[str, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]
    axes: MeshAxes

    @property
    def shape(self) -> OrderedDict[str, int]:
        """The size of each axis by name, in the order of the axes."""
        return OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[str, int], ...]:
        """A pair of name and size for each axis."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices; 0 for the empty mesh."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether the mesh has no axes."""
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[str, ...]:
        return tuple([n for n, t in zip(self.axis_names, self.axis_types, strict=True)
                      if t is kind])

    @property
    def auto_axes(self) -> tuple[str, ...]:
        """Names of the auto axes."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        """Names of the explicit axes."""
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[str, ...]:
        """Names of the manual axes."""
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether every axis is auto."""
        return not self.empty and len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether every axis is explicit."""
        return not self.empty and len(self.explicit_axes) == len(self.axis_names)

    @property
    def _any_axis_explicit(self) -> bool:        # libraries ask for it by JAX's name
        return bool(self.explicit_axes)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether every axis is manual."""
        return not self.empty and len(self.manual_axes) == len(self.axis_names)

    def _text(self) -> str:
        if not self.axis_names:
            return "(), axis_types=()"
        sizes = ", ".join([f"{n!r}: {s}" for n, s in self.shape_tuple])
        return f"{sizes}, axis_types={self.axis_types}"


def _named(names: Any) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if type(name) is not str:
            raise TypeError(f"names of mesh axes must be strings, got {name!r} of type "
                            f"{type(name).__name__}")
    return names


def _typed(types: Any, n: int) -> tuple[AxisType, ...]:
    if types is None:
        return (AxisType.Auto,) * n
    if isinstance(types, Mapping):
        raise TypeError(f"axis_types must be one AxisType for each axis, in order, got {types}")
    types = (types,) if isinstance(types, AxisType) else tuple(types)
    if any(not isinstance(t, AxisType) for t in types):
        raise TypeError(f"axis_types must be AxisType.Auto, Explicit or Manual, got {types}")
    if len(types) != n:
        raise ValueError(f"a mesh must have one type for each axis; got {len(types)} axis_types "
                         f"for {n} axes")
    return types


def _distinct(names: tuple[str, ...]) -> None:
    if len({*names}) != len(names):
        raise ValueError(f"axes of a mesh must have different names, got {names}")


class Mesh(_Axes):
    """Devices in an array whose axes have names.

    Args:
      devices: array (or nested lists) of devices; its shape is that of the mesh.
      axis_names: a string for each dimension of the array; a single string for one dimension.
      axis_types: an `AxisType` for each axis, or one for a single axis; None means Auto.
    Raises: ValueError where the numbers of names, types and dimensions differ, where a name or
      device occurs twice, or where devices are of several platforms; TypeError where a device, name
      or type is of the wrong type.

    Meshes of the same devices, names and types are one object. In `with mesh:`, specs without a
    mesh that are given to `jit` and `with_sharding_constraint` belong to it; `set_mesh` does more.

    >>> mesh = xfront.sharding.Mesh(np.array(xfront.devices()[:1]), ("data",))
    >>> mesh.shape["data"], mesh.size
    (1, 1)
    """

    __slots__ = ("__weakref__", "_abstract", "_entered", "_internal_device_list", "axes",
                 "axis_names", "axis_sizes", "axis_types", "devices")

    devices: np.ndarray

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        """The mesh of these devices; see the class."""
        array = np.array(devices, dtype=object) if not isinstance(devices, np.ndarray) else devices
        names = _named(axis_names)
        if array.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {array.ndim} and "
                f"len(axis_names) == {len(names)}.")
        _distinct(names)
        types = _typed(axis_types, len(names))
        flat = tuple(array.flat) if names else ()
        key = (flat, array.shape, names, types)
        found = _MESHES.get(key)
        if found is not None:
            return found
        if bad := [d for d in flat if not isinstance(d, binding.Device)]:
            raise TypeError("Mesh: devices must be devices such as those of xfront.devices(), got "
                            f"{bad[0]!r}")
        if len({*flat}) != len(flat):
            raise ValueError("Mesh: each device may occur only once, got the ids "
                             f"{[d.id for d in flat]}")
        if len({d.platform for d in flat}) > 1:
            raise ValueError("Mesh: all devices must belong to the same platform, got "
                             f"{sorted({d.platform for d in flat})}")
        self = super().__new__(cls)
        self.devices = array.copy()
        self.devices.flags.writeable = False
        self.axis_names, self.axis_types = names, types
        self.axis_sizes = array.shape
        self.axes = MeshAxes(names, map(int, array.shape), [t.name.lower() for t in types],
                             name_of(flat[0]) if flat else "", [d.id for d in flat]
                             ) if names else MeshAxes((), ())
        self._internal_device_list = binding.DeviceList(flat) if names else None
        self._abstract: AbstractMesh | None = None
        self._entered: list[Any] = []
        _BY_AXES.setdefault(self.axes, self)
        return _MESHES.setdefault(key, self)

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        """See the class."""

    def __reduce__(self) -> tuple:
        return _found, (self.axes.platform, self.device_ids, self.axis_names, self.axis_types)

    def __copy__(self) -> Mesh:
        return self

    def __deepcopy__(self, memo: Any) -> Mesh:
        return self

    def __repr__(self) -> str:
        types = f", axis_types={self.axis_types}" if self.axis_names else ""
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"

    def __str__(self) -> str:
        return f"Mesh({self._text()})"

    def __enter__(self) -> Mesh:
        if disallow_mesh_context_manager.value:
            raise RuntimeError("Mesh context manager is disabled, as jax_disallow_mesh_context_"
                               "manager is on; write xfront.set_mesh(mesh)")
        self._entered.append(Entered((None, None, self)))   # specs without a mesh belong to it
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered.pop().__exit__(*exc)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        if self._abstract is None:
            kind = None
            if self.axis_names:
                first = self.devices.flat[0]
                kind = AbstractDevice(first.device_kind, getattr(first, "num_cores", None),
                                      first.platform)
            self._abstract = AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types,
                                          abstract_device=kind)
        return self._abstract

    @property
    def device_ids(self) -> np.ndarray:
        """The ids of the devices, an int64 array of the shape of the mesh."""
        return np.array([d.id for d in self.devices.flat], np.int64).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Any]:
        """The devices of this process, a list."""
        return [d for d in self.devices.flat if d.process_index == d.client.process_index()]

    @property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to other processes."""
        return len(self.local_devices) != self.devices.size

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh on devices of this process.

        Raises: ValueError where these devices do not form a rectangle of the mesh.
        """
        if not self.is_multi_process:
            return self
        places = np.argwhere(np.vectorize(
            lambda d: d.process_index == d.client.process_index())(self.devices))
        box = tuple([slice(a, b + 1) for a, b in zip(places.min(0), places.max(0), strict=True)])
        part = self.devices[box]
        if part.size != len(places):
            raise ValueError("Mesh.local_mesh: the devices of this process do not form a "
                             "rectangular part of the mesh")
        return Mesh(part, self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A mesh with other devices, names or types where these are not None."""
        return Mesh(self.devices if devices is None else devices,
                    self.axis_names if axis_names is None else axis_names,
                    self.axis_types if axis_types is None else axis_types)


_MESHES: dict[Any, Mesh] = {}
_BY_AXES: dict[MeshAxes, Mesh] = {}


def _found(platform: str, ids: np.ndarray, names: tuple[str, ...], types: tuple[AxisType, ...]
           ) -> Mesh:
    """The mesh of the devices with these ids. Raises: ValueError where an id has no device."""
    if not names:
        return Mesh(np.empty((), object), ())
    from lowering import clients  # with the first mesh that is unpickled

    by_id = {d.id: d for d in devices_of(platform) or clients.client(platform).devices()}
    if lost := sorted({*ids.flat} - {*by_id}):
        raise ValueError(f"a mesh of the devices {ids.tolist()} of {platform} was unpickled, but "
                         f"the devices {lost} do not exist here")
    devices = np.array([by_id[i] for i in ids.flat], object).reshape(ids.shape)
    return Mesh(devices, names, types)


def mesh_of(axes: MeshAxes) -> Mesh | None:
    """The mesh of this process with these axes and devices; None for axes without devices."""
    if not axes.devices:
        return None
    mesh = _BY_AXES.get(axes)
    if mesh is not None:
        return mesh
    return _found(axes.platform, np.array(axes.devices).reshape(axes.sizes), axes.names,
                  tuple([AxisType[t.capitalize()] for t in axes.types]))


class AbstractMesh(_Axes):
    """Names, sizes and types of the axes of a mesh, without devices.

    Args:
      axis_sizes, axis_names: an int and a string for each axis.
      axis_types: an `AxisType` for each axis, or one for a single axis; None means Auto.
      abstract_device: the AbstractDevice that describes the devices, or None.
    Raises: ValueError where the numbers of sizes, names and types differ, or a name occurs twice;
      TypeError where a name or type is of the wrong type.

    >>> mesh = xfront.sharding.AbstractMesh((4, 2), ("data", "model"))
    >>> xfront.NamedSharding(mesh, xfront.P("data")).shard_shape((8, 3))
    (2, 3)
    """

    __slots__ = ("_hash", "abstract_device", "axes", "axis_names", "axis_sizes", "axis_types")

    _internal_device_list = None

    def __init__(self, axis_sizes: Sequence[int], axis_names: Any, axis_types: Any = None, *,
                 abstract_device: AbstractDevice | None = None) -> None:
        self.axis_names = _named(axis_names)
        self.axis_sizes = tuple([int(s) for s in axis_sizes])
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError("AbstractMesh: axis_sizes and axis_names must have the same length, "
                             f"got {self.axis_sizes} and {self.axis_names}")
        _distinct(self.axis_names)
        self.axis_types = _typed(axis_types, len(self.axis_names))
        self.abstract_device = abstract_device
        self.axes = MeshAxes(self.axis_names, self.axis_sizes,
                             [t.name.lower() for t in self.axis_types])
        self._hash = hash((self.axes, abstract_device))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, AbstractMesh) and self.axes == other.axes
            and self.abstract_device == other.abstract_device)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple:
        return _abstract, (self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device)

    def __repr__(self) -> str:
        device = f", {self.abstract_device._text()}" if self.abstract_device is not None else ""
        return f"AbstractMesh({self._text()}{device})"

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    @property
    def devices(self) -> Any:
        """An abstract mesh has no devices. Raises: ValueError."""
        raise ValueError("AbstractMesh has no devices; use a Mesh")

    def update(self, **changes: Any) -> AbstractMesh:
        """A mesh with some arguments of the class changed."""
        return AbstractMesh(**{"axis_sizes": self.axis_sizes, "axis_names": self.axis_names,
                               "axis_types": self.axis_types,
                               "abstract_device": self.abstract_device, **changes})

    def update_axis_types(self, types: dict[str, AxisType]) -> AbstractMesh:
        """A mesh whose axes have the types that `types` gives by name; others keep theirs."""
        return self.update(axis_types=[types.get(n, t) for n, t in zip(
            self.axis_names, self.axis_types, strict=True)])


_ABSTRACT: dict[MeshAxes, AbstractMesh] = {}


def known_by_axes(mesh: AbstractMesh) -> None:
    """Record a mesh, so that `abstract_mesh` of its axes returns it."""
    _ABSTRACT.setdefault(mesh.axes, mesh)


def abstract_mesh(axes: MeshAxes) -> AbstractMesh:
    """The abstract mesh with these axes, the recorded one where there is one."""
    found = _ABSTRACT.get(axes)
    return AbstractMesh(axes.sizes, axes.names, [AxisType[t.capitalize()] for t in axes.types]
                        ) if found is None else found


def _abstract(sizes: tuple, names: tuple, types: tuple, device: Any) -> AbstractMesh:
    return AbstractMesh(sizes, names, types, abstract_device=device)


MISSING: Any = object()
"""The default of arguments that must be given."""


@front_door
def make_mesh(axis_sizes: Sequence[int] = MISSING, axis_names: Sequence[str] = MISSING,
              axis_types: Sequence[AxisType] | None = None, *,
              devices: Sequence[Any] | None = None, axis_shapes: Sequence[int] = MISSING) -> Mesh:
    """A mesh of the first available devices, in their order.

    Args:
      axis_sizes, axis_names: an int and a string for each axis, its size and its name. The sizes
        may also be given as `axis_shapes`, their name before JAX 0.12.
      axis_types: an `AxisType` for each axis; None means Explicit.
      devices: sequence of devices, of which the mesh takes the first; None takes those of the
        default platform in all processes.
    Raises: TypeError without sizes or names, and for sizes given twice; ValueError where there are
      fewer devices than the sizes ask for, where a size is negative, or where the numbers of sizes,
      names and types differ.

    >>> xfront.make_mesh((1,), ("data",)).axis_names
    ('data',)
    """
    from lowering import devices as known  # makes a client

    if (axis_sizes is MISSING) == (axis_shapes is MISSING) or axis_names is MISSING:
        raise TypeError("make_mesh: axis_sizes and axis_names are required, each once; axis_shapes "
                        "is an older name of axis_sizes")
    shape = tuple([int(n) for n in (axis_shapes if axis_sizes is MISSING else axis_sizes)])
    if any([n < 0 for n in shape]):
        raise ValueError(f"make_mesh: sizes of axes must not be negative, got {shape}")
    wanted = math.prod(shape)
    found = list(known.devices()) if devices is None else list(np.asarray(devices, object).flat)
    if len(found) < wanted:
        raise ValueError(f"Number of devices {len(found)} must be >= the product of mesh_shape "
                         f"{shape}")
    names = _named(axis_names)
    types: Iterable[AxisType] | None = axis_types
    if types is None:
        types = (AxisType.Explicit,) * len(names)
    return Mesh(np.array(found[:wanted], object).reshape(shape), names, types)


__all__ = ["AbstractDevice", "AbstractMesh", "AxisType", "ManualAxisType", "Mesh", "make_mesh",
           "mesh_of"]
