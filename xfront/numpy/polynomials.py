"""Polynomials as their coefficients, highest power first."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np
from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import (
    array_like,
    broadcast_shapes,
    broadcast_to,
    convert,
    index_of,
    operand,
    promote,
    promote_inexact,
)
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .arithmetic import absolute, add, divide, multiply, negative, sqrt, square, subtract
from .contractions import convolve, exact_matmul, outer
from .creation import asarray
from .editing import trim_zeros
from .manipulation import atleast_1d, concatenate, cut, flip, joined, matrix_transpose
from .reductions import sum
from .running import cumprod
from .ufuncs import arithmetic, like, lying_like, shaped, where

FEW = 16
"""Polynomials of at most this many coefficients are evaluated without a loop."""


@eager(static=("unroll",))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The polynomial `p` at each element of `x`, by Horner's rule.

    Args:
      p: coefficients along the first axis; those of further axes broadcast with `x`.
      unroll: the number of coefficients in one step of the loop over them.
    Raises: TypeError for lists.
    Source: `numpy.polyval`.

    >>> jnp.polyval(jnp.array([1., 2., 3.]), 2.)
    Array(11., dtype=float32)
    """
    from ..lax.control_flow import scan  # late: loaded on first use

    p, x = promote("polyval", p, x)
    p = as_tracer(atleast_1d(p))
    n, rest = p.shape[0], p.shape[1:]
    made = x.home.literal(np.zeros((), x.dtype), broadcast_shapes("polyval", (x.shape, rest)))
    if n <= FEW:
        for i in range(n):
            made = add(multiply(made, x), shaped(cut(p, 0, i, i + 1), rest))
        return made
    return scan(lambda y, c: (add(multiply(y, x), c), None), made, p, unroll=unroll)[0]


def _combined(name: str, function: Any, a1: Any, a2: Any) -> Tracer:
    """A sum or difference of coefficients, whose first axis may differ in length."""
    x, y = [atleast_1d(v) for v in promote(name, a1, a2)]
    n, m = x.shape[0], y.shape[0]
    made = function(cut(as_tracer(x), 0, max(n - m, 0), n), cut(as_tracer(y), 0, max(m - n, 0), m))
    if n == m:
        return made
    head = cut(as_tracer(x), 0, 0, n - m) if n > m else cut(as_tracer(y), 0, 0, m - n)
    if n < m:
        head = function(like(head, 0), head)
    return joined([head, broadcast_to(made, (min(n, m), *head.shape[1:]))], 0)


