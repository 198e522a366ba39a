"""The client of the default platform, the priming of jaxlib for it, and the default device."""

from __future__ import annotations

import contextlib
import copyreg
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .abstract import AbstractArray
from .classes import Device, DeviceList, SingleDeviceSharding, cpp
from .single_device import single_device_sharding
from .states import default_device_state

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
    """Fill the slots that C++ would fill by importing jax, once per process, before any array is
    read. The stand-in modules are visible only while this function runs."""
    with _prime_lock:
        if _primed:
            return
        stubs = {name: types.ModuleType(name) for name in _JAX_NAMES}
        stubs["jax.core"].ShapedArray = AbstractArray  # type: ignore[attr-defined]
        stubs["jax._src.named_sharding"].check_pspec = check_pspec  # type: ignore[attr-defined]
        stubs["jax._src.literals"].TypedNdArray = type("NoArray", (), {})  # type: ignore[attr-defined]
        stubs["jax._src.sharding_impls"].make_single_device_sharding = (  # type: ignore[attr-defined]
            lambda device, memory_kind=None: single_device_sharding(device, memory_kind)
        )
        with _standing_in(stubs):
            device = client.local_devices()[0]
            placed = single_device_sharding(device)
            one = np.zeros((), np.float32)
            kind = AbstractArray((), one.dtype)
            zero_copy = cpp.HostBufferSemantics.ZERO_COPY
            array = cpp.batched_device_put(
                kind, placed, [one], [device], False, False, zero_copy, True
            )
            array._fully_replicated_shard()
            _fill_spec_slot(DeviceList((device,)))
            if hasattr(cpp, "shard_args"):
                reuse = [cpp.ArrayCopySemantics.REUSE_INPUT]
                cpp.shard_args([placed], [None], reuse, [one], None)
        _primed.add(id(client))


def prime_specs() -> None:
    """Fill C++'s slot for the check of partition specs, which shardings on abstract meshes need
    before there is a client."""
    with _prime_lock:
        names = ("jax", "jax._src", "jax._src.named_sharding")
        stubs = {name: types.ModuleType(name) for name in names}
        stubs["jax._src.named_sharding"].check_pspec = (  # type: ignore[attr-defined]
            lambda mesh, spec: _check_pspec[0](mesh, spec)
        )
        with _standing_in(stubs):
            _fill_spec_slot(None)


@contextlib.contextmanager
def _standing_in(stubs: dict[str, types.ModuleType]) -> Iterator[None]:
    """Let C++ import `stubs` inside the block; afterwards the modules of those names are as they
    were."""
    before = {name: sys.modules[name] for name in stubs if name in sys.modules}
    try:
        sys.modules.update(stubs)
        yield
    finally:
        for name in stubs:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def _fill_spec_slot(devices: Any) -> None:
    check, _check_pspec[0] = _check_pspec[0], _accept
    try:
        cpp.NamedSharding(types.SimpleNamespace(size=1, _internal_device_list=devices), ())
    finally:
        _check_pspec[0] = check


def _accept(mesh: Any, spec: Any) -> None:
    """The check of partition specs until `set_check_pspec` sets a stricter one: it accepts all."""


_check_pspec: list[Callable[[Any, Any], None]] = [_accept]


def check_pspec(mesh: Any, spec: Any) -> None:
    """Called from C++ whenever a `NamedSharding` is made; it raises to refuse the spec."""
    _check_pspec[0](mesh, spec)


def set_check_pspec(check: Callable[[Any, Any], None]) -> None:
    """Have `check(mesh, spec)` called whenever a `NamedSharding` is made; it may raise."""
    _check_pspec[0] = check


_client: list[Any] = []


def client() -> Any:
    """The client of the default platform. The first call makes it and primes jaxlib."""
    if not _client:
        from lowering import clients  # late: `import xfront` makes no client

        made = clients.default_client()
        prime(made)
        _client.append(made)
    return _client[0]


_DEFAULT: list[SingleDeviceSharding] = []


def default_sharding() -> SingleDeviceSharding:
    """The sharding of new arrays: the option `default_device`, else the client's first device."""
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


def _device_of(platform: str, number: int) -> Device:
    from lowering import clients  # late: see `client`

    found = next((d for d in clients.client(platform).devices() if d.id == number), None)
    if found is None:
        raise ValueError(f"what was pickled refers to device {number} of the platform "
                         f"{platform!r}, and there is no such device here")
    return found


copyreg.pickle(Device, lambda d: (_device_of, (d.platform, d.id)))


def default_device() -> Device:
    """The device of new arrays."""
    return default_sharding()._device
