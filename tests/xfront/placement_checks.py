"""What `test_placement.py` runs in a process with several CPU devices: each `check_*` is a test.

`python -m tests.xfront.placement_checks` runs them all and prints a row of JSON for each.
"""

from __future__ import annotations

import copy
import random
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from lowering import compat, disk_cache
from tests.device_checks import checks_in, report
from xfront import binding, lax

DEVICES = 5


def devices() -> list[Any]:
    return xfront.devices()


def on(k: int, value: Any = (0.0, 1.0, 2.0, 3.0)) -> Any:
    """An array committed to device k."""
    return xfront.device_put(np.asarray(value, np.float32), devices()[k])


def at(k: int, value: Any = (0.0, 1.0, 2.0, 3.0)) -> Any:
    """An uncommitted array that lies on device k."""
    with xfront.default_device(devices()[k]):
        return jnp.asarray(np.asarray(value, np.float32))


def places(tree: Any) -> set[tuple[int, bool]]:
    """(device, committed) of the arrays of a tree."""
    leaves = xfront.tree_util.tree_leaves(tree)
    assert leaves and all(isinstance(x, xfront.Array) for x in leaves), tree
    for x in leaves:
        assert x.devices() == {x.device} == x.sharding.device_set
    return {(x.device.id, x.committed) for x in leaves}


def expect(made: Any, where: tuple[int, bool], values: Any = None) -> None:
    assert places(made) == {where}, (places(made), where)
    if values is not None:
        np.testing.assert_allclose(made, values, rtol=1e-6)


def raises(kind: type[Exception], words: Sequence[str], f: Callable[[], Any]) -> None:
    try:
        made = f()
    except kind as e:
        for word in words:
            assert word in str(e), (word, str(e))
    else:
        raise AssertionError(f"nothing was raised, got {made}")


def host_double(x: np.ndarray) -> np.ndarray:
    return np.asarray(x) * 2


def calls_host(x: Any) -> Any:
    return xfront.pure_callback(host_double, xfront.ShapeDtypeStruct((4,), np.float32), x)


def matrix(x: Any) -> Any:
    return jnp.outer(x, x) + 4 * jnp.eye(4)


def many(x: Any) -> Any:
    for i in range(600):
        x = x * 1.0 + 0.5 * (i % 2)
    return x.sum()


