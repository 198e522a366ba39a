"""Constraints: ops by which a program says how its values lie on a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.sharding import HOST, Sharding, Spec, explicit, replicated
from xfront_ir.sharding import in_memory as whole_in_memory

from .. import binding
from ..binding.partition_spec import PartitionSpec, axes_of
from ..running.placement import ONE_DEVICE
from ..running.programs import to_array
from ..sharding.context import context_mesh
from ..sharding.mesh import AbstractMesh, Mesh
from ..sharding.named import abstract_sharding, ir_sharding
from ..tracing.regions import manual_axes
from ..tracing.trace import emit, state, type_of
from ..tracing.tracer import Tracer
from ..values.keys import KeyArray
from .operands import is_array_like


def checked(x: Any) -> Any:
    """`x` as an array or key array. Raises: TypeError where it is not an array or a number."""
    if type(x) is not KeyArray and not is_array_like(x):
        raise TypeError(f"Cannot interpret value of type {type(x)} as an abstract array; it does "
                        "not have a dtype attribute")
    return to_array(x)


def constrained(values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """Values, each constrained to its sharding unless that is None, or moved to the host's memory
    where its sharding is there; `shardings` may be shorter.

    Raises: IndivisibleError where a dimension does not divide.
    """
    for x, s in zip(values, shardings, strict=False):
        if s is not None:
            s.shard_shape(type_of(x if type(x) is Tracer else checked(x))[0].shape)
    padded = [*shardings, *[None] * (len(values) - len(shardings))]
    return [x if s is None else placed(x if type(x) is Tracer else checked(x), s)
            if s.memory_kind == HOST else resharded(x, s) if s.mesh.explicit_axes
            else constraint(x, s)
            for x, s in zip(values, padded, strict=True)]


def constraint(x: Any, sharding: Any) -> Any:
    """One value, constrained to a sharding. Raises: the errors of `with_sharding_constraint`."""
    kind = type_of(x)[0]
    if type(sharding.mesh) is AbstractMesh and (mesh := context_mesh()) is not None and (
            mesh.abstract_mesh == sharding.mesh):
        sharding = sharding.update(mesh=mesh)
    if type(sharding.mesh) is AbstractMesh and type(x) is not Tracer and state.current is None and (
            type(held := getattr(x, "sharding", None)) is not binding.NamedSharding):
        raise TypeError(f"with_sharding_constraint: {sharding} has an abstract mesh, so outside of "
                        "a program the array must have a NamedSharding, whose devices it takes; "
                        f"got {held} for {kind}. Use xfront.device_put(x, NamedSharding(mesh, "
                        "spec)) with a Mesh of devices")
    if sharding.memory_kind is not None and sharding._internal_device_list is not None:
        own = sharding._device_assignment[0].default_memory().kind
        if sharding.memory_kind != own:
            raise NotImplementedError(f"with_sharding_constraint: the memory kind of {sharding} is "
                                      "not supported; a constraint moves nothing to another memory "
                                      f"than {own!r}: use xfront.device_put(x, sharding)")
    return _divided(x, kind, sharding)


def on_one_device(x: Any, sharding: Any) -> Any:
    """One traced value whose program runs on the device of a SingleDeviceSharding.

    Raises: NotImplementedError for another memory than the device's own.
    """
    device = sharding._device
    if sharding.memory_kind not in (None, device.default_memory().kind):
        raise NotImplementedError(f"with_sharding_constraint: the memory kind of {sharding} is not "
                                  "supported; use xfront.device_put(x, sharding)")
    mesh = Mesh(np.array([device], object), (ONE_DEVICE,))
    return emit(ops.sharding_constraint, x,
                sharding=Sharding(mesh.axes, replicated(type_of(x)[0].ndim)))


def _refuse_manual(sharding: Any) -> None:
    """Refuse to divide a value over axes of a `shard_map` inside it. Raises: ValueError."""
    for entry in sharding.spec:
        if both := {*axes_of(entry)}.intersection(manual_axes()):
            raise ValueError(f"{sharding} divides a value over {min(both)!r}, but inside shard_map "
                             "over this axis each device has values of its own")


def _divided(x: Any, kind: Any, sharding: Any) -> Any:
    _refuse_manual(sharding)
    asked = ir_sharding(sharding, kind.ndim)
    if asked.mesh.of_type("explicit") and asked.mesh.of_type("auto"):
        asked = _further(asked, kind)
    elif asked.mesh.of_type("explicit") and explicit(asked) != kind.in_memory(None).sharding:
        raise AssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of type "
            f"`Explicit`. The array sharding: {shown(kind)} did not match the sharding provided: "
            f"{sharding.spec}. Please use `xfront.sharding.reshard` to shard your input to the "
            "sharding you want.")
    return emit(ops.sharding_constraint, x, sharding=divisible(asked, kind.shape))


def _further(asked: Sharding, kind: Any) -> Sharding:
    """The sharding of a value which its type divides over explicit axes and `asked` over other axes
    of the same mesh. Raises: ValueError where `asked` names explicit axes."""
    own = asked.mesh.of_type("explicit")
    if named := [a for a in asked.spec.axes if a in own]:
        raise ValueError(
            "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto "
            f"axes of the mesh. Got {asked}, which refers to {named[0]!r}: use "
            "`xfront.sharding.reshard` to shard over explicit axes")
    spec = asked.spec
    dims = [(*d, *more) for d, more in zip(kind.dims, spec.dims, strict=True)]
    return Sharding(asked.mesh, Spec(dims, spec.open, spec.unreduced, spec.reduced))


def shown(kind: Any) -> Any:
    """The PartitionSpec of a type of the IR, for errors."""
    return PartitionSpec(*[None] * kind.ndim) if kind.sharding is None else abstract_sharding(
        kind.sharding).spec


def placed(x: Any, sharding: Any) -> Any:
    """One traced value placed as a sharding says: resharded over explicit axes, else constrained.

    Raises: IndivisibleError where a dimension does not divide.
    """
    kind = sharding.memory_kind
    if sharding.mesh.explicit_axes:
        x = resharded(x, sharding)
    else:
        sharding.shard_shape(x.shape)
        x = _divided(x, type_of(x)[0], sharding)
    if kind is None:
        return x
    concrete = type(sharding.mesh) is Mesh
    return in_memory(x, kind, sharding._device_assignment[0] if concrete else None)


def in_memory(x: Any, kind: str | None, device: Any = None) -> Any:
    """One traced value in a kind of memory of `device`; None means the devices' own.

    Raises: NotImplementedError for another memory than the devices' own and the host's.
    """
    if kind not in (None, HOST) and device is not None and kind != device.default_memory().kind:
        raise NotImplementedError(
            f"device_put: the memory {kind!r} was requested inside a traced program, but values of "
            f"programs can only be in the device's own memory or in {HOST!r}; move the arguments "
            "and results outside the program")
    held = type_of(x)[0]
    wanted = held.in_memory(HOST if kind == HOST else None)
    return x if wanted is held else emit(
        ops.reshard, x, sharding=wanted.sharding or whole_in_memory(held.ndim, None))


def resharded(x: Any, sharding: Any) -> Any:
    """One traced value, moved to a sharding, which becomes part of its type.

    Raises: IndivisibleError where a dimension does not divide.
    """
    kind = type_of(x)[0]
    sharding.shard_shape(kind.shape)
    _refuse_manual(sharding)
    asked = ir_sharding(sharding, kind.ndim)
    return emit(ops.reshard, x, sharding=Sharding(asked.mesh, asked.spec, kind.memory))


def divisible(sharding: Sharding, shape: tuple[int, ...]) -> Sharding:
    """The sharding, reduced for each dimension of `shape` to the first of its axes that divide the
    dimension evenly."""
    spec, mesh = sharding.spec, sharding.mesh
    dims = [next(d[:i] for i in range(len(d), -1, -1) if n % mesh.size_of(d[:i]) == 0)
            for n, d in zip(shape, spec.dims, strict=True)]
    return Sharding(mesh, Spec(dims, spec.open, spec.unreduced, spec.reduced),
                    sharding.memory_kind)


__all__ = ["checked", "constrained", "constraint", "in_memory", "on_one_device", "placed",
           "resharded"]
