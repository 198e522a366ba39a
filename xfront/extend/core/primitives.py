"""Primitives by name, `dot_general_p` and so on; see `xfront/primitives.py`."""

from __future__ import annotations

from ...primitives import Primitive, named


def __getattr__(name: str) -> Primitive:
    """The primitive of that name. Raises: AttributeError where no op is behind it."""
    if name.endswith("_p"):
        return named(name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
