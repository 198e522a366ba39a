"""Operations that move elements: pads, slices, concatenations, gathers, scatters, conversions."""

from __future__ import annotations

import math
from typing import Any

from .data import COMPLEX, DIGITS, DTYPES, FLOATS, INTEGERS, SIGNED, UNSIGNED
from .program import Shape, Value, Writer

# --- pads, slices and shapes ----------------------------------------------------------------

def padding(w: Writer, n: int) -> tuple[int, int, int]:
    """Amounts for one dimension that leave at least one element, and often are negative."""
    for _ in range(20):
        if w.chance(3):
            return 0, 0, 0
        low, high = w.number(-3, 3), w.number(-3, 3)
        inner = w.choice((0, 0, 0, 1, 2))
        if n + low + high + max(n - 1, 0) * inner >= 1:
            return low, high, inner
    return 0, 0, 0


def pad_value(w: Writer, v: Value) -> tuple[str, float, bool]:
    """An expression of a number for the padding, its size, and whether it is special."""
    if v.floating:
        value = w.choice((0.0, 0.0, 0.0, 1.0, -0.0, math.inf, -math.inf, math.nan)
                         if w.special else (0.0, 0.0, 1.0))
        return w.scalar(v.dtype, value), abs(value) if math.isfinite(value) else 0.0, \
            not math.isfinite(value)
    number: int = 0 if v.dtype == "bool" else w.choice((0, 0, 1))
    return w.scalar(v.dtype, number), float(number), False


def padded(w: Writer, v: Value) -> Value:
    """`v` padded by amounts of any sign."""
    config = tuple(padding(w, n) for n in v.shape)
    shape = tuple(n + low + high + max(n - 1, 0) * inner
                  for n, (low, high, inner) in zip(v.shape, config, strict=True))
    text, value, special = pad_value(w, v)
    return w.emit(f"lax.pad({v.name}, {text}, {config})", v.dtype, shape, v,
                  top=max(v.top, value), total=v.total + value * math.prod(shape),
                  special=v.special or special)


def pad(w: Writer) -> None:
    padded(w, w.pick(lambda v: v.ndim > 0))


def pad_twice(w: Writer) -> None:
    pad(w)
    pad(w)


