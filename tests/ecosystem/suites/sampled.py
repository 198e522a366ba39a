"""A pytest plugin for the tests of other libraries: of each parameterised test a few cases spread
over all of them, and a line for what came of each.

`SAMPLED_CASES` is how many, or `SAMPLED_ASKED` the file that lists the cases to run.
`SAMPLED_LINES` is the file that the lines are added to; cases that have a line there are left out.
After `SAMPLED_MINUTES` no further test is begun (0: never).
"""

from __future__ import annotations

import collections
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

_STARTED = time.monotonic()


def test_of(case: str) -> str:
    """The test that a case belongs to: its name without parameters, and without the number that
    absl's parameterised tests put behind it."""
    return re.sub(r"\d+$", "", case.split("[")[0])


test_of.__test__ = False  # type: ignore[attr-defined]


def spread(cases: list[Any], count: int) -> list[Any]:
    """`count` of the cases, evenly apart from the first to the last; of one only, the first."""
    if len(cases) <= count or count == 1:
        return cases[:count]
    return [cases[i * (len(cases) - 1) // (count - 1)] for i in range(count)]


def chosen(items: list[Any]) -> list[Any]:
    """The cases that are asked for, or some of each test."""
    if asked := os.environ.get("SAMPLED_ASKED"):
        listed = set(Path(asked).read_text().splitlines())
        return [item for item in items if item.nodeid in listed]
    groups: dict[str, list[Any]] = collections.defaultdict(list)
    for item in items:
        groups[test_of(item.nodeid)].append(item)
    count = int(os.environ["SAMPLED_CASES"])
    kept = {id(item) for cases in groups.values() for item in spread(cases, count)}
    return [item for item in items if id(item) in kept]


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep a sample, in the order in which the cases were found."""
    lines = Path(os.environ["SAMPLED_LINES"])
    done = {json.loads(line)["case"]
            for line in (lines.read_text().splitlines() if lines.exists() else ())}
    items[:] = [item for item in chosen(items) if item.nodeid not in done]


def _write(case: str, outcome: str, kind: str = "", said: str = "") -> None:
    with open(os.environ["SAMPLED_LINES"], "a") as lines:
        lines.write(json.dumps({"case": case, "outcome": outcome, "kind": kind, "said": said})
                    + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> Any:
    """A case that ends the process has a line, too."""
    _write(item.nodeid, "unfinished")
    done = yield
    minutes = float(os.environ["SAMPLED_MINUTES"])
    if minutes and time.monotonic() - _STARTED > 60 * minutes:
        item.session.shouldstop = f"{minutes} minutes are over; --go-on runs the rest"
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Write down what came of a case: its body, or what failed before and after it."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        said = str(call.excinfo.value)[:2000] if call.excinfo is not None else ""
        kind = type(call.excinfo.value).__name__ if call.excinfo is not None else ""
        _write(item.nodeid, report.outcome, kind, said)
    return report


def pytest_collectreport(report: Any) -> None:
    """Write down a file that cannot be read."""
    if report.failed:
        _write(report.nodeid, "unreadable", "", str(report.longrepr)[-2000:])
