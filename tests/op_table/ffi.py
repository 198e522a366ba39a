"""Rows of `ops/ffi.py`: what it refuses.

`tests/xfront/test_ffi.py` calls functions, batched in every way.
"""

from __future__ import annotations

from xfront_ir import dtypes
from xfront_ir.types import tensor

from .row import FLOATS, Bad, Row

X = tensor((2, 3), dtypes.f32)
CALL = {"target_name": "f", "result_types": (X,), "config": "", "has_side_effect": False,
        "vmap_method": None, "input_layouts": ((0, 1),), "output_layouts": ((0, 1),),
        "input_output_aliases": (), "custom_call_api_version": 4}

ROWS = [Row("ffi_call", [], FLOATS, [
    Bad([("f32", (2, 3))], "takes a target", {**CALL, "target_name": ""}),
    Bad([("f32", (2, 3))], "custom_call_api_version", {**CALL, "custom_call_api_version": 0}),
    Bad([("f32", (2, 3))], "has 0 layouts for 1 arrays", {**CALL, "input_layouts": ()}),
    Bad([("f32", (2, 3))], "permutation of the 2 axes", {**CALL, "output_layouts": ((0, 0),)}),
    Bad([("f32", (2, 3))], "pairs of an operand", {**CALL, "input_output_aliases": ((0, 1),)}),
    *[Bad([("f32", (2, 3))], "pairs of an operand", {**CALL, "input_output_aliases": (wrong,)})
      for wrong in ((1, 0), (-1, 0), (0, -1), (0, 0, 0), (0,))],
    Bad([("f32", (2, 3))], "at most once", {**CALL, "input_output_aliases": ((0, 0), (0, 0))}),
])]
