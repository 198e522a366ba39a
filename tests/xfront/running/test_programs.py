"""Un-jitted programs: few compilations, exact literals, effects in place, whole or by units."""

import math
import sys
import threading
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.running import compiled, keys, programs


@pytest.fixture
def compiles(monkeypatch):
    """A list that grows by the name of each program that is compiled or loaded."""
    made = []
    real = compiled.lowering.compile_function

    def counted(function, **options):
        made.append(options["name"])
        return real(function, **options)

    monkeypatch.setattr(compiled.lowering, "compile_function", counted)
    monkeypatch.setattr(programs, "_NEW_IN_A_ROW", {})    # by names: other tests' lambdas
    return made


def step_plain(rate, x):
    return jax.grad(lambda v: jnp.sum(jnp.sin(v) * rate))(x)


def step_scan(rate, x):
    return jax.grad(lambda v: lax.scan(lambda c, y: (c + jnp.sin(y) * rate, None), 0.0, v)[0])(x)


def step_jit(rate, x):
    return jax.jit(lambda v: jnp.cos(v) * rate)(x)


@pytest.mark.parametrize("step, expected", [
    (step_plain, np.cos), (step_scan, np.cos), (step_jit, np.cos)])
def test_a_rate_that_changes_a_thousand_times_costs_three_programs(compiles, step, expected):
    x = jnp.array([0.1, 0.2])
    step(0.5, x)
    before = len(compiles)
    for i in range(1000):
        rate = 0.001 * i + 0.25
        found = step(rate, x)
        if i % 250 == 0:
            np.testing.assert_allclose(found, expected(np.asarray(x)) * rate, rtol=1e-5)
    assert len(compiles) - before <= 2


def test_literals_that_compare_equal_are_different():
    def last(c):
        return jax.jit(lambda x: x * 0 + c)
    x = jnp.float32(1.0)
    assert math.copysign(1, float(jax.jit(lambda x: jnp.copysign(x, 0.0))(x))) == 1
    assert math.copysign(1, float(jax.jit(lambda x: jnp.copysign(x, -0.0))(x))) == -1
    assert np.isnan(last(float("nan"))(x))
    assert last(1)(x).dtype == np.float32
    kinds = [jax.jit(lambda c=c: jnp.asarray(c))().dtype for c in (True, 1, 1.0)]
    assert [k.name for k in kinds] == ["bool", "int32", "float32"]
    assert [type(jax.jit(lambda x: x, static_argnums=()) (c).item()) for c in (True, 1, 1.0)] == [
        bool, int, float]


def test_static_floats_are_told_apart_by_their_bits():
    f = jax.jit(lambda x, c: jnp.copysign(x, c), static_argnums=1)
    g = jax.jit(lambda x, c: jnp.full((), c) + x, static_argnums=1)
    assert float(f(1.0, 0.0)) == 1.0
    assert g(0.0, 1).dtype == np.float32
    assert float(g(0.0, 1.0)) == 1.0


def test_many_calls_of_a_jitted_step_under_one_gradient(compiles):
    @jax.jit
    def step(w):
        for _ in range(40):
            w = jnp.sin(w) * 0.02 + w * 0.98
        return w

    def loss(w):
        for _ in range(20):
            w = step(w)
        return jnp.sum(w)

    w = jnp.array([0.1, 0.2])
    found = jax.grad(loss)(w)
    assert len(compiles) < 40                     # by units: a handful, not one huge program
    eps = 1e-3
    numeric = [(loss(w.at[i].add(eps)) - loss(w.at[i].add(-eps))) / (2 * eps) for i in range(2)]
    np.testing.assert_allclose(found, numeric, rtol=0.05)


def test_a_callback_fires_in_its_place_before_an_exception():
    seen = []

    def f(x):
        jax.debug.callback(lambda v: seen.append(float(v)), x * 2.0)
        raise KeyError("after")

    with pytest.raises(KeyError):
        jax.grad(f)(3.0)
    assert seen == [6.0]


def test_effects_run_once_and_in_order(capfd):
    def f(x):
        jax.debug.print("first {}", x)
        y = x * x
        jax.debug.print("then {}", y)
        return y
    assert jax.grad(f)(3.0) == 6.0
    jax.effects_barrier()
    assert capfd.readouterr().out == "first 3.0\nthen 9.0\n"