CALLS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + 1,
    "add_numpy": lambda x: np.ones(4, np.float32) + x,
    "radd": lambda x: 2.0 - x,
    "sin": jnp.sin,
    "sum": lambda x: x.sum(),
    "where": lambda x: jnp.where(x > 1, x, 0.0),
    "concatenate": lambda x: jnp.concatenate([x, np.ones(2, np.float32)]),
    "stack": lambda x: jnp.array([x[0], 1.0]),
    "astype": lambda x: x.astype("int32"),
    "reshape": lambda x: x.reshape(2, 2),
    "index": lambda x: x[1],
    "slice": lambda x: x[1:],
    "index_array": lambda x: x[np.array([0, 2])],
    "index_mask": lambda x: x[x > 1],
    "set": lambda x: x.at[1].set(9.0),
    "nonzero": lambda x: jnp.nonzero(x),
    "where_alone": lambda x: jnp.where(x > 1),
    "extract": lambda x: jnp.extract(x > 1, x),
    "delete": lambda x: jnp.delete(x, 1),
    "unique": lambda x: jnp.unique(x),
    "intersect1d": lambda x: jnp.intersect1d(x, x[1:]),
    "sort": lambda x: jnp.sort(x),
    "dot": lambda x: x @ np.ones(4, np.float32),
    "solve": lambda x: jnp.linalg.solve(matrix(x), x),
    "fft": jnp.fft.fft,
    "cumsum": jnp.cumsum,
    "jit": xfront.jit(lambda x: (x * 2, jnp.ones(3), 5.0)),
    "jit_tree": lambda x: xfront.jit(lambda t: t["a"][0] + t["b"])({"a": [x], "b": 1}),
    "jit_kept": xfront.jit(lambda x, y=2.0: x * y, keep_unused=True),
    "jit_fast": xfront.jit(lambda x: x * 3, compile_effort="fast"),
    "grad": lambda x: xfront.grad(lambda y: (y * y).sum())(x),
    "value_and_grad": lambda x: xfront.value_and_grad(lambda y: (y * y).sum())(x),
    "hessian": lambda x: xfront.hessian(lambda y: (y ** 3).sum())(x),
    "jvp": lambda x: xfront.jvp(jnp.sin, (x,), (x,)),
    "vjp": lambda x: xfront.vjp(jnp.sin, x)[1](x),
    "linearize": lambda x: xfront.linearize(jnp.sin, x)[1](x),
    "vmap": lambda x: xfront.vmap(lambda y: y * 2)(x),
    "jacfwd": lambda x: xfront.jacfwd(jnp.sin)(x),
    "checkpoint": lambda x: xfront.grad(xfront.checkpoint(lambda y: jnp.sin(y).sum()))(x),
    "relu": lambda x: xfront.grad(lambda y: xfront.nn.relu(y).sum())(x),
    "units": lambda x: xfront.grad(many)(x),
    "cond": lambda x: lax.cond(x[0] > 1, lambda y: y + 1, lambda y: y - 1, x),
    "switch": lambda x: lax.switch(1, [jnp.sin, jnp.cos], x),
    "while": lambda x: lax.while_loop(lambda y: y.sum() < 100, lambda y: y * 2, x),
    "while_mixed": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2),
                                            (0, x)),
    "fori": lambda x: lax.fori_loop(0, 3, lambda i, y: y + 1, x),
    "scan": lambda x: lax.scan(lambda c, v: (c + v, c), 0.0, x),
    "map": lambda x: lax.map(jnp.sin, x),
    "callback": calls_host,
    "jit_callback": xfront.jit(lambda x: calls_host(x) + 1),
}
"""Calls of an array of four floats, whose results are all new."""


def reference(name: str) -> Any:
    """The values on the first device."""
    return xfront.tree_util.tree_map(np.asarray, CALLS[name](jnp.arange(4.0)))


