"""Functions of complex numbers with the values that C99 and the array API standard ask for.

Sine, cosine, their hyperbolic counterparts and exp(x) - 1 are computed from real functions of the
parts. The other functions are StableHLO's, corrected where it is wrong: for infinities, NaN and
zeros.

For an angle t and a number u, let S and C be the sine and cosine of t, and s and c the hyperbolic
sine and cosine of u:

    sin(t + iu) = S c + i C s        cos(t + iu) = C c - i S s
    sinh(u + it) = C s + i S c       cosh(u + it) = C c + i S s

Where s and c would overflow, both are exp(|u|/2)/2 times a factor exp(|u|/2), which is multiplied
in last. Signs of zeros and values at infinities are those of C99, Annex G.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from lowering.context import RuleContext, table
from xfront_ir import dtypes, ops
from xfront_ir.core import Function
from xfront_ir.definition import OpDef
from xfront_ir.opdef import define
from xfront_ir.ops.formulas import Term, where
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType

Pair = tuple[Term, Term]
OfParts = Callable[[Term, Term, Term], Pair]


class Parts(NamedTuple):
    """The four products of the functions of an angle t and those of a number u."""

    sine_cosh: Term
    cosine_sinh: Term
    cosine_cosh: Term
    sine_sinh: Term


def _endless(x: Term, y: Term) -> Term:
    """Whether x or y is infinite."""
    inf = x.like(math.inf)
    return (abs(x) == inf) | (abs(y) == inf)


def _signed(x: Term, of: Term) -> Term:
    """`x`, negated where `of` is negative or -0."""
    word = ops.bitcast(of, dtype=dtypes.i64 if of.dtype.bits == 64 else dtypes.i32)
    return where(word < 0, -x, x)


def _most(x: Term) -> float:
    """The number above which the exponential may overflow."""
    return math.log(dtypes.greatest_finite(x.dtype)) - 1


def _parts(t: Term, u: Term) -> Parts:
    sine, cosine = ops.sin(t), ops.cos(t)
    zero, one, half = t.like(0.0), t.like(1.0), t.like(0.5)
    size = abs(u)
    large = size > _most(size)
    half_size = where(large, size * half, size)
    grown, less = ops.exp(half_size), ops.expm1(half_size)
    factor = where(large, grown, one)
    s = less + less / (less + one)               # (e - 1 + (e - 1)/e)/2 keeps all digits near 0
    c = grown + one / grown
    s, c = (half * where(large, grown, v) for v in (s, c))
    s = where(u < zero, -s, s)
    s = where(u == zero, u, s)
    level, still = t == zero, u == zero
    endless = size == math.inf
    lost = ~ops.is_finite(t)
    turn = ops.clamp(t.like(-1.0), where(u != u, one, u), one)
    return Parts(
        where(level, t, sine * c * factor),
        where(lost & (still | endless), u, cosine * s * factor),
        where(lost & endless, size, cosine * c * factor),
        where(level, t * turn, where(lost & still, u, sine * s * factor)))


def _sin(z: Term, a: Term, b: Term) -> Pair:
    p = _parts(a, b)
    return p.sine_cosh, p.cosine_sinh


def _cos(z: Term, a: Term, b: Term) -> Pair:
    p = _parts(a, b)
    return p.cosine_cosh, -p.sine_sinh


def _sinh(z: Term, a: Term, b: Term) -> Pair:
    p = _parts(b, a)
    return p.cosine_sinh, p.sine_cosh


def _cosh(z: Term, a: Term, b: Term) -> Pair:
    p = _parts(b, a)
    return p.cosine_cosh, p.sine_sinh


def _expm1(z: Term, u: Term, t: Term) -> Pair:
    """exp(z) - 1 for z = u + it: (exp(u) - 1) C - 2 sin(t/2)^2 + i exp(u) S."""
    zero, half = u.like(0.0), u.like(0.5)
    sine, cosine, middle = ops.sin(t), ops.cos(t), ops.sin(t * half)
    large = u > _most(u)
    grown = ops.exp(where(large, u * half, u))
    versine = u.like(2.0) * (middle * middle)
    real = ops.expm1(u) * cosine - versine
    real = where(large, grown * cosine * grown, real)
    imag = grown * sine
    imag = where(large, imag * grown, imag)
    lost = ~ops.is_finite(t)
    gone, endless = lost & (u == -math.inf), lost & (u == math.inf)
    return (where(gone, u.like(-1.0), where(endless, u, real)),
            where(gone, zero, where(t == zero, t, imag)))


# --- functions of StableHLO and CHLO, with their special cases ----------------------------

def _plain(name: str, infer: Any = lambda types, attrs: types) -> OpDef[Any]:
    """The MLIR op of that name, without the corrections below."""
    made = define(name, infer=infer, operands=1, apart=True, family=__name__)
    table({made: name})
    return made


_plain_abs = _plain("stablehlo.abs", lambda types, attrs: (
    types[0].with_dtype(dtypes.real_of(types[0].dtype)),))


_plain_exp, _plain_sqrt = _plain("stablehlo.exponential"), _plain("stablehlo.sqrt")
_plain_asinh, _plain_atanh = _plain("chlo.asinh"), _plain("chlo.atanh")
_plain_acos, _plain_acosh = _plain("chlo.acos"), _plain("chlo.acosh")


def of_complex(ctx: RuleContext, definition: OpDef[Any], x: Any, type: TensorType) -> Any:
    """The value of an op with an entry in `_FUNCTIONS`, for complex numbers."""
    return ctx.inline(_body(_FUNCTIONS[definition], type), [x])[0]


def size(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    """|x|: infinite where a part is infinite, even if the other part is NaN."""
    return ctx.inline(_body(_size, type.with_dtype(dtypes.complex_of(type.dtype))), [x])[0]


@lru_cache(maxsize=256)
def _body(fn: Callable[[Term, Term, Term], Any], type: TensorType) -> Function:
    """`fn(z, real, imag)` as a Function of complex numbers of `type`.

    `fn` gives the value, or the pair of its parts.
    """
    b = PlacedBuilder("complex")
    z = Term(b, b.param(type))
    made = fn(z, ops.real(z), ops.imag(z))
    return b.close([(made if isinstance(made, Term) else ops.complex(*made)).value])


def _size(z: Term, a: Term, b: Term) -> Term:
    return where(_endless(a, b), a.like(math.inf), _plain_abs(z))


def _parts_of(plain: OpDef[Any], z: Term) -> Pair:
    made = plain(z)
    return ops.real(made), ops.imag(made)


def _exp(z: Term, a: Term, b: Term) -> Pair:
    real, imag = _parts_of(_plain_exp, z)
    lost = ~ops.is_finite(b)
    gone, endless = lost & (a == -math.inf), lost & (a == math.inf)
    zero = a.like(0.0)
    return (where(gone, zero, where(endless, a, real)),
            where(b == 0.0, b, where(gone, zero, imag)))


def _logarithm(name: str, offset: float) -> OfParts:
    """The logarithm of z + offset. For c128, XLA's logarithms lose seven bits if the magnitude is
    between 0.5 and 0.85, because its log1p of f64 does; there the real part is log(|z|^2) / 2."""
    plain = _plain(name)

    def parts(z: Term, a: Term, b: Term) -> Pair:
        real, imag = _parts_of(plain, z)
        if a.type.dtype is dtypes.f64:
            moved = a + offset if offset else a
            square = moved * moved + b * b
            inside = (square > 0.25) & (square < 0.75)
            real = where(inside, ops.log(square) * 0.5, real)
        return where(_endless(a, b), math.inf, real), imag

    return parts


def _sqrt(z: Term, a: Term, b: Term) -> Pair:
    real, imag = _parts_of(_plain_sqrt, z)
    inf = a.like(math.inf)
    up, ahead = abs(b) == inf, a == inf
    behind = (b != b) & (a == -math.inf)
    level = (b == 0.0) & (a >= 0.0)
    real = where(up | ahead, inf, real)
    return real, where(up | level, b, where(behind, inf, imag))


def _tanh(z: Term, a: Term, b: Term) -> Pair:
    """(s c + i S C) / (s^2 + C^2) for z = u + it, where no sum cancels, near a pole neither.

    With d = exp(-2|u|) and m = 1 - d it is (m (1 + d) + 4i S C d) / (m^2 + 4 C^2 d), which does not
    overflow. A part that is 0 stays 0.
    """
    zero, one, two = a.like(0.0), a.like(1.0), a.like(2.0)
    endless, lost = abs(a) == math.inf, ~ops.is_finite(b)
    angle = where(endless & lost, zero, b)
    sine, double = ops.sin(angle), two * ops.cos(angle)
    less = -two * abs(a)
    decay, rise = ops.exp(less), -ops.expm1(less)
    part = one / (rise * rise + double * double * decay)    # one quotient is one kernel in XLA
    real = _signed(rise * (decay + one) * part, a)
    imag = two * (double * sine * decay) * part
    return where(a == zero, a, real), where(b == zero, b, imag)


def _asinh(z: Term, a: Term, b: Term) -> Pair:
    # computed in one quadrant, for the function is odd and commutes with conjugation
    right, up = abs(a), abs(b)
    real, imag = _parts_of(_plain_asinh, ops.complex(right, up))
    real = _signed(where(_endless(right, up), math.inf, real), a)
    return real, _signed(where(up == 0.0, up, imag), b)


def _atanh(z: Term, a: Term, b: Term) -> Pair:
    right, up = abs(a), abs(b)
    real, imag = _parts_of(_plain_atanh, ops.complex(right, up))
    finite = ops.is_finite(up)
    imag = where((up != up) | ((right != right) & finite), math.nan, imag)
    return _signed(where(right == 0.0, right, real), a), _signed(imag, b)


def _turned(parts: OfParts) -> OfParts:
    """asin from asinh, or atan from atanh: g(z) = -i f(iz)."""
    def turned(z: Term, a: Term, b: Term) -> Pair:
        real, imag = parts(z, b, a)
        return imag, real

    return turned


def _acos(z: Term, a: Term, b: Term) -> Pair:
    real, imag = _parts_of(_plain_acos, ops.complex(a, abs(b)))
    still = (a == 0.0) & (b != b)
    return where(still, math.pi / 2, real), _signed(imag, b)


def _acosh(z: Term, a: Term, b: Term) -> Pair:
    real, imag = _parts_of(_plain_acosh, ops.complex(a, abs(b)))
    still = (a == 0.0) & (b != b)
    return real, _signed(where(still, math.pi / 2, imag), b)


_FUNCTIONS: dict[OpDef[Any], OfParts] = {
    ops.sin: _sin, ops.cos: _cos, ops.sinh: _sinh, ops.cosh: _cosh, ops.expm1: _expm1,
    ops.exp: _exp, ops.log: _logarithm("stablehlo.log", 0.0),
    ops.log1p: _logarithm("stablehlo.log_plus_one", 1.0), ops.sqrt: _sqrt,
    ops.tan: _turned(_tanh), ops.tanh: _tanh,
    ops.asinh: _asinh, ops.asin: _turned(_asinh),
    ops.atanh: _atanh, ops.atan: _turned(_atanh), ops.acos: _acos, ops.acosh: _acosh,
}
