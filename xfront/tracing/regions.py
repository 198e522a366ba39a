"""The `shard_map` bodies that are being traced: their axes, and whether they follow variation."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple


class Region(NamedTuple):
    """One body: its mesh (with devices where they are known), its own axes, and whether the axes
    over which its values vary are followed."""

    mesh: Any
    axes: tuple[str, ...]
    check_vma: bool


class _Open(threading.local):
    def __init__(self) -> None:
        self.regions: tuple[Region, ...] = ()


open_regions = _Open()


def regions() -> tuple[Region, ...]:
    """The regions that are open in this thread, outermost first."""
    return open_regions.regions


def follows() -> bool:
    """Whether one of the open regions follows the axes over which its values vary."""
    return any([r.check_vma for r in open_regions.regions])


def manual_axes() -> tuple[str, ...]:
    """The axes of all open regions."""
    return tuple([a for r in open_regions.regions for a in r.axes])


class inside:
    """A context in which a region is open."""

    __slots__ = ("_before", "_region")

    def __init__(self, region: Region) -> None:
        self._region = region

    def __enter__(self) -> None:
        self._before = open_regions.regions
        open_regions.regions = (*self._before, self._region)

    def __exit__(self, *exc: object) -> None:
        open_regions.regions = self._before


__all__ = ["Region", "follows", "inside", "manual_axes", "open_regions", "regions"]
