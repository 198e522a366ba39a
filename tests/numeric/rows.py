"""All rows, in the order of their families."""

from __future__ import annotations

import os

import numpy as np

from . import (
    lax_rows,
    linalg_rows,
    numpy_elementwise,
    numpy_moving,
    numpy_products,
    numpy_reductions,
    numpy_sorting,
    other_rows,
    special_rows,
    stats_rows,
)
from .row import Row

FAMILIES = (numpy_elementwise, numpy_reductions, numpy_moving, numpy_sorting, numpy_products,
            linalg_rows, lax_rows, special_rows, stats_rows, other_rows)
ROWS = [row for family in FAMILIES for row in family.ROWS]


def chosen_rows(seed: int, count: int) -> list[tuple[Row, tuple[str, ...]]]:
    """All rows in all dtypes with `XFRONT_GENERATED`, else some of them in one dtype each."""
    if "XFRONT_GENERATED" in os.environ:
        return [(row, tuple(row.dtypes)) for row in ROWS]
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(ROWS), count, replace=False)
    return [(ROWS[k], (str(rng.choice(ROWS[k].dtypes)),)) for k in sorted(rows)]
