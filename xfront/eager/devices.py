"""Devices, and functions that move arrays to and from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from lowering import clients
from lowering import devices as _known
from lowering import executable as _executable
from lowering.clients import default_backend as _default_backend
from xfront_ir.sharding import HOST

from .. import binding
from ..base.trees import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from ..binding.memory_space import MemorySpace
from ..binding.tracebacks import front_door
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..values.arguments import only
from ..values.formats import Format, sharding_in
from ..values.keys import KeyArray
from .operands import is_array_like

T = TypeVar("T")

default_backend = front_door(_default_backend)
device_count = front_door(_known.device_count)
local_device_count = front_door(_known.local_device_count)
if TYPE_CHECKING:
    from ..binding import Device

    def devices(backend: str | None = None) -> list[Device]: ...
    def local_devices(process_index: int | None = None, backend: str | None = None
                      ) -> list[Device]: ...
else:
    devices, local_devices = front_door(_known.devices), front_door(_known.local_devices)
process_count, process_index = front_door(_known.process_count), front_door(_known.process_index)
host_count, host_id = process_count, process_index


def process_indices(backend: str | None = None) -> list[int]:
    """The indices of the processes of this program in ascending order."""
    return list(range(process_count(backend)))


host_ids = process_indices


def print_environment_info(return_string: bool = False) -> str | None:
    """Print (or return) versions and devices, for reports of problems."""
    import platform

    info = "\n".join([f"xfront devices: {[str(d) for d in devices()]}", f"jaxlib: "
                      f"{binding.jaxlib_version()}", f"numpy: {np.__version__}",
                      f"python: {platform.python_version()}", f"system: {platform.platform()}"])
    if return_string:
        return info
    print(info)
    return None


@front_door
def device_put(x: T, device: Any = None, *, src: Any = None, donate: Any = False,
               may_alias: Any = None) -> T:
    """The tree `x` with its arrays on a device.

    Args:
      x: tree of arrays and numbers.
      device: a device, a Sharding, a PartitionSpec on the mesh in context, a Format of the
        platform's own layout, a `memory.Space`, None (the default device, uncommitted), or a tree
        prefix of `x` of these. Inside a program a sharding on several devices is a constraint
        (`lax.with_sharding_constraint`), and of a single device only its memory counts.
      src: None only; the arrays themselves say where they are.
      donate: a permission to reuse the memory of `x`, which changes nothing; a bool or a tree
        prefix of `x` of bools.
      may_alias: whether the result may share memory with `x`: False copies an array that would be
        returned as it is; None and True do not. May be a tree prefix of `x`, too.
    Returns: tree of arrays; committed to the device where one is given.
    Raises: TypeError where a leaf is not an array; ValueError where `device` is not one of these,
      for both `donate` and `may_alias`, and where the devices belong to another process;
      AssertionError where processes give different values for devices of all of them; RuntimeError
      where an array was deleted, or for a spec without a mesh in context; NotImplementedError for
      `src`, for a layout that is not the platform's, and inside a program for another memory than
      the devices' own and "pinned_host".
    """
    only("device_put", None, "the placement of arrays is read from the arrays themselves", src=src)
    leaves, tree = tree_flatten(x)
    given, aliased = [_for_leaves(v, x, leaves) for v in (donate, may_alias)]
    if any([d and a for d, a in zip(given, aliased, strict=True)]):
        raise ValueError("device_put: may_alias and donate cannot be True at the same time")
    places = broadcast_prefix(device, x, is_leaf=lambda d: d is None) if isinstance(
        device, (list, tuple, dict)) else [device] * len(leaves)
    if clients.processes() is not None:
        _agree(leaves, places)
    made = [_put(v, d) for v, d in zip(leaves, places, strict=True)]
    made = [_own(y, v) if a is False else y
            for y, v, a in zip(made, leaves, aliased, strict=True)]
    return tree_unflatten(tree, made)


def _for_leaves(entries: Any, x: Any, leaves: Sequence[Any]) -> list[Any]:
    """The entry of `entries` for each leaf of `x`. Raises: ValueError where it is no tree prefix.
    """
    if entries is None or isinstance(entries, bool):
        return [entries] * len(leaves)
    return broadcast_prefix(entries, x, is_leaf=lambda d: d is None)


def _agree(leaves: Sequence[Any], places: Sequence[Any]) -> None:
    """Refuse a value that differs between the processes whose devices get it."""
    here, by_processes = clients.processes(), {}
    for x, place in zip(leaves, places, strict=True):
        if not isinstance(place, binding.Sharding) or place.is_fully_addressable or (
                isinstance(x, (Tracer, binding.ArrayImpl)) and not (
                    type(x) is binding.ArrayImpl and x.is_fully_addressable)):
            continue
        value = np.ascontiguousarray(binding.host_array(x))
        holders = tuple(sorted({d.process_index for d in place.device_set}))
        digest = by_processes.setdefault(holders, hashlib.sha256())
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(value.view(np.uint8).data)
    for holders, digest in by_processes.items():
        if here is not None and (others := here.differing(digest.hexdigest(), holders)):
            raise AssertionError(
                f"device_put: the processes {list(holders)} must pass the same value, but the "
                f"value of {others} differs from that of {holders[0]}; use "
                "make_array_from_process_local_data for a different part of the array in each "
                "process")


def _own(made: Any, given: Any) -> Any:
    """`made`, copied where it may share memory with `given`."""
    if type(made) is KeyArray:
        return KeyArray(made._ir, _own(made._base, given._base))
    if isinstance(made, binding.ArrayImpl) and isinstance(given, binding.ArrayImpl) \
            and made.sharding == given.sharding:
        return binding.copy_array(made)
    return made


def _put(x: Any, device: Any) -> Any:
    if type(device) is Format:
        typed = x if hasattr(x, "shape") and hasattr(x, "dtype") else binding.host_array(x)
        device = sharding_in("device_put", device, typed.shape, typed.dtype)
    if type(device).__name__ == "PartitionSpec":
        from ..sharding.context import as_sharding  # with the first spec

        device = as_sharding("device_put", device, "device")
    if type(x) is Tracer:
        if device is None:
            return x
        from .constraint import in_memory, placed  # with the first placement inside

        if type(device) is MemorySpace:
            return in_memory(x, _kind(device))
        place = binding.sharding_of(device)        # raises where `device` is not a place
        if type(place) is binding.SingleDeviceSharding:
            return in_memory(x, place.memory_kind, place._device)
        return placed(x, place)
    if type(x) is KeyArray:
        return KeyArray(x._ir, _put(x._base, device))
    if isinstance(x, binding.ArrayImpl) and device is None:
        return x
    if type(device) is MemorySpace:
        held: Any = x.sharding if isinstance(x, binding.ArrayImpl) else binding.default_sharding()
        own = held._device_assignment[0].default_memory().kind
        device = held.with_memory_kind(_kind(device) or own)
    if not is_array_like(x):
        raise TypeError(f"Cannot interpret value of type {type(x)} as an abstract array; it does "
                        "not have a dtype attribute")
    if isinstance(device, binding.NamedSharding) and len(device.spec) > np.ndim(x):
        device.shard_shape(np.shape(x))          # raises: the spec has too many entries
    weak = type(x) in (int, float, complex)
    made = binding.put_explicitly(x, device, weak)
    if state.current is not None and state.current.staging:
        return state.current.lift(made)
    return made


def _kind(space: MemorySpace) -> str | None:
    """The kind of memory that a space means, None for the devices' own. Raises: ValueError."""
    if space is MemorySpace.Any:
        raise ValueError("device_put: memory.Space.Any is no place to move an array to; name "
                         "memory.Space.Device or memory.Space.Host")
    return HOST if space is MemorySpace.Host else None


