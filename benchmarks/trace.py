"""Tracing: the time per operation, how it grows with length, and the effect of live programs."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import best_of, row, scaled, warm_stages
from benchmarks.models import chain, mlp, transformer_step


@row("trace a 1,000-op chain")
def trace_chain(jax: Any, jnp: Any) -> float:
    """A chain of elementwise operations."""
    warm_stages(jax, jnp)
    x = jnp.ones(16)
    return best_of(lambda seed: lambda: jax.jit(chain(jnp, 1000, seed)).trace(x))


@row("trace a 1,000-op chain of lax")
def trace_lax(jax: Any, jnp: Any) -> dict[str, float]:
    """Chains of functions of lax, which do not promote: with one operand, with two, or with an
    operand and a number."""
    lax, n = jax.lax, 1000

    def of_one(x: Any) -> Any:
        for _ in range(n // 2):
            x = lax.cos(lax.sin(x))
        return x

    def of_two(x: Any) -> Any:
        y = x
        for _ in range(n // 2):
            y = lax.mul(lax.add(x, y), x)
        return y

    def beside_numbers(x: Any) -> Any:
        for _ in range(n // 2):
            x = lax.add(lax.mul(x, 0.5), 0.25)
        return x

    chains = {"of one operand": of_one, "of two": of_two, "beside a number": beside_numbers}
    x = jnp.ones(16)
    return {
        name: best_of(lambda seed, f=f: lambda: jax.jit(lambda x: f(x)).trace(x), 5)
        for name, f in chains.items()
    }


@row("trace one operation of numpy")
def trace_numpy(jax: Any, jnp: Any) -> dict[str, float]:
    """The most common functions of programs, each a thousand times in a row."""
    x, w, b = jnp.ones((16, 16)), jnp.ones((16, 16)), jnp.ones(16)
    steps = {
        "x @ w": lambda x: x @ w,
        "x + b, broadcast": lambda x: x + b,
        "x / b, broadcast": lambda x: x / b,
        "x * 0.5": lambda x: x * 0.5,
        "mean": lambda x: jnp.mean(x, axis=-1, keepdims=True) + x,
        "sum": lambda x: jnp.sum(x, axis=0, keepdims=True) + x,
        "where": lambda x: jnp.where(x > 0.5, x, 0.0),
        "reshape": lambda x: x.reshape(16, 16, 1).reshape(16, 16),
        "x.T": lambda x: x.T,
    }
    n = scaled(1000, 100)

    def repeated(step: Any) -> Any:
        def run(x: Any) -> Any:
            for _ in range(n):
                x = step(x)
            return x

        return run

    return {
        name: best_of(lambda seed, s=step: lambda: jax.jit(repeated(s)).trace(x), 5) / n
        for name, step in steps.items()
    }


def per_op(jax: Any, jnp: Any, n: int, first_seed: int) -> float:
    """Seconds to trace and lower a chain of n operations, divided by n."""
    x = jnp.ones(16)
    return best_of(lambda s: lambda: jax.jit(chain(jnp, n, first_seed + s)).trace(x).lower()) / n


@row("trace + lower, each op of a chain")
def growth(jax: Any, jnp: Any) -> dict[str, float]:
    """Chains of different lengths. The time is linear in the length if the numbers agree."""
    warm_stages(jax, jnp)
    return {f"of {n:,}": per_op(jax, jnp, n, n) for n in (100, 1000, scaled(10_000, 3000))}


@row("trace + lower, each op, beside 200 live programs")
def beside(jax: Any, jnp: Any) -> dict[str, float]:
    """The same while 200 traced and lowered programs of 200 operations are alive."""
    x = jnp.ones(16)
    live = [
        jax.jit(chain(jnp, 200, seed)).trace(x).lower()
        for seed in range(50_000, scaled(50_200, 50_040))
    ]
    times = {f"of {n:,}": per_op(jax, jnp, n, 70_000 + n) for n in (100, scaled(10_000, 3000))}
    del live
    return times


@row("trace value_and_grad, 8-layer MLP")
def trace_mlp(jax: Any, jnp: Any) -> float:
    """The function and the size of its batch are new each time."""

    def make(seed: int) -> Any:
        loss, args = mlp(jnp, 8, 64, 8 + seed)
        return lambda: jax.jit(jax.value_and_grad(loss)).trace(*args)

    warm_stages(jax, jnp)
    make(100)()
    return best_of(make)


@row("trace a 12-layer transformer's training step")
def trace_transformer(jax: Any, jnp: Any) -> float:
    """Loss, gradient and update of all layers, unrolled."""

    def make(seed: int) -> Any:
        step, args = transformer_step(jax, jnp, scaled(12, 3), batch=3 + seed)
        return lambda: jax.jit(step).trace(*args)

    warm_stages(jax, jnp)
    make(100)()
    return best_of(make)


@row("make_jaxpr of grad of a 100-op chain")
def trace_grad(jax: Any, jnp: Any) -> float:
    """Tracing and reverse mode, without lowering or compiling."""

    def make(seed: int) -> Any:
        f = chain(jnp, 100, seed)
        return lambda: str(jax.make_jaxpr(jax.grad(lambda x: jnp.sum(f(x))))(x))[:1]

    x = jnp.ones(16)
    make(100)()
    return best_of(make)
