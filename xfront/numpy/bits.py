"""Bits of integers, and floats taken apart: shifts, counts, signs, neighbours, exponents."""

from __future__ import annotations

from typing import Any

import ml_dtypes

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType

from ..base.dtypes import float0
from ..binding.annotations import Array, ArrayLike
from ..eager.operands import broadcast_to, convert, operand, together
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..transforms.custom_jvp import custom_jvp
from .extremes import maximum
from .logic import isfinite
from .transcendental import float_operand
from .ufuncs import LOGICAL, arithmetic, binary, inexact, like, refuse, unary, where

INTEGER = frozenset(("int", "uint"))

# --- bits of integers ---------------------------------------------------------------------


def _bitwise(name: str, definition: Any, x: Any, y: Any) -> Tracer:
    x, y = together(name, x, y)
    if x.value.type.dtype.kind not in LOGICAL:
        raise refuse(name, x, "integer or bool")
    return emit(definition, x, y)


@binary(ops.and_, LOGICAL)
def bitwise_and(x: Any, y: Any) -> Any:
    """Bits set in both. Raises: TypeError for floats. Source: `numpy.bitwise_and`.

    >>> jnp.bitwise_and(jnp.array([6, 5]), 3)
    Array([2, 1], dtype=int32)
    """
    return _bitwise("bitwise_and", ops.and_, x, y)


@binary(ops.or_, LOGICAL)
def bitwise_or(x: Any, y: Any) -> Any:
    """Bits set in one or both. Raises: TypeError for floats. Source: `numpy.bitwise_or`.

    >>> jnp.bitwise_or(jnp.array([6, 5]), 3)
    Array([7, 7], dtype=int32)
    """
    return _bitwise("bitwise_or", ops.or_, x, y)


@binary(ops.xor, LOGICAL)
def bitwise_xor(x: Any, y: Any) -> Any:
    """Bits set in exactly one. Raises: TypeError for floats. Source: `numpy.bitwise_xor`.

    >>> jnp.bitwise_xor(jnp.array([6, 5]), 3)
    Array([5, 6], dtype=int32)
    """
    return _bitwise("bitwise_xor", ops.xor, x, y)


@unary(ops.not_, LOGICAL)
def invert(x: ArrayLike) -> Array:
    """Every bit flipped. Raises: TypeError for floats. Source: `numpy.invert`.

    >>> jnp.invert(jnp.array([True, False]))
    Array([False,  True], dtype=bool)
    """
    x = operand("invert", x)
    if x.value.type.dtype.kind not in LOGICAL:
        raise refuse("not", x, "integer or bool")
    return emit(ops.not_, x)


bitwise_invert = bitwise_not = invert


def _shifted(name: str, x: Any, y: Any) -> tuple[Tracer, Tracer]:
    x, y = together(name, x, y)
    x, y = arithmetic(x), arithmetic(y)
    if not x.value.type.dtype.is_integer:
        raise refuse(name, x, "integer")
    return x, y


@binary(ops.shift_left, INTEGER)
def left_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """x 2^y; bits shifted out are lost. Source: `numpy.left_shift`.

    >>> jnp.left_shift(jnp.array([1, 2, 3]), 2)
    Array([ 4,  8, 12], dtype=int32)
    """
    return emit(ops.shift_left, *_shifted("left_shift", x, y))


@binary(ops.shift_right_arithmetic, frozenset(("int",)))
def right_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """x / 2^y rounded down; the sign stays. Source: `numpy.right_shift`.

    >>> jnp.right_shift(jnp.array([4, 9, -8]), 2)
    Array([ 1,  2, -2], dtype=int32)
    """
    x, y = _shifted("right_shift", x, y)
    unsigned = x.value.type.dtype.is_unsigned
    return emit(ops.shift_right_logical if unsigned else ops.shift_right_arithmetic, x, y)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


