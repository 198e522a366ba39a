"""Rows of `ops/dot.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes

from .row import INTEGERS, NUMERIC, Bad, Draw, Row, Sample


def _dot(contract: tuple, batch: tuple = ((), ()), **more: Any) -> dict[str, Any]:
    return {"contract": contract, "batch": batch, "precision": None, "preferred": None, **more}


PLAIN = _dot(((1,), (0,)))
HIGHEST = ("highest", "highest")

ROWS = [
    Row("dot_general", [
        *[Sample([Draw(lhs, -1, 1), Draw(rhs, -1, 1)], _dot(*rest))
          for lhs, rhs, *rest in (
              ((3, 4), (4, 2), ((1,), (0,))), ((3, 4), (2, 3), ((0,), (1,))),
              ((4,), (4,), ((0,), (0,))), ((3,), (2,), ((), ())), ((), (), ((), ())),
              ((2, 3, 4, 5), (5, 2, 4, 6), ((2, 3), (2, 0)), ((0,), (1,))),
              ((2, 3, 4), (4, 5, 2, 3), ((2,), (0,)), ((1, 0), (3, 2))),
              ((2, 0), (0, 3), ((1,), (0,))), ((1, 1), (1, 1), ((1,), (0,))))],
        Sample([Draw((3, 4), -1, 1), Draw((4, 2), -1, 1)], {**PLAIN, "precision": HIGHEST},
               dtypes=(dtypes.f32, dtypes.f64)),
        Sample([Draw((3, 4), -1, 1), Draw((4, 2), -1, 1)], {**PLAIN, "precision": "F32_F32_F32"},
               dtypes=(dtypes.f32,)),
        Sample([Draw((3, 4), -1, 1), Draw((4, 2), -1, 1)], {**PLAIN, "preferred": dtypes.f32},
               dtypes=(dtypes.bf16, dtypes.f16)),
        Sample([Draw((3, 4), -1, 1), Draw((4, 2), -1, 1, dtypes.f64)],
               {**PLAIN, "preferred": dtypes.f64}, dtypes=(dtypes.f32, dtypes.f64)),
        Sample([Draw((3, 4), -100, 100), Draw((4, 2), -100, 100)],
               {**PLAIN, "preferred": dtypes.i32}, dtypes=(dtypes.i8,)),
        Sample([Draw((3, 4), -100, 100), Draw((4, 2), -100, 100)], PLAIN, dtypes=INTEGERS),
    ], NUMERIC, [
        Bad([("f32", (3, 4)), ("f32", (5, 3))], "contracted sizes differ", PLAIN),
        Bad([("f32", (3, 4)), ("f32", (4, 3))], "must be distinct", _dot(((1, 1), (0, 0)))),
        Bad([("f32", (3, 4)), ("f32", (4, 3))], "must be distinct", _dot(((2,), (0,)))),
        Bad([("f32", (2, 4)), ("f32", (3, 4))], "batch sizes differ",
            _dot(((1,), (1,)), ((0,), (0,)))),
        Bad([("f32", (3, 4)), ("f32", (4, 3))], "pairs of tuples of axes", _dot((1, 0))),
        Bad([("f32", (3, 4)), ("bf16", (4, 3))], "different dtypes", PLAIN),
        Bad([("f32", (3, 4)), ("f32", (4, 3))], "precision must be",
            {**PLAIN, "precision": ("fast", "fast")}),
        Bad([("c64", (3, 4)), ("c64", (4, 3))], "cannot have dtype",
            {**PLAIN, "preferred": dtypes.f32})]),
]
