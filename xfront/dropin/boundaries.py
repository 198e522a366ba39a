"""The boundary between users' code and libraries: front doors, and frames that users wrote."""

from __future__ import annotations

from types import FrameType

from xfront_ir.locations import forget_library, is_library, library_paths, register_library

from ..binding.tracebacks import UnfilteredStackTrace
from ..binding.tracebacks import front_door as api_boundary


def include_frame(frame: FrameType) -> bool:
    """Whether a frame belongs to a user and not to a library."""
    return not is_library(frame.f_code)


class _Paths:
    """The list of path prefixes of libraries' files, which libraries extend."""

    def __len__(self) -> int:
        return len(library_paths())

    def __contains__(self, path: object) -> bool:
        return path in library_paths()

    def append(self, path: str) -> None:
        register_library(path)

    def remove(self, path: str) -> None:
        forget_library(path)


_exclude_paths = _Paths()

__all__ = ["UnfilteredStackTrace", "api_boundary", "include_frame"]
