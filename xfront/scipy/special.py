"""Special functions of SciPy: they promote and broadcast, and give floats of integers.

Sources: `scipy.special`; NIST Digital Library of Mathematical Functions. The functions with an op
of their own are in `lax`; here are those built of them. Errors: TypeError for what is no array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..arrays.dispatch import eager
from ..arrays.operands import broadcast_shapes, broadcast_to, convert, promote_inexact
from ..lax.strict import static_int
from ..nn.normalizers import log_softmax, logsumexp, softmax
from ..nn.parts import add, choose, compare, div, inexact, mul, stopped, sub
from ..tracing.trace import emit


def _one(name: str, definition: Any, doc: str) -> Callable[[Any], Any]:
    """A function of one argument that is one op."""
    def body(x: Any) -> Any:
        return emit(definition, _real(name, x))

    return _public(body, name, doc)


def _several(name: str, definition: Any, doc: str, count: int = 2) -> Callable[..., Any]:
    """A function of two or three arguments that is one op."""
    def two(x: Any, y: Any) -> Any:
        return emit(definition, *_together(name, x, y))

    def three(a: Any, b: Any, x: Any) -> Any:
        return emit(definition, *_together(name, a, b, x))

    return _public(two if count == 2 else three, name, doc)


def _public(body: Callable[..., Any], name: str, doc: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__code__ = body.__code__.replace(co_name=name)      # what frames show
    body.__doc__ = doc
    return eager(body)


def _real(name: str, x: Any) -> Any:
    x = inexact(name, x)
    if x.value.type.dtype.is_complex:
        raise ValueError(f"{name} takes real numbers, got {x.value.type}")
    return x


def _together(name: str, *xs: Any) -> list[Any]:
    """Arguments of one float dtype and one shape."""
    made = promote_inexact(name, *xs)
    shape = broadcast_shapes(name, [x.shape for x in made])
    return [broadcast_to(x, shape) for x in made]


def _safe(condition: Any, x: Any, instead: Any) -> Any:
    """x where the condition holds, elsewhere a number at which derivatives are finite."""
    return choose(condition, x, instead)


# --- error functions and the normal distribution --------------------------------------------

erf = _one("erf", ops.erf, "Error function.")
erfc = _one("erfc", ops.erfc, "1 - erf(x), exact for large x.")
erfinv = _one("erfinv", ops.erf_inv, "Inverse of erf on (-1, 1).")


@eager
def expit(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return emit(ops.logistic, inexact("expit", x))


@eager
def logit(x: Any) -> Any:
    """log(x / (1 - x))."""
    x = inexact("logit", x)
    return emit(ops.log, div(x, sub(1, x)))


@eager
def ndtr(x: Any) -> Any:
    """Probability that a normal variable is below x."""
    return _ndtr(_real("ndtr", x))


def _ndtr(x: Any) -> Any:
    return mul(emit(ops.erfc, mul(x, -math.sqrt(0.5))), 0.5)


@eager
def ndtri(p: Any) -> Any:
    """Inverse of `ndtr` on (0, 1); -inf at 0, inf at 1, NaN outside."""
    p = _real("ndtri", p)
    # the inverse error function loses small p in 2p - 1: two Newton steps on log_ndtr restore them
    upper = compare(ops.gt, p, 0.5)
    tail = choose(upper, sub(1, p), p)
    inside = compare(ops.gt, tail, 0)
    small = choose(inside, tail, 0.25)
    x = mul(emit(ops.erf_inv, sub(mul(small, 2), 1)), math.sqrt(2.0))
    rough = emit(ops.neg, emit(ops.sqrt, mul(emit(ops.log, small), -2)))
    x = stopped(choose(compare(ops.lt, small, 1e-3), rough, x))
    wanted = emit(ops.log, small)
    for _ in range(4):
        found = _log_ndtr(x)
        slope = emit(ops.exp, sub(_log_density(x), found))
        x = sub(x, div(sub(found, wanted), slope))
    x = choose(inside, x, choose(compare(ops.eq, tail, 0), -np.inf, np.nan))
    return choose(upper, emit(ops.neg, x), x)


def _log_density(x: Any) -> Any:
    return sub(mul(emit(ops.square, x), -0.5), 0.5 * math.log(2 * math.pi))


@eager(static=("series_order",))
def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), exact for large negative x.

    Args:
      series_order: how many terms of the asymptotic series are asked for at least.
    """
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must not be negative, got {series_order}")
    return _log_ndtr(_real("log_ndtr", x))


