"""Functions to export, each with the arguments it is exported for and called with."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

CHANCE = np.random.default_rng(7)


def some(*shape: int, dtype: Any = np.float32) -> Any:
    """An array of random numbers from 0.5 to 2."""
    made = CHANCE.uniform(0.5, 2, shape)
    if np.issubdtype(np.dtype(dtype), np.complexfloating):
        made = made + 1j * CHANCE.uniform(0.5, 2, shape)
    return jnp.asarray(made, dtype)


def whole(*shape: int, dtype: Any = np.int32) -> Any:
    """An array of integers from 1 to 5."""
    return jnp.asarray(CHANCE.integers(1, 6, shape), dtype)


HELD = np.linspace(0, 1, 4, dtype=np.float32)


def network(params: Any, x: Any) -> Any:
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return jax.nn.log_softmax(x @ w + b)


def power(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * x), (0, x))[1]


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -0.5, 0.5),))

DIFFERENTIABLE: dict[str, tuple[Any, tuple]] = {
    "sin": (jnp.sin, (some(3),)),
    "weak": (lambda x: x * 2, (1.5,)),
    "tree": (lambda t: {"a": t["u"] * t["v"][0], "b": (t["u"].sum(), [t["v"][1]])},
             ({"u": some(3), "v": (some(3), some())},)),
    "ordered": (lambda d: OrderedDict(z=d["q"], a=d["b"] * 2),
                (OrderedDict(q=some(2), b=some(2)),)),
    "none": (lambda x, y: (None, x * 2, ()), (some(2), None)),
    "unread": (lambda x, y: y * 2, (some(3), some())),
    "same": (lambda x: (x, x), (some(2),)),
    "constant": (lambda x: (x * 2, jnp.arange(3.0)), (some(),)),
    "captured": (lambda x: x * HELD + jnp.asarray(HELD), (some(4),)),
    "integers": (lambda x, n: {"r": x * n, "i": n + 1}, (some(3), whole(3))),
    "bools": (lambda x, m: jnp.where(m, x, -x), (some(3), jnp.array([True, False, True]))),
    "dot": (lambda x, y: x @ y, (some(2, 3), some(3, 2))),
    "einsum": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (some(2, 2, 3), some(2, 3, 2))),
    "conv": (lambda x, w: lax.conv(x, w, (1, 1), "SAME"), (some(1, 1, 4, 4), some(1, 1, 2, 2))),
    "reduce": (lambda x: (x.sum(0), x.max(1), x.prod()), (some(2, 3),)),
    "sort": (lambda x: jnp.sort(x)[::-1], (some(5),)),
    "gather": (lambda x, i: x[i], (some(5), jnp.array([0, 4, 2]))),
    "scatter": (lambda x, v: x.at[jnp.array([0, 2])].add(v), (some(4), some(2))),
    "pad": (lambda x: jnp.pad(x, 2, mode="edge"), (some(3),)),
    "special": (lambda x: (lax.erf(x), lax.lgamma(x), lax.digamma(x), lax.erf_inv(x / 3)),
                (some(3),)),
    "hyperbolic": (lambda x: (jnp.arctan(x), jnp.cosh(x), jnp.arcsinh(x), jnp.tan(x / 2)),
                   (some(3),)),
    "scan": (lambda c, xs: lax.scan(lambda c, x: (c * x, c + x), c, xs), (some(), some(4))),
    "branches": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 2], x),
                 (jnp.int32(1), some(2))),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: y * x + i, x), (some(),)),
    "nested": (lambda x: jax.vmap(jax.jit(lambda v: jnp.sin(v) * v))(x), (some(3),)),
    "gradient": (jax.grad(lambda x: jnp.sin(x) ** 3), (some(),)),
    "rule": (lambda x: clipped(x) * 2, (some(3),)),
    "network": (network, ([(some(3, 4), some(4)), (some(4, 2), some(2))], some(5, 3))),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(3)), (some(3, 3),)),
    "solve": (lambda a, b: jnp.linalg.solve(a + 3 * jnp.eye(3), b), (some(3, 3), some(3))),
    "eigh": (lambda x: jnp.linalg.eigh(x + x.T)[0], (some(3, 3),)),
    "fft": (lambda x: jnp.abs(jnp.fft.fft(x)), (some(4),)),
    "half": (lambda x: jnp.exp(x), (some(3, dtype=jnp.float16),)),
    "brain": (lambda x: x * x, (some(3, dtype=jnp.bfloat16),)),
    "complex": (lambda z: jnp.real(z * jnp.conj(z) + z), (some(2, dtype=np.complex64),)),
    "empty": (lambda x: x * 2, (some(0, 3),)),
}
"""Functions with derivatives."""

OTHERS: dict[str, tuple[Any, tuple]] = {
    "nothing": (lambda: jnp.arange(3), ()),
    "while": (power, (some(),)),
    "keys": (lambda k: jax.random.normal(k, (3,)), (jax.random.key(3),)),
    "split": (lambda k: jax.random.split(k), (jax.random.key(3),)),
    "captured_key": (lambda x: x + jax.random.uniform(KEY), (some(),)),
    "words": (lambda x: (x.astype(jnp.int8), x > 2, x.astype(jnp.uint16)), (whole(4),)),
    "small": (lambda x: (x.astype(jnp.int4), x.astype(jnp.float8_e4m3fn)), (whole(4),)),
    "bits": (lambda x: (x << 2, lax.population_count(x), ~x), (whole(3, dtype=np.uint8),)),
    "argmax": (lambda x: (jnp.argmax(x), lax.top_k(x, 2)), (some(6),)),
    "qr": (lambda x: tuple(jnp.linalg.qr(x)), (some(3, 3),)),
    "svd": (lambda x: jnp.linalg.svd(x, compute_uv=False), (some(3, 2),)),
    "unique": (lambda x: jnp.unique(x, size=3), (whole(6),)),
}
"""Functions without."""

KEY = jax.random.key(11)
PROGRAMS = {**DIFFERENTIABLE, **OTHERS}
