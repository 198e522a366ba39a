"""The `shard_map` bodies that are being traced: which axes are theirs, and what they follow."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple


class Region(NamedTuple):
    """One body: its mesh (with devices where they are known), its own axes, whether it says over
    which of them values vary."""

    mesh: Any
    axes: tuple[str, ...]
    check_vma: bool


class _Open(threading.local):
    def __init__(self) -> None:
        self.regions: tuple[Region, ...] = ()


_open = _Open()


def regions() -> tuple[Region, ...]:
    """Those that are open in this thread, outermost first."""
    return _open.regions


def follows() -> bool:
    """Whether one of them says over which axes values vary."""
    return any([r.check_vma for r in _open.regions])


def manual_axes() -> tuple[str, ...]:
    """The axes of all of them."""
    return tuple([a for r in _open.regions for a in r.axes])


class inside:
    """Opens a region while it is entered."""

    __slots__ = ("_before", "_region")

    def __init__(self, region: Region) -> None:
        self._region = region

    def __enter__(self) -> None:
        self._before, _open.regions = _open.regions, (*_open.regions, self._region)

    def __exit__(self, *exc: object) -> None:
        _open.regions = self._before


def refuse_passes(name: str) -> None:
    """Refuse a transformation that must know at once over which axes values vary.

    Raises: NotImplementedError in a region that follows it.
    """
    if follows():
        raise NotImplementedError(
            f"{name} inside shard_map with check_vma=True is not supported: it would have to know "
            "over which axes values vary before the body has been traced. Use grad, value_and_grad "
            "or jvp, call it outside of shard_map, or give shard_map check_vma=False")


__all__ = ["Region", "follows", "inside", "manual_axes", "refuse_passes", "regions"]