def _log_ndtr(x: Any) -> Any:
    """By ndtr in the middle, by -ndtr(-x) above, by the asymptotic series below.

    Source: NIST DLMF 7.12.1.
    """
    if x.value.type.dtype.bits < 32:
        return convert(_log_ndtr(convert(x, dtypes.f32)), x.value.type.dtype)
    low, high = (-20.0, 8.0) if x.value.type.dtype.bits == 64 else (-8.0, 5.0)
    is_low, is_high = compare(ops.lt, x, low), compare(ops.gt, x, high)
    far = choose(is_low, x, low)
    inverse = emit(ops.integer_pow, far, exponent=-2)
    series: Any = 1.0
    for k in range(9, 0, -1):                       # Horner: 1 - (1/x^2)(1 - (3/x^2)(1 - ...))
        series = sub(1.0, mul(mul(inverse, float(2 * k - 1)), series))
    below = sub(add(_log_density(far), emit(ops.log, series)), emit(ops.log, emit(ops.neg, far)))
    centre = choose(is_low, 0.0, choose(is_high, 0.0, x))
    middle = emit(ops.log, _ndtr(centre))
    above = emit(ops.log1p, emit(ops.neg, _ndtr(emit(ops.neg, choose(is_high, x, high)))))
    return choose(is_low, below, choose(is_high, above, middle))


# --- gamma and beta -------------------------------------------------------------------------

gammaln = _one("gammaln", ops.lgamma, "log |gamma(x)|.")
loggamma = _one("loggamma", ops.lgamma, "log |gamma(x)|.")
digamma = _one("digamma", ops.digamma, "Derivative of gammaln.")
gammainc = _several("gammainc", ops.igamma, "Lower incomplete gamma function, regularised.")
gammaincc = _several("gammaincc", ops.igammac, "Upper incomplete gamma function, regularised.")
betainc = _several("betainc", ops.betainc, "Incomplete beta function, regularised.", 3)


@eager
def gammasgn(x: Any) -> Any:
    """Sign of gamma(x): NaN at negative integers and -inf, as its limits differ."""
    return _gammasgn(_real("gammasgn", x))


def _gammasgn(x: Any) -> Any:
    down = emit(ops.floor, x)
    negative = compare(ops.lt, x, 0)
    half = mul(down, 0.5)
    odd = compare(ops.ne, emit(ops.floor, half), half)
    sign = choose(negative, choose(odd, -1.0, 1.0), 1.0)
    zero_sign = choose(compare(ops.lt, div(1.0, choose(compare(ops.eq, x, 0), x, 1.0)), 0), -1.0,
                       1.0)
    sign = choose(compare(ops.eq, x, 0), zero_sign, sign)
    pole = emit(ops.and_, negative, compare(ops.eq, x, down))
    made = choose(pole, np.nan, sign)
    return choose(compare(ops.ne, x, x), x, add(mul(choose(emit(ops.is_finite, x), x, 0.0), 0.0),
                                                made))


@eager
def gamma(x: Any) -> Any:
    """Gamma function."""
    x = _real("gamma", x)
    return mul(_gammasgn(x), emit(ops.exp, emit(ops.lgamma, x)))


@eager(static=("exact",))
def factorial(n: Any, exact: bool = False) -> Any:
    """n! as a float; 0 for negative n. Raises: NotImplementedError where `exact`."""
    if exact:
        raise NotImplementedError("factorial: exact results need integers of any size")
    n = _real("factorial", n)
    negative = compare(ops.lt, n, 0)
    return choose(negative, 0.0, emit(ops.exp, emit(ops.lgamma, add(choose(negative, 0.0, n), 1))))


