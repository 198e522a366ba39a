"""Checks that need a process with several CPU devices: one process runs those of a module, and each
is a test of the suite."""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def checks_in(module: Mapping[str, Any]) -> dict[str, Callable[[], None]]:
    """The functions `check_...` of a module by the rest of their names."""
    return {name.removeprefix("check_"): check for name, check in module.items()
            if name.startswith("check_")}


def report(checks: Mapping[str, Callable[[], None]], devices: int) -> None:
    """Run checks on so many devices and print a row for each."""
    import xfront

    xfront.config.update("jax_num_cpu_devices", devices)
    for name, check in checks.items():
        error = None
        try:
            check()
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"name": name, "error": error}), flush=True)


def for_seeds(check: Callable[[int], None], n: int) -> None:
    """Run a generated check with the seeds below n. Raises: AssertionError that names the seed."""
    for seed in range(n):
        try:
            check(seed)
        except Exception as e:
            raise AssertionError(f"{check.__name__}({seed})") from e


def errors_of(module: str, checks: Mapping[str, Callable[[], None]], *args: str
              ) -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met in a process that runs `module`
    with these arguments, or None."""
    done = subprocess.run([sys.executable, "-W", "error", "-m", module, *args], cwd=ROOT,
                          capture_output=True, text=True, timeout=280)
    found = {row["name"]: row["error"] for row in map(json.loads, done.stdout.splitlines())}
    missing = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
    return {name: found.get(name, missing) for name in checks}
