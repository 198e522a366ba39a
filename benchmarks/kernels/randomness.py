"""Random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.kernels.sized import Program, kernel, normal

SIZES = (1_000, 100_000, 1_000_000)


def drawn(name: str, f: Callable[[Any, Any, int], Any], sizes: tuple[int, ...] = SIZES) -> None:
    """Registers the row of `f(jax.random, key, n)`."""

    @kernel(f"random.{name}", *sizes)
    def make(jax: Any, jnp: Any, n: int) -> Program:
        return lambda key: f(jax.random, key, n), (jax.random.key(0),)


drawn("bits", lambda random, key, n: random.bits(key, (n,)))
drawn("uniform", lambda random, key, n: random.uniform(key, (n,)))
drawn("normal", lambda random, key, n: random.normal(key, (n,)))
drawn("randint", lambda random, key, n: random.randint(key, (n,), 0, 10))
drawn("bernoulli", lambda random, key, n: random.bernoulli(key, 0.3, (n,)))
drawn("exponential", lambda random, key, n: random.exponential(key, (n,)))
drawn("gamma", lambda random, key, n: random.gamma(key, 2.5, (n,)))
drawn("split", lambda random, key, n: random.key_data(random.split(key, n)))
drawn("permutation", lambda random, key, n: random.permutation(key, n), (1_000, 30_000, 300_000))


@kernel("dropout", *SIZES)
def dropout(jax: Any, jnp: Any, n: int) -> Program:
    def run(key: Any, x: Any) -> Any:
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0)

    return run, (jax.random.key(0), normal(jnp, n))
