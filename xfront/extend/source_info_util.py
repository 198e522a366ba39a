"""Tells users' frames from libraries': libraries name their own files, so that errors and the
locations of operations point at the code that called them."""

from __future__ import annotations

from xfront_ir.locations import register_library

from ..on_demand import shown as _shown


def register_exclusion(path: str) -> None:
    """Frames of files whose path begins with `path` are the library's: they are left out of
    shortened tracebacks and are never the place of an operation."""
    if not isinstance(path, str):
        raise TypeError(f"register_exclusion: a path is wanted, got {path!r}")
    register_library(path)


__all__ = ["register_exclusion"]
__dir__ = _shown(globals())
