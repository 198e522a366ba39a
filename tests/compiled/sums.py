"""Operations that combine many elements: reductions, windows, products of matrices, sorts."""

from __future__ import annotations

import math

import numpy as np

from . import moves
from .data import COMPLEX, DIGITS, DTYPES, FLOATS, INTEGERS
from .program import MOST, Shape, Value, Writer

# --- reductions -----------------------------------------------------------------------------

def axes_of(w: Writer, v: Value) -> tuple[int, ...]:
    """Some axes, mostly all, the last, the first or one in the middle."""
    if v.ndim > 5 and w.chance(2):
        return (w.number(1, v.ndim - 2),)
    if w.chance(3):
        return tuple(range(v.ndim))
    count = w.choice((1, 1, 1, 2, 2, 3))
    return tuple(sorted(w.draw.sample(range(v.ndim), min(count, v.ndim))))


def reduced(w: Writer, v: Value, how: str, axes: tuple[int, ...] | None = None) -> Value:
    """A reduction of `v` over `axes`, or some."""
    axes = axes_of(w, v) if axes is None else axes
    n = math.prod(v.shape[d] for d in axes)
    shape = tuple(s for d, s in enumerate(v.shape) if d not in axes)
    top = v.top
    if how == "sum":
        top = min(v.top * n, v.total)
        w.exact(v.dtype, top, v)
        w.need(not w.rough or v.dtype in ("f32", "f64") or top < 2 ** DIGITS.get(v.dtype, 99))
    elif how == "prod":
        w.need(n < 64 or v.dtype in INTEGERS or v.top <= 1)
        w.need(v.top <= 1 or n * math.log2(v.top) < DIGITS.get(v.dtype, 9999) - 1)
        w.need(not w.rough or v.dtype not in FLOATS)
        top = max(1.0, v.top ** n if v.dtype in FLOATS else v.top)
    text = w.choice((f"lax.reduce_{how}({v.name}, {axes})", f"jnp.{how}({v.name}, axis={axes}"
                     + (f", dtype={v.name}.dtype" if how in ("sum", "prod") else "") + ")"))
    return w.emit(text, v.dtype, shape, v, top=top, total=v.total, moved=False)


def how(w: Writer, v: Value) -> str:
    """A kind of reduction that `v` has."""
    if v.dtype in COMPLEX:
        return "sum"
    if not v.computes:
        return w.choice(("max", "min"))
    return w.choice(("sum", "max", "max", "min") if v.special else
                    ("sum", "sum", "max", "min", "prod"))


def reduce(w: Writer) -> None:
    v = w.pick(lambda v: v.ndim > 0 and v.size > 0 and v.dtype != "bool")
    reduced(w, v, how(w, v))


def reduce_bits(w: Writer) -> None:
    v = w.pick(lambda v: v.ndim > 0 and (v.dtype == "bool" or v.dtype in INTEGERS))
    axes = axes_of(w, v)
    shape = tuple(s for d, s in enumerate(v.shape) if d not in axes)
    name = w.choice(("and", "or", "xor"))
    w.emit(f"lax.reduce_{name}({v.name}, {axes})", v.dtype, shape, v,
           top=max(v.top, 2.0 ** (8 * DTYPES[v.dtype].itemsize)), total=math.inf)


def reduce_body(w: Writer) -> None:
    """By a function of one's own, of one operand or of two at once: the greatest and its place."""
    v = w.pick(lambda v: 0 < v.ndim and 0 < v.size <= 5000 and v.dtype != "bool" and v.certain
               and v.dtype not in COMPLEX and not v.special)
    axis = w.number(0, v.ndim - 1)
    shape = tuple(s for d, s in enumerate(v.shape) if d != axis)
    name, places, f = w.fresh("v"), w.fresh("v"), w.fresh("f")
    least = -math.inf if v.floating else int(_range(v.dtype)[0])
    w.say((f"def {f}(a, b):",
           "    first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))",
           "    return tuple(lax.select(first, x, y) for x, y in zip(a, b))",
           f"{name}, {places} = lax.reduce(({v.name}, lax.broadcasted_iota(jnp.int32, {v.shape}, "
           f"{axis})), ({w.scalar(v.dtype, least)}, jnp.int32({2 ** 31 - 1})), {f}, ({axis},))"),
          (w.value(name, v.dtype, shape, v, moved=False),
           w.value(places, "i32", shape, v, top=2.0 ** 31, total=math.inf)))


