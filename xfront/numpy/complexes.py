"""Parts of complex numbers; real arrays pass through."""

from __future__ import annotations

import math
from typing import Any

from xfront_ir import ops

from ..arrays.dispatch import eager
from ..arrays.operands import convert, default_float, operand, strong
from ..tracing.trace import emit
from .ufuncs import like, unary


@unary(ops.real, frozenset(("complex",)))
def real(val: Any) -> Any:
    """Real part, in the dtype of the parts. Source: `numpy.real`."""
    x = operand("real", val)
    return emit(ops.real, x) if x.value.type.dtype.is_complex else x


@unary(ops.imag, frozenset(("complex",)))
def imag(val: Any) -> Any:
    """Imaginary part, in the dtype of the parts; zeros of a real array. Source: `numpy.imag`."""
    x = operand("imag", val)
    return emit(ops.imag, x) if x.value.type.dtype.is_complex else like(x, 0)


@unary(ops.conj, frozenset(("complex",)))
def conjugate(x: Any) -> Any:
    """Complex conjugate. Source: `numpy.conjugate`."""
    x = operand("conjugate", x)
    return emit(ops.conj, x) if x.value.type.dtype.is_complex else x


conj = conjugate


@eager(static=("deg",))
def angle(z: Any, deg: bool = False) -> Any:
    """Angle of a complex number in (-pi, pi], in degrees with `deg`. Source: `numpy.angle`."""
    x = strong(operand("angle", z))
    if not x.value.type.dtype.is_inexact:
        x = convert(x, default_float())
    if x.value.type.dtype.is_complex:
        x, y = emit(ops.real, x), emit(ops.imag, x)
    else:                                # no derivative: 0 or pi
        x, y = emit(ops.stop_gradient, x), like(x, 0)
    made = emit(ops.atan2, y, x)
    return emit(ops.mul, made, like(made, 180 / math.pi)) if deg else made


__all__ = [
    "angle", "conj", "conjugate", "imag", "real",
]  # fmt: skip
