"""Bayesian logistic regression: chains of Hamiltonian Monte Carlo sample what is known of weights.

The density is written down, and its gradient is automatic; the sampler is explained in `hmc.py`.
The posterior is compared with its Gaussian approximation at the mode, which `minimize` finds and
whose covariance is the inverse of a Hessian. Run it: `python examples/bayesian_regression.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.scipy.optimize import minimize
from xfront.scipy.stats import bernoulli, norm

WEIGHTS = np.array([0.5, -1.0, 2.0], np.float32)
CHAINS, WARM_UP, DRAWS = 32, 100, 300
STEP_SIZE, LEAPFROGS = 0.5, 5


def observations(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Features [n, 3], the first of which is one, and outcomes drawn with `WEIGHTS`."""
    random = np.random.default_rng(1)
    x = np.concatenate([np.ones((n, 1)), random.normal(size=(n, 2))], 1).astype(np.float32)
    return x, random.uniform(size=n) < 1 / (1 + np.exp(-x @ WEIGHTS))


def log_posterior(x: Any, y: Any, weights: Any) -> Any:
    """Of weights with a standard normal prior of width 3, but for a constant."""
    return (norm.logpdf(weights, scale=3.0).sum()
            + bernoulli.logpmf(y, jax.nn.sigmoid(x @ weights)).sum())


@jax.jit
def approximation(x: Any, y: Any) -> tuple[Any, Any]:
    """The mode, and the standard deviations of a Gaussian of the same curvature there."""
    def surprise(weights: Any) -> Any:
        return -log_posterior(x, y, weights)

    mode = minimize(surprise, jnp.zeros(3), method="BFGS").x
    return mode, jnp.sqrt(jnp.diagonal(jnp.linalg.inv(jax.hessian(surprise)(mode))))


@jax.jit
def sample(key: Any, x: Any, y: Any, scale: Any) -> tuple[Any, Any]:
    """Draws [chains, draws, 3], and the share of proposals that were kept."""
    def density(z: Any) -> Any:                  # in units of the approximation
        return log_posterior(x, y, z * scale)

    slope = jax.grad(density)

    def leapfrog(_: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        position, momentum = at
        momentum = momentum + STEP_SIZE / 2 * slope(position)
        position = position + STEP_SIZE * momentum
        return position, momentum + STEP_SIZE / 2 * slope(position)

    def transition(position: Any, key: Any) -> tuple[Any, tuple[Any, Any]]:
        to_momentum, to_choice = jax.random.split(key)
        momentum = jax.random.normal(to_momentum, (3,))
        end, last = lax.fori_loop(0, LEAPFROGS, leapfrog, (position, momentum))
        gained = density(end) - density(position) + (momentum @ momentum - last @ last) / 2
        kept = jnp.log(jax.random.uniform(to_choice)) < gained
        position = jnp.where(kept, end, position)
        return position, (position, kept)

    def chain(key: Any) -> Any:
        keys = jax.random.split(key, WARM_UP + DRAWS)
        start = jax.random.normal(key, (3,))
        _, (draws, kept) = lax.scan(transition, start, keys)
        return draws[WARM_UP:] * scale, kept[WARM_UP:]

    draws, kept = jax.vmap(chain)(jax.random.split(key, CHAINS))
    return draws, kept.mean()


def main() -> None:
    x, y = observations()
    mode, deviation = approximation(x, y)
    draws, kept = sample(jax.random.key(0), x, y, deviation)
    print(f"{CHAINS} chains of {DRAWS} draws; {kept:.0%} of the proposals kept")
    print("weight   true   mode +- deviation   mean +- deviation of the draws")
    for i in range(3):
        print(f"{i:6}  {WEIGHTS[i]:5.2f}  {mode[i]:5.2f} +- {deviation[i]:.2f}       "
              f"{draws[..., i].mean():5.2f} +- {draws[..., i].std():.2f}")


if __name__ == "__main__":
    main()
