"""Functions of parts. A process with eight CPU devices runs `shard_map_checks.py`; each check is a
test here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .shard_map_checks import CHECKS

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def errors() -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    command = [sys.executable, "-W", "error", "-m", "tests.xfront.sharding.shard_map_checks"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    found = {row["name"]: row["error"] for row in map(json.loads, done.stdout.splitlines())}
    missing = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
    return {name: found.get(name, missing) for name in CHECKS}


@pytest.mark.parametrize("name", CHECKS)
def test_shard_map(name: str, errors: dict[str, str | None]) -> None:
    assert errors[name] is None, errors[name]
