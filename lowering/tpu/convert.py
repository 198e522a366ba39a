"""Conversions to and from complex numbers of 128 bits on TPU."""

from __future__ import annotations

from typing import Any

from lowering.forms.conditions import condition
from lowering.tpu import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value


@condition
def _wide_complex(op: Op) -> bool:
    """The conversion is to c128, or from c128 to c64."""
    given, wanted = op.operands[0].type.dtype, op.attrs["dtype"]
    return given is not wanted and wanted.is_complex and dtypes.c128 in (given, wanted)


# XLA's compiler ends the process at such a conversion.
@form(ops.convert, when=_wide_complex)
def convert(b: Builder, op: Op, x: Value) -> Any:
    """The real and the imaginary part, each converted by itself."""
    part = dtypes.real_of(op.attrs["dtype"])
    if x.type.dtype.is_complex:
        parts = [b.emit(of, x) for of in (ops.real, ops.imag)]
    else:
        parts = [x, b.zeros(x.type)]
    return b.emit(ops.complex, *[b.emit(ops.convert, v, dtype=part) for v in parts])
