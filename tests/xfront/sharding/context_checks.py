"""What `test_on_eight_devices.py` runs in a process with eight CPU devices: what a mesh in context,
and devices that are named elsewhere, ask of arrays, structs and programs; and keys from parts.

What is refused, and by which class, is JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import lax, random
from xfront.dtypes import float0
from xfront.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, set_mesh
from xfront.sharding import PartitionSpec as P

from .checks import raises

DEVICES = 8

AUTO = (AxisType.Auto,)


def line(first: int = 0, last: int = DEVICES) -> Mesh:
    return xfront.make_mesh((last - first,), ("x",), AUTO, devices=xfront.devices()[first:last])


def put(mesh: Mesh, *shape: int) -> Any:
    return xfront.device_put(np.ones(shape, np.float32), NamedSharding(mesh, P("x")))


def plus_one(value: Any) -> Any:
    return value + 1


def check_arrays_on_other_devices_than_the_mesh_in_context_are_refused() -> None:
    one = xfront.device_put(np.ones(8, np.float32), xfront.devices()[1])
    half, f = put(line(0, 2), 8), xfront.jit(plus_one)
    with set_mesh(line()):
        for x in (one, half):
            raises(ValueError, ["argument value of plus_one", "context mesh"], lambda x=x: f(x))
            raises(ValueError, ["argument x of add", "context mesh"], lambda x=x: x + 1)
        told = xfront.jit(plus_one, in_shardings=half.sharding)
        raises(ValueError, ["context mesh", "in_shardings"], lambda: told(np.ones(8)))
        assert f(put(line(), 8)).sharding.mesh == line()
        assert f(jnp.ones(8)).sharding.mesh == f(np.ones(8)).sharding.mesh == line()
    with set_mesh(line(0, 2)):
        assert (half + 1).sharding.mesh == line(0, 2)
    assert f(one).devices() == {xfront.devices()[1]}


def check_a_device_is_named_once() -> None:
    device = xfront.devices()[1]
    raises(ValueError, ["both a device and a backend"],
           lambda: xfront.jit(plus_one, device=device, backend="cpu"))
    for f in (xfront.jit(plus_one, device=device), xfront.jit(plus_one, backend="cpu")):
        with set_mesh(line()):
            raises(ValueError, ["Mesh context manager"], lambda f=f: f(np.ones(8)))
        f(np.ones(8))


def check_structs_with_specs_are_on_the_mesh_in_context() -> None:
    there = NamedSharding(line(), P("x"))
    raises(TypeError, ["set_mesh"], lambda: xfront.ShapeDtypeStruct((8,), int, sharding=P("x")))
    with set_mesh(line()):
        struct = xfront.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x"))
        assert struct.sharding == there
        (found,), _ = xfront.jit(plus_one).lower(struct).compile().input_shardings
        assert found == there
    made: list[Callable[[Any], Any]] = [jnp.zeros_like, jnp.ones_like, jnp.empty_like,
                                        lambda s: jnp.full_like(s, 2)]
    for f in made:
        assert f(struct).sharding == there and f(struct).shape == (8, 4)


def check_programs_of_abstract_meshes_are_compiled_for_the_devices_given() -> None:
    abstract = AbstractMesh((DEVICES,), ("x",))
    struct = xfront.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(abstract, P("x")))
    lowered = xfront.jit(plus_one).trace(struct).lower(lowering_platforms=("cpu",))
    turned = xfront.devices()[::-1]
    x = lowered.compile(device_assignment=tuple(turned))(np.arange(8, dtype=np.float32))
    assert [*x.sharding.mesh.devices.flat] == turned
    np.testing.assert_array_equal(x, np.arange(8) + 1)
    raises(ValueError, ["device_assignment"], lowered.compile)
    raises(ValueError, ["has 4 devices"], lambda: lowered.compile(device_assignment=turned[:4]))
    placed = xfront.jit(plus_one).lower(put(line(), 8))
    raises(ValueError, ["must match"], lambda: placed.compile(device_assignment=turned))
    placed.compile(device_assignment=xfront.devices())


def check_constraints_on_the_abstract_mesh_in_context() -> None:
    there = NamedSharding(line().abstract_mesh, P("x"))
    with set_mesh(line()):
        x: Any = lax.with_sharding_constraint(np.ones(8, np.float32), there)
    assert x.sharding == NamedSharding(line(), P("x"))


def check_device_put_takes_trees_of_donate_and_may_alias() -> None:
    tree = {"a": jnp.ones(3), "b": (jnp.ones(4), np.ones(2))}
    moved = xfront.device_put(tree, xfront.devices()[1], donate={"a": True, "b": (False, True)})
    assert all(x.devices() == {xfront.devices()[1]} for x in xfront.tree.leaves(moved))
    here = xfront.devices()[0]
    kept = xfront.device_put(tree, here, may_alias={"a": True, "b": False})
    place = [x.unsafe_buffer_pointer() for x in (tree["a"], kept["a"], tree["b"][0], kept["b"][0])]
    assert place[0] == place[1] and place[2] != place[3]
    xfront.device_put(tree, here, donate={"a": True, "b": False}, may_alias={"a": None, "b": True})
    raises(ValueError, ["cannot be True"], lambda: xfront.device_put(
        tree, here, donate={"a": True, "b": False}, may_alias=True))
    raises(ValueError, ["differ"], lambda: xfront.device_put(tree, here, donate=[True]))


def check_pmap_gives_results_of_float0() -> None:
    def slope(x: Any) -> Any:
        return xfront.grad(lambda t: 1.0, allow_int=True)(x), x * 2

    x = np.arange(DEVICES * 3).reshape(DEVICES, 3)
    for out_axes, shape in ((0, (DEVICES, 3)), ((1, 0), (3, DEVICES)), ((None, 0), (3,))):
        nothing, doubled = xfront.pmap(slope, out_axes=out_axes)(x)
        assert nothing.dtype == float0 and nothing.shape == shape
        np.testing.assert_array_equal(doubled, x * 2)


def check_arrays_of_keys_from_their_parts() -> None:
    there = NamedSharding(line(), P("x"))
    keys = random.split(random.key(3), 2 * DEVICES)
    parts = [xfront.device_put(keys[2 * i:2 * i + 2], d) for i, d in enumerate(xfront.devices())]
    assemble = xfront.make_array_from_single_device_arrays
    for made in (assemble((16,), there, parts), assemble((16,), there, parts, dtype=keys.dtype),
                 xfront.make_array_from_callback((16,), there, lambda index: keys[index]),
                 xfront.make_array_from_process_local_data(there, keys),
                 xfront.make_array_from_process_local_data(there, keys, (16,))):
        assert made.dtype == keys.dtype and made.shape == (16,)
        assert made.sharding.is_equivalent_to(there, 1)
        np.testing.assert_array_equal(random.key_data(made), random.key_data(keys))
    other = xfront.device_put(random.split(random.key(1, impl="rbg"), 2), xfront.devices()[-1])
    plain = xfront.device_put(np.ones(2, np.float32), xfront.devices()[-1])
    for last in (other, plain):
        raises(TypeError, ["keys of one dtype"],
               lambda last=last: assemble((16,), there, [*parts[:-1], last]))
    raises(ValueError, ["dtype"], lambda: assemble((16,), there, parts, dtype=np.float32))
    raises(ValueError, ["must have shape"], lambda: assemble((24,), there, parts))
    mixed: list[tuple[type[Exception], Callable[[], Any]]] = [
        (TypeError, lambda: keys == 1), (TypeError, lambda: keys.at[0].set(1)),
        (ValueError, lambda: jnp.concatenate([keys, np.ones(2)])),
        (ValueError, lambda: jnp.where(True, keys, 1.0))]
    for kind, f in mixed:
        raises(kind, ["do not mix"], f)


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
