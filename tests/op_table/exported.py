"""Rows of `ops/exported.py`: what it refuses. `tests/xfront/export` runs exported programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from xfront_ir import dtypes
from xfront_ir.literal import Literal
from xfront_ir.types import tensor

from .row import FLOATS, Bad, Row

ONE = (tensor((), dtypes.f32),)
CALL: dict[str, Any] = {"name": "f", "module": Literal(np.zeros(4, np.uint8)),
                        "platforms": ("cpu",), "params": ONE, "results": ONE, "anywhere": False}

ROWS = [Row("call_exported", [], FLOATS, [
    Bad([("f32", (2,))], "@f takes ['f32[]'], got ['f32[2]']", CALL),
    Bad([("f32", ())], "which is a vector of bytes", {**CALL, "module": Literal(np.float32(1))}),
    Bad([("f32", ())], "and platforms", {**CALL, "platforms": ()}),
], differentiable=False)]