def compare(made: Any, wanted: Any) -> None:
    assert xfront.tree_util.tree_structure(made) == xfront.tree_util.tree_structure(wanted)
    for x, y in zip(*map(xfront.tree_util.tree_leaves, (made, wanted)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
        assert x.dtype == y.dtype


def check_calls_follow_their_argument() -> None:
    """Each call, with the array uncommitted, committed elsewhere, lying elsewhere, and again."""
    cases = [(jnp.arange(4.0), (0, False)), (on(3), (3, True)), (at(2), (0, False)),
             (on(3), (3, True)), (on(0), (0, True)), (jnp.arange(4.0), (0, False)),
             (on(4), (4, True))]
    for name, call in CALLS.items():
        wanted = reference(name)
        for x, where in cases:
            made = call(x)
            assert places(made) == {where}, (name, where, places(made))
            compare(made, wanted)


def check_default_device_decides_without_committed_arguments() -> None:
    for name, call in CALLS.items():
        wanted = reference(name)
        for x, where in ((jnp.arange(4.0), (2, False)), (on(3), (3, True)), (at(1), (2, False))):
            with xfront.default_device(devices()[2]):
                made = call(x)
            assert places(made) == {where}, (name, where, places(made))
            compare(made, wanted)
        assert places(call(jnp.arange(4.0))) == {(0, False)}, name
    before = xfront.config.jax_default_device
    xfront.config.update("jax_default_device", devices()[1])
    try:
        for made in (jnp.ones(2), jnp.ones(9000), jnp.arange(9000), jnp.linspace(0, 1, 9000),
                     jnp.eye(3), jnp.array([1.0, jnp.pi]), jnp.asarray(np.ones(2)), jnp.sin(1.0),
                     jnp.astype(3, "float32"), xfront.device_put(1.0), jnp.nonzero(np.ones(3)),
                     xfront.jit(lambda: jnp.ones(9000))()):
            expect(made, (1, False))
        expect(xfront.random.key(0), (1, False))
    finally:
        xfront.config.update("jax_default_device", before)
    expect(jnp.sin(1.0), (0, False))
    with xfront.default_device("cpu"):
        expect(jnp.sin(at(2)), (0, False))


def check_what_comes_with_a_committed_array() -> None:
    x, f = on(3), xfront.jit(lambda a, b: a * b)
    for _ in range(3):
        for other in (2.0, 2, np.float32(2), np.full(4, 2, np.float32), jnp.full(4, 2.0),
                      at(1, (2.0,) * 4), on(3, (2.0,) * 4)):
            expect(f(x, other), (3, True), [0, 2, 4, 6])
            expect(f(other, x), (3, True), [0, 2, 4, 6])
            expect(x * other, (3, True), [0, 2, 4, 6])
            expect(jnp.multiply(other, x), (3, True), [0, 2, 4, 6])
        expect(f(at(1), at(2)), (0, False), [0, 1, 4, 9])
        expect(at(1) * at(2), (0, False), [0, 1, 4, 9])


def check_two_devices_are_refused() -> None:
    x, y, zero = on(3), on(1), on(0)

    def named(first: Any, second: Any, *, tree: Any = None) -> Any:
        return first + second if tree is None else first + tree["a"][0]

    def draw(k: Any, b: Any) -> Any:
        return xfront.random.uniform(k, (4,)) + b

    start = "Received incompatible devices for jitted computation"
    both = (start, "device ids [3]", "device ids [1]", "float32[4]", "device_put")
    f = xfront.jit(named)
    for _ in range(2):                 # what raises is not remembered
        raises(ValueError, (*both, "argument first of named", "argument second of named"),
               lambda: f(x, y))
        raises(ValueError, (*both, "argument first of named", "argument tree['a'][0] of named"),
               lambda: f(x, 1.0, tree={"a": [y]}))
        raises(ValueError, (start, "device ids [0]"), lambda: f(zero, x))
        expect(f(x, x), (3, True), [0, 2, 4, 6])
    raises(ValueError, (*both, "argument x of add", "argument y of add"), lambda: x + y)
    raises(ValueError, (*both, "argument arrays[0] of concatenate"),
           lambda: jnp.concatenate([x, 2 * x, y]))
    raises(ValueError, both, lambda: jnp.where(x > 1, x, y))
    raises(ValueError, both, lambda: x.at[:].set(y))
    raises(ValueError, both, lambda: xfront.grad(lambda a, b: (a * b).sum())(x, y))
    raises(ValueError, (start,), lambda: xfront.vmap(lambda a: a * y[0])(x))
    raises(ValueError, both, lambda: lax.scan(lambda c, _: (c * x, None), y, None, length=2))
    key = xfront.device_put(xfront.random.key(0), devices()[3])
    raises(ValueError, (start, "argument k of draw with shape key<fry>[]"),
           lambda: xfront.jit(draw)(key, y))
    raises(ValueError, both, lambda: f.lower(x, y))
    raises(ValueError, both, lambda: xfront.jit(lambda a, b: b, keep_unused=True)(x, y))


def check_arguments_that_jit_does_not_read_have_no_say() -> None:
    x, y = on(3), on(1)
    expect(xfront.jit(lambda a, b: b * 2)(x, jnp.arange(4.0)), (0, False), [0, 2, 4, 6])
    expect(xfront.jit(lambda a, b: (jnp.sin(a), b * 2)[1])(x, y), (1, True), [0, 2, 4, 6])
    expect(xfront.jit(lambda a, b: b * 2, keep_unused=True)(x, 1.0), (3, True), 2)
    expect(xfront.jit(lambda: jnp.ones(2))(), (0, False))


def check_captured_arrays_come_to_a_jitted_program() -> None:
    x, near = on(3), at(2)
    f, g = xfront.jit(lambda a: a + x), xfront.jit(lambda a: a + near)
    for _ in range(2):
        for h in (f, g):
            expect(h(jnp.arange(4.0)), (0, False), [0, 2, 4, 6])
            expect(h(on(1)), (1, True), [0, 2, 4, 6])
            expect(h(on(3)), (3, True), [0, 2, 4, 6])
            expect(h(np.arange(4, dtype=np.float32)), (0, False), [0, 2, 4, 6])
    big = xfront.jit(lambda a: a + np.arange(4000, dtype=np.float32))
    expect(big(on(2, 1.0)), (2, True), np.arange(4000) + 1)
    expect(big(1.0), (0, False), np.arange(4000) + 1)
    # elsewhere what is captured counts as an argument
    expect(xfront.grad(lambda a: (a * x).sum())(jnp.ones(4)), (3, True), [0, 1, 2, 3])
    expect(xfront.vmap(lambda a: a * x[1])(jnp.ones(4)), (3, True), [1, 1, 1, 1])


def check_literals_that_change() -> None:
    """A number that changes becomes a parameter of the program, on each device."""
    for k in (0, 3, 1, 0, 3):
        x = on(k) if k else jnp.arange(4.0)
        for c in (1.5, 2.5, 3.5, 4.5):
            where = (k, bool(k))
            expect(xfront.jit(lambda a, c=c: a * c)(x), where, np.arange(4) * c)
            expect(xfront.grad(lambda a, c=c: (a * a * c).sum())(x), where, np.arange(4) * 2 * c)


def check_functions_that_place() -> None:
    d, x, near = devices(), on(3), at(1)
    for place in (d[2], binding.SingleDeviceSharding(d[2]), x.sharding):
        k = 3 if place is x.sharding else 2
        for made in (jnp.zeros(3, device=place), jnp.ones(3, device=place),
                     jnp.full(3, 1.5, device=place), jnp.full(3, x[1], device=place),
                     jnp.empty(3, device=place), jnp.array([1.0], device=place),
                     jnp.asarray(np.ones(2), device=place), jnp.asarray(x, device=place),
                     jnp.arange(3, device=place), jnp.arange(20000, device=place),
                     jnp.linspace(0, 1, 3, device=place), jnp.eye(2, device=place),
                     jnp.zeros_like(x, device=place), jnp.ones_like(x, device=place),
                     jnp.full_like(x, 2.0, device=place), jnp.astype(x, "int32", device=place),
                     jnp.from_dlpack(np.ones(2, np.float32), device=place),
                     jnp.from_dlpack(near, device=place), xfront.device_put(near, place),
                     xfront.device_put(x, place), xfront.device_put(1.0, place), x.to_device(place),
                     xfront.device_put(xfront.random.key(0), place)):
            expect(made, (k, True))
    for made in (jnp.zeros_like(x), jnp.ones_like(x), jnp.empty_like(x), jnp.full_like(x, 2.0),
                 jnp.full_like(x, jnp.ones(4)), lax.full_like(x, 2.0), jnp.copy(x), x.copy(),
                 jnp.array(x), copy.copy(x), copy.deepcopy(x),
                 xfront.device_put(x), jnp.asarray(x)):
        expect(made, (3, True))
    expect(jnp.zeros_like(near), (0, False))
    expect(xfront.device_put(near), (1, False))
    expect(xfront.device_put({"a": near, "b": 1.0}, {"a": d[2], "b": d[2]}), (2, True))
    made = xfront.device_put([near, near], [d[1], d[2]])
    assert [m.device.id for m in made] == [1, 2]
    np.testing.assert_array_equal(xfront.device_get(x), np.arange(4))
    assert type(xfront.device_get(x)) is np.ndarray
    [shard] = x.addressable_shards
    assert shard.device == d[3] and places(shard.data) == {(3, True)}
    raises(ValueError, ("device or a sharding", "'cpu:3'"), lambda: xfront.device_put(x, "cpu:3"))
    raises(ValueError, ("device or a sharding",), lambda: jnp.zeros(2, device=3))
    expect(xfront.jit(lambda a: xfront.device_put(a, d[3]) + 1)(on(3)), (3, True), [1, 2, 3, 4])


def check_keys() -> None:
    random_ = xfront.random
    here = random_.key(7)
    there = xfront.device_put(here, devices()[3])
    raw = xfront.device_put(random_.PRNGKey(7), devices()[3])
    assert places(there) == {(3, True)} and places(here) == {(0, False)}
    draws: list[Callable[[Any], Any]] = [
        lambda k: random_.uniform(k, (3,)), lambda k: random_.normal(k, (3,)), random_.bits,
        lambda k: random_.permutation(k, 4), lambda k: random_.randint(k, (2,), 0, 9),
        lambda k: random_.uniform(random_.fold_in(k, 3), (2,)),
        lambda k: xfront.vmap(random_.uniform)(random_.split(k)),
        xfront.jit(lambda k: random_.normal(k, (2,)))]
    for draw in draws:
        for _ in range(2):
            for key, where in ((here, (0, False)), (there, (3, True)), (raw, (3, True))):
                expect(draw(key), where, np.asarray(draw(here)))
    for made in (random_.split(there), random_.fold_in(there, 1), list(random_.split(there)),
                 random_.key_data(there), random_.split(there)[0],
                 xfront.jit(lambda k: (k, random_.split(k)))(there)):
        expect(made, (3, True))
    raises(ValueError, ("incompatible devices", "key<fry>[]"),
           lambda: random_.uniform(there, (4,), minval=on(1)))


def check_donation() -> None:
    f = xfront.jit(lambda a, b: a + b, donate_argnums=0)
    for k in (3, 1, 3):
        x = on(k)
        expect(f(x, 1.0), (k, True), [1, 2, 3, 4])
        assert x.is_deleted()
        raises(RuntimeError, ("deleted", "a, of type"), lambda x=x: f(x, 1.0))
    for _ in range(2):                            # what has to be copied there is not consumed
        near = at(2)
        expect(f(near, 1.0), (0, False), [1, 2, 3, 4])
        assert not near.is_deleted()
        expect(f(near, on(3)), (3, True), [0, 2, 4, 6])
        assert not near.is_deleted()


def check_deleted_arrays_elsewhere() -> None:
    f = xfront.jit(lambda a: a + 1)
    f(at(2))
    x, y = at(2), on(3)
    x.delete()
    y.delete()
    for call in (lambda: f(x), lambda: x + 1, lambda: f(y), lambda: xfront.grad(jnp.sum)(x),
                 lambda: xfront.device_put(y, devices()[1]), lambda: xfront.vmap(jnp.sin)(x)):
        raises(RuntimeError, ("deleted",), call)


def check_compiled_ahead() -> None:
    x, y, u, near = on(3), on(1), jnp.arange(4.0), at(2)

    def double(first: Any, unread: Any = 0.0) -> Any:
        return {"r": first * 2}

    f = xfront.jit(double)
    compiled = f.lower(x).compile()
    for _ in range(2):
        for given in (x, u, near, np.arange(4, dtype=np.float32)):
            expect(compiled(given)["r"], (3, True), [0, 2, 4, 6])
        raises(ValueError, ("Computation was compiled for input shardings that disagree",
                            "1 mismatch", "Argument first with shape float32[4]", "id=1", "id=3"),
               lambda: compiled(y))
    assert compiled.input_shardings == ((x.sharding,), {})
    assert compiled.output_shardings == {"r": x.sharding}
    at_home = f.lower(u).compile()
    for given in (u, near, on(0)):
        expect(at_home(given)["r"], (0, False), [0, 2, 4, 6])
    raises(ValueError, ("disagree", "id=3", "id=0"), lambda: at_home(x))
    shape = xfront.ShapeDtypeStruct((4,), np.float32, sharding=x.sharding)
    promised = f.lower(shape, y).compile()             # y is not read
    expect(promised(u, y)["r"], (3, True), [0, 2, 4, 6])
    assert promised.input_shardings == ((x.sharding, None), {})
    with xfront.default_device(devices()[2]):
        elsewhere = f.lower(u).compile()
    expect(elsewhere(u)["r"], (2, False), [0, 2, 4, 6])
    raises(ValueError, ("disagree", "id=3", "id=2"), lambda: elsewhere(x))


def check_jit_is_told_where() -> None:
    d, u = devices(), jnp.arange(4.0)
    third, first = on(3).sharding, on(1).sharding

    def double(first: Any, other: Any = 1.0) -> Any:
        return first * 2, (other,)

    def jit(**told: Any) -> Any:
        return xfront.jit(double, **told)

    for f in (jit(device=d[3]), jit(in_shardings=third), jit(in_shardings=(third, None)),
              jit(in_shardings=(third, third), out_shardings=third),
              jit(out_shardings=(None, third)), jit(out_shardings=(third, (None,)))):
        for x in (u, on(3), at(2), np.arange(4, dtype=np.float32), u, on(3)):
            made, other = f(x, 1.0)
            expect(made, (3, True), [0, 2, 4, 6])
            expect(other, (3, True), 1)
    for f in (jit(device=d[3]), jit(in_shardings=third)):
        expect(f(on(1), on(4))[0], (3, True), [0, 2, 4, 6])
        expect(f.lower(on(1)).compile()(u), (3, True))
    expect(jit(backend="cpu")(on(3)), (0, True))
    expect(xfront.jit(lambda: jnp.ones(2), out_shardings=third)(), (3, True))
    expect(xfront.jit(lambda a, b: b, in_shardings=(third, None))(u, u), (0, False))
    expect(xfront.jit(lambda n, a: a * n, static_argnums=0, in_shardings=(third,))(2, u), (3, True))
    start = "Received incompatible devices"
    raises(ValueError, (start, "argument first of double", "a result of double, by out_shardings"),
           lambda: jit(in_shardings=third, out_shardings=first)(u))
    raises(ValueError, (start, "ids [1]", "by out_shardings"),
           lambda: jit(out_shardings=third)(on(1)))
    raises(ValueError, (start, "argument other of double with shape"),
           lambda: jit(in_shardings=(third, None))(u, on(1)))
    raises(ValueError, (start,), lambda: jit(in_shardings=(third, first))(u, u))
    raises(ValueError, ("tree prefix",), lambda: jit(in_shardings=(third,))(u, u))
    raises(ValueError, ("by position",), lambda: jit(in_shardings=third)(first=u))
    raises(ValueError, ("give the shardings alone",), lambda: jit(device=d[3], in_shardings=third))
    raises(RuntimeError, ("Unknown backend nonsense",), lambda: jit(backend="nonsense")(u))
    raises(TypeError, ("'cuda:7'",), lambda: jit(device="cuda:7"))
    for told in ("in_shardings", "out_shardings"):
        raises(NotImplementedError, ("memory", "unpinned_host"), partial(
            jit(**{told: third.with_memory_kind("unpinned_host")}), u))
    raises(ValueError, ("pinned_host", "device"), partial(
        jit(in_shardings=third.with_memory_kind("pinned_host")), u))
    for call in (lambda f: xfront.jit(lambda a: f(a))(u), lambda f: xfront.vmap(f)(u)):
        raises(NotImplementedError, ("placed on", "outermost"), partial(call, jit(device=d[3])))
        expect(call(jit(device=d[0])), (0, False))


def check_iteration_and_the_host() -> None:
    x = on(3)
    expect(list(x), (3, True))
    assert [float(v) for v in x] == [0, 1, 2, 3] and x.tolist() == [0, 1, 2, 3]
    expect(list(xfront.random.split(xfront.device_put(xfront.random.key(0), devices()[2]))),
           (2, True))
    seen: list[Any] = []
    xfront.jit(lambda a: xfront.debug.callback(lambda v: seen.append(np.asarray(v)), a))(x)
    xfront.effects_barrier()
    np.testing.assert_array_equal(seen, [np.arange(4)])
    a, b = lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] + x), (0, jnp.zeros(4)))
    expect((a, b), (3, True))
    np.testing.assert_array_equal(b, [0, 2, 4, 6])


