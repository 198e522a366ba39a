"""Products in which zero times anything is zero, infinity and NaN included.

    strong_mul(x, y): 0 where x or y is 0, else x y
    strong_div(x, y): 0 where x is 0, else x / y
    strong_dot_general(lhs, rhs): the sum of such products

They are what `passes/strong.py` puts on the linear side of a derivative, so that a cotangent that a
`select` made zero stays zero. The convention is that of measure theory. As functions they are
bilinear like the plain ones, and their derivatives are of their own kind.
"""

from __future__ import annotations

from typing import Any

from ..core import Value
from ..opdef import DTYPE, TREE, define, optional
from .dot import (
    batch_dot_general,
    cost_dot_general,
    infer_products,
    jvp_dot_general,
    transpose_dot_general,
)
from .elementwise import neg
from .families import elementwise, is_inexact, transpose_bilinear


def _strong(name: str, *partials: Any, transpose: Any) -> Any:
    return elementwise(name, *partials, allowed=is_inexact, wanted="inexact", family=__name__,
                       transpose=transpose)


def _by_divisor(b: Any, t: Value, op: Any) -> Value:
    ratio = b.emit(strong_div, op.results[0], op.operands[1])
    return b.emit(neg, b.emit(strong_mul, t, ratio))


def _transpose_div(b: Any, op: Any, cotangents: Any, known: Any) -> Any:
    return b.emit(strong_div, cotangents[0], known[1]), None


strong_mul = _strong("strong_mul", lambda b, t, op: b.emit(strong_mul, t, op.operands[1]),
                     lambda b, t, op: b.emit(strong_mul, op.operands[0], t),
                     transpose=transpose_bilinear(
                         lambda b, ct, y, op: b.emit(strong_mul, ct, y),
                         lambda b, ct, x, op: b.emit(strong_mul, x, ct)))
strong_div = _strong("strong_div", lambda b, t, op: b.emit(strong_div, t, op.operands[1]),
                     _by_divisor, transpose=_transpose_div)
strong_dot_general = define(
    "strong_dot_general", operands=2, infer=infer_products("strong_dot_general"),
    jvp=jvp_dot_general, transpose=transpose_dot_general, batch=batch_dot_general,
    cost=cost_dot_general,
    attrs={"contract": TREE, "batch": TREE, "precision": optional(TREE),
           "preferred": optional(DTYPE)}, family=__name__)
