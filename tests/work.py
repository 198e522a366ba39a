"""How much work a call does, counted in Python calls: the same on every machine, however busy."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def calls(f: Callable[[], Any]) -> int:
    """Number of Python and C functions called while `f` runs on this thread.

    The collector rests meanwhile: it calls what was to be told of objects that other tests left.
    """
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(profile)
    try:
        f()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count
