"""Numbers of combinations, Bernoulli's numbers.

Sources: NIST DLMF 24.2 and 26.3; `scipy.special`.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from xfront_ir import ops

from ...binding.annotations import Array, ArrayLike
from ...eager.dispatch import eager
from ...eager.operands import default_float
from ...lax.strict import static_int
from ...numpy import array, rint
from ...numpy.rounding import floor
from ...numpy.transcendental import exp, log1p
from ...numpy.ufuncs import where
from ...tracing.trace import emit
from .gammas import betaln_of
from .parts import wide


@eager(static=("repetition",))
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """How many ways there are to choose k of N, as a float; 0 where k > N or one is negative.

    Args:
      repetition: whether an element may be chosen more than once.
    Raises: ValueError for complex numbers.

    >>> special.comb(5., 2.)
    Array(10., dtype=float32, weak_type=True)
    """
    (n, k), back = wide("comb", N, k)
    nothing = (k == 0) & (n >= 0)
    if repetition:
        n = n + k - 1
    out = (k < 0) | ((n < 0) | (k > n))
    n, k = where(out, 1.0, n), where(out, 0.0, k)
    log = -(log1p(n) + betaln_of(n - k + 1, k + 1))
    made = where(out, 0.0, _rounded_where_sure(exp(log), n, k))
    return back(where(nothing, 1.0, made) if repetition else made)


def _rounded_where_sure(made: Any, *given: Any) -> Any:
    """`made` rounded to the integer that it must be for integers, while its error is small."""
    sure = made < 1e-2 / float(np.finfo(made.dtype).eps)
    for x in given:
        sure = sure & (floor(x) == x)
    off = emit(ops.stop_gradient, rint(made) - made)
    return made + where(sure, off, off * 0)


@functools.cache
def _bernoulli_numbers(n: int) -> tuple[float, ...]:
    """B_0 to B_n by their recurrence; -1/2 for B_1."""
    exact = [Fraction(1)]
    for m in range(1, n + 1):
        exact.append(Fraction(0) if m > 1 and m % 2 else
                     -sum((math.comb(m + 1, k) * exact[k] for k in range(m)), Fraction(0))
                     / (m + 1))
    return tuple(map(_rounded, exact))


def _rounded(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


@eager(static=("n",))
def bernoulli(n: int) -> Array:
    """Bernoulli's numbers B_0 to B_n, with -1/2 for B_1, as a vector of the default float.

    Raises: ValueError where n is negative, TypeError where it is not an integer.

    >>> special.bernoulli(4)
    Array([ 1.   , -0.5  ,  0.167,  0.   , -0.033], dtype=float32)
    """
    count = static_int("n", n)
    if count < 0:
        raise ValueError(f"bernoulli: n must be a non-negative integer, got {count}")
    with np.errstate(over="ignore"):
        return array(np.array(_bernoulli_numbers(count)).astype(default_float().numpy))


__all__ = ["bernoulli", "comb"]
