"""Polynomials as their coefficients, highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.dispatch import eager
from ..arrays.operands import array_like, broadcast_to, convert, operand, promote, promote_inexact
from ..tracing.tracer import Tracer
from .arithmetic import add, divide, multiply, subtract
from .contractions import convolve
from .editing import trim_zeros
from .manipulation import atleast_1d, concatenate, cut, joined
from .reductions import shaped
from .ufuncs import arithmetic

FEW = 16
"""Up to so many coefficients, evaluation is written out."""


@eager(static=("unroll",))
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The polynomial `p` at each element of `x`, by Horner's rule.

    Args:
      p: 1-d coefficients.
      unroll: how many steps the loop over many coefficients takes at a time.
    Raises: TypeError for lists.
    Source: `numpy.polyval`.
    """
    from ..lax.control_flow import scan  # late: lax stands beside numpy

    p, x = promote("polyval", p, x)
    n = p.size
    p = shaped(p, (n,))
    made = x.home.literal(np.zeros((), x.dtype), x.shape)
    if n <= FEW:
        for i in range(n):
            made = add(multiply(made, x), broadcast_to(shaped(cut(p, 0, i, i + 1), ()), x.shape))
        return made
    return scan(lambda y, c: (add(multiply(y, x), c), None), made, p, unroll=unroll)[0]


def _aligned(name: str, a1: Any, a2: Any) -> list[Tracer]:
    """Coefficients of one length."""
    x, y = promote(name, a1, a2)
    n = max(x.size, y.size)
    return [joined([v.home.literal(np.zeros((), v.dtype), (n - v.size,)), v], 0)
            if v.size < n else v for v in (atleast_1d(x), atleast_1d(y))]


@eager
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials. Source: `numpy.polyadd`."""
    return add(*_aligned("polyadd", a1, a2))


@eager
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials. Source: `numpy.polysub`."""
    return subtract(*_aligned("polysub", a1, a2))


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials.

    Args:
      trim_leading_zeros: leave out leading zeros first, whose number must be known.
    Source: `numpy.polymul`.
    """
    x, y = (atleast_1d(array_like("polymul", a)) for a in (a1, a2))
    if trim_leading_zeros and (x.size > 1 or y.size > 1):
        x, y = trim_zeros(x, "f"), trim_zeros(y, "f")
    if not x.size:
        x = np.zeros(1, x.dtype)
    if not y.size:
        y = np.zeros(1, y.dtype)
    return convolve(x, y, precision="highest")


@eager(static=("m",))
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial, inexact. Raises: ValueError for negative m.

    Source: `numpy.polyder`.
    """
    if m < 0:
        raise ValueError(f"Order of derivative must be positive, got {m}")
    (x,) = promote_inexact("polyder", p)
    n = x.size
    if m == 0:
        return x
    if m >= n:
        return cut(x, 0, 0, 0)
    powers = np.arange(n)[::-1][:n - m]
    factors = np.prod([powers - i for i in range(m)], axis=0)
    return multiply(cut(x, 0, 0, n - m), convert(operand("polyder", factors.astype(np.float64)),
                                                 x.value.type.dtype))


@eager(static=("m",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, inexact.

    Args:
      k: the constants of integration: one for each step, or one for a single step; 0 for None.
    Raises: ValueError for negative m, and constants that are not as many.
    Source: `numpy.polyint`.
    """
    if m < 0:
        raise ValueError(f"Order of integral must be positive, got {m}")
    if k is None:
        (x,) = promote_inexact("polyint", arithmetic(operand("polyint", p)))
        ks = x.home.literal(np.zeros((), x.dtype), (m,))
    else:
        x, ks = promote_inexact("polyint", p, k)
        ks = atleast_1d(ks)
        if ks.size == 1:
            ks = broadcast_to(shaped(ks, (1,)), (m,))
        if ks.shape != (m,):
            raise ValueError(f"k must be a scalar or a rank-1 array of length 1 or {m}, got "
                             f"{ks.shape}")
    for i in range(m):
        n = x.size
        powers = operand("polyint", np.arange(n, 0, -1).astype(np.float64))
        x = divide(x, convert(powers, x.value.type.dtype))
        x = concatenate([x, cut(ks, 0, i, i + 1)])
    return x


@eager
def _polydiv(u: Any, v: Any) -> Any:
    x, y = promote_inexact("polydiv", u, v)
    n, m = x.size - 1, y.size - 1
    quotient = []
    lead = shaped(cut(y, 0, 0, 1), ())
    rest = x
    for i in range(max(n - m + 1, 0)):
        digit = divide(shaped(cut(rest, 0, i, i + 1), ()), lead)
        quotient.append(shaped(digit, (1,)))
        low = subtract(cut(rest, 0, i, i + m + 1), multiply(y, broadcast_to(digit, y.shape)))
        rest = joined([v for v in (cut(rest, 0, 0, i), low, cut(rest, 0, i + m + 1, n + 1))
                       if v.size], 0)
    if not quotient:
        quotient = [x.home.literal(np.zeros((), x.dtype), (1,))]
    return joined(quotient, 0), rest


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials.

    Args:
      trim_leading_zeros: leave out the remainder's leading zeros, whose number must be known.
    Source: `numpy.polydiv`.
    """
    quotient, rest = _polydiv(u, v)
    return quotient, trim_zeros(rest, "f") if trim_leading_zeros else rest


__all__ = ["polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval"]
