"""Strong zeros: products on the linear side become products where zero times anything is zero.

    // strong(linear = [true, false])
    func @f(%t: f32[3], %c: f32[3])            func @f(%t: f32[3], %c: f32[3])
        -> (f32[3]) {                              -> (f32[3]) {
      %0: f32[3] = mul(%t, %c)                   %0: f32[3] = strong_mul(%t, %c)
      return %0                                  return %0
    }                                          }

Only ops that read a linear value change; products with a finite literal do not. So a cotangent that
a selection made zero stays zero, even where the branch not taken has infinite or NaN coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..core import Function, Op, Value, remembered
from ..literal import literal

Flags = tuple[bool, ...]


def strong(fn: Function, linear: Flags) -> tuple[Function, Flags]:
    """The Function with strong zeros.

    Args:
      fn: any Function.
      linear: which parameters are tangents or cotangents.
    Returns: `(function, flags)`: flags say which results depend on a linear parameter.
    """
    return remembered(fn, ("strong", linear), _strong, fn, linear)


def _strong(fn: Function, linear: Flags) -> tuple[Function, Flags]:
    values = {v for v, flag in zip(fn.params, linear, strict=True) if flag}
    made = fn.with_ops(strengthened(fn.ops, values))
    return made, tuple([v in values for v in fn.returns])


def strengthened(ops: Iterable[Op], linear: set[Value], known: Iterable[Op] = ()) -> list[Op]:
    """The ops with strong zeros; values that depend on those in `linear` are added to it.

    `known` are earlier ops whose results these ops read.
    """
    finite = {op.results[0] for op in known if is_finite(op)}
    made: list[Op] = []
    for op in ops:
        if linear.isdisjoint(op.operands):
            if is_finite(op):
                finite.add(op.results[0])
        else:
            op = _with_strong_zeros(op, linear, finite)
        made.append(op)
    return made


def _with_strong_zeros(op: Op, linear: set[Value], finite: set[Value]) -> Op:
    rule = op.definition.strong
    if rule is None or (not op.definition.has_bodies and not finite.isdisjoint(op.operands)):
        linear.update(op.results)
        return op
    definition, attrs, flags = rule(op, tuple([v in linear for v in op.operands]))
    linear.update([v for v, flag in zip(op.results, flags, strict=True) if flag])
    if definition is op.definition and attrs is op.attrs:
        return op
    return Op(definition, op.operands, attrs, op.results, op.loc)


def is_finite(op: Op) -> bool:
    """Whether an op is a literal that is nowhere zero, infinite or NaN."""
    if op.definition is not literal:
        return False
    array = op.attrs["value"].array
    return array.dtype.kind in "fc" and bool(np.all(np.isfinite(array) & (array != 0)))


__all__ = ["strengthened", "strong"]
