"""What tests of the lowering share: Functions from lambdas, and running them on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lowering
from lowering import clients
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.types import TensorType


@pytest.fixture
def func() -> Callable[..., Function]:
    """`func(types, make, name="f")`: the Function of `make(builder, *params) -> returns`."""
    def build(types: Sequence[TensorType], make: Callable[..., Any], name: str = "f") -> Function:
        b = Builder(name)
        return b.close(make(b, *[b.param(t, f"x{i}") for i, t in enumerate(types)]))

    return build


class Aval:
    """What jaxlib asks of the type of an array."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype, self.weak_type = tuple(shape), np.dtype(dtype), False


def _sharding(device: Any) -> Any:
    import jaxlib._jax as jax_extension
    from jaxlib._hlo import HloSharding

    class OneDevice(jax_extension.SingleDeviceSharding):
        memory_kind = property(lambda self: self._memory_kind)

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return HloSharding.replicate()

    return OneDevice(device)


def put(x: Any, device: Any = None) -> Any:
    """A device array of `x`."""
    import jaxlib._jax as jax_extension

    device = device or clients.default_client().local_devices()[0]
    x = np.asarray(x)
    return jax_extension.batched_device_put(
        Aval(x.shape, x.dtype), _sharding(device), [x], [device], False, True,
        jax_extension.HostBufferSemantics.ZERO_COPY, True)


def handlers_of(fn: Function, device: Any = None) -> list[Any]:
    """Result handlers for what `fn` returns."""
    import jaxlib._jax as jax_extension

    device = device or clients.default_client().local_devices()[0]
    extra = () if hasattr(jax_extension, "shard_args") else (True,)
    return [jax_extension.array_result_handler(
        Aval((*v.type.shape, *v.type.dtype.physical), v.type.dtype.numpy), _sharding(device),
        False, *extra) for v in fn.returns]


def get(x: Any) -> np.ndarray:
    """A NumPy copy of a device array of an ordinary dtype."""
    return np.array(memoryview(x))


@pytest.fixture
def execute() -> Callable[..., list[np.ndarray]]:
    """`execute(executable, fn, *arrays)`: run on NumPy arrays."""
    def run(executable: Any, fn: Function, *arrays: Any) -> list[np.ndarray]:
        device = executable.devices[0]
        made = executable.execute([put(a, device) for a in arrays], handlers_of(fn, device))
        return [get(r) for r in made]

    return run


@pytest.fixture
def run(execute: Callable[..., list[np.ndarray]]) -> Callable[..., list[np.ndarray]]:
    """`run(fn, *arrays, **how)`: compile and run on NumPy arrays."""
    def compiled(fn: Function, *arrays: Any, **how: Any) -> list[np.ndarray]:
        return execute(lowering.compile_function(fn, **how), fn, *arrays)

    return compiled


@pytest.fixture
def arrays() -> Any:
    """(put, handlers_of, get) for tests that call `Executable.execute` themselves."""
    return put, handlers_of, get


@pytest.fixture
def cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache on disk, and no program in memory."""
    from lowering import disk_cache

    folder = tmp_path / "cache"
    monkeypatch.setenv("XFRONT_CACHE_DIR", str(folder))
    monkeypatch.setenv("XFRONT_CACHE", "1")
    monkeypatch.setattr(disk_cache, "_settings", {})
    lowering._LIVE.clear()
    yield folder
    lowering._LIVE.clear()
