"""Events that libraries record, and listeners that are called for each event.

What is traced and compiled is recorded as durations with `fun_name`: `TRACE` for each outermost
`jit`, `TO_MLIR` where a program was lowered, and `COMPILE` where it was compiled or loaded from
disk. Nothing is recorded for a program that the process knows already.
"""

from .base.monitoring import (
    clear_event_listeners,
    record_event,
    record_event_duration_secs,
    record_event_time_span,
    record_scalar,
    register_event_duration_secs_listener,
    register_event_listener,
    register_event_time_span_listener,
    register_scalar_listener,
    unregister_event_duration_listener,
    unregister_event_listener,
    unregister_event_time_span_listener,
    unregister_scalar_listener,
)
from .base.on_demand import shown as _shown

__all__ = [
    "clear_event_listeners", "record_event", "record_event_duration_secs",
    "record_event_time_span", "record_scalar", "register_event_duration_secs_listener",
    "register_event_listener", "register_event_time_span_listener", "register_scalar_listener",
    "unregister_event_duration_listener", "unregister_event_listener",
    "unregister_event_time_span_listener", "unregister_scalar_listener",
]  # fmt: skip
__dir__ = _shown(globals())
