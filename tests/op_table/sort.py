"""Rows of `ops/sort.py`."""

from __future__ import annotations

from xfront_ir import dtypes

from .row import BOOL, COMPLEX, FLOATS, NARROW, NUMERIC, REAL, Bad, Draw, Fixed, Row, Sample

INF, NAN = float("inf"), float("nan")
FLOATS_WITH_EDGES = Fixed([0.0, -0.0, NAN, 1.0, -NAN, INF, -1.0, -INF, 0.0])


def _attrs(dimension: int, n_keys: int = 1, stable: bool = True) -> dict:
    return {"dimension": dimension, "n_keys": n_keys, "stable": stable}


DISTINCT = Draw((4, 5), -9, 9, distinct=True)
FEW = Draw((2, 8), 0, 2, dtypes.i32)
SORT = Row("sort", [
    Sample([DISTINCT], _attrs(0)),
    Sample([DISTINCT], _attrs(1, stable=False), dtypes=FLOATS),
    Sample([DISTINCT, Draw((4, 5)), Draw((4, 5), dtype=dtypes.i32)], _attrs(1)),
    Sample([FEW, Draw((2, 8), -9, 9, distinct=True)], _attrs(1, 2)),
    Sample([FEW, Draw((2, 8))], _attrs(1, 1)),
    Sample([FLOATS_WITH_EDGES, Fixed(range(9), dtypes.i32)], _attrs(0), smooth=False,
           dtypes=(*FLOATS, *NARROW)),
    Sample([Fixed([2 + 1j, 1 + 3j, 1 + 1j, complex(NAN, 0), complex(0, NAN)])], _attrs(0),
           smooth=False, dtypes=COMPLEX),
    Sample([Draw((0, 3))], _attrs(0)), Sample([Draw((2, 1))], _attrs(1)),
], (*NUMERIC, *BOOL), [
    Bad([], "one operand", _attrs(0)),
    Bad([("f32", (2,)), ("f32", (3,))], "the same shape", _attrs(0)),
    Bad([("f32", (2,))], "dimension", _attrs(1)), Bad([("f32", (2,))], "n_keys", _attrs(0, 2)),
    Bad([("key<fry>", (2,))], "no order", _attrs(0))])

TOP_K = Row("top_k", [
    Sample([Draw((3, 6), -9, 9, distinct=True)], {"k": 2, "axis": 1}),
    Sample([Draw((5, 2), -9, 9, distinct=True)], {"k": 3, "axis": 0}),
    Sample([Draw((2, 4, 2), -9, 9, distinct=True)], {"k": 4, "axis": 1}),
    Sample([Fixed([3.0, NAN, 1.0, 3.0, INF])], {"k": 4, "axis": 0}, smooth=False,
           dtypes=(*FLOATS, *NARROW)),
    Sample([Fixed([0.0, -0.0, -1.0, -0.0, 0.0])], {"k": 4, "axis": 0}, smooth=False, dtypes=FLOATS),
    Sample([Draw((3, 2))], {"k": 0, "axis": 1}), Sample([Draw((0, 2))], {"k": 1, "axis": 1}),
], (*REAL, *BOOL), [Bad([("f32", (2,))], "k=3 is not in [0, 2]", {"k": 3, "axis": 0}),
                    Bad([("f32", (2,))], "axis must be", {"k": 1, "axis": 1}),
                    Bad([("c64", (2,))], "real or bool", {"k": 1, "axis": 0})])

ROWS = [SORT, TOP_K]
