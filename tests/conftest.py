"""What every test shares: the cache of compiled programs, seeds, the switch for golden files."""

from __future__ import annotations

import importlib.metadata
import os
import random
import sys
import tempfile
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from tests.ecosystem.suites.sampled import spread


def _cache_dir() -> Path:
    """A folder of compiled programs that outlives the run, one for each jaxlib."""
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home else Path.home() / ".cache"
    folder = base / "xfront-tests" / f"jaxlib-{importlib.metadata.version('jaxlib')}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:  # a home that cannot be written to
        folder = Path(tempfile.mkdtemp(prefix="xfront-tests-"))
    return folder


# Before the first import of xfront, and inherited by the processes that tests start.
os.environ.setdefault("XFRONT_CACHE_DIR", str(_cache_dir()))

hypothesis.settings.register_profile("repeatable", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


PROGRAMS_OF_A_TEST = 60
"""That count what they compile."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--update-golden` and `--cases`."""
    parser.addoption(
        "--cases",
        type=int,
        metavar="N",
        help="of each test with parameters N cases, evenly apart from the first to the last",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the passes give into the golden files instead of comparing",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the cases that `--cases` does not take."""
    if not (count := config.getoption("--cases")):
        return
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {item.nodeid for cases in tests.values() for item in spread(cases, count)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]


def pytest_report_header(config: pytest.Config) -> str:
    """How many programs are generated, from which seed."""
    from tests.generated import amount

    return amount.header(config)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """True where golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def _seeds() -> None:
    random.seed(0)
    np.random.seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator that gives the same numbers in every run of a test."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _room_for_programs() -> None:
    """Programs are forgotten between tests: some count those that are made."""
    programs = sys.modules.get("xfront.running.compiled")
    if programs is None:
        return
    capacity = programs.capacity
    if capacity.room and capacity.next < PROGRAMS_OF_A_TEST:
        capacity.next = 1
        capacity.count_program(programs.clear)
        if capacity.next < PROGRAMS_OF_A_TEST:
            programs.clear()
            capacity.next = PROGRAMS_OF_A_TEST
