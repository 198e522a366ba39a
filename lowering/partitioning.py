"""How a program spreads over devices."""

from __future__ import annotations

from typing import NamedTuple


class Partition(NamedTuple):
    """How a program spreads over devices. Hashable text, so that it can be part of a cache's key.

    `meshes` maps names to axes, e.g. `("mesh", '<["x"=4, "y"=2]>')`. `params` and `results` are
    Shardy attributes, e.g. `<@mesh, [{"x"}, {}]>`, or None where the compiler chooses.
    """

    num_replicas: int = 1
    num_partitions: int = 1
    meshes: tuple[tuple[str, str], ...] = ()
    params: tuple[str | None, ...] = ()
    results: tuple[str | None, ...] = ()
