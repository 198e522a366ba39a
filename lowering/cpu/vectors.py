"""Products with vectors, without the copies that XLA's CPU compiler makes of them.

One of its passes gives each vector of a product a second axis, another has taken it away before,
and between them nothing is left to undo both: `x @ w` with a `w` of one column copies `w` and the
result in kernels of their own, each 10 ms to compile. Without that pass products of f32 and f64 run
as fast and give the same numbers, but for those in loops on jaxlib 0.10, where the gradient of a
recurrence of 400 steps took 255 µs without the pass and 116 with it. Those of bf16 and of complex
numbers need it, for the compiler hands only matrices to its libraries.
"""

from __future__ import annotations

import math

from xfront_ir import dtypes, ops
from xfront_ir.core import Function, Op, bodies_of

from .. import compat

OPTIONS = (("xla_disable_hlo_passes", "gemv-rewriter"),)


def options(function: Function) -> tuple[tuple[str, str], ...]:
    """XLA's options for a program, bodies included; none where no product is of a vector, one is of
    other numbers than f32 and f64, or one of a vector is in a loop on jaxlib 0.10."""
    found, seen, left = False, {(function, False)}, [(function, False)]
    while left:
        fn, in_loop = left.pop()
        for op in fn.ops:
            if op.definition is ops.dot_general:
                if any(v.type.dtype not in (dtypes.f32, dtypes.f64)
                       for v in (*op.operands, *op.results)):
                    return ()
                if _has_vector(op):
                    if in_loop and compat.HAS_FUSION_EMITTER_OPTION:
                        return ()
                    found = True
            elif op.definition.has_bodies:
                turns = in_loop or op.definition.regions.is_loop
                inside = {(body, turns) for body in bodies_of(op)} - seen
                seen |= inside
                left.extend(inside)
    return OPTIONS if found else ()


def _has_vector(op: Op) -> bool:
    """Whether an operand has one element along the axes that are neither summed nor a batch's."""
    return any(
        math.prod(v.type.shape[d] for d in (*summed, *batch)) == v.type.size
        for v, summed, batch in zip(op.operands, op.attrs["contract"], op.attrs["batch"],
                                    strict=True))
