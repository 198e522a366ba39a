"""Rows of `ops/reduce.py`."""

from __future__ import annotations

from xfront_ir import dtypes
from xfront_ir.dtypes import has_infinity

from .row import (
    BOOL,
    COMPLEX,
    FLOATS,
    INEXACT,
    INTEGERS,
    NARROW,
    NUMERIC,
    REAL,
    Bad,
    Draw,
    Fixed,
    Row,
    Sample,
)

INF, NAN = float("inf"), float("nan")


def _reducer(name: str, allowed: tuple, refused: str, wanted: str, low: float = -3, high: float = 3,
             distinct: bool = False) -> Row:
    bad = [Bad([("f32" if refused != "f32" else "i32", (2, 3))], "axes must be", {"axes": (2,)}),
           Bad([("i32", (2, 3))], "axes must be", {"axes": (0, 0)})]
    if refused:
        bad.append(Bad([(refused, (2,))], f"takes {wanted}", {"axes": (0,)}))
    samples = [Sample([Draw(shape, low, high, distinct=distinct)], {"axes": axes},
                      smooth=(shape, axes) != ((0, 3), (0,)))
               for shape, axes in (((3, 4), (0,)), ((3, 4), (1, 0)), ((2, 3, 2), (0, 2)),
                                   ((3,), ()), ((), ()), ((0, 3), (0,)), ((0, 3), (1,)),
                                   ((1, 5), (1,)))]
    return Row(name, samples, allowed, bad)


def _extremum(name: str) -> Row:
    row = _reducer(name, (*NUMERIC, *BOOL), "key<fry>", "number", distinct=True)
    edges = [Sample([Fixed(values)], {"axes": (0,)}, smooth=False, dtypes=(*FLOATS, *NARROW))
             for values in ([1.0, NAN, 2.0], [INF, -INF], [-0.0, -1.0], [1.0, 4.0, 2.0], [])]
    return Row(name, [*row.samples, *edges], row.dtypes, row.bad)


def _position(name: str) -> Row:
    def attrs(axis: int, dtype: dtypes.DType = dtypes.i32) -> dict:
        return {"axis": axis, "index_dtype": dtype}

    samples = [Sample([Draw((3, 4))], attrs(0)), Sample([Draw((3, 4))], attrs(1, dtypes.i64)),
               Sample([Draw((3, 2, 2), -1, 1)], attrs(1, dtypes.u8)),
               Sample([Draw((3, 0))], attrs(0)), Sample([Draw((1,))], attrs(0)),
               *[Sample([Fixed(values)], attrs(0), dtypes=(*FLOATS, *NARROW))
                 for values in ([1.0, NAN, 2.0, NAN], [2.0, 2.0, 1.0, 1.0], [-INF, -INF],
                                [0.0, -0.0], [INF, NAN], [1.0, 4.0, 0.5, 2.0])]]
    return Row(name, samples, (*REAL, *BOOL),
               [Bad([("f32", (0, 3))], "has no elements", attrs(0)),
                Bad([("c64", (2,))], "real or bool", attrs(0)),
                Bad([("f32", (2,))], "index_dtype must be an integer type", attrs(0, dtypes.f32))])


def _running(name: str, allowed: tuple, wanted: str, distinct: bool = False) -> Row:
    samples = [Sample([Draw(shape, distinct=distinct)], {"axis": axis, "reverse": backwards})
               for backwards in (False, True)
               for shape, axis in (((5,), 0), ((3, 4), 1), ((3, 2), 0), ((0, 2), 0), ((2, 1), 1))]
    refused = "bool" if wanted == "numeric" else "i32"
    return Row(name, samples, allowed,
               [Bad([("f32", (2,))], "axes must be", {"axis": 1, "reverse": False}),
                Bad([(refused, (2,))], f"takes {wanted}", {"axis": 0, "reverse": False})])


def _running_extremum(name: str) -> Row:
    row = _running(name, NUMERIC, "numeric", distinct=True)
    narrow = [Sample([Fixed(values)], {"axis": 0, "reverse": backwards}, dtypes=NARROW)
              for backwards in (False, True)
              for values in ([1.0, 4.0, 0.5, 2.0], [1.0, 2.0, NAN, 0.5], range(1, 40))]
    return Row(name, [*row.samples, *narrow], row.dtypes, row.bad)


LOG_SUM = _running("cumlogsumexp", INEXACT, "inexact")
LOG_SUM_EDGES = [Sample([Fixed(values)], {"axis": 0, "reverse": False}, smooth=False, dtypes=FLOATS)
                 for values in ([-INF, -INF, 1.0, 2.0], [1.0, INF, 2.0], [1.0, NAN, 2.0],
                                [800.0, 800.0, -800.0])]
LOG_SUM_NARROW = Sample([Fixed([1.0, 4.0, 0.5, 4.0])], {"axis": 0, "reverse": False},
                        dtypes=[d for d in NARROW if not has_infinity(d)])
ZEROS = [Sample([Fixed([2.0, 0.0, 3.0])], {"axes": (0,)}, dtypes=(dtypes.f64,)),
         Sample([Fixed([0.0, 0.0, 3.0])], {"axes": (0,)}, dtypes=(dtypes.f64,))]
PRODUCT = _reducer("reduce_prod", NUMERIC, "bool", "numeric", 0.5, 2)
RUNNING_ZEROS = Sample([Fixed([2.0, 0.0, 3.0, 0.0])], {"axis": 0, "reverse": False},
                       dtypes=(dtypes.f64,))
RUNNING_PRODUCT = _running("cumprod", NUMERIC, "numeric")

SUM = _reducer("reduce_sum", NUMERIC, "bool", "numeric")
SUM_TOLERANCE = {"bf16": 12 * 8e-3, "f16": 12 * 1e-3}
"""Sums of up to 12 elements of either sign, rounded to the dtype at each step."""

ROWS = [
    Row("reduce_sum", SUM.samples, NUMERIC, SUM.bad, tolerance=SUM_TOLERANCE),
    Row("reduce_prod", [*PRODUCT.samples, *ZEROS], NUMERIC, PRODUCT.bad),
    _extremum("reduce_max"),
    _extremum("reduce_min"),
    *[_reducer(name, (*INTEGERS, *BOOL), "f32", "integer or bool")
      for name in ("reduce_and", "reduce_or", "reduce_xor")],
    _position("argmax"),
    _position("argmin"),
    _running("cumsum", NUMERIC, "numeric"),
    Row("cumprod", [*RUNNING_PRODUCT.samples, RUNNING_ZEROS], NUMERIC, RUNNING_PRODUCT.bad),
    _running_extremum("cummax"),
    _running_extremum("cummin"),
    Row("cumlogsumexp", [*LOG_SUM.samples, *LOG_SUM_EDGES, LOG_SUM_NARROW], (*FLOATS, *COMPLEX),
        LOG_SUM.bad),
]
