"""Executables: running, analyses, serialisation, sharing in memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lowering
from lowering import compat
from xfront_ir import dtypes, ops
from xfront_ir.types import tensor

M = tensor((8, 8), dtypes.f32)


@pytest.fixture
def program(func):
    return func([M], lambda b, x: [b.emit(ops.sin, b.emit(ops.add, x, x)), x])


@pytest.fixture
def x(rng):
    return rng.random((8, 8), np.float32)


def test_execute_gives_one_array_a_result(program, execute, x) -> None:
    first, second = execute(lowering.compile_function(program), program, x)
    np.testing.assert_allclose(first, np.sin(x + x), rtol=1e-6)
    np.testing.assert_array_equal(second, x)


def test_loaded_is_what_the_dispatcher_wants(program) -> None:
    executable = lowering.compile_function(program, name="mine")
    assert executable.loaded.local_devices() == list(executable.devices)
    assert "HloModule jit_mine" in executable.hlo_text() and executable.name == "mine"
    assert not executable.has_callbacks and not executable.has_ordered_effects


def test_analyses(program) -> None:
    executable = lowering.compile_function(program)
    assert executable.cost_analysis()["flops"] >= 64
    assert executable.memory_analysis().argument_size_in_bytes == 256


def test_text_before_and_after_optimisation(program) -> None:
    lowered = lowering.lower(program)
    assert "ENTRY" in lowered.as_hlo_text() and "sine" in lowered.as_hlo_text()
    assert "is_scheduled=true" in lowered.compile().hlo_text()


def test_serialised_programs_load_and_run(program, execute, x) -> None:
    blob = lowering.compile_function(program).serialize()
    again = lowering.deserialize(blob, name="again")
    np.testing.assert_allclose(execute(again, program, x)[0], np.sin(x + x), rtol=1e-6)
    with pytest.raises(compat.RuntimeFailure):
        lowering.deserialize(blob[:100])


def test_live_programs_are_shared_and_die_with_their_users(program, cache) -> None:
    first = lowering.compile_function(program, fingerprint=b"p")
    assert lowering.compile_function(program, fingerprint=b"p") is first
    assert lowering.compile_function(program, fingerprint=b"p", name="other") is not first
    assert lowering.compile_function(program, fingerprint=b"p", donated=(0,)) is not first
    assert lowering.compile_function(program) is not first
    assert any(e is first for e in lowering._LIVE.values())
    del first
    gc.collect()
    assert not list(lowering._LIVE.values())


def test_wrong_inputs_are_errors_of_the_runtime(program, arrays) -> None:
    put, handlers_of, _ = arrays
    executable = lowering.compile_function(program)
    with pytest.raises(compat.EXECUTION_ERRORS):
        executable.execute([put(np.zeros(3, np.float32))], handlers_of(program))
