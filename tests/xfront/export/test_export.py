"""`xfront.export`: exported programs against the functions they were made from, in this process and
in another one; derivatives, control flow, and what is refused."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import export, lax
from xfront.export import exported as module

from .catalogue import DIFFERENTIABLE, PROGRAMS


def numbers(x: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(x) if jnp.issubdtype(
        x.dtype, jax.dtypes.prng_key) else x)


def assert_same(made: Any, wanted: Any) -> None:
    """Equal trees and types; numbers up to what another fusion changes."""
    assert jax.tree.structure(made) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(made), jax.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype != jax.dtypes.float0:
            assert a.weak_type == b.weak_type
            a, b = numbers(a), numbers(b)
            tolerance = 1e-2 if a.dtype.itemsize < 4 and b.dtype.kind not in "biu" else 2e-5
            np.testing.assert_allclose(a.astype(np.complex128), b.astype(np.complex128),
                                       rtol=tolerance, atol=tolerance)


def again(exported: export.Exported, vjp_order: int = 0) -> export.Exported:
    return export.deserialize(exported.serialize(vjp_order))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_read_program_gives_what_the_function_gives(name: str) -> None:
    f, args = PROGRAMS[name]
    jitted = jax.jit(f)
    wanted = jitted(*args)
    exported = export.export(jitted)(*args)
    read = again(exported)
    assert_same(read.call(*args), wanted)
    assert_same(jax.jit(read.call)(*args), wanted)
    for field in ("fun_name", "in_tree", "in_avals", "out_tree", "out_avals", "platforms",
                  "nr_devices", "module_kept_var_idx", "mlir_module_serialized",
                  "calling_convention_version", "uses_global_constants"):
        assert getattr(read, field) == getattr(exported, field)
    assert read.out_avals == tuple(x.aval for x in jax.tree.leaves(wanted))
    assert read.in_avals == tuple(jax.typeof(x) for x in jax.tree.leaves(args))
    assert not read.has_vjp() and exported.has_vjp()


def cotangents(result: Any) -> Any:
    return jax.tree.map(lambda x: jnp.ones_like(x) if jnp.issubdtype(x.dtype, jnp.inexact)
                        else np.zeros(x.shape, jax.dtypes.float0), result)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_stored_vjp_gives_the_gradients_of_the_function(name: str) -> None:
    f, args = DIFFERENTIABLE[name]
    read = again(export.export(jax.jit(f))(*args), 1)
    result, pull = jax.vjp(f, *args)
    made, pull_made = jax.vjp(read.call, *args)
    assert jax.tree.structure(made) == jax.tree.structure(result)
    ct = cotangents(result)
    for a, b in zip(jax.tree.leaves(pull_made(ct)), jax.tree.leaves(pull(ct)), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(np.asarray(a, np.complex64), np.asarray(b, np.complex64),
                                       rtol=2e-3, atol=2e-3)
    stored = read.vjp()
    assert stored.in_tree == jax.tree.structure((tuple([0] * len(stored.in_avals)), {}))
    assert len(stored.out_avals) == len(read.in_avals) and not stored.has_vjp()
    flat = [*jax.tree.leaves(args), *jax.tree.leaves(ct)]
    flat = [jnp.asarray(x, a.dtype) if a.dtype != jax.dtypes.float0 else x
            for x, a in zip(flat, stored.in_avals, strict=True)]
    for a, b in zip(stored.call(*flat), stored.out_avals, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape


READ = """
import pickle, sys
import numpy as np
import xfront as jax
import xfront.numpy as jnp
from xfront import export
for name, blob, args in pickle.load(sys.stdin.buffer):
    leaves = jax.tree.leaves(export.deserialize(blob).call(*args))
    print(name, [np.asarray(x).astype(np.complex64).tobytes().hex() for x in leaves])
