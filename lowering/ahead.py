"""Programs loaded in the background, while Python still traces what will ask for them.

Which program a call needs is known when its function has been traced, and to load a large one takes
as long as to trace it. So what a function needed last time is noted on disk, beside the programs:

    note of (code of the function, types of its arguments, options)  ->  key of the program

The first such call of a process begins to load what the note names, on another core, and
`compile_function` takes it if that is what the traced program needs. A note that has become wrong
costs the load of a program that nobody asks for, and is replaced.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from . import clients, disk_cache
from .executable import Executable
from .partitioning import Partition
from .warm_up import cores

LEAST_BYTES = 2 ** 17
"""Smaller programs load sooner than a thread is worth its start."""

_begun: dict[str, Load] = {}
"""What is being loaded and nobody has asked for, by the note that said so."""


class Load:
    """A program that is being loaded on the default device."""

    def __init__(self, key: str, overrides: Any) -> None:
        self.key, self.overrides = key, overrides
        self.devices = tuple(clients.default_client().local_devices()[:1])
        self.found: Executable | None = None
        self.thread = threading.Thread(target=self._run, name="xfront-load")
        self.thread.start()

    def _run(self) -> None:
        from . import load_from_disk  # the package stands on this file

        self.found = load_from_disk(self.key, self.devices, self.overrides, Partition())


def begin(parts: Sequence[Any]) -> str | None:
    """Start loading what a call of these parts (by repr) needed last time, if that is known.

    Returns: the name of the note, for `remember`; None where nothing is to be remembered.
    """
    if not disk_cache.is_enabled() or cores() < 2:
        return None
    note = disk_cache.key(b"ahead", parts)
    found = disk_cache.load(note)
    if found is not None:
        key, overrides = found[0].get("program"), found[0].get("overrides")
        if isinstance(key, str) and isinstance(overrides, tuple):
            _begun[note] = Load(key, overrides)
    return note


def take(key: str, devices: Sequence[Any]) -> Executable | None:
    """The program of that key where its loading was begun; waits for the end of it."""
    for note, load in list(_begun.items()):
        if load.key == key and load.devices == tuple(devices):
            _begun.pop(note, None)
            load.thread.join()
            return load.found
    return None


def remember(note: str, made: Executable) -> None:
    """Note which program the call needed, where loading it takes long."""
    _begun.pop(note, None)                       # where nobody asked for it
    if made.key is None or made.size < LEAST_BYTES or made.partition != Partition():
        return
    if not all(type(value) in _WRITTEN for _, value in made.overrides):
        return
    header = {"program": made.key, "overrides": made.overrides}
    if disk_cache.load(note) != (header, b""):
        disk_cache.store(note, header, b"", float("inf"))


_WRITTEN = frozenset((str, int, bool))
"""Types of options that the header of an entry can hold."""

__all__ = ["begin", "remember", "take"]
