"""Sine, cosine, their hyperbolic kin and exp(x) - 1 of complex numbers, by their parts.

For an angle t and a number u, with S, C the sine and cosine and s, c the hyperbolic ones,

    sin(t + iu) = S c + i C s        cos(t + iu) = C c - i S s
    sinh(u + it) = C s + i S c       cosh(u + it) = C c + i S s

s and c come with a factor: where they would overflow, both are exp(|u|/2)/2 times exp(|u|/2).
Signs of zeros and values at infinities are those of C99, Annex G.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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


def _parts(f: _Floats, t: Any, u: Any) -> Parts:
    sine, cosine = f.op("sine", t), f.op("cosine", t)
    zero, one, half = f.number(0.0), f.number(1.0), f.number(0.5)
    size = f.op("abs", u)
    large = f.is_("GT", size, f.number(float(np.log(np.finfo(f.type.dtype.numpy).max)) - 1))
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
    large = f.is_("GT", u, f.number(float(np.log(np.finfo(f.type.dtype.numpy).max)) - 1))
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
