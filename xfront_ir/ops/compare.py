"""Comparisons: elementwise, giving bool; their derivative is zero.

`eq_to`, `le_to` and `lt_to` compare floats in IEEE's total order, -NaN < -inf < ... < -0 < 0 < ...
< inf < NaN, so a NaN equals itself. Source: StableHLO spec, `compare`.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..traits import CHEAP, ELEMENTWISE, EXACT, EXACT_COMPLEX, LIGHT, MERGED, mark
from .families import elementwise, is_any


def _comparison(name: str, allowed: Any, wanted: str) -> Any:
    return elementwise(name, operands=2, allowed=allowed, wanted=wanted,
                       result=lambda dtype: dtypes.bool_, family=__name__)


def _is_ordered(dtype: Any) -> bool:
    return not dtype.is_key and not dtype.is_complex


eq = _comparison("eq", is_any, "number or bool")
ne = _comparison("ne", is_any, "number or bool")
lt = _comparison("lt", _is_ordered, "real or bool")
le = _comparison("le", _is_ordered, "real or bool")
gt = _comparison("gt", _is_ordered, "real or bool")
ge = _comparison("ge", _is_ordered, "real or bool")
eq_to = _comparison("eq_to", _is_ordered, "real or bool")
le_to = _comparison("le_to", _is_ordered, "real or bool")
lt_to = _comparison("lt_to", _is_ordered, "real or bool")


# --- what passes ask ----------------------------------------------------------------------

mark({ELEMENTWISE, LIGHT, MERGED}, eq, ne, lt, le, gt, ge, eq_to, le_to, lt_to)
mark({CHEAP, EXACT}, eq, ne, lt, le, gt, ge)
mark({EXACT_COMPLEX}, eq, ne)
