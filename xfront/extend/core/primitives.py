"""Primitives by name, `dot_general_p` and so on; see `xfront/eager/primitives.py`."""

from __future__ import annotations

from ...base.on_demand import shown as _shown
from ...eager.primitives import Primitive as _Primitive
from ...eager.primitives import named as _named


def __getattr__(name: str) -> _Primitive:
    """The primitive of a name. Raises: AttributeError where there is none."""
    if name.endswith("_p"):
        found = globals()[name] = _named(name, __name__)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__: list[str] = []                         # names of ops are found when they are first read
__dir__ = _shown(globals())
