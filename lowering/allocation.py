"""A switch that keeps the memory of freed large arrays in the process, for later arrays.

By default glibc returns freed blocks of more than 32 MB to the system at once, so each new array of
that size costs a page fault for every 4 KB, which takes several times as long as an elementwise
operation. The switch acts on the whole process, its other libraries included. It takes about a
dozen calls until freed blocks fit new arrays; then the process holds a few times the memory in use.
"""

from __future__ import annotations

import ctypes
import warnings

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Numbers of glibc's `mallopt` (malloc.h)."""

SETTINGS = ((MMAP_THRESHOLD, 2 ** 30), (TRIM_THRESHOLD, 2 ** 31 - 1), (ARENA_MAX, 1))
"""Blocks of up to 1 GB come from the heap, which is not trimmed and which all threads share."""


def keep_freed_memory() -> bool:
    """Switch it on for the rest of the process. Threads that exist keep the heaps they have.

    Returns: True, or False after a RuntimeWarning where the C library is not glibc.
    """
    mallopt = _mallopt()
    done = mallopt is not None and all([mallopt(name, value) for name, value in SETTINGS])
    if not done:
        warnings.warn("keep_freed_memory has no effect: it needs glibc's malloc", RuntimeWarning,
                      stacklevel=2)
    return done


def _mallopt() -> ctypes._FuncPointer | None:
    """glibc's `mallopt`, or None where the process has another C library."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):                   # Windows raises TypeError
        return None
    return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
