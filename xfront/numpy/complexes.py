"""Parts of complex numbers; real arrays pass through."""

from __future__ import annotations

import math

from xfront_ir import ops
from xfront_ir.definition import OpDef

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, default_float, operand, strong
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .ufuncs import like, unary


@unary()
def real(val: ArrayLike) -> Array:
    """Real part, in the dtype of the parts. Source: `numpy.real`.

    >>> jnp.real(jnp.array([1 + 2j, 3j]))
    Array([1., 0.], dtype=float32)
    """
    x = operand("real", val)
    return _part(ops.real, x) if x.value.type.dtype.is_complex else x


@unary()
def imag(val: ArrayLike) -> Array:
    """Imaginary part, in the dtype of the parts; zeros of a real array. Source: `numpy.imag`.

    >>> jnp.imag(jnp.array([1 + 2j, 3j]))
    Array([2., 3.], dtype=float32)
    """
    x = operand("imag", val)
    return _part(ops.imag, x) if x.value.type.dtype.is_complex else like(x, 0)


def _part(definition: OpDef, x: Tracer) -> Tracer:
    """A part of complex numbers, with the same weakness."""
    made = emit(definition, x)
    return Tracer(made.home, made.value, x.weak)


@unary(ops.conj, frozenset(("complex",)))
def conjugate(x: ArrayLike) -> Array:
    """Complex conjugate. Source: `numpy.conjugate`.

    >>> jnp.conjugate(jnp.array([1 + 2j, 3j]))
    Array([1.-2.j, 0.-3.j], dtype=complex64)
    """
    x = operand("conjugate", x)
    return emit(ops.conj, x) if x.value.type.dtype.is_complex else x


conj = conjugate


@eager(static=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Angle of a complex number in (-pi, pi], in degrees with `deg`. Source: `numpy.angle`.

    >>> jnp.angle(jnp.array([1., 1j, -1.]), deg=True)
    Array([  0.,  90., 180.], dtype=float32)
    """
    own = operand("angle", z)
    x = strong(own)
    if not x.value.type.dtype.is_inexact:
        x = convert(x, default_float())
    if x.value.type.dtype.is_complex:
        x, y = emit(ops.real, x), emit(ops.imag, x)
    else:                                # the angle is 0 or pi, so it has no derivative
        x, y = emit(ops.stop_gradient, x), like(x, 0)
    made = emit(ops.atan2, y, x)
    made = made * (180 / math.pi) if deg else made
    return Tracer(made.home, made.value, own.weak and own.value.type.dtype.is_complex)


__all__ = [
    "angle", "conj", "conjugate", "imag", "real",
]  # fmt: skip
