"""Placement on several devices: the devices and shardings for which a program is compiled.

It follows from committed arguments, from the shardings given to `jit`, from the meshes that the
program names, and from the mesh in context, which must all have the same devices in the same order.
The program is compiled for the shardings of its committed arguments; the other arguments are
replicated. The compiler chooses the shardings of results for which `jit` was given none.
"""

# hot: benchmarks/sharding.py

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xfront_ir import sharding as data
from xfront_ir.core import Function
from xfront_ir.types import TensorType

from .. import binding
from ..binding import ArrayImpl
from ..values.commitment import commitment
from ..values.keys import KeyArray
from .context import context_mesh
from .mesh import Mesh, mesh_of
from .named import (
    NamedSharding,
    abstract_sharding,
    compiled_sharding,
    ir_sharding,
    replicated,
    replicated_for,
)


class Spread:
    """Where a program on several devices runs. Equal placements are one object.

    `ins` are the shardings of arguments, where None means replicated; `outs` are those of results,
    where None leaves the choice to the compiler. Arguments and results beyond these count as None.
    `others` are further meshes of the same devices, to which shardings of results may belong.
    """

    __slots__ = ("devices", "ins", "mesh", "others", "outs", "sharding")

    def __init__(self, mesh: Mesh, ins: tuple[Any, ...], outs: tuple[Any, ...],
                 others: tuple[Mesh, ...] = ()) -> None:
        self.mesh, self.ins, self.outs, self.others = mesh, ins, outs, others
        self.devices = tuple(mesh.devices.flat)
        self.sharding = replicated(mesh)

    def __repr__(self) -> str:
        return f"Spread({self.mesh}, {self.ins}, {self.outs})"

    @property
    def is_of_one_process(self) -> bool:
        """Whether this process drives all devices, or they exchange numbers by their own links."""
        return self.sharding.is_fully_addressable or self.devices[0].platform != "cpu"

    def bring(self, x: Any, sharding: Any = None) -> ArrayImpl:
        """The array, or the words of a key array, moved to `sharding`; None means replicated."""
        if type(x) is KeyArray:
            x = x._base
        wanted = sharding or self.sharding
        if type(x) is ArrayImpl and x._sharding is wanted:
            return x
        return binding.put(x, wanted)

    def gathered(self, x: Any) -> Any:
        """The value on the default device, uncommitted."""
        if type(x) is KeyArray:
            return KeyArray(x._ir, self.gathered(x._base))
        return binding.put(binding.to_numpy(x), weak=x.aval.weak_type) if type(
            x) is ArrayImpl else x

    def is_reached(self, x: Any) -> bool:
        """Whether C++ can take `x` to where the program needs it: not an array with a
        GSPMDSharding, which C++ would pass without moving it, if it is on these devices."""
        if type(x) is KeyArray:
            x = x._base
        return type(x) is not ArrayImpl or type(x._sharding) is not binding.GSPMDSharding

    def params(self, function: Function, n_explicit: int | None) -> list[Any]:
        """The sharding or None of each parameter of a Function whose parameters after the first
        `n_explicit` stand in front."""
        n = len(function.params)
        padded = [*self.ins, *[None] * (n - len(self.ins))]
        if n_explicit is not None:
            padded = [*padded[n_explicit:], *padded[:n_explicit]]
        return [_in_memory(s or self.sharding, v.type) if v.type.memory else s
                for s, v in zip(padded, function.params, strict=True)]

    def partition(self, function: Function, ins: Sequence[Any]) -> Any:
        """The Partition by which the lowering divides a Function between the devices."""
        from lowering.partitioning import Partition  # with the first program, not with the library

        count = len(self.devices)
        outs = [self._open(v.type) if s is None else self._checked(s, v.type) for s, v in zip(
            self.known([v.type for v in function.returns]), function.returns, strict=True)]
        params = [self._param(s, v.type) for s, v in zip(ins, function.params, strict=True)]
        if count == 1:
            return Partition()
        return Partition(1, count, tuple(params), tuple(outs), self.mesh.axes.abstract)

    def _param(self, sharding: Any, type: TensorType) -> data.Sharding:
        if sharding is None:
            return data.Sharding(self.mesh.axes, data.replicated(type.ndim))
        return self._checked(sharding, type)

    def _open(self, type: TensorType) -> data.Sharding | None:
        """The sharding of a result that the compiler divides. On a mesh with explicit axes, which
        divide the result as its type says, the compiler may choose among the auto axes only."""
        mesh = self.mesh.axes
        same = type.sharding is None or type.sharding.mesh == mesh.abstract
        if self.others or not same or not mesh.of_type("explicit"):
            return None
        return data.Sharding(mesh, data.Spec(type.dims, range(type.ndim)))

    def _checked(self, sharding: Any, type: TensorType) -> data.Sharding:
        sharding.shard_shape(type.shape)          # raises the errors that users know
        return ir_sharding(sharding, type.ndim)

    def known(self, types: Sequence[TensorType]) -> list[Any]:
        """The sharding of each result: the one that `jit` was given for it, or that of its type if
        that has explicit axes, or None."""
        padded = [*self.outs, *[None] * (len(types) - len(self.outs))]
        return [self._typed(t) if s is None else s for s, t in zip(padded, types, strict=True)]

    def _typed(self, type: TensorType) -> Any:
        axes, mesh = type.sharding, self.mesh
        if axes is None or not axes.mesh.names:
            return replicated_for(mesh, type.ndim) if all(
                [m.explicit_axes == m.axis_names for m in (mesh, *self.others)]) else None
        if axes.mesh.of_type("auto"):
            return None                           # the compiler divides further along auto axes
        if axes.mesh != mesh.axes.abstract:
            mesh = _like(mesh, axes.mesh)
        return NamedSharding(mesh, abstract_sharding(axes).spec)

    def results(self, executable: Any, out_types: Sequence[tuple[TensorType, bool]]) -> list[Any]:
        """The shardings of the results of a compiled program."""
        known = self.known([t for t, _ in out_types])
        types = [t for t, _ in out_types]
        if len(self.devices) == 1:
            return [_in_memory(s or self.sharding, t) for s, t in zip(known, types, strict=True)]
        chosen = executable.loaded.get_output_shardings() if None in known else known
        return [_in_memory(s if s is not None else compiled_sharding(
                    self._meshes_of(t), c, t.ndim + len(t.dtype.physical)), t)
                for s, c, t in zip(known, chosen or (), types, strict=True)]

    def _meshes_of(self, type: TensorType) -> tuple[Mesh, ...]:
        """The meshes on which a result of this type may lie: that of the type, or any."""
        axes = type.sharding
        return (self.mesh, *self.others) if axes is None or not axes.mesh.names else (
            _like(self.mesh, axes.mesh),)


