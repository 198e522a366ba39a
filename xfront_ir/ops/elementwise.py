"""Elementwise arithmetic, rounding, exponential, trigonometric and complex ops, and selection.

Integers, bits and single floats as words are in `bits.py`, comparisons in `compare.py`, special
functions in `special.py`. Sources: StableHLO and CHLO specs, sections of the same names; NumPy for
the meaning of each function. Derivatives of functions of complex numbers are the holomorphic ones;
transposes are linear, never conjugated.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..errors import IRTypeError
from ..opdef import INT, LINEAR, define, enum
from ..traits import CHEAP, ELEMENTWISE, EXACT, EXACT_COMPLEX, LIGHT, MERGED, does, mark
from .bits import and_
from .compare import eq, ge, gt, lt
from .convert import convert
from .families import (
    batch_elementwise,
    batch_scalar_operands,
    becomes,
    elementwise,
    is_any,
    is_complex,
    is_float,
    is_inexact,
    is_numeric,
    is_real,
    lit,
    scaled,
    sum_tangents,
    transpose_bilinear,
)
from .shape import broadcast_in_dim


def _numeric(name: str, *partials: Any, **options: Any) -> Any:
    options.setdefault("family", __name__)
    return elementwise(name, *partials, allowed=is_numeric, wanted="numeric", **options)


def _inexact(name: str, coefficient: Any = None, **options: Any) -> Any:
    """An op of one inexact operand whose derivative is `coefficient(b, operand, result)`."""
    partials = () if coefficient is None else (_times(coefficient),)
    return elementwise(name, *partials, allowed=is_inexact, wanted="inexact", family=__name__,
                       **options)


def _float(name: str, coefficient: Any = None, **options: Any) -> Any:
    partials = () if coefficient is None else (_times(coefficient),)
    return elementwise(name, *partials, allowed=is_float, wanted="float", family=__name__,
                       **options)


def _times(coefficient: Any) -> Any:
    return scaled(lambda b, op: coefficient(b, op.operands[0], op.results[0]))


# --- arithmetic ---------------------------------------------------------------------------

def _transpose_div(b: Any, op: Any, cotangents: Any, known: Any) -> Any:
    return b.emit(div, cotangents[0], known[1]), None


def _inverse(b: Any, x: Any) -> Any:
    """1 / x. A factor where there are two quotients: XLA divides once, by a product that may
    leave the range."""
    return b.emit(div, lit(b, x, 1), x)


def _trunc(b: Any, x: Any) -> Any:
    return b.emit(select, b.emit(lt, x, lit(b, x, 0)), b.emit(ceil, x), b.emit(floor, x))


add = _numeric("add", operands=2, jvp=lambda b, op, ts: (sum_tangents(b, *ts),),
               transpose=lambda b, op, cts, known: (cts[0], cts[0]))
neg = _numeric("neg", lambda b, t, op: b.emit(neg, t),
               transpose=lambda b, op, cts, known: (b.emit(neg, cts[0]),))


def _jvp_sub(b: Any, op: Any, tangents: Any) -> Any:
    x, y = tangents
    if y is None:
        return (x,)
    return (b.emit(neg, y) if x is None else b.emit(sub, x, y),)


sub = _numeric("sub", operands=2, jvp=_jvp_sub,
               transpose=lambda b, op, cts, known: (cts[0], b.emit(neg, cts[0])))
mul = _numeric("mul", lambda b, t, op: b.emit(mul, t, op.operands[1]),
               lambda b, t, op: b.emit(mul, op.operands[0], t),
               transpose=transpose_bilinear(lambda b, ct, y, op: b.emit(mul, ct, y),
                                            lambda b, ct, x, op: b.emit(mul, x, ct)),
               strong=becomes("strong_mul"))
div = _numeric("div", lambda b, t, op: b.emit(div, t, op.operands[1]),
               scaled(lambda b, op: b.emit(neg, b.emit(mul, op.results[0],
                                                   _inverse(b, op.operands[1])))),
               transpose=_transpose_div, strong=becomes("strong_div"))
rem = elementwise("rem", lambda b, t, op: t,
                  scaled(lambda b, op: b.emit(neg, _trunc(b, b.emit(div, *op.operands)))),
                  allowed=is_real, wanted="integer or float", family=__name__)


def _infer_abs(types: Any, attrs: Any) -> Any:
    (x,) = types
    if not x.dtype.is_numeric or x.dtype.is_unsigned:
        raise IRTypeError(f"abs: takes signed integer, float or complex operands, got {x}")
    return (x.with_dtype(dtypes.real_of(x.dtype)),)


def _jvp_abs(b: Any, op: Any, tangents: Any) -> Any:
    (x,) = op.operands
    if not x.type.dtype.is_complex:              # zero has the derivative of positive numbers
        rising = b.emit(ge, x, lit(b, x, 0))
        return (b.emit(mul, tangents[0], b.emit(select, rising, lit(b, x, 1), lit(b, x, -1))),)
    direction = b.emit(sign, x)
    return (b.emit(real, b.emit(mul, tangents[0], b.emit(conj, direction))),)


abs_ = define("abs", infer=_infer_abs, operands=1, jvp=_jvp_abs, batch=batch_elementwise)


def _jvp_sign(b: Any, op: Any, tangents: Any) -> Any:
    """A complex sign turns: what of the tangent is across x, over |x|; 0 for x = 0."""
    (x,), (t,), (direction,) = op.operands, tangents, op.results
    if not x.type.dtype.is_complex:
        return (None,)
    size = b.emit(abs_, x)
    size = b.emit(select, b.emit(eq, size, lit(b, size, 0)), lit(b, size, 1), size)
    nothing = b.zeros(size.type)
    along = b.emit(real, b.emit(mul, t, b.emit(conj, direction)))
    across = b.emit(sub, t, b.emit(mul, b.emit(complex_, along, nothing), direction))
    return (b.emit(div, across, b.emit(complex_, size, nothing)),)


sign = _numeric("sign", operands=1, jvp=_jvp_sign)
square = _numeric("square", _times(lambda b, x, y: b.emit(add, x, x)))


def _power_lhs(b: Any, op: Any) -> Any:
    """y x^(y-1), with 0 for y = 0 whatever x is."""
    x, y = op.operands
    zero = b.emit(eq, y, lit(b, y, 0))
    lowered = b.emit(select, zero, lit(b, y, 1), b.emit(sub, y, lit(b, y, 1)))
    return b.emit(select, zero, lit(b, y, 0), b.emit(mul, y, b.emit(pow_, x, lowered)))


def _power_rhs(b: Any, op: Any) -> Any:
    """log(x) x^y, with 0 for x = 0 (the limit where y > 0)."""
    x = op.operands[0]
    safe = b.emit(select, b.emit(eq, x, lit(b, x, 0)), lit(b, x, 1), x)
    return b.emit(mul, b.emit(log, safe), op.results[0])


pow_ = elementwise("pow", scaled(_power_lhs), scaled(_power_rhs), allowed=is_inexact,
                   wanted="inexact", family=__name__)


def _infer_integer_pow(types: Any, attrs: Any) -> Any:
    (x,), n = types, attrs["exponent"]
    if not x.dtype.is_numeric:
        raise IRTypeError(f"integer_pow: takes numeric operands, got {x}")
    if n < 0 and x.dtype.is_integer:
        raise IRTypeError(f"integer_pow: integers have no negative powers, got {x} to {n}")
    return types


def _jvp_integer_pow(b: Any, op: Any, tangents: Any) -> Any:
    (x,), (t,), n = op.operands, tangents, op.attrs["exponent"]
    if n == 0:
        return (None,)
    if n == 1:
        return (t,)
    lowered = x if n == 2 else b.emit(integer_pow, x, exponent=n - 1)
    return (b.emit(mul, t, b.emit(mul, lit(b, x, n), lowered)),)


integer_pow = define("integer_pow", infer=_infer_integer_pow, attrs={"exponent": INT}, operands=1,
                     jvp=_jvp_integer_pow, batch=batch_elementwise)


# --- roots, exponentials, logarithms ------------------------------------------------------

def _one_plus(b: Any, x: Any) -> Any:
    return b.emit(add, x, lit(b, x, 1))


def _one_minus(b: Any, x: Any) -> Any:
    return b.emit(sub, lit(b, x, 1), x)


def _over(b: Any, t: Any, x: Any) -> Any:
    return b.emit(div, t, x)


sqrt = _inexact("sqrt", lambda b, x, y: b.emit(div, lit(b, y, 0.5), y))
rsqrt = _inexact("rsqrt", lambda b, x, y: b.emit(mul, b.emit(div, y, x), lit(b, x, -0.5)))
cbrt = _float("cbrt", lambda b, x, y: b.emit(mul, b.emit(integer_pow, y, exponent=-2),
                                             lit(b, y, 1 / 3)))
exp = _inexact("exp", lambda b, x, y: y)
exp2 = _inexact("exp2", lambda b, x, y: b.emit(mul, y, lit(b, y, math.log(2))))
expm1 = _inexact("expm1", lambda b, x, y: _one_plus(b, y))
log = elementwise("log", lambda b, t, op: _over(b, t, op.operands[0]), allowed=is_inexact,
                  wanted="inexact")
log1p = elementwise("log1p", lambda b, t, op: _over(b, t, _one_plus(b, op.operands[0])),
                    allowed=is_inexact, wanted="inexact")
logistic = _inexact("logistic", lambda b, x, y: b.emit(mul, y, _one_minus(b, y)))


# --- rounding -----------------------------------------------------------------------------

floor = _float("floor")
ceil = _float("ceil")
round_ = _float("round", attrs={"method": enum("away_from_zero", "to_nearest_even")})
is_finite = _float("is_finite", result=lambda dtype: dtypes.bool_)


# --- trigonometric and hyperbolic ---------------------------------------------------------

def _roomy(b: Any, x: Any) -> Any:
    """`x` in f32 where its dtype is one of those too narrow for squares."""
    return _as(b, x, dtypes.f32) if x.type.dtype.bits < 16 else x


def _as(b: Any, x: Any, dtype: dtypes.DType) -> Any:
    return x if x.type.dtype is dtype else b.emit(convert, x, dtype=dtype)


def _over_squares(part: int) -> Any:
    """One operand over the sum of their squares, which may leave the range; 0 where both are 0."""
    def coefficient(b: Any, op: Any) -> Any:
        x, y = op.operands
        dtype = x.type.dtype
        if dtype.is_complex:
            total = b.emit(add, b.emit(square, x), b.emit(square, y))
            return b.emit(div, op.operands[part], total)
        x, y = _roomy(b, x), _roomy(b, y)
        end = lit(b, x, dtypes.greatest_finite(x.type.dtype))     # 0 at infinities
        x, y = (b.emit(clamp, b.emit(neg, end), v, end) for v in (x, y))
        most = b.emit(max_, b.emit(abs_, x), b.emit(abs_, y))
        scale = _inverse(b, b.emit(select, b.emit(eq, most, lit(b, x, 0)), lit(b, x, 1), most))
        x, y = b.emit(mul, x, scale), b.emit(mul, y, scale)
        total = b.emit(add, b.emit(square, x), b.emit(square, y))
        total = b.emit(select, b.emit(eq, total, lit(b, x, 0)), lit(b, x, 1), total)
        return _as(b, b.emit(div, b.emit(mul, (x, y)[part], scale), total), dtype)

    return coefficient


def _slope_asinh(b: Any, x: Any) -> Any:
    """rsqrt(1 + x^2), whose square may leave the range: 1 / |x| far out."""
    dtype = x.type.dtype
    if dtype.is_complex:
        return b.emit(rsqrt, _one_plus(b, b.emit(square, x)))
    size = b.emit(abs_, _roomy(b, x))
    far = b.emit(gt, size, lit(b, size, 2 / math.sqrt(dtypes.epsilon(size.type.dtype))))
    near = b.emit(select, far, lit(b, size, 1), size)
    beyond = b.emit(select, far, size, lit(b, size, 1))
    slope = b.emit(select, far, _inverse(b, beyond),
                   b.emit(rsqrt, _one_plus(b, b.emit(square, near))))
    return _as(b, slope, dtype)


sin = _inexact("sin", lambda b, x, y: b.emit(cos, x))
cos = _inexact("cos", lambda b, x, y: b.emit(neg, b.emit(sin, x)))
tan = _inexact("tan", lambda b, x, y: _one_plus(b, b.emit(square, y)))
asin = _inexact("asin", lambda b, x, y: b.emit(rsqrt, _one_minus_square(b, x)))
acos = _inexact("acos", lambda b, x, y: b.emit(neg, b.emit(rsqrt, _one_minus_square(b, x))))
atan = _inexact("atan", lambda b, x, y: _inverse(b, _one_plus(b, b.emit(square, x))))
atan2 = elementwise(
    "atan2", scaled(_over_squares(1)),
    scaled(lambda b, op: b.emit(neg, _over_squares(0)(b, op))),
    allowed=is_inexact, wanted="inexact")
sinh = _inexact("sinh", lambda b, x, y: b.emit(cosh, x))
cosh = _inexact("cosh", lambda b, x, y: b.emit(sinh, x))
tanh = _inexact("tanh", lambda b, x, y: _one_minus_square(b, y))
asinh = _inexact("asinh", lambda b, x, y: _slope_asinh(b, x))
acosh = _inexact("acosh", lambda b, x, y: b.emit(     # one root each: the branch cut of acosh
    mul, b.emit(rsqrt, b.emit(sub, x, lit(b, x, 1))), b.emit(rsqrt, _one_plus(b, x))))
atanh = _inexact("atanh", lambda b, x, y: _inverse(b, _one_minus_square(b, x)))


def _one_minus_square(b: Any, x: Any) -> Any:
    """(1 - x)(1 + x), which keeps its digits near x = 1 and -1."""
    return b.emit(mul, _one_minus(b, x), _one_plus(b, x))


# --- complex numbers ----------------------------------------------------------------------

def _transpose_imag(b: Any, op: Any, cotangents: Any, known: Any) -> Any:
    (ct,) = cotangents
    return (b.emit(complex_, b.zeros(ct.type), b.emit(neg, ct)),)


def _jvp_complex(b: Any, op: Any, tangents: Any) -> Any:
    x, y = (b.zeros(op.operands[0].type) if t is None else t for t in tangents)
    return (b.emit(complex_, x, y),)


def _transpose_complex(b: Any, op: Any, cotangents: Any, known: Any) -> Any:
    (ct,) = cotangents
    return (b.emit(real, ct) if known[0] is LINEAR else None,
            b.emit(neg, b.emit(imag, ct)) if known[1] is LINEAR else None)


real = elementwise("real", lambda b, t, op: b.emit(real, t), allowed=is_complex, wanted="complex",
                   result=dtypes.real_of, transpose=lambda b, op, cts, known: (
                       b.emit(complex_, cts[0], b.zeros(cts[0].type)),))
imag = elementwise("imag", lambda b, t, op: b.emit(imag, t), allowed=is_complex, wanted="complex",
                   result=dtypes.real_of, transpose=_transpose_imag)
conj = elementwise("conj", lambda b, t, op: b.emit(conj, t), allowed=is_complex, wanted="complex",
                   transpose=lambda b, op, cts, known: (b.emit(conj, cts[0]),))
complex_ = elementwise("complex", operands=2, jvp=_jvp_complex, transpose=_transpose_complex,
                       allowed=lambda dtype: dtype in (dtypes.f32, dtypes.f64),
                       wanted="f32 or f64", result=dtypes.complex_of)


# --- choosing -----------------------------------------------------------------------------

def _share(b: Any, mine: Any, other: Any, result: Any) -> Any:
    """1 where `mine` is the result alone, 1/2 where both are, else 0."""
    one, half, zero = (lit(b, mine, v) for v in (1, 0.5, 0))
    tie = b.emit(select, b.emit(eq, mine, other), half, one)
    return b.emit(select, b.emit(eq, mine, result), tie, zero)


_CHOOSING = (scaled(lambda b, op: _share(b, op.operands[0], op.operands[1], op.results[0])),
             scaled(lambda b, op: _share(b, op.operands[1], op.operands[0], op.results[0])))
max_ = elementwise("max", *_CHOOSING, allowed=is_any, wanted="number or bool")
min_ = elementwise("min", *_CHOOSING, allowed=is_any, wanted="number or bool")


def _check_choice(name: str, chooser: Any, cases: Any) -> None:
    first = cases[0]
    if any(t is not first for t in cases):
        raise IRTypeError(f"{name}: cases must have one type, got {', '.join(map(str, cases))}")
    if chooser.shape not in ((), first.shape):
        raise IRTypeError(f"{name}: {chooser} must be a scalar or of the cases' shape, {first}")


def _infer_select(types: Any, attrs: Any) -> Any:
    if types[0].dtype is not dtypes.bool_:
        raise IRTypeError(f"select: the predicate must be bool, got {types[0]}")
    _check_choice("select", types[0], types[1:])
    return (types[1],)


def _jvp_cases(b: Any, op: Any, tangents: Any) -> Any:
    cases = [b.zeros(op.results[0].type) if t is None else t for t in tangents[1:]]
    return (b.emit(op.definition, op.operands[0], *cases),)


def _transpose_cases(b: Any, op: Any, cotangents: Any, known: Any) -> Any:
    """Each linear case receives the cotangent where it was chosen, zero elsewhere."""
    (ct,), n = cotangents, len(known) - 1
    zero = b.zeros(ct.type)
    given = [b.emit(op.definition, known[0], *[ct if j == i else zero for j in range(n)])
             if known[i + 1] is LINEAR else None for i in range(n)]
    return (None, *given)


select = define("select", infer=_infer_select, operands=3, jvp=_jvp_cases,
                transpose=_transpose_cases, batch=batch_scalar_operands)


def _infer_select_n(types: Any, attrs: Any) -> Any:
    which, *cases = types
    if not cases or which.dtype not in (dtypes.bool_, dtypes.i32):
        raise IRTypeError(f"select_n: takes a bool or i32 and then cases, got {list(types)}")
    if which.dtype is dtypes.bool_ and len(cases) > 2:
        raise IRTypeError(f"select_n: a bool chooses between two cases, got {len(cases)}")
    _check_choice("select_n", which, cases)
    return (cases[0],)


select_n = define("select_n", infer=_infer_select_n, jvp=_jvp_cases, transpose=_transpose_cases,
                  batch=batch_scalar_operands)


def _infer_clamp(types: Any, attrs: Any) -> Any:
    low, x, high = types
    for bound in (low, high):
        if bound.dtype is not x.dtype or bound.shape not in ((), x.shape):
            raise IRTypeError(f"clamp: bounds must be scalars or of the operand's type {x}, "
                              f"got {low} and {high}")
    if not is_real(x.dtype):
        raise IRTypeError(f"clamp: takes integer or float operands, got {x}")
    return (x,)


def _jvp_clamp(b: Any, op: Any, tangents: Any) -> Any:
    """min(max(x, low), high): each operand's tangent where it alone decides, zero on ties."""
    low, x, high = (_whole(b, v, op.results[0].type) for v in op.operands)
    chosen = (lambda: b.emit(and_, b.emit(gt, low, x), b.emit(lt, low, high)),
              lambda: b.emit(and_, b.emit(gt, x, low), b.emit(lt, x, high)),
              lambda: b.emit(lt, high, x))
    total = None
    for t, mask in zip(tangents, chosen, strict=True):
        if t is not None:
            t = _whole(b, t, op.results[0].type)
            part = b.emit(select, mask(), t, b.zeros(t.type))
            total = sum_tangents(b, total, part)
    return (total,)


