"""Polynomials of given coefficients, by Horner's rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import broadcast_to, convert, operand
from ..tracing.tracer import Tracer
from .control_flow import scan
from .shape import stack
from .strict import common_shape, listed, static_int, weakly

UNROLLED = 8
"""Up to this many terms are written out; a program with more of them has a loop."""


@eager(static=("unroll",))
def polynomial(x: ArrayLike, coeffs: Sequence[ArrayLike], *, unroll: int | None = None) -> Array:
    """The polynomial coeffs[0] + coeffs[1] x + coeffs[2] x^2 + ... at each element of x.

    Args:
      x: array of numbers.
      coeffs: a sequence of numbers or arrays, the constant term first. They are converted to x's
        dtype, and have its rank or none; sizes are equal, or 1 where they differ.
      unroll: how many terms are written out in the program, before the others are summed by a
        loop; None for 8.
    Returns: an array of x's dtype and of the shape that x and the coefficients broadcast to; zeros
      for no coefficients.
    Raises: TypeError where x is no number, for coefficients that are floats where x is an integer,
      or complex where it is real, and where ranks or sizes do not match; ValueError for a
      negative `unroll`.
    Source: Knuth, The Art of Computer Programming, 4.6.4, Horner's rule.

    >>> lax.polynomial(3., [1., 5., 2.])
    Array(34., dtype=float32, weak_type=True)
    """
    x = operand("polynomial", x)
    if not x.value.type.dtype.is_numeric:
        raise TypeError(f"lax.polynomial takes numbers, got {x.value.type}; convert it first")
    most = UNROLLED if unroll is None else static_int("polynomial: unroll", unroll)
    if most < 0:
        raise ValueError(f"polynomial: unroll must not be negative, got {most}")
    terms = [_coefficient(c, x) for c in listed("polynomial: coeffs", coeffs)]
    shape = common_shape("polynomial", [x.shape, *[c.shape for c in terms]])
    at = broadcast_to(weakly(x, x.weak and all(c.weak for c in terms)), shape)
    *rest, made = [broadcast_to(weakly(c, at.weak), shape) for c in terms] or [_zeros(at)]
    if len(rest) < most or not rest:
        for c in rest[::-1]:
            made = _step(at, made, c)
        return made
    return scan(lambda made, c: (_step(at, made, c), None), made, stack(rest), reverse=True)[0]


def _step(x: Any, made: Any, coefficient: Any) -> Tracer:
    return made * x + coefficient


def _zeros(x: Tracer) -> Tracer:
    return x.home.literal(np.zeros((), x.dtype), x.shape, x.weak)


def _coefficient(c: Any, x: Tracer) -> Tracer:
    c = operand("polynomial", c)
    own, dtype = c.value.type.dtype, x.value.type.dtype
    if not own.is_numeric or own.is_complex > dtype.is_complex or own.is_inexact > dtype.is_inexact:
        raise TypeError(f"lax.polynomial: a coefficient {c.value.type} does not fit x, which is "
                        f"{x.value.type}: it would lose a part; convert x to {own.name} first")
    return convert(c, dtype, c.weak)


__all__ = ["polynomial"]