@eager
def betaln(a: Any, b: Any) -> Any:
    """log |beta(a, b)|."""
    a, b = _together("betaln", a, b)
    return _betaln(a, b)


def _betaln(a: Any, b: Any) -> Any:
    smaller = compare(ops.lt, a, b)
    small, large = choose(smaller, a, b), choose(smaller, b, a)
    return add(emit(ops.lgamma, small), _lgamma_drop(large, small))


_LARGE = 16.0


def _lgamma_drop(x: Any, by: Any) -> Any:
    """lgamma(x) - lgamma(x + by); of large x by the differences of Stirling's terms.

    Source: NIST DLMF 5.11.1.
    """
    to = add(x, by)
    is_large = emit(ops.and_, compare(ops.ge, x, _LARGE), compare(ops.ge, to, _LARGE))
    is_large = emit(ops.and_, is_large, emit(ops.is_finite, to))
    start, end = choose(is_large, x, _LARGE), choose(is_large, to, _LARGE)
    step = choose(is_large, by, 0.0)
    made = sub(step, mul(sub(start, 0.5), emit(ops.log1p, div(step, start))))
    made = sub(made, mul(step, emit(ops.log, end)))
    made = add(made, sub(_stirling(start), _stirling(end)))
    near = [choose(is_large, 1.0, v) for v in (x, to)]
    return choose(is_large, made, sub(emit(ops.lgamma, near[0]), emit(ops.lgamma, near[1])))


def _stirling(x: Any) -> Any:
    """What lgamma(x) has beyond (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 16."""
    inverse = div(1.0, x)
    squared = emit(ops.square, inverse)
    made: Any = 1 / 1188
    for term in (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        made = add(mul(made, squared), term)
    return mul(made, inverse)


@eager
def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b)."""
    a, b = _together("beta", a, b)
    sign = mul(mul(_gammasgn(a), _gammasgn(b)), _gammasgn(add(a, b)))
    return mul(sign, emit(ops.exp, _betaln(a, b)))


@eager
def poch(z: Any, m: Any) -> Any:
    """gamma(z + m) / gamma(z); 1 for m = 0."""
    z, m = _together("poch", z, m)
    raised = emit(ops.exp, emit(ops.neg, _lgamma_drop(z, m)))
    made = mul(raised, mul(_gammasgn(add(z, m)), _gammasgn(z)))
    nothing = emit(ops.and_, compare(ops.eq, m, 0), compare(ops.ne, made, 1))
    return choose(nothing, 1.0, made)             # at a pole; elsewhere 1 with its derivative


@eager(static=("d",))
def multigammaln(a: Any, d: int) -> Any:
    """log of the multivariate gamma function of order d."""
    a, n = _real("multigammaln", a), static_int("d", d)
    total = n * (n - 1) / 4 * math.log(math.pi)
    made: Any = total
    for k in range(n):
        made = add(emit(ops.lgamma, sub(a, k / 2)), made)
    return made


@eager
def polygamma(n: Any, x: Any) -> Any:
    """Derivative of order n of digamma."""
    return emit(ops.polygamma, *_together("polygamma", n, x))


@eager
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz zeta function: the sum over k >= 0 of (q + k)^-x.

    Raises: NotImplementedError without q.
    """
    if q is None:
        raise NotImplementedError("zeta: without q it is not there; pass q=1.0")
    return emit(ops.zeta, *_together("zeta", x, q))


# --- entropies ------------------------------------------------------------------------------

@eager
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x = 0."""
    return _xlogy(*_together("xlogy", x, y))


def _xlogy(x: Any, y: Any) -> Any:
    there = emit(ops.or_, compare(ops.ne, x, 0), _finite_log(y))
    return choose(there, mul(x, emit(ops.log, _safe(there, y, 1.0))), 0)


def _finite_log(y: Any) -> Any:
    """Where 0 log(y) is 0 as it is, so that the derivative in the factor is log(y)."""
    if y.value.type.dtype.is_complex:
        return compare(ops.ne, y, 0)
    return emit(ops.and_, compare(ops.gt, y, 0), compare(ops.lt, y, np.inf))


@eager
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x = 0."""
    x, y = _together("xlog1py", x, y)
    there = emit(ops.or_, compare(ops.ne, x, 0), _finite_log(add(y, 1)))
    return choose(there, mul(x, emit(ops.log1p, _safe(there, y, 0.0))), 0)


