"""Profiles of the time and the memory that a program uses, recorded by XLA's profiler.

    with profiler.trace("/tmp/profile"):
        for step in range(3):
            with profiler.StepTraceAnnotation("train", step_num=step):
                params = train_step(params).block_until_ready()

The profile is then in the folder `plugins/profile/<time>` below it; XProf, TensorBoard and
ui.perfetto.dev show it.
"""

from ..base.on_demand import shown as _shown
from .sessions import (
    ProfileData,
    ProfileEvent,
    ProfileLine,
    ProfileOptions,
    ProfilePlane,
    ProfileSession,
    StepTraceAnnotation,
    TraceAnnotation,
    annotate_function,
    device_memory_profile,
    export_profile_data,
    register_subprocess,
    save_device_memory_profile,
    start_server,
    start_trace,
    stop_server,
    stop_trace,
    trace,
)

__all__ = [
    "ProfileData", "ProfileEvent", "ProfileLine", "ProfileOptions", "ProfilePlane",
    "ProfileSession", "StepTraceAnnotation", "TraceAnnotation", "annotate_function",
    "device_memory_profile", "export_profile_data", "register_subprocess",
    "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace",
    "trace",
]  # fmt: skip
__dir__ = _shown(globals())