@eager
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials. Source: `numpy.polyadd`.

    >>> jnp.polyadd(jnp.array([1., 2.]), jnp.array([3.]))
    Array([1., 5.], dtype=float32)
    """
    return _combined("polyadd", add, a1, a2)


@eager
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials. Source: `numpy.polysub`.

    >>> jnp.polysub(jnp.array([1., 2.]), jnp.array([3.]))
    Array([ 1., -1.], dtype=float32)
    """
    return _combined("polysub", subtract, a1, a2)


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      trim_leading_zeros: whether to remove leading zeros first, whose number must be known.
    Source: `numpy.polymul`.

    >>> jnp.polymul(jnp.array([1., 1.]), jnp.array([1., 2.]))
    Array([1., 3., 2.], dtype=float32)
    """
    x, y = (atleast_1d(array_like("polymul", a)) for a in (a1, a2))
    if trim_leading_zeros and (x.size > 1 or y.size > 1):
        x, y = trim_zeros(x, "f"), trim_zeros(y, "f")
    if not x.size:
        x = np.zeros(1, x.dtype)
    if not y.size:
        y = np.zeros(1, y.dtype)
    return convolve(x, y, precision="highest")


# --- by their zeros, by samples -----------------------------------------------------------

@eager
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with these zeros and leading coefficient 1, or the characteristic polynomial
    of a square matrix.

    Returns: 1-d coefficients, inexact; complex ones of complex zeros and of a matrix.
    Raises: ValueError for arrays of more axes and matrices that are not square.
    Source: `numpy.poly`.

    >>> jnp.poly(jnp.array([1., 2.]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    from ..lax.control_flow import scan  # late: loaded on first use

    (zeros,) = promote_inexact("poly", seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1]:
        from .factors import eigvals  # late: only this needs it

        zeros = eigvals(zeros)
    zeros = as_tracer(atleast_1d(zeros))
    if zeros.ndim != 1:
        raise ValueError("poly: input must be 1d or non-empty square 2d array, got shape "
                         f"{zeros.shape}")
    n, dtype = zeros.size, zeros.dtype
    if not n:
        return zeros.home.literal(np.ones((), dtype), ())
    made = zeros.home.lift(np.eye(1, n + 1, dtype=dtype)[0])

    def times(made: Any, zero: Any) -> Any:
        shifted = joined([like(cut(made, 0, 0, 1), 0), cut(made, 0, 0, n)], 0)
        return subtract(made, multiply(shifted, broadcast_to(zero, shifted.shape)))

    if n <= FEW:
        for i in range(n):
            made = times(made, shaped(cut(as_tracer(zeros), 0, i, i + 1), ()))
        return made
    return scan(lambda made, zero: (times(made, zero), None), made, zeros)[0]


@eager
def _roots(p: Any) -> Any:
    from .factors import eigvals  # late: only this needs it

    (p,) = promote_inexact("roots", p)
    n = p.size - 1
    if n < 1:
        return p.home.literal(np.zeros((), dtypes.complex_of(p.value.type.dtype).numpy), (0,))
    lead = broadcast_to(shaped(cut(p, 0, 0, 1), ()), (n,))
    first = shaped(as_tracer(divide(negative(cut(p, 0, 1, n + 1)), lead)), (1, n))
    below = p.home.lift(np.eye(n - 1, n, dtype=p.dtype)) if n > 1 else None
    return eigvals(first if below is None else joined([first, below], 0))


@eager
def _roots_among_zeros(p: Any) -> Any:
    """As `_roots`, where leading coefficients may be 0; each of them makes one root NaN."""
    from .factors import eigvals  # late: only this needs it
    from .positions import take

    (p,) = promote_inexact("roots", p)
    n = p.size - 1
    if n < 1:
        return _roots(p)
    some = p != 0
    started = emit(ops.cumsum, convert(some, dtypes.i32), axis=0, reverse=False)
    missing = emit(ops.reduce_sum, convert(started == 0, dtypes.i32),
                   axes=(0,))
    place = emit(ops.iota, dtype=dtypes.i32, shape=(n + 1,), dimension=0)
    p = take(p, place + broadcast_to(missing, (n + 1,)), 0, None, "fill", False,
             False, 0)
    # this is the polynomial times x^missing; sorting by size puts the extra roots 0 last
    lead = broadcast_to(shaped(cut(p, 0, 0, 1), ()), (n,))
    first = shaped(as_tracer(divide(negative(cut(p, 0, 1, n + 1)), lead)), (1, n))
    found = eigvals(joined([first, p.home.lift(np.eye(n - 1, n, dtype=p.dtype))], 0)
                    if n > 1 else first)
    size = -abs(found)
    _, order = emit(ops.sort, size, cut(place, 0, 0, n), dimension=0, n_keys=1, stable=True)
    found = take(found, order, 0, None, "clip")
    there = cut(place, 0, 0, n) < broadcast_to(n - missing, (n,))
    return where(there, as_tracer(found), complex(math.nan, math.nan))


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The zeros of a polynomial, complex, in no particular order.

    Args:
      p: 1-d coefficients.
      strip_zeros: whether to remove leading and trailing coefficients that are 0, whose number must
        be known; otherwise a root is NaN for each leading 0.
    Raises: ValueError for other shapes; ConcretizationTypeError where `p` is traced and
      `strip_zeros` is set.
    Source: `numpy.roots`.

    >>> jnp.sort(jnp.roots(jnp.array([1., -3., 2.])).real)
    Array([1., 2.], dtype=float32)
    """
    p = atleast_1d(array_like("roots", p))
    if p.ndim != 1:
        raise ValueError(f"roots: the coefficients must be 1-d, got shape {p.shape}")
    if not strip_zeros:
        return _roots_among_zeros(p)
    from .positions import known_values  # late: only this needs it

    found = np.flatnonzero(known_values("roots", p, "write strip_zeros=False while tracing"))
    if not found.size:
        return _roots(p[:0])
    first, last, n = int(found[0]), int(found[-1]), p.size
    made = _roots(p[first:last + 1])
    return concatenate([made, np.zeros(n - 1 - last, made.dtype)]) if last < n - 1 else made


