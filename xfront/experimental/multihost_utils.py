"""Functions that send values between processes, or wait until all processes get to a point.

Every process of the program must call each function, in the same order. With a single process the
results are as if all others agreed.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from lowering import clients

from .. import binding
from ..base.on_demand import shown as _shown
from ..base.trees import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from ..binding.partition_spec import P
from ..binding.tracebacks import front_door
from ..eager.devices import devices, process_count, process_index
from ..sharding.assembly import (
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from ..sharding.mesh import Mesh
from ..sharding.named import NamedSharding
from ..tracing.tracer import Tracer
from ..values.keys import KeyArray


@front_door
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, in every process.

    Args:
      in_tree: tree of NumPy arrays, numbers and arrays, of the same shapes in every process, or of
        arrays that lie on devices of several processes.
      tiled: whether values are concatenated along the first dimension; by default they are stacked
        along a new first one. For an array of several processes, `tiled` is needed, and the result
        is its whole value.
    Returns: tree of NumPy arrays; scalars are stacked along a new dimension in either case.
    Raises: ValueError for an array of several processes without `tiled`; TypeError for a key or a
      traced array.

    >>> multihost_utils.process_allgather(np.arange(3))
    array([[0, 1, 2]], dtype=int32)
    """
    return tree_map(lambda x: _gathered(x, tiled), in_tree)


def _gathered(x: Any, tiled: bool) -> np.ndarray:
    if isinstance(x, binding.ArrayImpl) and not x.is_fully_addressable:
        if not tiled:
            raise ValueError(
                "process_allgather: Gathering global non-fully-addressable arrays only supports "
                "tiled=True")
        return np.asarray(x if x.is_fully_replicated else binding.put(
            x, NamedSharding(_mesh_of(x.sharding), P())))
    value = _local("process_allgather", x)
    if process_count() == 1:
        return value[None] if not tiled or value.ndim == 0 else value
    stacked = value[None] if not tiled or value.ndim == 0 else value
    spread = make_array_from_process_local_data(NamedSharding(_of_processes(), P("processes")),
                                                _words(stacked, 1))
    everywhere = np.asarray(binding.put(spread, NamedSharding(_of_processes(), P())))
    return _value(everywhere, value.dtype, (-1, *stacked.shape[1:]) if stacked.size else
                  (process_count() * stacked.shape[0], *stacked.shape[1:]))


def _local(function: str, x: Any) -> np.ndarray:
    """A value of this process on the host. Raises: TypeError for keys and tracers."""
    if type(x) is KeyArray:
        raise TypeError(f"{function}: a random key has no NumPy value; convert it with "
                        "random.key_data")
    if type(x) is Tracer:
        raise TypeError(f"{function}: processes can only exchange known values, but {x!r} is "
                        "traced")
    return np.asarray(x) if isinstance(x, binding.ArrayImpl) else binding.host_array(x)


def _words(x: np.ndarray, keep: int) -> np.ndarray:
    """An array as bytes after its first `keep` dimensions; bytes are moved and added exactly."""
    flat = np.ascontiguousarray(x).reshape(*x.shape[:keep], -1)
    return flat.view(np.uint8)


