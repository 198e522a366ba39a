"""Rows of `ops/effects.py`: what they refuse.

What a callback computes is the host's; `tests/lowering/test_effects.py` and the tests of callbacks
run it, batched in every way and in order.
"""

from __future__ import annotations

from xfront_ir import dtypes
from xfront_ir.types import tensor

from .row import FLOATS, Bad, Row

CALL = {"slot": 0, "vmap_method": None}
ONE = (tensor((), dtypes.f32),)

ROWS = [
    Row("callback", [], FLOATS, [
        Bad([("f32", ())], "cannot have results",
            {**CALL, "result_types": ONE, "kind": "debug", "ordered": False}),
        Bad([("f32", ())], "cannot be ordered",
            {**CALL, "result_types": ONE, "kind": "pure", "ordered": True}),
    ]),
    Row("dce_sink", [], FLOATS, [Bad([("f32", ())], "prevent_mlir_dce")]),
]
