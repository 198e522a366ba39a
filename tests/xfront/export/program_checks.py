"""What `test_programs_as_bytes.py` runs in a process with four CPU devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import export
from xfront.experimental.serialize_executable import deserialize_and_load, serialize
from xfront.sharding import AxisType, NamedSharding, PartitionSpec

DEVICES = 4


def rows(*kinds: AxisType) -> Any:
    return NamedSharding(jax.make_mesh((4,), ("i",), axis_types=kinds), PartitionSpec("i"))


def check_auto_axes() -> None:
    """Shardings of arguments, captures and results come back, on a mesh that is divided by XLA."""
    place = rows(AxisType.Auto)
    x = jax.device_put(jnp.arange(8.0), place)
    held = jax.device_put(jnp.arange(8.0) * 2, place)
    compiled = jax.jit(lambda a, b: (a * b + held, a.sum())).lower(x, 2.0).compile()
    again = deserialize_and_load(*serialize(compiled))
    assert again.input_shardings == compiled.input_shardings
    assert again.output_shardings == compiled.output_shardings
    assert again.input_shardings[0][0] == place
    for made, wanted in zip(again(x, 3.0), compiled(x, 3.0), strict=True):
        np.testing.assert_array_equal(made, wanted)
        assert made.sharding == wanted.sharding and made.committed


def check_explicit_axes() -> None:
    place = rows(AxisType.Explicit)
    x = jax.device_put(jnp.arange(8.0), place)
    compiled = jax.jit(lambda a: (a * 2, a.sum())).lower(x).compile()
    again = deserialize_and_load(*serialize(compiled))
    for made, wanted in zip(again(x), compiled(x), strict=True):
        np.testing.assert_array_equal(made, wanted)
        assert made.sharding == wanted.sharding and made.aval == wanted.aval


def check_other_devices_in_another_order() -> None:
    x = jax.device_put(jnp.arange(8.0), rows(AxisType.Auto))
    written = serialize(jax.jit(lambda a: a[::-1] * 2).lower(x).compile())
    turned = jax.devices()[::-1]
    again = deserialize_and_load(*written, execution_devices=turned)
    made = again(np.arange(8.0, dtype=np.float32))
    np.testing.assert_array_equal(made, np.arange(8.0)[::-1] * 2)
    assert list(made.sharding.mesh.devices.flat) == turned


def check_devices_are_counted() -> None:
    x = jax.device_put(jnp.arange(8.0), rows(AxisType.Auto))
    several = serialize(jax.jit(lambda a: a * 2).lower(x).compile())
    one = serialize(jax.jit(lambda a: a * 2).lower(np.ones(3, np.float32)).compile())
    here = jax.devices()
    for written, devices in ((several, here[:2]), (several, [here[0]] * 4), (one, here), (one, [])):
        with pytest.raises(ValueError, match="was compiled for [14] devices"):
            deserialize_and_load(*written, execution_devices=devices)
    with pytest.raises(ValueError, match="must be local devices"):
        deserialize_and_load(*one, execution_devices=["cpu"])


def check_one_device() -> None:
    written = serialize(jax.jit(lambda a: a * 2).lower(1.0).compile())
    third = jax.devices()[2]
    assert deserialize_and_load(*written, execution_devices=[third])(1.0).devices() == {third}
    loaded = deserialize_and_load(*written)
    assert loaded(1.0).devices() == {jax.devices()[0]}
    with pytest.raises(ValueError, match="disagree"):
        loaded(jax.device_put(np.float32(1), third))


def check_a_program_of_more_devices_than_there_are() -> None:
    """A file written where there were more devices names those that are missing."""
    from xfront.experimental import serialize_executable as module

    x = jax.device_put(jnp.arange(8.0), rows(AxisType.Auto))
    blob, *trees = serialize(jax.jit(lambda a: a * 2).lower(x).compile())
    header, blobs = module.BYTES.read(blob)
    far = module.BYTES.write({**header, "devices": [4, 5, 6, 7]}, blobs)
    with pytest.raises(ValueError, match=r"none with ids \[4, 5, 6, 7\]"):
        deserialize_and_load(far, *trees)
    loaded = deserialize_and_load(far, *trees, execution_devices=jax.devices())
    np.testing.assert_array_equal(loaded(x), np.arange(8.0) * 2)


def check_exported_programs_are_divided_by_the_programs_that_call_them() -> None:
    """They are of one device, and XLA divides them as the rest; `shard_map` calls them by parts."""
    f = jax.jit(lambda x: (jnp.sin(x) * 2, x.sum()))
    read = export.deserialize(export.export(f)(jnp.ones(8)).serialize(vjp_order=1))
    part = export.export(f)(jnp.ones(2))
    for kind in (AxisType.Auto, AxisType.Explicit):
        place = rows(kind)
        x = jax.device_put(jnp.arange(8.0), place)
        for made, wanted in zip(jax.jit(read.call)(x), f(np.arange(8.0)), strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-6)
            assert len(made.sharding.device_set) == 4
        np.testing.assert_allclose(jax.grad(lambda v: read.call(v)[0].sum())(x), 2 * np.cos(x),
                                   rtol=1e-6)
        by_parts = jax.shard_map(lambda v: part.call(v)[0], mesh=place.mesh,
                                 in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"))
        np.testing.assert_allclose(by_parts(x), f(np.arange(8.0))[0], rtol=1e-6)
        for g, args in ((f, (x,)), (jax.jit(lambda y, x=x: x + y), (1.0,))):
            with pytest.raises(NotImplementedError, match="exported for one device only"):
                export.export(g)(*args)
    third = jax.devices()[2]
    assert read.call(jax.device_put(jnp.ones(8), third))[0].devices() == {third}


CHECKS = checks_in(globals())


if __name__ == "__main__":
    report(CHECKS, DEVICES)
