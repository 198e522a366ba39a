"""Rows of `ops/platform_call.py`: a kernel that XLA itself has on every platform."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes
from xfront_ir.dtypes import DType
from xfront_ir.types import tensor

from .linalg import DTYPES, TOLERANCE
from .row import Bad, Draw, Row, Sample

SHAPE, TAUS = (2, 4, 3), (2, 3)


def _qr(dtype: DType) -> dict[str, Any]:
    return {"target": "Qr", "results": (tensor(SHAPE, dtype), tensor(TAUS, dtype)), "api": 1,
            "config": "", "batch_axes": 1, "in_place": ()}


_OF_F32 = _qr(dtypes.f32)

ROWS = [Row("platform_call", [Sample([Draw(SHAPE, -1, 1)], _qr)], DTYPES, [
    Bad([("f32", SHAPE)], "takes a target", {**_OF_F32, "target": ""}),
    Bad([("f32", SHAPE)], "api 3", {**_OF_F32, "api": 3}),
    Bad([("f32", SHAPE)], "pairs of a result and an operand", {**_OF_F32, "in_place": ((1, 0),)}),
], differentiable=False, batch=False, tolerance=TOLERANCE)]
