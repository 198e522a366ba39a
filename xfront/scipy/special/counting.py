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
from ...numpy.shorthand import add, choose, compare, mul, stopped, sub
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
    nothing = emit(ops.and_, compare(ops.eq, k, 0), compare(ops.ge, n, 0))
    if repetition:
        n = sub(add(n, k), 1)
    out = emit(ops.or_, compare(ops.lt, k, 0), emit(ops.or_, compare(ops.lt, n, 0),
                                                    compare(ops.gt, k, n)))
    n, k = choose(out, 1.0, n), choose(out, 0.0, k)
    log = emit(ops.neg, add(emit(ops.log1p, n), betaln_of(add(sub(n, k), 1), add(k, 1))))
    made = choose(out, 0.0, _whole(emit(ops.exp, log), n, k))
    return back(choose(nothing, 1.0, made) if repetition else made)


def _whole(made: Any, *given: Any) -> Any:
    """`made` rounded to the integer that it must be for integers, while its error is small."""
    sure = compare(ops.lt, made, 1e-2 / float(np.finfo(made.dtype).eps))
    for x in given:
        sure = emit(ops.and_, sure, compare(ops.eq, emit(ops.floor, x), x))
    off = stopped(sub(rint(made), made))
    return add(made, choose(sure, off, mul(off, 0)))


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
