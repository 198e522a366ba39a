"""Programs loaded ahead: what is noted, and that a wrong note costs nothing but its load."""

from __future__ import annotations

import numpy as np
import pytest

import lowering
from lowering import ahead, disk_cache
from xfront_ir import dtypes, ops
from xfront_ir.fingerprint import fingerprint
from xfront_ir.types import tensor

V = tensor((3,), dtypes.f32)
X = np.array([0, 1, 2], np.float32)
PARTS = ("f", 1)


@pytest.fixture(autouse=True)
def of_any_size(cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LEAST_BYTES", 0)
    monkeypatch.setattr(ahead, "cores", lambda: 2)


@pytest.fixture
def made(func):
    """Compiles the program of an op, as a process does that has none in memory."""
    def compiled(definition):
        fn = func([V], lambda b, x: [b.emit(definition, x)])
        lowering._LIVE.clear()
        return fn, lowering.compile_function(fn, fingerprint=fingerprint(fn))

    return compiled


def noted(made, definition):
    note = ahead.begin(PARTS)
    assert note is not None
    ahead.remember(note, made(definition)[1])
    return note


def test_the_next_call_takes_what_was_begun(made, execute, monkeypatch) -> None:
    noted(made, ops.sin)
    assert not ahead._begun
    note = ahead.begin(PARTS)
    (load,) = ahead._begun.values()
    load.thread.join()
    monkeypatch.setattr(lowering, "load_from_disk", lambda *a: pytest.fail("loaded twice"))
    fn, executable = made(ops.sin)
    assert executable is load.found
    assert not ahead._begun
    np.testing.assert_allclose(execute(executable, fn, X)[0], np.sin(X), rtol=1e-6)
    monkeypatch.setattr(disk_cache, "store", lambda *a: pytest.fail("noted twice"))
    ahead.remember(note, executable)


def test_a_wrong_note_is_replaced(made, execute) -> None:
    noted(made, ops.sin)
    note = ahead.begin(PARTS)
    fn, executable = made(ops.cos)
    np.testing.assert_allclose(execute(executable, fn, X)[0], np.cos(X), rtol=1e-6)
    ahead.remember(note, executable)
    assert not ahead._begun
    assert disk_cache.load(note)[0]["program"] == executable.key


def test_a_program_that_is_gone_is_compiled(made, execute, cache) -> None:
    note = noted(made, ops.sin)
    for entry in cache.iterdir():
        if entry.name != note:
            entry.unlink()
    ahead.begin(PARTS)
    fn, executable = made(ops.sin)
    np.testing.assert_allclose(execute(executable, fn, X)[0], np.sin(X), rtol=1e-6)


def test_what_is_not_noted(made, cache, monkeypatch) -> None:
    monkeypatch.setattr(ahead, "LEAST_BYTES", 2**30)
    note = noted(made, ops.sin)
    assert disk_cache.load(note) is None            # too small
    monkeypatch.setattr(ahead, "cores", lambda: 1)
    assert ahead.begin(PARTS) is None
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    monkeypatch.setenv("XFRONT_CACHE", "0")
    assert ahead.begin(PARTS) is None


@pytest.mark.parametrize("header", [{}, {"program": 1, "overrides": ()},
                                    {"program": "0" * 48, "overrides": ()}])
def test_notes_that_name_no_program(header) -> None:
    note = ahead.begin(PARTS)
    disk_cache.store(note, header, b"")
    assert ahead.begin(PARTS) == note
    for load in ahead._begun.values():
        load.thread.join()
        assert load.found is None
    ahead._begun.clear()