def check_other_memories() -> None:
    """Programs of a device take arrays in the host's memory beside it; results stay there."""
    for k, committed_home in ((3, (3, True)), (0, (0, True))):
        pinned = xfront.device_put(jnp.arange(4.0), binding.single_device_sharding(
            devices()[k], "pinned_host"))
        for _ in range(2):
            expect(pinned + 1, committed_home, [1, 2, 3, 4])
            expect(xfront.jit(lambda a: a * 2)(pinned), committed_home, [0, 2, 4, 6])
            assert (pinned + 1).sharding.memory_kind == "pinned_host"


def check_one_entry_on_disk_serves_all_devices() -> None:
    """What was compiled for one device is loaded for the others, and is right there."""
    def f(x: Any) -> Any:
        return jnp.linalg.solve(matrix(x), jnp.sort(x)) + jnp.cumsum(x @ matrix(x))

    settings = dict(disk_cache._settings)
    try:
        with tempfile.TemporaryDirectory() as folder:
            disk_cache.choose(enabled=True, directory=folder)
            wanted = np.asarray(xfront.jit(f)(on(3)))
            entries = {str(p) for p in Path(folder).iterdir()}
            assert len(entries) == 1
            for k in (1, 0, 4, 3):
                made = xfront.jit(f)(on(k))
                expect(made, (k, True), wanted)
                xfront.clear_caches()
                expect(xfront.jit(f)(on(k)), (k, True), wanted)
            assert {str(p) for p in Path(folder).iterdir()} == entries
        disk_cache.choose(enabled=False)
        xfront.clear_caches()
        for k in (2, 0):
            expect(xfront.jit(f)(on(k)), (k, True), wanted)
    finally:
        disk_cache._settings.clear()
        disk_cache.choose(**settings)


