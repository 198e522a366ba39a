"""Functions of complex numbers as C99 and the array API standard want them.

Sine, cosine, their hyperbolic kin and exp(x) - 1 are computed by their parts. The others are
StableHLO's, with the parts mended that it gets wrong: where a number is infinite, NaN or a zero.

For an angle t and a number u, with S, C the sine and cosine and s, c the hyperbolic ones,

    sin(t + iu) = S c + i C s        cos(t + iu) = C c - i S s
    sinh(u + it) = C s + i S c       cosh(u + it) = C c + i S s

s and c come with a factor: where they would overflow, both are exp(|u|/2)/2 times exp(|u|/2).
Signs of zeros and values at infinities are those of C99, Annex G.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from lowering.context import RuleContext
from lowering.rules.compare import compare
from xfront_ir import dtypes
from xfront_ir.types import TensorType


class Parts(NamedTuple):
    """The four products of an angle t and a number u."""

    sine_cosh: Any
    cosine_sinh: Any
    cosine_cosh: Any
    sine_sinh: Any


class _Floats:
    """Arithmetic on values of one float type."""

    def __init__(self, ctx: RuleContext, type: TensorType) -> None:
        self.ctx, self.type, self.mask = ctx, type, type.with_dtype(dtypes.bool_)
        self.whole = type.with_dtype(dtypes.c128 if type.dtype.bits == 64 else dtypes.c64)

    def op(self, name: str, *operands: Any) -> Any:
        return self.ctx.create(f"stablehlo.{name}", operands, [self.type])

    def number(self, value: float) -> Any:
        return self.ctx.constant(value, self.type)

    def times(self, x: Any, y: Any) -> Any:
        return self.op("multiply", x, y)

    def is_(self, direction: str, x: Any, y: Any) -> Any:
        return compare(self.ctx, direction, x, y, self.mask, "FLOAT")

    def both(self, name: str, *masks: Any) -> Any:
        return self.ctx.create(f"stablehlo.{name}", masks, [self.mask])

    def not_(self, mask: Any) -> Any:
        return self.both("not", mask)

    def where(self, mask: Any, x: Any, y: Any) -> Any:
        return self.op("select", mask, x, y)

    def is_zero(self, x: Any) -> Any:
        return self.is_("EQ", x, self.number(0.0))

    def is_nan(self, x: Any) -> Any:
        return self.is_("NE", x, x)

    def endless(self, *xs: Any) -> Any:
        """Whether one of two numbers is infinite."""
        inf = self.number(float("inf"))
        return self.both("or", *[self.is_("EQ", self.op("abs", x), inf) for x in xs])

    def signed(self, x: Any, of: Any) -> Any:
        """`x`, negated where `of` is negative or -0."""
        bits = self.type.with_dtype(dtypes.i64 if self.type.dtype.bits == 64 else dtypes.i32)
        word = self.ctx.create("stablehlo.bitcast_convert", [of], [bits])
        below = compare(self.ctx, "LT", word, self.ctx.constant(0, bits), self.mask, "SIGNED")
        return self.where(below, self.op("negate", x), x)


def _parts(f: _Floats, t: Any, u: Any) -> Parts:
    sine, cosine = f.op("sine", t), f.op("cosine", t)
    zero, one, half = f.number(0.0), f.number(1.0), f.number(0.5)
    size = f.op("abs", u)
    large = f.is_("GT", size, f.number(math.log(dtypes.greatest_finite(f.type.dtype)) - 1))
    half_size = f.op("select", large, f.times(size, half), size)
    grown, less = f.op("exponential", half_size), f.op("exponential_minus_one", half_size)
    factor = f.op("select", large, grown, one)
    # (e - 1 + (e - 1)/e)/2 loses nothing near 0
    s = f.op("add", less, f.op("divide", less, f.op("add", less, one)))
    c = f.op("add", grown, f.op("divide", one, grown))
    s, c = (f.times(half, f.op("select", large, grown, v)) for v in (s, c))
    s = f.op("select", f.is_("LT", u, zero), f.op("negate", s), s)
    s = f.op("select", f.is_("EQ", u, zero), u, s)

    def product(x: Any, y: Any) -> Any:
        return f.times(f.times(x, y), factor)

    level, still = f.is_("EQ", t, zero), f.is_("EQ", u, zero)
    endless = f.is_("EQ", size, f.number(float("inf")))
    lost = f.both("not", f.ctx.create("stablehlo.is_finite", [t], [f.mask]))
    turn = f.op("clamp", f.number(-1.0), f.op("select", f.is_("NE", u, u), one, u), one)
    return Parts(
        f.op("select", level, t, product(sine, c)),
        f.op("select", f.both("and", lost, f.both("or", still, endless)), u, product(cosine, s)),
        f.op("select", f.both("and", lost, endless), size, product(cosine, c)),
        f.op("select", level, f.times(t, turn),
             f.op("select", f.both("and", lost, still), u, product(sine, s))))


def circular(ctx: RuleContext, name: str, x: Any, type: TensorType) -> Any:
    """`sin`, `cos`, `sinh` or `cosh` of complex numbers."""
    f = _Floats(ctx, type.with_dtype(dtypes.real_of(type.dtype)))
    t, u = f.op("real", x), f.op("imag", x)
    p = _parts(f, u, t) if name in ("sinh", "cosh") else _parts(f, t, u)
    real, imag = {"sin": (p.sine_cosh, p.cosine_sinh), "cos": (p.cosine_cosh, p.sine_sinh),
                  "sinh": (p.cosine_sinh, p.sine_cosh),
                  "cosh": (p.cosine_cosh, p.sine_sinh)}[name]
    if name == "cos":
        imag = f.op("negate", imag)
    return ctx.create("stablehlo.complex", [real, imag], [type])


def less_one(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    """exp(x) - 1 of complex numbers u + it: (exp(u) - 1) C - 2 sin(t/2)^2 + i exp(u) S."""
    f = _Floats(ctx, type.with_dtype(dtypes.real_of(type.dtype)))
    u, t = f.op("real", x), f.op("imag", x)
    zero, half = f.number(0.0), f.number(0.5)
    sine, cosine, middle = f.op("sine", t), f.op("cosine", t), f.op("sine", f.times(t, half))
    large = f.is_("GT", u, f.number(math.log(dtypes.greatest_finite(f.type.dtype)) - 1))
    grown = f.op("exponential", f.op("select", large, f.times(u, half), u))
    versine = f.times(f.number(2.0), f.times(middle, middle))
    real = f.op("subtract", f.times(f.op("exponential_minus_one", u), cosine), versine)
    real = f.op("select", large, f.times(f.times(grown, cosine), grown), real)
    imag = f.times(grown, sine)
    imag = f.op("select", large, f.times(imag, grown), imag)
    lost = f.both("not", ctx.create("stablehlo.is_finite", [t], [f.mask]))
    gone = f.both("and", lost, f.is_("EQ", u, f.number(-float("inf"))))
    endless = f.both("and", lost, f.is_("EQ", u, f.number(float("inf"))))
    real = f.op("select", gone, f.number(-1.0), f.op("select", endless, u, real))
    imag = f.op("select", gone, zero, f.op("select", f.is_("EQ", t, zero), t, imag))
    return ctx.create("stablehlo.complex", [real, imag], [type])


# --- functions of StableHLO and CHLO, with their special cases ----------------------------

def annexed(ctx: RuleContext, name: str, x: Any, type: TensorType) -> Any:
    """The function `name` of complex numbers, one of those below."""
    f = _Floats(ctx, type.with_dtype(dtypes.real_of(type.dtype)))
    real, imag = _ANNEXED[name](f, x, f.op("real", x), f.op("imag", x))
    return ctx.create("stablehlo.complex", [real, imag], [type])


def size(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    """|x|: infinite where a part is, also beside a NaN."""
    f = _Floats(ctx, type)
    return f.where(f.endless(f.op("real", x), f.op("imag", x)), f.number(float("inf")),
                   ctx.create("stablehlo.abs", [x], [type]))


def _parts_of(f: _Floats, name: str, *parts: Any) -> tuple[Any, Any]:
    """Real and imaginary part of a function of parts, or of a number."""
    x = parts[0]
    if len(parts) == 2:
        x = f.ctx.create("stablehlo.complex", parts, [f.whole])
    made = f.ctx.create(name, [x], [f.whole])
    return f.op("real", made), f.op("imag", made)


def _exp(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    real, imag = _parts_of(f, "stablehlo.exponential", x)
    lost = f.not_(f.ctx.create("stablehlo.is_finite", [b], [f.mask]))
    gone = f.both("and", lost, f.is_("EQ", a, f.number(-float("inf"))))
    endless = f.both("and", lost, f.is_("EQ", a, f.number(float("inf"))))
    zero = f.number(0.0)
    return (f.where(gone, zero, f.where(endless, a, real)),
            f.where(f.is_zero(b), b, f.where(gone, zero, imag)))


def _logarithm(name: str) -> Any:
    def parts(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
        real, imag = _parts_of(f, name, x)
        return f.where(f.endless(a, b), f.number(float("inf")), real), imag

    return parts


def _sqrt(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    real, imag = _parts_of(f, "stablehlo.sqrt", x)
    inf = f.number(float("inf"))
    up, ahead = f.is_("EQ", f.op("abs", b), inf), f.is_("EQ", a, inf)
    behind = f.both("and", f.is_nan(b), f.is_("EQ", a, f.number(-float("inf"))))
    level = f.both("and", f.is_zero(b), f.is_("GE", a, f.number(0.0)))
    real = f.where(f.both("or", up, ahead), inf, real)
    return real, f.where(f.both("or", up, level), b, f.where(behind, inf, imag))


def _tangent(name: str) -> Any:
    """tan and tanh: a part that is 0 stays so."""
    def parts(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
        real, imag = _parts_of(f, name, x)
        return f.where(f.is_zero(a), a, real), f.where(f.is_zero(b), b, imag)

    return parts


def _asinh(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    # computed in one quadrant: the function is odd, and commutes with conjugation
    right, up = f.op("abs", a), f.op("abs", b)
    real, imag = _parts_of(f, "chlo.asinh", right, up)
    real = f.where(f.endless(right, up), f.number(float("inf")), real)
    return f.signed(real, a), f.signed(f.where(f.is_zero(up), up, imag), b)


def _atanh(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    right, up = f.op("abs", a), f.op("abs", b)
    real, imag = _parts_of(f, "chlo.atanh", right, up)
    finite = f.ctx.create("stablehlo.is_finite", [up], [f.mask])
    lost = f.both("or", f.is_nan(up), f.both("and", f.is_nan(right), finite))
    imag = f.where(lost, f.number(float("nan")), imag)
    return f.signed(f.where(f.is_zero(right), right, real), a), f.signed(imag, b)


def _turned(parts: Any) -> Any:
    """asin of asinh, atan of atanh: g(z) = -i f(iz)."""
    def turned(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
        real, imag = parts(f, x, b, a)
        return imag, real

    return turned


def _acos(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    real, imag = _parts_of(f, "chlo.acos", a, f.op("abs", b))
    still = f.both("and", f.is_zero(a), f.is_nan(b))
    return f.where(still, f.number(math.pi / 2), real), f.signed(imag, b)


def _acosh(f: _Floats, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    real, imag = _parts_of(f, "chlo.acosh", a, f.op("abs", b))
    still = f.both("and", f.is_zero(a), f.is_nan(b))
    return real, f.signed(f.where(still, f.number(math.pi / 2), imag), b)


_ANNEXED = {
    "exp": _exp, "log": _logarithm("stablehlo.log"), "log1p": _logarithm("stablehlo.log_plus_one"),
    "sqrt": _sqrt, "tan": _tangent("chlo.tan"), "tanh": _tangent("stablehlo.tanh"),
    "asinh": _asinh, "asin": _turned(_asinh), "atanh": _atanh, "atan": _turned(_atanh),
    "acos": _acos, "acosh": _acosh,
}
