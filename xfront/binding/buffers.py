"""Moves arrays to and from NumPy and between devices."""
# hot: benchmarks/eager.py

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes

import numpy as np
from xfront_ir.sharding import HOST

from .abstract import AbstractArray
from .beside import without_jax
from .classes import ArrayImpl, Device, NamedSharding, Sharding, SingleDeviceSharding, cpp
from .default_client import client, default_sharding
from .single_device import single_device_sharding
from .states import asked_for, guarded, guards, x64_state

_READS_ALL = hasattr(ArrayImpl, "_to_np_array_did_copy")  # reads every dtype and assembles shards
_ZERO_COPY = cpp.HostBufferSemantics.ZERO_COPY

_64_TO_32 = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}

WEAK_SCALARS = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}
_SCALAR_DTYPES = {
    False: {kind: np.dtype(name) for kind, name in WEAK_SCALARS.items()},
    True: {bool: np.dtype(bool), int: np.dtype("int64"), float: np.dtype("float64"),
           complex: np.dtype("complex128")},
}  # fmt: skip
_C_NAMES = {  # C's names of a width have dtype objects of their own, and long double is not held
    np.dtype(char).num: np.dtype(name)
    for char, name in zip("qQgG", ("int64", "uint64", "float64", "complex128"), strict=True)
}
_EXTENDED = frozenset(
    np.dtype(value)
    for name, value in vars(ml_dtypes).items()
    if isinstance(value, type) and issubclass(value, np.generic) and name not in ("finfo", "iinfo")
)


moved_between_processes: list[Callable[[ArrayImpl, Any], ArrayImpl]] = []
"""The function that moves an array of several processes to another sharding of the same devices.
Where processes join, it is set to that of eager/moving.py, which compiles a program for it."""