def check_devices_of_another_client() -> None:
    """As those of another platform: C++ does not carry arrays over, Python does."""
    there = compat.cpu_client(2).local_devices()[1]
    x, u, f = xfront.device_put(jnp.arange(4.0), there), jnp.arange(4.0), xfront.jit(
        lambda a, b: a * b)
    with xfront.default_device(there):
        near = jnp.arange(4.0)

    def lies(made: Any, committed: bool) -> None:
        assert made.device is there and made.committed is committed, made.devices()

    for _ in range(3):
        for other in (u, near, np.arange(4, dtype=np.float32)):
            lies(f(x, other), True)
            np.testing.assert_array_equal(other * x, [0, 1, 4, 9])
        expect(f(near, u), (0, False), [0, 1, 4, 9])
        expect(near * u, (0, False), [0, 1, 4, 9])
        expect(f(near, on(1)), (1, True), [0, 1, 4, 9])
        raises(ValueError, ("incompatible devices",), lambda: f(x, on(1)))
        with xfront.default_device(there):
            lies(jnp.sin(u), False)
            lies(xfront.grad(lambda a: (a * u).sum())(near), False)
    lies(xfront.jit(lambda a: a + u)(x), True)
    expect(xfront.jit(lambda a: a + near)(u), (0, False), [0, 2, 4, 6])
    expect(xfront.device_put(x, devices()[2]), (2, True), [0, 1, 2, 3])
    lies(xfront.jit(lambda a: calls_host(a) + 1)(x), True)
    lies(xfront.random.uniform(xfront.device_put(xfront.random.key(0), there), (2,)), True)


