"""Calls 1 to 40 of every function without `jit` give the bits of its jitted call.

    pytest tests/numeric/test_repeated.py                      a sample of rows, one dtype each
    XFRONT_GENERATED=1 pytest tests/numeric/test_repeated.py   all rows in all dtypes
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import xfront
from tests.generated import amount
from xfront.running import first_runs
from xfront_ir import ops
from xfront_ir.core import Function, Op

from . import repeated
from .row import WIDE, Row
from .rows import ROWS, chosen_rows

SAMPLE = 40
"""Rows in every run of the tests, with two calls each and two sets of operands for each call."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All rows, or the sample."""
    if "row" in metafunc.fixturenames:
        chosen = chosen_rows(amount.seed(metafunc.config) + 1, SAMPLE)
        metafunc.parametrize(("row", "dtypes"), chosen,
                             ids=[f"{row.name}-{k}" for k, (row, _) in enumerate(chosen)])


def _found(row: Row, *dtypes: str) -> list[str]:
    found, most = [], None if "XFRONT_GENERATED" in os.environ else 2
    for dtype in dtypes:
        with xfront.enable_x64(dtype in WIDE):
            found += map(str, repeated.faults(row, dtype, most))
    return found


def test_bits_of_calls(row: Row, dtypes: tuple[str, ...]) -> None:
    found = _found(row, *dtypes)
    assert not found, f"{len(found)} calls are wrong:\n" + "\n".join(found[:20])


def test_the_check_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run that subtracts where it should add is noticed."""
    (row,) = [row for row in ROWS if row.name == "numpy.add"]
    assert not _found(row, "int32")
    results = first_runs.results

    def wrong(function: Function, arrays: Sequence[Any]) -> list[np.ndarray] | None:
        return results(function.replace(ops=tuple([
            Op(ops.sub, op.operands, op.attrs, op.results, op.loc) if op.definition is ops.add
            else op for op in function.ops])), arrays)

    monkeypatch.setattr(first_runs, "results", wrong)
    xfront.clear_caches()
    assert all(["call 1 without jit" in fault for fault in _found(row, "int32")])
    assert _found(row, "int32")
