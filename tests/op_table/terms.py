"""Rows of `ops/terms.py`, on a mesh of one device; `tests/xfront/sharding` has more of them."""

from __future__ import annotations

from xfront_ir.ops.terms import CASTS
from xfront_ir.sharding import MeshAxes

from .row import NUMERIC, Bad, Draw, Row, Sample

ONE = MeshAxes(["x", "y"], [1, 1], ["manual", "manual"])
GIVEN = {"mesh": ONE, "axes": ("x",)}

ROWS = [
    Row("manual_cast", [
        Sample([Draw((2, 3))], {**GIVEN, "old": old, "new": new}) for old, new in sorted(CASTS)
        if old.endswith("varying")               # the types of other operands say what they are
    ], NUMERIC, [
        Bad([("f32", (2,))], "there is none", {**GIVEN, "old": "reduced", "new": "unreduced"}),
        Bad([("f32", (2,))], "no manual axis", {"mesh": ONE, "axes": ("z",), "old": "varying",
                                                "new": "unreduced"})]),
]
