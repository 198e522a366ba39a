"""Control flow: loops with conditions and steps of all kinds, scans, branches."""

from __future__ import annotations

import math

from . import moves
from .data import COMPLEX, UNSIGNED
from .program import Value, Writer


def _counted(w: Writer, dtype: str) -> tuple[int, str, int, int, int]:
    """A start, a comparison, a bound and a step, and how many turns the loop makes, 12 at most."""
    for _ in range(60):
        step = w.choice((1, 1, 2, 3, 5, 7)) * (1 if dtype in UNSIGNED else w.choice((1, 1, -1)))
        start = w.number(0 if dtype in UNSIGNED else -4, 6)
        near = w.choice((w.number(-1, 12), w.number(-1, abs(step) + 1)))
        bound = start + (near if step > 0 else -near)
        if dtype in UNSIGNED and bound < 0:
            continue
        op = w.choice(("<", "<=", "!=") if step > 0 else (">", ">=", "!="))
        turns = 0
        at = start
        while turns < 13 and {"<": at < bound, "<=": at <= bound, ">": at > bound,
                              ">=": at >= bound, "!=": at != bound}[op]:
            at, turns = at + step, turns + 1
        if turns <= 12 and (at >= 0 or dtype not in UNSIGNED):
            return start, op, bound, step, turns
    return 0, "<", 1, 1, 1


def _turn(w: Writer, a: Value, turns: int) -> tuple[str, Value]:
    """What a turn makes of `a` and the counter `i`, and what is known of it in the end."""
    x = w.other(a)
    top, total = a.top, a.total
    how = w.choice(("add", "add", "count", "max", "update", "roll", "slice", "pad", "scatter"))
    if how == "add":
        w.need(a.computes and x.computes)
        top, total = a.top + turns * x.top, a.total + turns * x.total
        w.exact(a.dtype, top, a, x)
        text = f"a + {x.name}"
    elif how == "count":
        w.need(a.computes and a.dtype not in COMPLEX)
        top, total = a.top + turns * 100, a.total + turns * 100 * a.size
        w.exact(a.dtype, top, a)
        text = f"a + i.astype({a.name}.dtype)"
    elif how == "max":
        w.need(a.dtype not in COMPLEX and a.dtype != "bool")
        top, total = max(a.top, x.top), a.total + x.total
        text = f"jnp.maximum(lax.rev(a, ({a.ndim - 1},)), {x.name})" if a.ndim else \
            f"jnp.maximum(a, {x.name})"
    elif how == "roll":
        w.need(a.ndim > 0)
        text = f"jnp.roll(a, {w.choice((1, -1, 2))}, {a.ndim - 1})"
    elif how == "pad":
        w.need(a.ndim > 0)
        first = ", ".join(["(-1, 1, 0)", *["(0, 0, 0)"] * (a.ndim - 1)])
        text = f"lax.pad(a, jnp.zeros((), a.dtype), ({first},))"
    else:
        w.need(a.ndim > 0)
        starts = ", ".join(["i", *["i * 0"] * (a.ndim - 1)])
        sizes = (1, *a.shape[1:])
        part = f"lax.dynamic_slice({x.name}, ({starts},), {sizes})"
        total = a.total + turns * x.total
        text = f"lax.dynamic_update_slice(a, {part}, ({starts.replace('i,', 'i + 1,', 1)},))" \
            if how == "update" else f"a.at[i].set({part}[0])" if how == "scatter" else \
            f"lax.select(i > 1, a, jnp.broadcast_to({part}, {a.shape}))"
        top = max(a.top, x.top)
        total = math.inf
    return text, w.value("", a.dtype, a.shape, a, x, top=top, total=total, moved=False)


