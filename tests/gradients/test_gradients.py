"""Gradients of every public function, over magnitudes from 1e-30 to 1e30.

    pytest tests/gradients                          all functions in float32
    XFRONT_GENERATED=1 pytest tests/gradients       in float16 and bfloat16 too

A failure names the function, the dtype, the point, what came and what differences say.
"""

from __future__ import annotations

import inspect
import os

import pytest

from .checks import faults
from .declared import DECLARED
from .rows import MODULES, Row, all_rows

HEAVY = ("special.ndtri", "special.log_ndtr", "special.gammainc", "special.gammaincc",
         "special.beta", "special.betaln", "special.poch", "lax.igamma", "lax.igammac")
"""What takes long to compile in double precision."""
ROWS = all_rows()
LIGHT = [row for row in ROWS if row.public not in HEAVY]
NARROW = ["float32", *(["float16", "bfloat16"] if "XFRONT_GENERATED" in os.environ else [])]
PART = 24
"""Rows of one test."""


def _public() -> dict[str, object]:
    """Every public function of the modules by name."""
    made = {}
    for module, held in MODULES.items():
        for name in getattr(held, "__all__", None) or dir(held):
            f = getattr(held, name)
            if callable(f) and not inspect.isclass(f) and not name.startswith("_"):
                made[f"{module}.{name}"] = f
    return made


def test_every_public_function_is_looked_at() -> None:
    public = _public()
    rows = {row.public for row in ROWS}
    seen = {id(public[name]) for name in rows | DECLARED if name in public}
    missed = sorted(name for name, f in public.items() if id(f) not in seen)
    assert not missed, f"neither a row in rows.py nor a line in declared.py: {missed}"
    assert not rows & DECLARED, f"in a row and declared to have none: {sorted(rows & DECLARED)}"
    gone = sorted(DECLARED - set(public))
    assert not gone, f"declared, but not public: {gone}"


def _check(rows: list[Row]) -> None:
    found = [fault for row in rows for fault in faults(row, NARROW)]
    shown = "\n".join(map(str, found[:20]))
    assert not found, f"{len(found)} gradients are wrong:\n{shown}"


@pytest.mark.parametrize("part", range(0, len(LIGHT), PART))
def test_gradients_are_finite_and_right(part: int) -> None:
    _check(LIGHT[part:part + PART])


@pytest.mark.slow
def test_gradients_of_heavy_functions() -> None:
    _check([row for row in ROWS if row.public in HEAVY])
