"""The cyclic collector, paused while programs are built and while the library is imported.

IR is acyclic and dies by reference count, but building it makes objects by the ten thousand, and
each collection on the way walks all programs that are alive.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def uncollected(f: Callable[P, R]) -> Callable[P, R]:
    """`f`, which runs with the cyclic collector paused."""
    @wraps(f)
    def paused(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled():
            return f(*args, **kwargs)
        try:                                     # Ctrl-C may come behind the next call
            gc.disable()
            return f(*args, **kwargs)
        finally:
            gc.enable()

    return paused


@contextmanager
def collector_paused() -> Iterator[None]:
    """A context in which the cyclic collector is paused; for imports, whose objects stay alive.

    The new objects count as old afterwards, or the first collection would walk all of them.
    """
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        try:
            if was_enabled and not gc.get_freeze_count():  # do not unfreeze others' objects
                gc.freeze()
                gc.unfreeze()
        finally:
            if was_enabled:
                gc.enable()