@unary()
def bitwise_count(x: ArrayLike) -> Array:
    """Bits set in |x|, as uint8. Source: `numpy.bitwise_count`.

    >>> jnp.bitwise_count(jnp.array([1, 3, 255]))
    Array([1, 2, 8], dtype=uint8)
    """
    x = operand("bitwise_count", x)
    dtype = x.value.type.dtype
    if dtype.kind not in LOGICAL:
        raise refuse("bitwise_count", x, "integer or bool")
    if dtype.kind == "bool":
        return convert(x, dtypes.u8)
    size = abs(x) if dtype.kind == "int" else x
    return convert(emit(ops.popcnt, size), dtypes.u8)


# --- floats taken apart -------------------------------------------------------------------

_WORDS = {8: dtypes.u8, 16: dtypes.u16, 32: dtypes.u32, 64: dtypes.u64}


@unary()
def signbit(x: ArrayLike) -> Array:
    """Whether an element is negative, -0.0 included. Source: `numpy.signbit`.

    >>> jnp.signbit(jnp.array([-1., 0., -0.]))
    Array([ True, False,  True], dtype=bool)
    """
    x = operand("signbit", x)
    return _signbit(x)


def _signbit(x: Tracer) -> Tracer:
    dtype = x.value.type.dtype
    if dtype.is_complex:
        raise refuse("signbit", x, "real")
    if dtype.kind in ("bool", "uint"):
        return x != x
    if dtype.is_integer:
        return x < 0
    word = emit(ops.bitcast, x, dtype=_WORDS[dtype.bits])
    return word >= 1 << (dtype.bits - 1)