def test_an_array_written_to_after_capture_does_not_change_the_function():
    a = np.ones(3, np.float32)
    big = np.ones(5000, np.float32)
    f = jax.jit(lambda x: (x + a, x + big[:3] * jnp.sum(big)))
    g = jax.jit(lambda x: x + big)
    before = f(1.0), g(1.0)
    a[:] = 7
    big[:] = 9
    np.testing.assert_array_equal(f(1.0)[0], before[0][0])
    np.testing.assert_array_equal(g(1.0), before[1])
    np.testing.assert_array_equal(g(1.0), np.full(5000, 2.0))


def test_axes_as_lists_and_numpy_integers():
    x = jnp.arange(6.0)
    assert float(jnp.sum(jnp.reshape(x, [2, 3]), axis=[0, 1])) == 15.0
    assert jnp.sum(jnp.reshape(x, (np.int64(2), 3)), axis=np.int64(1)).shape == (2,)
    assert jax.jit(lambda v: jnp.sum(jnp.reshape(v, [2, 3]), axis=[0]))(x).shape == (3,)


def test_two_hundred_nested_jits():
    def nest(depth):
        f = lambda x: jnp.sin(x)
        for _ in range(depth):
            f = jax.jit(lambda x, f=f: f(x) + 0.0)
        return f
    np.testing.assert_allclose(nest(200)(1.0), np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(nest(200))(1.0), np.cos(1.0), rtol=1e-6)


def test_eight_threads_trace_compile_and_run():
    @jax.jit
    def shared(x):
        return jnp.sum(jnp.sin(x) * x)

    errors, results = [], {}

    def work(k):
        try:
            own = jax.jit(lambda x: x * float(k) + shared(x))
            x = jnp.arange(4.0) + k
            slope = jax.grad(lambda v: jnp.sum(own(v)))(x)
            batch = jax.vmap(lambda v: shared(v * k))(jnp.ones((2, 3)))
            results[k] = (np.asarray(own(x)), np.asarray(slope), np.asarray(batch))
        except Exception as e:
            errors.append((k, e))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not errors
    for k in range(8):
        x = np.arange(4.0) + k
        total = np.sum(np.sin(x) * x)
        np.testing.assert_allclose(results[k][0], x * k + total, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(results[k][1], k + 4 * (np.cos(x) * x + np.sin(x)), rtol=1e-3,
                                   atol=1e-3)
        np.testing.assert_allclose(results[k][2], np.full(2, 3 * np.sin(k) * k), rtol=1e-4,
                                   atol=1e-5)


def test_one_thread_forgets_while_another_makes_functions():
    held = [jax.jit(lambda x, k=k: x + k) for k in range(2000)]
    ended, failed = threading.Event(), []

    def forget():
        while not ended.is_set():
            try:
                keys.clear()
            except Exception as e:
                failed.append(e)

    interval, other = sys.getswitchinterval(), threading.Thread(target=forget)
    sys.setswitchinterval(1e-6)
    other.start()
    try:
        held += [jax.jit(lambda x, k=k: x - k) for k in range(1000)]
        for n in range(20):
            jnp.sum(jnp.ones(3), keepdims=bool(n % 2))
    finally:
        sys.setswitchinterval(interval)
        ended.set()
        other.join()
    assert not failed, failed[0]


def test_an_array_that_a_literal_made_is_the_users_own():
    """Deleting or donating it changes no later result."""
    def mapped(n: int, value: float) -> Any:
        def constant(x):
            return np.float32(value), jnp.sin(x) * jnp.cos(x)

        return jax.vmap(constant, out_axes=(None, 0))(jnp.ones((n, 2)))[0]

    units = set()
    for n in range(1, 7):                        # each a new program: the later ones run by units
        for value in (2.5, 3.5):                 # a constant of its program, and a parameter
            found = mapped(n, value)
            assert found == value, n
            found.delete()
        units |= {type(v.compiled) for e in programs._ENTRIES.values() for v in e.variants}
    assert programs.Units in units


def test_forty_programs_that_all_differ_are_right():
    x = jnp.array([0.3, 0.4])
    for n in range(1, 41):
        def f(v, n=n):
            for _ in range(n):
                v = jnp.sin(v)
            return jnp.sum(v)
        found = jax.grad(f)(x)
        if n % 13 == 0:
            v, slope = np.asarray(x, np.float64), 1.0
            for _ in range(n):
                slope, v = slope * np.cos(v), np.sin(v)
            np.testing.assert_allclose(found, slope, rtol=1e-4)
