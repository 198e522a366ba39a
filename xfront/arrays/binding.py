"""Where xfront meets jaxlib: the one file of this package that touches it.

Holds the process-wide states that jaxlib's C++ wants, the guard against the real jax, types of
arrays (`AbstractArray`), placement on one device, arrays to and from NumPy, compiled front doors
(`make_pjit`) and the hooks that put methods on jaxlib's array class. What differs between jaxlib
versions is asked by feature, here. Clients are made by `lowering.clients`, on first use.
"""
# hot: benchmarks/eager.py

from __future__ import annotations

import gc
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read once, by the first jaxlib extension

import jaxlib._jax as _jax
import ml_dtypes

import numpy as np

from .abstract import AbstractArray
from .beside import install_finder, refuse_beside_jax, without_jax

refuse_beside_jax(_jax.ArrayImpl)
install_finder()

# ---- jaxlib's parts that other files of xfront build on

Array = _jax.Array
ArrayImpl = _jax.ArrayImpl
Config = _jax.config.Config
Device = _jax.Device
DeviceList = _jax.DeviceList
JaxRuntimeError = _jax.JaxRuntimeError
NamedSharding = _jax.NamedSharding
PjitFunction = _jax.PjitFunction
Sharding = _jax.Sharding
SingleDeviceSharding = _jax.SingleDeviceSharding
Traceback = _jax.Traceback
pytree = _jax.pytree
unset = _jax.config.unset
trace_context: Callable[[], tuple] = _jax.config.trace_context
batched_block_until_ready: Callable[[Sequence[Any]], None] = _jax.batched_block_until_ready
set_tracer_class: Callable[[type], None] = _jax.set_tracer_class

_READS_ALL = hasattr(ArrayImpl, "_to_np_array_did_copy")  # reads every dtype and assembles shards
_ZERO_COPY = _jax.HostBufferSemantics.ZERO_COPY


def jaxlib_version() -> str:
    """The version of the jaxlib in use."""
    import jaxlib.version

    return jaxlib.version.__version__


def _let_go(*_: object) -> None:
    """What C++ lets go of without the interpreter's lock waits until it is told to give it back."""
    _jax.collect_garbage()


gc.callbacks.append(_let_go)

# ---- states: thread-local over global, part of the key of every compiled front door


TRACE_STATES: list[str] = []
"""Names of the values of `trace_context()`."""


def make_state(name: str, value: object, jit_key: bool = True, trace_key: bool = True) -> Config:
    """A process-wide option with thread-local override; a `jit_key` one is part of the key of
    every compiled front door and, with `trace_key`, of `trace_context()`. It is never freed: one
    per option."""
    if jit_key and trace_key:
        TRACE_STATES.append(name)
    return Config(name, value, include_in_jit_key=jit_key,
                  include_in_trace_context=jit_key and trace_key)


x64_state = make_state("enable_x64", False)
disable_jit_state = make_state("disable_jit", False)
post_hook_state = make_state("post_hook", None, jit_key=False)
default_device_state = make_state("default_device", None)
_jax.jax_jit.set_enable_x64_state(x64_state)
_jax.jax_jit.set_disable_jit_state(disable_jit_state)
_jax.jax_jit.set_post_hook_state(post_hook_state)

_guards = _jax.guard_lib


def set_transfer_guard(field: str, level: str | None, local: bool) -> None:
    """Set one of the transfer guards (`host_to_device`, …) to `allow`, `log`, `disallow`,
    `log_explicit` or `disallow_explicit`; None unsets it."""
    state = _guards.thread_local_state() if local else _guards.global_state()
    chosen = None if level is None else getattr(_guards.TransferGuardLevel, level.upper())
    setattr(state, field, chosen)
    if level is not None and not _guarded:
        _guarded.append(field)


_guarded: list[str] = []
"""Empty until a guard is set: what follows costs nothing to those who set none."""


class asked_for:
    """Transfers inside are explicit (`explicit_device_put`, `explicit_device_get`), or whatever a
    field of the guards is to be meanwhile."""

    __slots__ = ("before", "field", "state", "value")

    def __init__(self, field: str, value: Any = True) -> None:
        self.field, self.value, self.state = field, value, _guards.thread_local_state()

    def __enter__(self) -> None:
        self.before = getattr(self.state, self.field)
        setattr(self.state, self.field, self.value)

    def __exit__(self, *exc: object) -> None:
        setattr(self.state, self.field, self.before)


