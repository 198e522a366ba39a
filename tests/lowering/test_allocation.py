"""Keeping freed memory: it saves page faults, is chosen before the CPU is used, needs glibc."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from lowering import allocation

ROOT = Path(__file__).resolve().parent.parent.parent


def run(script: str, **variables: str) -> list[str]:
    """The lines that a script prints in a fresh process."""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True,
                          timeout=120, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone has mallopt")
def test_large_arrays_come_from_memory_that_was_freed() -> None:
    script = """
import resource, xfront, xfront.numpy as jnp
f = xfront.jit(lambda x: x + 1)
x = jnp.zeros(12_000_000)
for _ in range(40):
    f(x).block_until_ready()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    f(x).block_until_ready()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    kept, = run(script, XFRONT_KEEP_FREED_MEMORY="1")
    fresh, = run(script)
    assert int(fresh) > 4 * int(kept)


def test_it_is_chosen_before_the_first_use() -> None:
    script = """
import xfront
xfront.config.update("xfront_keep_freed_memory", True)
xfront.config.update("xfront_keep_freed_memory", False)
xfront.devices()
try:
    xfront.config.update("xfront_keep_freed_memory", True)
except RuntimeError as error:
    print(xfront.config.xfront_keep_freed_memory, error)
xfront.config.update("xfront_keep_freed_memory", False)
"""
    line, = run(script)
    assert line == "False keep_freed_memory must be chosen before the first use of a CPU device"


def test_other_c_libraries_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    for mallopt in (None, lambda name, value: 0):
        monkeypatch.setattr(allocation, "_mallopt", lambda mallopt=mallopt: mallopt)
        with pytest.warns(RuntimeWarning, match="needs glibc"):
            assert not allocation.keep_freed_memory()
    given = []
    monkeypatch.setattr(allocation, "_mallopt",
                        lambda: lambda name, value: given.append(name) or 1)
    assert allocation.keep_freed_memory() and given == [-3, -1, -8]
