"""Compiling and running the same mathematics with XLA, from each library's StableHLO."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import per_call, row, scaled, stages, warm_stages
from benchmarks.models import chain, mlp, transformer_step, uniform


@row("1,000-op chain", repeats=3)
def thousand(jax: Any, jnp: Any) -> dict[str, float]:
    """A chain of elementwise operations on 1,024 numbers."""
    warm_stages(jax, jnp)
    return stages(jax, chain(jnp, scaled(1000, 300), 1), (jnp.ones(1024),))


@row("8-layer MLP, value_and_grad", repeats=3)
def perceptron(jax: Any, jnp: Any) -> dict[str, float]:
    """A perceptron of width 128, with a batch of 64."""
    loss, args = mlp(jnp, 1, 8, 4)
    jax.jit(jax.value_and_grad(loss)).lower(*args).compile()
    loss, args = mlp(jnp, 8, 128, 64)
    return stages(jax, jax.value_and_grad(loss), args)


@row("12-layer transformer, training step", repeats=2)
def transformer(jax: Any, jnp: Any) -> dict[str, float]:
    """An unrolled transformer of width 64, with four heads, on four sequences of 32 tokens."""
    step, args = transformer_step(jax, jnp, 1, width=8)
    jax.jit(step).lower(*args).compile()
    step, args = transformer_step(jax, jnp, scaled(12, 2))
    return stages(jax, step, args)


@row("run, matmul 512")
def matmul(jax: Any, jnp: Any) -> float:
    """A product of matrices of 512 x 512."""
    f, a = jax.jit(lambda a: a @ a), uniform(jnp, 512, 512)
    return per_call(lambda: f(a))


@row("run, elementwise on 1M")
def elementwise(jax: Any, jnp: Any) -> float:
    """A fused expression of four operations on 2^20 numbers."""
    f, x = jax.jit(lambda x: jnp.tanh(x * 2.0 + 1.0) * x), uniform(jnp, 1 << 20)
    return per_call(lambda: f(x))


@row("run, sum of rows, 1024 x 1024")
def reduction(jax: Any, jnp: Any) -> float:
    """A reduction over the last axis."""
    f, x = jax.jit(lambda x: jnp.sum(x, axis=-1)), uniform(jnp, 1024, 1024)
    return per_call(lambda: f(x))


@row("run, softmax 256 x 1024")
def softmax(jax: Any, jnp: Any) -> float:
    """The softmax of rows of 1,024 scores."""
    f, x = jax.jit(lambda x: jax.nn.softmax(x, axis=-1)), uniform(jnp, 256, 1024)
    return per_call(lambda: f(x))


@row("run, sort 64K")
def sort(jax: Any, jnp: Any) -> float:
    """65,536 numbers in random order."""
    f, x = jax.jit(lambda x: jnp.sort(x)), uniform(jnp, 1 << 16)
    return per_call(lambda: f(x))


@row("run, random.normal 1M")
def random_numbers(jax: Any, jnp: Any) -> float:
    """2^20 normal numbers from one key."""
    f, key = jax.jit(lambda key: jax.random.normal(key, (1 << 20,))), jax.random.key(0)
    return per_call(lambda: f(key))


@row("run, scan of 1,000 steps")
def scan(jax: Any, jnp: Any) -> float:
    """A recurrent step of width 32."""
    w = uniform(jnp, 32, 32)
    f = jax.jit(lambda x: jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, 1000)[0])
    x = jnp.ones(32)
    return per_call(lambda: f(x))


@row("run, grad of a scan of 1,000 steps")
def grad_scan(jax: Any, jnp: Any) -> float:
    """The gradient of such a scan: residuals are stacked, then read backwards."""
    w = uniform(jnp, 32, 32)

    def loss(w: Any, x: Any) -> Any:
        last, _ = jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, 1000)
        return jnp.sum(last)

    f, x = jax.jit(jax.grad(loss)), jnp.ones(32)
    return per_call(lambda: f(w, x))
