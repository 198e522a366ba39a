"""What a program may write with bodies: control flow, custom rules, transformations inside."""

from __future__ import annotations

from .program import Type, Var
from .writer import BOOL, F32, F64, I32, Scope

INNER_SHAPES = ((), (3,), (2,), (2, 3), (1,))


def some_type(s: Scope) -> Type:
    """A type for what a body takes or gives."""
    dtype = F32 if s.writer.narrow and s.writer.chance(4) else F64
    return Type(dtype, s.writer.choice(INNER_SHAPES))


def some_types(s: Scope, high: int = 2) -> list[Type]:
    """One or two of them, now and then an integer or bool behind."""
    made = [some_type(s) for _ in range(s.writer.number(1, high))]
    return [*made, Type(s.writer.choice((I32, BOOL)))] if s.writer.chance(5) else made


def operands(s: Scope, types: list[Type]) -> tuple[list[str], list[Var]]:
    """An expression for each type, and what they are made of."""
    sources = [s.wide() if t.real else s.integers() if t.dtype == I32 else s.boolean()
               for t in types]
    return [s.fit(v, t) for v, t in zip(sources, types, strict=True)], sources


def ops(s: Scope, high: int = 5) -> int:
    """How many ops a body has."""
    return s.writer.number(1, high)


def finish(s: Scope, wants: list[Type], expression: str, packed: bool = False) -> None:
    """Name what a call gives: it may move, and nothing is decided of it in narrow programs."""
    blur = Var("", Type(F64), exact=not s.writer.narrow, moving=True)
    s.emit_all(wants, expression, blur, packed=packed)


def predicate(s: Scope) -> str:
    """A bool that is no array."""
    return s.fit(s.boolean(), Type(BOOL))


