"""What users store: by pickle, and by `copy` and `copy.deepcopy`, each kind of thing comes back."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.device_checks import ROOT
from xfront import lax, nn, random, tree_util
from xfront.experimental import sparse
from xfront.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
)
from xfront.sharding import PartitionSpec as P

HOW: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}


def wave(x: Any) -> Any:
    return jnp.sin(x) * 2


@xfront.jit
def jitted(x: Any) -> Any:
    return jnp.cos(x)


@xfront.custom_jvp
def ruled(x: Any) -> Any:
    return x * x


ruled.defjvp(lambda x, t: (ruled(x[0]), 3 * t[0]))


def mesh() -> Mesh:
    return Mesh(np.array(xfront.devices()[:1]), ("x",))


def words(x: Any) -> np.ndarray:
    return np.asarray(random.key_data(x) if jnp.issubdtype(x.dtype, xfront.dtypes.prng_key) else x)


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_arrays_and_keys(how: Callable[[Any], Any]) -> None:
    tree = {"a": jnp.arange(3.0), "weak": jnp.asarray(1.0), "bf16": jnp.ones(2, jnp.bfloat16),
            "int4": jnp.ones(3, jnp.int4), "empty": jnp.zeros((0, 2)), "complex": jnp.array(1j),
            "key": random.key(0), "keys": random.split(random.key(1), 3),
            "raw": random.PRNGKey(0), "rbg": random.key(0, impl="rbg"),
            "sparse": sparse.BCOO.fromdense(jnp.eye(2)), "none": (None, [True, 2])}
    found = how(tree)
    leaves, structure = xfront.tree.flatten(tree)
    others, same = xfront.tree.flatten(found)
    assert structure == same
    for x, y in zip(leaves, others, strict=True):
        if not isinstance(x, xfront.Array):
            assert x == y
            continue
        assert x.dtype == y.dtype and x.weak_type == y.weak_type
        assert np.array_equal(words(x), words(y))


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_shardings_devices_types_and_trees(how: Callable[[Any], Any]) -> None:
    device = xfront.devices()[0]
    named = NamedSharding(mesh(), P("x"))
    for x in (device, mesh(), named, SingleDeviceSharding(device), P("x", None, ("a", "b")),
              SingleDeviceSharding(device, memory_kind="pinned_host"), AxisType.Auto,
              AbstractMesh((2, 4), ("x", "y")), jnp.ones(2).format, random.key(0).dtype,
              xfront.ShapeDtypeStruct((2, 3), jnp.float32, sharding=named), xfront.float0,
              xfront.tree.structure({"a": [1, (None, 3)]}), random.key_impl(random.key(0)),
              tree_util.tree_flatten_with_path({"a": [1]})[0][0][0], xfront.typeof(jnp.ones(2)),
              lax.Precision.HIGHEST, lax.conv_dimension_numbers((1,) * 4, (1,) * 4, None),
              lax.GatherDimensionNumbers((0,), (0,), (0,)), jnp.float32, jnp.bfloat16):
        found = how(x)
        assert found == x and type(found) is type(x), x
    assert how(device) is device


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_functions(how: Callable[[Any], Any]) -> None:
    functions: list[Any] = [
        jitted, ruled, jnp.sin, nn.relu, xfront.jit(wave), xfront.jit(jnp.tanh),
        tree_util.Partial(jnp.power, 3.0), functools.partial(jnp.add, 1.0)]
    for f in functions:
        assert np.allclose(f(0.5), how(f)(0.5)), f
    policy = xfront.checkpoint_policies.dots_saveable
    assert how(policy) is policy
    assert xfront.grad(how(ruled))(2.0) == 3.0
    assert how(jnp.add).reduce(jnp.arange(4)) == 6


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy])
def test_transformed_functions_are_copied(how: Callable[[Any], Any]) -> None:
    for f in (xfront.grad(wave), xfront.vmap(wave), xfront.jit(xfront.grad(wave)),
              xfront.checkpoint(wave), xfront.hessian(wave), xfront.linearize(wave, 0.5)[1],
              lambda x: xfront.vjp(wave, 0.5)[1](x)[0], jnp.vectorize(wave),
              nn.initializers.lecun_normal(), xfront.named_call(wave, name="f")):
        assert callable(how(f))
    pulled = how(xfront.vjp(wave, 0.5)[1])
    assert np.allclose(pulled(1.0)[0], 2 * np.cos(0.5))


def test_they_come_back_in_another_process() -> None:
    stored = {"w": jnp.arange(3.0), "key": random.key(3), "place": NamedSharding(mesh(), P("x")),
              "device": xfront.devices()[0], "f": xfront.jit(jnp.sin)}
    program = """
import pickle, sys
import xfront.numpy as jnp
from xfront import random
x = pickle.load(sys.stdin.buffer)
assert float(x["w"].sum()) == 3.0 and x["place"].mesh.devices.size == 1
assert x["device"] == x["w"].device and float(x["f"](0.0)) == 0.0
assert float(random.uniform(x["key"])) == float(random.uniform(random.key(3)))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, timeout=120,
                          input=pickle.dumps(stored), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