def crop(w: Writer) -> None:
    """A slice with strides."""
    v = w.pick(lambda v: v.ndim > 0 and v.size > 0)
    starts, limits, strides = [], [], []
    for n in v.shape:
        start = w.number(0, min(3, n - 1))
        limit = n - w.number(0, min(3, n - start - 1))
        starts.append(start)
        limits.append(limit)
        strides.append(w.choice((1, 1, 1, 2, 3)))
    shape = tuple(-(-(b - a) // s) for a, b, s in zip(starts, limits, strides, strict=True))
    w.emit(f"lax.slice({v.name}, {tuple(starts)}, {tuple(limits)}, {tuple(strides)})",
           v.dtype, shape, v)


def reverse(w: Writer) -> None:
    v = w.pick(lambda v: v.ndim > 0)
    axes = tuple(sorted(w.draw.sample(range(v.ndim), w.number(1, v.ndim))))
    w.emit(f"lax.rev({v.name}, {axes})", v.dtype, v.shape, v)


def transpose(w: Writer) -> None:
    v = w.pick(lambda v: v.ndim > 1)
    order = tuple(w.draw.sample(range(v.ndim), v.ndim))
    w.emit(f"lax.transpose({v.name}, {order})", v.dtype, tuple(v.shape[d] for d in order), v)


def reshape(w: Writer) -> None:
    """Other factors of the same size."""
    v = w.pick(lambda v: v.size > 1)
    rest, dims = v.size, []
    for _ in range(w.number(0, 7)):
        d = w.choice([d for d in (1, 2, 3, 4, 5, 7, 8, 16, 17, 64) if rest % d == 0])
        dims.append(d)
        rest //= d
    dims.insert(w.number(0, len(dims)), rest)
    w.emit(f"lax.reshape({v.name}, {tuple(dims)})", v.dtype, tuple(dims), v)


def broadcast_to(w: Writer, v: Value, limit: int) -> Value:
    """`v` along new axes, and along those of size 1."""
    dims: list[int] = []
    shape: list[int] = []
    left = limit // max(v.size, 1)
    for d, n in enumerate(v.shape):
        while len(shape) + v.ndim - d < 8 and w.chance(3):
            shape.append(_factor(w, left))
            left //= shape[-1]
        dims.append(len(shape))
        shape.append(_factor(w, left) if n == 1 else n)
        left //= shape[-1] if n == 1 else 1
    if len(shape) < 8 and (w.chance(2) or len(shape) == v.ndim):
        shape.append(_factor(w, left))
    times = math.prod(shape) / max(v.size, 1)
    before, w.left = w.left, max(w.left, limit)
    try:
        return w.emit(f"lax.broadcast_in_dim({v.name}, {tuple(shape)}, {tuple(dims)})",
                      v.dtype, tuple(shape), v, total=v.total * times)
    finally:
        w.left = before


def _factor(w: Writer, left: int) -> int:
    fitting = [d for d in (1, 2, 3, 4, 5, 8, 17, 64, 512, 2048) if d <= max(left, 1)]
    return w.choice(fitting[-3:] if left > 1_000 else fitting)


def broadcast(w: Writer) -> None:
    v = w.pick(lambda v: v.size <= 10_000)
    broadcast_to(w, v, 30_000)


def concatenate(w: Writer) -> None:
    """Two or three operands that may be one another, or padded."""
    v = w.pick(lambda v: v.ndim > 0)
    axis = w.number(0, v.ndim - 1)
    parts = [v]
    for _ in range(w.number(1, 2)):
        if w.chance(3):
            n = max(1, v.shape[axis] + w.number(-2, 2))
            parts.append(w.input(v.dtype, (*v.shape[:axis], n, *v.shape[axis + 1:])))
        else:
            parts.append(v if w.chance(2) else w.other(v))
    w.draw.shuffle(parts)
    n = sum(p.shape[axis] for p in parts)
    names = ", ".join(p.name for p in parts)
    w.emit(f"lax.concatenate([{names}], {axis})", v.dtype,
           (*v.shape[:axis], n, *v.shape[axis + 1:]), *parts, total=sum(p.total for p in parts))


def concatenate_pads(w: Writer) -> None:
    """Concatenations of the same operands, negatively padded: halos, differences."""
    v = w.pick(lambda v: v.ndim > 0 and max(v.shape) > 3)
    axis = w.choice([d for d, n in enumerate(v.shape) if n > 3])
    cuts = []
    for _ in range(2):
        low, high = w.choice(((-1, 0), (0, -1), (-1, -1), (1, -1), (-1, 1), (-2, 0)))
        config = tuple((low, high, 0) if d == axis else (0, 0, 0) for d in range(v.ndim))
        shape = tuple(n + (low + high) * (d == axis) for d, n in enumerate(v.shape))
        cuts.append(w.emit(f"lax.pad({v.name}, {w.scalar(v.dtype, 0)}, {config})", v.dtype, shape,
                           v))
    both = []
    for order in ((0, 1), (1, 0)):
        a, b = (cuts[k] for k in order)
        shape = (*v.shape[:axis], a.shape[axis] + b.shape[axis], *v.shape[axis + 1:])
        both.append(w.emit(f"lax.concatenate([{a.name}, {b.name}], {axis})", v.dtype, shape, a, b,
                           total=a.total + b.total))
    if v.computes and v.dtype in FLOATS and not w.special:
        w.exact(v.dtype, 2 * v.top, v)
        w.emit(f"{both[0].name} + {both[1].name}", v.dtype, both[0].shape, *both, top=2 * v.top,
               total=4 * v.total, moved=False)


def halos(w: Writer) -> None:
    """Such concatenations, twice."""
    concatenate_pads(w)
    concatenate_pads(w)


# --- starts that may be out of range --------------------------------------------------------

def index_dtype(w: Writer) -> str:
    return w.choice(w.dtypes(("i32", "i32", "i32", "i64", "u8", "u8", "i8", "i16", "u16", "u32",
                              "u64")))


def index_input(w: Writer, dtype: str, shape: Shape, n: int, inside: bool = False) -> Value:
    """Integers about 0 to n, mostly some out of range where the dtype has such numbers."""
    kind = f"index {n} {'in' if inside else w.choice(('in', 'out', 'out', 'far', 'far'))}"
    return w.input(dtype, shape, kind, constant=w.chance(3))


def _starts(w: Writer, shape: Shape) -> str:
    """Expressions for the starts of a slice, of one dtype, in range or not."""
    dtype = index_dtype(w)
    texts = []
    for n in shape:
        if w.chance(3):
            low = 0 if dtype in UNSIGNED else -2
            texts.append(w.scalar(dtype, max(low, min(w.number(-2, n + 2), 127))))
        else:
            texts.append(index_input(w, dtype, (), n).name)
    return "(" + "".join(f"{t}, " for t in texts).strip() + ")"


def _negatives(w: Writer) -> str:
    return w.choice(("", ", allow_negative_indices=False"))


def dynamic_slice(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim and v.size > 1)
    sizes = tuple(w.choice((n, max(1, n - 1), max(1, n // 2), 1)) for n in v.shape)
    starts = _starts(w, v.shape)
    w.emit(f"lax.dynamic_slice({v.name}, {starts}, {sizes}{_negatives(w)})", v.dtype, sizes, v)


def dynamic_slice_twice(w: Writer) -> None:
    """A slice, or an update, of what was sliced, rolled or updated."""
    first = w.choice((dynamic_slice, dynamic_update, roll))
    first(w)
    w.choice((dynamic_slice, dynamic_update))(w)


def dynamic_update(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim)
    sizes = tuple(w.choice((n, max(1, n - 1), max(1, n // 2), 1)) for n in v.shape)
    update = w.input(v.dtype, sizes)
    starts = _starts(w, v.shape)
    w.emit(f"lax.dynamic_update_slice({v.name}, {update.name}, {starts}{_negatives(w)})",
           v.dtype, v.shape, v, update, total=v.total + update.total)


def roll(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim)
    axis = w.number(0, v.ndim - 1)
    shift = index_input(w, w.choice(("i32", "i8", "i16")), (), v.shape[axis])
    w.emit(f"jnp.roll({v.name}, {shift.name}, {axis})", v.dtype, v.shape, v)


# --- gathers and scatters -------------------------------------------------------------------

def take(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim)
    axis = w.number(0, v.ndim - 1)
    shape = w.choice(((), (3,), (2, 2), (17,), (1,), (130,)))
    mode = w.choice(("clip", "wrap", "fill"))
    dtype = index_dtype(w)
    index = index_input(w, dtype, shape, v.shape[axis], inside=mode == "fill" and not v.floating)
    fills = mode == "fill" and v.floating
    w.emit(f"jnp.take({v.name}, {index.name}, axis={axis}, mode={mode!r})", v.dtype,
           (*v.shape[:axis], *shape, *v.shape[axis + 1:]), v, total=v.top * math.prod(shape)
           * v.size / max(v.shape[axis], 1), special=v.special or fills)


def take_along(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim <= 4)
    axis = w.number(0, v.ndim - 1)
    n = w.number(1, 4)
    shape = (*v.shape[:axis], n, *v.shape[axis + 1:])
    index = index_input(w, index_dtype(w), shape, v.shape[axis], inside=True)
    w.emit(f"jnp.take_along_axis({v.name}, {index.name}, {axis}, mode='clip')", v.dtype, shape, v,
           total=v.top * math.prod(shape))


def _gathered(w: Writer, v: Value) -> tuple[Value, str, Shape, Shape, bool]:
    """Indices, dimension numbers, slice sizes and the shape of a gather of any kind."""
    mapped = tuple(w.draw.sample(range(v.ndim), w.number(1, min(3, v.ndim))))
    batch: Shape = w.choice(((), (), (1,), (2,), (3,), (2, 3), (9,)))
    sizes = tuple(w.choice((1, 1, n, max(1, n // 2))) if d in mapped else w.choice((n, 1))
                  for d, n in enumerate(v.shape))
    collapsed = tuple(d for d, s in enumerate(sizes) if s == 1 and w.chance(2))
    window = tuple(s for d, s in enumerate(sizes) if d not in collapsed)
    rank = len(batch) + len(window)
    offset = tuple(sorted(w.draw.sample(range(rank), len(window))))
    shape = [0] * rank
    for d, s in zip(offset, window, strict=True):
        shape[d] = s
    rest = [d for d in range(rank) if d not in offset]
    for d, s in zip(rest, batch, strict=True):
        shape[d] = s
    inside = w.chance(3)
    index = index_input(w, index_dtype(w), (*batch, len(mapped)),
                        min(v.shape[d] - sizes[d] + 1 for d in mapped), inside)
    return index, f"{offset}, {collapsed}, {mapped}", sizes, tuple(shape), inside


def gather(w: Writer) -> None:
    v = w.pick(lambda v: 0 < v.ndim)
    index, numbers, sizes, shape, inside = _gathered(w, v)
    mode = w.choice(("clip", "fill", "promise_in_bounds") if inside else ("clip", "clip", "fill"))
    fills = mode == "fill" and v.floating and not inside
    w.need(mode != "fill" or v.floating or inside)
    w.emit(f"lax.gather({v.name}, {index.name}, lax.GatherDimensionNumbers({numbers}), {sizes}, "
           f"mode={mode!r})", v.dtype, shape, v, total=v.top * math.prod(shape),
           special=v.special or fills)


def scatter(w: Writer) -> None:
    """By any dimension numbers: sums and extremes, whose order does not matter."""
    v = w.pick(lambda v: 0 < v.ndim and v.computes and v.dtype not in COMPLEX)
    index, numbers, _, shape, inside = _gathered(w, v)
    offset, collapsed, mapped = eval(f"({numbers})")
    updates = w.input(v.dtype, shape)
    how = w.choice(("add", "min", "max"))
    top = v.top
    if how == "add":
        top = min(v.top + updates.top * max(1, math.prod(shape)), v.top + updates.total)
        w.exact(v.dtype, top, v, updates)
        w.need(not w.rough or v.dtype in ("f32", "f64"))
    mode = w.choice(("clip", "drop", "fill"))
    w.emit(f"lax.scatter_{how}({v.name}, {index.name}, {updates.name}, "
           f"lax.ScatterDimensionNumbers({offset}, {collapsed}, {mapped}), mode={mode!r})",
           v.dtype, v.shape, v, updates, top=max(top, updates.top), total=v.total + updates.total,
           moved=False)


def at(w: Writer) -> None:
    """An update of rows by `.at`, of others than one another where they are set."""
    v = w.pick(lambda v: 0 < v.ndim and v.shape[0] > 1 and v.dtype not in COMPLEX)
    how = w.choice(("set", "add", "min", "max"))
    w.need(how == "set" or v.computes)
    n = w.number(1, min(9, v.shape[0]))
    dtype = index_dtype(w)
    w.need(v.shape[0] + 9 < 120 or dtype not in ("i8", "u8"))
    if how == "set":
        index = w.input(dtype, (n,), f"distinct {v.shape[0]}", constant=w.chance(3))
    else:
        index = index_input(w, dtype, (n,), v.shape[0])
    updates = w.input(v.dtype, (n, *v.shape[1:]))
    top = max(v.top, updates.top)
    if how == "add":
        top = min(v.top + n * updates.top, v.top + updates.total)
        w.exact(v.dtype, top, v, updates)
        w.need(not w.rough or v.dtype in ("f32", "f64"))
    mode = w.choice(("clip", "drop", "fill") if how != "set" else ("drop",))
    w.emit(f"{v.name}.at[{index.name}].{how}({updates.name}, mode={mode!r})", v.dtype, v.shape, v,
           updates, top=top, total=v.total + updates.total, moved=v.moved and how == "set")


# --- types ----------------------------------------------------------------------------------

def convert(w: Writer) -> None:
    """To another dtype, where the result is defined."""
    v = w.pick(lambda v: v.dtype not in COMPLEX)
    to = w.choice([d for d in w.dtypes(("f32", "f64", "f16", "bf16", "i32", "i8", "u8", "i64",
                                        "u64", "i16", "u32", "bool")) if d != v.dtype])
    facts: dict[str, Any] = {}
    if v.floating and to in INTEGERS:
        w.need(not v.special and v.certain)
        w.need(v.top < 2 ** (8 * DTYPES[to].itemsize - 1) and (v.whole or v.top < 2 ** 20)
               and (to in SIGNED or v.top == 0))
    elif to == "bool":
        w.need(v.certain)
        facts = {"top": 1.0, "total": float(v.size)}
    elif to in FLOATS and not v.rough:
        digits = DIGITS[to]
        facts = {"whole": v.whole and v.top <= 2 ** digits, "special": v.special or v.top > 60_000}
    if to in INTEGERS and (v.dtype in INTEGERS):
        facts = {"top": 2.0 ** (8 * DTYPES[to].itemsize), "total": math.inf}
    w.need(not w.rough or to in ("f32", "f64") or v.rough is False)
    name = DTYPES[to].name if to != "bool" else "bool_"
    w.emit(f"lax.convert_element_type({v.name}, jnp.{name})", to, v.shape, v, **facts)


def bitcast(w: Writer) -> None:
    """The bits of a number as those of an integer."""
    v = w.pick(lambda v: v.dtype != "bool" and v.dtype not in COMPLEX and v.moved
               and not v.special and v.certain)
    width = 8 * DTYPES[v.dtype].itemsize
    to = w.choice([d for d in (f"i{width}", f"u{width}") if d != v.dtype])
    w.emit(f"lax.bitcast_convert_type({v.name}, jnp.{DTYPES[to].name})", to, v.shape, v,
           top=2.0 ** width, total=math.inf)


def constrain(w: Writer) -> None:
    """On several devices: the same value, divided otherwise."""
    w.need(bool(w.program.mesh))
    v = w.pick(lambda v: v.ndim > 0)
    spec: list[str] = ["None"] * v.ndim
    for name, size in zip("xyz", w.program.mesh, strict=False):
        fitting = [d for d, n in enumerate(v.shape) if n >= size and spec[d] == "None"]
        if fitting and not w.chance(4):
            spec[w.choice(fitting)] = repr(name)
    w.emit(f"lax.with_sharding_constraint({v.name}, NamedSharding(mesh, P({', '.join(spec)})))",
           v.dtype, v.shape, v)


def whole(w: Writer, v: Value) -> None:
    """On several devices: the same value, of which each has all."""
    w.emit(f"lax.with_sharding_constraint({v.name}, NamedSharding(mesh, P()))", v.dtype, v.shape, v)


def ends(w: Writer) -> None:
    """A value, and the same without some elements at an end; on several devices made whole."""
    v = w.pick(lambda v: v.ndim > 0 and max(v.shape) > 1)
    axis = w.choice([d for d, n in enumerate(v.shape) if n > 1])
    left = v.shape[axis] - w.number(1, min(3, v.shape[axis] - 1))
    start = w.choice((0, 0, v.shape[axis] - left))
    starts = tuple(start * (d == axis) for d in range(v.ndim))
    shape = tuple(left if d == axis else n for d, n in enumerate(v.shape))
    limits = tuple(a + n for a, n in zip(starts, shape, strict=True))
    cut = w.emit(w.choice((f"lax.slice({v.name}, {starts}, {limits})",
                           f"lax.dynamic_slice({v.name}, {starts}, {shape})")),
                 v.dtype, shape, v)
    if w.program.mesh:
        whole(w, cut)
        whole(w, v)


def select(w: Writer) -> None:
    a = w.pick(lambda v: v.size > 0)
    b = w.other(a)
    mask = w.other(Value("", "bool", a.shape))
    w.emit(f"lax.select({mask.name}, {a.name}, {b.name})", a.dtype, a.shape, a, b,
           total=a.total + b.total)
