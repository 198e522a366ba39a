"""Bodies under gravity by leapfrog steps: energy is kept, and a trajectory is differentiated."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, random


class State(NamedTuple):
    x: jax.Array
    v: jax.Array


k1, k2, k3 = random.split(random.key(0), 3)
MASS = random.uniform(k1, (6,), minval=0.5, maxval=1.5)
START = State(random.normal(k2, (6, 3)) * 2, random.normal(k3, (6, 3)) * 0.2)


def potential(x):
    d = x[:, None] - x[None]
    r = jnp.sqrt(jnp.sum(d**2, -1) + 0.05)
    return -0.5 * jnp.sum(jnp.where(jnp.eye(6, dtype=bool), 0.0, MASS[:, None] * MASS / r))


def energy(s):
    return potential(s.x) + 0.5 * jnp.sum(MASS[:, None] * s.v**2)


force = jax.grad(lambda x: -potential(x))


@jax.jit
def evolve(s, dt=0.01):
    def leap(_, s):
        half = s.v + 0.5 * dt * force(s.x) / MASS[:, None]
        x = s.x + dt * half
        return State(x, half + 0.5 * dt * force(x) / MASS[:, None])
    return lax.fori_loop(0, 100, leap, s)


end = evolve(START)
drift = jnp.abs(energy(end) - energy(START)) / jnp.abs(energy(START))
slope = jax.jacrev(lambda v: evolve(State(START.x, v)).x[0])(START.v)
RESULT = [float(energy(end)), float(drift < 1e-3), float(jnp.trace(slope[:, 0]))]
print(RESULT)
