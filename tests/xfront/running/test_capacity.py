"""Programs are forgotten before a process has no mappings of memory left, and come back."""

from __future__ import annotations

import gc
import os
import weakref

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.running import capacity as capacities
from xfront.running import compiled, programs
from xfront.running.capacity import Capacity

needs_maps = pytest.mark.skipif(not os.path.exists(capacities.MAPS),
                                reason="only Linux limits mappings")


@pytest.fixture
def capacity(monkeypatch):
    made = Capacity()
    monkeypatch.setattr(compiled, "capacity", made)
    return made


def test_mappings_are_counted_before_they_can_have_run_out(monkeypatch):
    monkeypatch.setattr(capacities, "_limit", lambda: 1000)
    counts = iter([100, 300, 499, 520, 40, 450])
    monkeypatch.setattr(capacities, "mappings", lambda: next(counts))
    tested, forgotten, due = Capacity(), [], []
    for _ in range(7):
        due.append(tested.next)
        tested.count_program(lambda: forgotten.append(True))
    assert due == [2, 1, 2, 1, 1, 1, 2]
    assert len(forgotten) == 1 and tested.room == 520


def test_where_there_is_no_limit_nothing_is_counted(monkeypatch):
    monkeypatch.setattr(capacities, "MAPS", "/no/such/file")
    tested = Capacity()
    for _ in range(3):
        tested.count_program(lambda: pytest.fail("nothing is to be forgotten"))


class _Program:
    def __init__(self, used: int, bytes: int) -> None:
        self.used, self.bytes = used, bytes


def test_programs_that_were_not_used_for_longest_go_until_there_is_room():
    kept = {"a": _Program(4, 30), "b": _Program(1, 30), "c": _Program(3, 30), "d": _Program(2, 30)}
    assert capacities.least_recent(kept, 120) == []
    assert capacities.least_recent(kept, 119) == ["b", "d"]
    assert capacities.least_recent(kept, 10) == ["b", "d", "c"]        # the last one used stays


def test_programs_of_functions_that_are_gone_take_no_more_than_their_room(monkeypatch):
    room = 40 * (capacities.BYTES + 10 * capacities.BYTES_OF_AN_OP)
    monkeypatch.setattr(programs, "KEPT", room)
    monkeypatch.setattr(programs, "_ENTRIES", {})
    x, held = np.ones(3, np.float32), xfront.jit(lambda x: jnp.sin(x) + 0.5)
    want, kept = held(x), []

    def fresh(k):
        def f(x):                                # of another structure for each k
            for i in range(7):
                x = jnp.sin(x) if k >> i & 1 else -x
            return x
        return xfront.jit(f)

    for k in range(100):
        fresh(k)(x)
        kept += [weakref.ref(next(reversed(programs._ENTRIES.values())).variants[0]
                             .compiled.executable)]
        assert sum(e.bytes for e in programs._ENTRIES.values()) <= room + programs.BETWEEN * (
            capacities.BYTES + 10 * capacities.BYTES_OF_AN_OP)
    gc.collect()
    assert kept[0]() is None and kept[-1]() is not None
    assert sum(program() is not None for program in kept) < 60
    made = programs._ENTRIES[next(reversed(programs._ENTRIES))].variants[0].compiled
    fresh(99)(x)
    assert programs._ENTRIES[next(reversed(programs._ENTRIES))].variants[0].compiled is made
    np.testing.assert_array_equal(held(x), want)


@needs_maps
def test_forgotten_programs_are_freed_and_made_again(capacity):
    f = xfront.jit(lambda x: jnp.sin(x) * 3 + jnp.arange(x.size))
    x = jnp.asarray(np.linspace(0, 1, 7, dtype=np.float32))
    want, eager = np.asarray(f(x)), np.asarray(jnp.cos(x))
    kept = f.lower(x).compile()
    executables = [weakref.ref(e.variants[0].compiled.executable)
                   for e in programs._ENTRIES.values() if e.variants
                   and getattr(e.variants[0].compiled, "executable", None) is not None]
    assert executables
    capacity.room, capacity.next = 1, 0
    xfront.jit(lambda x: x @ x)(x)
    assert len(programs._ENTRIES) == 1
    gc.collect()
    assert capacity.room > 1
    assert sum(e() is not None for e in executables) <= 1          # `kept` is in use
    np.testing.assert_array_equal(f(x), want)
    np.testing.assert_array_equal(kept(x), want)
    np.testing.assert_array_equal(jnp.cos(x), eager)
