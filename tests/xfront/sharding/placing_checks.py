"""Checks of arrays that are made on eight devices from NumPy arrays in any memory."""

from __future__ import annotations

import random
import warnings
from typing import Any

import ml_dtypes
import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.sharding import Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

from .checks import drawn

DTYPES = (np.bool_, np.int8, np.uint16, np.int32, np.float16, ml_dtypes.bfloat16, np.float32,
          np.complex64)


def in_memory(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of this shape whose elements lie in memory in one of several ways."""
    def fresh(*shape: int) -> np.ndarray:
        return (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)

    way = rng.randrange(6)
    if way == 1:
        return fresh(*shape).copy(order="F")
    if way == 2:
        return fresh(*[2 * n for n in shape])[tuple(slice(None, None, -2) for _ in shape)]
    if way == 3 and shape:                           # one row at every place
        return np.broadcast_to(fresh(*shape[1:]), shape)
    if way == 4:                                     # begins between two elements
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        raw = np.zeros(size + 1, np.uint8)
        made = raw[1:].view(dtype).reshape(shape)
        made[...] = fresh(*shape)
        return made
    if way == 5:
        return fresh(*shape, 3)[..., 1]
    return fresh(*shape)


def placed_alike(seed: int) -> None:
    """An array has the values that its NumPy array had, also after that is written to, and after
    its memory is given to the result of a program."""
    rng = random.Random(seed)
    mesh, shape, spec, other = drawn(rng)
    if rng.random() < 0.2:
        shape = (0, *shape[1:])
    if rng.random() < 0.1:
        shape, spec, other = (), P(), P()
    value = in_memory(rng, shape, rng.choice(DTYPES))
    expected = value.copy()
    there = NamedSharding(mesh, spec)
    x = xfront.device_put(value, there)
    y = xfront.make_array_from_callback(shape, there, lambda i: expected[(*i, ...)])
    whole = xfront.make_array_from_callback(
        shape, there, lambda i: np.broadcast_to(expected.dtype.type(1), there.shard_shape(shape)))
    if value.flags.writeable:
        value[...] = 0
    for made, wanted in ((x, expected), (y, expected), (whole, np.ones_like(expected))):
        np.testing.assert_array_equal(made, wanted)
        assert made.dtype == expected.dtype and made.sharding == there
        for shard in made.addressable_shards:
            np.testing.assert_array_equal(shard.data, wanted[shard.index])
    np.testing.assert_array_equal(xfront.device_put(y, NamedSharding(mesh, other)), expected)
    added = xfront.jit(lambda x: x + x, donate_argnums=0, out_shardings=there)
    wanted = expected
    for _ in range(3 if value.size else 0):
        x, wanted = added(x), wanted + wanted
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(shard.data, wanted[shard.index])


def check_arrays_of_any_memory_are_copied() -> None:
    for_seeds(placed_alike, 40)


def check_large_arrays_are_copied() -> None:
    value = np.random.default_rng(0).standard_normal((1024, 2048)).astype(np.float32)
    over = Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y"))
    for spec in (P(), P("x"), P("x", "y"), P(None, ("x", "y"))):
        x = xfront.device_put(value, NamedSharding(over, spec))
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(shard.data, value[shard.index])


def check_devices_that_began_with_one_copy_write_to_their_own() -> None:
    """The copies of a replicated array become the parts of one whose memory programs reuse."""
    over = Mesh(np.array(xfront.devices()), ("x",))
    value = np.arange(4096, dtype=np.float32)

    def step(x: Any) -> Any:
        return lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)]) + lax.axis_index("x")

    f = xfront.jit(xfront.shard_map(step, mesh=over, in_specs=P("x"), out_specs=P("x")),
                   donate_argnums=0)
    whole = xfront.device_put(value, NamedSharding(over, P()))
    x = xfront.make_array_from_single_device_arrays(
        (8 * 4096,), NamedSharding(over, P("x")), [s.data for s in whole.addressable_shards])
    expected = np.tile(value, (8, 1))
    for _ in range(3):
        x = f(x)
        expected = np.roll(expected, 1, axis=0) + np.arange(8, dtype=np.float32)[:, None]
        np.testing.assert_array_equal(np.reshape(x, (8, -1)), expected)


def check_donations_are_compared_by_the_parts_of_a_device() -> None:
    """A donated array is taken, or named in a warning, by the bytes that each device has of it."""
    over = Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y"))
    whole, rows, both = P(), P("x"), P("x", "y")
    f32 = "f32[8,8]"
    for f, shape, spec, out, unusable in (
            (lambda x: x + 1, (8, 8), rows, rows, None),
            (lambda x: x + 1, (8, 8), rows, P(None, "x"), None),
            (lambda x: x + 1, (8, 8), rows, whole, f"{f32} in parts of f32[2,8]"),
            (lambda x: x + 1, (8, 8), both, rows, f"{f32} in parts of f32[2,4]"),
            (lambda x: x + 1, (8, 8), whole, rows, f32),
            (lambda x: x + 1, (8, 8), None, rows, f32),          # brought as a whole
            (lambda x: x[:2] + 1, (8, 8), rows, whole, None),
            (lambda x: jnp.tile(x, (4, 1)), (2, 8), whole, rows, None),
            (lambda x: x.T, (8, 8), rows, None, None),           # the compiler chooses
            (lambda x: x.sum(), (8, 8), rows, None, f"{f32} in parts of f32[2,8]")):
        value = np.ones(shape, np.float32)
        x = jnp.asarray(value) if spec is None else xfront.device_put(
            value, NamedSharding(over, spec))
        g = xfront.jit(f, donate_argnums=0, **({} if out is None else {
            "out_shardings": NamedSharding(over, out)}))
        for use in (g.lower, g):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                use(x)
            said = [str(w.message) for w in caught]
            if unusable is None or (use == g.lower and out is None):
                assert not said, said
            else:
                assert len(said) == 1 and f"not usable: {unusable}. No" in said[0], said
        assert x.is_deleted() == (unusable is None)


def check_arrays_that_are_donated_are_passed_once() -> None:
    rows = NamedSharding(Mesh(np.array(xfront.devices()), "x"), P("x"))
    value = np.arange(8, dtype=np.float32)

    def added(x: Any, y: Any) -> Any:
        return x + y

    first = xfront.jit(added, donate_argnums=0)
    x: Any = xfront.device_put(value, rows)
    for f in (first, xfront.jit(added, donate_argnames=("x", "y")), first,
              first.lower(x, x).compile()):
        for _ in range(2):
            try:
                f(x, x)
            except RuntimeError as e:
                assert "another argument too" in str(e)
            else:
                raise AssertionError("an array was donated and passed once more")
    np.testing.assert_array_equal(first(x.copy(), x), value + value)
    assert not x.is_deleted()


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, devices=8)
