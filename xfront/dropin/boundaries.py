"""Functions that users call, and frames that they wrote."""

from __future__ import annotations

from types import FrameType

from xfront_ir.locations import is_library

from ..tracebacks import front_door as api_boundary


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is a user's, and no library's."""
    return not is_library(frame.f_code)


__all__ = ["api_boundary", "include_frame"]