def _value(words: np.ndarray, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    return np.ascontiguousarray(words).view(dtype).reshape(shape)


def _of_processes() -> Mesh:
    """A mesh with one row of devices for each process."""
    rows: dict[int, list[Any]] = {}
    for d in devices():
        rows.setdefault(d.process_index, []).append(d)
    least = min(map(len, rows.values()))
    return Mesh(np.array([rows[i][:least] for i in sorted(rows)], object), ("processes", "local"))


def _mesh_of(sharding: Any) -> Mesh:
    if type(sharding) is NamedSharding:
        return sharding.mesh
    return Mesh(np.array(sharding._device_assignment, object), ("devices",))


@front_door
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process, in every process.

    Args:
      in_tree: tree of NumPy arrays, numbers and arrays, of the same shapes and dtypes in every
        process.
      is_source: whether the values of this process are taken; None takes those of process 0.
    Returns: tree of NumPy arrays.
    Raises: TypeError for a key or a traced array.

    >>> multihost_utils.broadcast_one_to_all({"step": 3})
    {'step': array(3, dtype=int32)}
    """
    source = process_index() == 0 if is_source is None else is_source
    return tree_map(lambda x: _from_source(_local("broadcast_one_to_all", x), source), in_tree)


def _from_source(x: np.ndarray, source: bool) -> np.ndarray:
    if process_count() == 1:
        return x
    words = _words(x, 0)[None]
    spread = make_array_from_process_local_data(
        NamedSharding(_of_processes(), P("processes")),
        words if source else np.zeros_like(words))
    total = spread.sum(axis=0, dtype=np.uint8)   # all but one of the terms are zero
    return _value(np.asarray(binding.put(total, NamedSharding(_of_processes(), P()))), x.dtype,
                  x.shape)


@front_door
def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values; NaNs are equal.

    Args:
      in_tree: tree of NumPy arrays, numbers and arrays.
      fail_message: beginning of the error's message.
    Raises: AssertionError where values differ.

    >>> multihost_utils.assert_equal({"step": 3})
    """
    if process_count() == 1:
        return
    gathered = process_allgather(tree_map(lambda x: _local("assert_equal", x)[None], in_tree),
                                 tiled=True)
    for rows in tree_flatten(gathered)[0]:
        first = np.broadcast_to(rows[:1], rows.shape)
        if not np.array_equal(first, rows, equal_nan=rows.dtype.kind in "fc"):
            expected = tree_map(lambda r: r[0], gathered)
            raise AssertionError(f"{fail_message}. Expected: {expected}; got: {in_tree}.")


@front_door
def sync_global_devices(name: str) -> None:
    """Wait until all processes call this function.

    Args:
      name: a text that must be the same in every process.
    Raises: AssertionError where a process gives another name.

    >>> multihost_utils.sync_global_devices("after the first step")
    """
    number = np.uint32(zlib.crc32(name.encode()))
    assert_equal(number, f"sync_global_devices name mismatch ({name!r})")


@front_door
def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays of several processes, made of the parts that each process has.

    Args:
      local_inputs: tree of NumPy arrays and arrays. Along a dimension that is divided between
        processes they hold the part of this process; along others they hold all of it, the same in
        every process.
      global_mesh: a Mesh of devices of all processes.
      pspecs: a PartitionSpec, or a tree prefix of `local_inputs` of PartitionSpecs.
    Returns: tree of arrays on the mesh; arrays of several processes stay as they are.
    Raises: ValueError where a dimension does not divide, or `pspecs` is not a tree prefix.

    >>> mesh = xfront.make_mesh((1,), ("rows",))
    >>> multihost_utils.host_local_array_to_global_array(np.arange(3), mesh, xfront.P("rows"))
    Array([0, 1, 2], dtype=int32)
    """
    return _by_spec(_globally, local_inputs, global_mesh, pspecs)


def _globally(x: Any, mesh: Mesh, spec: Any) -> Any:
    if isinstance(x, binding.ArrayImpl) and not x.is_fully_addressable:
        return x
    return make_array_from_process_local_data(
        NamedSharding(mesh, spec), _local("host_local_array_to_global_array", x))


@front_door
def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The parts of arrays of several processes that this process holds.

    It is the inverse of `host_local_array_to_global_array`.

    Args:
      global_inputs: tree of arrays.
      global_mesh, pspecs: as for `host_local_array_to_global_array`.
    Returns: tree of arrays on the devices of this process; arrays of one process stay as they are.

    >>> mesh = xfront.make_mesh((1,), ("rows",))
    >>> multihost_utils.global_array_to_host_local_array(jnp.arange(3), mesh, xfront.P("rows"))
    Array([0, 1, 2], dtype=int32)
    """
    return _by_spec(_locally, global_inputs, global_mesh, pspecs)


def _locally(x: Any, mesh: Mesh, spec: Any) -> Any:
    if not isinstance(x, binding.ArrayImpl):
        return binding.put(_local("global_array_to_host_local_array", x))
    if x.is_fully_addressable:
        return x
    moved = binding.put(x, NamedSharding(mesh, spec))
    shards = moved.addressable_shards
    lengths = []
    for k, n in enumerate(x.shape):
        spans = {s.index[k].indices(n)[:2] for s in shards}
        lengths.append(sum(stop - start for start, stop in spans))
    return make_array_from_single_device_arrays(
        lengths, NamedSharding(mesh.local_mesh, spec), [s.data for s in shards])


def _by_spec(function: Any, tree: Any, mesh: Mesh, pspecs: Any) -> Any:
    leaves, structure = tree_flatten(tree)
    specs = broadcast_prefix(pspecs, tree, is_leaf=lambda s: isinstance(s, P))
    return tree_unflatten(structure, [function(x, mesh, s)
                                      for x, s in zip(leaves, specs, strict=True)])


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes are to save their state after this step, because a machine of the
    program is about to be taken away.

    The answer is the same in every process; it is False where no processes were joined.

    Args:
      step_id: number of the step, the same in every process.
    Raises: RuntimeError where processes were joined with `jax_enable_preemption_service` off.
    """
    here = clients.processes()
    if here is None:
        return False
    if here.preemption is None:
        raise RuntimeError("reached_preemption_sync_point: no service watches for preemption; set "
                           "jax_enable_preemption_service before distributed.initialize")
    return here.preemption.reached_sync_point(step_id)


class ProcessFailureError(RuntimeError):
    """Processes ended inside `live_devices`; `failed_devices` are their devices.

    >>> multihost_utils.ProcessFailureError({"cpu:1"}).failed_devices
    {'cpu:1'}
    """

    def __init__(self, failed_devices: set[Any]) -> None:
        super().__init__(f"processes ended that drove the devices {failed_devices}")
        self.failed_devices = failed_devices


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """A context with the list of those devices whose processes are alive.

    It is for programs that go on when a process ends (`jax_enable_recoverability`). All live
    processes must enter and leave the block together.

    Args:
      devices: the devices to choose from.
    Raises: RuntimeError where no processes were joined, or the option is off; at the end of the
      block, ProcessFailureError where one of these processes has ended.
    """
    here = clients.processes()
    if here is None:
        raise RuntimeError("Distributed JAX not initialized: live_devices needs a program of "
                           "several processes, started with distributed.initialize")
    if not here.recoverable:
        raise RuntimeError("live_devices: set jax_enable_recoverability before "
                           "distributed.initialize; without it processes end when another one does")
    asked = sorted({d.process_index for d in devices})
    before = here.client.get_live_nodes(asked)
    chosen = [d for d in devices if d.process_index in before]
    failure: Exception | None = None
    try:
        yield chosen
    except Exception as e:
        failure = e
    after = here.client.get_live_nodes(sorted(before))
    gone = {d for d in chosen if before[d.process_index] != after.get(d.process_index)}
    if gone:
        raise ProcessFailureError(gone) from failure
    if failure is not None:
        raise failure


__all__ = ["P", "ProcessFailureError", "assert_equal", "broadcast_one_to_all",
           "global_array_to_host_local_array", "host_local_array_to_global_array", "live_devices",
           "process_allgather", "reached_preemption_sync_point", "sync_global_devices"]
__dir__ = _shown(globals())
