"""What a program may write about places: shapes, indices, products of arrays, matrices."""

from __future__ import annotations

from .program import Type
from .writer import F64, MAX_SIZE, Scope


def reshape(s: Scope) -> None:
    x = s.real()
    t, text = x.type, s.fit(x, x.type)
    d = t.shape
    rows = [(f"jnp.reshape({text}, (-1,))" if t.size else f"jnp.reshape({text}, ({t.size},))",
             (t.size,)),
            (f"jnp.expand_dims({text}, 0)", (1, *d)), (f"jnp.transpose({text})", d[::-1]),
            (f"jnp.squeeze({text})", tuple(n for n in d if n != 1)),
            (f"jnp.broadcast_to({text}, {(2, *d)})", (2, *d)),
            (f"jnp.stack([{text}, -{text}], axis=-1)", (*d, 2)),
            (f"jnp.swapaxes({text}, 0, -1)", d[::-1]) if t.ndim == 2 else
            (f"jnp.ravel({text})", (t.size,)),
            (f"jnp.atleast_2d({text})", d if t.ndim >= 2 else (1, *d) if d else (1, 1))]
    if t.ndim == 2:
        rows += [(f"jax.lax.broadcast_in_dim({text}, {(d[0], 2, d[1])}, (0, 2))", (d[0], 2, d[1])),
                 (f"jnp.moveaxis({text}, 0, 1)", d[::-1]), (f"jnp.rot90({text})", d[::-1]),
                 (f"jnp.hstack([{text}, {text}])", (d[0], 2 * d[1]))]
    if t.ndim == 1 and t.size:
        rows += [(f"jnp.diag({text})", (t.size, t.size)),
                 (f"jnp.meshgrid({text}, {text})[0]", (t.size, t.size))]
    if t.ndim:
        n = d[0]
        rows += [(f"jnp.array_split({text}, 2)[0]", ((n + 1) // 2, *d[1:])),
                 (f"jnp.append({text}, {text})", (2 * t.size,)),
                 (f"jnp.concatenate([{text}, {text} * 0.5], axis=0)", (2 * n, *d[1:])),
                 (f"jnp.pad({text}, 1)" if t.ndim == 1 else f"jnp.pad({text}, ((0, 1), (1, 0)))"
                  if t.ndim == 2 else f"jnp.flip({text})",
                  (n + 2,) if t.ndim == 1 else (n + 1, d[1] + 1) if t.ndim == 2 else d),
                 (f"jnp.tile({text}, 2)", (*d[:-1], 2 * d[-1])),
                 (f"jnp.repeat({text}, 2, axis=0)", (2 * n, *d[1:]))]
    if t.ndim == 1 and t.dtype == F64:
        rows.append((f"jax.lax.pad({text}, 0.0, ((-1, 2, 1),))" if n else f"-{text}",
                     (n + max(0, n - 1) + 1,) if n else d))
    rows = [(e, shape) for e, shape in rows if Type(F64, shape).size <= MAX_SIZE
            and len(shape) <= 3]
    expression, shape = s.writer.choice(rows)
    s.emit(Type(t.dtype, shape), expression, x)


def index(s: Scope) -> None:
    x = s.array()
    d, n = x.type.shape, x.type.shape[0]
    k = s.integers(0, 0)
    i = s.integers(1, 1)
    m = i.type.shape[0]
    rest = d[1:]
    a = s.writer.number(0, n - 1)
    rows = [(f"{x.name}[{a}]", rest), (f"{x.name}[-1]", rest), (f"{x.name}[::-1]", d),
            (f"{x.name}[{a}:]", (n - a, *rest)), (f"{x.name}[..., 0]", d[:-1]),
            (f"{x.name}[:, None]", (n, 1, *rest)), (f"{x.name}[{k.name} % {n}]", rest),
            (f"{x.name}[{i.name} % {n}]", (m, *rest)), (f"{x.name}[{k.name}]", rest),
            (f"jnp.take({x.name}, {i.name} % {n}, axis=0)", (m, *rest)),
            (f"jnp.take({x.name}, {i.name}, axis=-1, mode='wrap')", (*d[:-1], m)),
            (f"jnp.take({x.name}, {i.name}, axis=0, mode='clip')", (m, *rest)),
            (f"jnp.zeros({(7, *rest)}, {x.name}.dtype).at[{i.name}[:{min(m, n)}]]"
             f".add({x.name}[:{min(m, n)}]) * {1 / min(m, n):.4}", (7, *rest)),
            (f"jax.lax.dynamic_slice_in_dim({x.name}, {k.name}, {n - a}, axis=0)",
             (n - a, *rest)),
            (f"jax.lax.dynamic_index_in_dim({x.name}, {k.name}, axis=0, keepdims=False)", rest),
            (f"{x.name}.at[{i.name}].get(mode='fill', fill_value=0.25)", (m, *rest))]
    if x.type.ndim == 2:
        rows += [(f"{x.name}[{k.name} % {n}, {i.name} % {d[1]}]", (m,)),
                 (f"{x.name}[:, {k.name} % {d[1]}]", (n,)),
                 (f"jnp.take_along_axis({x.name}, {i.name}[None, :] % {d[1]}, axis=1)", (n, m)),
                 (f"jnp.diagonal({x.name})", (min(d),))]
    rows = [(e, shape) for e, shape in rows if len(shape) <= 3
            and Type(F64, shape).size <= MAX_SIZE]
    expression, shape = s.writer.choice(rows)
    s.emit(Type(x.type.dtype, shape), expression, x, k, i, moving=x.moving)


def update(s: Scope) -> None:
    x = s.array()
    d, n = x.type.shape, x.type.shape[0]
    rest = Type(x.type.dtype, d[1:])
    k = s.integers(0, 0)
    i = s.integers(1, 1)
    m = i.type.shape[0]
    many = Type(x.type.dtype, (m, *d[1:]))
    y = s.wide()
    if rest.dtype != F64 and not s.writer.narrow:
        return
    share = f"{1 / (m + 1):.4}"
    row = s.writer.choice((
        "{x}.at[{k} % {n}].set({one})", "{x}.at[{k} % {n}].multiply({one} * 0.5)",
        "{x}.at[{k}].add({one} * 0.5) * 0.6", "{x}.at[0].set(0.25)", "{x}.at[{k}].min({one})",
        "{x}.at[{i} % {n}].add({many}) * {share}", "{x}.at[{i} % {n}].max({many})",
        "jax.lax.dynamic_update_index_in_dim({x}, {one}, {k}, axis=0)",
        "jax.lax.dynamic_update_slice_in_dim({x}, {one}[None], {k}, axis=0)",
        "{x}.at[jnp.arange({n})[::-1]].set({x} * 0.5)", "{x}.at[{i}].set(0.125, mode='drop')"))
    s.emit(x.type, row.format(x=x.name, k=k.name, i=i.name, n=n, one=s.fit(y, rest),
                              many=s.fit(y, many), share=share), x, y)


def product(s: Scope) -> None:
    x = s.array(1, 3)
    d, n = x.type.shape, x.type.shape[-1]
    y = s.wide()
    m = s.writer.choice((2, 3, 1))
    t = x.type.dtype
    vector, matrix = s.fit(y, Type(t, (n,))), s.fit(y, Type(t, (n, m)))
    same = s.fit(y, x.type)
    share = f"{0.5 / n:.4}"
    rows = [("jnp.dot({x}, {v}) * {c}", d[:-1]), ("({x} @ {m}) * {c}", (*d[:-1], m)),
            ("jnp.matmul({x}, {m}) * {c}", (*d[:-1], m)),
            (f"jnp.vdot({{x}}, {{same}}) * {0.5 / x.type.size:.4}", ()),
            (f"jnp.tensordot({{x}}, {{same}}, {x.type.ndim}) * {0.5 / x.type.size:.4}", ()),
            ("jnp.einsum('...i,ij->...j', {x}, {m}) * {c}", (*d[:-1], m))]
    if x.type.ndim == 1:
        rows += [("jnp.outer({x}, {v}) * 0.5", (n, n)), ("jnp.kron({x}, {v}) * 0.5", (n * n,))]
    if x.type.ndim == 3:
        rows += [("jnp.einsum('bij,bkj->bik', {x}, {same}) * {c}", (*d[:2], d[1])),
                 ("jnp.einsum('bij,bij->b', {x}, {same}) * " + f"{0.5 / (d[1] * n):.4}", d[:1]),
                 ("jax.lax.batch_matmul({x}, jnp.swapaxes({same}, 1, 2)) * {c}", (*d[:2], d[1]))]
    if x.type.ndim == 2:
        rows += [("jnp.einsum('ij,jk,j->ik', {x}, {m}, {v}) * {c} * 0.5", (d[0], m)),
                 ("jax.vmap(jnp.dot)({x}, {same}) * {c}", d[:1]),
                 ("jnp.einsum('ij,kj->ik', {x}, {same}) * {c}", (d[0], d[0])),
                 ("jnp.einsum('ij,ij->j', {x}, {same}) * " + f"{0.5 / d[0]:.4}", (n,)),
                 ("jax.lax.dot_general({x}, {m}, (((1,), (0,)), ((), ()))) * {c}", (d[0], m)),
                 ("jax.lax.dot_general({x}, {same}, (((1,), (1,)), ((0,), (0,)))) * {c}", (d[0],)),
                 ("jnp.einsum('ij->ji', {x})", (n, d[0])), ("jnp.trace({x}) * 0.3", ())]
    rows = [(e, shape) for e, shape in rows if Type(F64, shape).size <= MAX_SIZE]
    expression, shape = s.writer.choice(rows)
    s.emit(Type(t, shape), expression.format(x=x.name, v=vector, m=matrix, same=same, c=share),
           x, y)


def window(s: Scope) -> None:
    x = s.shaped((3,)) if s.writer.chance(2) else s.shaped((2, 3))
    y = s.wide()
    kernel = s.fit(y, Type(F64, (2,)))
    size = f"(1, 2), (1, {s.writer.number(1, 2)}), 'SAME'" if x.type.ndim == 2 else \
        "(2,), (1,), 'SAME'"
    lanes = x.type.shape if "1, 2), (1, 2)" not in size else (2, 2)
    rows = [(f"jax.lax.reduce_window({x.name}, -jnp.inf, jax.lax.max, {size})", lanes),
            (f"jax.lax.reduce_window({x.name}, 0.0, jax.lax.add, {size}) * 0.5", lanes)]
    if x.type.ndim == 1:
        rows += [(f"jnp.convolve({x.name}, {kernel}, mode='same') * 0.5", (3,)),
                 (f"jnp.convolve({x.name}, {kernel}) * 0.5", (4,)),
                 (f"jnp.interp(jnp.tanh({x.name}), jnp.linspace(-1.2, 1.2, 3), {x.name})", (3,))]
    else:
        rows += [(f"jax.lax.conv_general_dilated({x.name}[None, :, :, None], {kernel}[None, :, "
                  "None, None], (1, 1), ((0, 0), (1, 0)), rhs_dilation=(1, 1), "
                  "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))[0, ..., 0] * 0.5", (2, 3)),
                 (f"jax.lax.conv_general_dilated({x.name}[None], jnp.ones((2, 1, 2)) * {kernel}, "
                  "(1,), ((1, 1),), lhs_dilation=(2,), feature_group_count=2)[0] * 0.5", (2, 6)),
                 (f"jax.lax.reduce_window({x.name}, jnp.inf, jax.lax.min, (2, 2), (1, 1), 'SAME')",
                  (2, 3)),
                 (f"jax.lax.reduce({x.name}, 0.0, jax.lax.add, (1,)) * 0.3", (2,)),
                 (f"jax.lax.reduce({x.name}, -9.0, lambda a, b: jnp.maximum(a, b), (0,))", (3,))]
        rows.append((f"jax.lax.conv_general_dilated({x.name}[:, None], {kernel}[None, None], (1,), "
                     f"'SAME')[:, 0] * 0.5", (2, 3)))
    expression, shape = s.writer.choice(rows)
    s.emit(Type(F64, shape), expression, x, y)


def matrix(s: Scope) -> None:
    n = s.writer.choice((2, 3))
    a = s.shaped((n, n))
    b = s.wide()
    vector = s.fit(b, Type(F64, (n,)))
    near = f"(jnp.eye({n}) * 5.0 + 0.4 * {a.name})"                  # its diagonal dominates
    apart = f"(jnp.diag(jnp.arange({n}) * 1.5 + 1.0) + 0.1 * ({a.name} + {a.name}.T))"
    positive = f"(jnp.eye({n}) * 2.0 + 0.1 * {a.name} @ {a.name}.T)"
    rows = [(f"jnp.linalg.solve({near}, {vector})", (n,)), (f"jnp.linalg.inv({near})", (n, n)),
            (f"jnp.linalg.det({near} * 0.2) * 0.4", ()),
            (f"jnp.linalg.cholesky({positive})", (n, n)),
            (f"jnp.linalg.slogdet({near})[1] * 0.3", ()),
            (f"jax.lax.linalg.triangular_solve({near}, {vector}[:, None], left_side=True, "
             "lower=True)", (n, 1)),
            (f"jax.lax.custom_linear_solve(lambda v: {near} @ v, {vector}, lambda mv, v: "
             f"jnp.linalg.solve({near}, v), lambda mv, v: jnp.linalg.solve({near}.T, v))", (n,)),
            (f"jax.scipy.linalg.expm({a.name} * 0.3) * 0.4", (n, n)),
            (f"jax.scipy.linalg.solve_triangular({near}, {vector}, lower=True)", (n,)),
            (f"jnp.linalg.matrix_power({a.name} * 0.5, 2)", (n, n)),
            (f"jnp.linalg.qr({near})[1] * 0.25", (n, n)),
            (f"jnp.linalg.eigh({apart})[0] * 0.3", (n,)),
            (f"jnp.square(jnp.linalg.eigh({apart})[1])", (n, n)),
            (f"jnp.linalg.svd({apart}, compute_uv=False) * 0.3", (n,)),
            (f"jnp.tril({a.name}) + jnp.triu({a.name}, 1) * 0.5", (n, n)),
            (f"jax.scipy.linalg.cho_solve((jnp.linalg.cholesky({positive}), True), {vector})",
             (n,))]
    expression, shape = s.writer.choice(rows)
    s.emit(Type(F64, shape), expression, a, b)
