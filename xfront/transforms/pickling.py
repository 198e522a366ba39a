"""Pickling of functions that wrap others, by name if that name in their module is theirs."""

from __future__ import annotations

import sys
from typing import Any


def name_in_module(function: Any) -> str | None:
    """The name by which a function's module has that function itself; None where there is none, or
    where the module is `__main__`."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    place: Any = module
    name = getattr(function, "__qualname__", "")
    for part in name.split("."):
        place = getattr(place, part, None)
    return name if place is function and module is not sys.modules.get("__main__") else None


__all__ = ["name_in_module"]
