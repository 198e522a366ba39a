"""Notes on disk: a program that is found by one is not simplified, and is the right one."""

from __future__ import annotations

import os
from types import FunctionType

import numpy as np
import pytest

import lowering
import xfront as jax
import xfront.numpy as jnp
from lowering import compile as xla
from lowering import disk_cache
from xfront.running import compiling, notes, programs

X = np.linspace(-1.0, 1.0, 5, dtype=np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("XFRONT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("XFRONT_CACHE", raising=False)
    disk_cache._checked.clear()
    yield tmp_path
    disk_cache._checked.clear()
    programs.clear()


@pytest.fixture
def simplified(monkeypatch):
    """The names of the programs that are simplified, once each."""
    made = []
    real = compiling.simplify

    def counted(function):
        if "simple" not in function.memo:
            made.append(function.name)
        return real(function)

    for room in (compiling, programs):
        monkeypatch.setattr(room, "simplify", counted)
    return made


def again(f, *args):
    """What a process that finds only the disk gives."""
    programs.clear()
    lowering._LIVE.clear()
    fresh = FunctionType(f.__code__, f.__globals__, f.__name__, closure=f.__closure__)
    return jax.jit(fresh)(*args)


def long_sum(rate=0.5, links=notes.LEAST):
    def loss(x, unused):
        for _ in range(links):
            x = jnp.sin(x) + rate
        return jnp.sum(x)

    return loss


def test_a_noted_program_is_not_simplified(simplified, folder) -> None:
    def step(x, unused):
        value, slope = jax.value_and_grad(long_sum())(x, unused)
        return {"slope": slope, "value": value, "weak": 2.0, "x": x, "n": jnp.arange(3)}

    first = jax.jit(step)(X, 1.0)
    assert len(simplified) == 1 and len(os.listdir(folder)) == 2
    second = again(step, X, 1.0)
    assert len(simplified) == 1
    assert {k: (v.dtype, v.weak_type) for k, v in second.items()} == {
        k: (v.dtype, v.weak_type) for k, v in first.items()}
    for k in first:
        np.testing.assert_array_equal(first[k], second[k])


def test_other_numbers_and_shapes_have_notes_of_their_own(simplified) -> None:
    for rate in (0.5, 0.25):
        expected = X
        for _ in range(notes.LEAST):
            expected = np.sin(expected) + np.float32(rate)
        for x, y in ((X, expected), (X[:3], expected[:3])):
            for _ in range(2):
                np.testing.assert_allclose(again(long_sum(rate), x, 0.0), y.sum(), rtol=1e-5)
    assert len(simplified) == 4


def test_a_note_whose_program_is_gone_is_no_answer(simplified, folder) -> None:
    expected = jax.jit(long_sum())(X, 0.0)
    largest = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    largest.unlink()
    np.testing.assert_array_equal(again(long_sum(), X, 0.0), expected)
    assert len(simplified) == 2 and len(os.listdir(folder)) == 2


def with_rule(x, unused):
    @jax.custom_jvp
    def f(x):
        return x * 2.0

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 3.0))
    return jax.grad(lambda x: long_sum()(f(x), 0.0))(x)


def with_host(x, unused):
    return jax.pure_callback(lambda x: x, x, long_sum()(x, 0.0))


@pytest.mark.parametrize("f", [with_rule, with_host])
def test_programs_that_python_is_part_of_have_none(f, simplified, monkeypatch) -> None:
    monkeypatch.setattr(notes, "write", lambda *_: pytest.fail("a note was written"))
    for count in (1, 2):
        again(f, X if f is with_rule else X[0], 0.0)
        assert simplified.count(f.__name__) == count


def test_few_operations_have_none(folder) -> None:
    jax.jit(long_sum(links=2))(X, 0.0)
    assert len(os.listdir(folder)) == 1


def test_what_a_note_depends_on(monkeypatch) -> None:
    function = jax.make_ir(long_sum())(X, 0.0).ir
    place, _ = programs.placement([], "f")

    def name(effort="jit", request=("f",)):
        return notes.name_of(function, place, effort, request)

    names = [name(), name("fast"), name(request=("g",))]
    monkeypatch.setenv("XFRONT_CPU_FENCES", "0")
    names.append(name())
    monkeypatch.delenv("XFRONT_CPU_FENCES")
    monkeypatch.setitem(xla._CHOSEN, "fast", (("xla_cpu_enable_fast_math", True),))
    names.append(name())
    monkeypatch.delitem(xla._CHOSEN, "fast")
    monkeypatch.setattr(notes, "_SOURCES", ())
    names.append(name())
    assert None not in names and len(set(names)) == len(names)
    with jax.enable_checks(True):
        assert name() is None
