"""A pytest plugin for the tests of other libraries: of each parameterised test a few cases spread
over all of them, and one line for what came of each.

`SAMPLED_CASES` is how many, `SAMPLED_LINES` the file that the lines are added to.
"""

from __future__ import annotations

import collections
import json
import os
import re
from typing import Any

import pytest


def test_of(case: str) -> str:
    """The test that a case belongs to: its name without parameters, and without the number that
    absl's parameterised tests put behind it."""
    return re.sub(r"\d+$", "", case.split("[")[0])


def spread(cases: list[Any], count: int) -> list[Any]:
    """`count` of the cases, evenly apart, the first and the last among them."""
    if len(cases) <= count:
        return cases
    return [cases[i * (len(cases) - 1) // (count - 1)] for i in range(count)]


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep a sample, in the order in which the cases were found."""
    groups: dict[str, list[Any]] = collections.defaultdict(list)
    for item in items:
        groups[test_of(item.nodeid)].append(item)
    count = int(os.environ["SAMPLED_CASES"])
    kept = {id(item) for cases in groups.values() for item in spread(cases, count)}
    items[:] = [item for item in items if id(item) in kept]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Write down what came of a case: its body, or what failed before and after it."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        said = str(call.excinfo.value) if call.excinfo is not None else ""
        kind = type(call.excinfo.value).__name__ if call.excinfo is not None else ""
        with open(os.environ["SAMPLED_LINES"], "a") as lines:
            lines.write(json.dumps({"case": item.nodeid, "outcome": report.outcome, "kind": kind,
                                    "said": said[:2000]}) + "\n")
    return report


def pytest_collectreport(report: Any) -> None:
    """Write down a file that cannot be read."""
    if report.failed:
        with open(os.environ["SAMPLED_LINES"], "a") as lines:
            lines.write(json.dumps({"case": report.nodeid, "outcome": "unreadable", "kind": "",
                                    "said": str(report.longrepr)[-2000:]}) + "\n")
