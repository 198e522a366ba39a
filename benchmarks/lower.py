"""Lowering of traced functions to StableHLO, and the size of the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.harness import lowering_what_runs, once, row, scaled, warm_stages
from benchmarks.models import chain, mlp, transformer_step


def best_lower(
    jax: Any, jnp: Any, make: Callable[[int], tuple[Any, tuple[Any, ...]]]
) -> dict[str, float]:
    """The least CPU seconds of lowering alone, over programs of three seeds: of `lower`, and of
    lowering to the module that is compiled, if that is another one. Lowering uses one thread, and
    other processes disturb CPU seconds less than wall-clock time."""
    warm_stages(jax, jnp)
    shown, runs = [], []
    for seed in range(6):
        f, args = make(seed)
        traced = jax.jit(f).trace(*args)
        lower = lowering_what_runs(jax, traced) if seed % 2 else traced.lower
        (runs if seed % 2 else shown).append(
            once(lambda lower=lower: lower() and None, time.process_time)
        )
    return {"plain": min(shown), "as it is compiled": min(runs)}


@row("lower a 1,000-op chain")
def lower_chain(jax: Any, jnp: Any) -> dict[str, float]:
    """A chain of elementwise operations."""
    return best_lower(jax, jnp, lambda seed: (chain(jnp, 1000, seed), (jnp.ones(16),)))


@row("lower the gradient of a 300-op chain")
def lower_gradient(jax: Any, jnp: Any) -> dict[str, float]:
    """The gradient of a chain: three operations for each one of the chain."""

    def make(seed: int) -> tuple[Any, tuple[Any, ...]]:
        f = chain(jnp, 300, seed)
        return jax.grad(lambda x: jnp.sum(f(x))), (jnp.ones(16),)

    return best_lower(jax, jnp, make)


@row("lower value_and_grad, 8-layer MLP")
def lower_mlp(jax: Any, jnp: Any) -> dict[str, float]:
    """The gradient of eight layers."""

    def make(seed: int) -> tuple[Any, tuple[Any, ...]]:
        loss, args = mlp(jnp, 8, 64, 8 + seed)
        return jax.value_and_grad(loss), args

    return best_lower(jax, jnp, make)


@row("lower a 12-layer transformer's training step")
def lower_transformer(jax: Any, jnp: Any) -> dict[str, float]:
    """Loss, gradient and update of all layers, unrolled."""
    return best_lower(
        jax, jnp, lambda seed: transformer_step(jax, jnp, scaled(12, 3), batch=3 + seed)
    )


@row("StableHLO size", unit="bytes", repeats=1)
def size(jax: Any, jnp: Any) -> dict[str, float]:
    """The length of the text of the lowered programs."""
    loss, args = mlp(jnp, 8, 64, 8)
    step, step_args = transformer_step(jax, jnp, scaled(12, 3))
    programs = {
        "1,000-op chain": (chain(jnp, 1000), (jnp.ones(16),)),
        "value_and_grad, 8-layer MLP": (jax.value_and_grad(loss), args),
        "12-layer transformer's training step": (step, step_args),
    }
    return {
        name: float(len(jax.jit(f).lower(*operands).as_text()))
        for name, (f, operands) in programs.items()
    }
