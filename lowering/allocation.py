"""Whether memory that large arrays free stays with the process, for the next ones.

By default glibc gives blocks of more than 32 MB back to the system at once, so each new array of
that size costs a page fault for every 4 KB: several times what an elementwise operation takes. The
switch is for the whole process, its other libraries included. It takes about a dozen calls until
blocks fit, and then holds a few times what is in use at once.
"""

from __future__ import annotations

import ctypes
import warnings

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Numbers of glibc's `mallopt` (malloc.h)."""

SETTINGS = ((MMAP_THRESHOLD, 2 ** 30), (TRIM_THRESHOLD, 2 ** 31 - 1), (ARENA_MAX, 1))
"""Blocks of up to 1 GB come from the heap, its end stays, and all threads share it."""


def keep_freed_memory() -> bool:
    """Switch it on, for the process and for good. Threads that exist keep the heaps they have.

    Returns: whether it is on; where the C library is not glibc it is not, after a RuntimeWarning.
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
    except (OSError, TypeError):                   # TypeError: no such handle on Windows
        return None
    return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
