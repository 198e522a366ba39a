"""Moving elements to other places."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import Program, between, kernel

SQUARES = (100, 768)


def _rows(jnp: Any, n: int, dtype: str) -> Any:
    return between(jnp, 0, 5, n, n, dtype=np.int32).astype(dtype)


@kernel("roll by two axes, int8", *SQUARES)
def roll(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.roll(x, (1, 1), (0, 1)), (_rows(jnp, n, "int8"),)


@kernel("tile of rows, int8", *SQUARES)
def tile(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.tile(x, (2, 3)), (_rows(jnp, n, "int8"),)


@kernel("repeat of columns", *SQUARES)
def repeat(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.repeat(x, 3, axis=1), (_rows(jnp, n, "float32"),)


@kernel("pad by reflection", *SQUARES)
def reflected(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.pad(x, 3, mode="reflect"), (_rows(jnp, n, "float32"),)


@kernel("rows added to 12 sums", *SQUARES)
def added(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x, i: jnp.zeros((12, n), x.dtype).at[i].add(x), (
        _rows(jnp, n, "float32"), between(jnp, 0, 12, n, dtype=np.int32))


@kernel("rows stacked by a scan, bfloat16", *SQUARES)
def scanned(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jax.lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1], (
        _rows(jnp, n, "bfloat16"),)


@kernel("stencil of rolls, int8", *SQUARES)
def stencil(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: sum([jnp.roll(x, s, a) for s in (-1, 1) for a in (0, 1)], -4 * x), (
        _rows(jnp, n, "int8"),)
