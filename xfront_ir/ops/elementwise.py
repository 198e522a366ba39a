"""Elementwise arithmetic, rounding, exponential, trigonometric and complex ops, and selection.

Integers, bits and single floats as words are in `bits.py`, comparisons in `compare.py`, special
functions in `special.py`. Sources: StableHLO and CHLO specs, sections of the same names; NumPy for
the meaning of each function. Derivatives of functions of complex numbers are the holomorphic ones;
transposes are linear, never conjugated.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..core import Op, Value
from ..definition import LINEAR, AttrKind, OpDef
from ..dtypes import DType
from ..errors import IRTypeError
from ..opdef import INT, define, enum
from ..spreading import PRODUCTS, Dims, alike, listed, refuse, spreads
from ..traits import (
    CHEAP,
    CHOOSES,
    ELEMENTWISE,
    EXACT,
    EXACT_COMPLEX,
    EXPENSIVE,
    LIGHT,
    MERGED,
    TERMWISE,
    does,
    mark,
)
from .families import (
    Partial,
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
    partials_jvp,
    slope,
    sum_tangents,
    tangent,
    transpose_bilinear,
)
from .formulas import Formula, Term, formula, where
from .shape import broadcast_in_dim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..builder import Builder
    from ..rules import Attrs, NewTangents, Tangents, Types


_numeric = partial(elementwise, allowed=is_numeric, wanted="numeric")


def _inexact(name: str, fn: Formula | None = None) -> OpDef[Value]:
    """An op of one inexact operand whose derivative is `fn(operand, result)`."""
    return elementwise(name, *_slopes(fn), allowed=is_inexact, wanted="inexact", family=__name__)


def _float(name: str, fn: Formula | None = None, attrs: Mapping[str, AttrKind] | None = None,
           result: Callable[[DType], DType] | None = None) -> OpDef[Value]:
    return elementwise(name, *_slopes(fn), allowed=is_float, wanted="float", family=__name__,
                       attrs=attrs, result=result)


def _slopes(fn: Formula | None) -> tuple[Partial, ...]:
    return () if fn is None else (slope(fn),)


# --- arithmetic ---------------------------------------------------------------------------

_negative = formula(operator.neg)
_quotient = formula(lambda x, y: x / y)


add = _numeric("add", operands=2, jvp=lambda b, op, ts: (sum_tangents(b, *ts),),
               transpose=lambda b, op, cts, known: (cts[0], cts[0]))
neg = _numeric("neg", tangent(lambda t, x, y: -t),
               transpose=lambda b, op, cts, known: (_negative(b, cts[0]),))


def _jvp_sub(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, y = tangents
    if y is None:
        return (x,)
    return (_negative(b, y) if x is None else _difference(b, x, y),)


_difference = formula(lambda x, y: x - y)
sub = _numeric("sub", operands=2, jvp=_jvp_sub,
               transpose=lambda b, op, cts, known: (cts[0], _negative(b, cts[0])))
mul = _numeric("mul", tangent(lambda t, x, y, z: t * y), tangent(lambda t, x, y, z: x * t),
               transpose=transpose_bilinear(lambda ct, y: ct * y, lambda ct, x: x * ct),
               strong=becomes("strong_mul"))
div = _numeric("div", tangent(lambda t, x, y, z: t / y),
               # z * -(1 / y), not -z / y: XLA makes two quotients one, by a product that may leave
               # the range; 1 / y is often the other slope too
               slope(lambda x, y, z: z * -(1 / y)),
               transpose=lambda b, op, cts, known: (_quotient(b, cts[0], known[1]), None),
               strong=becomes("strong_div"))
rem = elementwise("rem", lambda b, t, op: t, slope(lambda x, y, z: -_trunc(x / y)),
                  allowed=is_real, wanted="integer or float", family=__name__)


def _trunc(x: Term) -> Term:
    return where(x < 0, ceil(x), floor(x))


def _infer_abs(types: Types, attrs: Attrs) -> Types:
    (x,) = types
    if not x.dtype.is_numeric or x.dtype.is_unsigned:
        raise IRTypeError(f"abs takes signed integer, float or complex operands, got {x}")
    return (x.with_dtype(dtypes.real_of(x.dtype)),)


def _along(t: Term, x: Term, y: Term) -> Term:
    if x.dtype.is_complex:
        return real(t * conj(sign(x)))
    return t * where(x >= 0, x.like(1), -1)      # zero has the derivative of positive numbers


abs_ = define("abs", infer=_infer_abs, operands=1, jvp=partials_jvp(tangent(_along)),
              batch=batch_elementwise)


def _across(t: Term, x: Term, direction: Term) -> Term:
    """The tangent of a complex sign: the part of t at right angles to x, over |x|; 0 for x = 0."""
    size = abs(x)
    size = where(size == 0, 1, size)
    nothing = size.like(0)
    along = real(t * conj(direction))
    return (t - complex_(along, nothing) * direction) / complex_(size, nothing)


_turning = tangent(_across)
sign = _numeric("sign", operands=1, jvp=lambda b, op, tangents: (
    _turning(b, tangents[0], op) if op.operands[0].type.dtype.is_complex else None,))
square = _numeric("square", slope(lambda x, y: 2 * x))
one_minus_square = _numeric("one_minus_square", slope(lambda x, y: -2 * x))


def _power_lhs(x: Term, y: Term, z: Term) -> Term:
    """y x^(y-1), which is 0 for y = 0 and any x: y / x is computed there, with its slope in y."""
    zero, divides = y == 0, (x != 0) & (x * 0 == 0)
    lowered = where(zero, y.like(1), y - 1)
    at_zero = where(divides, y / where(divides, x, 1), y.like(0))
    return where(zero, at_zero, y * pow_(x, lowered))


def _power_rhs(x: Term, y: Term, z: Term) -> Term:
    """log(x) x^y, with 0 for x = 0 (the limit where y > 0)."""
    return log(where(x == 0, 1, x)) * z


pow_ = elementwise("pow", slope(_power_lhs), slope(_power_rhs), allowed=is_inexact,
                   wanted="inexact", family=__name__)


def _infer_integer_pow(types: Types, attrs: Attrs) -> Types:
    (x,), n = types, attrs["exponent"]
    if not x.dtype.is_numeric:
        raise IRTypeError(f"integer_pow takes numeric operands, got {x}")
    if n < 0 and x.dtype.is_integer:
        raise IRTypeError(f"integer_pow: integers have no negative powers, got {x} to {n}")
    return types


def _jvp_integer_pow(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    (t,), n = tangents, op.attrs["exponent"]
    return (None if n == 0 else t if n == 1 else _by_power(b, t, op.operands[0], n=n),)


@formula
def _by_power(t: Term, x: Term, n: int) -> Term:
    lowered = x if n == 2 else integer_pow(x, exponent=n - 1)
    return t * (n * lowered)


integer_pow = define("integer_pow", infer=_infer_integer_pow, attrs={"exponent": INT}, operands=1,
                     jvp=_jvp_integer_pow, batch=batch_elementwise)


# --- roots, exponentials, logarithms ------------------------------------------------------

sqrt = _inexact("sqrt", lambda x, y: 0.5 / y)
rsqrt = _inexact("rsqrt", lambda x, y: y / x * -0.5)
cbrt = _float("cbrt", lambda x, y: integer_pow(y, exponent=-2) * (1 / 3))
exp = _inexact("exp", lambda x, y: y)
exp2 = _inexact("exp2", lambda x, y: y * math.log(2))
expm1 = _inexact("expm1", lambda x, y: y + 1)
log = elementwise("log", tangent(lambda t, x, y: t / x), allowed=is_inexact, wanted="inexact")
log1p = elementwise("log1p", tangent(lambda t, x, y: t / (x + 1)), allowed=is_inexact,
                    wanted="inexact")
log2 = _inexact("log2", lambda x, y: 1 / (x * math.log(2)))
logistic = _inexact("logistic", lambda x, y: y * (1 - y))


# --- rounding -----------------------------------------------------------------------------

floor = _float("floor")
ceil = _float("ceil")
round_ = _float("round", attrs={"method": enum("away_from_zero", "to_nearest_even")})
is_finite = _float("is_finite", result=lambda dtype: dtypes.bool_)


# --- trigonometric and hyperbolic ---------------------------------------------------------

def _roomy(x: Term) -> Term:
    """`x` in f32 where its own dtype is too narrow for squares."""
    return x.to(dtypes.f32) if x.dtype.bits < 16 else x


def _over_squares(x: Term, y: Term, part: int) -> Term:
    """One operand over the sum of both squares, even where that leaves the range; 0 at (0, 0)."""
    dtype = x.dtype
    if dtype.is_complex:
        return (x, y)[part] / (square(x) + square(y))
    x, y = _roomy(x), _roomy(y)
    end = x.like(dtypes.greatest_finite(x.dtype))                 # 0 at infinities
    x, y = (clamp(-end, v, end) for v in (x, y))
    most = max_(abs(x), abs(y))
    scale = 1 / where(most == 0, 1, most)
    x, y = x * scale, y * scale
    total = square(x) + square(y)
    total = where(total == 0, 1, total)
    return ((x, y)[part] * scale / total).to(dtype)


def _slope_asinh(x: Term, y: Term) -> Term:
    """rsqrt(1 + x^2); 1 / |x| for large x, whose square may leave the range."""
    if x.dtype.is_complex:
        return rsqrt(square(x) + 1)
    size = abs(_roomy(x))
    far = size > 2 / math.sqrt(dtypes.epsilon(size.dtype))
    near, beyond = where(far, 1, size), where(far, size, 1)
    return where(far, 1 / beyond, rsqrt(square(near) + 1)).to(x.dtype)


def _one_minus_square(x: Term) -> Term:
    """(1 - x)(1 + x), which keeps its digits near x = 1 and -1."""
    return (1 - x) * (x + 1)


sin = _inexact("sin", lambda x, y: cos(x))
cos = _inexact("cos", lambda x, y: -sin(x))
tan = _inexact("tan", lambda x, y: square(y) + 1)
asin = _inexact("asin", lambda x, y: rsqrt(_one_minus_square(x)))
acos = _inexact("acos", lambda x, y: -rsqrt(_one_minus_square(x)))
atan = _inexact("atan", lambda x, y: 1 / (square(x) + 1))
atan2 = elementwise("atan2", slope(lambda x, y, z: _over_squares(x, y, 1)),
                    slope(lambda x, y, z: -_over_squares(x, y, 0)),
                    allowed=is_inexact, wanted="inexact")
sinh = _inexact("sinh", lambda x, y: cosh(x))
cosh = _inexact("cosh", lambda x, y: sinh(x))
tanh = _inexact("tanh", lambda x, y: _one_minus_square(y))
asinh = _inexact("asinh", _slope_asinh)
acosh = _inexact("acosh", lambda x, y: rsqrt(x - 1) * rsqrt(x + 1))     # keeps the branch cut
atanh = _inexact("atanh", lambda x, y: 1 / _one_minus_square(x))


# --- complex numbers ----------------------------------------------------------------------

def _jvp_complex(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, y = (b.zeros(op.operands[0].type) if t is None else t for t in tangents)
    return (b.emit(complex_, x, y),)


def _transpose_complex(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    (ct,) = cotangents
    return (b.emit(real, ct) if known[0] is LINEAR else None,
            _less_imag(b, ct) if known[1] is LINEAR else None)


@formula
def _as_real(ct: Term) -> Term:
    return complex_(ct, 0)


@formula
def _as_imag(ct: Term) -> Term:
    return complex_(ct.like(0), -ct)


@formula
def _less_imag(ct: Term) -> Term:
    return -imag(ct)


real = elementwise("real", tangent(lambda t, x, y: real(t)), allowed=is_complex, wanted="complex",
                   result=dtypes.real_of,
                   transpose=lambda b, op, cts, known: (_as_real(b, cts[0]),))
imag = elementwise("imag", tangent(lambda t, x, y: imag(t)), allowed=is_complex, wanted="complex",
                   result=dtypes.real_of,
                   transpose=lambda b, op, cts, known: (_as_imag(b, cts[0]),))
conj = elementwise("conj", tangent(lambda t, x, y: conj(t)), allowed=is_complex, wanted="complex",
                   transpose=lambda b, op, cts, known: (b.emit(conj, cts[0]),))
complex_ = elementwise("complex", operands=2, jvp=_jvp_complex, transpose=_transpose_complex,
                       allowed=lambda dtype: dtype in (dtypes.f32, dtypes.f64),
                       wanted="f32 or f64", result=dtypes.complex_of)


# --- choosing -----------------------------------------------------------------------------

def _share(mine: Term, other: Term, result: Term) -> Term:
    """1 where only `mine` equals the result, 1/2 where both operands do, else 0."""
    one, half, zero = mine.like(1), mine.like(0.5), mine.like(0)
    tie = where(mine == other, half, one)
    return where(mine == result, tie, zero)


_CHOOSING = slope(_share), slope(lambda other, mine, result: _share(mine, other, result))
max_ = elementwise("max", *_CHOOSING, allowed=is_any, wanted="number or bool")
min_ = elementwise("min", *_CHOOSING, allowed=is_any, wanted="number or bool")


def _check_choice(name: str, chooser: Any, cases: Any) -> None:
    first = cases[0]
    if any(t is not first for t in cases):
        raise IRTypeError(f"{name}: cases must have the same type, got "
                          f"{', '.join(map(str, cases))}")
    if chooser.shape not in ((), first.shape):
        raise IRTypeError(f"{name}: the chooser {chooser} must be a scalar or have the shape of "
                          f"the cases, {first}")


def _infer_select(types: Types, attrs: Attrs) -> Types:
    if types[0].dtype is not dtypes.bool_:
        raise IRTypeError(f"select: the predicate must be bool, got {types[0]}")
    _check_choice("select", types[0], types[1:])
    return (types[1],)


def _jvp_cases(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    cases = [b.zeros(op.results[0].type) if t is None else t for t in tangents[1:]]
    return (b.emit(op.definition, op.operands[0], *cases),)


def _transpose_cases(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    """Each linear case receives the cotangent where it was chosen, zero elsewhere."""
    (ct,), n = cotangents, len(known) - 1
    zero = b.zeros(ct.type)
    given = [b.emit(op.definition, known[0], *[ct if j == i else zero for j in range(n)])
             if known[i + 1] is LINEAR else None for i in range(n)]
    return (None, *given)


select = define("select", infer=_infer_select, operands=3, jvp=_jvp_cases,
                transpose=_transpose_cases, batch=batch_scalar_operands)


def _infer_select_n(types: Types, attrs: Attrs) -> Types:
    which, *cases = types
    if not cases or which.dtype not in (dtypes.bool_, dtypes.i32):
        raise IRTypeError("select_n takes a bool or i32 chooser and then cases, got "
                          f"{', '.join(map(str, types))}")
    if which.dtype is dtypes.bool_ and len(cases) > 2:
        raise IRTypeError("select_n: a bool chooser can only choose between two cases, got "
                          f"{len(cases)}")
    _check_choice("select_n", which, cases)
    return (cases[0],)


select_n = define("select_n", infer=_infer_select_n, jvp=_jvp_cases, transpose=_transpose_cases,
                  batch=batch_scalar_operands)


def _infer_clamp(types: Types, attrs: Attrs) -> Types:
    low, x, high = types
    for bound in (low, high):
        if bound.dtype is not x.dtype or bound.shape not in ((), x.shape):
            raise IRTypeError("clamp: bounds must be scalars or have the type of the operand, "
                              f"{x}, got {low} and {high}")
    if not is_real(x.dtype):
        raise IRTypeError(f"clamp takes integer or float operands, got {x}")
    return (x,)


def _jvp_clamp(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """min(max(x, low), high): the tangent of the operand that alone decides, zero on ties."""
    type = op.results[0].type
    bounds = [_broadcast_scalar(b, v, type) for v in op.operands]
    total = None
    for t, share in zip(tangents, _SHARES, strict=True):
        if t is not None:
            total = sum_tangents(b, total, share(b, _broadcast_scalar(b, t, type), *bounds))
    return (total,)


_SHARES = (formula(lambda t, low, x, high: where((low > x) & (low < high), t, 0)),
           formula(lambda t, low, x, high: where((x > low) & (x < high), t, 0)),
           formula(lambda t, low, x, high: where(high < x, t, 0)))


def _broadcast_scalar(b: Builder, v: Any, type: Any) -> Any:
    if v.type.plain is type.plain:
        return v
    return b.emit(broadcast_in_dim, v, shape=type.shape, dims=())


clamp = define("clamp", infer=_infer_clamp, operands=3, jvp=_jvp_clamp,
               batch=batch_scalar_operands)


# --- axes that divide ---------------------------------------------------------------------

def _spread_choice(op: OpDef, types: Types, attrs: Attrs, results: Types) -> Sequence[Dims]:
    """Cases that are divided must be divided alike."""
    found = {t.dims for t in types[1:] if t.sharding is not None}
    if len(found) > 1:
        refuse(f"select cases must have the same shardings, got {listed(types[1:])}. Reshard one "
               "of them like the other with `xfront.sharding.reshard(x, "
               "xfront.typeof(y).sharding)`")
    return alike(op, types, attrs, results)


spreads(_spread_choice, select, select_n)
PRODUCTS.update({mul: (0, 1), div: (0,)})


# --- what passes ask ----------------------------------------------------------------------

mark({CHOOSES}, select, select_n)
mark({TERMWISE}, add, sub, neg)
mark({ELEMENTWISE, LIGHT, MERGED}, add, neg, sub, mul, div, rem, abs_, sign, square,
     one_minus_square, pow_, integer_pow, sqrt, rsqrt, cbrt, exp, exp2, expm1, log, log1p, log2,
     logistic, floor, ceil, round_,
     is_finite, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, asinh, acosh, atanh, real,
     imag, conj, complex_, max_, min_, select, select_n, clamp)
mark({CHEAP}, add, neg, sub, mul, abs_, sign, square, one_minus_square, floor, is_finite, real,
     imag, conj, complex_, max_, min_, select, select_n, clamp)
mark({EXACT}, add, neg, sub, mul, div, abs_, sign, square, sqrt, floor, ceil, is_finite, max_, min_,
     select)
mark({EXACT_COMPLEX}, add, neg, sub, select)
mark({EXPENSIVE}, div, rem, pow_, sqrt, rsqrt, cbrt, exp, exp2, expm1, log, log1p, log2, logistic,
     sin, cos, tan, atan2, tanh)
does(4, div)
does(6, exp)
does(8, log, logistic)
does(10, log1p, log2, tanh)
does(20, cbrt, asin, acos, atan, sinh)
does(30, sin, cos, atan2)
does(40, tan)
