"""The states that jaxlib's C++ reads: options with thread-local overrides, and transfer guards."""

from __future__ import annotations

from typing import Any

from .classes import Config, cpp

TRACE_STATES: list[str] = []
"""Names of the values of `trace_context()`."""


def make_state(name: str, value: object, jit_key: bool = True, trace_key: bool = True) -> Config:
    """A process-wide option with a thread-local override.

    With `jit_key` it is part of the key of every compiled front door, and with `trace_key` of
    `trace_context()`. It is never freed, so make one per option.
    """
    if jit_key and trace_key:
        TRACE_STATES.append(name)
    return Config(name, value, include_in_jit_key=jit_key,
                  include_in_trace_context=jit_key and trace_key)


x64_state = make_state("enable_x64", False)
disable_jit_state = make_state("disable_jit", False)
post_hook_state = make_state("post_hook", None, jit_key=False)
default_device_state = make_state("default_device", None)
mesh_state = make_state("mesh", None)
cpp.jax_jit.set_enable_x64_state(x64_state)
cpp.jax_jit.set_disable_jit_state(disable_jit_state)
cpp.jax_jit.set_post_hook_state(post_hook_state)

guards = cpp.guard_lib


def set_transfer_guard(field: str, level: str | None, local: bool) -> None:
    """Set one of the transfer guards (`host_to_device`, …) to `allow`, `log`, `disallow`,
    `log_explicit` or `disallow_explicit`; None unsets it."""
    state = guards.thread_local_state() if local else guards.global_state()
    chosen = None if level is None else getattr(guards.TransferGuardLevel, level.upper())
    setattr(state, field, chosen)
    if level is not None and not guarded:
        guarded.append(field)


guarded: list[str] = []
"""Empty until a guard is set, so that the check costs nothing without guards."""


class asked_for:
    """A context in which a field of the guards has another value, for instance one in which
    transfers are explicit (`explicit_device_put`, `explicit_device_get`)."""

    __slots__ = ("before", "field", "state", "value")

    def __init__(self, field: str, value: Any = True) -> None:
        self.field, self.value, self.state = field, value, guards.thread_local_state()

    def __enter__(self) -> None:
        self.before = getattr(self.state, self.field)
        setattr(self.state, self.field, self.value)

    def __exit__(self, *exc: object) -> None:
        setattr(self.state, self.field, self.before)


def set_garbage_guard(level: str | None, local: bool) -> None:
    """Set what happens when the cyclic collector frees an array: `allow`, `log` or `fatal`."""
    state = guards.thread_local_state() if local else guards.global_state()
    levels = guards.GarbageCollectionGuardLevel
    state.garbage_collect_array = None if level is None else getattr(levels, level.upper())
