"""How functions that stand for others are pickled: by name, where a module has them by it."""

from __future__ import annotations

import sys
from typing import Any


def name_in_module(function: Any) -> str | None:
    """The name by which its module has a function itself; None where it has none, or stands in the
    program that runs."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    place: Any = module
    name = getattr(function, "__qualname__", "")
    for part in name.split("."):
        place = getattr(place, part, None)
    return name if place is function and module is not sys.modules.get("__main__") else None


__all__ = ["name_in_module"]