def check_guards_of_transfers() -> None:
    """What comes along by itself is refused, what is asked for is not, also in known programs."""
    x, u, n, f = on(3), jnp.arange(4.0), np.ones(4, np.float32), xfront.jit(lambda a, b: a * b)
    implicit: list[Callable[[], Any]] = [
        lambda: f(x, u), lambda: u + x, lambda: xfront.grad(lambda a: (a * u).sum())(x)]
    of_host: list[Callable[[], Any]] = [lambda: f(x, n), lambda: f(x, 2.5), lambda: jnp.sin(n)]
    stays: list[Callable[[], Any]] = [
        lambda: f(x, x), lambda: x * x, x.copy, lambda: jnp.array(x), lambda: f(u, u)]
    moves: list[Callable[[], Any]] = [
        lambda: xfront.device_put(u, devices()[2]), lambda: x.to_device(devices()[1])]
    puts: list[Callable[[], Any]] = [lambda: xfront.device_put(n), lambda: xfront.device_put(1.0)]
    refused = xfront.transfer_guard
    for _ in range(2):
        for call in (*implicit, *of_host, *stays, *moves, *puts):
            call()
            with refused("disallow_explicit" if call in (*moves, *puts) else "disallow"):
                if call in stays:
                    call()
                else:
                    raises(binding.JaxRuntimeError, ("Disallowed",), call)
            with refused("disallow"):
                if call in (*moves, *puts):
                    call()
            with refused("allow"):
                call()
            call()


