"""What `xfront.monitoring` offers, whose file says how it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_EVENTS, _DURATIONS, _SPANS, _SCALARS = "event", "duration", "time span", "scalar"
_listeners: dict[str, list[Callable[..., None]]] = {
    _EVENTS: [], _DURATIONS: [], _SPANS: [], _SCALARS: []}


TRACE = "/jax/core/compile/jaxpr_trace_duration"
TO_MLIR = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILE = "/jax/core/compile/backend_compile_duration"
hears_durations = _listeners[_DURATIONS]
"""Empty where nobody asks how long something took."""


def _tell(kind: str, event: str, *facts: float, **metadata: Any) -> None:
    for listener in list(_listeners[kind]):
        listener(event, *facts, **metadata)


def _register(kind: str, callback: Callable[..., None]) -> None:
    if not callable(callback):
        raise TypeError(f"a listener must be a function, got {callback!r}")
    _listeners[kind].append(callback)


def _unregister(kind: str, callback: Callable[..., None]) -> None:
    try:
        _listeners[kind].remove(callback)
    except ValueError:
        raise ValueError(f"{callback!r} is not a registered listener for {kind} events") from None


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners about an event; `kwargs` are its further facts.

    Without listeners this does nothing; `register_event_listener` shows one that is called.

    >>> monitoring.record_event("/model/loaded", layers=3)
    """
    _tell(_EVENTS, event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners how long an event took, in seconds.

    See `register_event_duration_secs_listener`.

    >>> monitoring.record_event_duration_secs("/model/load", 0.5, layers=3)
    """
    _tell(_DURATIONS, event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float,
                           **kwargs: str | int) -> None:
    """Tell the listeners when an event began and ended, in seconds since the epoch.

    See `register_event_time_span_listener`.

    >>> monitoring.record_event_time_span("/model/load", 1.0, 1.5)
    """
    _tell(_SPANS, event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float, **kwargs: str | int) -> None:
    """Tell the listeners about a number that was measured; see `register_scalar_listener`.

    >>> monitoring.record_scalar("/model/loss", 0.25)
    """
    _tell(_SCALARS, event, value, **kwargs)


def register_event_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, **kwargs)` called at each `record_event`.

    >>> seen = []
    >>> def listen(event, **more):
    ...     seen.append((event, more))
    >>> monitoring.register_event_listener(listen)
    >>> monitoring.record_event("/model/loaded", layers=3)
    >>> monitoring.unregister_event_listener(listen)
    >>> seen
    [('/model/loaded', {'layers': 3})]
    """
    _register(_EVENTS, callback)


def register_event_duration_secs_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, duration, **kwargs)` called at each `record_event_duration_secs`.

    >>> seen = []
    >>> def listen(event, secs, **more):
    ...     seen.append((event, secs, more))
    >>> monitoring.register_event_duration_secs_listener(listen)
    >>> monitoring.record_event_duration_secs("/model/load", 0.5, layers=3)
    >>> monitoring.unregister_event_duration_listener(listen)
    >>> seen
    [('/model/load', 0.5, {'layers': 3})]
    """
    _register(_DURATIONS, callback)


def register_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, start, end, **kwargs)` called at each `record_event_time_span`.

    >>> seen = []
    >>> def listen(event, start, end, **more):
    ...     seen.append((event, start, end, more))
    >>> monitoring.register_event_time_span_listener(listen)
    >>> monitoring.record_event_time_span("/model/load", 1.0, 1.5)
    >>> monitoring.unregister_event_time_span_listener(listen)
    >>> seen
    [('/model/load', 1.0, 1.5, {})]
    """
    _register(_SPANS, callback)


def register_scalar_listener(callback: Callable[..., None]) -> None:
    """Have `callback(event, value, **kwargs)` called at each `record_scalar`.

    >>> seen = []
    >>> def listen(event, value, **more):
    ...     seen.append((event, value, more))
    >>> monitoring.register_scalar_listener(listen)
    >>> monitoring.record_scalar("/model/loss", 0.25)
    >>> monitoring.unregister_scalar_listener(listen)
    >>> seen
    [('/model/loss', 0.25, {})]
    """
    _register(_SCALARS, callback)


def unregister_event_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of events. Raises: ValueError where it is not registered.

    >>> def listen(*facts, **more):
    ...     print(facts)
    >>> monitoring.register_event_listener(listen)
    >>> monitoring.record_event("/model/loaded")
    ('/model/loaded',)
    >>> monitoring.unregister_event_listener(listen)
    >>> monitoring.record_event("/model/loaded")
    """
    _unregister(_EVENTS, callback)


def unregister_event_duration_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of durations. Raises: ValueError where it is not registered.

    >>> def listen(*facts, **more):
    ...     print(facts)
    >>> monitoring.register_event_duration_secs_listener(listen)
    >>> monitoring.record_event_duration_secs("/model/load", 0.5)
    ('/model/load', 0.5)
    >>> monitoring.unregister_event_duration_listener(listen)
    >>> monitoring.record_event_duration_secs("/model/load", 0.5)
    """
    _unregister(_DURATIONS, callback)


def unregister_event_time_span_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of time spans. Raises: ValueError where it is not registered.

    >>> def listen(*facts, **more):
    ...     print(facts)
    >>> monitoring.register_event_time_span_listener(listen)
    >>> monitoring.record_event_time_span("/model/load", 1.0, 1.5)
    ('/model/load', 1.0, 1.5)
    >>> monitoring.unregister_event_time_span_listener(listen)
    >>> monitoring.record_event_time_span("/model/load", 1.0, 1.5)
    """
    _unregister(_SPANS, callback)


def unregister_scalar_listener(callback: Callable[..., None]) -> None:
    """Stop calling a listener of scalars. Raises: ValueError where it is not registered.

    >>> def listen(*facts, **more):
    ...     print(facts)
    >>> monitoring.register_scalar_listener(listen)
    >>> monitoring.record_scalar("/model/loss", 0.25)
    ('/model/loss', 0.25)
    >>> monitoring.unregister_scalar_listener(listen)
    >>> monitoring.record_scalar("/model/loss", 0.25)
    """
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