@front_door
def device_get(x: Any) -> Any:
    """The tree `x` with NumPy arrays in place of arrays; other leaves stay, traced ones too."""
    def fetch(v: Any) -> Any:
        if type(v) in (KeyArray, Tracer):
            return v
        return np.asarray(v) if isinstance(v, binding.Array) else v

    with binding.asked_for("explicit_device_get"):
        return tree_map(fetch, x)


@front_door
def block_until_ready(x: T) -> T:
    """Wait until every array in the tree has been computed; return the tree."""
    for v in tree_flatten(x)[0]:
        wait = getattr(v, "block_until_ready", None)
        if wait is not None:
            wait()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start to copy the arrays of the tree to the host; return the tree."""
    for v in tree_flatten(x)[0]:
        if hasattr(v, "copy_to_host_async"):
            v.copy_to_host_async()
    return x


def effects_barrier() -> None:
    """Wait until all callbacks of the programs started so far have run."""
    _executable.effects_barrier()


def live_arrays(platform: str | None = None) -> list[binding.Array]:
    """The arrays of this process that have not been deleted.

    Args:
      platform: name of the platform whose arrays are listed; None means the default one.
    Raises: RuntimeError where the platform is unknown or cannot be used.
    """
    found = binding.client() if platform is None else clients.client(platform)
    return list(found.live_arrays())


def clear_caches() -> None:
    """Drop all compiled programs and traces of this process; programs on disk stay."""
    from ..running import programs

    programs.clear()


__all__ = ["block_until_ready", "clear_caches", "copy_to_host_async", "default_backend",
           "device_count", "device_get", "device_put", "devices", "effects_barrier", "live_arrays",
           "host_count", "host_id", "host_ids", "local_device_count", "local_devices",
           "print_environment_info", "process_count", "process_index", "process_indices"]