@eager(static=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The powers of each element in a row: N - 1, ..., 1, 0.

    Args:
      x: 1-d array.
      N: the number of powers; None for the number of elements.
      increasing: whether the powers are in the order 0, 1, ..., N - 1.
    Raises: ValueError for other shapes and negative N.
    Source: `numpy.vander`.

    >>> jnp.vander(jnp.array([1, 2, 3]), 3)
    Array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    x = arithmetic(operand("vander", x))
    if x.ndim != 1:
        raise ValueError(f"vander: x must be a one-dimensional array, got shape {x.shape}")
    n = x.size if N is None else index_of(N, "N")
    if n < 0:
        raise ValueError(f"vander: N must be nonnegative, got {n}")
    if not n:
        return x.home.literal(np.zeros((), x.dtype), (x.size, 0))
    column = shaped(x, (x.size, 1))
    made = lying_like(like(column, 1), column)
    if n > 1:
        powers = as_tracer(cumprod(broadcast_to(column, (x.size, n - 1)), 1))
        made = joined([made, powers], 1)
    return made if increasing else flip(made, 1)


@overload
def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None,
            full: Literal[False] = False, w: ArrayLike | None = None, cov: Literal[False] = False
           ) -> Array: ...
@overload
def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False,
            w: ArrayLike | None = None, cov: bool | str = False) -> Array | tuple[Any, ...]: ...
def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False,
            w: ArrayLike | None = None, cov: bool | str = False) -> Array | tuple[Any, ...]:
    """The polynomial of degree `deg` that fits samples with the least sum of squared errors.

    Args:
      x: 1-d array of coordinates.
      y: values at these, a 1-d array, or a matrix with a set of values in each column.
      rcond: singular values below `rcond` times the greatest count as zero; None for eps times
        the number of samples.
      full: whether to return also residuals, rank, singular values and `rcond`.
      w: weights of the distances, before they are squared; None for 1.
      cov: whether to return also the covariance of the coefficients, scaled so that chi^2 is the
        number of degrees of freedom; "unscaled" for weights that are one over the standard
        deviation.
    Returns: coefficients, highest power first, or a tuple with what `full` and `cov` ask for.
    Raises: ValueError for negative `deg` and too few samples for `cov`; TypeError for shapes that
      do not match.
    Source: `numpy.polyfit`.

    >>> jnp.polyfit(jnp.array([0., 1., 2.]), jnp.array([1., 3., 5.]), 1)
    Array([2., 1.], dtype=float32)
    """
    n = index_of(deg, "deg") + 1
    if n < 1:
        raise ValueError(f"polyfit: expected deg >= 0, got {n - 1}")
    x, y = array_like("polyfit", x), array_like("polyfit", y)
    if getattr(x, "ndim", 0) != 1 or not x.size:
        raise TypeError("polyfit: expected 1D vector for x that is not empty, got shape "
                        f"{getattr(x, 'shape', ())}")
    if getattr(y, "ndim", 0) not in (1, 2):
        raise TypeError("polyfit: expected 1D or 2D array for y, got shape "
                        f"{getattr(y, 'shape', ())}")
    if y.shape[0] != x.shape[0]:
        raise TypeError(f"polyfit: expected x and y to have same length, got shapes {x.shape} and "
                        f"{y.shape}")
    if w is not None and getattr(w, "shape", None) != x.shape:
        raise TypeError(f"polyfit: expected w to have the shape of x, {x.shape}, got {w!r}")
    m = x.shape[0]
    dtype = np.result_type(*[v.dtype for v in _inexact_pair(x, y)])
    limit = m * float(np.finfo(dtype).eps) if rcond is None else float(rcond)
    if full:
        cov = False
    if cov and cov != "unscaled" and m <= n:
        raise ValueError("polyfit: the number of data points must exceed order to scale the "
                         f"covariance matrix, got {m} points; use cov='unscaled'")
    made, spread = _polyfit(x, y, w, n, limit, str(cov) if cov else None)
    if full:
        return (*made, asarray(limit))
    return (made[0], spread) if cov else made[0]


@eager
def _inexact_pair(x: Any, y: Any) -> Any:
    return promote_inexact("polyfit", x, y)


