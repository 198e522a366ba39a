"""Forms of while loops; they are in `in_place.py`."""

from __future__ import annotations

from . import in_place  # noqa: F401  (it registers forms of this family)
