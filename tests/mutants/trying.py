"""A pytest plugin that collects tests once and runs those of each mutant in a process of its own.

Each is a fork of the process that collected. Where the fault is in functions alone, they get the
code of the faulty file, which takes no time. Otherwise, or if the mutant survived that (what ran
when the file was imported did not change), pytest starts again, and a hook gives it the faulty
source.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.mutants import ROOT, Mutant

GIGABYTES = 14
"""What a mutant may map."""

Job = tuple[Mutant, Sequence[str], float]


class Trying:
    """The plugin. `jobs` are mutants with the tests to run and the seconds that they may take;
    `report` is called with the number of a job and what became of it: "caught", "survived" or
    "timed out".
    """

    def __init__(self, jobs: Sequence[Job], workers: int, report: Callable[[int, str], None]
                 ) -> None:
        self.jobs, self.workers, self.report = jobs, workers, report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tries the mutants instead of running the tests."""
        items = {item.nodeid: item for item in session.items}
        running: dict[int, tuple[int, bool, str]] = {}
        waiting = [(i, False) for i in reversed(range(len(self.jobs)))]
        while waiting or running:
            while waiting and len(running) < self.workers:
                i, afresh = waiting.pop()
                if not self.jobs[i][1]:
                    self.report(i, "survived")             # no test runs it
                    continue
                folder = tempfile.mkdtemp(prefix="mutant-")
                pid = os.fork()
                if not pid:
                    _child(self.jobs[i], items, afresh, folder)
                running[pid] = i, afresh, folder
            pid, status = os.wait()
            i, afresh, folder = running.pop(pid)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                os.killpg(pid, signal.SIGKILL)             # what the test started
            except ProcessLookupError:
                pass
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
                self.report(i, "timed out")
            elif status:
                self.report(i, "caught")
            elif afresh:
                self.report(i, "survived")
            else:
                waiting.append((i, True))
        return True


def _child(job: Job, items: dict[str, pytest.Item], afresh: bool, folder: str) -> None:
    """Runs the tests until one fails; the process ends with 0 if none does."""
    mutant, tests, seconds = job
    os.setsid()
    signal.alarm(int(seconds))
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30,) * 2)
    with open(os.path.join(folder, "output"), "w") as f:
        os.dup2(f.fileno(), 1)
        os.dup2(f.fileno(), 2)
    os.environ["XFRONT_CACHE_DIR"] = folder + "/programs"
    status = 1
    try:
        if afresh or not plant(mutant):
            source = Path(folder, "source.py")
            source.write_text(mutant.source)
            os.environ["MUTANT"] = f"{ROOT / mutant.path}={source}"
            plugins = ["-p", "tests.mutants.planted", "-p", "no:cacheprovider"]
            os.execv(sys.executable, [sys.executable, "-m", "pytest", *plugins, "-x", *tests])
        chosen = [items[test] for test in tests]
        for item, following in zip(chosen, [*chosen[1:], None]):
            reports = runtestprotocol(item, log=False, nextitem=following)
            if any(report.failed for report in reports):
                os._exit(1)
        status = 0
    finally:
        os._exit(status)


def plant(mutant: Mutant) -> bool:
    """Gives the functions of a file the code of the mutant; False where it is in no function."""
    path = str(ROOT / mutant.path)
    original = compile(Path(path).read_text(), path, "exec")
    pairs = list(_differing(original, compile(mutant.source, path, "exec")))
    if not all(old.co_flags & 1 for old, _ in pairs):      # CO_OPTIMIZED: neither file nor class
        return False
    functions = [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]
    for old, new in reversed(pairs):
        for function in functions:
            code = function.__code__
            if code.co_firstlineno == old.co_firstlineno and code == old:
                function.__code__ = new
    return True


def _differing(old: types.CodeType, new: types.CodeType
               ) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """Pairs of code that differ in themselves, or in code inside it that a function may have."""
    inner, planted = ([c for c in each.co_consts if isinstance(c, types.CodeType)]
                      for each in (old, new))
    inside = [pair for a, b in zip(inner, planted) for pair in _differing(a, b)]
    if _own(old) != _own(new) or (inside and old.co_flags & 1):
        yield old, new
    yield from inside


def _own(code: types.CodeType) -> object:
    consts = [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
    return code.co_code, code.co_names, code.co_varnames, consts