def packed(texts: list[str]) -> str:
    """The text of a tuple."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


# --- control flow -------------------------------------------------------------------------

def cond(s: Scope) -> None:
    wants, p = some_types(s), predicate(s)
    given, _ = operands(s, kinds := some_types(s) if s.writer.chance(2) else [])
    yes = s.body(kinds, wants, ops(s))
    no = s.body(kinds, wants, ops(s, 3))
    finish(s, wants, f"jax.lax.cond({', '.join([p, yes, no, *given])})")


def switch(s: Scope) -> None:
    wants, kinds = some_types(s), [some_type(s)]
    k = s.fit(s.integers(0, 0), Type(I32))
    given, _ = operands(s, kinds)
    branches = [s.body(kinds, wants, ops(s, 3)) for _ in range(s.writer.number(2, 3))]
    finish(s, wants, f"jax.lax.switch({k}, [{', '.join(branches)}], {', '.join(given)})")


def scan(s: Scope) -> None:
    n = s.writer.choice((3, 2)) if s.writer.chance(4) else s.writer.choice((3, 1, 0))
    carried, made = some_types(s), some_types(s, 1)
    rows = [] if s.writer.chance(3) else some_types(s, 1)
    init, _ = operands(s, carried)
    stacked, _ = operands(s, [Type(t.dtype, (n, *t.shape)) for t in rows])
    k = len(carried)
    opening = " = s; ".join([packed(["{}"] * k), packed(["{}"] * len(rows)) + " = y"]
                            ) if rows else packed(["{}"] * k) + " = s"
    body = s.body([*carried, *rows], [*carried, *made], ops(s), opening=opening, shown="s, y",
                  returns=lambda r: f"{packed(r[:k])}, {packed(r[k:])}")
    more = packed(stacked) if rows else f"None, length={n}"
    more += ", reverse=True" if s.writer.chance(3) else ""
    more += ", unroll=2" if s.writer.chance(5) else ""
    call = f"jax.lax.scan({body}, {packed(init)}, {more})"
    finish(s, [*carried, *[Type(t.dtype, (n, *t.shape)) for t in made]],
           f"(lambda s, y: (*s, *y))(*{call})")


def scan_of_tree(s: Scope) -> None:
    t = some_type(s)
    init, _ = operands(s, [t, t])
    body = s.body([t, t], [t, t], ops(s), opening="{}, {} = s['a'], s['b'][0]", shown="s, _",
                  returns=lambda r: f"{{'a': {r[0]}, 'b': ({r[1]}, None)}}, None")
    start = f"{{'a': {init[0]}, 'b': ({init[1]}, None)}}"
    name = body if s.writer.chance(2) else f"jax.checkpoint({body})"
    call = f"jax.lax.scan({name}, {start}, length=3)[0]"
    finish(s, [t, t], f"(lambda s: (s['a'], s['b'][0]))({call})")


def while_loop(s: Scope) -> None:
    carried = some_types(s)
    init, _ = operands(s, carried)
    n = s.fit(s.integers(0, 0), Type(I32))
    line = "i, " + ", ".join(["{}"] * len(carried)) + " = s"
    body = s.body(carried, carried, ops(s, 4), opening=line,
                  returns=lambda r: packed(["i + 1", *r]))
    test = f"s[0] < {n} % 4"
    if not s.writer.narrow and s.writer.chance(3):
        test = "(s[0] < 4) & (jnp.sum(jnp.sin(s[1])) < 0.731)"
    start = packed(["jnp.int32(0)", *init])
    finish(s, carried, f"jax.lax.while_loop(lambda s: {test}, {body}, {start})[1:]", True)


def fori_loop(s: Scope) -> None:
    carried = some_types(s)
    init, _ = operands(s, carried)
    upper = str(s.writer.number(0, 3))
    if s.writer.chance(2):
        upper = f"{s.fit(s.integers(0, 0), Type(I32))} % 4"
    body = s.body(carried, carried, ops(s, 4), opening=packed(["{}"] * len(carried)) + " = s",
                  returns=packed, shown="i, s", counter=True)
    finish(s, carried, f"jax.lax.fori_loop(0, {upper}, {body}, {packed(init)})", True)


def lax_map(s: Scope) -> None:
    n, row, wants = s.writer.choice((3, 2)), some_type(s), some_types(s)
    given, _ = operands(s, [Type(row.dtype, (n, *row.shape))])
    body = s.body([row], wants, ops(s, 4), returns=packed)
    size = ", batch_size=2" if s.writer.chance(3) else ""
    finish(s, [Type(t.dtype, (n, *t.shape)) for t in wants],
           f"jax.lax.map({body}, {given[0]}{size})", True)


def associative_scan(s: Scope) -> None:
    x = s.array()
    axis = s.writer.number(0, x.type.ndim - 1)
    more = f"axis={axis}" + (", reverse=True" if s.writer.chance(3) else "")
    share = f"{1 / x.type.shape[axis]:.4}"
    row = s.writer.choice((
        "jax.lax.associative_scan(jnp.add, {x}, {more}) * {share}",
        "jnp.tanh(jax.lax.associative_scan(jnp.multiply, {x}, {more}))",
        "jax.lax.associative_scan(jnp.maximum, {x}, {more})",
        "jnp.tanh(jax.lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), "
        "({x} * 0.5, {x}), {more})[1])"))
    s.emit(x.type, row.format(x=x.name, more=more, share=share), x)


# --- transformations without a derivative --------------------------------------------------

def jit(s: Scope) -> None:
    kinds, wants = some_types(s), some_types(s)
    given, _ = operands(s, kinds)
    body = s.body(kinds, wants, ops(s))
    how = s.writer.choice((
        "jax.jit({f})", "jax.checkpoint({f})", "jax.remat({f})",
        "jax.checkpoint({f}, policy=jax.checkpoint_policies.dots_saveable)"))
    finish(s, wants, f"{how.format(f=body)}({', '.join(given)})")


def vmap(s: Scope) -> None:
    n = s.writer.choice((3, 2))
    kinds, wants = some_types(s), some_types(s)
    shared = [s.writer.chance(3) for _ in kinds]
    shared[0] = False
    axes = [None if c else s.writer.number(0, t.ndim) for t, c in zip(kinds, shared, strict=True)]
    whole = [t if a is None else Type(t.dtype, (*t.shape[:a], n, *t.shape[a:]))
             for t, a in zip(kinds, axes, strict=True)]
    given, _ = operands(s, whole)
    body = s.body(kinds, wants, ops(s), returns=packed)
    outs = [s.writer.number(0, t.ndim) for t in wants]
    made = [Type(t.dtype, (*t.shape[:a], n, *t.shape[a:]))
            for t, a in zip(wants, outs, strict=True)]
    places = f"in_axes={tuple(axes)}, out_axes={tuple(outs)}"
    finish(s, made, f"jax.vmap({body}, {places})({', '.join(given)})", True)


def named_axis(s: Scope) -> None:
    n, row, wants = s.writer.choice((3, 2)), some_type(s), [some_type(s)]
    given, _ = operands(s, [Type(row.dtype, (n, *row.shape))])
    axis = s.writer.fresh("axis")
    body = s.body([row], wants, ops(s), axis=axis)
    finish(s, [Type(t.dtype, (n, *t.shape)) for t in wants],
           f"jax.vmap({body}, axis_name='{axis}')({given[0]})")


def collective(s: Scope) -> None:
    x = s.wide()
    text, axis = s.fit(x, x.type), f"'{s.axis}'"
    row = s.writer.choice((
        "jax.lax.pmean({x}, {axis})", "jax.lax.psum({x}, {axis}) * 0.3",
        "jax.lax.pmax({x}, {axis})", "{x} - jax.lax.pmin({x}, {axis}) * 0.5",
        "jax.lax.all_gather({x}, {axis})[0] * 0.7",
        "jax.lax.ppermute({x}, {axis}, [(0, 1), (1, 0)])",
        "jnp.tanh({x} * jax.lax.axis_index({axis}))",
        "{x} / jax.lax.axis_size({axis})") if s.axis else ("jnp.sin({x})",))
    s.emit(x.type, row.format(x=text, axis=axis), x)


# --- custom rules -------------------------------------------------------------------------

def custom_rule(s: Scope) -> None:
    kinds = [some_type(s) for _ in range(s.writer.number(1, 2))]
    wants = [some_type(s) for _ in range(s.writer.number(1, 2))]
    given, _ = operands(s, kinds)
    body = s.body(kinds, wants, ops(s, 4), sealed=True)
    rule = s.writer.fresh("f")
    way = s.writer.number(0, 4)
    if way == 4:
        s.say(f"{rule} = jax.custom_jvp(lambda g, *p: g(*p), nondiff_argnums=(0,))")
        s.say(f"{rule}.defjvp(lambda g, p, t: jax.jvp(g, p, t))")
        given.insert(0, body)
    elif way == 0:
        s.say(f"{rule} = jax.custom_jvp({body})")
        s.say(f"{rule}.defjvp(lambda p, t: jax.jvp({body}, p, t))")
    elif way == 1:
        s.say(f"{rule} = jax.custom_vjp({body})")
        s.say(f"{rule}.defvjp(lambda *p: jax.vjp({body}, *p), lambda pull, ct: pull(ct))")
    elif way == 2:
        s.say(f"{rule} = jax.custom_vjp({body})")
        s.say(f"{rule}.defvjp(lambda *p: ({body}(*p), p), "
              f"lambda p, ct: jax.vjp({body}, *p)[1](ct))")
    else:
        s.say(f"{rule} = jax.custom_gradient(lambda *p: jax.vjp({body}, *p))")
    finish(s, wants, f"{rule}({', '.join(given)})")


def known_rule(s: Scope) -> None:
    x = s.wide()
    name = s.writer.fresh("f")
    factor = s.found(lambda v: v.type == Type(F64) and not v.moving, s.constant()).name
    if s.writer.chance(4):
        s.say(f"{name} = jax.custom_batching.sequential_vmap(lambda a: jnp.sin(a) * 0.7)")
    elif s.writer.chance(2):
        s.say(f"{name} = jax.custom_jvp(lambda a: jnp.sin(a) * {factor})")
        s.say(f"{name}.defjvps(lambda t, out, a: jnp.cos(a) * {factor} * t)")
    else:
        s.say(f"{name} = jax.custom_vjp(lambda a: jnp.sin(a) * {factor})")
        s.say(f"{name}.defvjp(lambda a: ({name}(a), a), "
              f"lambda a, ct: (jnp.cos(a) * {factor} * ct,))")
    s.emit(x.type, f"{name}({s.fit(x, x.type)})", x, moving=True)


# --- derivatives inside ---------------------------------------------------------------------

def grad(s: Scope) -> None:
    kinds = [Type(F64, s.writer.choice(INNER_SHAPES)) for _ in range(s.writer.number(1, 2))]
    given, _ = operands(s, kinds)
    body = s.body(kinds, [Type(F64)], ops(s, 4), order=1)
    at = s.writer.number(0, len(kinds) - 1)
    call = f"jnp.tanh(jax.grad({body}, argnums={at})({', '.join(given)}))"
    if s.writer.chance(4):
        call = f"jnp.tanh(jax.value_and_grad({body}, argnums={at})({', '.join(given)})[1])"
    finish(s, [kinds[at]], call)


def hessian(s: Scope) -> None:
    kinds = [Type(F64, s.writer.choice(((2,), (), (3,))))]
    given, _ = operands(s, kinds)
    body = s.body(kinds, [Type(F64)], ops(s, 3), order=2)
    finish(s, [Type(F64, kinds[0].shape * 2)], f"jnp.tanh(jax.hessian({body})({given[0]}))")


def grad_with_aux(s: Scope) -> None:
    kinds = [Type(F64, s.writer.choice(INNER_SHAPES)), some_type(s)]
    given, _ = operands(s, kinds)
    aux = some_type(s)
    body = s.body(kinds, [Type(F64), aux], ops(s, 4), order=1)
    finish(s, [kinds[0], aux], f"jax.tree.map(jnp.tanh, jax.grad({body}, has_aux=True)"
                               f"({', '.join(given)}))")


def jvp(s: Scope) -> None:
    kinds, want = [Type(F64, s.writer.choice(INNER_SHAPES))], Type(F64, (3,))
    given, _ = operands(s, kinds)
    along, _ = operands(s, kinds)
    body = s.body(kinds, [want], ops(s, 4), order=1)
    call = s.writer.choice((
        f"jax.jvp({body}, ({given[0]},), ({along[0]},))[1]",
        f"jax.linearize({body}, {given[0]})[1]({along[0]})"))
    finish(s, [want], f"jnp.tanh({call})")


def vjp(s: Scope) -> None:
    kinds = [Type(F64, s.writer.choice(INNER_SHAPES)) for _ in range(2)]
    wants = [Type(F64, (2,)), Type(F64)]
    given, _ = operands(s, kinds)
    ct, _ = operands(s, wants)
    body = s.body(kinds, wants, ops(s, 4), order=1)
    finish(s, kinds, f"jax.tree.map(jnp.tanh, jax.vjp({body}, {', '.join(given)})[1]"
                     f"({packed(ct)}))")


def jacobian(s: Scope) -> None:
    kinds, want = [Type(F64, s.writer.choice(((3,), (2,), ())))], Type(F64, (2,))
    given, _ = operands(s, kinds)
    body = s.body(kinds, [want], ops(s, 3), order=1)
    way = s.writer.choice(("jacfwd", "jacrev"))
    finish(s, [Type(F64, (2, *kinds[0].shape))], f"jnp.tanh(jax.{way}({body})({given[0]}))")
