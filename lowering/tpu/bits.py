"""The upper half of products of 64-bit integers on TPU: XLA's compiler has no rule for it there."""

from __future__ import annotations

import functools
from typing import Any

from lowering import tpu
from lowering.forms.conditions import of
from lowering.rules.bits import upper_half
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term

form = functools.partial(tpu.form, when=of(dtypes.i64, dtypes.u64))


@form(ops.mulhi)
def mulhi(b: Builder, op: Op, x: Value, y: Value) -> Any:
    """The product by halves, whose products and carries fit in 64 bits."""
    return upper_half(Term(b, x), Term(b, y), x.type.dtype is dtypes.i64).value
