"""Python processes in which `import jax` finds xfront."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def python(*arguments: str, path: str = "") -> subprocess.CompletedProcess:
    """A Python process with xfront, and `path` before it on PYTHONPATH."""
    parts = [p for p in (path, str(ROOT)) if p]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(parts)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                          env=environment, timeout=120)


def output(*arguments: str, path: str = "") -> str:
    """What such a process prints; it must succeed."""
    done = python(*arguments, path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout
