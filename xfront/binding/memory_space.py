"""The memories in which arrays can be, as types name them."""

from __future__ import annotations

import enum


class MemorySpace(enum.Enum):
    """In which memory an array is: that of its devices, or the host's.

    Each stands for a `memory_kind` of shardings, "device" and "pinned_host". `Any` stands for both,
    where a function takes either.
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


MemorySpace.__module__ = "xfront.memory"
MemorySpace.__qualname__ = "Space"

__all__ = ["MemorySpace"]
