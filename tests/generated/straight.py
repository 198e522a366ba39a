"""What a program may write without a body of its own: element-wise ops to linear algebra."""

from __future__ import annotations

import numpy as np

from .program import Type, Var
from .writer import BOOL, C128, F32, F64, I32, MAX_SIZE, Scope

SMOOTH = (
    "jnp.sin({x})", "jnp.cos({x})", "jnp.tanh({x})", "jnp.exp({x} * 0.3)", "jnp.log({x} + 3.1)",
    "jnp.sqrt({x} + 2.6) * 0.9", "jax.lax.rsqrt({x} + 2.9)", "jax.nn.sigmoid({x})",
    "jax.nn.softplus({x}) * 0.8", "jnp.square({x}) * 0.4", "{x} ** 3 * 0.2",
    "jnp.expm1({x} * 0.4)", "jnp.log1p({x} * 0.4)", "jnp.arctan({x})", "jnp.arcsinh({x})",
    "jax.lax.integer_pow({x}, 2) * 0.3", "1.0 / ({x} + 3.3)", "-{x}", "jax.nn.gelu({x})",
    "jax.nn.silu({x})", "jnp.cbrt({x} + 3.2)", "jnp.sinh({x} * 0.5)", "jnp.cosh({x} * 0.5)",
    "jnp.arcsin({x} * 0.4)", "jnp.arctanh({x} * 0.4)", "jax.lax.erf({x})", "jnp.exp2({x} * 0.4)",
    "jnp.power(2.0, {x} * 0.4)", "jnp.reciprocal({x} + 3.7)", "jax.lax.mul({x}, {x}) * 0.5",
    "jnp.arccos({x} * 0.4)", "jnp.tan({x} * 0.4)", "jax.lax.lgamma({x} + 3.1) * 0.5",
    "jax.lax.digamma({x} + 3.1)", "jax.lax.erfc({x}) * 0.9", "jax.lax.erf_inv({x} * 0.4)",
    "jax.nn.log_sigmoid({x}) * 0.7", "jax.nn.soft_sign({x})", "jax.nn.mish({x})",
    "jax.nn.squareplus({x}) * 0.6", "jnp.logaddexp2({x}, 0.3) * 0.6", "jnp.log2({x} + 3.1) * 0.7",
    "jnp.log10({x} + 3.1)", "jnp.arccosh({x} + 3.3) * 0.6", "({x} + 3.3) ** 0.5 * 0.8",
    "jnp.float_power({x} + 3.1, 1.5) * 0.1",
    "jnp.polyval(jnp.array([0.2, -0.1, 0.3], {x}.dtype), {x})",
    "jax.scipy.special.xlogy({x} + 3.0, {x} + 2.7) * 0.2", "jax.scipy.special.ndtr({x})",
    "jax.scipy.special.entr({x} + 3.0) * 0.2",
    "jax.lax.optimization_barrier({x})", "jnp.sinc({x} * 0.3 + 1.1)",
)
KINKED = (
    "jnp.abs({x})", "jax.nn.relu({x})", "jnp.clip({x}, -0.71, 0.83)", "jax.nn.leaky_relu({x})",
    "jax.nn.elu({x})", "jnp.maximum({x}, 0.137)", "jnp.minimum({x}, 0.631)",
    "jax.nn.relu6({x})", "jax.nn.hard_tanh({x})", "jax.nn.selu({x}) * 0.7", "jax.nn.celu({x})",
    "jnp.fabs({x})", "jnp.nan_to_num({x})", "jnp.where({x} > 0.137, {x}, {x} * 0.5)",
)
STEPS = (
    "jnp.floor({x} * 1.7 + 0.217) * 0.3", "jnp.sign({x} - 0.0137)",
    "jnp.round({x} * 1.3 + 0.117) * 0.3", "jnp.ceil({x} * 1.7 + 0.217) * 0.3",
    "jnp.remainder({x} * 1.1 + 0.0137, 1.3)", "jnp.fmod({x} * 1.1 + 0.0137, 1.3)",
    "jnp.where({x} > 0.137, {x}, 0.3 - {x})", "jnp.select([{x} > 0.337, {x} > -0.437], "
    "[{x} * 0.5, jnp.sin({x})], 0.3)",
)
PAIRS = (
    "({x} + {y}) * 0.5", "{x} * {y} * 0.5", "({x} - {y}) * 0.5", "{x} / ({y} + 3.1)",
    "jnp.maximum({x}, {y})", "jnp.minimum({x}, {y})", "jnp.arctan2({x}, {y} + 3.1)",
    "jnp.power({x} + 3.1, {y} * 0.5) * 0.3", "jnp.logaddexp({x}, {y}) * 0.7",
    "jnp.hypot({x}, {y} + 3.1) * 0.3", "jnp.fmax({x}, {y})", "jnp.fmin({x}, {y})",
    "jax.scipy.special.xlog1py({x}, {y} + 3.1) * 0.4",
)
REDUCTIONS = (
    "jnp.sum({x}, {axes}) * {share}", "jnp.mean({x}, {axes})", "jnp.max({x}, {axes})",
    "jnp.min({x}, {axes})", "jnp.tanh(jnp.prod({x}, {axes}))",
    "jax.nn.logsumexp({x}, {axes}) * 0.4", "jnp.var({x}, {axes}) * 0.5",
    "jnp.sqrt(jnp.sum(jnp.square({x}), {axes}) + 0.3) * 0.2", "jnp.ptp({x}, {axes}) * 0.5",
    "jnp.nansum({x}, {axes}) * {share}", "jnp.nanmax({x}, {axes})", "jnp.average({x}, {axes})",
    "jnp.median({x}, {axes})", "jnp.quantile({x}, 0.3, {axes})",
)
RUNNING = (
    "jnp.cumsum({x}, axis={axis}) * {share}", "jnp.tanh(jnp.cumprod({x}, axis={axis}))",
    "jax.lax.cummax({x}, axis={axis}, reverse=True)", "jax.lax.cummin({x}, axis={axis})",
    "jax.lax.cumlogsumexp({x}, axis={axis}) * 0.4", "jax.nn.softmax({x}, axis={axis})",
    "jax.nn.log_softmax({x}, axis={axis}) * 0.3", "jnp.sort({x}, axis={axis})",
    "jnp.flip({x}, axis={axis})", "jnp.roll({x}, 1, axis={axis})",
    "jax.lax.cumsum({x}, axis={axis}, reverse=True) * {share}",
    "jnp.tanh(jax.lax.cumprod({x}, axis={axis}, reverse=True))",
    "jnp.diff({x}, axis={axis}, prepend=0.1) * 0.5",
    "jnp.fft.irfft(jnp.fft.rfft({x}, axis={axis}), {x}.shape[{axis}], axis={axis})",
    "jax.lax.fori_loop(0, {x}.shape[{axis}], lambda k, y: jnp.roll(y, k, axis={axis}), {x})",
)


