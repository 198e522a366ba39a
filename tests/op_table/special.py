"""Rows of `ops/special.py`."""

from __future__ import annotations

from .row import FLOATS, Bad, Draw, Fixed, Row, Sample, elementwise

INF, NAN = float("inf"), float("nan")
NOT_FLOAT = [Bad([("c64", (3,))], "takes float operands")]
NOT_FLOATS = [Bad([("i32", (3,))] * 2, "takes float operands")]


def _one(name: str, low: float, high: float, edges: list[float], **options) -> Row:
    return elementwise(name, (low, high), dtypes=FLOATS, edges=[edges], bad=NOT_FLOAT, **options)


def _two(name: str, first: tuple, second: tuple, **options) -> Row:
    return elementwise(name, first, second, dtypes=FLOATS, bad=NOT_FLOATS, **options)


A_AND_X = [[0.5, 5.0, 30.0, 0.1, 10.0, 1.0, 0.0, 2.0, NAN, -1.0, 1.0],
           [0.1, 2.0, 45.0, 3.0, 9.5, 0.0, 1.0, INF, 1.0, 1.0, -1.0]]

ROWS = [
    _one("erf", -2, 2, [0.0, -0.0, 6.0, -6.0, INF, -INF, NAN]),
    _one("erfc", -2, 2, [0.0, 3.0, -6.0, INF, -INF, NAN]),
    _one("erf_inv", -0.9, 0.9, [0.0, 0.99, -0.99, 1.0, -1.0, 2.0, NAN]),
    _one("lgamma", 0.5, 9, [1.0, 2.0, -0.5, -1.5, 0.0, INF, NAN, 40.0]),
    _one("digamma", 0.5, 9, [1.0, -0.5, -1.5, 40.0, NAN]),
    Row("polygamma", [Sample([Fixed([[0.0], [1.0], [2.0], [3.0]]), Draw((4, 1), 1, 9)]),
                      Sample([Fixed(1.0), Draw((), 0.5, 2)])], FLOATS, NOT_FLOATS,
        active=(False, True)),
    _two("zeta", (1.5, 5), (0.5, 5), active=(False, True)),
    _one("bessel_i0e", 0.5, 12, [0.0, -1.0, 7.9, 8.0, 8.1, 40.0, -40.0, NAN]),
    _one("bessel_i1e", 0.5, 12, [0.0, -1.0, 7.9, 8.0, 8.1, 40.0, -40.0, NAN]),
    _one("gelu", -3, 3, [0.0, -0.0, -5.0, 30.0, -30.0, INF, NAN]),
    _two("igamma", (0.5, 4), (0.5, 4), edges=A_AND_X, active=(False, True)),
    _two("igammac", (0.5, 4), (0.5, 4), edges=A_AND_X, active=(False, True)),
    _two("igamma_grad_a", (0.5, 4), (0.5, 4), edges=A_AND_X, differentiable=False),
    _two("random_gamma_grad", (0.5, 4), (0.5, 4), edges=[v[:6] for v in A_AND_X],
         differentiable=False),
    elementwise("betainc", (0.5, 4), (0.5, 4), (0.1, 0.9), dtypes=FLOATS,
                active=(False, False, True), bad=[Bad([("i32", ())] * 3, "takes float operands")],
                edges=[[2.0, 20.0, 0.5, 1.0, 1.0, 1.0, -1.0], [3.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.0],
                       [0.5, 0.95, 0.01, 0.0, 1.0, 2.0, 0.5]]),
]
