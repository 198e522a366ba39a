"""Arrays stacked along a new last axis."""

from __future__ import annotations

from lowering.forms.conditions import condition
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where


@condition
def _stack(op: Op) -> bool:
    """2 or 3 columns of f32 or i32 on the last axis of arrays with three axes or more, each of at
    least 2**14 elements."""
    x, last = op.operands[0].type, op.operands[0].type.ndim - 1
    return (2 <= len(op.operands) <= 3 and op.attrs["dimension"] == last >= 3
            and x.dtype in (dtypes.f32, dtypes.i32)
            and all(v.type.shape[last] == 1 for v in op.operands) and x.size >= 2 ** 14)


# 2 or 3 columns of arrays with three axes or more: the plain rule writes one element at a time.
@form(ops.concatenate, when=_stack, row="kernels.elementwise: stack of two images on the last axis")
def concatenate(b: Builder, op: Op, *xs: Value) -> Value:
    """A selection of each element's column. Every element reads all columns, so they are fenced."""
    last = xs[0].type.ndim - 1
    shape = (*xs[0].type.shape[:last], len(xs))
    at = Term(b, b.emit(ops.iota, dtype=dtypes.i32, shape=shape, dimension=last))
    dims = tuple(range(last + 1))
    wide = [ops.broadcast_in_dim(ops.fence(Term(b, x)), shape=shape, dims=dims) for x in xs]
    made = wide[-1]
    for i in reversed(range(len(xs) - 1)):
        made = where(at == i, wide[i], made)
    return made.value
