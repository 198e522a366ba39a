"""Shardings as data: axes of a mesh of devices, and which of them divide each dimension of a value.

Attributes of ops hold them; they have a text that parses:

    mesh        ["x" = 4, "y" = 2 explicit]
                ["x" = 4] on "cpu" [0, 1, 2, 3]      with its devices; without, it is abstract
    spec        [{"x"}, {}, {"y", open}]     first dimension over x, second whole, third over y
                                             and whatever else suits; ` unreduced {"x"}` may follow
    sharding    ["x" = 4] [{"x"}, {}] "pinned_host"       mesh, spec and, where given, a memory

Axes are auto where no word follows their size. A dimension over several axes is divided by the
first of them first. What programs do with shardings is described with the ops that hold them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar

from .errors import IRValueError
from .fixed import Fixed

Shape = tuple[int, ...]

AXIS_TYPES = ("auto", "explicit", "manual")


class _Data(Fixed):
    """The base of immutable data that is compared, hashed and printed by its `_key`."""

    __slots__ = ("_hash", "_text")

    def _keep(self, text: str) -> None:
        self._text, self._hash = text, hash((type(self), text))

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and other._text == self._text)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self._text


class MeshAxes(_Data):
    """Names, sizes and types (`auto`, `explicit` or `manual`) of the axes of a mesh, in order.

    `platform` and `devices` (ids on it, the last axis running fastest) say where the mesh is. A
    mesh without them is abstract and lies on whatever devices the program runs on.
    """

    __slots__ = ("devices", "names", "platform", "sizes", "types")

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    types: tuple[str, ...]
    platform: str
    devices: tuple[int, ...]
    placed: ClassVar[bool] = False
    """Whether this process has made a mesh with devices; if not, no program is searched for one."""

    def __init__(self, names: Iterable[str], sizes: Iterable[int], types: Iterable[str] = (),
                 platform: str = "", devices: Iterable[int] = ()) -> None:
        """Raises: IRValueError for names given twice, sizes below 1, types of another kind, and
        devices that are not as many as the sizes say."""
        self.platform, self.devices = platform, tuple(devices)
        if self.devices:
            MeshAxes.placed = True
        self.names, self.sizes = tuple(names), tuple(sizes)
        self.types = tuple(types) or ("auto",) * len(self.names)
        if not len(self.names) == len(self.sizes) == len(self.types):
            raise IRValueError("a mesh must have a size and a type for each axis, got "
                               f"{self.names}, {self.sizes}, {self.types}")
        if len({*self.names}) != len(self.names):
            raise IRValueError(f"axes of a mesh must have different names, got {self.names}")
        if any(type(n) is not str for n in self.names):
            raise IRValueError(f"names of mesh axes must be strings, got {self.names}")
        if any(type(s) is not int or s < 1 for s in self.sizes):
            raise IRValueError(f"sizes of mesh axes must be positive ints, got {self.sizes}")
        if bad := [t for t in self.types if t not in AXIS_TYPES]:
            raise IRValueError(f"the type of a mesh axis must be one of {', '.join(AXIS_TYPES)}, "
                               f"got {bad[0]!r}")
        if self.devices and len({*self.devices}) != self.size:
            raise IRValueError(f"a mesh of sizes {self.sizes} must have {self.size} different "
                               f"devices, got {self.devices}")
        if bool(self.devices) != bool(platform):
            raise IRValueError("devices and platform must be given together, got devices "
                               f"{self.devices} and platform {platform!r}")
        where = f" on {json.dumps(platform)} {[*self.devices]}" if self.devices else ""
        self._keep("[" + ", ".join([
            f"{json.dumps(n)} = {s}{'' if t == 'auto' else f' {t}'}"
            for n, s, t in zip(self.names, self.sizes, self.types, strict=True)]) + "]" + where)

    def __reduce__(self) -> tuple[Any, ...]:
        return MeshAxes, (self.names, self.sizes, self.types, self.platform, self.devices)

    @property
    def abstract(self) -> MeshAxes:
        """The mesh without its devices."""
        return MeshAxes(self.names, self.sizes, self.types) if self.devices else self

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.sizes)

    def size_of(self, axes: Iterable[str]) -> int:
        """The product of the sizes of some axes. Raises: IRValueError where one is none of them."""
        found = 1
        for name in axes:
            if name not in self.names:
                raise IRValueError(f"the mesh {self} has no axis {name!r}")
            found *= self.sizes[self.names.index(name)]
        return found

    def of_type(self, type: str) -> tuple[str, ...]:
        """The axes of that type, in order."""
        return tuple([n for n, t in zip(self.names, self.types, strict=True) if t == type])

    def with_types(self, types: dict[str, str]) -> MeshAxes:
        """The same mesh with other types of some axes."""
        return MeshAxes(self.names, self.sizes, [
            types.get(n, t) for n, t in zip(self.names, self.types, strict=True)],
            self.platform, self.devices)


class Spec(_Data):
    """Which axes divide each dimension of a value.

    `dims` has one tuple of axes for each dimension; `open` lists the dimensions that the compiler
    may divide further. Along axes in `unreduced` each device holds one term, and the value is their
    sum. Along axes in `reduced` every device holds the value itself, and its cotangent is
    unreduced. `axes` are those that divide dimensions, in the order of the dimensions.
    """

    __slots__ = ("axes", "dims", "open", "reduced", "unreduced")

    dims: tuple[tuple[str, ...], ...]
    axes: tuple[str, ...]
    open: tuple[int, ...]
    unreduced: tuple[str, ...]
    reduced: tuple[str, ...]

    def __init__(self, dims: Iterable[Iterable[str]], open: Iterable[int] = (),
                 unreduced: Iterable[str] = (), reduced: Iterable[str] = ()) -> None:
        """Raises: IRValueError where an axis occurs twice, or a dimension does not exist."""
        self.dims = tuple([tuple(d) for d in dims])
        self.axes = tuple([name for d in self.dims for name in d])
        self.open = tuple(sorted({*open}))
        self.unreduced, self.reduced = tuple(sorted({*unreduced})), tuple(sorted({*reduced}))
        used = [*self.axes, *self.unreduced, *self.reduced]
        if len({*used}) != len(used):
            raise IRValueError(f"a mesh axis can divide only one dimension, got {self.dims}")
        if self.open and not 0 <= self.open[0] <= self.open[-1] < len(self.dims):
            raise IRValueError(f"open dimensions {self.open} are out of bounds for "
                               f"{len(self.dims)} dimensions")
        written: list[str] = []
        for i, d in enumerate(self.dims):
            names = [json.dumps(n) for n in d] + ["open"] * (i in self.open)
            written.append("{" + ", ".join(names) + "}")
        text = f"[{', '.join(written)}]"
        for word, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if names:
                text += f" {word} {{{', '.join(map(json.dumps, names))}}}"
        self._keep(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Spec, (self.dims, self.open, self.unreduced, self.reduced)

    @property
    def ndim(self) -> int:
        """Dimensions of the value."""
        return len(self.dims)

    @property
    def is_replicated(self) -> bool:
        """Whether every device holds the whole value."""
        return not self.axes and not self.unreduced

    def insert(self, position: int, axes: Iterable[str] = (), *, open: bool = False) -> Spec:
        """The spec with one more dimension, at `position`."""
        return _inserted(self, position, tuple(axes), open)

    def without(self, position: int) -> Spec:
        """The spec without the dimension at `position`."""
        dims = [*self.dims[:position], *self.dims[position + 1:]]
        opened = [i - (i > position) for i in self.open if i != position]
        return Spec(dims, opened, self.unreduced, self.reduced)

    def local_shape(self, mesh: MeshAxes, shape: Shape) -> Shape:
        """The shape of a device's part. Raises: IRValueError where a dimension does not divide."""
        self.check(mesh, shape)
        return tuple([n // mesh.size_of(d) for n, d in zip(shape, self.dims, strict=True)])

    def global_shape(self, mesh: MeshAxes, shape: Shape) -> Shape:
        """The shape of the whole value whose parts have `shape`."""
        return tuple([n * mesh.size_of(d) for n, d in zip(shape, self.dims, strict=True)])

    def check(self, mesh: MeshAxes, shape: Shape) -> None:
        """Raises: IRValueError where this is no spec of a value of that shape on that mesh."""
        if len(shape) != len(self.dims):
            raise IRValueError(f"the spec {self} has {len(self.dims)} dimensions, but a value of "
                               f"shape {list(shape)} has {len(shape)}")
        mesh.size_of((*self.unreduced, *self.reduced))
        for i, (n, d) in enumerate(zip(shape, self.dims, strict=True)):
            parts = mesh.size_of(d)
            if n % parts:
                raise IRValueError(f"dimension {i} of shape {list(shape)} has size {n}, which "
                                   f"cannot be divided into the {parts} parts of {self} on {mesh}")


@lru_cache(maxsize=1024)
def _inserted(spec: Spec, position: int, axes: tuple[str, ...], open: bool) -> Spec:
    dims = [*spec.dims[:position], axes, *spec.dims[position:]]
    opened = [i + (i >= position) for i in spec.open] + [position] * open
    return Spec(dims, opened, spec.unreduced, spec.reduced)


class Sharding(_Data):
    """A mesh, a spec on it and, where it is not the devices' default memory, a kind of memory."""

    __slots__ = ("memory_kind", "mesh", "spec")

    def __init__(self, mesh: MeshAxes, spec: Spec, memory_kind: str | None = None) -> None:
        """Raises: IRValueError where the spec has axes that the mesh has not."""
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_kind
        mesh.size_of((*spec.axes, *spec.unreduced, *spec.reduced))
        memory = "" if memory_kind is None else f" {json.dumps(memory_kind)}"
        self._keep(f"{mesh} {spec}{memory}")

    @property
    def sums_inside(self) -> bool:
        """Whether values are unreduced or reduced over manual axes."""
        axes = (*self.spec.unreduced, *self.spec.reduced)
        return bool(axes) and not {*axes}.isdisjoint(self.mesh.of_type("manual"))

    def on(self, spec: Spec) -> Sharding:
        """Another spec on the same mesh, in the same memory."""
        return Sharding(self.mesh, spec, self.memory_kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sharding, (self.mesh, self.spec, self.memory_kind)


_EXPLICIT: dict[Sharding, Sharding | None] = {}

HOST = "pinned_host"
"""The kind of memory that types know: the host's, from which devices read directly."""
NO_MESH = MeshAxes((), ())
"""The mesh of values of which types say only that they are in the host's memory."""


def explicit(sharding: Sharding) -> Sharding | None:
    """The part of a sharding that types keep: the explicit axes of its mesh, the manual axes over
    which values are sums, and the host's memory. None if there is none of these."""
    if sharding in _EXPLICIT:
        return _EXPLICIT[sharding]
    mesh, spec = sharding.mesh.abstract, sharding.spec
    own = frozenset(mesh.of_type("explicit"))
    summed = own.union(mesh.of_type("manual"))
    kept = Spec([[a for a in d if a in own] for d in spec.dims], (), summed & {*spec.unreduced},
                summed & {*spec.reduced})
    memory = HOST if sharding.memory_kind == HOST else None
    found = None
    if kept.axes or kept.unreduced or kept.reduced:
        found = Sharding(mesh, kept, memory)
    elif memory is not None:
        found = in_memory(spec.ndim, memory)
    return _EXPLICIT.setdefault(sharding, found)


def in_memory(ndim: int, kind: str | None) -> Sharding:
    """The sharding of undivided values of `ndim` dimensions in one kind of memory; None means the
    devices' own."""
    return Sharding(NO_MESH, replicated(ndim), kind)


@lru_cache(maxsize=256)
def replicated(ndim: int) -> Spec:
    """The spec of a value of which every device holds a copy."""
    return Spec(((),) * ndim)


class DividedBatch(tuple[Any, int]):
    """An axis of vmap, its name and size, that is divided over the axes `over` of a mesh."""

    over: tuple[str, ...]

    def __new__(cls, name: Any, size: int, over: tuple[str, ...]) -> DividedBatch:
        self = super().__new__(cls, (name, size))
        self.over = over
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is DividedBatch and other.over == self.over and (
            super().__eq__(other) is True)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.over))


def batch_axes(axis: tuple[Any, int]) -> tuple[str, ...]:
    """The axes of a mesh over which an axis of vmap is divided."""
    return axis.over if type(axis) is DividedBatch else ()


__all__ = ["AXIS_TYPES", "HOST", "NO_MESH", "DividedBatch", "MeshAxes", "Sharding", "Spec",
           "batch_axes", "explicit", "in_memory", "replicated"]
