"""Elementwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels.sized import Program, between, kernel, normal

SIZES = (4_096, 65_536, 1_048_576)


def of_one(
    name: str, low: float, high: float, f: Callable[[Any, Any, Any], Any], dtype: Any = np.float32
) -> None:
    """Registers the row of `f(jax, jnp, x)` for x in [low, high)."""

    @kernel(name, *SIZES, x64=dtype is np.float64)
    def make(jax: Any, jnp: Any, n: int) -> Program:
        return lambda x: f(jax, jnp, x), (between(jnp, low, high, n, dtype=dtype),)


def of_two(name: str, f: Callable[[Any, Any, Any], Any], dtype: Any = np.float32) -> None:
    """Registers the row of `f(jnp, x, y)`."""

    @kernel(name, *SIZES)
    def make(jax: Any, jnp: Any, n: int) -> Program:
        x = between(jnp, -1000, 1000, n, dtype=dtype)
        return lambda x, y: f(jnp, x, y), (x, between(jnp, 1, 50, n, seed=1, dtype=dtype))


of_one("sin", -10, 10, lambda jax, jnp, x: jnp.sin(x))
of_one("cos", -10, 10, lambda jax, jnp, x: jnp.cos(x))
of_one("tan", -1.5, 1.5, lambda jax, jnp, x: jnp.tan(x))
of_one("asin", -1, 1, lambda jax, jnp, x: jnp.arcsin(x))
of_one("acos", -1, 1, lambda jax, jnp, x: jnp.arccos(x))
of_one("atan", -10, 10, lambda jax, jnp, x: jnp.arctan(x))
of_one("cbrt", -10, 10, lambda jax, jnp, x: jnp.cbrt(x))
of_one("x ** 1.5", 0, 10, lambda jax, jnp, x: x**1.5)
of_one("x ** 2.5", 0, 10, lambda jax, jnp, x: x**2.5)
of_one("rsqrt", 0.1, 10, lambda jax, jnp, x: jax.lax.rsqrt(x))
of_one("log1p", -0.9, 10, lambda jax, jnp, x: jnp.log1p(x))
of_one("softplus", -10, 10, lambda jax, jnp, x: jax.nn.softplus(x))
of_one("sinh", -5, 5, lambda jax, jnp, x: jnp.sinh(x))
of_one("lgamma", 0.1, 20, lambda jax, jnp, x: jax.lax.lgamma(x))
of_one("digamma", 0.1, 20, lambda jax, jnp, x: jax.lax.digamma(x))
of_one("erf", -4, 4, lambda jax, jnp, x: jax.lax.erf(x))
of_one("erf_inv", -1, 1, lambda jax, jnp, x: jax.lax.erf_inv(x))
of_one("exp", -5, 5, lambda jax, jnp, x: jnp.exp(x))
of_one("gelu", -5, 5, lambda jax, jnp, x: jax.nn.gelu(x))
of_one("x % 0.7", -1000, 1000, lambda jax, jnp, x: x % 0.7)
of_one("sin, float64", -10, 10, lambda jax, jnp, x: jnp.sin(x), np.float64)
of_one("exp, float64", -5, 5, lambda jax, jnp, x: jnp.exp(x), np.float64)
of_one("log, float64", 0.1, 10, lambda jax, jnp, x: jnp.log(x), np.float64)
of_two("atan2", lambda jnp, x, y: jnp.arctan2(x, y))
of_two("x % y", lambda jnp, x, y: x % y)
of_two("x // y, int32", lambda jnp, x, y: x // y, np.int32)
of_two("x % y, int32", lambda jnp, x, y: x % y, np.int32)


@kernel("gradient of sin(x) * x", *SIZES)
def grad_sin(jax: Any, jnp: Any, n: int) -> Program:
    return jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), (normal(jnp, n),)


@kernel("stack of two on the last axis", *SIZES)
def stack(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x, y: jnp.stack([x, y], axis=-1), (normal(jnp, n), normal(jnp, n, seed=1))


@kernel("stack of two images on the last axis", (4, 64, 64), (16, 64, 64), (16, 256, 256))
def stack_images(jax: Any, jnp: Any, *shape: int) -> Program:
    return lambda x, y: jnp.stack([x, y], axis=-1), (
        normal(jnp, *shape), normal(jnp, *shape, seed=1))


@kernel("tile 4 times", *SIZES)
def tile(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.tile(x, 4), (normal(jnp, n),)


@kernel("x.T + x", 128, 500, 1_000)
def transposed(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: x.T + x, (normal(jnp, n, n),)
