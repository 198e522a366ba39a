"""How many programs a process keeps: as many as its system has mappings of memory for.

Each executable maps its machine code and data in a few places: 4 to 20, and some 100 for large
programs. Linux allows a process `vm.max_map_count` mappings, 65,530 unless it is set otherwise, and
XLA crashes where it gets no more. So programs are forgotten at half of them; those still in use are
loaded from disk, or compiled, again.
"""

from __future__ import annotations

import os
from collections.abc import Callable

MAPS, LIMIT = "/proc/self/maps", "/proc/sys/vm/max_map_count"
MOST_OF_A_PROGRAM = 200


class Capacity:
    """Counts programs, and after some of them the mappings of the process.

    Fields: `room`, how many mappings there may be before programs are forgotten; `next`, how many
    programs may be made before mappings are counted again.
    """

    __slots__ = ("next", "room")

    def __init__(self) -> None:
        self.room = _limit() // 2
        self.next = self.room // MOST_OF_A_PROGRAM

    def made(self, forget: Callable[[], None]) -> None:
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