def canonical_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of arrays for `dtype`: 64-bit dtypes become 32-bit unless 64-bit mode is on."""
    return dtype if x64_state.value else _64_TO_32.get(dtype, dtype)


def scalar_dtype(kind: type) -> np.dtype:
    """The dtype of a Python scalar of the class `bool`, `int`, `float` or `complex`."""
    return _SCALAR_DTYPES[x64_state.value][kind]


def refuse_mask(x: Any) -> None:
    """Raises: ValueError for a masked array of NumPy, which would lose its mask."""
    if "numpy.ma" in sys.modules and isinstance(x, np.ma.MaskedArray):
        raise ValueError("masked arrays of NumPy would lose their mask; give x.filled(value), or "
                         "x.data and the mask as two arrays")


def host_array(x: Any) -> np.ndarray:
    """A NumPy array of a dtype and byte order that devices hold, from a NumPy array, a scalar or
    a nested list.

    Raises: TypeError for text, objects and dates; OverflowError for a Python integer that does not
      fit; ValueError for an array with a mask.
    """
    kind = type(x)
    if kind in WEAK_SCALARS:
        return np.asarray(x, dtype=_SCALAR_DTYPES[x64_state.value][kind])
    if kind is not np.ndarray:
        refuse_mask(x)
    x = np.asarray(x)
    dtype: Any = x.dtype
    if not (dtype.kind in "biufc" or dtype in _EXTENDED):
        raise TypeError(f"{dtype} is not a dtype that arrays can have; use a bool, integer, float "
                        "or complex dtype")
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    dtype = _C_NAMES.get(dtype.num, dtype)
    return x.astype(canonical_dtype(dtype), copy=False)


def put(x: Any, device: Any = None, weak: bool = False, copy: bool = True,
        committed: bool = True) -> ArrayImpl:
    """An array from a NumPy array, scalar, nested list or array.

    Args:
      x: the value, in any byte order; 64-bit dtypes become 32-bit unless 64-bit mode is on.
      device: a device or a sharding; None means the default device, uncommitted.
      weak: whether the array is weakly typed.
      copy: whether NumPy memory is copied; with False the array may share it, and it must not be
        written to again.
      committed: whether the array is committed to `device`.
    Raises: RuntimeError for a deleted array; TypeError for dtypes that devices do not hold;
      OverflowError for a Python integer that does not fit its dtype.
    """
    if isinstance(x, ArrayImpl):
        if device is None:
            return x
        return put_sharded(x, sharding_of(device), x.aval.weak_type, committed)
    x = host_array(x)
    if device is None:
        sharding, committed = default_sharding(), False
    else:
        client()
        sharding = sharding_of(device)
        if type(sharding) is not SingleDeviceSharding or (
                moved_between_processes and not sharding.has_addressable_devices):
            return put_sharded(x, sharding, weak, committed)
    aval = AbstractArray(x.shape, x.dtype, weak)
    if sharding._memory_kind == HOST:
        aval = aval.placed(sharding)
    return cpp.batched_device_put(
        aval, sharding, [x], [sharding._device], committed, copy, _ZERO_COPY, True
    )


def put_explicitly(x: Any, device: Any, weak: bool = False) -> ArrayImpl:
    """As `put`, for a transfer that the user asked for: transfer guards count it as explicit."""
    if not guarded:
        return put(x, device, weak)
    with asked_for("explicit_device_put"):
        return put(x, device, weak)


def put_computed(x: np.ndarray, device: Any) -> ArrayImpl:
    """As `put`, for numbers that no user gave but a function made: no guard counts it."""
    if not guarded:
        return put(x, device)
    with asked_for("host_to_device", guards.TransferGuardLevel.ALLOW):
        return put(x, device)


def put_copy(aval: AbstractArray, sharding: Any, value: np.ndarray, committed: bool) -> ArrayImpl:
    """A copy of a NumPy array of type `aval` on one device."""
    return cpp.batched_device_put(
        aval, sharding, [value], [sharding._device], committed, True, _ZERO_COPY, True
    )


def sharding_of(device: Any) -> Any:
    """The sharding of arrays on a device, or the sharding itself. Raises: ValueError for any other
    value."""
    if isinstance(device, Sharding):
        return device
    if isinstance(device, ArrayImpl):
        return device._sharding
    if isinstance(device, Device):
        return single_device_sharding(device)
    raise ValueError("expected a device or a sharding, such as xfront.devices()[0] or x.sharding, "
                     f"but got {device!r}")


def put_sharded(x: Any, sharding: Any, weak: bool = False, committed: bool = True) -> ArrayImpl:
    """An array placed as a sharding says, from a NumPy array or an array on any devices."""
    fresh = False
    if isinstance(x, ArrayImpl):
        if x._sharding == sharding and not x.is_deleted():
            return x if x._committed == committed else rewrap(x, committed=committed)
        if not sharding.has_addressable_devices:
            raise _not_ours(sharding)
        if x._sharding.num_devices == 1 == sharding.num_devices:
            return _move(x, sharding, committed)
        if not (x._sharding.is_fully_addressable or x._sharding.is_fully_replicated):
            return moved_between_processes[0](x, sharding)
        fresh = x._npy_value is None and not x.is_deleted() and not (
            x._sharding.is_fully_replicated or holds_terms(x._sharding))
        x = _assembled(x) if fresh else to_numpy(x)
    x = np.asarray(x)
    if not sharding.has_addressable_devices:
        raise _not_ours(sharding)
    if holds_terms(sharding):
        whole, firsts = sharding._first_terms()
        places = whole.addressable_devices_indices_map(x.shape)
        return put_parts(x.shape, sharding, {
            device: x[index] if device in firsts else np.zeros_like(x[index])
            for device, index in places.items()}, weak, committed)
    places = sharding.addressable_devices_indices_map(x.shape)
    parts = {device: x[(*index, ...)] for device, index in places.items()}
    return put_parts(x.shape, sharding, parts, weak, committed, fresh)


def holds_terms(sharding: Any) -> bool:
    """Whether arrays with this sharding are unreduced: each device holds a term of a sum."""
    return type(sharding) is NamedSharding and bool(sharding.spec.unreduced)


def _not_ours(sharding: Any) -> ValueError:
    return ValueError(f"this process drives none of the devices of {sharding}; only the processes "
                      "that drive them can put arrays there")


def put_parts(shape: tuple[int, ...], sharding: Any, parts: dict[Any, np.ndarray],
              weak: bool = False, committed: bool = True, fresh: bool = False) -> ArrayImpl:
    """An array of `shape` from copies of the part for each device of this process. Devices whose
    parts are the same memory share a copy if they can read the host's memory. Contiguous parts in
    memory that nothing else will use (`fresh`) are not copied.
    """
    starts = [(x.__array_interface__["data"][0], x.strides) for x in parts.values()]
    distinct = dict(zip(starts, parts.values(), strict=True))
    if not (fresh and all([x.flags.c_contiguous for x in distinct.values()])):
        distinct = dict(zip(distinct, _aligned_copies(list(distinct.values())), strict=True))
    copies = distinct
    shared = {device: copies[start] for device, start in zip(parts, starts, strict=True)}
    client()                                     # jaxlib is primed before its first array
    aval = AbstractArray(shape, next(iter(shared.values())).dtype, weak).placed(sharding)
    return cpp.batched_device_put(
        aval, sharding, list(shared.values()), list(shared), committed, False, _ZERO_COPY, True
    )


def _aligned_copies(parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Copies in aligned memory."""
    copies = _aligned([(x.shape, x.dtype) for x in parts])
    _copy(parts, copies)
    return copies


