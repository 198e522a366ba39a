"""Programs are forgotten before a process has no mappings of memory left, and come back."""

from __future__ import annotations

import gc
import os
import weakref

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.tracing import capacity as capacities
from xfront.tracing import compiled, programs
from xfront.tracing.capacity import Capacity

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
        tested.made(lambda: forgotten.append(True))
    assert due == [2, 1, 2, 1, 1, 1, 2]
    assert len(forgotten) == 1 and tested.room == 520


def test_where_there_is_no_limit_nothing_is_counted(monkeypatch):
    monkeypatch.setattr(capacities, "MAPS", "/no/such/file")
    tested = Capacity()
    for _ in range(3):
        tested.made(lambda: pytest.fail("nothing is to be forgotten"))


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
