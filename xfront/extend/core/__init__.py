"""Programs as data and their parts, primitives, and functions that inspect traces and types."""

from __future__ import annotations

from typing import Any

from ... import core as _core
from ...base.errors import InconclusiveDimensionOperation
from ...eager.primitives import Primitive
from . import primitives


def __getattr__(name: str) -> Any:
    """The names of `xfront.core`."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = globals()[name] = getattr(_core, name)
    except AttributeError as error:
        raise AttributeError(str(error).replace(_core.__name__, __name__)) from None
    return found


def __dir__() -> list[str]:
    dunders = [name for name in globals() if name.startswith("__")]
    return sorted({*__all__, *dunders, *dir(_core)})


__all__ = ["InconclusiveDimensionOperation", "Primitive", "primitives"]
