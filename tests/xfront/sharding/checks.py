"""What `test_sharding.py` runs in a process with eight CPU devices: each `check_*` is a test.

`python -m tests.xfront.sharding.checks` runs them all and prints a row of JSON for each.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import pickle
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.experimental.layout import Format, Layout
from xfront.experimental.serialize_executable import deserialize_and_load, serialize
from xfront.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, set_mesh
from xfront.sharding import PartitionSpec as P
from xfront.sharding.errors import DuplicateSpecError, IndivisibleError
from xfront.sharding.named import GSPMDSharding

DEVICES = 8


def mesh() -> Mesh:
    return Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y"))


def on(*spec: Any) -> NamedSharding:
    return NamedSharding(mesh(), P(*spec))


def grid(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def put(value: Any, *spec: Any) -> Any:
    return xfront.device_put(value, on(*spec))


def spec_of(x: Any) -> Any:
    assert isinstance(x.sharding, NamedSharding), x.sharding
    return x.sharding.spec


def expect(made: Any, spec: P, values: Any) -> None:
    assert made.committed and spec_of(made) == spec, (spec_of(made), spec)
    np.testing.assert_allclose(made, values, rtol=2e-5, atol=1e-5)


def raises(kind: type[Exception], words: Sequence[str], f: Callable[[], Any]) -> None:
    try:
        made = f()
    except kind as e:
        for word in words:
            assert word in str(e), (word, str(e))
    else:
        raise AssertionError(f"nothing was raised, got {made}")


# --- meshes and specs ---------------------------------------------------------------------

def check_specs_compare_print_and_pickle() -> None:
    assert P("x", None, ("x", "y")) != P("x") and P(("x",)) == P("x") and P("x", None) != P("x")
    assert repr(P("x")) == "P('x',)" and repr(P(None, "x")) == "P(None, 'x')"
    assert repr(P("x", unreduced={"y"})) == "P('x', unreduced={'y'})"
    assert P("x") + P("y") == P("x", "y") and list(P("x", None)) == ["x", None]
    assert P("x") != ("x",) and not isinstance(P(), tuple) and hash(P("x")) == hash(P(("x",)))
    for spec in (P(), P("x", None), P(P.UNCONSTRAINED, ("x", "y")), P("x", reduced={"y"})):
        assert pickle.loads(pickle.dumps(spec)) == spec
    kinds = xfront.sharding.UnreducedKind
    assert P("x", unreduced={"y"}, unreduced_kind=kinds.sum) == P("x", unreduced={"y"})
    assert P(unreduced={"y"}).unreduced_kind is kinds.sum and P("x").unreduced_kind is None
    raises(NotImplementedError, ["pmax"], lambda: P(unreduced={"y"}, unreduced_kind=kinds.max))
    raises(ValueError, ["without unreduced"], lambda: P("x", unreduced_kind=kinds.sum))
    raises(TypeError, ["UnreducedKind"], lambda: P(unreduced={"y"}, unreduced_kind="sum"))
    named = xfront.make_mesh(axis_sizes=(2, 4), axis_names=("x", "y"))
    assert named == xfront.make_mesh(axis_shapes=(2, 4), axis_names=("x", "y"))
    raises(TypeError, ["each once"], lambda: xfront.make_mesh((2,), ("x",), axis_shapes=(2,)))
    raises(TypeError, ["are required"], lambda: xfront.make_mesh((2,)))


def check_meshes_of_the_same_devices_are_one_object() -> None:
    one = mesh()
    assert one is mesh() and one is pickle.loads(pickle.dumps(one)) is copy.deepcopy(one)
    assert one.shape == {"x": 4, "y": 2} and one.size == 8 and one.axis_sizes == (4, 2)
    assert one.auto_axes == ("x", "y") and one.are_all_axes_auto and not one.empty
    made = xfront.make_mesh((4, 2), ("x", "y"))
    assert made.axis_types == (AxisType.Explicit,) * 2 and made != one
    assert repr(made) == ("Mesh(axis_sizes=(4, 2), axis_names=('x', 'y'), "
                          "axis_types=(Explicit, Explicit))")
    assert str(one) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"
    assert one.abstract_mesh == AbstractMesh((4, 2), ("x", "y"),
                                             abstract_device=one.abstract_mesh.abstract_device)
    assert one.local_mesh is one and one.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert xfront.make_mesh((3,), ("x",)).size == 3


def check_what_is_no_mesh_or_sharding_is_refused() -> None:
    devices = xfront.devices()
    raises(ValueError, ["devices.ndim == 1", "len(axis_names) == 2"],
           lambda: Mesh(devices, ("x", "y")))
    raises(ValueError, ["different names"],
           lambda: Mesh(np.array(devices).reshape(4, 2), ("x", "x")))
    raises(ValueError, ["once"], lambda: Mesh([devices[0], devices[0]], ("x",)))
    raises(TypeError, ["xfront.devices()"], lambda: Mesh([0, 1], ("x",)))
    raises(ValueError, ["Number of devices 8", "(16,)"], lambda: xfront.make_mesh((16,), ("x",)))
    raises(ValueError, ["Resource axis: z", "('x', 'y')"], lambda: on("z"))
    raises(DuplicateSpecError, ["duplicate entries for `x`"], lambda: on("x", "x"))
    raises(ValueError, ["`Explicit`"], lambda: NamedSharding(mesh(), P(unreduced={"x"})))
    raises(TypeError, ["P('x')"], lambda: NamedSharding(mesh(), "x"))
    sums = NamedSharding(xfront.make_mesh((4, 2), ("x", "y")), P("x", unreduced={"y"}))
    raises(NotImplementedError, ["unreduced"], lambda: xfront.make_array_from_callback(
        (8,), sums, lambda i: grid(8)[i]))
    raises(AssertionError, ["unreduced"], lambda: xfront.jit(
        lambda a: lax.with_sharding_constraint(a, sums))(grid(8)))
    raises(TypeError, ["set of names"], lambda: P(unreduced="x"))
    raises(ValueError, ["overlap"], lambda: P("x", reduced={"x"}))


# --- arrays -------------------------------------------------------------------------------

def check_device_put_divides_an_array() -> None:
    value = grid(8, 6)
    for spec in (P(), P("x"), P(None, "y"), P("x", "y"), P(("x", "y")), P(("y", "x"))):
        x = xfront.device_put(value, NamedSharding(mesh(), spec))
        np.testing.assert_array_equal(x, value)
        assert x.committed and x.sharding == NamedSharding(mesh(), spec)
        assert x.device == x.sharding and x.devices() == set(xfront.devices())
        assert x.is_fully_addressable and x.is_fully_replicated == (spec == P())
        assert len(x.addressable_shards) == 8 == len(x.global_shards)
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(shard.data, value[shard.index])
            assert shard.data.devices() == {shard.device}
            assert shard.data.shape == x.sharding.shard_shape((8, 6))
        again = xfront.device_put(x, on("y", None))
        np.testing.assert_array_equal(again, value)
        assert spec_of(again) == P("y", None)
    x = put(value, "x")
    assert [s.replica_id for s in x.addressable_shards] == [0, 1] * 4
    assert xfront.device_put(x, x.sharding) is x
    one = xfront.device_put(x, xfront.devices()[3])
    assert one.devices() == {xfront.devices()[3]}
    np.testing.assert_array_equal(one, value)


def check_device_put_refuses_a_spec_of_more_dimensions() -> None:
    for n in (1, 2):
        over = xfront.sharding.Mesh(np.array(xfront.devices()[:n]), ("x",))
        for spec in (P(None, "x"), P(None, None)):
            raises(ValueError, [str(spec)],
                   functools.partial(xfront.device_put, grid(4), NamedSharding(over, spec)))


def check_uneven_sizes_are_refused() -> None:
    raises(IndivisibleError, ["array axis 0 is partitioned 4 times", "dimension size is 6"],
           lambda: put(grid(6), "x"))
    raises(ValueError, ["rank at least 1", "P()"], lambda: put(1.0, "x"))
    raises(IndivisibleError, ["size is 6"],
           lambda: xfront.jit(lambda a: a, in_shardings=on("x"))(jnp.ones(6)))
    raises(IndivisibleError, ["size is 6"],
           lambda: xfront.jit(lambda a: a, out_shardings=on("x"))(jnp.ones(6)))
    made = xfront.jit(lambda a: lax.with_sharding_constraint(a, on("x")))(jnp.arange(6.0))
    expect(made, P(), np.arange(6.0))


def check_shardings_are_compared_by_where_things_lie() -> None:
    assert on("x") != on("x", None) and on("x").is_equivalent_to(on("x", None), 2)
    assert not on("x").is_equivalent_to(on("y"), 1)
    assert not on().is_equivalent_to(xfront.make_mesh((4,), ("x",)) and NamedSharding(
        xfront.make_mesh((4,), ("x",)), P()), 1)
    assert on(("x", "y")).is_equivalent_to(
        NamedSharding(Mesh(xfront.devices(), ("i",)), P("i")), 1)
    assert repr(on("x")).startswith("NamedSharding(mesh=Mesh('x': 4, 'y': 2, ")
    assert on("x").update(spec=P("y")) == on("y")
    assert pickle.loads(pickle.dumps(on("x"))) == on("x")


def check_keys_lie_on_several_devices() -> None:
    keys = xfront.random.split(xfront.random.key(0), 8)
    lain = put(keys, "x")
    assert spec_of(lain) == P("x")
    draw = xfront.vmap(lambda k: xfront.random.normal(k, (3,)))
    expect(xfront.jit(draw)(lain), P("x"), draw(keys))
    expect(draw(lain), P("x"), draw(keys))
    shards = lain.addressable_shards
    assert [s.index for s in shards[::2]] == [(slice(2 * k, 2 * k + 2),) for k in range(4)]
    for shard, words in zip(shards, lain.global_shards, strict=True):
        assert shard.data.dtype == keys.dtype and shard.device == words.device
        assert jnp.array_equal(xfront.random.key_data(shard.data),
                               xfront.random.key_data(keys[shard.index]))
    assert lain.addressable_data(2).shape == (2,)
    assert lain.on_device_size_in_bytes() == 8 * 16 == 2 * keys.on_device_size_in_bytes()


# --- jit ----------------------------------------------------------------------------------

def check_jit_follows_its_arguments() -> None:
    a, b = grid(8, 8), grid(8, 4)
    f = xfront.jit(lambda a, b: jnp.tanh(a / 64) @ b)
    expected = np.tanh(a / 64) @ b
    expect(f(put(a, "x"), put(b)), P("x"), expected)
    expect(f(put(a, "x"), b), P("x"), expected)
    expect(f(put(a, "x"), put(b, None, "y")), P("x", "y"), expected)
    expect(f(put(a, "x", "y"), put(b, "y")), P("x"), expected)
    before = f._cache_size()
    for _ in range(3):
        f(put(a, "x"), put(b, None, "y"))
    assert f._cache_size() == before


def check_shardings_that_jit_is_told() -> None:
    a = grid(8, 8)
    f = xfront.jit(lambda a: (a * 2, a.sum()), in_shardings=on("x"), out_shardings=(on("y"), None))
    double, total = f(a)
    expect(double, P("y"), a * 2)
    expect(total, P(), a.sum())
    expect(f(put(a, "x"))[0], P("y"), a * 2)
    expect(f(put(a, "x", None))[0], P("y"), a * 2)
    raises(ValueError, ["does not match the sharding on the respective arg", "argument a"],
           lambda: f(put(a, "y")))
    raises(ValueError, ["Received incompatible devices", "device ids [1]"], lambda: xfront.jit(
        lambda a, b: a + b)(put(a, "x"), xfront.device_put(a, xfront.devices()[1])))
    raises(RuntimeError, ["jit requires a non-empty mesh in context"],
           lambda: xfront.jit(lambda a: a, in_shardings=P("x"))(a))
    with set_mesh(mesh()):
        expect(xfront.jit(lambda a: a + 1, in_shardings=P("x"), out_shardings=P(None, "x"))(a),
               P(None, "x"), a + 1)


def check_meshes_in_context() -> None:
    assert xfront.sharding.get_mesh().empty and xfront.sharding.get_abstract_mesh().empty
    f = xfront.jit(lambda a: lax.with_sharding_constraint(a * 2, P("y")))
    with set_mesh(mesh()):
        assert xfront.sharding.get_mesh() is mesh()
        assert xfront.sharding.get_abstract_mesh() == mesh().abstract_mesh
        expect(f(grid(4)), P("y"), 2 * grid(4))
        expect(jnp.sin(jnp.ones(8)), P(), np.sin(np.ones(8)))
        expect(xfront.device_put(grid(8), P("x")), P("x"), grid(8))
    assert xfront.sharding.get_mesh().empty
    with mesh():
        expect(f(grid(4)), P("y"), 2 * grid(4))
    raises(RuntimeError, ["non-empty mesh in context"], lambda: f(grid(4)))
    raises(ValueError, ["outside of `jit`"], lambda: xfront.jit(lambda: set_mesh(mesh()))())
    raises(TypeError, ["mesh must be a Mesh"], lambda: set_mesh(mesh().abstract_mesh))  # type: ignore


def check_many_programs_are_started_at_once() -> None:
    f, x = xfront.jit(lambda x: x / 2 + x.sum()), put(grid(8, 8) / 64, "x", "y")
    made = x
    for _ in range(500):
        made = f(made) * 0 + x
    expect(made, P("x", "y"), x)


def check_donated_arrays_are_gone() -> None:
    f = xfront.jit(lambda a: a * 2, donate_argnums=0)
    for _ in range(2):
        x = put(grid(8, 8), "x")
        expect(f(x), P("x"), grid(8, 8) * 2)
        assert x.is_deleted()
        raises(RuntimeError, ["deleted or donated"], lambda x=x: f(x))
        raises(RuntimeError, ["deleted"], lambda x=x: x + 1)


def check_captured_arrays_decide_too() -> None:
    w = put(grid(8, 8), None, "y")
    f = xfront.jit(lambda a: a @ w)
    expect(f(grid(8, 8)), P(None, "y"), grid(8, 8) @ grid(8, 8))
    expect(f(put(grid(8, 8), "x")), P("x", "y"), grid(8, 8) @ grid(8, 8))


def check_stages() -> None:
    a = put(grid(8, 8), "x", "y")
    lowered = xfront.jit(lambda a, b: a * b).lower(a, jnp.ones((8, 8)))
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in lowered.as_text()
    assert '[{"x"}, {"y"}]' in lowered.as_text()
    compiled = lowered.compile()
    (first, second), named = compiled.input_shardings
    assert first == on("x", "y") and second == on() and named == {}
    assert compiled.output_shardings == on("x", "y")
    expect(compiled(a, jnp.ones((8, 8))), P("x", "y"), grid(8, 8))
    raises(ValueError, ["disagree", "Required sharding"],
           lambda: compiled(put(grid(8, 8)), jnp.ones((8, 8))))
    struct = xfront.ShapeDtypeStruct((8, 8), np.float32, sharding=on("x"))
    assert xfront.jit(lambda a: a.T).lower(struct).compile().output_shardings == on(None, "x")
    assert "all-reduce" in xfront.jit(jnp.sum).lower(a).compile().as_text()


def check_lowering_for_a_mesh_without_devices() -> None:
    """The text is that for a mesh of devices; to be compiled it needs some."""
    def summed(a: Any) -> Any:
        return xfront.shard_map(lambda a: lax.psum(a, "x"), mesh=abstract, in_specs=P("x", "y"),
                                out_specs=P(None, "y"))(a * 2)

    abstract = AbstractMesh((4, 2), ("x", "y"))
    struct = xfront.ShapeDtypeStruct((8, 8), np.float32, sharding=NamedSharding(abstract, P("x")))
    for platform in ("cpu", "tpu"):
        lowered = xfront.jit(summed).trace(struct).lower(lowering_platforms=(platform,))
        text = lowered.as_text()
        assert "num_partitions = 8" in text and "manual_computation" in text
        assert '[{"x"}, {}]' in text
        raises(ValueError, ["abstract mesh, which has no devices"], lowered.compile)
    raises(ValueError, ["has an abstract mesh", "lowering_platforms"],
           lambda: xfront.jit(summed).lower(struct))
    large = NamedSharding(AbstractMesh((16,), ("x",)), P("x"))
    wide = xfront.ShapeDtypeStruct((16,), np.float32, sharding=large)
    raises(ValueError, ["a mesh of 16 devices, of which this process has 8"],
           lambda: xfront.jit(jnp.sin).trace(wide).lower(lowering_platforms=("tpu",)))
    with xfront.set_mesh(mesh()):
        made = xfront.jit(summed).lower(struct).compile()
    np.testing.assert_array_equal(made(grid(8, 8)), summed_by_hand(grid(8, 8)))


def summed_by_hand(a: np.ndarray) -> np.ndarray:
    return (2 * a).reshape(4, 2, 8).sum(0)


def check_one_device_is_a_mesh_too() -> None:
    one = NamedSharding(Mesh(xfront.devices()[2:3], ("x",)), P("x"))
    x = xfront.device_put(grid(4), one)
    for made in (x + 1, xfront.jit(lambda x: lax.with_sharding_constraint(x, one) + 1)(x)):
        assert made.sharding.device_set == {xfront.devices()[2]}
        np.testing.assert_array_equal(made, grid(4) + 1)


# --- inside programs ----------------------------------------------------------------------

def check_constraints() -> None:
    a = grid(8, 8)
    f = xfront.jit(lambda a: lax.with_sharding_constraint(a + 1, on(None, "x")))
    expect(f(a), P(None, "x"), a + 1)
    expect(f(put(a, "x")), P(None, "x"), a + 1)
    expect(lax.with_sharding_constraint(jnp.asarray(a), on("x")), P("x"), a)
    rows = Format(Layout((0, 1)), on("x"))
    expect(lax.with_sharding_constraint(jnp.asarray(a), rows), P("x"), a)
    expect(xfront.jit(lambda a: xfront.device_put(a, on("y")))(a), P("y"), a)
    tree = xfront.jit(lambda t: lax.with_sharding_constraint(t, {"a": on("x"), "b": on()}))(
        {"a": a, "b": (a, a)})
    expect(tree["a"], P("x"), a)
    expect(tree["b"][1], P(), a)
    raises(ValueError, ["rank at least 3"], lambda: xfront.jit(
        lambda a: lax.with_sharding_constraint(a, on("x", None, "y")))(a))
    raises(ValueError, ["incompatible devices", "a sharding inside"],
           lambda: f(xfront.device_put(a, xfront.devices()[1])))


def check_constraints_under_transformations() -> None:
    a = grid(8, 8)

    def f(a: Any) -> Any:
        return jnp.sum(lax.with_sharding_constraint(a * a, on("x")) ** 2)

    np.testing.assert_allclose(xfront.grad(f)(a), 4 * a**3, rtol=1e-5)
    np.testing.assert_allclose(xfront.jit(xfront.grad(f))(put(a, "x")), 4 * a**3, rtol=1e-5)
    expect(xfront.grad(f)(put(a, "x", "y")), P("x", "y"), 4 * a**3)
    rows = xfront.vmap(lambda r: lax.with_sharding_constraint(r * 2, on("y")))
    expect(xfront.jit(rows)(put(a, "x")), P("x", "y"), a * 2)
    expect(rows(put(a, "x")), P("x", "y"), a * 2)
    loop = xfront.jit(lambda a: lax.fori_loop(
        0, 3, lambda i, c: lax.with_sharding_constraint(c * 2, on("x")), a))
    expect(loop(a), P("x"), a * 8)
    inner = xfront.jit(lambda a: a * 2, out_shardings=on("y"))
    expect(xfront.jit(lambda a: inner(a))(a), P("y"), a * 2)
    np.testing.assert_allclose(xfront.jvp(f, (a,), (a,))[1], (4 * a**4).sum(), rtol=1e-5)


# --- eager functions ----------------------------------------------------------------------

def check_eager_functions_keep_what_the_compiler_keeps() -> None:
    a = grid(8, 8)
    x = put(a, "x", "y")
    expect(x + 1, P("x", "y"), a + 1)
    expect(2 * x, P("x", "y"), a * 2)
    expect(x.T, P("y", "x"), a.T)
    expect(x @ x, P("x", "y"), a @ a)
    expect(x.sum(), P(), a.sum())
    expect(x.sum(axis=0), P("y"), a.sum(0))
    expect(x[3], P("y"), a[3])
    expect(x[1:], P(None, "y"), a[1:])
    expect(jnp.concatenate([x, x]), P("x", "y"), np.concatenate([a, a]))
    expect(jnp.sort(x, axis=0), P("x", "y"), a)
    expect(jnp.zeros_like(x), P("x", "y"), a * 0)
    expect(jnp.full_like(x, 2.0, shape=(3,)), P(), np.full(3, 2.0))
    expect(lax.full_like(x, 2.0, shape=(3,)), P(), np.full(3, 2.0))
    expect(jnp.nonzero(x > 61)[1], P(), [6, 7])
    np.testing.assert_array_equal(x[x > 61], [62, 63])
    expect(xfront.grad(lambda v: (v**2).sum())(x), P("x", "y"), 2 * a)
    expect(xfront.vmap(jnp.sin)(x), P("x", "y"), np.sin(a))
    expect(x.copy(), P("x", "y"), a)
    assert bool((x > 3).any()) and float(x[0, 1]) == 1.0 and x.tolist() == a.tolist()
    assert spec_of(copy.deepcopy(x)) == P("x", "y")
    raises(ValueError, ["Received incompatible devices", "argument x of add"],
           lambda: x + xfront.device_put(a, xfront.devices()[1]))


def check_numbers_are_looked_at() -> None:
    x = put(grid(8) - 1, "x")
    with xfront.debug_nans(True):
        raises(FloatingPointError, ["nan"], lambda: jnp.log(x))


def check_reshard_and_axes_of_other_types() -> None:
    a = grid(8, 8)
    made = xfront.make_mesh((4, 2), ("x", "y"))
    rows, columns = NamedSharding(made, P("y")), NamedSharding(made, P(None, "x"))
    expect(xfront.reshard(jnp.asarray(a), rows), P("y", None), a)
    expect(xfront.jit(lambda a: xfront.reshard(a * 2, columns))(a), P(None, "x"), a * 2)
    raises(IndivisibleError, ["size is 6"], lambda: xfront.reshard(
        grid(6), NamedSharding(made, P("x"))))
    raises(ValueError, ["mesh in context"], lambda: xfront.reshard(a, P("x")))
    for f in (lambda: xfront.device_put(a, P("x")), lambda: jnp.ones(8, out_sharding=P("x")),
              lambda: jnp.einsum("ij,jk", a, a, out_sharding=P("x"))):
        raises(ValueError, ["mesh in context"], f)
    for shape in ((4, 2), (2, 4)):               # an abstract mesh over the devices in context
        mesh = AbstractMesh(shape, ("x", "y"), (AxisType.Explicit,) * 2)
        abstract = NamedSharding(mesh, P("y"))
        for asked in (lambda s=abstract: xfront.reshard(a, s),
                      lambda s=abstract: xfront.device_put(a, s)):
            raises(ValueError, ["abstract mesh", "no devices"], asked)
        with set_mesh(made):
            placed = xfront.reshard(a, abstract)
        expect(placed, P("y", None), a)
        assert placed.sharding.mesh.axis_sizes == shape
        assert placed.sharding.mesh.devices.tolist() == made.devices.reshape(shape).tolist()
    for run in (lambda f: f, xfront.jit):        # axes that are not explicit
        raises(ValueError, ["cannot contain", "axis name: x of type: AxisType.Auto"],
               lambda run=run: run(lambda a: xfront.reshard(a, on(None, "x")))(a))
    x = xfront.device_put(a, NamedSharding(made, P("x")))
    with set_mesh(made):
        kinds = []

        def row(x: Any) -> Any:
            kinds.append(xfront.sharding.get_abstract_mesh().axis_types)
            return x[3]

        expect(xfront.jit(xfront.sharding.auto_axes(row, out_sharding=P("y")))(x), P("y"), a[3])
        assert kinds == [(AxisType.Auto,) * 2]
        twice = xfront.sharding.explicit_axes(lambda x: x * 2, axes="x", in_sharding=P(None, "y"))
        expect(xfront.jit(twice)(x), P(None, "y"), a * 2)
        raises(TypeError, ["out_sharding"], lambda: xfront.sharding.auto_axes(row)(x))


def check_the_host_is_called_once() -> None:
    x, seen = put(grid(8, 8), "x", "y"), []

    def f(x: Any) -> Any:
        xfront.debug.callback(lambda v: seen.append(np.asarray(v).tolist()), x.sum())
        return xfront.pure_callback(
            lambda v: np.asarray(v) * 2, xfront.ShapeDtypeStruct((8, 8), np.float32), x)

    for _ in range(2):
        expect(xfront.jit(f)(x), P(), 2 * grid(8, 8))
    xfront.effects_barrier()
    assert seen == [grid(8, 8).sum()] * 2, seen
    raises(NotImplementedError, ["ordered"], lambda: xfront.jit(
        lambda x: xfront.debug.print("{}", x, ordered=True))(x))


def check_pictures() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        xfront.debug.visualize_array_sharding(put(grid(8, 8), "x", "y"))
        xfront.debug.visualize_array_sharding(put(grid(8), "y"))
    lines = out.getvalue().splitlines()
    assert lines[1] == "| CPU 0 | CPU 1 |" and lines[7] == "| CPU 6 | CPU 7 |"
    assert lines[10] == "| CPU 0,2,4,6 | CPU 1,3,5,7 |", lines
    met: list[Any] = []
    xfront.debug.inspect_array_sharding(put(grid(8), "y"), callback=met.append)
    assert met == [on("y")]
    raises(NotImplementedError, ["inside a traced function"], lambda: xfront.jit(
        lambda x: xfront.debug.inspect_array_sharding(x, callback=print))(grid(8)))


# --- arrays from parts --------------------------------------------------------------------

def check_arrays_from_callbacks_and_parts() -> None:
    value = grid(8, 6)
    asked = []

    def part(index: Any) -> Any:
        asked.append(index)
        return value[index]

    x = xfront.make_array_from_callback((8, 6), on("x"), part)
    expect(x, P("x"), value)
    assert len(asked) == 8 or len(asked) == 4
    parts = [s.data for s in x.addressable_shards]
    expect(xfront.make_array_from_single_device_arrays((8, 6), on("x"), parts), P("x"), value)
    expect(xfront.make_array_from_process_local_data(on("x"), value), P("x"), value)
    raises(ValueError, ["distinct devices"], lambda: xfront.make_array_from_single_device_arrays(
        (8, 6), on("x"), [parts[0]] * 8))
    raises(ValueError, ["shape"], lambda: xfront.make_array_from_single_device_arrays(
        (16, 6), on("x"), parts))
    raises(ValueError, ["shape"], lambda: xfront.make_array_from_callback(
        (8, 6), on("x"), lambda i: value))


# --- at random ----------------------------------------------------------------------------

FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a * b + 1, lambda a, b: jnp.tanh(a) - b, lambda a, b: a.sum(-1) + b.max(-1),
    lambda a, b: jnp.cumsum(a, 0) * b, lambda a, b: jnp.concatenate([a, b], 0),
    lambda a, b: jnp.sort(a, -1) + jnp.flip(b, 0), lambda a, b: (a[1:] * b[:-1]).mean(),
    lambda a, b: jnp.einsum("i...,j...->ij", a, b), lambda a, b: jnp.where(a > b, a, b).T,
    lambda a, b: a.reshape(-1)[::2] + b.reshape(-1)[1::2], lambda a, b: a.argmax(0) + 0 * b[0]]


def drawn(rng: random.Random, kinds: Sequence[AxisType] = (AxisType.Auto,)
          ) -> tuple[Mesh, tuple[int, ...], P, P]:
    """A mesh with axes of these types, a shape and two specs that divide it."""
    sizes = rng.choice([(8,), (4, 2), (2, 4), (2, 2, 2), (2, 3), (1, 4), (5,)])
    names = ("a", "b", "c")[:len(sizes)]
    types = [rng.choice(kinds) for _ in sizes]
    devices = rng.sample(xfront.devices(), int(np.prod(sizes)))
    made = Mesh(np.array(devices).reshape(sizes), names, types)
    ndim = rng.randint(1, 3)
    shape = [rng.choice([2, 4, 6]) for _ in range(ndim)]
    specs = []
    for _ in range(2):
        entries: list[list[str]] = [[] for _ in range(ndim)]
        for name in rng.sample(names, len(names)):
            if rng.random() < 0.6:
                entries[rng.randrange(ndim)].append(name)
        specs.append(P(*map(tuple, entries)))
    for d in range(ndim):
        for spec in specs:
            n = int(np.prod([made.shape[a] for a in _axes(spec[d])]))
            shape[d] = int(np.lcm(shape[d], n))
    return made, tuple(shape), specs[0], specs[1]


def _axes(entry: Any) -> tuple[str, ...]:
    return () if entry is None else (entry,) if isinstance(entry, str) else entry


def agree(seed: int) -> None:
    """One random program on one device and on a mesh."""
    rng = random.Random(seed)
    made, shape, first, second = drawn(rng)
    values = np.random.default_rng(seed)
    a, b = [values.standard_normal(shape).astype(np.float32) for _ in range(2)]
    f = rng.choice(FUNCTIONS)
    expected = f(jnp.asarray(a), jnp.asarray(b))
    x = xfront.device_put(a, NamedSharding(made, first))
    y = xfront.device_put(b, NamedSharding(made, second))
    np.testing.assert_array_equal(x, a)
    for shard in y.addressable_shards:
        np.testing.assert_array_equal(shard.data, b[shard.index])
    moved = xfront.device_put(x, NamedSharding(made, second))
    np.testing.assert_array_equal(moved, a)
    told = NamedSharding(made, P(*[None] * expected.ndim))
    inside = xfront.jit(lambda x, y: f(lax.with_sharding_constraint(x, y_sharding), y))
    y_sharding = y.sharding
    for result in (xfront.jit(f)(x, y), f(x, y), xfront.jit(f)(x, b), inside(x, y),
                   xfront.jit(f, out_shardings=told)(x, y)):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        assert result.sharding.device_set == set(made.devices.flat)
    if expected.dtype == np.float32:
        slope = xfront.grad(lambda a: f(a, y).sum())
        np.testing.assert_allclose(
            slope(x), xfront.grad(lambda v: f(v, jnp.asarray(b)).sum())(jnp.asarray(a)),
            rtol=1e-3, atol=1e-3)


def check_random_programs_agree_with_one_device() -> None:
    for_seeds(agree, 6)


def check_new_arrays_lie_on_the_mesh_in_context() -> None:
    calls: list[Callable[..., Any]] = [
        lambda **k: jnp.zeros((8, 4), **k), lambda **k: jnp.full((8, 4), 2.0, **k),
        lambda **k: jnp.arange(8, **k), lambda **k: jnp.asarray([1, 2, 3, 4], **k),
        lambda **k: jnp.array(np.ones(8), **k), lambda **k: jnp.ones((128, 64), **k),
        lambda **k: xfront.random.permutation(xfront.random.key(0), 8, **k),
        lambda **k: jnp.bincount(jnp.arange(4), length=8, **k)]
    explicit = xfront.make_mesh((4, 2), ("x", "y"))
    for call in calls:
        expected = np.asarray(call())
        assert len(call().devices()) == 1
        for context in (explicit, mesh()):
            with set_mesh(context):
                made = call()
                assert made.committed and made.is_fully_replicated, made.sharding
                assert made.sharding.mesh == context
                np.testing.assert_array_equal(made, expected)
                np.testing.assert_array_equal(made + jnp.ones(made.shape), expected + 1)
        with set_mesh(explicit):
            there = call(out_sharding=P("x"))
            assert there.sharding.spec[0] == "x", there.sharding
            np.testing.assert_array_equal(there, expected)
            assert xfront.device_put(np.ones(8), P("y")).sharding.spec == P("y")
    with set_mesh(explicit):
        assert jnp.zeros((8, 4)).sharding.spec == P(None, None)
        assert jnp.array([1.0]).sharding.spec == P()
        assert jnp.eye(8).sharding.spec == P(None, None)
        assert len(jnp.ones(8, device=xfront.devices()[1]).devices()) == 1


def check_filled_arrays_lie_as_their_sharding_says() -> None:
    for over in (xfront.make_mesh((4, 2), ("x", "y")), mesh()):
        for spec in (P("x", "y"), P("y"), P()):
            there = NamedSharding(over, spec)
            like = xfront.device_put(np.zeros((8, 4), np.float32), there)
            for made in (
                    lax.full((8, 4), 2.0, sharding=there),
                    lax.full_like(np.zeros((8, 4), np.int32), 2, sharding=there),
                    xfront.jit(lambda there=there: lax.full((8, 4), 2.0, sharding=there))(),
                    xfront.jit(lambda x, there=there: lax.full_like(x, 2, sharding=there))(like),
                    xfront.grad(lambda x, there=there: (
                        x * lax.full_like(x, 2.0, sharding=there)).sum())(like)):
                assert made.sharding.is_equivalent_to(there, 2), (made.sharding, there)
                np.testing.assert_array_equal(made, np.full((8, 4), 2))
    third = xfront.devices()[3]
    alone = lax.full(3, 1, sharding=xfront.sharding.SingleDeviceSharding(third))
    assert alone.devices() == {third}
    raises(TypeError, ["full: sharding must be a Sharding or None, got 3"],
           lambda: lax.full(3, 1, sharding=3))


def check_shardings_of_one_device_have_no_more_entries_than_the_value() -> None:
    one = NamedSharding(xfront.make_mesh((1,), ("x",)), P("x", None))
    for told in ({"in_shardings": one}, {"out_shardings": one}):
        raises(ValueError, ["rank at least 2"],
               lambda told=told: xfront.jit(lambda x: x + 1, **told)(np.ones(4)))


def check_shards_are_made_of_a_sharding() -> None:
    device = mesh().devices[1, 1]
    shard = xfront.Shard(device, on("x"), (8, 4))
    assert (shard.index, shard.replica_id, shard.data) == (
        (slice(2, 4), slice(None)), 1, None)
    x = put(grid(8, 4), "x")
    found = next(s for s in x.addressable_shards if s.device == device)
    assert (found.index, found.replica_id) == (shard.index, shard.replica_id)
    raises(ValueError, ["none of the devices"], lambda: xfront.Shard(
        device, xfront.sharding.make_single_device_sharding(xfront.devices()[0]), (8,)))
    raises(IndivisibleError, ["7"], lambda: xfront.Shard(device, on("x"), (7,)))


def check_results_lie_on_the_mesh_that_says_how() -> None:
    """Of meshes of the same devices, those of arguments and those that the program names."""
    line, cube = (xfront.make_mesh(sizes, names, axis_types=(AxisType.Auto,) * len(sizes))
                  for sizes, names in (((8,), ("z",)), ((2, 2, 2), ("a", "b", "c"))))
    explicit = xfront.make_mesh((4, 2), ("x", "y"))
    value = grid(8, 8)

    def parts(over: Mesh, spec: P) -> Callable[[Any], Any]:
        return xfront.shard_map(lambda a: a * 2, mesh=over, in_specs=spec, out_specs=spec)

    for first in (NamedSharding(line, P("z")), on("x"), NamedSharding(explicit, P("x")),
                  NamedSharding(explicit, P())):
        x = xfront.device_put(value, first)
        cases = [(parts(mesh(), P("x")), mesh(), P("x")),
                 (parts(mesh(), P(None, "y")), mesh(), P(None, "y"))]
        if first.mesh is not explicit:
            cases += [(lambda a: lax.with_sharding_constraint(
                           a * 2, NamedSharding(cube, P("a", "b"))), cube, P("a", "b")),
                      (lambda a: lax.with_sharding_constraint(
                           a * 2, NamedSharding(line, P("z"))), line, P("z")),
                      (parts(cube, P("a", "c")), cube, P("a", "c")),
                      (lambda a: (parts(mesh(), P("x"))(a), a * 2)[1], first.mesh, first.spec)]
        for f, over, spec in cases:
            for run in (f, xfront.jit(f)):
                made = run(x)
                assert made.sharding == NamedSharding(over, spec), (made.sharding, over, spec)
                for _ in range(2):
                    expect(xfront.jit(jnp.sum)(made).reshape(1, 1), P(), 2 * value.sum())
                np.testing.assert_array_equal(made, 2 * value)


def check_programs_on_two_meshes_as_bytes() -> None:
    line = NamedSharding(xfront.make_mesh((8,), ("z",), axis_types=(AxisType.Auto,)), P("z"))
    value = grid(8, 8)
    x, y = xfront.device_put(value, line), put(value, "x", "y")
    compiled = xfront.jit(lambda a, b: (a * 2, b * 3)).lower(x, y).compile()
    doubled, tripled = deserialize_and_load(*serialize(compiled))(x, y)
    assert (doubled.sharding, tripled.sharding) == (line, y.sharding)
    np.testing.assert_array_equal(doubled, value * 2)
    np.testing.assert_array_equal(tripled, value * 3)


def check_arrays_whose_sharding_no_spec_says() -> None:
    tiles = NamedSharding(mesh(), P("y", "x"))
    odd = GSPMDSharding(tiles._internal_device_list, tiles._to_xla_hlo_sharding(2))
    value = grid(8, 4)
    x = xfront.device_put(value, odd)
    assert x.sharding == odd and x.addressable_shards[0].data.shape == (4, 1)
    w, f = put(value, "x"), xfront.jit(lambda a, w: (a * w).sum(1))
    for _ in range(3):                               # C++ runs what Python has run before
        np.testing.assert_array_equal(f(x, w), (value * value).sum(1))
        np.testing.assert_array_equal(x + 1, value + 1)
        np.testing.assert_array_equal(xfront.grad(lambda a: (a * a).sum())(x), 2 * value)


def check_meshes_and_specs_do_not_change() -> None:
    first = mesh()
    for what, name in ((first, "axis_names"), (first, "devices"), (first, "axis_types"),
                       (first.abstract_mesh, "axis_sizes"), (P("x"), "partitions"),
                       (P("x"), "unreduced"), (first.abstract_mesh.abstract_device, "device_kind")):
        raises(AttributeError, [name, "does not change"],
               partial(setattr, what, name, getattr(what, name)))
    assert mesh().axis_names == ("x", "y")
    raises(ValueError, ["negative", "(2, -1)"], lambda: xfront.make_mesh((2, -1), ("x", "y")))


def check_unconstrained_dimensions_are_for_constraints_alone() -> None:
    value, open_ = grid(8, 4), on(P.UNCONSTRAINED)
    for f in (lambda: xfront.jit(lambda x: x, in_shardings=open_)(value),
              lambda: xfront.jit(lambda x: x, out_shardings=open_)(value)):
        raises(ValueError, ["Unconstrained dims are not allowed"], f)
    for f in (lambda: xfront.device_put(value, open_), lambda: jnp.ones((8, 4), device=open_),
              lambda: xfront.make_array_from_callback((8, 4), open_, lambda i: value[i])):
        raises(ValueError, ["UNCONSTRAINED"], f)
    lay = xfront.jit(lambda x: lax.with_sharding_constraint(x * 2, on(P.UNCONSTRAINED, "y")))
    expect(lay(put(value, "x")), P("x", "y"), value * 2)


def check_programs_that_name_one_device_run_there() -> None:
    value, there = grid(8, 4), xfront.devices()[3]
    place = xfront.sharding.SingleDeviceSharding(there)

    def f(x: Any) -> Any:
        return lax.with_sharding_constraint(x, place) * 2

    for g in (xfront.jit(f), f, xfront.vmap(f), xfront.jit(f, in_shardings=place),
              xfront.jit(f, out_shardings=place), xfront.grad(lambda x: (f(x) * x).sum() / 2)):
        for _ in range(2):
            made = g(jnp.asarray(value))
            assert made.committed and made.sharding == place, made.sharding
            np.testing.assert_array_equal(made, 2 * value)
    for x in (put(value, "x"), xfront.device_put(value, xfront.devices()[2])):
        raises(ValueError, ["incompatible devices"], partial(xfront.jit(f), x))


def check_what_does_not_divide_is_refused_or_divided_less() -> None:
    x, rows, both = np.ones(12, np.float32), on("x"), on(("x", "y"))
    lay = xfront.jit(lambda x: lax.with_sharding_constraint(x * 2, both))
    expect(lay(x), P("x"), x * 2)                    # by 4, not by 8
    inside = xfront.jit(lambda x: xfront.jit(lambda y: y + 1, in_shardings=both)(x))
    outside = xfront.jit(lambda x: xfront.jit(lambda y: y + 1, out_shardings=rows)(x))
    for f, given in ((lambda a: lax.with_sharding_constraint(a, both), x), (inside, x),
                     (outside, x[:6])):
        raises(IndivisibleError, ["partitioned"], partial(f, given))
    made = xfront.jit(jnp.add, in_shardings=[rows, rows])(x, x)
    np.testing.assert_array_equal(made, x + x)


def check_structs_have_the_shardings_that_results_get() -> None:
    x, columns = put(grid(8, 4), "x"), on(None, "y")
    f = xfront.jit(lambda x: (x * 2, x.sum()), out_shardings=(columns, None))
    for told in (f.eval_shape(x), xfront.eval_shape(f, x), f.lower(x).out_info):
        assert told[0].sharding == columns and told[1].sharding is None
    raises(ValueError, ["rank at least 2"], lambda: xfront.ShapeDtypeStruct(
        (8,), np.float32, sharding=on("x", None)))


CHECKS = checks_in(globals())


if __name__ == "__main__":
    report(CHECKS, DEVICES)
