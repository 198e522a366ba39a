"""Functions of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..on_demand import on_demand as _on_demand

if TYPE_CHECKING:
    from . import linalg, sparse, special

_SUBMODULES = (
    "linalg",
    "sparse",
    "special",
)

__all__, __getattr__, __dir__ = _on_demand(__name__, {}, _SUBMODULES)  # pyright: ignore
