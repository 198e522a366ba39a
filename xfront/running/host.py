"""Host functions of traced programs: each lives as long as an op that calls it.

A callback op holds a `Slot`, the number of its function. Tables of programs hold neither the ops
nor the slots, and drop the programs of a slot that is gone.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from xfront_ir.analysis import derived, standing_bodies, union
from xfront_ir.core import Function
from xfront_ir.ops.effects import callback


class Host:
    """A host function, kept as long as one of its slots is held."""

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


class Slot(int):
    """The number of a host function; it keeps the function alive."""

    host: Host


_NUMBERS = itertools.count()


def slot_of(function: Callable[..., Any]) -> Slot:
    """A new slot for a host function."""
    made = Slot(next(_NUMBERS))
    made.host = Host(function)
    return made


def slots_in(function: Function) -> frozenset[int]:
    """The slots of the callbacks of a Function, also of those in bodies.

    A body whose transformation has not been carried out counts as the Function before it: callbacks
    of custom rules are found once the Function has been through `simplify`.
    """
    return derived(function, "slots", _own_slots, union, standing_bodies)


def _own_slots(function: Function) -> frozenset[int]:
    return frozenset([op.attrs["slot"] for op in function.ops if op.definition is callback])


def host_functions(function: Function) -> dict[int, Callable[..., Any]]:
    """The host functions that a Function calls, by number."""
    return {int(slot): slot.host.function for slot in slots_in(function) if type(slot) is Slot}


def drop_with(slots: Iterable[int], drop: Callable[..., Any], *args: Any) -> None:
    """Have `drop(*args)` called once the host function of one of `slots` is gone."""
    for slot in slots:
        if type(slot) is Slot:
            weakref.finalize(slot.host, drop, *args).atexit = False