def _range(dtype: str) -> tuple[int, int]:
    info = np.iinfo(DTYPES[dtype])
    return int(info.min), int(info.max)


def arg(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim and v.size > 0 and v.certain and v.dtype not in COMPLEX
               and v.dtype != "bool")
    axis = w.number(0, v.ndim - 1)
    name = w.choice(("argmax", "argmin"))
    dtype = w.choice(("int32", "int32", "uint32"))
    w.emit(f"lax.{name}({v.name}, {axis}, jnp.{dtype})", {"int32": "i32", "uint32": "u32"}[dtype],
           tuple(s for d, s in enumerate(v.shape) if d != axis), v, top=float(v.size),
           total=float(v.size) ** 2)


def sum_of_broadcast(w: Writer) -> None:
    """A sum or an extreme of what was broadcast along some axes, to millions of elements
    sometimes, and mostly over all axes."""
    if w.chance(4):
        v = w.pick(lambda v: v.computes and v.size <= 4096 and v.dtype not in COMPLEX)
        large = MOST if v.dtype in ("f32", "f64") else 5_000
        wide = moves.broadcast_to(w, v, w.choice((5_000, large)))
    else:
        wide = _wide(w)
    before, w.left = w.left, MOST
    try:
        reduced(w, wide, w.choice(("sum", "sum", "sum", "max", "min")),
                None if w.chance(4) else tuple(range(wide.ndim)))
    finally:
        w.left = before


