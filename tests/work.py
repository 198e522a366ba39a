"""How much work a call does, counted in Python calls: the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(f: Callable[[], Any]) -> int:
    """Number of Python and C functions called while `f` runs on this thread."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        f()
    finally:
        sys.setprofile(before)
    return count
