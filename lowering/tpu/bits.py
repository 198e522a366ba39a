"""The upper half of products of 64-bit integers on TPU, where XLA's compiler has no rule for it."""

from __future__ import annotations

import functools
from typing import Any

from lowering import tpu
from lowering.forms.conditions import of
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where

form = functools.partial(tpu.form, when=of(dtypes.i64, dtypes.u64))


@form(ops.mulhi)
def mulhi(b: Builder, op: Op, x: Value, y: Value) -> Any:
    """The product by halves, whose products and carries fit in 64 bits. The bits of a negative
    number x are those of x + 2^64, so 2^64 times the other factor is subtracted."""
    p, q = Term(b, x), Term(b, y)

    def upper(v: Term) -> Term:
        return ops.shift_right_logical(v, 32)

    def lower(v: Term) -> Term:
        return v & 0xFFFFFFFF

    middle = upper(p) * lower(q) + upper(lower(p) * lower(q))
    other = lower(p) * upper(q) + lower(middle)
    product = upper(p) * upper(q) + upper(middle) + upper(other)
    if x.type.dtype is dtypes.i64:
        product = product - where(p < 0, q, 0) - where(q < 0, p, 0)
    return product.value
