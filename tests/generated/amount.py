"""How many programs are generated, and from which seed."""

from __future__ import annotations

import os
import time

import pytest

USUAL = 140


def count() -> int:
    """The number of programs: `XFRONT_GENERATED`, or what every run of the tests checks."""
    return int(os.environ.get("XFRONT_GENERATED", USUAL))


def share(usual: int, large: int) -> int:
    """`usual` in every run of the tests, `large` of 2,000 programs, in proportion between."""
    return usual if count() <= USUAL else max(usual, large * count() // 2000)


def seed(config: pytest.Config) -> int:
    """The first seed: `--hypothesis-seed`; else 0, and in larger runs another every day."""
    given = config.getoption("--hypothesis-seed")
    if given is not None and str(given).isdigit():
        return int(given)
    return 0 if "XFRONT_GENERATED" not in os.environ else int(time.time() // 86400) * 1000


def header(config: pytest.Config) -> str:
    """The line that a run of the tests begins with."""
    return f"generated programs: {count()} from seed {seed(config)}"
