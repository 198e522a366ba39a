"""Rounding to integers or decimals. Results keep the operand's dtype unless said otherwise."""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, default_float, index_of, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .transcendental import float_operand
from .ufuncs import FLOAT, like, refuse, unary, where


def _rounding(name: str, x: Any, rule: Any) -> Tracer:
    """A float rounded; integers and bools are what they are."""
    x = operand(name, x)
    dtype = x.value.type.dtype
    if dtype.is_complex or dtype.is_key:
        raise refuse(name, x, "real")
    return rule(x) if dtype.is_float else x


@unary(ops.floor, FLOAT)
def floor(x: ArrayLike) -> Array:
    """The greatest integer not above x. Source: `numpy.floor`.

    >>> jnp.floor(jnp.array([-1.5, 0.2, 2.]))
    Array([-2.,  0.,  2.], dtype=float32)
    """
    return _rounding("floor", x, lambda v: emit(ops.floor, v))


@unary(ops.ceil, FLOAT)
def ceil(x: ArrayLike) -> Array:
    """The least integer not below x. Source: `numpy.ceil`.

    >>> jnp.ceil(jnp.array([-1.5, 0.2, 2.]))
    Array([-1.,  1.,  2.], dtype=float32)
    """
    return _rounding("ceil", x, lambda v: emit(ops.ceil, v))


@unary()
def trunc(x: ArrayLike) -> Array:
    """The nearest integer towards zero. Source: `numpy.trunc`.

    >>> jnp.trunc(jnp.array([-1.5, 0.2, 2.]))
    Array([-1.,  0.,  2.], dtype=float32)
    """
    return _rounding("trunc", x, _toward_zero)


def _toward_zero(x: Tracer) -> Tracer:
    return where(x < 0, ceil(x), floor(x))


@unary()
def fix(x: ArrayLike) -> Array:
    """The nearest integer towards zero, as a float. Source: `numpy.fix`.

    >>> jnp.fix(jnp.array([-1.5, 0.2, 2.]))
    Array([-1.,  0.,  2.], dtype=float32)
    """
    return _toward_zero(float_operand("fix", x))


def _half_even(x: Tracer) -> Tracer:
    if not x.value.type.dtype.is_complex:
        return emit(ops.round, x, method="to_nearest_even")
    made = emit(ops.complex, _half_even(emit(ops.real, x)), _half_even(emit(ops.imag, x)))
    return Tracer(made.home, made.value, x.weak)


@unary()
def rint(x: ArrayLike) -> Array:
    """The nearest integer, halves to the even one; integers become floats. Source: `numpy.rint`.

    >>> jnp.rint(jnp.array([0.5, 1.5, 2.2]))
    Array([0., 2., 2.], dtype=float32)
    """
    x = operand("rint", x)
    return _half_even(x if x.value.type.dtype.is_inexact else convert(x, default_float()))


@eager(static=("decimals",))
def _round(a: Any, decimals: int) -> Any:
    x = operand("round", a)
    if not x.value.type.dtype.is_inexact:
        if decimals < 0:
            raise NotImplementedError("integers cannot be rounded to decimals < 0, got "
                                      f"decimals={decimals}; convert to a float dtype first")
        return x
    if decimals == 0:
        return _half_even(x)
    factor = like(x, 10.0 ** decimals)
    return _half_even(x * factor) / factor


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """`a` rounded to a number of decimals, halves to the even digit.

    Raises: NotImplementedError for integers and negative decimals, or where `out` is given.
    Source: `numpy.round`.

    >>> jnp.round(jnp.array([0.5, 1.5, 2.2]))
    Array([0., 2., 2.], dtype=float32)
    """
    if out is not None:
        raise NotImplementedError("round: arrays are immutable, so `out` is not supported")
    return _round(a, index_of(decimals, "round: decimals"))


around = round


@unary()
def modf(x: ArrayLike) -> tuple[Array, Array]:
    """(fractional part, integral part) as floats, both with x's sign. Source: `numpy.modf`.

    >>> jnp.modf(jnp.array([1.5, -2.25]))
    (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    x = float_operand("modf", x)
    whole = _toward_zero(x)
    infinite = abs(x) == float("inf")
    return where(infinite, 0, x - whole), whole


__all__ = [
    "around", "ceil", "fix", "floor", "modf", "rint", "round", "trunc",
]  # fmt: skip