# ---- generated: functions and devices take turns


def step(kind: str, rng: random.Random) -> tuple[Any, np.ndarray, int | None]:
    """An argument, its value and the device it is committed to."""
    value = np.asarray([rng.randint(-3, 3) for _ in range(4)], np.float32)
    k = rng.randrange(DEVICES)
    if kind == "committed":
        return on(k, value), value, k
    if kind == "lying":
        return at(k, value), value, None
    if kind == "numpy":
        return value, value, None
    return float(value[0]), np.asarray(value[0]), None


PAIRS: list[tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    (lambda a, b: jnp.asarray(a) + b, lambda a, b: a + b),
    (jnp.maximum, np.maximum),
    (xfront.jit(lambda a, b: a * b - 1), lambda a, b: a * b - 1),
    (xfront.jit(lambda a, b: {"r": (a - b, a)}["r"][0]), lambda a, b: a - b),
    (lambda a, b: xfront.grad(lambda c: (c * c * b).sum() * 1.0)(jnp.asarray(a)),
     lambda a, b: 2 * a * b if np.ndim(a) or not np.ndim(b) else 2 * a * b.sum()),
    (lambda a, b: xfront.vmap(lambda c, e: c + 2 * e)(jnp.zeros(4) + a, jnp.zeros(4) + b),
     lambda a, b: np.zeros(4) + a + 2 * b),
    (lambda a, b: lax.fori_loop(0, 2, lambda i, c: c + b, jnp.zeros(4) + a),
     lambda a, b: np.zeros(4) + a + 2 * b),
]


