"""Placement: the devices of a program, found from its arguments.

A program runs on the devices of its committed arguments, and its results are committed there. Other
arrays, NumPy values and numbers are moved there. Without a committed argument it runs on the device
that the option `default_device` names, else on the first one, and its results are uncommitted. Two
arguments that are committed to different devices are refused. A program is compiled for its
placement, which is therefore part of the key of every table of programs; whether results are
committed is not.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import binding
from ..binding import ArrayImpl
from ..values.commitment import Promised, commitment, has_devices
from ..values.keys import KeyArray

ONE_DEVICE = "_device"
"""The axis of the meshes by which programs name a single device."""


class Placement:
    """Where a program runs. Equal placements are one object.

    `devices` are those of the program, `sharding` is that of arrays which are not divided.
    """

    __slots__ = ("devices", "sharding")

    def __init__(self, devices: tuple[Any, ...], sharding: Any) -> None:
        self.devices, self.sharding = devices, sharding

    def __repr__(self) -> str:
        return f"Placement({', '.join(map(str, self.devices))})"

    def bring(self, x: Any, wanted: Any = None) -> ArrayImpl:
        """The array `x`, or the words of a key array, at this placement: `x` itself, a copy of it,
        or an array made from a value on the host. `wanted` is a sharding in another memory.

        Raises: RuntimeError where `x` was deleted; TypeError where it is not an array.
        """
        if type(x) is KeyArray:
            x = x._base
        sharding = wanted or self.sharding
        if type(x) is ArrayImpl and x._sharding is sharding:
            return x
        return binding.put(x, sharding, committed=False)

    def is_reached(self, x: Any) -> bool:
        """Whether C++ moves an argument here by itself: every argument except arrays of other
        clients, and arrays in other memories than the devices' own."""
        if type(x) is KeyArray:
            x = x._base
        if type(x) is not ArrayImpl or x._sharding is self.sharding:
            return True
        sharding, device = x._sharding, self.devices[0]
        return (type(sharding) is binding.SingleDeviceSharding
                and sharding._device.client is device.client
                and sharding._memory_kind in (None, sharding._device.default_memory().kind))


_PLACEMENTS: dict[Any, Placement] = {}


def placement_of(sharding: Any) -> Placement:
    """The placement of arrays with a sharding.

    Raises: NotImplementedError where it has several devices.
    """
    found = _PLACEMENTS.get(sharding)
    if found is None:
        devices = tuple(sharding._device_assignment)
        if len(devices) != 1:
            raise NotImplementedError(
                f"programs run on one device, but an array lies on {len(devices)} devices: "
                f"{sharding}. Move it to one device with device_put first")
        own = binding.single_device_sharding(devices[0])     # in the device's own memory
        made = _PLACEMENTS.setdefault(own, Placement(devices, own))
        found = _PLACEMENTS.setdefault(sharding, made)
    return found


_last_default: Placement | None = None


def default_placement() -> Placement:
    """Where programs without committed arguments run."""
    global _last_default
    sharding, last = binding.default_sharding(), _last_default
    if last is None or last.sharding is not sharding:
        last = _last_default = placement_of(sharding)
    return last


def placement(args: Sequence[Any], function: str,
              names: Callable[[], Sequence[str]] | None = None,
              read: Callable[[], Sequence[bool]] | None = None, *,
              shardings: tuple[Sequence[Any], Sequence[Any]] | None = None,
              named: Any = ()) -> tuple[Any, bool]:
    """Where a program of these arguments runs, and whether its results are committed there.

    Args:
      args: flat arguments of any kind.
      function: name of the program, for errors.
      names: returns the names of the arguments, for errors; None where they have none.
      read: returns for each argument whether the program reads it; others do not count. None means
        that it reads all.
      shardings: those that `jit` was given for arguments and for results, or None.
      named: axes of the meshes that the program names.
    Returns: the placement, a `Spread` where it has several devices, and whether results are
      committed there.
    Raises: ValueError where two arguments are committed to different devices.
    """
    first: Any = None
    at = -1
    if shardings or named or binding.mesh_state.value is not None:
        found = _on_several(args, function, names, read, shardings, named)
        if found is not None:
            return found, True
    for i, x in enumerate(args):
        if type(x) is ArrayImpl and not x._committed:
            continue                             # most arrays are not committed
        sharding = commitment(x)
        if sharding is None or not (read is None or read()[i]):
            continue
        if type(sharding) is not binding.SingleDeviceSharding:
            from ..sharding.spread import spread  # with the first array on several devices

            return spread(args, function, names, read), True
        if first is None:
            first, at = sharding, i
        elif sharding is not first and placement_of(sharding) is not placement_of(first):
            refuse(args, function, names, at, i)
    if first is None:
        return default_placement(), False
    return placement_of(first), True


