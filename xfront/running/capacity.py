"""How many programs a process keeps: no more than the system has mappings of memory for, and of
those that no function holds, no more than take `KEPT` bytes in all.

Each executable maps its machine code and data in a few places: 4 to 20, and some 100 for large
programs. Linux allows a process `vm.max_map_count` mappings, 65,530 unless it is set otherwise, and
XLA crashes where it gets no more. So programs are forgotten at half of them; those still in use are
loaded from disk, or compiled, again.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Protocol, TypeVar

KEPT = 2 ** 28
"""About so many bytes of programs are kept for functions that may come with the same content."""
BYTES, BYTES_OF_AN_OP = 100_000, 10_000
"""What a program takes, and each of its ops: 2,500 where it is elementwise, 45,000 where it is a
product or a sort. Measured on a CPU; jaxlib does not tell."""

MAPS, LIMIT = "/proc/self/maps", "/proc/sys/vm/max_map_count"
MOST_OF_A_PROGRAM = 200


clock = itertools.count(1).__next__
"""Gives a larger number at each call."""


class Kept(Protocol):
    """Programs of one content: the bytes that they take, and when they were last used."""

    used: int

    @property
    def bytes(self) -> int: ...


K = TypeVar("K")
V = TypeVar("V", bound=Kept)


def least_recent(kept: dict[K, V], room: int) -> list[K]:
    """The keys to forget, least recently used first, so that the others take at most three quarters
    of `room` bytes; none if all take less than `room`. The one used last is never among them."""
    held = [*kept.copy().items()]                # other threads add and remove some meanwhile
    total = sum([k.bytes for _, k in held])
    if total <= room:
        return []
    held.sort(key=lambda item: item[1].used)
    chosen: list[K] = []
    for key, k in held[:-1]:
        if total <= room * 3 // 4:
            break
        total -= k.bytes
        chosen.append(key)
    return chosen


class Capacity:
    """Counts programs, and after some of them the mappings of the process.

    Fields: `room`, how many mappings there may be before programs are forgotten; `next`, how many
    programs may be made before mappings are counted again.
    """

    __slots__ = ("next", "room")

    def __init__(self) -> None:
        self.room = _limit() // 2
        self.next = self.room // MOST_OF_A_PROGRAM

    def count_program(self, forget: Callable[[], None]) -> None:
        """Count a new program; call `forget()` where there is no room for many more."""
        self.next -= 1
        if self.next > 0 or not self.room:
            return
        used = mappings()
        if used >= self.room:
            forget()
            used = mappings()
            # programs that users hold stay; there must be room for others beside them
            self.room = max(self.room, used + (_limit() - used) // 2)
        self.next = max((self.room - used) // MOST_OF_A_PROGRAM, 1)


def _limit() -> int:
    """How many mappings a process may have; 0 where there is no such limit."""
    if not os.path.exists(MAPS):
        return 0
    try:
        with open(LIMIT) as f:
            return int(f.read())
    except (OSError, ValueError):
        return 65_530


def mappings() -> int:
    """How many mappings this process has; Linux only."""
    with open(MAPS, "rb") as f:
        return f.read().count(b"\n")


capacity = Capacity()