def while_loop(w: Writer) -> None:
    """One carry and a counter, which is compared with a number or with a value given."""
    a = w.pick(lambda v: v.size <= 5000)
    dtype = w.choice(w.dtypes(("i32", "i32", "i32", "i64", "u8", "u32", "i8", "f32")))
    start, op, bound, step, turns = _counted(w, dtype)
    text, end = _turn(w, a, turns)
    if dtype == "f32":
        w.need("dynamic" not in text and "at[" not in text)
    f, c, v, i = (w.fresh(letter) for letter in "fcvv")
    number = float if dtype == "f32" else int
    limit = w.scalar(dtype, number(bound))
    from dataclasses import replace

    w.say((f"def {c}(s):",
           f"    return s[0] {op} {limit}",
           f"def {f}(s):",
           "    i, a = s",
           f"    return i + {w.scalar(dtype, number(step))}, {text}",
           f"{i}, {v} = lax.while_loop({c}, {f}, ({w.scalar(dtype, number(start))}, {a.name}))"),
          (Value(i, dtype, (), top=100.0, total=100.0), replace(end, name=v)))


def fori_loop(w: Writer) -> None:
    """Between numbers or values given; the second may be below the first."""
    from dataclasses import replace

    a = w.pick(lambda v: v.size <= 5000)
    low, high = w.number(-2, 3), w.number(-3, 9)
    text, end = _turn(w, a, max(high - low, 0))
    ends = [f"jnp.int32({n})" if w.chance(2) else str(n) for n in (low, high)]
    if w.chance(3):
        ends[1] = w.input("i32", (), f"exactly {high}", constant=False).name
    v = w.fresh("v")
    w.say((f"{v} = lax.fori_loop({', '.join(ends)}, lambda i, a: {text}, {a.name})",),
          (replace(end, name=v),))


def scan(w: Writer) -> None:
    """Over the rows of a value, either way, rolled out or not."""
    from dataclasses import replace

    xs = w.pick(lambda v: 0 < v.ndim and v.shape[0] <= 40 and v.size <= 5000 and v.dtype != "bool"
                and v.dtype not in COMPLEX)
    row = w.other(Value("", xs.dtype, xs.shape[1:]))
    name = w.choice(("add", "max", "last"))
    top, total = max(row.top, xs.top), row.total + xs.total
    if name == "add":
        w.need(row.computes and xs.computes)
        top = row.top + min(xs.top * xs.shape[0], xs.total)
        w.exact(xs.dtype, top, row, xs)
        w.need(not w.rough or xs.dtype in ("f32", "f64"))
    body = {"add": "(c + x, c)", "max": "(jnp.maximum(c, x), c)", "last": "(x, jnp.maximum(c, x))"}
    v, ys = w.fresh("v"), w.fresh("v")
    known = w.value(v, xs.dtype, xs.shape[1:], row, xs, top=top, total=total, moved=False)
    w.say((f"{v}, {ys} = lax.scan(lambda c, x: {body[name]}, {row.name}, {xs.name}, "
           f"reverse={w.chance(2)}, unroll={w.choice((1, 1, 2, 3))})",),
          (known, replace(known, name=ys, shape=xs.shape, total=math.inf)))


def switch(w: Writer) -> None:
    """By an index in range or not; branches of one type."""
    a = w.pick(lambda v: v.size <= 5000)
    b = w.other(a)
    if w.chance(2):
        index = w.input(w.choice(("i32", "u32", "i8")), (), "index 2 out")
        w.need(index.dtype != "i8" or True)
        text = f"lax.switch({index.name}, [lambda a, b: a, lambda a, b: b], {a.name}, {b.name})"
    else:
        flag = w.input("bool", (), "small", constant=False)
        text = f"lax.cond({flag.name}, lambda a, b: (a, b), lambda a, b: (b, a), " \
               f"{a.name}, {b.name})[0]"
    w.emit(text, a.dtype, a.shape, a, b, total=a.total + b.total)


def in_loop(w: Writer) -> None:
    """A slice at the counter of a loop that only counts, beside what the loop is given."""
    moves.dynamic_slice(w)
    while_loop(w)
