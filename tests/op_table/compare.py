"""Rows of `ops/compare.py`."""

from __future__ import annotations

from .row import BOOL, FLOATS, INTEGERS, NUMERIC, Bad, Row, elementwise

INF, NAN = float("inf"), float("nan")
EDGES = [[0.0, -0.0, NAN, NAN, -NAN, INF, -INF, 1.0, 1.0],
         [-0.0, 0.0, NAN, 1.0, NAN, NAN, INF, NAN, 1.0]]
ORDERED = (*FLOATS, *INTEGERS, *BOOL)


def _row(name: str, dtypes: tuple) -> Row:
    bad = [Bad([("f32", (3,)), ("f32", (4,))], "must be equal")]
    if dtypes is ORDERED:
        bad.append(Bad([("c64", ())] * 2, "real or bool"))
    return elementwise(name, (-2, 2), (-2, 2), dtypes=dtypes, edges=EDGES, bad=bad)


ROWS = [*[_row(name, (*NUMERIC, *BOOL)) for name in ("eq", "ne")],
        *[_row(name, ORDERED) for name in ("lt", "le", "gt", "ge", "eq_to", "le_to", "lt_to")]]
