"""Rows of `ops/shape.py`."""

from __future__ import annotations

from xfront_ir import dtypes

from .row import BOOL, NUMERIC, Bad, Draw, Row, Sample

EVERY = (*NUMERIC, *BOOL)

ROWS = [
    Row("broadcast_in_dim", [
        Sample([Draw(shape)], {"shape": result, "dims": dims})
        for shape, result, dims in (((), (2, 3), ()), ((3,), (2, 3), (1,)), ((3,), (3, 2), (0,)),
                                    ((2, 3), (3, 4, 2), (2, 0)), ((3, 3), (3, 3), (1, 0)),
                                    ((2, 1), (2, 3), (0, 1)),
                                    ((1, 1), (2, 3, 1), (2, 1)), ((0,), (2, 0), (1,)))
    ], EVERY, [Bad([("f32", (3,))], "cannot place", {"shape": (2, 4), "dims": (1,)}),
               Bad([("f32", (3, 3))], "cannot place", {"shape": (3, 3), "dims": (1, 1)})]),
    Row("reshape", [
        Sample([Draw(shape)], {"shape": result})
        for shape, result in (((2, 3), (3, 2)), ((6,), (1, 2, 3)), ((1,), ()), ((), (1, 1)),
                              ((2, 0), (0, 5)))
    ], EVERY, [Bad([("f32", (2, 3))], "has 6 elements", {"shape": (5,)})]),
    Row("transpose", [
        Sample([Draw(shape)], {"permutation": permutation})
        for shape, permutation in (((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((), ()),
                                   ((2, 3), (0, 1)), ((0, 3), (1, 0)))
    ], EVERY, [Bad([("f32", (2, 3))], "not a permutation", {"permutation": (0, 0)})]),
    Row("reverse", [
        Sample([Draw(shape)], {"axes": axes})
        for shape, axes in (((2, 3), (1,)), ((2, 3), (0, 1)), ((3,), ()), ((0, 2), (0,)))
    ], EVERY, [Bad([("f32", (2, 3))], "must be distinct", {"axes": (0, 0)}),
               Bad([("f32", (2, 3))], "must be ints", {"axes": (-1,)}),
               *[Bad([("f32", (2, 3))], "in [0, 2)", {"axes": (a,)}) for a in (2, 3)]]),
    Row("iota", [
        Sample([], lambda dtype, s=shape, d=d: {"dtype": dtype, "shape": s, "dimension": d})
        for shape, d in (((4,), 0), ((2, 3), 0), ((2, 3), 1), ((0,), 0))
    ], NUMERIC, [Bad([], "dimension must be", {"dtype": dtypes.f32, "shape": (), "dimension": 0}),
                 Bad([], "numeric", {"dtype": dtypes.bool_, "shape": (2,), "dimension": 0})],
        batch=False),
]
