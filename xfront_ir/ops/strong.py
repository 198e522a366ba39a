"""Products in which zero times anything is zero, infinity and NaN included.

    strong_mul(x, y): 0 where x or y is 0, else x y
    strong_div(x, y): 0 where x is 0, else x / y
    strong_dot_general(lhs, rhs): the sum of such products

`passes/strong.py` puts these ops on the linear side of a derivative, so that a cotangent that a
`select` made zero stays zero. The convention is that of measure theory. The ops are bilinear like
the plain ones, and their derivatives are written with strong ops again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import Value
from ..definition import OpDef
from ..opdef import DTYPE, TREE, define, optional
from ..spreading import PRODUCTS, SUMS, alike, spreads
from .dot import (
    batch_dot_general,
    cost_dot_general,
    infer_products,
    jvp_dot_general,
    spread_products,
    summed_products,
    transpose_dot_general,
)
from .families import Partial, elementwise, is_inexact, tangent, transpose_bilinear
from .formulas import formula

if TYPE_CHECKING:
    from ..rules import Transpose


def _strong(name: str, *partials: Partial, transpose: Transpose) -> OpDef[Value]:
    return elementwise(name, *partials, allowed=is_inexact, wanted="inexact", family=__name__,
                       transpose=transpose)


_quotient = formula(lambda x, y: strong_div(x, y))
strong_mul = _strong("strong_mul", tangent(lambda t, x, y, z: strong_mul(t, y)),
                     tangent(lambda t, x, y, z: strong_mul(x, t)),
                     transpose=transpose_bilinear(lambda ct, y: strong_mul(ct, y),
                                                  lambda ct, x: strong_mul(x, ct)))
strong_div = _strong("strong_div", tangent(lambda t, x, y, z: strong_div(t, y)),
                     tangent(lambda t, x, y, z: -strong_mul(t, strong_div(z, y))),
                     transpose=lambda b, op, cts, known: (_quotient(b, cts[0], known[1]), None))
strong_dot_general = define(
    "strong_dot_general", operands=2, infer=infer_products("strong_dot_general"),
    jvp=jvp_dot_general, transpose=transpose_dot_general, batch=batch_dot_general,
    cost=cost_dot_general,
    attrs={"contract": TREE, "batch": TREE, "precision": optional(TREE),
           "preferred": optional(DTYPE)}, family=__name__)


spreads(alike, strong_mul, strong_div)
PRODUCTS.update({strong_mul: (0, 1), strong_div: (0,)})
spreads(spread_products, strong_dot_general)
SUMS[strong_dot_general] = summed_products