def turns(seed: int, count: int) -> None:
    """Random calls, each compared with NumPy and the rule of placement."""
    rng = random.Random(seed)
    for i in range(count):
        f, wanted = rng.choice(PAIRS)
        kinds = [rng.choice(("committed", "committed", "lying", "numpy", "scalar")) for _ in "ab"]
        (a, va, ka), (b, vb, kb) = [step(kind, rng) for kind in kinds]
        chosen = rng.choice((None, None, rng.randrange(DEVICES)))
        where = f"seed {seed}, turn {i}: {kinds}, {ka}, {kb}, default {chosen}"
        with xfront.default_device(None if chosen is None else devices()[chosen]):
            if None not in (ka, kb) and ka != kb:
                raises(ValueError, ("incompatible devices",), partial(f, a, b))
                continue
            made = f(a, b)
        committed = ka if ka is not None else kb
        home = (chosen or 0, False) if committed is None else (committed, True)
        assert places(made) == {home}, (where, places(made), home)
        np.testing.assert_allclose(made, wanted(va, vb), err_msg=where)


def check_functions_and_devices_take_turns() -> None:
    for seed in range(3):
        turns(seed, 120)


def check_threads_take_turns() -> None:
    failures: list[BaseException] = []

    def run(seed: int) -> None:
        try:
            turns(seed, 100)
        except BaseException as e:               # told by the main thread
            failures.append(e)

    threads = [threading.Thread(target=run, args=(100 + k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


def check_programs_are_found_again() -> None:
    """One miss for each placement and commitment; then C++ runs alone, wherever the turn is."""
    misses = []
    f = xfront.jit(lambda a: misses.append(0) or a + 1)
    arguments = [jnp.arange(4.0), on(0), on(3), at(2), on(1)]
    for x in arguments:
        f(x)
    assert len(misses) == 1                       # traced once: placement is no part of a trace
    size = f._cache_size()
    for _ in range(3):
        for x in arguments:
            f(x)
    assert f._cache_size() == size == len(arguments)


CHECKS = checks_in(globals())


if __name__ == "__main__":
    report(CHECKS, DEVICES)
