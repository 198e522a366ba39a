"""`checkpoint` traces a function once for each signature; bodies of control flow never give what
was true of an earlier call."""

from __future__ import annotations

import functools
import gc
import math
import sys
import types
import weakref
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.transforms import flat
from xfront_ir.printer import print_function


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


def test_a_function_is_traced_once_whatever_it_reads(traced):
    """As by `jit`, and as JAX says: once for each static value."""
    held = [1.0]
    f = xfront.checkpoint(lambda x, n: x * n * held[0], static_argnums=1)
    assert float(f(2.0, 3)) == 6.0
    held[0] = 2.0
    assert float(f(2.0, 3)) == 6.0 and float(f(2.0, 4)) == 16.0
    assert float(xfront.grad(f)(2.0, 3)) == 3.0 and len(traced) == 2
    unhashable = xfront.checkpoint(lambda x, n: x * n[0], static_argnums=1)
    assert [float(unhashable(2.0, [n])) for n in (3.0, 4.0)] == [6.0, 8.0]


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
        written.__code__ = [one, two, three][int(v) - 1].__code__

    def inner(x, default=[1.0]):
        return x * default[0]

    def one(x):
        return x

    def two(x):
        return x * 2.0

    def three(x):
        return x * 3.0

    def written(x):
        return x

    part = slice(box)
    functions = {
        "code": written, "helper's code": lambda x: written(x) + 1.0,
        "slice": lambda x: x * part.stop[0], "math": lambda x: x * math.tau,
        "function of numpy": lambda x: np.float32(np.square(1.0)) * x,
        "function of xfront": lambda x: jnp.square(x),
        "in a module": lambda x: x * jnp.sum(jnp.linalg.norm(x)),
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
         "evaluated", "jitted", "grad", "drawn", "code", "helper's code", "slice", "math",
         "function of numpy", "function of xfront", "in a module")


def looped(fun):
    """Ways to call a function in control flow, by bodies that stay the same."""
    def body(carry, x):
        return carry, fun(x)

    def turn(i, x):
        return fun(x)

    def scanned(x):
        return lax.scan(body, 0, x[None])[1][0]

    return [lambda x: (scanned(x), fun(x)),
            lambda x: (lax.map(fun, x[None])[0], fun(x)),
            lambda x: (lax.fori_loop(0, 2, turn, x), fun(fun(x))),
            lambda x: (xfront.jit(lambda n: lax.fori_loop(0, n, turn, x))(2), fun(fun(x))),
            lambda x: (lax.cond(x.size > 0, fun, jnp.sin, x), fun(x)),
            lambda x: (lax.switch(1, [jnp.sin, fun], x), fun(x)),
            lambda x: (xfront.jit(lambda x: scanned(x) + scanned(2 * x))(x), fun(x) + fun(2 * x)),
            lambda x: [xfront.grad(lambda x, f=f: f(x).sum())(x) for f in (scanned, fun)]]


@pytest.mark.parametrize("kind", KINDS)
def test_no_body_of_a_loop_is_stale(kind, monkeypatch):
    """Random changes of all that a function may read, between random calls of it."""
    random = np.random.default_rng(KINDS.index(kind))
    module: Any = types.ModuleType("state")
    space: dict[str, Any] = {"jnp": jnp, "np": np, "xfront": xfront, "functools": functools,
                             "math": math, "SCALE": 1.0, "__name__": "state"}
    exec(CODE, space)
    sys.modules["state"] = module
    try:
        box, model = [1.0], Model()
        module.scale = module.SCALE = 1.0
        fun, rebind, default = space["make"](kind, box, model, module, ([1.0],))
        ways = looped(fun)
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
                monkeypatch.setattr(math, "tau", v)
                monkeypatch.setattr(np, "square", lambda x, v=v: x * v)
                monkeypatch.setattr(jnp, "square", lambda x, v=v: x * v)
                monkeypatch.setattr(jnp.linalg, "norm", [jnp.sin, jnp.cos, jnp.exp][int(v) - 1])
            x = jnp.full((int(random.integers(1, 3)),), random.uniform(0.5, 1.5), jnp.float32)
            for way in random.choice(len(ways), 2):
                found, wanted = ways[way](x)
                np.testing.assert_allclose(found, wanted, rtol=1e-6)
    finally:
        del sys.modules["state"]


class Comparing:
    """An object whose `==` gives what was chosen, or raises it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __eq__(self, other: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    __hash__ = object.__hash__


GLOBALS = {
    "NumPy's array": lambda: np.arange(3.0), "NumPy's scalar": lambda: np.float32(2.0),
    "an array": lambda: jnp.arange(3.0), "a key": lambda: xfront.random.key(0),
    "a tree": lambda: {"w": np.arange(3.0), ("b",): [1.0]},
    "a list": lambda: [np.arange(3.0), None], "a tuple": lambda: (np.arange(3.0), jnp.arange(2)),
    "a module": lambda: np, "a dtype": lambda: jnp.int8, "a class": lambda: Comparing,
    "a partial": lambda: functools.partial(jnp.sin),
    "a jitted function": lambda: xfront.jit(scaled),
    "one that raises": lambda: Comparing(ValueError("it is not compared")),
    "one that gives arrays": lambda: Comparing(np.arange(3)),
    "one like all others": lambda: Comparing(True), "nan": lambda: math.nan,
    "a slice": lambda: slice(np.arange(3), None), "a range": lambda: range(3)}


@pytest.mark.parametrize("kind", GLOBALS)
def test_every_kind_of_global_is_read(kind):
    """Bodies and rules that name it run again and again, with tracers of an outer trace too."""
    space: dict[str, Any] = {"jnp": jnp, "np": np, "xfront": xfront, "TABLE": GLOBALS[kind](),
                             "lax": lax}
    exec("""
