"""Warm eager operations on small arrays: the cost of one line in a notebook or a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import per_call, row


def operation(name: str, make: Callable[[Any, Any, Any], Callable[[], Any]]) -> None:
    """Registers the row of one operation: `make(jax, jnp, x)`, with x: f32[8], gives the call."""

    @row(name)
    def run(jax: Any, jnp: Any) -> float:
        return per_call(make(jax, jnp, jnp.arange(8.0)))


def loop_of_indices(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
    """Indexing with eight different numbers per call."""
    return lambda: [x[i] for i in range(8)]


def rows(shape: tuple[int, ...]) -> Callable[[Any, Any, Any], Callable[[], Any]]:
    """A loop over an array, after so many loops that the library has adapted to them."""

    def make(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
        many = jnp.ones(shape)
        for _ in range(50_000 // shape[0]):
            list(many)
        return lambda: list(many)[-1]

    return make


def unpacked(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
    """The three rows of an array, unpacked into three names."""
    three = jnp.ones((3, 4))

    def call() -> Any:
        a, _b, _c = three
        return a

    return call


def where(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
    """A choice between an array and a scalar."""
    mask = x > 3.0
    return lambda: jnp.where(mask, x, 0.0)


def matmul(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
    """A product of two matrices of 8 x 8."""
    a = jnp.ones((8, 8))
    return lambda: a @ a


def from_numpy(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
    """The conversion of a NumPy array."""
    a = np.arange(8, dtype=np.float32)
    return lambda: jnp.asarray(a)


def random_normal(jax: Any, jnp: Any, x: Any) -> Callable[[], Any]:
    """Eight normal numbers from one key."""
    key = jax.random.key(0)
    return lambda: jax.random.normal(key, (8,))


operation("x + x", lambda jax, jnp, x: lambda: x + x)
operation("x * 2.0", lambda jax, jnp, x: lambda: x * 2.0)
operation("-x", lambda jax, jnp, x: lambda: -x)
operation("x < 3.0", lambda jax, jnp, x: lambda: x < 3.0)
operation("x[1]", lambda jax, jnp, x: lambda: x[1])
operation("x[2:5]", lambda jax, jnp, x: lambda: x[2:5])
operation("x[i] for 8 different i", loop_of_indices)
operation("list(x), 1,000 numbers", rows((1000,)))
operation("list(x), 100 rows of 16", rows((100, 16)))
operation("a, b, c = x, rows of 4", unpacked)
operation("jnp.sin(x)", lambda jax, jnp, x: lambda: jnp.sin(x))
operation("jnp.add(x, x)", lambda jax, jnp, x: lambda: jnp.add(x, x))
operation("x.sum()", lambda jax, jnp, x: lambda: x.sum())
operation("jnp.mean(x, axis=0)", lambda jax, jnp, x: lambda: jnp.mean(x, axis=0))
operation("jnp.where(m, x, 0.0)", where)
operation("x.reshape(2, 4)", lambda jax, jnp, x: lambda: x.reshape(2, 4))
operation("x.astype(int32)", lambda jax, jnp, x: lambda: x.astype(jnp.int32))
operation("x.at[0].set(1.0)", lambda jax, jnp, x: lambda: x.at[0].set(1.0))
operation("a @ a, 8 x 8", matmul)
operation("jnp.concatenate([x, x])", lambda jax, jnp, x: lambda: jnp.concatenate([x, x]))
operation("jnp.zeros(8)", lambda jax, jnp, x: lambda: jnp.zeros(8))
operation("jnp.asarray(numpy array)", from_numpy)
operation("float(x[0])", lambda jax, jnp, x: lambda: float(x[0]))
operation("random.normal(key, (8,))", random_normal)
