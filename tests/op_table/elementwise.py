"""Rows of `ops/elementwise.py`."""

from __future__ import annotations

from xfront_ir import dtypes
from xfront_ir.dtypes import DType
from xfront_ir.types import tensor

from .random import FRY, RBG, of_words
from .row import (
    BOOL,
    COMPLEX,
    FLOATS,
    INEXACT,
    INTEGERS,
    NARROW,
    NUMERIC,
    REAL,
    SIGNED,
    Bad,
    Draw,
    Fixed,
    Row,
    Sample,
    elementwise,
)

INF, NAN = float("inf"), float("nan")
EDGES = [[0.0, -0.0, 1.0, -1.0, INF, -INF, NAN]]
PAIRS = [[0.0, 0.0, 1.0, -1.0, INF, -INF, NAN, 1.0], [0.0, 1.0, 0.0, 0.0, INF, INF, 1.0, NAN]]
NOT_FLOAT = [Bad([("i32", (3,))], "takes inexact operands")]
NOT_REAL_FLOAT = [Bad([("c64", (3,))], "takes float operands")]
NOT_NUMBER = [Bad([("bool", (3,))], "takes numeric operands")]
UNEQUAL = Bad([("f32", (3,)), ("f32", (4,))], "must be equal")

ARITHMETIC = [
    elementwise("add", (-9, 9), (-9, 9), dtypes=NUMERIC, edges=PAIRS,
                bad=[UNEQUAL, Bad([("f32", (3,)), ("f64", (3,))], "must be equal"),
                     Bad([("bool", (3,))] * 2, "takes numeric operands"),
                     Bad([("f32", (3,))], "takes 2 operands")]),
    elementwise("sub", (-9, 9), (-9, 9), dtypes=NUMERIC, edges=PAIRS, bad=[UNEQUAL]),
    elementwise("mul", (-9, 9), (-9, 9), dtypes=NUMERIC, edges=PAIRS, bad=[UNEQUAL]),
    elementwise("div", (-9, 9), (1, 4), dtypes=NUMERIC, edges=PAIRS, bad=[UNEQUAL]),
    elementwise("rem", (-9, 9), (2.2, 4), dtypes=REAL, bad=[UNEQUAL],
                edges=[[5.5, -5.5, 5.5, -5.5, 1.0, 0.0, NAN],
                       [2.0, 2.0, -2.0, -2.0, 0.0, 1.0, 1.0]]),
    elementwise("neg", (-9, 9), dtypes=NUMERIC, edges=EDGES, bad=NOT_NUMBER),
    elementwise("abs", (0.5, 9), dtypes=(*INEXACT, *SIGNED), edges=EDGES,
                bad=[Bad([("u8", (3,))], "signed integer")]),
    elementwise("sign", (0.5, 9), dtypes=NUMERIC, edges=EDGES, bad=NOT_NUMBER),
    elementwise("square", (-9, 9), dtypes=NUMERIC, edges=EDGES, bad=NOT_NUMBER),
    elementwise("one_minus_square", (-9, 9), dtypes=NUMERIC, edges=EDGES, bad=NOT_NUMBER),
    elementwise("pow", (0.5, 3), (-2, 3), dtypes=INEXACT, bad=[UNEQUAL],
                edges=[[0.0, 2.0, -2.0, 0.0, -2.0, INF], [0.0, 0.0, 2.0, 3.0, -1.0, -1.0]]),
]

POWERS = Row("integer_pow", [
    *[Sample([Draw((2, 3), 0.5, 3)], {"exponent": n}) for n in (0, 1, 2, 3, 7)],
    *[Sample([Draw((2, 3), 0.5, 3)], {"exponent": n}, dtypes=INEXACT) for n in (-1, -3)],
    Sample([Fixed([0.0, -2.0])], {"exponent": 3}, smooth=False, dtypes=FLOATS),
], NUMERIC, [Bad([("i32", ())], "no negative powers", {"exponent": -1}),
             Bad([("bool", ())], "takes numeric", {"exponent": 2}),
             Bad([("f32", ())], "must be int", {"exponent": 2.0})])


def _inexact(name: str, low: float, high: float, edges: list | None = EDGES, **options) -> Row:
    return elementwise(name, (low, high), dtypes=INEXACT, edges=edges or (), bad=NOT_FLOAT,
                       **options)


EXPONENTIAL = [
    _inexact("sqrt", 0.5, 9),
    _inexact("rsqrt", 0.5, 9, [[0.0, 1.0, INF, NAN, -1.0]]),
    elementwise("cbrt", (0.5, 9), dtypes=FLOATS, edges=EDGES, bad=NOT_REAL_FLOAT),
    _inexact("exp", -3, 3),
    _inexact("exp2", -3, 3),
    _inexact("expm1", -3, 3),
    _inexact("log", 0.5, 9),
    _inexact("log1p", -0.5, 9),
    _inexact("log2", 0.5, 9),
    _inexact("logistic", -4, 4),
]

ROUNDING = [
    elementwise("floor", (0.1, 0.9), dtypes=FLOATS, edges=[[-1.5, -0.0, 2.5, INF, NAN]],
                bad=NOT_REAL_FLOAT),
    elementwise("ceil", (0.1, 0.9), dtypes=FLOATS, edges=[[-1.5, -0.0, 2.5, INF, NAN]],
                bad=NOT_REAL_FLOAT),
    Row("round", [Sample([operand], {"method": method}, smooth=smooth)
                  for method in ("away_from_zero", "to_nearest_even")
                  for operand, smooth in ((Draw((2, 3), 0.1, 0.4), True),
                                          (Fixed([0.5, 1.5, 2.5, -0.5, -2.5, 0.4, INF, NAN]),
                                           False))],
        FLOATS, [Bad([("f32", ())], "must be word", {"method": "up"})]),
    elementwise("is_finite", (-9, 9), dtypes=FLOATS, edges=EDGES, bad=NOT_REAL_FLOAT),
]

