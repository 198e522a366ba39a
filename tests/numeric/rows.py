"""All rows, in the order of their families."""

from __future__ import annotations

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

FAMILIES = (numpy_elementwise, numpy_reductions, numpy_moving, numpy_sorting, numpy_products,
            linalg_rows, lax_rows, special_rows, stats_rows, other_rows)
ROWS = [row for family in FAMILIES for row in family.ROWS]
