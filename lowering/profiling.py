"""XLA's profiler, which records host and devices during a session."""

from __future__ import annotations

from jaxlib._profile_data import ProfileData, ProfileEvent, ProfileLine, ProfilePlane
from jaxlib._profiler import (
    ProfileOptions,
    ProfilerServer,
    ProfilerSession,
    TraceMe,
    register_subprocess,
    start_server,
)

__all__ = ["ProfileData", "ProfileEvent", "ProfileLine", "ProfileOptions", "ProfilePlane",
           "ProfilerServer", "ProfilerSession", "TraceMe", "register_subprocess", "start_server"]
