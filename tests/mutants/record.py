"""A pytest plugin that writes which tests run which lines, and how long each takes.

    MUTANTS_RECORD=record.json python -m pytest -p tests.mutants.record tests/xfront_ir

The file has `tests`, each with its seconds, and `lines`: of each line of the files that are mutated
the numbers of the tests that run it. Lines that run when their file is imported have none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tests.mutants.mutants import ROOMS, ROOT
from xfront_ir.definition import REGISTRY

_seconds: dict[str, float] = {}
"""Of the processor, those of other processes that the test waits for too."""
_coverage = coverage.Coverage(
    data_file=None, include=[str(ROOT / room / "*") for room in ROOMS], config_file=False
)


def pytest_sessionstart() -> None:
    """Measures from here on."""
    _coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Names what is run from here on after the test, and takes its time. Types that an earlier test
    inferred are forgotten, since the test alone would infer them."""
    for definition in REGISTRY.values():
        definition.memo.clear()
    _coverage.switch_context(item.nodeid)
    before = sum(os.times()[:4])
    done = yield
    _seconds[item.nodeid] = round(sum(os.times()[:4]) - before, 3)
    return done


def pytest_sessionfinish() -> None:
    """Writes the file."""
    _coverage.stop()
    data = _coverage.get_data()
    number = {test: i for i, test in enumerate(_seconds)}
    lines = {}
    for path in sorted(data.measured_files()):
        by_line = data.contexts_by_lineno(path)
        lines[str(Path(path).relative_to(ROOT))] = {
            line: sorted(number[test] for test in tests if test in number)
            for line, tests in by_line.items()
        }
    text = json.dumps({"tests": list(_seconds.items()), "lines": lines})
    Path(os.environ["MUTANTS_RECORD"]).write_text(text)