@binary()
def copysign(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The magnitude of x1 with the sign of x2, as a float. Source: `numpy.copysign`.

    >>> jnp.copysign(jnp.array([1., 2., 3.]), jnp.array([-1., 0., -0.]))
    Array([-1.,  2., -3.], dtype=float32)
    """
    x, y = together("copysign", x1, x2)
    x, y = inexact(x), inexact(y)
    size = abs(x)
    return where(_signbit(y), -size, size)


@binary()
def nextafter(x: ArrayLike, y: ArrayLike) -> Array:
    """The float next to x towards y. Source: `numpy.nextafter`.

    >>> jnp.nextafter(jnp.array(1.), 2.) > 1
    Array(True, dtype=bool)
    """
    x, y = together("nextafter", x, y)
    if x.value.type.dtype.is_complex:
        raise refuse("nextafter", x, "real")
    return emit(ops.nextafter, inexact(x), inexact(y))


def _info(dtype: DType) -> Any:
    return ml_dtypes.finfo(dtype.numpy)


@unary()
def spacing(x: ArrayLike) -> Array:
    """Distance to the next float away from zero, with x's sign; infinite for the largest float.
    Source: `numpy.spacing`.

    >>> jnp.spacing(jnp.array([1., 1024.]))
    Array([0., 0.], dtype=float32)
    """
    x = float_operand("spacing", x)
    dtype = x.value.type.dtype
    info, word = _info(dtype), _WORDS[dtype.bits]
    # from the bits alone: arithmetic on subnormal numbers gives zero on some devices
    raw = emit(ops.bitcast, x, dtype=word)
    power = emit(ops.shift_right_logical, raw, like(raw, info.nmant))
    power = power & ((1 << info.nexp) - 1)
    power = maximum(power, 1)
    normal = emit(ops.shift_left, power - info.nmant,
                  like(raw, info.nmant))
    subnormal = emit(ops.shift_left, like(raw, 1), power - 1)
    gap = where(power > info.nmant, normal, subnormal)
    sign = like(raw, 1 << (dtype.bits - 1))
    most = int(info.max.view(f"u{dtype.bits // 8}"))
    gap = where((raw & most) == most, most + 1, gap)
    gap = gap | (raw & sign)
    made = emit(ops.bitcast, gap, dtype=dtype)
    return where(isfinite(x), made, float("nan"))


def _exponent(x: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """(mantissa, exponent, whether `frexp` gives x and 0 instead) of a float, from its bits alone:
    arithmetic on subnormal numbers gives zero on some devices."""
    dtype = x.value.type.dtype
    info, word = _info(dtype), _WORDS[dtype.bits]
    width, bias = info.nmant, 1 - info.minexp
    raw = emit(ops.bitcast, x, dtype=word)
    field = like(raw, (1 << info.nexp) - 1)
    power = emit(ops.shift_right_logical, raw, like(raw, width)) & field
    fraction = raw & ((1 << width) - 1)
    none = power == 0
    nothing = none & (fraction == 0)
    plain = nothing | (power == field)
    # a subnormal fraction is shifted until its first bit stands where the hidden one would
    shift = emit(ops.clz, fraction) - (dtype.bits - 1 - width)
    kept = where(none, emit(ops.shift_left, fraction, shift), fraction)
    kept = kept & ((1 << width) - 1)
    sign = raw & (1 << (dtype.bits - 1))
    made = sign | kept | ((bias - 1) << width)
    integer = dtypes.i32
    exponent = where(none, like(convert(shift, integer), 1) - convert(shift, integer),
                     convert(power, integer))
    exponent = exponent - (bias - 1)
    return emit(ops.bitcast, made, dtype=dtype), exponent, plain


@unary()
def frexp(x: ArrayLike) -> tuple[Array, Array]:
    """(mantissa, exponent) with x = mantissa 2^exponent and 0.5 <= |mantissa| < 1.

    The exponent is an integer. For 0, infinities and NaN it is 0, and the mantissa is x itself.
    The derivative of the mantissa is 2^-exponent. Source: `numpy.frexp`.

    >>> jnp.frexp(jnp.array([8., 0.75]))
    (Array([0.5 , 0.75], dtype=float32), Array([4, 0], dtype=int32))
    """
    return _frexp(float_operand("frexp", x))


@custom_jvp
def _frexp(x: Any) -> Any:
    x = as_tracer(x)
    mantissa, exponent, plain = _exponent(x)
    return where(plain, x, mantissa), where(plain, 0, exponent)


@_frexp.defjvp
def _moved(primals: Any, tangents: Any) -> Any:
    x, t = as_tracer(primals[0]), as_tracer(tangents[0])
    mantissa, exponent = _frexp(x)
    t = as_tracer(ldexp(t, -exponent))
    return (mantissa, exponent), (t, np.zeros(exponent.shape, float0))


@binary()
def ldexp(x1: ArrayLike, x2: ArrayLike) -> Array:
    """x1 2^x2 for integers x2, as a float. Raises: ValueError for other x2. Source: `numpy.ldexp`.

    >>> jnp.ldexp(jnp.array([0.5, 0.75]), jnp.array([1, 3]))
    Array([1., 6.], dtype=float32)
    """
    x, n = operand("ldexp", x1), arithmetic(operand("ldexp", x2))
    if not n.value.type.dtype.is_integer:
        raise ValueError(f"ldexp: the exponent x2 must be an integer array, got {n.value.type}")
    from ..eager.operands import broadcast_shapes

    shape = broadcast_shapes("ldexp", (x.shape, n.shape))
    x = broadcast_to(float_operand("ldexp", x), shape)
    span = 1 - _info(x.value.type.dtype).minexp
    if n.value.type.dtype.bits > 16:               # exponents beyond these change nothing
        low = 0 if n.value.type.dtype.is_unsigned else -3 * span
        n = emit(ops.clamp, like(n, low), n, like(n, 3 * span))
    n = broadcast_to(convert(n, dtypes.i32), shape)
    for _ in range(3):                             # 2^n itself may overflow or vanish
        step = emit(ops.clamp, like(n, 1 - span), n, like(n, span))
        x = x * _two_to(step, x.value.type.dtype)
        n = n - step
    return x


def _two_to(n: Tracer, dtype: DType) -> Tracer:
    """Exactly 2^n, where n is an exponent of a normal float."""
    info, word = _info(dtype), _WORDS[dtype.bits]
    biased = n + (1 - info.minexp)
    raw = emit(ops.shift_left, convert(biased, word), like(convert(biased, word), info.nmant))
    return emit(ops.bitcast, raw, dtype=dtype)


__all__ = [
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_right_shift",
    "copysign", "frexp", "invert", "ldexp", "left_shift", "nextafter", "right_shift", "signbit",
    "spacing",
]  # fmt: skip