def _wide(w: Writer) -> Value:
    """An array of 2**16 elements or more, that was broadcast along its first axis mostly."""
    most = 1 << w.choice((18, 20, 22))
    shape = [w.choice((2, 3, 4, 8, 17, 64, 512, 2048)) for _ in range(w.choice((2, 3, 3, 4, 4)))]
    while math.prod(shape) < 1 << 16:
        shape[w.number(0, len(shape) - 1)] *= 4
    while math.prod(shape) > most:
        d = w.number(0, len(shape) - 1)
        shape[d] = max(2, shape[d] // 2)
    axes = range(0 if w.chance(5) else 1, len(shape))
    own = w.draw.sample(axes, min(len(axes), w.choice((1, 1, 2))))
    dtype = w.choice(w.dtypes(("f32", "f64")))
    one = w.input(dtype, tuple(n if d in own else 1 for d, n in enumerate(shape)),
                  "normal" if w.rough else "small", False)
    before, w.left = w.left, MOST
    try:
        return w.emit(f"jnp.broadcast_to({one.name}, {tuple(shape)})", dtype, tuple(shape), one,
                      total=one.total * math.prod(shape) / one.size)
    finally:
        w.left = before


def sum_of_product(w: Writer) -> None:
    """A sum over some axes of a product, whose factors may be broadcast along an axis."""
    if not w.chance(3):
        dtype = w.choice(("f32", "f32", w.seen[-1].dtype))
        w.seen.append(w.input(dtype, w.deep(w.choice((6, 7, 7, 8))), constant=False))
    a = w.pick(lambda v: v.computes and 0 < v.ndim and v.size > 0 and v.dtype not in COMPLEX)
    repeated = w.draw.sample(range(a.ndim), min(a.ndim, w.choice((0, 0, 1, 1, 2, 3))))
    shape = tuple(1 if d in repeated else n for d, n in enumerate(a.shape))
    b = w.other(Value("", a.dtype, shape), lambda v: v.computes)
    top = a.top * b.top
    w.exact(a.dtype, top, a, b)
    total = min(a.total * b.top, b.total * a.top * a.size / max(b.size, 1))
    made = w.emit(f"{a.name} * {b.name}", a.dtype, a.shape, a, b, top=top, total=total, moved=False)
    reduced(w, made, "sum")


# --- running reductions, sorts --------------------------------------------------------------

def running(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim and v.size <= 20_000 and v.dtype != "bool"
               and v.dtype not in COMPLEX)
    axis = w.number(0, v.ndim - 1)
    name = w.choice(("sum", "sum", "max", "min", "prod"))
    n, top, total = v.shape[axis], v.top, v.total
    if name in ("sum", "prod"):
        w.need(v.computes)
    if name == "sum":
        top, total = min(v.top * n, v.total), v.total * n
        w.exact(v.dtype, top, v)
        w.need(not w.rough or v.dtype in ("f32", "f64"))
    if name == "prod":
        w.need(v.dtype in INTEGERS or v.top <= 1)
        w.need(not w.rough)
        total = math.inf
    reverse = w.choice(("", ", reverse=True"))
    w.emit(f"lax.cum{name}({v.name}, axis={axis}{reverse})", v.dtype, v.shape, v, top=top,
           total=total if name in ("sum", "prod") else math.inf, moved=False)


def associative(w: Writer) -> None:
    """A scan by an associative function: sums, extremes, the last one that is not 0."""
    v = w.pick(lambda v: 0 < v.ndim and v.size <= 5000 and v.dtype != "bool" and v.certain
               and v.dtype not in COMPLEX)
    axis = w.number(0, v.ndim - 1)
    f = w.choice(("jnp.maximum", "jnp.minimum", "jnp.add", "lambda a, b: jnp.where(b == 0, a, b)"))
    top = v.top
    if f == "jnp.add":
        top = min(v.top * v.shape[axis], v.total)
        w.need(v.computes)
        w.exact(v.dtype, top, v)
    reverse = w.choice(("", ", reverse=True"))
    w.emit(f"lax.associative_scan({f}, {v.name}, axis={axis}{reverse})", v.dtype, v.shape, v,
           top=top, total=math.inf, moved=False)


def sort(w: Writer) -> None:
    """Of one operand, or of several by one key or two, stable."""
    v = w.pick(lambda v: 0 < v.ndim and v.certain and v.dtype not in COMPLEX)
    axis = w.number(0, v.ndim - 1)
    if w.chance(2):
        w.emit(f"lax.sort({v.name}, dimension={axis})", v.dtype, v.shape, v, moved=False)
        return
    other = w.other(Value("", w.choice((v.dtype, "i32", "f32")), v.shape), lambda v: v.certain)
    names = [w.fresh("v") for _ in range(2)]
    w.say((f"{', '.join(names)} = lax.sort(({v.name}, {other.name}), dimension={axis}, "
           f"num_keys={w.number(1, 2)})",),
          [w.value(n, x.dtype, x.shape, x, moved=False)
           for n, x in zip(names, (v, other), strict=True)])


def argsort(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim and v.certain and v.dtype not in COMPLEX)
    axis = w.number(0, v.ndim - 1)
    w.emit(f"jnp.argsort({v.name}, axis={axis}, descending={w.chance(2)}).astype(jnp.int32)",
           "i32", v.shape, v, top=float(v.size), total=float(v.size) ** 2)


def top_k(w: Writer) -> None:
    # 0.0 comes before -0.0
    v = w.pick(lambda v: 0 < v.ndim and v.shape[-1] > 1 and v.certain and v.dtype not in COMPLEX
               and v.dtype != "bool" and not v.special and (v.moved or not v.floating))
    # subnormal numbers are zeros for some of XLA's comparisons
    w.need(all(i.kind != "subnormal" for i in w.program.inputs))
    k = w.number(1, min(v.shape[-1], 20))
    names = [w.fresh("v") for _ in range(2)]
    shape = (*v.shape[:-1], k)
    w.say((f"{', '.join(names)} = lax.top_k({v.name}, {k})",),
          (w.value(names[0], v.dtype, shape, v, moved=False),
           w.value(names[1], "i32", shape, v, top=float(v.size), total=math.inf)))


# --- windows --------------------------------------------------------------------------------

def _window(w: Writer, n: int, large: bool) -> tuple[int, int, tuple[int, int], int, int, int]:
    """Window, stride, padding, dilations of the array and of the window, and the result's size."""
    for _ in range(30):
        if w.chance(2):
            window = w.choice((1, 1, 2, 2, 3, 4) if large else (1, 2, 3, 5))
            base, inner = w.choice((1, 1, 1, 2, 3)), w.choice((1, 1, 1, 2))
            stride = w.choice((1, 1, window, window, 2))
            low, high = w.choice(((0, 0), (0, 0), (1, 1), (1, 0), (0, 2), (-1, 0), (0, -1), (-1, 1),
                                  (-2, -1), (3, -1)))
        else:
            window, base, inner, low, high, stride = 1, w.choice((1, 1, 1, 2)), 1, 0, 0, 1
            if w.chance(6):
                low, high = w.choice(((-1, 0), (0, -1), (1, 0)))
        span = (window - 1) * inner + 1
        whole = (n - 1) * base + 1 + low + high
        if (n - 1) * base + 1 + min(low, 0) + min(high, 0) > 0 and whole >= span:
            return window, stride, (low, high), base, inner, (whole - span) // stride + 1
    return 1, 1, (0, 0), 1, 1, n


def _apart(w: Writer, n: int, large: bool) -> tuple[int, int, tuple[int, int], int, int, int]:
    """Windows one after the other, of all elements, of which some lie apart themselves."""
    window = w.choice([k for k in (1, 1, 2, 2, 3, 4) if k <= n])
    base = w.choice((1, 2, 3)) if window == 1 else 1
    return window, window, (0, 0), base, 1, ((n - 1) * base + 1) // window


def reduce_window(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim and v.size > 0 and v.dtype != "bool"
               and v.dtype not in COMPLEX)
    one = _apart if w.chance(3) else _window
    parts = [one(w, n, v.ndim > 2) for n in v.shape]
    window, strides, pads, base, inner, shape = (tuple(x) for x in zip(*parts, strict=True))
    places = math.prod(window)
    w.need(math.prod(shape) * places <= 400_000)
    name = how(w, v)
    top, start, init = v.top, 0.0, "0"
    if name == "sum":
        start = float(w.choice((0, 0, 0, 0, 1)))
        top = min(v.top * places, v.total) + start
        w.exact(v.dtype, top, v)
        w.need(not w.rough or v.dtype in ("f32", "f64"))
        init = w.scalar(v.dtype, start if v.floating else int(start))
    elif name == "prod":
        w.need(v.top <= 1 or places * math.log2(v.top) < DIGITS.get(v.dtype, 9999))
        w.need(not w.rough)
        top = max(1.0, v.top ** places if v.dtype in FLOATS else v.top)
        init = w.scalar(v.dtype, 1.0 if v.floating else 1)
    else:
        ends = (-math.inf, math.inf) if v.floating else _range(v.dtype)
        value = ends[name == "min"]
        if w.chance(5) and v.floating:
            value = w.choice((0.0, 1.0, -1.0))
            w.need(not v.rough)
            top = max(top, 1.0)
        init = w.scalar(v.dtype, value)
    f = {"sum": "lax.add", "prod": "lax.mul", "max": "lax.max", "min": "lax.min"}[name]
    # the maximum of a window outside the array is -inf
    w.emit(f"lax.reduce_window({v.name}, {init}, {f}, {window}, {strides}, {pads}, {base}, "
           f"{inner})", v.dtype, shape, v, top=top, total=math.inf,
           special=v.special or name in ("max", "min"), moved=False)


def window_of_pad(w: Writer) -> None:
    """Windows over what was padded, negatively mostly."""
    moves.pad(w)
    reduce_window(w)


def conv(w: Writer) -> None:
    """A convolution with any windows, groups and layouts."""
    rank = w.choice((1, 2, 2, 3))
    dtype = w.choice(w.dtypes(("f32", "f32", "f32", "f64", "bf16", "f16", "i32", "c64")))
    w.need(not w.rough or dtype in ("f32", "f64"))
    spatial = tuple(w.choice((1, 2, 3, 4, 7, 8, 16, 31)) for _ in range(rank))
    batch, features, outs = (w.choice(ns) for ns in ((1, 2, 3, 8), (1, 2, 3, 4, 16), (1, 2, 4, 8)))
    groups = w.choice([g for g in (1, 1, 1, 2, features) if features % g == 0])
    batches = w.choice([b for b in (1, 1, 1, 1, 2) if batch % b == 0]) if groups == 1 else 1
    outs *= max(groups, batches)
    parts = [_conv_window(w, n) for n in spatial]
    window, strides, pads, base, inner, shape = (tuple(x) for x in zip(*parts, strict=True))
    terms = math.prod(window) * features // groups
    kind = "normal" if w.rough else "small"
    if not w.rough and dtype in ("bf16", "f16") and terms * 9 > 2 ** DIGITS[dtype]:
        kind = "sparse"
    letters = "NC" + "DHW"[3 - rank:]
    kernel = "OI" + "DHW"[3 - rank:]
    orders = [w.draw.sample(s, len(s)) if w.chance(3) else s
              for s in (list(letters), list(kernel), list(letters))]
    dims = iter(kernel[2:])                      # numbers for windows follow the filter's order
    orders[1] = [next(dims) if c in kernel[2:] else c for c in orders[1]]
    lhs_dims = dict(zip(letters, (batch, features, *spatial), strict=True))
    rhs_dims = dict(zip(kernel, (outs, features // groups, *window), strict=True))
    out_dims = dict(zip(letters, (batch // batches, outs, *shape), strict=True))
    like = Value("", dtype, tuple(lhs_dims[c] for c in orders[0]))
    fitting = [v for v in w.seen if v.dtype == dtype and v.shape == like.shape and v.computes
               and not v.special]
    x = w.choice(fitting) if fitting else w.input(dtype, like.shape, kind)
    if w.chance(2):
        x = _cropped(w, x)
        w.need(x.computes and not x.special)
        k = w.input(dtype, tuple(rhs_dims[c] for c in orders[1]), kind)
        like = x
        # the result follows from the size that the crop left
        lhs_dims = dict(zip(orders[0], x.shape, strict=True))
        w.need(lhs_dims["N"] == batch and lhs_dims["C"] == features)
        sizes = [lhs_dims[c] for c in letters[2:]]
        shape = tuple(((n - 1) * b + 1 + sum(p) - ((q - 1) * i + 1)) // s + 1
                      for n, q, s, p, b, i in zip(sizes, window, strides, pads, base, inner,
                                                  strict=True))
        w.need(all(n > 0 for n in shape))
        out_dims = dict(zip(letters, (batch // batches, outs, *shape), strict=True))
    else:
        k = w.input(dtype, tuple(rhs_dims[c] for c in orders[1]), kind)
    top = min(x.top * k.top * terms, x.top * k.total, x.total * k.top)
    w.exact(dtype, top, x, k)
    names = [repr("".join(o)) for o in orders]
    w.emit(f"lax.conv_general_dilated({x.name}, {k.name}, {strides}, {pads}, {base}, {inner}, "
           f"({', '.join(names)}), feature_group_count={groups}, batch_group_count={batches})",
           dtype, tuple(out_dims[c] for c in orders[2]), x, k, top=top, total=math.inf, moved=False)


def _cropped(w: Writer, v: Value) -> Value:
    """v padded by zeros of any amounts, as before a convolution."""
    config = tuple(moves.padding(w, n) for n in v.shape)
    shape = tuple(n + a + b + (n - 1) * c for n, (a, b, c) in zip(v.shape, config, strict=True))
    return w.emit(f"lax.pad({v.name}, {w.scalar(v.dtype, 0)}, {config})", v.dtype, shape, v)


def _conv_window(w: Writer, n: int) -> tuple[int, int, tuple[int, int], int, int, int]:
    for _ in range(30):
        window, stride = w.choice((1, 2, 3, 5)), w.choice((1, 1, 2, 3))
        base, inner = w.choice((1, 1, 1, 2)), w.choice((1, 1, 1, 2))
        low, high = w.choice(((0, 0), (0, 0), (1, 1), (2, 2), (1, 0), (-1, 0), (0, -1), (-1, 2)))
        span, whole = (window - 1) * inner + 1, (n - 1) * base + 1 + low + high
        if (n - 1) * base + 1 + min(low, 0) + min(high, 0) > 0 and whole >= span:
            return window, stride, (low, high), base, inner, (whole - span) // stride + 1
    return 1, 1, (0, 0), 1, 1, n


# --- products of matrices -------------------------------------------------------------------

def dot(w: Writer) -> None:
    """A product over any axes, with any batch axes, of any rank."""
    a = w.pick(lambda v: v.computes and v.dtype != "bool" and 0 < v.size and v.ndim <= 6)
    w.need(not w.rough or a.dtype in ("f32", "f64"))
    axes = w.draw.sample(range(a.ndim), a.ndim)
    contracted = axes[:w.choice([k for k in (0, 1, 1, 1, 2) if k <= a.ndim])]
    batch = axes[len(contracted):][:w.choice((0, 0, 1, 2))]
    terms = math.prod(a.shape[d] for d in contracted)
    free: Shape = tuple(w.choice((1, 2, 3, 8, 17)) for _ in range(w.choice((0, 1, 1, 2))))
    dims = [("c", d) for d in contracted] + [("b", d) for d in batch] + \
           [("f", n) for n in free]
    w.draw.shuffle(dims)
    shape = tuple(n if kind == "f" else a.shape[n] for kind, n in dims)
    w.need(math.prod(shape) <= 70_000)
    b = w.other(Value("", a.dtype, shape), lambda v: v.computes)
    place = {entry: i for i, entry in enumerate(dims) if entry[0] != "f"}
    right = tuple(place["c", d] for d in contracted)
    right_batch = tuple(place["b", d] for d in batch)
    rest = [d for d in range(a.ndim) if d not in contracted and d not in batch]
    out = tuple([a.shape[d] for d in batch] + [a.shape[d] for d in rest]
                + [n for kind, n in dims if kind == "f"])
    w.need(math.prod(out) * terms <= 4_000_000)
    top = min(a.top * b.top * terms, a.total * b.top, b.total * a.top)
    w.exact(a.dtype, top, a, b)
    to, extra = a.dtype, ""
    if a.dtype in ("bf16", "f16") and w.chance(3):
        to, extra = "f32", ", preferred_element_type=jnp.float32"
    elif a.dtype in ("i8", "u8"):
        to, extra = w.choice(((a.dtype, ""), ("i32", ", preferred_element_type=jnp.int32")))
    w.emit(f"lax.dot_general({a.name}, {b.name}, (({tuple(contracted)}, {right}), "
           f"({tuple(batch)}, {right_batch})){extra})", to, out, a, b, top=top, total=math.inf,
           moved=False)
