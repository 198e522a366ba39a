"""Products, decompositions and solves, mostly of many small matrices; Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels.sized import Program, kernel, normal

BATCHES = (64, 1_000, 10_000)
SIDES = (64, 192, 384)


def positive(jnp: Any, batch: int, n: int) -> Any:
    """Symmetric positive definite matrices."""
    a = np.random.default_rng(0).normal(size=(batch, n, n)).astype(np.float32)
    return jnp.asarray(a @ a.transpose(0, 2, 1) + n * np.eye(n, dtype=np.float32))


def of_batch(
    name: str, n: int, f: Callable[[Any, Any, Any], Any], sizes: tuple[int, ...] = BATCHES
) -> None:
    """Registers the row of `f(jax, jnp, a)` for a batch of positive definite n x n matrices."""

    @kernel(f"{name}, {n}×{n}", *sizes)
    def make(jax: Any, jnp: Any, batch: int) -> Program:
        return lambda a: f(jax, jnp, a), (positive(jnp, batch, n),)


def of_batch_and_vector(name: str, n: int, f: Callable[[Any, Any, Any, Any], Any]) -> None:
    """Registers the row of `f(jax, jnp, a, b)`, with one column b for each matrix."""

    @kernel(f"{name}, {n}×{n}", *BATCHES)
    def make(jax: Any, jnp: Any, batch: int) -> Program:
        b = normal(jnp, batch, n, 1, seed=1)
        return lambda a, b: f(jax, jnp, a, b), (positive(jnp, batch, n), b)


def triangular(jax: Any, jnp: Any, a: Any, b: Any) -> Any:
    """The solution of a x = b for the lower triangle of a."""
    return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)


for side in (3, 4, 8):
    of_batch("batched product", side, lambda jax, jnp, a: a @ a)
    of_batch("cholesky", side, lambda jax, jnp, a: jnp.linalg.cholesky(a))
    of_batch_and_vector("triangular solve", side, triangular)
of_batch("cholesky", 1, lambda jax, jnp, a: jnp.linalg.cholesky(a), (1, *BATCHES))
of_batch_and_vector("triangular solve", 1, triangular)
for side in (3, 4):
    of_batch_and_vector("solve", side, lambda jax, jnp, a, b: jnp.linalg.solve(a, b))
    of_batch("inverse", side, lambda jax, jnp, a: jnp.linalg.inv(a))
of_batch("determinant", 3, lambda jax, jnp, a: jnp.linalg.det(a))
of_batch("eigh", 4, lambda jax, jnp, a: jnp.linalg.eigh(a)[1], (64, 500, 2_000))
of_batch("qr", 4, lambda jax, jnp, a: jnp.linalg.qr(a)[1], (64, 500, 4_000))
of_batch("svd", 4, lambda jax, jnp, a: jnp.linalg.svd(a)[1], (64, 500, 2_000))


@kernel("product, complex64", *SIDES)
def complex_product(jax: Any, jnp: Any, n: int) -> Program:
    a = normal(jnp, n, n) + 1j * normal(jnp, n, n, seed=1)
    return lambda a, b: a @ b, (a, a.T)


@kernel("product, bfloat16", *SIDES)
def half_product(jax: Any, jnp: Any, n: int) -> Program:
    a = normal(jnp, n, n).astype(jnp.bfloat16)
    return lambda a, b: a @ b, (a, a)


@kernel("product, bfloat16 in float32", *SIDES)
def half_product_in_float32(jax: Any, jnp: Any, n: int) -> Program:
    a = normal(jnp, n, n).astype(jnp.bfloat16)
    return lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32), (a, a)


@kernel("product, float32", *SIDES)
def product(jax: Any, jnp: Any, n: int) -> Program:
    return lambda a, b: a @ b, (normal(jnp, n, n), normal(jnp, n, n, seed=1))


@kernel("product of a transposed matrix", 192, 512, 768)
def transposed_product(jax: Any, jnp: Any, n: int) -> Program:
    rows = (((0,), (0,)), ((), ()))
    return lambda a, b: jax.lax.dot_general(a, b, rows), (
        normal(jnp, n, n), normal(jnp, n, n, seed=1))


@kernel("products in a loop, 4×4", 100, 1_000, 10_000)
def products_in_loop(jax: Any, jnp: Any, n: int) -> Program:
    def run(a: Any, x: Any) -> Any:
        return jax.lax.fori_loop(0, n, lambda _, x: jnp.tanh(a @ x), x)

    return run, (normal(jnp, 4, 4), normal(jnp, 4, 4, seed=1))


@kernel("products one after the other, 4×4", 4, 16, 64)
def products_in_row(jax: Any, jnp: Any, n: int) -> Program:
    def run(a: Any, x: Any) -> Any:
        for _ in range(n):
            x = jnp.tanh(a @ x)
        return x

    return run, (normal(jnp, 4, 4), normal(jnp, 4, 4, seed=1))


@kernel("product of matrix and vector", *SIDES)
def matrix_vector(jax: Any, jnp: Any, n: int) -> Program:
    return lambda a, x: a @ x, (normal(jnp, n, n), normal(jnp, n))


@kernel("fft", 2**10, 2**15, 2**18)
def fft(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x: jnp.fft.fft(x), (normal(jnp, n),)
