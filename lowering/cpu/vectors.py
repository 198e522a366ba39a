"""Products with vectors, without the copies that XLA's CPU compiler makes of them.

One of its passes gives each vector of a product a second axis, another has taken it away before,
and between them nothing is left to undo both: `x @ w` with a `w` of one column copies `w` and the
result in kernels of their own, each 10 ms to compile. Without that pass products of f32 and f64 run
as fast and give the same numbers. Those of bf16 and of complex numbers need it, for the compiler
hands only matrices to its libraries.
"""

from __future__ import annotations

import math

from xfront_ir import dtypes, ops
from xfront_ir.core import Function, Op, bodies_of

OPTIONS = (("xla_disable_hlo_passes", "gemv-rewriter"),)


def options(function: Function) -> tuple[tuple[str, str], ...]:
    """XLA's options for a program, bodies included; none where no product is of a vector, or one is
    of other numbers than f32 and f64."""
    found, seen, left = False, {function}, [function]
    while left:
        for op in left.pop().ops:
            if op.definition is ops.dot_general:
                if any(v.type.dtype not in (dtypes.f32, dtypes.f64)
                       for v in (*op.operands, *op.results)):
                    return ()
                found = found or _has_vector(op)
            elif op.definition.has_bodies:
                inside = {body for body in bodies_of(op) if body not in seen}
                seen |= inside
                left.extend(inside)
    return OPTIONS if found else ()


def _has_vector(op: Op) -> bool:
    """Whether an operand has one element along the axes that are neither summed nor a batch's."""
    return any(
        math.prod(v.type.shape[d] for d in (*summed, *batch)) == v.type.size
        for v, summed, batch in zip(op.operands, op.attrs["contract"], op.attrs["batch"],
                                    strict=True))
