"""Reductions, cumulative operations, loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels.sized import Program, between, kernel, normal

ROWS = (1_000, 30_000, 500_000)
SIZES = (1_000, 100_000, 1_000_000)
SQUARES = (64, 320, 1_000)


def short(
    name: str, width: int, f: Callable[[Any, Any], Any], sizes: tuple[int, ...] = ROWS
) -> None:
    """Registers the row of `f(jnp, x)` for an array of rows of `width` numbers."""

    @kernel(name, *sizes)
    def make(jax: Any, jnp: Any, n: int) -> Program:
        return lambda x: f(jnp, x), (normal(jnp, n, width),)


def running(name: str, f: Callable[[Any, Any], Any]) -> None:
    """Registers the row of `f(lax, x)` for one long array."""

    @kernel(name, *SIZES)
    def make(jax: Any, jnp: Any, n: int) -> Program:
        return lambda x: f(jax.lax, x), (between(jnp, 0.999, 1.001, n),)


def integers(name: str, f: Callable[[Any, Any], Any]) -> None:
    """Registers the row of `f(jnp, x)` for an array of rows of integers."""

    @kernel(f"{name} of rows, int32", *SQUARES)
    def make(jax: Any, jnp: Any, n: int) -> Program:
        return lambda x: f(jnp, x), (between(jnp, -1000, 1000, n, n, dtype=np.int32),)


integers("sum", lambda jnp, x: jnp.sum(x, axis=-1))
integers("max", lambda jnp, x: jnp.max(x, axis=-1))
integers("min", lambda jnp, x: jnp.min(x, axis=-1))
short("sum of rows of 2", 2, lambda jnp, x: jnp.sum(x, axis=-1))
short("sum of rows of 3", 3, lambda jnp, x: jnp.sum(x, axis=-1))
short("sum of rows of 8", 8, lambda jnp, x: jnp.sum(x, axis=-1))
short("max of rows of 4", 4, lambda jnp, x: jnp.max(x, axis=-1))
short("min of rows of 4", 4, lambda jnp, x: jnp.min(x, axis=-1))
short("norm of rows of 3", 3, lambda jnp, x: jnp.sqrt(jnp.sum(x * x, axis=-1)))
short("mean of rows of 128", 128, lambda jnp, x: jnp.mean(x, axis=-1), (64, 1_000, 10_000))
running("cumsum", lambda lax, x: lax.cumsum(x))
running("cumprod", lambda lax, x: lax.cumprod(x))
running("cummax", lambda lax, x: lax.cummax(x))
running("cummin", lambda lax, x: lax.cummin(x))
running("cumlogsumexp", lambda lax, x: lax.cumlogsumexp(x))


@kernel("sum of products, 7 axes", 4, 16, 64)
def sum_of_products(jax: Any, jnp: Any, n: int) -> Program:
    x, y = (normal(jnp, 3, 1, 2, 2, n, n, 8, seed=seed) for seed in (0, 1))
    return lambda x, y: jnp.sum(x * y, axis=3), (x, y)


@kernel("sum of a broadcast", *SQUARES)
def sum_of_broadcast(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.sum(jnp.broadcast_to(x, (4, n, n)) * 2), (normal(jnp, n, 1),)


@kernel("max of rows, float32", *SQUARES)
def max_of_rows(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.max(x, axis=1), (normal(jnp, n, n),)


@kernel("min of columns, float32", *SQUARES)
def min_of_columns(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.min(x, axis=0), (normal(jnp, n, n),)


@kernel("max of all, float32", *SQUARES)
def max_of_all(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.max(x), (normal(jnp, n, n),)


@kernel("softmax of rows of 3", *ROWS)
def softmax(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jax.nn.softmax(x, axis=-1), (normal(jnp, n, 3),)


@kernel("softmax of rows of 256", 16, 256, 2_048)
def softmax_long(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jax.nn.softmax(x, axis=-1), (normal(jnp, n, 256),)


@kernel("distances of points in 8 dimensions", 50, 300, 1_000)
def distances(jax: Any, jnp: Any, n: int) -> Program:
    def run(x: Any, y: Any) -> Any:
        return jnp.sqrt(jnp.sum((x[:, None] - y[None]) ** 2, axis=-1))

    return run, (normal(jnp, n, 8), normal(jnp, n, 8, seed=1))


@kernel("sum over a middle axis of 3", *SQUARES)
def sum_middle(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.sum(x, axis=1), (normal(jnp, n, 3, n),)


@kernel("sum of columns", *SQUARES)
def sum_columns(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.sum(x, axis=0), (normal(jnp, n, n),)


@kernel("any", *SIZES)
def any_(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.any(x > 10), (normal(jnp, n),)


@kernel("all of rows", *SQUARES)
def all_rows(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.all(x < 10, axis=-1), (normal(jnp, n, n),)


@kernel("cumsum of columns", *SQUARES)
def cumsum_columns(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.cumsum(x, axis=0), (normal(jnp, n, n),)


@kernel("cumsum of rows", *SQUARES)
def cumsum_rows(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.cumsum(x, axis=1), (normal(jnp, n, n),)


@kernel("gradient of cumsum", *SIZES)
def cumsum_grad(jax: Any, jnp: Any, n: int) -> Program:
    return jax.grad(lambda x: jnp.sum(jnp.cumsum(x) * x)), (normal(jnp, n),)


@kernel("scan of scalars", 100, 1_000, 10_000)
def scan(jax: Any, jnp: Any, n: int) -> Program:
    def step(carry: Any, x: Any) -> Any:
        carry = carry * 0.9 + x
        return carry, carry * carry

    return lambda xs: jax.lax.scan(step, 0.0, xs), (normal(jnp, n),)


def exchanging(jax: Any, i: Any, a: Any, b: Any) -> Any:
    """Two arrays after each has received 16 elements of the other."""
    from_a = jax.lax.dynamic_slice(a, (i,), (16,))
    from_b = jax.lax.dynamic_slice(b, (i,), (16,))
    a = jax.lax.dynamic_update_slice(a, from_b + 1, (i,))
    return a, jax.lax.dynamic_update_slice(b, from_a * 0.5, (i,))


@kernel("loop of two arrays that read each other", 1_000, 30_000, 300_000)
def ping_pong(jax: Any, jnp: Any, n: int) -> Program:
    run = lambda a, b: jax.lax.fori_loop(0, 100, lambda i, both: exchanging(jax, i, *both), (a, b))
    return run, (normal(jnp, n), normal(jnp, n, seed=1))


@kernel("while loop of two arrays that read each other", 1_000, 30_000, 300_000)
def while_ping_pong(jax: Any, jnp: Any, n: int) -> Program:
    def run(a: Any, b: Any, turns: Any) -> Any:
        return jax.lax.while_loop(lambda s: s[0] < turns,
                                  lambda s: (s[0] + 1, *exchanging(jax, *s)), (0, a, b))

    return run, (normal(jnp, n), normal(jnp, n, seed=1), jnp.int32(100))
