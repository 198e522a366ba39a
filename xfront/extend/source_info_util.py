"""Distinguishes users' frames from libraries': a library names its own files, so that errors and
the locations of operations point at the code that called it."""

from __future__ import annotations

from xfront_ir.locations import register_library

from ..on_demand import shown as _shown


def register_exclusion(path: str) -> None:
    """Declare the files whose path begins with `path` as a library's: their frames are left out of
    shortened tracebacks and are never the location of an operation."""
    if not isinstance(path, str):
        raise TypeError(f"register_exclusion: path must be a string, got {path!r}")
    register_library(path)


__all__ = ["register_exclusion"]
__dir__ = _shown(globals())