def _in_memory(sharding: Any, type: TensorType) -> Any:
    """The sharding of a value of this type, in the memory that the type says."""
    return sharding.with_memory_kind(type.memory) if type.memory else sharding


def elsewhere(place: Spread, devices: Sequence[Any]) -> Spread:
    """The same placement on the first of `devices`, in their order."""
    def there(old: Mesh) -> Mesh:
        return Mesh(np.array(devices[:old.devices.size], object).reshape(old.devices.shape),
                    old.axis_names, old.axis_types)

    ins, outs = (tuple([s and NamedSharding(there(s.mesh), s.spec) for s in given])
                 for given in (place.ins, place.outs))
    return spread_over(there(place.mesh), ins, outs, [there(m) for m in place.others])


_SPREADS: dict[Any, Spread] = {}


def spread_over(mesh: Mesh, ins: Sequence[Any], outs: Sequence[Any], others: Sequence[Mesh] = ()
                ) -> Spread:
    """The one Spread with these shardings of arguments and results, and these further meshes."""
    while ins and ins[-1] is None:
        ins = ins[:-1]
    key = (mesh, tuple(ins), tuple(outs), tuple(others))
    found = _SPREADS.get(key)
    if found is None:
        if len(_SPREADS) > 8192:
            _SPREADS.clear()
        found = _SPREADS.setdefault(key, Spread(*key))
    return found


