"""What `test_ffi.py` runs in a process with two CPU devices; the environment names the library."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import ffi
from xfront.sharding import NamedSharding
from xfront.sharding import PartitionSpec as P


def check_devices_call_a_function_for_their_parts() -> None:
    library = ctypes.CDLL(os.environ["KERNELS"])
    for name in ("echo", "negated", "count"):
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(library, name)))
    ffi.register_ffi_target_as_batch_partitionable("negated")
    mesh = jax.make_mesh((2,), ("i",))
    parts = NamedSharding(mesh, P("i"))
    x = jax.device_put(jnp.arange(12.).reshape(4, 3), parts)

    def call(name: str) -> Any:
        return lambda x: ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    whole, divided = (jax.jit(call(name), out_shardings=parts) for name in ("echo", "negated"))
    np.testing.assert_array_equal(whole(x), x)
    np.testing.assert_array_equal(divided(x), -np.asarray(x))
    assert "all-gather" in whole.lower(x).compile().as_text()
    each = jax.shard_map(call("echo"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    np.testing.assert_array_equal(jax.jit(each)(x), x)
    counts = jax.jit(lambda x: ffi.ffi_call("count", jax.ShapeDtypeStruct((1,), np.int32),
                                            has_side_effect=True)(x))
    try:
        counts(x)
    except NotImplementedError as e:
        assert "must be inside shard_map" in str(e)
    else:
        raise AssertionError("an effect on several devices was not refused")
    own = jax.shard_map(counts, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    assert sorted(np.asarray(jax.jit(own)(x)).tolist()) == [1, 2]


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, 2)