def set_garbage_guard(level: str | None, local: bool) -> None:
    """What the collection of an array by the cyclic collector does: `allow`, `log` or `fatal`."""
    state = _guards.thread_local_state() if local else _guards.global_state()
    levels = _guards.GarbageCollectionGuardLevel
    state.garbage_collect_array = None if level is None else getattr(levels, level.upper())


# ---- types of arrays

_64_TO_32 = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}

# ---- one device

_SINGLE: dict[tuple, SingleDeviceSharding] = {}


def single_device_sharding(device: Device, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The placement on one device, one object per device and memory kind."""
    try:
        return _SINGLE[device, memory_kind]
    except KeyError:
        made = SingleDeviceSharding(device, memory_kind=memory_kind)
        return _SINGLE.setdefault((device, memory_kind), made)


def _replicate(sharding: SingleDeviceSharding, ndim: int) -> Any:
    return _hlo_replicate()


_REPLICATED: list[Any] = []


def _hlo_replicate() -> Any:
    if not _REPLICATED:
        import jaxlib._hlo as hlo

        _REPLICATED.append(hlo.HloSharding.replicate())
    return _REPLICATED[0]


def _same_placement(a: SingleDeviceSharding, b: Any) -> bool:
    if a is b:
        return True
    if not isinstance(b, SingleDeviceSharding):
        return NotImplemented
    return a._device == b._device and a._memory_kind == b._memory_kind


def _whole(sharding: SingleDeviceSharding, shape: Sequence[int]) -> dict[Device, tuple]:
    """Device to the indices of the global array that it holds: here all of them."""
    return {sharding._device: (slice(None),) * len(shape)}


def _addressable(sharding: SingleDeviceSharding) -> set[Device]:
    device = sharding._device
    return {device} if device.process_index == device.client.process_index() else set()


def _is_equivalent(sharding: SingleDeviceSharding, other: Any, ndim: int) -> bool:
    """True where both place an array of `ndim` axes alike."""
    return (
        sharding.memory_kind == other.memory_kind
        and len(other.device_set) == 1
        and sharding.device_set == other.device_set
    )


def _with_memory_kind(sharding: SingleDeviceSharding, kind: str) -> SingleDeviceSharding:
    """The same device, in another of its memories."""
    return single_device_sharding(sharding._device, kind)


def _shard_shape(sharding: SingleDeviceSharding, shape: Sequence[int]) -> tuple[int, ...]:
    """Shape of a device's part of an array of the given shape."""
    return tuple(shape)


def _sharding_text(sharding: SingleDeviceSharding) -> str:
    return f"SingleDeviceSharding(device={sharding._device!r}, memory_kind={sharding._memory_kind})"


_SINGLE_DEVICE_SURFACE: dict[str, Any] = {
    "__eq__": _same_placement,
    "__hash__": lambda s: hash((s._device, s._memory_kind)),
    "__repr__": _sharding_text,
    "__module__": "xfront.sharding",
    "_to_xla_hlo_sharding": _replicate,
    "_device_assignment": property(lambda s: (s._device,)),
    "memory_kind": property(lambda s: s._memory_kind, doc="Which memory of the device."),
    "device_set": property(lambda s: {s._device}, doc="The devices, as a set."),
    "num_devices": property(lambda s: 1, doc="How many devices."),
    "addressable_devices": property(_addressable, doc="Those devices that this process drives."),
    "has_addressable_devices": property(lambda s: bool(_addressable(s))),
    "is_fully_addressable": property(lambda s: bool(_addressable(s))),
    "is_fully_replicated": property(lambda s: True, doc="Every device holds the whole array."),
    "devices_indices_map": _whole,
    "addressable_devices_indices_map": lambda s, shape: {
        d: i for d, i in _whole(s, shape).items() if d in _addressable(s)
    },
    "shard_shape": _shard_shape,
    "is_equivalent_to": _is_equivalent,
    "with_memory_kind": _with_memory_kind,
    "check_compatible_aval": lambda s, shape: None,
}


def install_on(cls: type, surface: Mapping[str, Any]) -> None:
    """Attach attributes to one of jaxlib's classes."""
    for name, value in surface.items():
        setattr(cls, name, value)


def install(surface: Mapping[str, Any]) -> None:
    """Attach methods and properties to the array class; later ones replace earlier ones."""
    install_on(ArrayImpl, surface)


install_on(SingleDeviceSharding, _SINGLE_DEVICE_SURFACE)
Array.__module__ = "xfront"

# ---- clients and devices

_primed: set[int] = set()
_prime_lock = threading.Lock()
_JAX_NAMES = (
    "jax",
    "jax._src",
    "jax.core",
    "jax._src.named_sharding",
    "jax._src.literals",
    "jax._src.sharding_impls",
)


def prime(client: Any) -> None:
    """Fill the slots of C++ that it would fill by importing jax: once per process, before any
    array is read back. The stand-in modules are visible only while this runs."""
    with _prime_lock:
        if _primed:
            return
        before = {name: sys.modules[name] for name in _JAX_NAMES if name in sys.modules}
        stubs = {name: types.ModuleType(name) for name in _JAX_NAMES}
        stubs["jax.core"].ShapedArray = AbstractArray  # type: ignore[attr-defined]
        stubs["jax._src.named_sharding"].check_pspec = (  # type: ignore[attr-defined]
            lambda mesh, spec: _check_pspec[0](mesh, spec)
        )
        stubs["jax._src.literals"].TypedNdArray = type("NoArray", (), {})  # type: ignore[attr-defined]
        stubs["jax._src.sharding_impls"].make_single_device_sharding = (  # type: ignore[attr-defined]
            lambda device, memory_kind=None: single_device_sharding(device, memory_kind)
        )
        sys.modules.update(stubs)
        try:
            device = client.local_devices()[0]
            placed = single_device_sharding(device)
            one = np.zeros((), np.float32)
            kind = AbstractArray((), one.dtype)
            array = _jax.batched_device_put(
                kind, placed, [one], [device], False, False, _ZERO_COPY, True
            )
            array._fully_replicated_shard()
            mesh = types.SimpleNamespace(size=1, _internal_device_list=DeviceList((device,)))
            NamedSharding(mesh, ())
            if hasattr(_jax, "shard_args"):
                reuse = [_jax.ArrayCopySemantics.REUSE_INPUT]
                _jax.shard_args([placed], [None], reuse, [one], None)
        finally:
            for name in _JAX_NAMES:
                del sys.modules[name]
            sys.modules.update(before)
        _primed.add(id(client))


def _accept(mesh: Any, spec: Any) -> None:
    """Check of partition specs until `set_check_pspec` gives a stricter one."""


_check_pspec: list[Callable[[Any, Any], None]] = [_accept]


def set_check_pspec(check: Callable[[Any, Any], None]) -> None:
    """Have `check(mesh, spec)` called whenever a `NamedSharding` is made; it raises to refuse."""
    _check_pspec[0] = check


_client: list[Any] = []


def client() -> Any:
    """The client of the default platform; made, and jaxlib primed, at the first call."""
    if not _client:
        from lowering import clients  # late: `import xfront` makes no client

        made = clients.default_client()
        prime(made)
        _client.append(made)
    return _client[0]


_DEFAULT: list[SingleDeviceSharding] = []


def default_sharding() -> SingleDeviceSharding:
    """Where new arrays go: the option `default_device`, else the client's first device."""
    chosen = default_device_state.value
    if chosen is None:
        if not _DEFAULT:
            _DEFAULT.append(single_device_sharding(client().local_devices()[0]))
        return _DEFAULT[0]
    client()
    if isinstance(chosen, str):
        from lowering import clients  # late: see `client`

        chosen = clients.client(chosen).local_devices()[0]
    return single_device_sharding(chosen)


def default_device() -> Device:
    """The device where new arrays go."""
    return default_sharding()._device


# ---- arrays

_WEAK_SCALARS = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}
_SCALAR_DTYPES = {
    False: {kind: np.dtype(name) for kind, name in _WEAK_SCALARS.items()},
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


def canonical_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype that arrays get: 64-bit ones become 32-bit unless 64-bit mode is on."""
    return dtype if x64_state.value else _64_TO_32.get(dtype, dtype)


def scalar_dtype(kind: type) -> np.dtype:
    """The dtype of a Python scalar of the class `bool`, `int`, `float` or `complex`."""
    return _SCALAR_DTYPES[x64_state.value][kind]


def host_array(x: Any) -> np.ndarray:
    """A NumPy array of a dtype and byte order that devices hold, from a NumPy array, a scalar or
    a nested list. TypeError for text, objects and dates; OverflowError for a Python integer that
    does not fit."""
    kind = type(x)
    if kind in _WEAK_SCALARS:
        return np.asarray(x, dtype=_SCALAR_DTYPES[x64_state.value][kind])
    x = np.asarray(x)
    dtype: Any = x.dtype
    if not (dtype.kind in "biufc" or dtype in _EXTENDED):
        raise TypeError(f"{dtype} is no dtype of arrays; bool, integer, float or complex ones are")
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    dtype = _C_NAMES.get(dtype.num, dtype)
    return x.astype(canonical_dtype(dtype), copy=False)


def put(x: Any, device: Any = None, weak: bool = False, copy: bool = True,
        committed: bool = True) -> ArrayImpl:
    """An array from a NumPy array, scalar, nested list or array.

    Args:
      x: the value; 64-bit types become 32-bit unless 64-bit mode is on, any byte order will do.
      device: a device or a sharding; None for the default device, uncommitted.
      weak: make it weakly typed.
      copy: False lets the array alias NumPy memory that nobody writes to again.
      committed: whether operations must run where `device` says.
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
        if type(sharding) is not SingleDeviceSharding:
            return put_sharded(x, sharding, weak, committed)
    aval = AbstractArray(x.shape, x.dtype, weak)
    return _jax.batched_device_put(
        aval, sharding, [x], [sharding._device], committed, copy, _ZERO_COPY, True
    )


def put_explicitly(x: Any, device: Any, weak: bool = False) -> ArrayImpl:
    """As `put`, for a user who asked for the transfer: guards see it as an explicit one."""
    if not _guarded:
        return put(x, device, weak)
    with asked_for("explicit_device_put"):
        return put(x, device, weak)


def put_copy(aval: AbstractArray, sharding: Any, value: np.ndarray, committed: bool) -> ArrayImpl:
    """A copy of a NumPy array of that type on one device."""
    return _jax.batched_device_put(
        aval, sharding, [value], [sharding._device], committed, True, _ZERO_COPY, True
    )


def sharding_of(device: Any) -> Any:
    """The sharding of an array, or the one that a device or sharding stands for; ValueError for
    anything else."""
    if isinstance(device, Sharding):
        return device
    if isinstance(device, ArrayImpl):
        return device._sharding
    if isinstance(device, Device):
        return single_device_sharding(device)
    raise ValueError("a device or a sharding is wanted, such as xfront.devices()[0] or x.sharding, "
                     f"got {device!r}")


def put_sharded(x: Any, sharding: Any, weak: bool = False, committed: bool = True) -> ArrayImpl:
    """An array placed as a sharding says, from a NumPy array or an array anywhere."""
    if isinstance(x, ArrayImpl):
        if x._sharding == sharding:
            return x if x._committed == committed else rewrap(x, committed=committed)
        if len(x._sharding.device_set) == 1 == len(sharding.device_set):
            return _move(x, sharding, committed)
        x = to_numpy(x)
    x = np.asarray(x)
    places = sharding.addressable_devices_indices_map(x.shape)
    shards = [np.ascontiguousarray(x[index]).reshape(x[index].shape) for index in places.values()]
    aval = AbstractArray(x.shape, x.dtype, weak)
    return _jax.batched_device_put(
        aval, sharding, shards, list(places), committed, True, _ZERO_COPY, True
    )


def _move(x: ArrayImpl, sharding: Any, committed: bool, copy: bool = False) -> ArrayImpl:
    if x.is_deleted():  # C++ ends the process in jaxlib 0.10
        raise deleted_error(x)
    modes = _jax.ArrayCopySemantics
    mode = modes.ALWAYS_COPY if copy else modes.REUSE_INPUT
    devices = sharding._internal_device_list
    [moved] = _jax.batched_copy_array_to_devices_with_sharding([x], [devices], [sharding], [mode])
    return result_handler(x.aval, sharding, committed)(moved)


def copy_array(x: ArrayImpl) -> ArrayImpl:
    """The same value in memory of its own, beside the original."""
    if not _guarded:
        return _move(x, x._sharding, x._committed, copy=True)
    with asked_for("device_to_device", _guards.TransferGuardLevel.ALLOW):  # it stays on its device
        return _move(x, x._sharding, x._committed, copy=True)


def deleted_error(x: ArrayImpl) -> RuntimeError:
    """What using a deleted or donated array raises."""
    return RuntimeError(
        f"Array has been deleted, or donated to a computation; it was {x.aval.str_short()}"
    )


def to_numpy(x: ArrayImpl) -> np.ndarray:
    """The value on the host as a read-only NumPy array; waits for it. On CPU without a copy,
    elsewhere the copy is kept with the array. RuntimeError where it was deleted or lies partly
    on devices of other processes."""
    kept = x._npy_value
    if kept is not None:
        return kept
    try:
        return np.asarray(memoryview(x))
    except (BufferError, RuntimeError, ValueError, NotImplementedError):
        pass
    if x.is_deleted():
        raise deleted_error(x)
    x.block_until_ready()  # the error of a failed computation comes from here
    sharding = x._sharding
    if not sharding.is_fully_addressable and not sharding.is_fully_replicated:
        raise RuntimeError(
            f"an array of type {x.aval.str_short()} lies partly on devices of other processes, so "
            "its value cannot be read here; read `addressable_shards`, or gather it first"
        )
    if _READS_ALL:
        value, copied = x._to_np_array_did_copy()
    elif len(sharding.device_set) == 1 or sharding.is_fully_replicated:
        with without_jax:
            one = x if len(sharding.device_set) == 1 else x._fully_replicated_shard()
            value, copied = one._single_device_array_to_np_array_did_copy()
    else:
        value, copied = np.empty(x.aval.shape, x.aval.dtype), True
        places = sharding.addressable_devices_indices_map(x.aval.shape)
        for (_, index), shard in zip(places.items(), device_arrays(x), strict=True):
            value[index] = to_numpy(shard)
    value = value.reshape(x.aval.shape)
    value.flags.writeable = False
    if copied:
        x._npy_value = value
    return value


def device_arrays(x: ArrayImpl) -> list[ArrayImpl]:
    """The parts of an array, one array for each device of this process."""
    if len(x._sharding.device_set) == 1:
        return [x]
    with without_jax:
        return list(x._arrays)


_HANDLERS: dict[tuple, Callable[[Any], ArrayImpl]] = {}


def result_handler(
    aval: AbstractArray, sharding: Any, committed: bool = False
) -> Callable[[Any], ArrayImpl]:
    """A C++ function that makes an array of this type and placement of one array, or assembles a
    list of one-device arrays. The type is believed, not checked."""
    key = (aval, sharding, committed)
    found = _HANDLERS.get(key)
    if found is None:
        extra = () if _READS_ALL else (True,)  # 0.10: skip checks that are written in Python
        if len(_HANDLERS) > 20_000:
            _HANDLERS.clear()
        made = _jax.array_result_handler(aval, sharding, committed, *extra)
        found = _HANDLERS.setdefault(key, made)
    return found


def rewrap(x: ArrayImpl, weak: bool | None = None, committed: bool | None = None) -> ArrayImpl:
    """The same buffer as an array of another weakness or commitment; None keeps either."""
    aval = x.aval if weak is None else x.aval.update(weak_type=weak)
    return result_handler(aval, x._sharding, x._committed if committed is None else committed)(x)


# ---- DLPack


def to_dlpack(x: ArrayImpl, stream: Any = None, max_version: tuple | None = None) -> Any:
    """A DLPack capsule over the array's memory."""
    if hasattr(_jax, "dlpack_version"):
        return _jax.buffer_to_dlpack_managed_tensor(x, stream, max_version)
    return _jax.buffer_to_dlpack_managed_tensor(x, stream)


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> ArrayImpl:
    """An array over the memory of an object that speaks DLPack, copied where it is not aligned or
    where `copy` is True; with `copy=False` a copy that is needed raises. A device or sharding that
    is given commits it."""
    committed = device is not None
    wanted = sharding_of(device) if committed else default_sharding()
    device = wanted._device
    sharding = single_device_sharding(device)
    newer = hasattr(_jax, "dlpack_version")
    capsule = x.__dlpack__(max_version=_jax.dlpack_version) if newer else x.__dlpack__()
    kind = int(x.__dlpack_device__()[0])
    try:
        with without_jax:
            made = _jax.dlpack_managed_tensor_to_buffer(capsule, device, None, copy, kind)
    except RuntimeError as error:
        if copy is not False:
            raise
        raise ValueError(f"from_dlpack: copy=False, but a copy is needed: {error}") from None
    # C++ may have had no type to give; a transfer through the C++ sharding has the right one
    aval = AbstractArray(made.aval.shape, made.aval.dtype)
    made = result_handler(aval, sharding, committed)(made)
    if sharding != wanted:
        return put_sharded(made, wanted)  # another memory of the device
    return copy_array(made) if copy else made  # C++ ignores copy=True for aligned memory


# ---- compiled front doors


class FastPath(NamedTuple):
    """What C++ needs to run a call without Python: see `fastpath`."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Sequence[Any]
    out_shardings: Sequence[Any]
    out_avals: Sequence[AbstractArray]
    out_committed: Sequence[bool]
    kept_var_bitvec: Iterable[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[ArrayImpl]


def fastpath(
    executable: Any,
    out_tree: Any,
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    out_avals: Sequence[AbstractArray],
    out_committed: Sequence[bool],
    kept: Sequence[bool],
    const_args: Sequence[ArrayImpl] = (),
    in_layouts: Sequence[Any] | None = None,
) -> FastPath:
    """The record that lets later calls of a signature stay in C++.

    Args:
      executable: the loaded executable; its arguments are `const_args`, then the kept arguments.
      out_tree: structure of the result, from the dispatch registry.
      in_shardings, in_layouts: of kept arguments only; a layout of None is the default one.
      out_shardings, out_avals, out_committed: one entry per flat output.
      kept: for `const_args` and every flat argument, whether the executable takes it.
      const_args: arrays passed in front of the arguments at every call.
    """
    layouts = [None] * len(in_shardings) if in_layouts is None else list(in_layouts)
    return FastPath(
        executable, out_tree, list(in_shardings), list(out_shardings), list(out_avals),
        list(out_committed), list(kept), layouts, list(const_args),
    )  # fmt: skip


def make_registry() -> Any:
    """A new registry of tree nodes that knows None, tuple, named tuple, list and dict."""
    return pytree.PyTreeRegistry(
        enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True,
        enable_dict=True,
    )  # fmt: skip


# The trees of the C++ dispatcher: the users' registry and, as nodes, what only we take apart.
dispatch_registry = make_registry()
dispatch_registry.__name__, dispatch_registry.__module__ = "dispatch_registry", __name__

pjit_cache = _jax.PjitFunctionCache(8192)


def _shard_arg(x: Any, sharding: Any, layout: Any) -> ArrayImpl:
    if isinstance(x, ArrayImpl):
        return put_sharded(x, sharding, x.aval.weak_type)
    return put_sharded(host_array(x), sharding, type(x) in _WEAK_SCALARS)


def make_pjit(
    name: str,
    fun: Callable[..., Any],
    cache_miss: Callable[..., tuple],
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    donate_argnums: Sequence[int] = (),
    donate_argnames: Sequence[str] = (),
    global_cache_key: Any = (),
    shard_arg: Callable[[Any, Any, Any], ArrayImpl] = _shard_arg,
) -> Any:
    """A function whose known signatures run in C++; new ones go to `cache_miss`.

    Args:
      name: for profiles and its repr.
      fun: the Python function: its lifetime bounds the cached entries', and it runs where jit is
        disabled.
      cache_miss: called with the caller's arguments; gives (result, FastPath or None, whether to
        forget this entry). If it raises, the function's entries are dropped, so that no signature
        is left on the slow path.
      static_argnums, static_argnames: arguments compared by `==` and hash.
      donate_argnums, donate_argnames, global_cache_key: part of the key, with `cache_miss`'s
        kind of front door in `global_cache_key`: two functions of one `fun` whose keys agree
        share their entries.
    """
    made: Any = None

    def guarded(*args: Any, **kwargs: Any) -> tuple:
        try:
            return cache_miss(*args, **kwargs)
        except BaseException as error:
            from ..tracebacks import shorten  # late: it stands on this file

            function = made() if made is not None else None
            if function is not None:
                function._clear_cache()
            shorten(error)
            raise

    key = (
        global_cache_key,
        tuple(static_argnums),
        tuple(static_argnames),
        tuple(donate_argnums),
        tuple(donate_argnames),
    )
    function = _jax.pjit(
        name, weakly_referenced(fun), guarded, list(static_argnums), list(static_argnames), key,
        dispatch_registry, shard_arg, pjit_cache,
    )  # fmt: skip
    made = weakref.ref(function)
    return function


def clear_pjit_caches() -> None:
    """Forget the compiled signatures of every front door of the process."""
    _jax.PjitFunctionCache.clear_all()


def weakly_referenced(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` itself, or a function that calls it where it cannot be referenced weakly (a ufunc,
    a callable with slots): C++ needs that."""
    try:
        weakref.ref(fun)
        return fun
    except TypeError:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return fun(*args, **kwargs)

        return wrapper