class Claim:
    """A sharding that says on which devices a program runs; `what()` names its source in errors."""

    __slots__ = ("sharding", "what")

    def __init__(self, what: Callable[[], str], sharding: Any) -> None:
        self.what, self.sharding = what, sharding

    def __str__(self) -> str:
        devices = self.sharding._device_assignment
        return (f"{self.what()} and with device ids {[d.id for d in devices]} on platform "
                f"{devices[0].platform.upper()}")


def spread(args: Sequence[Any], function: str, names: Callable[[], Sequence[str]] | None,
           read: Callable[[], Sequence[bool]] | None, *, shardings: Sequence[Any] = (),
           outs: Sequence[Any] = (), named: Sequence[data.MeshAxes] = ()) -> Spread:
    """The placement of a program on several devices.

    Args:
      args: flat arguments of any kind.
      function: name of the function, for errors.
      names: returns the names of the arguments, for errors; None where they have none.
      read: returns for each argument whether the program reads it; unread arguments do not count.
      shardings: the one that `jit` was given for each of the first arguments, or None.
      outs: the sharding that `jit` was given for each result, or None.
      named: axes of the meshes that the program names.
    Raises: ValueError where two of these have different devices, or an argument is committed to
      another sharding than `shardings` says.
    """
    def name(i: int) -> str:
        known = names() if names is not None else ()
        x = args[i]
        aval = getattr(x, "aval", None)
        shape = f" with shape {aval.str_short()}" if aval is not None else ""
        return (f"argument {known[i] if i < len(known) and known[i] else f'number {i}'} of "
                f"{function.strip('_')}{shape}")

    asked = [*shardings, *[None] * (len(args) - len(shardings))]
    ins: list[Any] = []
    claims: list[Claim] = []
    for i, (x, wanted) in enumerate(zip(args, asked, strict=True)):
        there = commitment(x)
        if there is not None and read is not None and not read()[i]:
            there = None
        if wanted is not None:
            if there is not None and type(there) is NamedSharding and not there.is_equivalent_to(
                    wanted, len(x.aval.shape)):
                raise ValueError(
                    "Sharding passed to jit does not match the sharding on the respective arg. Got "
                    f"jit sharding: {wanted},\narg sharding: {there} for {name(i)}: move the array "
                    "with device_put first")
            there = wanted
        ins.append(there if type(there) is NamedSharding else None)
        if there is not None:
            claims.append(Claim(partial(name, i), there))
    claims += [Claim(lambda: f"a result of {function}, by out_shardings", s)
               for s in outs if s is not None]
    claims += [Claim(lambda: f"a sharding inside {function}", replicated(_concrete(axes)))
               for axes in sorted(named, key=repr)]
    return _agreed(claims, ins, outs)


def _concrete(axes: data.MeshAxes) -> Mesh:
    mesh = mesh_of(axes)
    assert mesh is not None                       # all meshes in `named` have devices
    return mesh


def _agreed(claims: Sequence[Claim], ins: Sequence[Any], outs: Sequence[Any]) -> Spread:
    meshes: dict[Mesh, None] = {}
    for claim in claims:
        if claim.sharding._internal_device_list != claims[0].sharding._internal_device_list:
            raise ValueError(
                f"Received incompatible devices for jitted computation. Got {claims[0]} and "
                f"{claim}. Both are committed to their devices: move one to the devices of the "
                "other with device_put")
        if type(claim.sharding) is NamedSharding:
            meshes[claim.sharding.mesh] = None
    if not meshes:
        mesh = context_mesh() if not claims else _line(claims[0].sharding)
        assert mesh is not None
        return spread_over(mesh, ins, outs)
    mesh, *others = meshes
    return spread_over(mesh, ins, outs, others)


def _like(mesh: Mesh, axes: data.MeshAxes) -> Mesh:
    """The mesh of the same devices with these axes."""
    own = mesh.axes
    found = mesh_of(data.MeshAxes(axes.names, axes.sizes, axes.types, own.platform, own.devices))
    assert found is not None
    return found


def _line(sharding: Any) -> Mesh:
    """A mesh with one axis of the devices of a sharding that has no mesh."""
    return Mesh(np.array(sharding._device_assignment, object), ("devices",))


__all__ = ["Spread", "spread", "spread_over"]