def _on_several(args: Sequence[Any], function: str, names: Any, read: Any, shardings: Any,
                named: Any) -> Any:
    """The placement on several devices, which follows from shardings of arguments, from those that
    `jit` was given, from meshes in the program, or from the mesh in context. None if nothing names
    several devices, or if arguments are committed to one device and only the context does.

    Raises: ValueError where the mesh in context has explicit axes and no devices, and no argument
      is on several.
    """
    from ..sharding.context import abstract_alone, context_mesh
    from ..sharding.mesh import mesh_of
    from ..sharding.spread import spread

    ins, outs = shardings or ((), ())
    _refuse_elsewhere(args, function, names, read, (*ins, *outs))
    if named and shardings is None and all([mesh.names == (ONE_DEVICE,) for mesh in named]):
        devices = [mesh.devices.flat[0] for mesh in map(mesh_of, named) if mesh is not None]
        there = [Promised(None, binding.single_device_sharding(device),
                          f"a sharding inside {function}") for device in devices]
        return placement([*args, *there], function, names,
                         None if read is None else lambda: [*read(), *[True] * len(there)])[0]
    if named or any([s is not None for s in (*ins, *outs)]):
        return spread(args, function, names, read, shardings=ins, outs=outs, named=tuple(named))
    there = [s for i, x in enumerate(args)
             if (s := commitment(x)) is not None and (read is None or read()[i])]
    if (mesh := abstract_alone()) is not None and all([
            type(s) is binding.SingleDeviceSharding for s in there]):
        where = f"its arguments are committed to {there[0]}" if there else "its arguments neither"
        raise ValueError(
            f"{function.strip('_')}: the mesh in context, {mesh}, has no devices, and {where}. "
            "Enter `with xfront.set_mesh(mesh)` with a mesh of devices, or give it arrays on one; "
            "jit(f).trace(x).lower(lowering_platforms=('tpu',)) makes a program without devices")
    return None if there or context_mesh() is None else spread(args, function, names, read)


def _refuse_elsewhere(args: Sequence[Any], function: str, names: Any, read: Any, shardings: Any
                      ) -> None:
    """Raise the ValueError which says that an argument, or a sharding that `jit` was given, is on
    other devices than those of the mesh in context."""
    from ..sharding.context import context_mesh

    if (mesh := context_mesh()) is None:
        return
    there = {*mesh.devices.flat}
    context = ("jit's context mesh with device ids "
               f"{[d.id for d in mesh.devices.flat]} on platform "
               f"{mesh.devices.flat[0].platform.upper()}")
    for i, x in enumerate(args):
        sharding = commitment(x)
        if sharding is not None and (read is None or read()[i]) and (
                {*sharding._device_assignment} != there):
            raise ValueError(f"Received incompatible devices for jitted computation. Got "
                             f"{_where(args, function, names, i)} and {context}. Move it there "
                             "with device_put, or leave `set_mesh`")
    for sharding in shardings:
        if has_devices(sharding) and {*sharding._device_assignment} != there:
            raise ValueError(f"Received incompatible devices for jitted computation. Got {context} "
                             f"and {sharding} of in_shardings or out_shardings on other devices")


def captured_on_several(captures: Sequence[Any]) -> Sequence[Any]:
    """The captures of a function if one of them is an array on several devices; else an empty
    sequence, because captures on one device do not decide where a program runs."""
    return captures if any([
        (sharding := commitment(x)) is not None
        and type(sharding) is not binding.SingleDeviceSharding for x in captures]) else ()


def refuse(args: Sequence[Any], function: str, names: Callable[[], Sequence[str]] | None, *places:
           int) -> None:
    """Raise the ValueError of two arguments that are committed to different devices."""
    listed = [_where(args, function, names, i) for i in places]
    raise ValueError(
        f"Received incompatible devices for jitted computation. Got {' and '.join(listed)}. Both "
        "are committed to their devices: move one to the devices of the other with device_put(x, "
        "y.sharding)")


def _where(args: Sequence[Any], function: str, names: Callable[[], Sequence[str]] | None, i: int
           ) -> str:
    """An argument with its shape and devices, for errors."""
    known = names() if names is not None else ()
    devices = commitment(args[i])._device_assignment
    name = known[i] if i < len(known) and known[i] else f"number {i}"
    what = getattr(args[i], "what", "") or f"argument {name} of {function.strip('_')}"
    shape = f" with shape {args[i].aval.str_short()} and" if args[i].aval is not None else ""
    return (f"{what}{shape} with device ids {[d.id for d in devices]} on platform "
            f"{devices[0].platform.upper()}")


__all__ = ["Placement", "Promised", "captured_on_several", "commitment", "default_placement",
           "placement", "placement_of"]
