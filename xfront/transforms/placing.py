"""The options of `jit` that name devices. They act like commitments of arguments and of results.

A jitted function that is called in a trace is part of another program: there shardings on several
devices become constraints, and a single device must be the default one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lowering import clients
from xfront_ir import ops
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.sharding import HOST, in_memory

from .. import binding
from ..base.trees import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from ..running.placement import ONE_DEVICE, Placement, Promised, placement, placement_of
from ..tracing.trace import Recorded
from ..values.commitment import commitment
from ..values.formats import Format, Layout
from .flat import Flat
from .structs import filled


def check_given(device: Any, backend: Any, in_shardings: Any, out_shardings: Any) -> None:
    """Refuse options that are no device, platform or placement, without making a client.

    Raises: TypeError for a wrong type; ValueError where `device` or `backend` is given together
      with the other one or with shardings.
    """
    if (device is not None or backend is not None) and (
            in_shardings is not None or out_shardings is not None):
        raise ValueError("jit: device or backend cannot be given together with in_shardings or "
                         "out_shardings, since both say where the program runs; give the shardings "
                         "alone")
    if device is not None and backend is not None:
        raise ValueError("can't specify both a device and a backend for jit, got "
                         f"device={device} and backend={backend!r}")
    if device is not None and not isinstance(device, binding.Device):
        raise TypeError(f"jit: device must be a Device or None, got {device!r} of type "
                        f"{type(device).__name__}")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"jit: backend must be the name of a platform or None, got {backend!r}")
    for name, shardings in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        for x in tree_flatten(shardings)[0]:
            if not isinstance(x, binding.Sharding) and not _is_spec(x):
                raise TypeError(f"jit: {name} must be a Sharding, a PartitionSpec, None or a tree "
                                f"of them, got {x!r} of type {type(x).__name__}")


def _is_spec(x: Any) -> bool:
    spec = sys.modules.get("xfront.binding.partition_spec")      # else there is none
    return spec is not None and isinstance(x, spec.PartitionSpec)


def _without_formats(name: str, shardings: Any) -> Any:
    """The tree with the sharding of each Format in its place. Raises: NotImplementedError for a
    layout."""
    def sharding(x: Any) -> Any:
        if not isinstance(x, Format):
            return x
        if isinstance(x.layout, Layout):
            raise NotImplementedError(
                f"jit: {name} has {x.layout}, but arguments and results of programs always have "
                "the platform's own layouts; give the sharding alone, or Format(Layout.AUTO, "
                "sharding)")
        return x.sharding

    return tree_map(sharding, shardings)


def _is_several(x: Any) -> bool:
    return x is not None and type(x) is not binding.SingleDeviceSharding


class Placing:
    """The devices that the options of one jitted function name."""

    __slots__ = ("backend", "device", "in_shardings", "out_shardings")

    def __init__(self, device: Any, backend: Any, in_shardings: Any, out_shardings: Any) -> None:
        in_shardings = _without_formats("in_shardings", in_shardings)
        out_shardings = _without_formats("out_shardings", out_shardings)
        check_given(device, backend, in_shardings, out_shardings)
        self.device, self.backend = device, backend
        self.in_shardings = tuple(in_shardings) if type(in_shardings) is list else in_shardings
        self.out_shardings = out_shardings

    def names_none(self) -> bool:
        """Whether all options are None or trees of None, so that arguments decide alone."""
        return self.device is None and self.backend is None and not tree_flatten(
            (self.in_shardings, self.out_shardings))[0]

    def on_named_device(self) -> Placement | None:
        """The one device that `device` or `backend` names, as a placement; None without both.

        Raises: RuntimeError where the platform cannot be used; ValueError where a mesh in context
          says where programs run.
        """
        if (self.device or self.backend) and binding.mesh_state.value is not None and (
                binding.mesh_state.value[0] is not None):
            raise ValueError("Mesh context manager should not be used with jit when backend or "
                             "device is also specified as an argument to jit: leave `set_mesh`, or "
                             "give in_shardings on a mesh of that device")
        if self.device is not None:
            return placement_of(binding.single_device_sharding(self.device))
        if self.backend is None:
            return None
        try:
            device = clients.client(self.backend).local_devices()[0]
        except RuntimeError as e:
            raise RuntimeError(f"Unknown backend {self.backend}: {e}") from None
        return placement_of(binding.single_device_sharding(device))

    def arguments(self, args: tuple, kwargs: dict) -> list[Any]:
        """A sharding or None for each leaf of the positional arguments, static ones left out.

        Raises: ValueError where the shardings are not a tree prefix of the arguments, where a mesh
          has no devices, or for keyword arguments; NotImplementedError for a memory kind that is
          not the device's default.
        """
        if self.in_shardings is not None and tree_flatten(kwargs)[0]:
            raise ValueError("jit: in_shardings only covers positional arguments, but got the "
                             f"keyword arguments {sorted(kwargs)}; pass them by position")
        return _per_leaf("in_shardings", self.in_shardings, args)

    def typed(self, kinds: list[Any], args: tuple, kwargs: dict) -> list[Any]:
        """Types and weakness of leaves, with the explicit axes of their `in_shardings`. NumPy
        arrays, numbers and ShapeDtypeStructs without a sharding are in the memory that they say.

        Raises: ValueError where an argument is in another memory than its sharding says.
        """
        if self.in_shardings is None:
            return kinds
        asked = self.arguments(args, kwargs)
        if any(s is not None and s.memory_kind == HOST for s in asked):
            kinds = [*[(t.in_memory(HOST), w) if s is not None and s.memory_kind == HOST
                       and getattr(x, "sharding", None) is None else (t, w)
                       for x, (t, w), s in zip(tree_flatten(args)[0], kinds, asked, strict=False)],
                     *kinds[len(asked):]]
        for (t, _), s in zip(kinds, asked, strict=False):
            if s is not None and s.memory_kind is not None and (s.memory_kind == HOST) != (
                    t.memory is not None):
                raise ValueError(
                    "Memory kinds passed to jit do not match the memory kind of the respective "
                    f"arg. Got jit memory kind: {s.memory_kind}, arg memory kind: "
                    f"{t.memory or 'device'} for arg type: {t}. Move the argument with "
                    "xfront.device_put first")
        return [*[(t.over(s._explicit(t.ndim)), w) if _is_several(s) and hasattr(s, "_explicit") and
                  s.mesh.explicit_axes else (t, w)
                  for (t, w), s in zip(kinds, asked, strict=False)],
                *kinds[len(asked):]]

    def moved(self, traced: Flat) -> Flat:
        """The traced call with its results in the memories that `out_shardings` says."""
        if self.out_shardings is None:
            return traced
        function = traced.function
        result = filled(traced.out_tree, function.return_types)
        b = PlacedBuilder(function.name)
        b.ops = list(function.ops)
        returns = []
        for v, s in zip(function.returns, self.results(result), strict=True):
            kind = v.type.memory if s is None or s.memory_kind is None else (
                HOST if s.memory_kind == HOST else None)
            wanted = v.type.in_memory(kind)
            returns.append(v if wanted is v.type else b.emit(
                ops.reshard, v, sharding=wanted.sharding or in_memory(wanted.ndim, None)))
        if tuple(returns) == function.returns:
            return traced
        made = function.replace(ops=tuple(b.ops), returns=tuple(returns))
        return Flat(Recorded(made, traced.captures, traced.trace), traced.out_tree)

    def results(self, result: Any) -> list[Any]:
        """A sharding or None for each leaf of the result. Raises: the errors of `arguments`."""
        return _per_leaf("out_shardings", self.out_shardings, result)

    def placed(self, out_tree: Any, structs: list[Any]) -> list[Any]:
        """The ShapeDtypeStructs of the results, with the shardings that `jit` got for them."""
        if self.out_shardings is None:
            return structs
        asked = self.results(tree_unflatten(out_tree, structs))
        return [x if s is None else x.update(sharding=s)
                for x, s in zip(structs, asked, strict=True)]

    def placement(self, function: str, operands: Sequence[Any], args: tuple, kwargs: dict,
                  result: Any, names: Callable[[], Sequence[str]],
                  read: Callable[[], Sequence[bool]] | None, named: Any) -> tuple[Any, bool]:
        """Where a program of these flat operands runs, and whether its results are committed.

        Raises: ValueError where the options and the commitments of operands name two devices.
        """
        whole = self.on_named_device()
        if whole is not None:
            return whole, True
        given, results = (_on_devices(found, operands) for found in (
            self.arguments(args, kwargs), self.results(result)))
        if any([mesh.names != (ONE_DEVICE,) for mesh in named]) or any(
                map(_is_several, (*given, *results))):
            return placement(operands, function, names, read, shardings=(given, results),
                             named=named)
        given += [None] * (len(operands) - len(given))
        promised = [x if s is None else Promised(None, s)
                    for x, s in zip(operands, given, strict=True)]
        outputs = [Promised(None, s, f"a result of {function}, by out_shardings,")
                   for s in results if s is not None]
        return placement(
            [*promised, *outputs], function, names,
            None if read is None else lambda: [*read(), *[True] * len(outputs)], named=named)

    def constraints(self, args: tuple, kwargs: dict, result: Any) -> tuple[list[Any], list[Any]]:
        """For each argument and each result of a call in a trace, the sharding on several devices
        that it is constrained to, or None.

        Raises: NotImplementedError for a single device that is not the default one.
        """
        home = placement_of(binding.default_sharding())
        given, results = self.arguments(args, kwargs), self.results(result)
        for place in [self.on_named_device(), *_places([*given, *results])]:
            if place is not None and place is not home:
                raise NotImplementedError(
                    f"jit: a function placed on {place.devices[0]} was called while another "
                    "function was being traced, whose program runs as a whole on one device; place "
                    "the outermost function instead, or its arguments with xfront.device_put")
        return ([s if _is_several(s) else None for s in given],
                [s if _is_several(s) else None for s in results])


def _places(shardings: Iterable[Any]) -> list[Placement]:
    return [placement_of(s) for s in shardings if s is not None and not _is_several(s)]


def _is_abstract(sharding: Any) -> bool:
    return type(sharding) is binding.NamedSharding and sharding.mesh._internal_device_list is None


def _on_devices(shardings: list[Any], operands: Sequence[Any]) -> list[Any]:
    """The shardings, those on an abstract mesh on the devices of the mesh in context, or else of
    the operands. Raises: ValueError where neither is on as many devices."""
    if not any(map(_is_abstract, shardings)):
        return shardings
    from ..sharding.context import on_devices  # with the first mesh

    devices = next((s._device_assignment for s in map(commitment, operands) if _is_several(s)), ())
    return [on_devices("jit", s, devices) if _is_abstract(s) else s for s in shardings]


def _per_leaf(name: str, shardings: Any, tree: Any) -> list[Any]:
    n = len(tree_flatten(tree)[0])
    if shardings is None or isinstance(shardings, binding.Sharding) or _is_spec(shardings):
        found = [shardings] * n
    else:
        try:
            found = broadcast_prefix(shardings, tree, is_leaf=lambda s: s is None)
        except ValueError as e:
            raise ValueError(f"jit: {name} must be a tree prefix of the values that it places: "
                             f"{e}") from None
    if any(map(_is_spec, found)):
        from ..sharding.context import as_sharding  # with the first spec

        found = [s if s is None else as_sharding("jit", s, name) for s in found]
    for s in found:
        if s is None:
            continue
        if type(s) is binding.NamedSharding and type(s.spec).UNCONSTRAINED in s.spec:
            raise ValueError(f"Unconstrained dims are not allowed when passed to {name}: {s}; "
                             "write None or names of axes, or None for the whole sharding to let "
                             "the compiler choose")
        kind = s.memory_kind
        if kind in (None, HOST) or _is_abstract(s):
            continue
        if kind != s._device_assignment[0].default_memory().kind:
            raise NotImplementedError(f"jit: {name} has {s}, but arguments and results of programs "
                                      f"can only be in the device's own memory or in {HOST!r}")
    return found


__all__ = ["Placing"]
