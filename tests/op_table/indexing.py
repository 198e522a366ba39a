"""Rows of `ops/indexing.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes
from xfront_ir.dtypes import DType

from .row import BOOL, NUMERIC, Bad, Draw, Fixed, Row, Sample

EVERY = (*NUMERIC, *BOOL)


def _starts(*values: int, dtype: DType = dtypes.i32) -> list[Fixed]:
    return [Fixed(value, dtype) for value in values]


def _slice(starts: tuple, limits: tuple, strides: tuple) -> dict[str, Any]:
    return {"starts": starts, "limits": limits, "strides": strides}


def _pad(low: tuple, high: tuple, interior: tuple) -> dict[str, Any]:
    return {"low": low, "high": high, "interior": interior}


ROWS = [
    Row("slice", [
        Sample([Draw(shape)], _slice(*rest))
        for shape, *rest in (((5, 4), (1, 0), (5, 4), (2, 1)), ((5, 4), (1, 2), (1, 4), (3, 2)),
                             ((5,), (0,), (5,), (4,)), ((), (), (), ()),
                             ((2, 3, 4), (0, 1, 1), (2, 3, 4), (1, 1, 3)))
    ], EVERY, [Bad([("f32", (5,))], "cannot slice", _slice((3,), (2,), (1,))),
               Bad([("f32", (5,))], "cannot slice", _slice((0,), (6,), (1,))),
               Bad([("f32", (5,))], "stride >= 1", _slice((0,), (5,), (0,))),
               Bad([("f32", (5, 2))], "cannot slice", _slice((0,), (5,), (1,)))]),
    Row("pad", [
        Sample([Draw(shape), Draw(())], _pad(*rest))
        for shape, *rest in (((3, 2), (1, 0), (2, 0), (0, 0)), ((3, 2), (1, 0), (2, -1), (1, 0)),
                             ((3, 4), (-1, 2), (-1, 1), (0, 2)), ((3,), (-2,), (4,), (1,)),
                             ((0,), (2,), (1,), (0,)), ((), (), (), ()), ((2,), (-1,), (-1,), (0,)))
    ], EVERY, [Bad([("f32", (3,)), ("f64", ())], "padding value must be", _pad((0,), (0,), (0,))),
               Bad([("f32", (3,)), ("f32", (1,))], "padding value", _pad((0,), (0,), (0,))),
               Bad([("f32", (3,)), ("f32", ())], "more elements than", _pad((-2,), (-2,), (0,))),
               Bad([("f32", (3,)), ("f32", ())], "one number for each axis", _pad((0,), (), (0,))),
               Bad([("key<fry>", (3,)), ("key<fry>", ())], "keys cannot be padded",
                   _pad((0,), (0,), (0,)))]),
    Row("concatenate", [
        Sample([Draw(shape) for shape in shapes], {"dimension": d})
        for d, *shapes in ((0, (3, 2), (1, 2), (2, 2)), (1, (2, 1), (2, 3)), (0, (3,)),
                           (0, (0,), (2,)), (1, (2, 2, 2), (2, 1, 2)))
    ], EVERY, [Bad([], "at least one", {"dimension": 0}),
               Bad([("f32", (2,)), ("f32", (2,))], "dimension must be", {"dimension": 1}),
               Bad([("f32", (2,)), ("i32", (2,))], "may only differ in axis 0", {"dimension": 0}),
               Bad([("f32", (2, 2)), ("f32", (2, 3))], "may only differ in", {"dimension": 0})]),
    Row("dynamic_slice", [
        Sample([Draw(shape), *starts], {"sizes": sizes})
        for shape, starts, sizes in (
            ((5, 4), _starts(1, 0), (2, 3)), ((5, 4), _starts(4, -3), (2, 3)),
            ((5, 4), _starts(2, 9), (3, 4)), ((5,), _starts(200, dtype=dtypes.u8), (1,)),
            ((5,), _starts(2 ** 32 - 1, dtype=dtypes.u32), (2,)),
            ((5,), _starts(-2 ** 40, dtype=dtypes.i64), (2,)), ((3,), _starts(2), (3,)),
            ((3,), _starts(2), (0,)), ((), (), ()))
    ], EVERY, [Bad([("f32", (5,)), ("i32", ())], "do not fit", {"sizes": (6,)}),
               Bad([("f32", (5,))], "takes 1 starts", {"sizes": (1,)}),
               Bad([("f32", (5,)), ("f32", ())], "integer scalars", {"sizes": (1,)}),
               Bad([("f32", (5, 2)), ("i32", ()), ("i64", ())], "the same type",
                   {"sizes": (1, 1)})]),
    Row("dynamic_update_slice", [
        Sample([Draw(shape), Draw(sizes), *starts])
        for shape, starts, sizes in (
            ((5, 4), _starts(1, 0), (2, 3)), ((5, 4), _starts(4, -3), (2, 3)),
            ((5, 4), _starts(2, 9), (3, 4)), ((5,), _starts(200, dtype=dtypes.u8), (1,)),
            ((3,), _starts(2), (3,)), ((3,), _starts(1), (0,)), ((), (), ()))
    ], EVERY, [Bad([("f32", (5,))], "an operand, an update"),
               Bad([("f32", (5,)), ("f32", (6,)), ("i32", ())], "does not fit"),
               Bad([("f32", (5,)), ("f64", (2,)), ("i32", ())], "does not fit"),
               Bad([("f32", (5,)), ("f32", (2,))], "takes 1 starts")]),
]