def _aligned(kinds: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """New arrays of these shapes and dtypes in memory that the CPU's client uses without a copy. It
    is one piece, with large pages where the system has them, and is not freed and allocated at each
    call."""
    sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in kinds]
    raw = np.empty(sum([-(-size // 64) * 64 for size in sizes]) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    made = []
    for (shape, dtype), size in zip(kinds, sizes, strict=True):
        made.append(raw[start : start + size].view(dtype).reshape(shape))
        start += -(-size // 64) * 64
    return made


def _assembled(x: ArrayImpl) -> np.ndarray:
    """The value of an array on several devices of this process, in new aligned memory."""
    wait(x)
    [value] = _aligned([(x.aval.shape, x.aval.dtype)])
    _copy(*_places(x, value))
    return value


def _places(x: ArrayImpl, value: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The distinct parts of an array on several devices, and for each its place in `value`."""
    indices = x._sharding.addressable_devices_indices_map(x.aval.shape)
    found: dict[Any, tuple[Any, Any]] = {}         # of several copies, the first counts
    for index, shard in zip(indices.values(), device_arrays(x), strict=True):
        found.setdefault(tuple([(i.start, i.stop) for i in index]), (shard, index))
    return ([to_numpy(shard) for shard, _ in found.values()],
            [value[(*index, ...)] for _, index in found.values()])


SHARED_WORK = 1 << 22
"""From so many bytes on, two threads copy: one alone does not use all that the memory gives."""


def _copy(parts: Sequence[np.ndarray], copies: Sequence[np.ndarray]) -> None:
    """Copy each of `parts` to the array of `copies` at its place."""
    def copy(where: slice) -> None:
        for x, made in zip(parts[where], copies[where], strict=True):
            np.copyto(made, x)

    if len(parts) == 1 or sum([x.nbytes for x in parts]) < SHARED_WORK:
        copy(slice(None))
        return
    other = threading.Thread(target=copy, args=(slice(1, None, 2),))
    other.start()
    copy(slice(None, None, 2))
    other.join()


def _move(x: ArrayImpl, sharding: Any, committed: bool, copy: bool = False) -> ArrayImpl:
    if x.is_deleted():  # C++ ends the process in jaxlib 0.10
        raise deleted_error(x)
    modes = cpp.ArrayCopySemantics
    mode = modes.ALWAYS_COPY if copy else modes.REUSE_INPUT
    devices = sharding._internal_device_list
    [moved] = cpp.batched_copy_array_to_devices_with_sharding([x], [devices], [sharding], [mode])
    return result_handler(x.aval, sharding, committed)(moved)


def copy_array(x: ArrayImpl) -> ArrayImpl:
    """A copy of an array in memory of its own, on the same devices."""
    if not guarded:
        return _move(x, x._sharding, x._committed, copy=True)
    with asked_for("device_to_device", guards.TransferGuardLevel.ALLOW):  # it leaves no device
        return _move(x, x._sharding, x._committed, copy=True)


def deleted_error(x: ArrayImpl) -> RuntimeError:
    """The error for the use of a deleted or donated array."""
    return RuntimeError(
        f"Array has been deleted, or donated to a computation; it was {x.aval.str_short()}"
    )


def to_numpy(x: ArrayImpl) -> np.ndarray:
    """The value on the host as a read-only NumPy array, after waiting for it.

    On CPU it is no copy; on other platforms the copy is kept with the array. Raises: RuntimeError
    where the array was deleted or lies partly on devices of other processes.
    """
    kept = x._npy_value
    if kept is not None:
        return kept
    try:
        return np.asarray(memoryview(x))
    except (BufferError, RuntimeError, ValueError, NotImplementedError):
        pass
    if x.is_deleted():
        raise deleted_error(x)
    wait(x)
    sharding = x._sharding
    if holds_terms(sharding):
        sharding.devices_indices_map(x.aval.shape)           # raises
    if not sharding.is_fully_addressable and not sharding.is_fully_replicated:
        raise RuntimeError(
            f"an array of type {x.aval.str_short()} lies partly on devices of other processes, so "
            "its value cannot be read here; read `addressable_shards`, or gather it with "
            "experimental.multihost_utils.process_allgather(x, tiled=True)"
        )
    if _READS_ALL:
        value, copied = x._to_np_array_did_copy()
    elif len(sharding.device_set) == 1 or sharding.is_fully_replicated:
        with without_jax:
            one = x if len(sharding.device_set) == 1 else x._fully_replicated_shard()
            value, copied = one._single_device_array_to_np_array_did_copy()
    else:
        value, copied = np.empty(x.aval.shape, x.aval.dtype), True
        _copy(*_places(x, value))
    value = value.reshape(x.aval.shape)
    value.flags.writeable = False
    if copied:
        x._npy_value = value
    return value


_wait = ArrayImpl.block_until_ready


def wait(x: ArrayImpl) -> None:
    """Wait until the value is computed. Raises: the error of its computation, which names processes
    that were lost."""
    try:
        _wait(x)
    except (RuntimeError, ValueError) as e:
        named = of_processes(e)
        if named is e:
            raise
        raise named from None


def of_processes(error: BaseException) -> BaseException:
    """The error that names processes whose end made a computation fail; others unchanged."""
    from lowering import clients  # late: only errors need it

    here = clients.processes()
    return error if here is None else here.named(error)


def begins_with(indices: Sequence[int]) -> None:
    """Count a computation that these processes must begin too. Raises: ProcessLost where one of
    them has left."""
    from lowering import clients  # late: only programs of several processes need it

    here = clients.processes()
    if here is not None:
        here.begins(indices)


def device_arrays(x: ArrayImpl) -> list[ArrayImpl]:
    """The parts of an array, one array for each device of this process, on that device alone."""
    sharding = x._sharding
    if len(sharding.device_set) == 1:
        if isinstance(sharding, SingleDeviceSharding):
            return [x]
        (device,) = sharding.device_set          # a mesh of one device
        on_it = single_device_sharding(device, sharding.memory_kind)
        return [result_handler(x.aval, on_it, x._committed)(x)]
    with without_jax:
        return list(x._arrays)


_HANDLERS: dict[tuple, Callable[[Any], ArrayImpl]] = {}


def result_handler(
    aval: AbstractArray, sharding: Any, committed: bool = False
) -> Callable[[Any], ArrayImpl]:
    """A C++ function that makes an array of this type and sharding from one array, or from a list
    of arrays on one device each. It does not check their types."""
    key = (aval, sharding, committed)
    found = _HANDLERS.get(key)
    if found is None:
        extra = () if _READS_ALL else (True,)  # 0.10: skip checks that are written in Python
        if len(_HANDLERS) > 20_000:
            _HANDLERS.clear()
        made = cpp.array_result_handler(aval.placed(sharding), sharding, committed, *extra)
        found = _HANDLERS.setdefault(key, made)
    return found


def rewrap(x: ArrayImpl, weak: bool | None = None, committed: bool | None = None) -> ArrayImpl:
    """The same buffer as an array with another weakness or commitment; None keeps it."""
    aval = x.aval if weak is None else x.aval.update(weak_type=weak)
    return result_handler(aval, x._sharding, x._committed if committed is None else committed)(x)
