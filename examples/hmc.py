"""Hamiltonian Monte Carlo: many chains sample a Gaussian whose mean and covariance are known.

A chain slides without friction over the negative logarithm of a density, along its gradient, and
keeps or refuses where it ends (Duane et al., 1987; Neal, 2011). One chain is a `scan` of steps,
each a `fori_loop` of leapfrogs; `vmap` runs a hundred of them, `jit` makes one program of all. The
moments of the samples are compared with the true ones in units of their own standard errors, which
come from the spread between independent chains. Run it: `python examples/hmc.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

MEAN = np.array([1.0, -2.0, 0.5], np.float32)
COVARIANCE = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, -0.3], [0.0, -0.3, 0.5]], np.float32)
CHAINS, WARM_UP, DRAWS = 100, 100, 400
STEP_SIZE, LEAPFROGS = 0.25, 8

Density = Callable[[Any], Any]


def gaussian(x: Any) -> Any:
    """The logarithm of the density, but for a constant."""
    away = x - MEAN
    return -0.5 * away @ jnp.linalg.solve(jnp.asarray(COVARIANCE), away)


def leapfrog(density: Density, position: Any, momentum: Any) -> tuple[Any, Any]:
    """A trajectory of several steps that conserves volume, and energy to second order."""
    slope = jax.grad(density)

    def step(_: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        position, momentum = at
        momentum = momentum + 0.5 * STEP_SIZE * slope(position)
        position = position + STEP_SIZE * momentum
        return position, momentum + 0.5 * STEP_SIZE * slope(position)

    return lax.fori_loop(0, LEAPFROGS, step, (position, momentum))


def transition(density: Density, position: Any, key: Any) -> tuple[Any, tuple[Any, Any]]:
    """The next state of a chain; what is recorded of it: the state, and whether it moved."""
    to_momentum, to_choice = jax.random.split(key)
    momentum = jax.random.normal(to_momentum, position.shape)
    end, end_momentum = leapfrog(density, position, momentum)
    gained = density(end) - density(position) + 0.5 * (momentum @ momentum
                                                       - end_momentum @ end_momentum)
    kept = jnp.log(jax.random.uniform(to_choice)) < gained
    position = jnp.where(kept, end, position)
    return position, (position, kept)


def chain(density: Density, start: Any, key: Any) -> tuple[Any, Any]:
    """The states of one chain after it has warmed up, and which proposals it accepted."""
    keys = jax.random.split(key, WARM_UP + DRAWS)
    _, (states, kept) = lax.scan(lambda x, k: transition(density, x, k), start, keys)
    return states[WARM_UP:], kept[WARM_UP:]


@jax.jit
def sample(key: Any) -> tuple[Any, Any]:
    """All chains, each from a place of its own: (chains, draws, axes)."""
    to_start, to_run = jax.random.split(key)
    starts = 5.0 * jax.random.normal(to_start, (CHAINS, len(MEAN)))
    run = jax.vmap(lambda start, key: chain(gaussian, start, key))
    return run(starts, jax.random.split(to_run, CHAINS))


def in_standard_errors(by_chain: np.ndarray, true: np.ndarray) -> np.ndarray:
    """How far the mean over chains is from the truth, in standard errors of that mean."""
    error = by_chain.std(axis=0, ddof=1) / np.sqrt(len(by_chain))
    return (by_chain.mean(axis=0) - true) / error


def main(seed: int = 0) -> dict[str, float]:
    """Samples, and says how far the moments are from the known ones."""
    begun = time.perf_counter()
    states, kept = (np.asarray(x, np.float64) for x in sample(jax.random.key(seed)))
    seconds = time.perf_counter() - begun
    print(f"{CHAINS} chains of {DRAWS} draws in {seconds:.1f} s, {kept.mean():.1%} accepted")
    away = states - MEAN
    products = np.einsum("cdi,cdj->cij", away, away) / DRAWS
    mean_off = in_standard_errors(states.mean(axis=1), MEAN)
    rows, columns = np.triu_indices(len(MEAN))
    covariance_off = in_standard_errors(products[:, rows, columns], COVARIANCE[rows, columns])
    for i, off in enumerate(mean_off):
        print(f"mean {i}: {states[..., i].mean():7.4f}, true {MEAN[i]:5.2f}, "
              f"{off:+.1f} standard errors")
    for i, j, off in zip(rows, columns, covariance_off, strict=True):
        print(f"covariance {i}{j}: {products[:, i, j].mean():7.4f}, true {COVARIANCE[i, j]:5.2f}, "
              f"{off:+.1f} standard errors")
    worst = float(max(np.abs(mean_off).max(), np.abs(covariance_off).max()))
    error = float((states.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(CHAINS)).max())
    print(f"worst: {worst:.1f} standard errors; those of the means are at most {error:.4f}")
    assert worst < 4.0, "the samples do not have the moments of the density"
    assert error < 0.02, "the chains do not mix"
    return {"worst": worst, "error": error, "accepted": float(kept.mean())}


if __name__ == "__main__":
    main()