@eager(static=("n", "rcond", "cov"))
def _polyfit(x: Any, y: Any, w: Any, n: int, rcond: float, cov: str | None) -> Any:
    from .factors import inv, lstsq  # late: only this needs it

    x, y = promote_inexact("polyfit", x, y)
    left, right = vander(x, n), y
    if w is not None:
        (w,) = promote_inexact("polyfit", w)
        left = multiply(left, shaped(w, (w.size, 1)))
        right = multiply(right, w if right.ndim == 1 else shaped(w, (w.size, 1)))
    scale = sqrt(sum(square(absolute(left)), 0))        # equal norms are better conditioned
    left = divide(left, scale)
    c, residuals, rank, s = lstsq(left, right, rcond)
    c = divide(c, scale if c.ndim == 1 else shaped(as_tracer(scale), (n, 1)))
    if cov is None:
        return (c, residuals, rank, s), None
    spread = inv(exact_matmul(matrix_transpose(left), left))
    spread = divide(spread, outer(scale, scale))
    if cov == "unscaled":
        spread = spread if y.ndim == 1 else shaped(as_tracer(spread), (n, n, 1))
    else:
        factor = divide(residuals, x.size - n)
        spread = (multiply(spread, shaped(as_tracer(factor), ())) if y.ndim == 1 else
                  multiply(shaped(spread, (n, n, 1)), factor))
    return (c, residuals, rank, s), spread


def _coefficients(name: str, *given: Any) -> list[Tracer]:
    """Inexact coefficients; a number counts as one. Raises: ValueError for two axes or more."""
    made = [as_tracer(atleast_1d(x)) for x in promote_inexact(name, *given)]
    for x in made:
        if x.ndim != 1:
            raise ValueError(f"{name}: coefficients must be 1-d, got shape {x.shape}")
    return made


@eager(static=("m",))
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The m-th derivative of a polynomial, inexact. Raises: ValueError for negative m.

    Source: `numpy.polyder`.

    >>> jnp.polyder(jnp.array([1., 2., 3.]))
    Array([2., 2.], dtype=float32)
    """
    if m < 0:
        raise ValueError(f"polyder: Order of derivative must not be negative, got {m}")
    (x,) = _coefficients("polyder", p)
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
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """The m-th antiderivative of a polynomial, inexact.

    Args:
      k: the constants of integration, a vector [m] or a scalar; None for zeros.
    Raises: ValueError for negative m and another number of constants.
    Source: `numpy.polyint`.

    >>> jnp.polyint(jnp.array([2., 2.]))
    Array([1., 2., 0.], dtype=float32)
    """
    if m < 0:
        raise ValueError(f"polyint: Order of integral must not be negative, got {m}")
    if k is None:
        (x,) = _coefficients("polyint", arithmetic(operand("polyint", p)))
        ks = x.home.literal(np.zeros((), x.dtype), (m,))
    else:
        x, ks = _coefficients("polyint", p, k)
        if ks.size == 1:
            ks = broadcast_to(shaped(as_tracer(ks), (1,)), (m,))
        if ks.shape != (m,):
            raise ValueError(f"polyint: k must be a scalar or a rank-1 array of length 1 or {m}, "
                             f"got {ks.shape}")
    for i in range(m):
        n = x.size
        powers = operand("polyint", np.arange(n, 0, -1).astype(np.float64))
        x = divide(x, convert(powers, x.value.type.dtype))
        x = concatenate([x, cut(as_tracer(ks), 0, i, i + 1)])
    return x


@eager
def _polydiv(u: Any, v: Any) -> Any:
    x, y = _coefficients("polydiv", u, v)
    n, m = x.size - 1, y.size - 1
    quotient = []
    lead = shaped(cut(y, 0, 0, 1), ())
    rest = x
    for i in range(max(n - m + 1, 0)):
        digit = divide(shaped(cut(rest, 0, i, i + 1), ()), lead)
        quotient.append(shaped(as_tracer(digit), (1,)))
        low = subtract(cut(rest, 0, i, i + m + 1),
                       multiply(y, broadcast_to(as_tracer(digit), y.shape)))
        rest = joined([v for v in (cut(rest, 0, 0, i), low, cut(rest, 0, i + m + 1, n + 1))
                       if v.size], 0)
    if not quotient:
        quotient = [x.home.literal(np.zeros((), x.dtype), (1,))]
    return joined(quotient, 0), rest


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
      trim_leading_zeros: whether to remove leading zeros of the remainder, whose number must be
        known.
    Source: `numpy.polydiv`.

    >>> jnp.polydiv(jnp.array([1., 5., 6.]), jnp.array([1., 2.]))
    (Array([1., 3.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    quotient, rest = _polydiv(u, v)
    return quotient, trim_zeros(rest, "f") if trim_leading_zeros else rest


__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
           "polyval", "roots", "vander"]