def joined(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two broadcast to; None where they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def partner(s: Scope, x: Var) -> Var:
    """A real value that broadcasts with x, to something small."""
    def fits(v: Var) -> bool:
        shape = joined(v.type.shape, x.type.shape)
        return v.type.real and shape is not None and Type(F64, shape).size <= MAX_SIZE
    return s.found(fits, x)


def unary(s: Scope) -> None:
    x = s.real()
    kind = s.writer.number(0, 9)
    if kind >= 8:
        x = s.decisive()
        row = s.writer.choice(STEPS)
    else:
        row = s.writer.choice(KINKED if kind >= 6 else SMOOTH)
    s.emit(x.type, row.format(x=s.fit(x, x.type)), x)


def binary(s: Scope) -> None:
    x = s.real()
    y = partner(s, x)
    t = Type(F64 if F64 in (x.type.dtype, y.type.dtype) else F32,
             np.broadcast_shapes(x.type.shape, y.type.shape))
    s.emit(t, s.writer.choice(PAIRS).format(x=s.fit(x, x.type), y=s.fit(y, y.type)), x, y)


def choose(s: Scope) -> None:
    p, x = s.boolean(), s.wide()
    shape = joined(p.type.shape, x.type.shape)
    if shape is None or Type(F64, shape).size > MAX_SIZE:
        p_text, shape = s.fit(p, Type(BOOL, x.type.shape)), x.type.shape
    else:
        p_text = p.name
    t = Type(F64, shape)
    y = s.wide()
    if s.writer.chance(3):
        text = (f"jax.lax.select_n({s.fit(p, Type(BOOL, shape))}, {s.fit(x, t)}, {s.fit(y, t)})")
    else:
        text = f"jnp.where({p_text}, {s.fit(x, x.type)}, {s.fit(y, t)})"
    s.emit(t, text, p, x, y)


def compare(s: Scope) -> None:
    if s.writer.chance(3):
        i = s.integers()
        s.emit(Type(BOOL, i.type.shape), s.writer.choice(
            ("{i} > 2", "{i} == 3", "{i} % 2 == 0", "({i} & 1) != 0")).format(i=i.name), i)
        return
    x = s.decisive()
    y = s.decisive()
    shape = joined(x.type.shape, y.type.shape)
    if shape is None or Type(BOOL, shape).size > MAX_SIZE or s.writer.chance(2):
        s.emit(Type(BOOL, x.type.shape),
               f"{s.fit(x, x.type)} {s.writer.choice('<>')} {s.writer.choice((0.137, -0.337))}", x)
    else:
        s.emit(Type(BOOL, shape), f"{s.fit(x, x.type)} > {s.fit(y, y.type)} + 0.0137", x, y)


def logic(s: Scope) -> None:
    p = s.boolean()
    q = s.found(lambda v: v.type.dtype == BOOL and v.type.shape == p.type.shape, p)
    s.emit(p.type, s.writer.choice(("{p} & {q}", "{p} | ~{q}", "{p} ^ {q}", "~{p}",
                                    "jnp.logical_and({p}, {q})")).format(p=p.name, q=q.name), p, q)


def counting(s: Scope) -> None:
    i = s.integers()
    j = s.found(lambda v: v.type.dtype == I32 and v.type.shape == i.type.shape, i)
    row = s.writer.choice((
        "({i} + {j}) % 7", "{i} * 3 % 5", "({i} ^ {j}) % 7", "{i} // 2", "({i} << 1) % 7",
        "jnp.maximum({i}, {j})", "jax.lax.population_count({i})", "jnp.where({i} > {j}, {i}, 1)",
        "(6 - {i})", "({i}.astype(jnp.uint8) * 37 % 7).astype(jnp.int32)",
        "({i}.astype(jnp.int64) * -3 // 4 % 5).astype(jnp.int32)", "jnp.gcd({i}, {j})",
        "jnp.clip({i}, 1, 4)", "jnp.sort({i})" if i.type.ndim else "abs({i} - 3)",
        "jax.lax.rem({i}, jnp.full_like({i}, 4))"))
    s.emit(i.type, row.format(i=i.name, j=j.name), i, j)


def convert(s: Scope) -> None:
    kind = s.writer.number(0, 3)
    if kind == 0:
        v = s.integers()
    elif kind == 1:
        v = s.boolean()
    elif kind == 2 and s.writer.narrow:
        v = s.wide()
        s.emit(Type(F32, v.type.shape), s.fit(v, Type(F32, v.type.shape)), v)
        return
    else:
        v = s.decisive()
        text = f"(jnp.floor({s.fit(v, v.type)} * 1.7 + 0.217).astype(jnp.int32) % 7)"
        s.emit(Type(I32, v.type.shape), text, v)
        return
    s.emit(Type(F64, v.type.shape), s.fit(v, Type(F64, v.type.shape)), v)


def reduce(s: Scope) -> None:
    x = s.array()
    axes = s.writer.choice([*range(x.type.ndim), -1, None, tuple(range(x.type.ndim))])
    keep = s.writer.chance(3)
    gone = set(range(x.type.ndim)) if axes is None else \
        {a % x.type.ndim for a in (axes if isinstance(axes, tuple) else (axes,))}
    shape = tuple(1 if k in gone else d for k, d in enumerate(x.type.shape)
                  if keep or k not in gone)
    share = 1 / int(np.prod([x.type.shape[k] for k in gone]))
    given = f"axis={axes}" + (", keepdims=True" if keep else "")
    s.emit(Type(x.type.dtype, shape),
           s.writer.choice(REDUCTIONS).format(x=x.name, axes=given, share=f"{share:.4}"), x)


def reduce_logic(s: Scope) -> None:
    kind = s.writer.number(0, 3)
    if kind == 0:
        p = s.boolean()
        s.emit(Type(BOOL), f"jnp.{s.writer.choice(('any', 'all'))}({p.name})", p)
    elif kind == 1:
        p = s.boolean()
        s.emit(Type(I32), f"(jnp.sum({p.name}) % 7).astype(jnp.int32)", p)
    else:
        x = s.decisive()
        if x.type.size == 0 or x.type.ndim != 1:
            x = s.shaped((3,))
        if not x.exact:
            return
        n = x.type.shape[0]
        name = s.writer.choice(("argmax", "argmin", "argsort"))
        s.emit(Type(I32, (n,) if name == "argsort" else ()),
               f"jnp.{name}({x.name} + 0.0137 * jnp.arange({n})).astype(jnp.int32)", x)


def running(s: Scope) -> None:
    x = s.array()
    axis = s.writer.number(0, x.type.ndim - 1)
    share = f"{1 / x.type.shape[axis]:.4}"
    s.emit(x.type, s.writer.choice(RUNNING).format(x=x.name, axis=axis, share=share), x)


def ordered(s: Scope) -> None:
    x = s.decisive()
    if x.type.ndim != 1 or x.type.size == 0:
        x = s.shaped((3,))
    if not x.exact:
        return
    n = x.type.shape[0]
    key = f"{x.name} + 0.0137 * jnp.arange({n})"
    y = s.wide()
    kind = s.writer.number(0, 2)
    if kind == 0:
        s.emit(x.type, f"jax.lax.sort(({key}, {s.fit(y, x.type)}), num_keys=1)[1]", x, y)
    elif kind == 1:
        s.emit(x.type, f"{s.fit(y, x.type)}[jnp.argsort({key})]", x, y)
    else:
        k = s.writer.number(1, n)
        s.emit(Type(F64, (k,)), f"jax.lax.top_k({x.name}, {k})[0]", x)


def complex_(s: Scope) -> None:
    z = s.pick(lambda v: v.type.dtype == C128)
    if z is None or s.writer.chance(4):
        x = s.wide()
        y = s.wide()
        s.emit(Type(C128, x.type.shape),
               f"jax.lax.complex({s.fit(x, x.type)}, {s.fit(y, x.type)})", x, y)
    elif s.writer.chance(2):
        row = s.writer.choice(("jnp.real({z}) * 0.6", "jnp.imag({z}) * 0.6",
                               "jnp.abs({z} + 4.1) * 0.25", "jnp.angle({z} + 4.1)",
                               "jnp.square(jnp.abs({z})) * 0.2"))
        s.emit(Type(F64, z.type.shape), row.format(z=z.name), z)
    else:
        w = s.found(lambda v: v.type.dtype == C128 and v.type.shape == z.type.shape, z)
        rows = ["jnp.exp({z} * 0.3)", "{z} * {w} * 0.3", "jnp.conj({z})", "jnp.sin({z} * 0.4)",
                "jnp.sqrt({z} + 4.1)", "jnp.log({z} + 4.1)", "1.0 / ({z} + 4.1)",
                "({z} - {w}) * 0.5j", "jnp.tanh({z} * 0.2)", "jnp.cumsum({z}.ravel()).reshape("
                f"{z.type.shape}) * {1 / max(1, z.type.size):.4}"]
        if z.type.ndim == 1 and z.type.size:
            rows += [f"jnp.fft.fft({{z}}) * {1 / z.type.size:.4}", "jnp.fft.ifft({z})"]
        s.emit(z.type, s.writer.choice(rows).format(z=z.name, w=w.name), z, w)