def _whole(b: Any, v: Any, type: Any) -> Any:
    return v if v.type is type else b.emit(broadcast_in_dim, v, shape=type.shape, dims=())


clamp = define("clamp", infer=_infer_clamp, operands=3, jvp=_jvp_clamp,
               batch=batch_scalar_operands)


# --- what passes ask ----------------------------------------------------------------------

mark({ELEMENTWISE, LIGHT, MERGED}, add, neg, sub, mul, div, rem, abs_, sign, square, pow_,
     integer_pow, sqrt, rsqrt, cbrt, exp, exp2, expm1, log, log1p, logistic, floor, ceil, round_,
     is_finite, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, asinh, acosh, atanh, real,
     imag, conj, complex_, max_, min_, select, select_n, clamp)
mark({CHEAP}, add, neg, sub, mul, abs_, sign, square, floor, is_finite, real, imag, conj, complex_,
     max_, min_, select, select_n, clamp)
mark({EXACT}, add, neg, sub, mul, div, abs_, sign, square, sqrt, floor, ceil, is_finite, max_, min_,
     select)
mark({EXACT_COMPLEX}, add, neg, sub, select)
does(4, div)
does(6, exp)
does(8, log, logistic)
does(10, log1p, tanh)
does(20, cbrt, asin, acos, atan, sinh)
does(30, sin, cos, atan2)
does(40, tan)
