"""Host functions of traced programs: one lives as long as an op that calls it.

A callback op holds a `Slot`, the number of its function. Tables of programs hold neither the ops
nor the slots, and drop the programs of a slot that is gone.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from xfront_ir.analysis import functions, op_counts
from xfront_ir.core import Function
from xfront_ir.ops.effects import callback


class Host:
    """A host function as long as a slot of it is held."""

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


class Slot(int):
    """The number of a host function, which keeps it."""

    host: Host


_NUMBERS = itertools.count()


def slot_of(function: Callable[..., Any]) -> Slot:
    """A new slot for a host function."""
    made = Slot(next(_NUMBERS))
    made.host = Host(function)
    return made


def calls_host(function: Function) -> bool:
    """Whether a callback stands anywhere in the Function."""
    return op_counts(function)["callback"] > 0


def slots_in(function: Function) -> set[Slot]:
    """The slots of its callbacks, in bodies too."""
    return {op.attrs["slot"] for f in functions(function) for op in f.ops
            if op.definition is callback}


def host_functions(function: Function) -> dict[int, Callable[..., Any]]:
    """The host functions that it calls, by number."""
    return {int(slot): slot.host.function for slot in slots_in(function) if type(slot) is Slot}


def drop_with(function: Function, drop: Callable[..., Any], *args: Any) -> None:
    """Have `drop(*args)` called once a host function that `function` calls is gone."""
    for slot in slots_in(function):
        if type(slot) is Slot:
            weakref.finalize(slot.host, drop, *args).atexit = False
