"""Sorting, searching and counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import Program, between, kernel, normal

SIZES = (1_000, 30_000, 300_000)
SQUARES = (32, 320, 1_000)


@kernel("sort", *SIZES)
def sort(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.sort(x), (normal(jnp, n),)


@kernel("sort of rows", *SQUARES)
def sort_rows(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.sort(x, axis=-1), (normal(jnp, n, n),)


@kernel("argsort", *SIZES)
def argsort(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.argsort(x), (normal(jnp, n),)


@kernel("argsort, int32", *SIZES)
def argsort_int(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.argsort(x), (between(jnp, -1e6, 1e6, n, dtype=np.int32),)


@kernel("sort_key_val", *SIZES)
def sort_key_val(jax: Any, jnp: Any, n: int) -> Program:
    return lambda k, v: jax.lax.sort_key_val(k, v), (normal(jnp, n), normal(jnp, n, seed=1))


@kernel("lexsort by two keys", *SIZES)
def lexsort(jax: Any, jnp: Any, n: int) -> Program:
    keys = between(jnp, 0, 50, n, dtype=np.int32), between(jnp, 0, 50, n, seed=1, dtype=np.int32)
    return lambda a, b: jnp.lexsort((a, b)), keys


@kernel("median", *SIZES)
def median(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.median(x), (normal(jnp, n),)


@kernel("quantile", *SIZES)
def quantile(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.quantile(x, 0.9), (normal(jnp, n),)


@kernel("unique of known size", *SIZES)
def unique(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.unique(x, size=64), (between(jnp, 0, 60, n, dtype=np.int32),)


@kernel("argmax", *SIZES)
def argmax(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.argmax(x), (normal(jnp, n),)


@kernel("argmax of rows", *SQUARES)
def argmax_rows(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.argmax(x, axis=-1), (normal(jnp, n, n),)


@kernel("argmin of columns", *SQUARES)
def argmin_columns(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.argmin(x, axis=0), (normal(jnp, n, n),)


@kernel("argmax of rows of 10", 100, 10_000, 100_000)
def argmax_short(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.argmax(x, axis=-1), (normal(jnp, n, 10),)


@kernel("top_k of 50", *SIZES)
def top_k(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jax.lax.top_k(x, 50), (normal(jnp, n),)


@kernel("searchsorted", *SIZES)
def searchsorted(jax: Any, jnp: Any, n: int) -> Program:
    return lambda a, x: jnp.searchsorted(a, x), (jnp.arange(1000.0) / 500 - 1, normal(jnp, n))


@kernel("nonzero of known size", *SIZES)
def nonzero(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.nonzero(x > 0, size=n // 4)[0], (normal(jnp, n),)


@kernel("isin of 100", *SIZES)
def isin(jax: Any, jnp: Any, n: int) -> Program:
    x = between(jnp, 0, 10_000, n, dtype=np.int32)
    return lambda x, y: jnp.isin(x, y), (x, between(jnp, 0, 10_000, 100, seed=1, dtype=np.int32))


@kernel("interp at 100 points", *SIZES)
def interp(jax: Any, jnp: Any, n: int) -> Program:
    points = jnp.linspace(-3.0, 3.0, 100)
    return lambda x, p: jnp.interp(x, p, p * p), (normal(jnp, n), points)


@kernel("histogram of 64 bins", *SIZES)
def histogram(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.histogram(x, bins=64, range=(-3.0, 3.0))[0], (normal(jnp, n),)


@kernel("rows by one_hot(i) @ table", 100, 1_000, 10_000)
def one_hot(jax: Any, jnp: Any, n: int) -> Program:
    places = between(jnp, 0, 100, n, dtype=np.int32)
    return lambda i, table: jax.nn.one_hot(i, 100) @ table, (places, normal(jnp, 100, 64))
