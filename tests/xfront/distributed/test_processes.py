"""Programs of several processes, on this machine: two of them in the suite, four marked slow."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time

import pytest

from tests.device_checks import ROOT
from xfront.distributed.clusters import free_port

from .checks import CHECKS


def outcomes(count: int, *what: str) -> list[tuple[int, str, str]]:
    """How `count` processes of `checks.py` end: exit status, what they wrote, and their errors."""
    port = free_port()
    command = [sys.executable, "-W", "error", "-m", "tests.xfront.distributed.checks", str(port)]
    running = [subprocess.Popen([*command, str(i), str(count), *what], cwd=ROOT, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for i in range(count)]
    try:
        written = [p.communicate(timeout=180) for p in running]
    finally:
        for p in running:
            p.kill()
    return [(p.returncode, *w) for p, w in zip(running, written, strict=True)]


@functools.cache
def errors(count: int) -> dict[str, list[str]]:
    """By name of the check: the tracebacks of the processes in which it failed."""
    found: dict[str, list[str]] = {name: [] for name in CHECKS}
    for i, (status, out, err) in enumerate(outcomes(count)):
        rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        seen = {row["name"]: row["error"] for row in rows}
        for name in CHECKS:
            missing = f"process {i} ended with {status}: {err[-2000:]}"
            if (error := seen.get(name, missing)) is not None:
                found[name].append(error)
    return found


@pytest.mark.parametrize("name", CHECKS)
def test_two_processes(name: str) -> None:
    assert not errors(2)[name], "\n".join(errors(2)[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_four_processes(name: str) -> None:
    assert not errors(4)[name], "\n".join(errors(4)[name])


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_is_named_by_the_others(count: int) -> None:
    found = outcomes(count, "lose")
    assert found[1][0] == -9
    assert time.time() - float(found[1][1].rpartition("killed at")[2]) < 30
    for i, (status, _, err) in enumerate(found):
        if i != 1:
            assert status != 0 and "process 1 (host " in err and f"of {count} has ended" in err
    if count == 2:                               # of more, some wait for one that waits
        assert "ProcessLost: process 1 (host " in found[0][2]


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", ["loop", "host", "scan"])
def test_the_others_fail_where_one_process_raises_in_a_loop(where: str, count: int) -> None:
    found = outcomes(count, "fail", where)
    times = [float(line.split()[-1]) for line in found[1][1].splitlines() if "failed at" in line]
    assert times and time.time() - times[0] < 30
    for i, (status, _, err) in enumerate(found):
        assert status not in (0, -6, -11), err
        if i == 1:
            assert "an error of process 1 alone" in err
        else:
            assert "ProcessLost: process" in err or "process 1 (host " in err, err
    if count == 2:                               # of more, some wait for one that waits
        assert "ProcessLost: process 1 (host " in found[0][2], found[0][2]


@pytest.mark.parametrize("leaver, when", [
    (1, "waiting"), (1, "alone"), pytest.param(0, "waiting", marks=pytest.mark.slow)])
def test_a_process_that_leaves_in_a_loop_is_not_waited_for(leaver: int, when: str) -> None:
    found = outcomes(2, "leave", str(leaver), when)
    assert time.time() - float(found[leaver][1].rpartition("left at")[2]) < 30
    assert found[leaver][0] == 0, found[leaver][2]
    status, _, err = found[1 - leaver]
    assert status != 0
    if leaver == 1:                              # without process 0, jaxlib ends a process at once
        assert "ProcessLost: process 1 " in err, err


def test_a_process_that_has_left_waits_for_what_others_do_alone() -> None:
    for status, _, err in (found := outcomes(2, "work alone")):
        assert status == 0 and "xfront.distributed:" not in err, err
    assert "alone 500.0" in found[0][1]


@pytest.mark.slow
def test_processes_outlive_others_where_they_are_told_to() -> None:
    (status, out, err), (killed, _, _) = outcomes(2, "outlive")
    assert killed == -9
    assert status == 0 and "outlived" in out and "alone 4.0" in out, err