"""


def test_another_process_runs_the_programs() -> None:
    """Read where none of the functions is known."""
    rows, wanted = [], []
    for name, (f, args) in PROGRAMS.items():
        if "key" in name or name == "split" or name == "ordered":
            continue
        exported = export.export(jax.jit(f))(*args)
        rows.append((name, exported.serialize(),
                     jax.tree.map(lambda x: x if type(x) is float else np.asarray(x), args)))
        leaves = jax.tree.leaves(exported.call(*args))
        wanted.append(f"{name} " + str([
            np.asarray(x).astype(np.complex64).tobytes().hex() for x in leaves]))
    done = subprocess.run([sys.executable, "-W", "error", "-c", READ], input=pickle.dumps(rows),
                          capture_output=True, cwd=Path(__file__).parents[3], timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines() == wanted


# --- in programs --------------------------------------------------------------------------

STEP = jax.jit(lambda c, x: (c * x, c + x))


def exported_step(order: int = 1) -> Any:
    return again(export.export(STEP)(np.float32(1), np.float32(2)), order)


def test_calls_in_loops_branches_and_other_exports() -> None:
    read, xs = exported_step(), jnp.arange(1.0, 4.0)
    one = jnp.float32(1)
    assert_same(lax.scan(read.call, one, xs), lax.scan(STEP, one, xs))
    pick = lambda f: lambda i, x: lax.cond(i, lambda v: f(v, v), lambda v: f(v, v + 1), x)
    for i in (True, False):
        assert_same(jax.jit(pick(read.call))(i, one * 3), jax.jit(pick(STEP))(i, one * 3))
    twice = lambda f: lambda x: f(*f(x, x + 1))
    outer = again(export.export(jax.jit(twice(read.call)))(one), 1)
    assert_same(outer.call(one * 2), twice(STEP)(one * 2))
    loss = lambda f: lambda x: f(x)[0] * f(x)[1]
    np.testing.assert_allclose(jax.grad(loss(outer.call))(one * 2),
                               jax.grad(loss(twice(STEP)))(one * 2), rtol=1e-5)
    total = lambda f: lambda c: lax.scan(f, c, xs)[1].sum()
    np.testing.assert_allclose(jax.grad(total(read.call))(one), jax.grad(total(STEP))(one))
    np.testing.assert_allclose(jax.grad(jax.checkpoint(total(read.call)))(one),
                               jax.grad(total(STEP))(one))


def test_functions_of_equal_names_do_not_meet() -> None:
    """Each module keeps its own private functions, whatever they are called."""
    def using(k: int) -> Any:
        @jax.jit
        def inner(x: Any) -> Any:
            return jnp.sin(x * k) + x * x - k
        return jax.jit(lambda x: inner(inner(inner(x) + 1)))

    ones = [again(export.export(using(k))(jnp.ones(3))) for k in (1, 2, 3)]
    every = jax.jit(lambda x: [e.call(x) for e in ones] + [using(5)(x)])
    x = jnp.linspace(0.0, 1.0, 3)
    assert_same(every(x), [using(k)(x) for k in (1, 2, 3, 5)])


def test_orders_of_derivatives() -> None:
    f = jax.jit(lambda x: jnp.sin(x) * x)
    for order in (0, 1, 2, 3):
        read = again(export.export(f)(1.0), order)
        made, wanted = read.call, f
        for _ in range(order):
            made, wanted = jax.grad(made), jax.grad(wanted)
            np.testing.assert_allclose(made(0.7), wanted(0.7), rtol=1e-5)
        with pytest.raises(ValueError, match="No VJP is available"):
            jax.grad(made)(0.7)
    live = export.export(f)(1.0)
    np.testing.assert_allclose(jax.grad(jax.grad(live.call))(0.7), jax.grad(jax.grad(f))(0.7),
                               rtol=1e-5)
    assert live.vjp() is live.vjp()
    with pytest.raises(ValueError, match="No VJP"):
        again(live).vjp()


def test_forward_mode_and_vmap_are_refused() -> None:
    read = again(export.export(jax.jit(jnp.sin))(jnp.ones(3)), 1)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(read.call, (jnp.ones(3),), (jnp.ones(3),))
    with pytest.raises(NotImplementedError, match="Batching rule for 'call_exported'"):
        jax.vmap(read.call)(jnp.ones((2, 3)))
    assert_same(lax.map(read.call, jnp.ones((2, 3))), jnp.sin(jnp.ones((2, 3))))


def test_results_follow_their_arguments_and_options() -> None:
    read = again(export.export(jax.jit(lambda x: x * 2, donate_argnums=0))(jnp.ones(3)))
    x = jnp.ones(3)
    read.call(x)
    assert not x.is_deleted()
    jax.jit(read.call, donate_argnums=0)(x)
    assert x.is_deleted()
    static = export.export(jax.jit(lambda x, n: x * n, static_argnums=1))(2.0, 3)
    assert float(static.call(5.0)) == 15
    assert static.in_tree == jax.tree.structure(((0,), {}))
    kept = export.export(jax.jit(lambda x, y: y, keep_unused=True))(1.0, 2.0)
    assert kept.module_kept_var_idx == (0, 1) and float(kept.call(1.0, 7.0)) == 7


# --- platforms ----------------------------------------------------------------------------

def test_several_platforms_are_one_module() -> None:
    f = jax.jit(lambda x: (jnp.linalg.qr(x)[1], jnp.sin(x)))
    x = jnp.asarray([[2.0, 1.0], [0.5, 3.0]])
    several = again(export.export(f, platforms=("tpu", "cpu", "cuda"))(x))
    assert several.platforms == ("tpu", "cpu", "cuda") and several.uses_global_constants
    text = several.mlir_module()
    assert "stablehlo.case" in text and "@Qr" in text and "lapack_sgeqrf_ffi" in text
    assert_same(several.call(x), f(x))
    assert "@Qr" not in jax.jit(several.call).lower(x).as_text()
    same = export.export(jax.jit(jnp.sin), platforms=("cpu", "tpu"))(x)
    assert same.mlir_module().count("stablehlo.sine") == 1
    assert_same(same.call(x), jnp.sin(x))
    sine = again(export.export(jax.jit(lambda v: jnp.sin(v).sum()), platforms=("cpu", "tpu"))(x), 1)
    np.testing.assert_allclose(jax.grad(sine.call)(x), jnp.cos(x), rtol=1e-5)
    for_tpu = jax.jit(several.call).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    assert "@Qr" in for_tpu and "lapack" not in for_tpu


def test_other_platforms_are_refused_unless_the_check_is_disabled() -> None:
    there = again(export.export(jax.jit(jnp.sin), platforms=["tpu"])(1.0))
    with pytest.raises(ValueError, match=r"exported for platforms '\('tpu',\)' but it is used on"):
        there.call(1.0)
    unchecked = again(export.export(
        jax.jit(jnp.sin), platforms=["tpu"],
        disabled_checks=[export.DisabledSafetyCheck.platform()])(1.0))
    assert unchecked.disabled_safety_checks == (export.DisabledSafetyCheck.platform(),)
    np.testing.assert_allclose(unchecked.call(1.0), np.sin(1.0), rtol=1e-6)
    for bad, match in ((["gpu"], "cuda or rocm"), (["foo"], "unknown platform"),
                       (["cpu", "cpu"], "must differ")):
        with pytest.raises(ValueError, match=match):
            export.export(jax.jit(jnp.sin), platforms=bad)
    assert export.export(jax.jit(jnp.sin), platforms=[])(1.0).platforms == ("cpu",)
    assert export.default_export_platform() == "cpu"


# --- refusals -----------------------------------------------------------------------------

def test_wrong_calls_are_refused() -> None:
    f = jax.jit(lambda x, *, y: x["u"] * y)
    read = again(export.export(f)({"u": jnp.ones(3)}, y=jnp.float32(2)))
    good = {"u": jnp.ones(3)}
    for args, kwargs, kind, match in [
        (({"u": jnp.ones(4)},), {"y": 2.0}, ValueError,
         r"Shape mismatch for args\[0\]\['u'\].shape\[0\] .*\(3,\) and called with \(4,\)"),
        (({"u": jnp.ones((3, 1))},), {"y": 2.0}, ValueError, r"expected \(3,\) and called with"),
        (({"u": jnp.ones(3, jnp.int32)},), {"y": 2.0}, ValueError,
         r"Dtype mismatch for args\[0\]\['u'\]: expected float32 and called with int32"),
        ((good,), {"y": 2}, ValueError, r"Dtype mismatch for kwargs\['y'\]"),
        ((good,), {}, ValueError, "same pytree structure"),
        ((good, 1.0), {}, ValueError, "same pytree structure"),
        (({"v": jnp.ones(3)},), {"y": 2.0}, ValueError, "same pytree structure"),
        (({"u": "text"},), {"y": 2.0}, TypeError, "not a valid array type"),
        (({"u": jax.random.key(1)},), {"y": 2.0}, ValueError, "mismatch"),
    ]:
        with pytest.raises(kind, match=match):
            read.call(*args, **kwargs)
        if kind is ValueError:
            with pytest.raises(kind, match=match):
                jax.jit(lambda a, k: read.call(*a, **k))(args, kwargs)


def test_what_belongs_to_the_process_is_refused() -> None:
    struct = jax.ShapeDtypeStruct((), np.float32)
    for f in (lambda x: jax.pure_callback(np.sin, struct, x),
              lambda x: jax.debug.print("{x}", x=x) or x,
              lambda x: lax.cond(x > 0, lambda v: jax.pure_callback(np.sin, struct, v),
                                 lambda v: v, x)):
        with pytest.raises(NotImplementedError, match="host_callbacks"):
            export.export(jax.jit(f))(1.0)
    with pytest.raises(NotImplementedError, match="effects"):
        export.export(jax.jit(lambda x: lax.dce_sink(x, prevent_mlir_dce=True) or x))(1.0)
    with pytest.raises(NotImplementedError, match="takes references"):
        export.export(jax.jit(lambda r: r[...]))(jax.new_ref(jnp.ones(2)))
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="closes over a value that is traced"):
        jax.jit(lambda x: export.export(jax.jit(lambda y: x + y))(1.0).call(x))(1.0)
    with pytest.raises(TypeError, match="must be DisabledSafetyChecks"):
        export.export(jax.jit(jnp.sin), disabled_checks=["platform"])  # type: ignore[list-item]
    with pytest.raises(NotImplementedError, match="_override_lowering_rules"):
        export.export(jax.jit(jnp.sin), _override_lowering_rules=())  # type: ignore[arg-type]


def test_kernels_without_a_guarantee_are_named() -> None:
    f = jax.jit(lambda x: jnp.linalg.eigvals(x))
    struct = jax.ShapeDtypeStruct((3, 3), np.float32)
    with pytest.raises(ValueError, match="no compatibility guarantees.*cuhybrid_eig_real"):
        export.export(f, platforms=["cuda"])(struct)
    check = export.DisabledSafetyCheck.custom_call("cuhybrid_eig_real")
    made = again(export.export(f, platforms=["cuda"], disabled_checks=[check])(struct))
    assert made.disabled_safety_checks == (check,)
    assert check.is_custom_call() == "cuhybrid_eig_real" and str(check).startswith("custom_call:")
    assert export.DisabledSafetyCheck.platform().is_custom_call() is None
    assert len({check, export.DisabledSafetyCheck.custom_call("cuhybrid_eig_real")}) == 1
    with pytest.raises(ValueError, match="must be made by"):
        export.DisabledSafetyCheck("other")


def test_exports_too_deep_are_refused() -> None:
    f = jax.jit(lambda x: x + 1)
    made = export.export(f)(1.0)
    with pytest.raises(NotImplementedError, match="chain of"):
        for _ in range(80):
            f = jax.jit(made.call)
            made = export.export(f)(1.0)
    assert float(made.call(1.0)) == 2


# --- trees --------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")
Stray = namedtuple("Stray", "a b")
export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")


@jax.tree_util.register_pytree_node_class
class Named:
    """A node whose auxiliary data are text."""

    def __init__(self, x: Any, name: str) -> None:
        self.x, self.name = x, name

    def tree_flatten(self) -> tuple:
        return (self.x,), self.name

    @classmethod
    def tree_unflatten(cls, name: str, children: Any) -> Named:
        return cls(children[0], name)


@jax.tree_util.register_pytree_node_class
class Built(Named):
    """The same, which is made from its children when it is read."""


for cls, build in ((Named, None), (Built, lambda name, children: Built(children[0], name))):
    export.register_pytree_node_serialization(
        cls, serialized_name=f"tests.{cls.__name__}", serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode, from_children=build)


def test_registered_classes_are_part_of_the_bytes() -> None:
    for tree in (Pair(1.0, (2.0, None)), Named(Pair(1.0, [2.0]), "n"), Built({"a": 1.0}, "b"),
                 OrderedDict(b=1.0, a=[2.0, ()]), {"b": 1.0, "a": (None, 2.0)}):
        read = again(export.export(jax.jit(lambda t: (t, 1.0)))(tree))
        assert read.in_tree == jax.tree.structure(((tree,), {}))
        assert jax.tree.structure(read.call(tree)[0]) == jax.tree.structure(tree)


def test_other_classes_are_refused() -> None:
    for tree, kind, match in ((Stray(1.0, 2.0), ValueError, "unregistered type"),
                              (defaultdict(list, a=1.0), ValueError, "unregistered type"),
                              ({1: 2.0}, TypeError, "string keys")):
        made = export.export(jax.jit(lambda t: jax.tree.leaves(t)))(tree)
        assert len(made.call(tree)) == len(jax.tree.leaves(tree))
        with pytest.raises(kind, match=match):
            made.serialize()
    register = export.register_namedtuple_serialization
    for cls, name, match in ((Pair, "other", "Duplicate.*type"),
                             (Stray, "tests.Pair", "Duplicate.*serialized_name"),
                             (Named, "x", "types other than"), (3, "x", "types other than")):
        with pytest.raises(ValueError, match=match):
            register(cls, serialized_name=name)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="register_pytree_node"):
        export.register_pytree_node_serialization(
            int, serialized_name="int", serialize_auxdata=str.encode,
            deserialize_auxdata=bytes.decode)
    with pytest.raises(ValueError, match="not registered here"):
        pair = export.export(jax.jit(lambda x: x))(Pair(1.0, 2.0))
        header, blobs = module.BYTES.read(pair.serialize())
        header["in_tree"][1][1][1] = "tests.Gone"
        export.deserialize(module.BYTES.write(header, blobs))


# --- bytes --------------------------------------------------------------------------------

def test_every_damaged_byte_is_noticed() -> None:
    blob = export.export(jax.jit(jnp.sin))(1.0).serialize(vjp_order=1)
    chance = random.Random(5)
    for i in [*range(60), *[chance.randrange(len(blob)) for _ in range(300)]]:
        bad = bytearray(blob)
        bad[i] ^= 1 << chance.randrange(8)
        with pytest.raises(ValueError, match="damaged|are not|of version"):
            export.deserialize(bad)
    for n in (0, 5, 50, len(blob) - 1):
        with pytest.raises(ValueError, match="damaged|cut short"):
            export.deserialize(blob[:n])
    with pytest.raises(TypeError, match="must be bytes"):
        export.deserialize(7)  # type: ignore[arg-type]


def test_other_versions_are_named() -> None:
    blob = export.export(jax.jit(jnp.sin))(1.0).serialize()
    header, blobs = module.BYTES.read(blob)
    later = module.Container("an exported program", b"xfront-hlo\n", 2, 1)
    with pytest.raises(ValueError, match="version 2 cannot be read: this xfront reads versions 1"):
        export.deserialize(later.write(header, blobs))
    for version in (8, 11):
        with pytest.raises(ValueError, match=f"version {version} of the calling convention"):
            export.deserialize(module.BYTES.write(
                {**header, "calling_convention_version": version}, blobs))


@pytest.mark.parametrize("changed", [
    {"in_avals": [["f32", [2], False]]}, {"in_avals": []}, {"in_avals": [["none", [], False]]},
    {"in_avals": [["f32", [-1], False]]}, {"in_avals": 3}, {"out_avals": [["i32", [], False]]},
    {"in_tree": ["tuple"]}, {"in_tree": "x"}, {"in_tree": ["node", "tests.Named"]},
    {"in_tree": ["dict", ["a", "a"], "*", "*"]}, {"platforms": []}, {"platforms": ["cpu", "tpu"]},
    {"kept": [1]}, {"kept": ["0"]}, {"kept": []}, {"nr_devices": 2}, {"disabled_checks": ["x"]},
])
def test_headers_that_do_not_fit_are_refused(changed: dict[str, Any]) -> None:
    header, blobs = module.BYTES.read(export.export(jax.jit(jnp.sin))(1.0).serialize())
    with pytest.raises(ValueError, match="malformed|DisabledSafetyCheck|devices|mismatch"):
        read = export.deserialize(module.BYTES.write({**header, **changed}, blobs))
        read.call(*[jnp.zeros(a.shape, a.dtype) for a in read.in_avals])


def test_programs_that_are_not_stablehlo_are_refused() -> None:
    header, (code,) = module.BYTES.read(export.export(jax.jit(jnp.sin))(1.0).serialize())
    for wrong in (b"", b"text", code[:40]):
        read = export.deserialize(module.BYTES.write(header, [wrong]))
        with pytest.raises(ValueError, match="cannot read the program"):
            read.mlir_module()
        with pytest.raises(ValueError, match="cannot read the program"):
            read.call(1.0)
    later = code.replace(b"StableHLO_v1", b"StableHLO_v9", 1)
    with pytest.raises(ValueError, match="which is StableHLO 9.*: export it with an"):
        export.deserialize(module.BYTES.write(header, [later])).call(1.0)