@eager
def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below."""
    x = _real("entr", x)
    inside = compare(ops.gt, x, 0)
    safe = _safe(inside, x, 1.0)
    made = emit(ops.neg, mul(safe, emit(ops.log, safe)))
    end = emit(ops.sqrt, _safe(compare(ops.eq, x, 0), emit(ops.abs, x), 1.0))   # of slope inf
    end = choose(compare(ops.eq, x, 0), end, choose(compare(ops.lt, x, 0), -np.inf, np.nan))
    return choose(inside, made, end)


@eager
def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q); 0 where p = 0 and q >= 0, inf where else one is not positive."""
    return _rel_entr(*_together("rel_entr", p, q))


def _rel_entr(p: Any, q: Any) -> Any:
    zero = ops.and_
    empty = emit(zero, compare(ops.eq, p, 0), compare(ops.ge, q, 0))
    both = emit(zero, compare(ops.gt, p, 0), compare(ops.gt, q, 0))
    safe_p, safe_q = _safe(both, p, 1.0), _safe(both, q, 1.0)
    made = mul(safe_p, sub(emit(ops.log, safe_p), emit(ops.log, safe_q)))
    return choose(both, made, choose(empty, 0.0, np.inf))


@eager
def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q."""
    p, q = _together("kl_div", p, q)
    return add(sub(_rel_entr(p, q), p), q)


@eager
def boxcox(x: Any, lmbda: Any) -> Any:
    """(x^lmbda - 1) / lmbda; log(x) for lmbda = 0."""
    x, power = _together("boxcox", x, lmbda)
    return _boxcox(emit(ops.log, x), power)


@eager
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """((1 + x)^lmbda - 1) / lmbda; log(1 + x) for lmbda = 0."""
    x, power = _together("boxcox1p", x, lmbda)
    return _boxcox(emit(ops.log1p, x), power)


def _boxcox(log_x: Any, power: Any) -> Any:
    """expm1(log_x power) / power; of small products the series, as for its derivatives."""
    product = mul(log_x, power)
    near = emit(ops.or_, compare(ops.lt, emit(ops.abs, product), 0.25), compare(ops.eq, power, 0))
    small = choose(near, product, 0.0)
    series: Any = 1 / math.factorial(_BOXCOX_TERMS)
    for k in range(_BOXCOX_TERMS - 1, 0, -1):
        series = add(mul(series, small), 1 / math.factorial(k))
    far = div(emit(ops.expm1, choose(near, 0.0, product)), choose(near, 1.0, power))
    return choose(near, mul(choose(near, log_x, 0.0), series), far)


_BOXCOX_TERMS = 13
"""Of 0.25: the next one is below 1e-18."""


# --- modified Bessel functions --------------------------------------------------------------

i0e = _one("i0e", ops.bessel_i0e, "Modified Bessel function of order 0, times exp(-|x|).")
i1e = _one("i1e", ops.bessel_i1e, "Modified Bessel function of order 1, times exp(-|x|).")


def _unscaled(name: str, definition: Any, doc: str) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        x = _real(name, x)
        size = mul(x, emit(ops.sign, x))         # its slope at 0 is 0, as that of the Bessel ops
        return mul(emit(ops.exp, size), emit(definition, x))

    return _public(body, name, doc)


i0 = _unscaled("i0", ops.bessel_i0e, "Modified Bessel function of order 0.")
i1 = _unscaled("i1", ops.bessel_i1e, "Modified Bessel function of order 1.")

__all__ = ["beta", "betainc", "betaln", "boxcox", "boxcox1p", "digamma", "entr", "erf", "erfc",
           "erfinv", "expit", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn",
           "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "loggamma", "logit",
           "logsumexp", "multigammaln", "ndtr", "ndtri", "poch", "polygamma", "rel_entr", "softmax",
           "xlog1py", "xlogy", "zeta"]