def fun(x):
    TABLE
    return jnp.sin(x) * 2.0

def body(carry, x):
    TABLE
    return carry + fun(x), x

@xfront.custom_jvp
def ruled(x):
    return fun(x)

@ruled.defjvp
def _(primals, tangents):
    TABLE
    return ruled(*primals), tangents[0] * 3.0

@xfront.custom_vjp
def reversed_(x):
    return fun(x)

def forward(x):
    TABLE
    return fun(x), x

def backward(x, ct):
    TABLE
    return ct * 5.0,

reversed_.defvjp(forward, backward)
""", space)
    fun, body = space["fun"], space["body"]
    kept, x, xs = xfront.checkpoint(fun), jnp.float32(0.5), jnp.arange(3.0)
    calls = {
        "scan": lambda x: lax.scan(body, x, xs)[0], "checkpoint": kept,
        "map": lambda x: lax.map(fun, xs * x)[1],
        "cond": lambda x: lax.cond(x > 0, fun, jnp.sin, x),
        "switch": lambda x: lax.switch(1, [jnp.sin, fun], x),
        "fori_loop": lambda x: lax.fori_loop(0, 2, lambda i, c: fun(c), x),
        "while_loop": lambda x: lax.while_loop(lambda c: c < -1.0, fun, x),
        "custom_jvp": space["ruled"], "custom_vjp": space["reversed_"],
        "associative_scan": lambda x: lax.associative_scan(lambda a, b: a + fun(b), xs * x)[2]}
    for name, call in calls.items():
        ways = (call, xfront.jit(lambda x, call=call: call(x)), lambda x, call=call: call(x) + 0)
        found = [float(way(x)) for way in ways for _ in range(3)]
        np.testing.assert_allclose(found, found[0], rtol=1e-6, err_msg=name)
        if name != "while_loop":
            slopes = [float(xfront.grad(call)(x)) for _ in range(3)]
            assert len(set(slopes)) == 1, (name, slopes)
    assert float(xfront.grad(space["ruled"])(x)) == 3.0
    assert float(xfront.grad(space["reversed_"])(x)) == 5.0


def test_a_global_that_is_a_tracer():
    space: dict[str, Any] = {"jnp": jnp}
    exec("def body(c, x):\n    return c + x * TABLE, None", space)

    def outer(t):
        space["TABLE"] = t
        return lax.scan(space["body"], 0.0, jnp.arange(3.0))[0]

    for t in (2.0, 3.0, 4.0):
        assert float(outer(jnp.float32(t))) == 3 * t
        assert float(xfront.jit(outer)(t)) == 3 * t
        assert float(xfront.grad(outer)(t)) == 3.0
        np.testing.assert_array_equal(xfront.vmap(outer)(jnp.array([t, 1.0])), [3 * t, 3.0])


def test_a_wrapped_function_is_not_what_it_wraps():
    scale = [2.0]

    @functools.wraps(scaled)
    def outer(x):
        return scaled(x) * scale[0]

    for k in range(1, 5):
        scale[0] = float(k)
        np.testing.assert_allclose(lax.map(outer, jnp.ones(2)), scaled(jnp.ones(2)) * k, rtol=1e-6)


def test_errors_of_a_body_come_at_each_call():
    def wrong(carry, x):
        return (carry, carry), x

    for _ in range(4):
        with pytest.raises(TypeError, match="carry"):
            lax.scan(wrong, jnp.ones(2), jnp.ones((3, 2)))


def test_captured_arrays_are_let_go_with_the_function():
    def made():
        w = jnp.ones(4) * 2

        def body(carry, x):
            return carry * w, x

        for _ in range(4):
            lax.scan(body, jnp.ones(4), jnp.ones(3))
        return weakref.ref(w), weakref.ref(body)

    held = made()
    gc.collect()
    assert [r() for r in held] == [None, None]


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


def test_loops_of_the_library_have_the_line_of_each_call() -> None:
    m = jnp.eye(3) + 0.5

    def lines(f: Any) -> list[str]:
        text = print_function(xfront.jit(lambda x: f(x)).trace(m).ir, locations=True)
        return sorted({line.split("//")[1] for line in text.splitlines() if "//" in line})

    def one(x: Any) -> Any:
        return lax.linalg.qdwh(x)

    def other(x: Any) -> Any:
        return lax.linalg.qdwh(x)

    for f in (one, one, one, other):
        assert all([f"({f.__qualname__})" in line for line in lines(f)])
