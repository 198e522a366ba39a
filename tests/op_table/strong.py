"""Rows of `ops/strong.py`. What they are for: `tests/xfront/transforms/test_strong_zero.py`."""

from __future__ import annotations

import numpy as np

from .dot import PLAIN
from .row import FLOATS, INEXACT, Bad, Draw, Fixed, Row, Sample

_BAD = [Bad([("f32", (3,)), ("f32", (4,))], "must be equal"),
        Bad([("i32", (3,)), ("i32", (3,))], "takes inexact operands")]
_ODD = Fixed([0.0, 0.0, 0.0, 2.0, 2.0])
_COEFFICIENTS = Fixed([np.inf, np.nan, 3.0, np.inf, 3.0])

ROWS = [
    Row("strong_mul", [Sample([Draw(), Draw()]),
                       Sample([_ODD, _COEFFICIENTS], smooth=False),
                       Sample([_COEFFICIENTS, _ODD], smooth=False)], INEXACT, _BAD),
    Row("strong_div", [Sample([Draw(low=0.5), Draw(low=0.5)]),
                       Sample([_ODD, _COEFFICIENTS], smooth=False),
                       Sample([_ODD, Fixed([0.0, np.nan, 1.0, 4.0, 2.0])], smooth=False)],
        INEXACT, _BAD),
    Row("strong_dot_general", [
        Sample([Draw((3, 4), -1, 1), Draw((4, 2), -1, 1)], PLAIN),
        Sample([Fixed([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]),
                Fixed([[np.inf, 1.0], [2.0, 3.0], [4.0, 5.0]])], PLAIN, smooth=False,
               dtypes=FLOATS)],
        INEXACT, [Bad([("f32", (3, 4)), ("f32", (5, 3))], "contracted sizes differ", PLAIN)]),
]
