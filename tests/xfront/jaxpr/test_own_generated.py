"""Primitives of one's own in random programs: they compute what the functions behind them do.

`XFRONT_GENERATED=500 pytest tests/xfront/jaxpr/test_own_generated.py` looks at more of them, other
ones every day.
"""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.extend.core import Primitive, jaxpr_as_fun
from xfront.interpreters import ad, batching, mlir, xla

COUNT = int(os.environ.get("XFRONT_GENERATED", "0")) or 24
FIRST = 0 if COUNT == 24 else datetime.date.today().toordinal() * 1000
Function = Callable[..., Any]

FUNCTIONS: dict[str, tuple[int, Function]] = {
    "wave": (1, lambda x, k: k * x * jnp.cos(x)),
    "product": (2, lambda x, y, k: k * x * y),
    "mixed": (3, lambda x, y, z, k: x * y + jnp.tanh(k * z)),
    "turned": (1, lambda x, k: k * jnp.flip(x, -1)),
    "summed": (1, lambda x, k: k * jnp.cumsum(x, -1)),
}


def primitive_of(r: random.Random, name: str) -> Function:
    """The function of a primitive with rules of every kind that fit."""
    n, f = FUNCTIONS[name]
    p, many = Primitive(name), r.random() < 0.3
    p.multiple_results = many

    def run(*args: Any, k: float) -> Any:
        return [f(*args, k=k), args[0] * k] if many else f(*args, k=k)

    def jvp(primals: Any, tangents: Any, *, k: float) -> Any:
        tangents = tuple(map(ad.instantiate_zeros, tangents))
        return p.bind(*primals, k=k), jax.jvp(partial(run, k=k), tuple(primals), tangents)[1]

    def slope(i: int) -> Function:
        return lambda t, *args, k: jax.jvp(
            lambda x: f(*args[:i], x, *args[i + 1:], k=k), (args[i],), (t,))[1]

    def batch(args: Any, dims: Any, *, k: float) -> Any:
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        made = p.bind(*[batching.bdim_at_front(x, d, size)
                        for x, d in zip(args, dims, strict=True)], k=k)
        return made, [0, 0] if many else 0

    p.def_abstract_eval(lambda x, *_, k: [x, x] if many else x)
    lowered, by_params = r.random() < 0.7, r.random() < 0.5
    p.def_impl(partial(xla.apply_primitive, p) if lowered and by_params else run)
    if lowered:
        mlir.register_lowering(p, mlir.lower_fun(run, many), r.choice([None, "cpu"]))
    if many or r.random() < 0.5:
        ad.primitive_jvps[p] = jvp
    elif name == "product" and r.random() < 0.5:
        ad.defbilinear(p, lambda ct, x, y, k: p.bind(ct, y, k=k),
                       lambda ct, x, y, k: p.bind(x, ct, k=k))
    else:
        ad.defjvp(p, *map(slope, range(n)))
    if name in ("turned", "summed") or r.random() < 0.5:
        batching.primitive_batchers[p] = batch
    else:
        r.choice([batching.defvectorized, batching.defbroadcasting])(p)
    return lambda *args, k: p.bind(*args, k=k)[0] if many else p.bind(*args, k=k)


def with_rule(f: Function, *args: Any) -> Any:
    made = jax.custom_vjp(f)
    made.defvjp(lambda *xs: (f(*xs), xs), lambda xs, ct: jax.vjp(f, *xs)[1](ct))
    return made(*args)


AROUND: dict[str, Callable[[Function], Function]] = {
    "jit": lambda f: jax.jit(lambda *xs: f(*xs) + jax.jit(f)(*xs)),
    "checkpoint": jax.checkpoint,
    "vmap": lambda f: lambda *xs: jax.vmap(f)(*[jnp.stack([x, x / 2]) for x in xs]).sum(0),
    "vmap of columns": lambda f: lambda *xs: jax.vmap(f, 1, 1)(
        *[jnp.stack([x, x / 2], 1) for x in xs]).sum(1),
    "vmap of one": lambda f: lambda x, *xs: jax.vmap(f, (0, *[None] * len(xs)))(
        jnp.stack([x, x / 2]), *xs).sum(0),
    "grad": lambda f: jax.grad(lambda *xs: f(*xs).sum()),
    "jvp": lambda f: lambda *xs: jax.jvp(f, xs, xs)[1],
    "linearize": lambda f: lambda *xs: jax.linearize(f, *xs)[1](*[2 * x for x in xs]),
    "vjp": lambda f: lambda *xs: jax.vjp(f, *xs)[1](xs[0])[-1],
    "scan": lambda f: lambda x, *xs: lax.scan(
        lambda c, k: (f(c, *xs) * 0.3 + k, c), x, jnp.arange(2.0))[0],
    "fori": lambda f: lambda x, *xs: lax.fori_loop(0, 2, lambda _, c: f(c, *xs) * 0.3, x),
    "cond": lambda f: lambda *xs: lax.cond(xs[0].sum() > 0, f, lambda x, *_: x, *xs),
    "custom_vjp": lambda f: partial(with_rule, f),
    "jaxpr": lambda f: lambda *xs: jaxpr_as_fun(jax.make_jaxpr(f)(*xs))(*xs)[0],
}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_primitive_computes_what_its_function_does(seed: int) -> None:
    r = random.Random(seed)
    name, k = r.choice(list(FUNCTIONS)), r.choice([2.0, 3, -1.5])
    n, plain = FUNCTIONS[name]
    around = [r.choice(list(AROUND)) for _ in range(r.randrange(1, 4))]
    both = [partial(f, k=k) for f in (primitive_of(r, name), plain)]
    for how in around:
        both = [AROUND[how](f) for f in both]
    xs = [jnp.array([0.5, -0.9, 2.2]) * (1 + 0.3 * i) for i in range(n)]
    own, wanted = (f(*xs) for f in both)
    np.testing.assert_allclose(own, wanted, rtol=2e-4, atol=1e-5, err_msg=f"{name} {around}")
