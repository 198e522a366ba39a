"""Operations on each element."""

from __future__ import annotations

import math

from .data import COMPLEX, DIGITS, DTYPES, FLOATS, INTEGERS, UNSIGNED
from .program import Value, Writer


def _broadcast(w: Writer, a: Value) -> Value:
    """Another operand of the same dtype, sometimes with axes of size 1."""
    if w.chance(3):
        return w.other(Value("", a.dtype, tuple(1 if w.chance(2) else n for n in a.shape)))
    return w.other(a)


def add(w: Writer) -> None:
    a = w.pick(lambda v: v.computes)
    b = _broadcast(w, a)
    w.need(b.computes)
    w.exact(a.dtype, a.top + b.top, a, b)
    op = w.choice("+-")
    w.emit(f"{a.name} {op} {b.name}", a.dtype, a.shape, a, b, top=a.top + b.top,
           total=a.total + b.total * a.size / max(b.size, 1), moved=False)


def multiply(w: Writer) -> None:
    a = w.pick(lambda v: v.computes)
    b = _broadcast(w, a)
    w.need(b.computes)
    top = a.top * b.top
    w.exact(a.dtype, top, a, b)
    w.need(a.dtype not in COMPLEX or not (a.special or b.special))
    w.emit(f"{a.name} * {b.name}", a.dtype, a.shape, a, b, top=top,
           total=min(a.total * b.top, b.total * a.size / max(b.size, 1) * a.top), moved=False)


def extreme(w: Writer) -> None:
    a = w.pick(lambda v: v.dtype not in COMPLEX and v.dtype != "bool")
    b = _broadcast(w, a)
    name = w.choice(("maximum", "minimum"))
    w.emit(f"jnp.{name}({a.name}, {b.name})", a.dtype, a.shape, a, b, moved=False,
           total=a.total + b.total * a.size / max(b.size, 1))


def single(w: Writer) -> None:
    a = w.pick(lambda v: v.dtype not in COMPLEX and v.dtype != "bool")
    name = w.choice(("neg", "abs", "sign", "square", "neg"))
    w.need(name != "abs" or a.dtype not in UNSIGNED)
    top, total = a.top, a.total
    if name == "square":
        w.need(a.computes)
        top, total = a.top ** 2, a.total * a.top
        w.exact(a.dtype, top, a)
    if name == "sign":
        w.need(a.certain)
        top, total = 1.0, float(a.size)
    w.emit(f"lax.{name}({a.name})", a.dtype, a.shape, a, top=top, total=total,
           moved=a.moved and name in ("neg", "abs"))


def compare(w: Writer) -> None:
    """A comparison, and a choice by it."""
    a = w.pick(lambda v: v.dtype not in COMPLEX and v.dtype != "bool" and v.certain)
    b = w.other(a)
    w.need(b.certain)
    op = w.choice(("<", "<=", ">", ">=", "==", "!="))
    mask = w.emit(f"{a.name} {op} {b.name}", "bool", a.shape, a, b, top=1.0, total=float(a.size))
    if w.chance(2):
        w.emit(f"jnp.where({mask.name}, {a.name}, {b.name})", a.dtype, a.shape, a, b,
               total=a.total + b.total, moved=False)


def clip(w: Writer) -> None:
    a = w.pick(lambda v: v.dtype not in COMPLEX and v.dtype != "bool")
    low, high = (w.scalar(a.dtype, float(x) if a.floating else x) for x in (0, 2))
    w.emit(f"lax.clamp({low}, {a.name}, {high})", a.dtype, a.shape, a, top=2.0,
           total=2.0 * a.size, moved=False)


def bits(w: Writer) -> None:
    a = w.pick(lambda v: v.dtype in INTEGERS)
    width = 8 * DTYPES[a.dtype].itemsize
    facts = {"top": 2.0 ** width, "total": math.inf}
    name = w.choice(("and", "or", "xor", "not", "shift", "shift", "population_count", "clz"))
    if name in ("not", "population_count", "clz"):
        text = f"~{a.name}" if name == "not" else f"lax.{name}({a.name})"
        w.emit(text, a.dtype, a.shape, a, **facts)
    elif name == "shift":
        b = w.input(a.dtype, a.shape, w.choice(("nonzero", "full", "extreme")))
        shift = w.choice(("left", "right_arithmetic", "right_logical"))
        w.emit(f"lax.shift_{shift}({a.name}, {b.name})", a.dtype, a.shape, a, b, **facts)
    else:
        b = w.other(a)
        w.emit(f"lax.bitwise_{name}({a.name}, {b.name})", a.dtype, a.shape, a, b, **facts)


def divide(w: Writer) -> None:
    """Integers by others than 0, by one number or by many."""
    a = w.pick(lambda v: v.dtype in INTEGERS)
    b = w.input(a.dtype, w.choice((a.shape, (1,) * a.ndim)), "nonzero")
    name = w.choice(("lax.div", "lax.rem", "jnp.floor_divide", "jnp.remainder"))
    other = b.name if b.shape == a.shape else f"jnp.broadcast_to({b.name}, {a.shape})"
    w.emit(f"{name}({a.name}, {other})", a.dtype, a.shape, a, top=a.top + 8,
           total=a.total + 8.0 * a.size)


def power(w: Writer) -> None:
    a = w.pick(lambda v: v.dtype in INTEGERS or (v.dtype in FLOATS and v.computes))
    n = w.choice((2, 3, 5, 8))
    top = a.top ** min(n, 8) if a.top < 1e30 else math.inf
    w.exact(a.dtype, top, a)
    w.need(not w.rough)
    w.emit(f"lax.integer_pow({a.name}, {n})", a.dtype, a.shape, a, top=top, total=math.inf,
           moved=False)


def reduce_precision(w: Writer) -> None:
    """To fewer binary digits; exponents stay large enough. Which digits subnormal numbers keep is
    not said anywhere."""
    a = w.pick(lambda v: v.dtype in FLOATS and v.certain and (v.whole or v.dtype != "f16"))
    exponent, digits = w.choice(((8, 7), (5, 10), (5, 2), (8, 1), (8, 23), (4, 3), (11, 52)))
    w.emit(f"lax.reduce_precision({a.name}, {exponent}, {digits})", a.dtype, a.shape, a,
           top=2 * a.top, total=2 * a.total, special=a.special or a.top > 100, moved=False)


def iota(w: Writer) -> None:
    """A count along an axis, beside a value."""
    a = w.pick(lambda v: v.ndim > 0 and v.dtype in (*FLOATS, *INTEGERS) and v.computes)
    axis = w.number(0, a.ndim - 1)
    n = a.shape[axis]
    w.need(n < 2 ** min(DIGITS.get(a.dtype, 8 * DTYPES[a.dtype].itemsize - 1), 30))
    w.exact(a.dtype, a.top + n, a)
    w.emit(f"{a.name} + lax.broadcasted_iota({a.name}.dtype, {a.shape}, {axis})", a.dtype, a.shape,
           a, top=a.top + n, total=a.total + float(n) * a.size, moved=False)