CIRCULAR = [
    _inexact("sin", -3, 3),
    _inexact("cos", -3, 3),
    _inexact("tan", -1.2, 1.2, [[0.0, -0.0, 1.0, INF, NAN]]),
    _inexact("asin", -0.9, 0.9, [[0.0, 1.0, -1.0, 2.0, NAN]]),
    _inexact("acos", -0.9, 0.9, [[0.0, 1.0, -1.0, 2.0, NAN]]),
    _inexact("atan", -0.7, 0.7),
    elementwise("atan2", (0.5, 3), (0.5, 3), dtypes=INEXACT, bad=[UNEQUAL],
                complex_domains=[(0.5, 2), (2.5, 4)],
                edges=[[0.0, -0.0, 0.0, -0.0, 1.0, -1.0, INF, NAN],
                       [1.0, 1.0, -1.0, -1.0, 0.0, 0.0, INF, 1.0]]),
    _inexact("sinh", -3, 3),
    _inexact("cosh", -3, 3),
    _inexact("tanh", -1, 1),
    _inexact("asinh", -0.7, 0.7),
    _inexact("acosh", 1.5, 9, [[1.0, 2.0, 0.5, INF, NAN]]),
    _inexact("atanh", -0.8, 0.8, [[0.0, -0.0, 1.0, -1.0, 2.0, NAN]]),
]

NOT_COMPLEX = [Bad([("f32", (3,))], "takes complex operands")]
COMPLEX_PARTS = [
    *[elementwise(name, (-3, 3), dtypes=COMPLEX, bad=NOT_COMPLEX)
      for name in ("real", "imag", "conj")],
    elementwise("complex", (-3, 3), (-3, 3), dtypes=(dtypes.f64, dtypes.f32),
                bad=[Bad([("f16", ())] * 2, "takes f32 or f64 operands")]),
]

TIES = [[1.0, 2.0, 3.0, -0.0, NAN, 1.0, INF], [1.0, 3.0, 2.0, 0.0, 1.0, NAN, -INF]]
MASK = Draw((2, 3), dtype=dtypes.bool_)
CASE = Draw((2, 3))
ANY = (*NUMERIC, *BOOL)


def _of_keys(name: str, which: DType) -> list[Sample]:
    """Choices between keys: their words stay together."""
    return [of_words(name, tensor(shape, which), tensor((2, 2), key), tensor((2, 2), key))
            for shape in ((), (2, 2)) for key in (FRY, RBG)]


def _greater(name: str) -> Row:
    row = elementwise(name, (-9, 9), (-9, 9), dtypes=ANY, edges=TIES, bad=[UNEQUAL], distinct=True)
    narrow = Sample([Fixed(values) for values in TIES], smooth=False, dtypes=NARROW)
    return Row(name, [*row.samples, narrow], row.dtypes, row.bad)


CHOOSING = [
    _greater("max"),
    _greater("min"),
    Row("select", [Sample([MASK, CASE, CASE]), Sample([Draw((), dtype=dtypes.bool_), CASE, CASE]),
                   Sample([Draw((), dtype=dtypes.bool_), Draw(()), Draw(())]),
                   Sample([Draw((0, 3), dtype=dtypes.bool_), Draw((0, 3)), Draw((0, 3))]),
                   *_of_keys("select", dtypes.bool_)], ANY,
        [Bad([("i32", (3,)), ("f32", (3,)), ("f32", (3,))], "must be bool"),
         Bad([("bool", (3,)), ("f32", (3,)), ("f64", (3,))], "the same type"),
         Bad([("bool", (2,)), ("f32", (3,)), ("f32", (3,))], "shape of the cases")]),
    Row("select_n", [Sample([MASK, CASE, CASE]), Sample([MASK, CASE]),
                     Sample([Draw((2, 3), -1, 4, dtypes.i32), CASE, CASE, CASE]),
                     Sample([Draw((), 0, 2, dtypes.i32), CASE, CASE, CASE]),
                     *_of_keys("select_n", dtypes.i32)], ANY,
        [Bad([("bool", ()), *[("f32", ())] * 3], "between two"),
         Bad([("f32", ()), ("f32", ())], "bool or i32")]),
    Row("clamp", [Sample([Fixed(-1.0), Draw((2, 3), distinct=True), Fixed(1.5)], dtypes=FLOATS),
                  Sample([Draw((2, 3), -2, -1), Draw((2, 3), -3, 3, distinct=True),
                          Draw((2, 3), 1, 2)], dtypes=FLOATS),
                  Sample([Fixed(2), Draw((2, 3), 0, 9), Fixed(5)], dtypes=INTEGERS),
                  Sample([Fixed(1.0), Fixed([0.5, 4.0, 1.0, NAN]), Fixed(2.0)], smooth=False,
                         dtypes=NARROW),
                  Sample([Draw(()), Draw(()), Draw(())], smooth=False)], REAL,
        [Bad([("f32", (2,)), ("f32", (3,)), ("f32", ())], "bounds must be"),
         Bad([("c64", ())] * 3, "integer or float")]),
]

ROWS = [*ARITHMETIC, POWERS, *EXPONENTIAL, *ROUNDING, *CIRCULAR, *COMPLEX_PARTS, *CHOOSING]
