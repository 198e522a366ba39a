"""`checkpoint` shares a trace between calls, and never gives what was true of an earlier one."""

from __future__ import annotations

import functools
import math
import random
import sys
import time
import types
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.transforms import flat
from xfront.transforms.reads import reads


@pytest.fixture
def traced(monkeypatch):
    """The names of functions that were traced."""
    names = []
    plain = flat.Arguments.trace

    def trace(self, fun, *, name, kind, **rest):
        if kind == "checkpoint":
            names.append(name)
        return plain(self, fun, name=name, kind=kind, **rest)

    monkeypatch.setattr(flat.Arguments, "trace", trace)
    return names


SCALE = 2.0


def scaled(x):
    return jnp.sin(x) * SCALE


def layer(w, x, power=2):
    return scaled(w["w"] @ x) ** power


def test_one_trace_serves_many_calls(traced):
    w, x = {"w": jnp.eye(3)}, jnp.arange(3.0)

    def deep(w, x):
        for _ in range(5):
            x = xfront.checkpoint(layer)(w, x)
        return x.sum()

    found = xfront.jit(xfront.grad(deep))(w, x)["w"]
    assert traced == ["layer"]
    xfront.vmap(xfront.checkpoint(layer), (None, 0))(w, jnp.ones((2, 3)))
    xfront.checkpoint(layer)(w, jnp.ones((3, 4)))
    assert traced == ["layer"] * 2               # a batch has the types of its rows

    def plain(w, x):
        for _ in range(5):
            x = layer(w, x)
        return x.sum()

    np.testing.assert_allclose(found, xfront.grad(plain)(w, x)["w"], rtol=1e-6)


def test_static_arguments_have_traces_of_their_own(traced):
    f = xfront.checkpoint(lambda x, n: x * n, static_argnums=1)
    assert [float(f(2.0, n)) for n in (3, 4, 3, True, 1)] == [6.0, 8.0, 6.0, 2.0, 2.0]
    assert len(traced) == 4


class Model:
    def __init__(self) -> None:
        self.scale = 1.0

    def __call__(self, x):
        return x * self.scale


CODE = """
def make(kind, box, model, module, extra):
    cell, table, helper = 1.0, {"a": 1.0}, lambda x: x * SCALE

    def rebind(v):
        nonlocal cell, helper
        cell, helper = v, lambda x: x * v
        table["a"] = v

    def inner(x, default=[1.0]):
        return x * default[0]

    functions = {
        "cell": lambda x: x * cell, "global": lambda x: x * SCALE, "list": lambda x: x * box[0],
        "dict": lambda x: x * table["a"], "object": lambda x: x * model.scale,
        "method": model.__call__, "module": lambda x: x * module.scale,
        "helper": lambda x: helper(x), "nested": lambda x: (lambda y: y * cell + SCALE)(x),
        "global helper": lambda x: scaled(x) + cell, "default": inner,
        "partial": functools.partial(lambda b, x: x * b[0], box),
        "tuple": lambda x: x * extra[0][0], "array": lambda x: x * jnp.asarray(box)[0],
        "imported": lambda x: x * __import__("sys").modules[__name__].SCALE,
        "by name": lambda x: x * globals()["SCALE"],
        "evaluated": lambda x: x * eval("SCALE"), "jitted": lambda x: jnp.vectorize(helper)(x),
        "grad": lambda x: xfront.grad(lambda y: (y * helper(y)).sum())(x),
        "drawn": lambda x: x * np.random.default_rng(int(SCALE)).uniform(),
    }
    return functions[kind], rebind, inner.__defaults__[0]

def scaled(x):
    return jnp.sin(x) * SCALE
"""
KINDS = ("cell", "global", "list", "dict", "object", "method", "module", "helper", "nested",
         "global helper", "default", "partial", "tuple", "array", "imported", "by name",
         "evaluated", "jitted", "grad", "drawn")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_stale(kind):
    """Random changes of all that a function may read, between random calls of it."""
    random = np.random.default_rng(KINDS.index(kind))
    module: Any = types.ModuleType("state")
    space: dict[str, Any] = {"jnp": jnp, "np": np, "xfront": xfront, "functools": functools,
                             "SCALE": 1.0, "__name__": "state"}
    exec(CODE, space)
    sys.modules["state"] = module
    try:
        box, model = [1.0], Model()
        module.scale = module.SCALE = 1.0
        fun, rebind, default = space["make"](kind, box, model, module, ([1.0],))
        kept = xfront.checkpoint(fun)
        for _ in range(12):
            v = float(random.integers(1, 4))
            change = random.integers(5)
            if change == 0:
                rebind(v)
            elif change == 1:
                space["SCALE"] = module.SCALE = module.scale = v
            elif change == 2:
                box[0] = default[0] = v
            elif change == 3:
                model.scale = v
            x = jnp.full((int(random.integers(1, 3)),), random.uniform(0.5, 1.5), jnp.float32)
            how = random.integers(3)
            if how == 0:
                found, wanted = xfront.checkpoint(fun)(x), fun(x)
            elif how == 1:
                found, wanted = xfront.jit(lambda x: kept(x) + kept(2 * x))(x), fun(x) + fun(2 * x)
            else:
                found, wanted = (xfront.grad(lambda x, f=f: f(x).sum())(x) for f in (kept, fun))
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    finally:
        del sys.modules["state"]


def test_tracers_of_other_traces():
    def outer(x):
        kept = xfront.checkpoint(lambda y: y * x)
        return kept(2.0) + kept(3.0)

    for _ in range(2):
        assert xfront.grad(outer)(1.0) == 5.0
        np.testing.assert_array_equal(xfront.vmap(outer)(jnp.arange(3.0)), [0.0, 5.0, 10.0])
        assert xfront.jit(outer)(2.0) == 10.0
    held = [0.0]
    kept = xfront.checkpoint(lambda y: y * held[0])

    def leaks(x):
        held[0] = x
        first = kept(1.0)
        held[0] = 2 * x
        return first, kept(1.0)

    assert [float(v) for v in xfront.jit(leaks)(5.0)] == [5.0, 10.0]


def test_options_and_scopes_have_traces_of_their_own(traced):
    f = xfront.checkpoint(scaled)
    f(np.ones(2))
    with xfront.enable_x64():
        assert f(np.ones(2)).dtype == np.float64
    assert f(np.ones(2)).dtype == np.float32 and len(traced) == 2
    text = xfront.jit(lambda x: [xfront.named_scope(n)(f)(x * k) for k, n in enumerate(
        ("one", "two"))]).lower(1.0).as_text(debug_info=True)
    assert "one/" in text and "two/" in text


def test_methods_of_objects_that_change_are_not_fixed() -> None:
    assert all(reads(f) is not None for f in (math.sin, len, np.array))
    assert reads(random.random) is None and reads([1].pop) is None and reads(time.time) is None
