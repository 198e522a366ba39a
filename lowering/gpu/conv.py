"""Complex convolutions on CUDA."""

from __future__ import annotations

import functools
from typing import Any

from lowering.forms.conditions import Condition
from lowering.forms.matrices import filled
from lowering.gpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term

_complex = Condition(lambda op: op.operands[0].type.dtype.is_complex, "complex")


# XLA refuses complex convolutions on CUDA.
@form(ops.conv_general_dilated, when=_complex & filled)
def conv_general_dilated(b: Builder, op: Op, x: Value, kernel: Value) -> Any:
    """Three real convolutions: (p + iq)(r + is) with r (p + q), p (s - r) and q (r + s)."""
    attrs = dict(op.attrs)
    preferred = attrs.get("preferred")
    if preferred is not None:
        attrs["preferred"] = dtypes.real_of(preferred)
    p, q, r, s = (part(Term(b, v)) for v in (x, kernel) for part in (ops.real, ops.imag))
    convolve = functools.partial(ops.conv_general_dilated, **attrs)
    one, two, three = convolve(p + q, r), convolve(p, s - r), convolve(q, r + s)
    return ops.complex(one - three, one + two).value
