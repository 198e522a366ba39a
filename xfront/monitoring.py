"""Events that libraries record, and listeners that are called for each event.

xfront records no events of its own: `config.jax_log_compiles` logs traces and compilations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .on_demand import shown as _shown

_EVENTS, _DURATIONS, _SPANS, _SCALARS = "event", "duration", "time span", "scalar"
_listeners: dict[str, list[Callable[..., None]]] = {
    _EVENTS: [], _DURATIONS: [], _SPANS: [], _SCALARS: []}


def _tell(kind: str, event: str, *facts: float, **metadata: Any) -> None:
    for listener in list(_listeners[kind]):
        listener(event, *facts, **metadata)


def _register(kind: str, callback: Callable[..., None]) -> None:
    if not callable(callback):
        raise TypeError(f"a listener is a function, got {callback!r}")
    _listeners[kind].append(callback)


def _unregister(kind: str, callback: Callable[..., None]) -> None:
    try:
        _listeners[kind].remove(callback)
    except ValueError:
        raise ValueError(f"{callback!r} is no registered listener for {kind} events") from None


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners of an event; `kwargs` say more about it."""
    _tell(_EVENTS, event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners how long an event took, in seconds."""
    _tell(_DURATIONS, event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float,
                           **kwargs: str | int) -> None:
    """Tell the listeners when an event began and ended, in seconds since the epoch."""
    _tell(_SPANS, event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float, **kwargs: str | int) -> None:
    """Tell the listeners of a number that was measured."""
    _tell(_SCALARS, event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, **kwargs)` called at each `record_event`."""
    _register(_EVENTS, callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, duration, **kwargs)` called at each `record_event_duration_secs`."""
    _register(_DURATIONS, callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, start, end, **kwargs)` called at each `record_event_time_span`."""
    _register(_SPANS, callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, value, **kwargs)` called at each `record_scalar`."""
    _register(_SCALARS, callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of events. Raises: ValueError where it is not registered."""
    _unregister(_EVENTS, callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of durations. Raises: ValueError where it is not registered."""
    _unregister(_DURATIONS, callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of time spans. Raises: ValueError where it is not registered."""
    _unregister(_SPANS, callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of scalars. Raises: ValueError where it is not registered."""
    _unregister(_SCALARS, callback)


def clear_event_listeners() -> None:
    """Remove all listeners."""
    for held in _listeners.values():
        held.clear()


__all__ = [
    "clear_event_listeners", "record_event", "record_event_duration_secs",
    "record_event_time_span", "record_scalar", "register_event_duration_secs_listener",
    "register_event_listener", "register_event_time_span_listener", "register_scalar_listener",
    "unregister_event_duration_listener", "unregister_event_listener",
    "unregister_event_time_span_listener", "unregister_scalar_listener",
]  # fmt: skip
__dir__ = _shown(globals())
