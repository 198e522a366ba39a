"""Elementwise arithmetic, logic, rounding, exponential and trigonometric ops.

Sources: StableHLO spec, sections of the same names; NumPy for the meaning of each function.
"""

from __future__ import annotations

from typing import Any

from .families import elementwise, is_inexact, is_numeric, scaled, sum_tangents, transpose_bilinear


def _jvp_add(b: Any, op: Any, tangents: Any) -> Any:
    return (sum_tangents(b, *tangents),)


add = elementwise("add", allowed=is_numeric, wanted="numeric", operands=2, jvp=_jvp_add,
                  transpose=lambda b, op, cts, known: (cts[0], cts[0]))
neg = elementwise("neg", lambda b, t, op: b.emit(neg, t), allowed=is_numeric, wanted="numeric",
                  transpose=lambda b, op, cts, known: (b.emit(neg, cts[0]),))
mul = elementwise("mul", lambda b, t, op: b.emit(mul, t, op.operands[1]),
                  lambda b, t, op: b.emit(mul, op.operands[0], t),
                  allowed=is_numeric, wanted="numeric",
                  transpose=transpose_bilinear(lambda b, ct, y, op: b.emit(mul, ct, y),
                                               lambda b, ct, x, op: b.emit(mul, x, ct)))
sin = elementwise("sin", scaled(lambda b, op: b.emit(cos, op.operands[0])),
                  allowed=is_inexact, wanted="inexact")
cos = elementwise("cos", scaled(lambda b, op: b.emit(neg, b.emit(sin, op.operands[0]))),
                  allowed=is_inexact, wanted="inexact")
