"""Functions of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.on_demand import on_demand

if TYPE_CHECKING:
    from . import (
        cluster,
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )
else:
    _SUBMODULES = (
        "cluster",
        "fft",
        "integrate",
        "interpolate",
        "linalg",
        "ndimage",
        "optimize",
        "signal",
        "sparse",
        "spatial",
        "special",
        "stats",
    )
    __all__, __getattr__, __dir__ = on_demand(__name__, {}, _SUBMODULES)
