"""Particles: gravity, molecules, flocks, smooth fluids, charges on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, workload


@workload("gravity of 192 bodies, leapfrog")
def gravity(jax: Any, jnp: Any) -> Program:
    """Five steps with softened forces between all pairs."""
    def pull(x: Any, mass: Any) -> Any:
        apart = x[None] - x[:, None]
        cubed = (jnp.sum(apart**2, -1) + 0.01) ** -1.5
        return jnp.sum(apart * (mass[None] * cubed)[..., None], 1)

    def step(x: Any, v: Any, mass: Any) -> Any:
        def turn(carry: Any, _: Any) -> Any:
            x, v = carry
            v = v + 0.005 * pull(x, mass)
            x = x + 0.01 * v
            v = v + 0.005 * pull(x, mass)
            return (x, v), 0.5 * jnp.sum(mass[:, None] * v**2)

        return jax.lax.scan(turn, (x, v), None, length=5)

    return step, (normal(jnp, 192, 3), 0.1 * normal(jnp, 192, 3, seed=1),
                  between(jnp, 0.1, 1.0, 192) / 192)


@workload("Lennard-Jones molecules in a periodic box")
def molecules(jax: Any, jnp: Any) -> Program:
    """Twenty steps of 216 atoms whose forces are the gradient of an energy."""
    side = 6 * 1.2
    grid = np.stack(np.meshgrid(*[np.arange(6) * 1.2] * 3, indexing="ij"), -1).reshape(-1, 3)

    def energy(x: Any) -> Any:
        apart = x[:, None] - x[None]
        apart = apart - side * jnp.round(apart / side)
        squared = jnp.sum(apart**2, -1) + jnp.eye(len(x))
        sixth = squared**-3
        pair = jnp.where(squared < 6.25, 4.0 * (sixth**2 - sixth), 0.0)
        return 0.5 * jnp.sum(jnp.where(jnp.eye(len(x), dtype=bool), 0.0, pair))

    def step(x: Any, v: Any) -> Any:
        force = jax.grad(lambda x: -energy(x))

        def turn(carry: Any, _: Any) -> Any:
            x, v, f = carry
            v = v + 0.5e-3 * f
            x = jnp.mod(x + 1e-3 * v, side)
            f = force(x)
            return (x, v + 0.5e-3 * f, f), energy(x)

        (x, v, _), energies = jax.lax.scan(turn, (x, v, force(x)), None, length=20)
        return x, v, energies

    start = jnp.asarray(grid.astype(np.float32)) + 0.02 * normal(jnp, 216, 3)
    return step, (start, normal(jnp, 216, 3, seed=1))


@workload("flock of birds")
def flock(jax: Any, jnp: Any) -> Program:
    """Twenty steps of 200 birds that keep apart, fly alike and stay together."""
    def step(x: Any, v: Any) -> Any:
        def of_one(me: Any, mine: Any, x: Any, v: Any) -> Any:
            far = jnp.linalg.norm(x - me + 1e-8, axis=-1)
            near, close = far < 0.2, far < 0.05
            count = jnp.maximum(near.sum(), 1)
            together = jnp.where(near[:, None], x - me, 0.0).sum(0) / count
            alike = jnp.where(near[:, None], v - mine, 0.0).sum(0) / count
            away = -jnp.where(close[:, None], x - me, 0.0).sum(0)
            return 0.3 * together + 0.5 * alike + 2.0 * away

        def turn(i: Any, carry: Any) -> Any:
            x, v = carry
            v = v + jax.vmap(of_one, (0, 0, None, None))(x, v, x, v)
            v = v / jnp.maximum(jnp.linalg.norm(v, axis=-1, keepdims=True), 1e-3) * 0.5
            return (x + 0.02 * v) % 1.0, v

        return jax.lax.fori_loop(0, 20, turn, (x, v))

    return step, (between(jnp, 0, 1, 200, 2), normal(jnp, 200, 2))


@workload("fluid of smooth particles")
def smooth(jax: Any, jnp: Any) -> Program:
    """Five steps of 400 particles: densities by a kernel, pressures, walls."""
    reach = 0.1

    def kernel(r: Any) -> Any:
        return jnp.where(r < reach, (reach**2 - r**2) ** 3, 0.0) * 315 / (64 * np.pi * reach**9)

    def step(x: Any, v: Any) -> Any:
        def turn(_: Any, carry: Any) -> Any:
            x, v = carry
            apart = x[:, None] - x[None]
            r = jnp.sqrt(jnp.sum(apart**2, -1) + 1e-12)
            density = jnp.sum(kernel(r), 1) * 0.02 + 1.0
            pressure = 2.0 * (density - 5.0)
            slope = jnp.where(r < reach, (reach - r) ** 2 / r, 0.0) * 1e3
            shared = (pressure[:, None] + pressure[None]) / (2 * density[None])
            push = jnp.einsum("ij,ijd->id", slope * shared, apart)
            drag = jnp.einsum("ij,ijd->id", kernel(r) / density[None], v[None] - v[:, None])
            force = (0.02 * push + 0.001 * drag) / density[:, None]
            v = v + 0.005 * (force + jnp.array([0.0, -9.8]))
            x = x + 0.005 * v
            v = jnp.where((x < 0) | (x > 1), -0.5 * v, v)
            return jnp.clip(x, 0.0, 1.0), v

        return jax.lax.fori_loop(0, 5, turn, (x, v))

    return step, (between(jnp, 0, 1, 400, 2), jnp.zeros((400, 2)))


@workload("charges on a grid (particle in cell)")
def cells(jax: Any, jnp: Any) -> Program:
    """Ten steps of 20,000 electrons on 128 cells; the field comes from a Fourier transform."""
    count, size = 128, 20_000

    def step(x: Any, v: Any) -> Any:
        wave = 2 * jnp.pi * jnp.fft.rfftfreq(count, 1.0 / count)

        def turn(carry: Any, _: Any) -> Any:
            x, v = carry
            left = jnp.floor(x * count).astype(jnp.int32)
            part = x * count - left
            charge = jnp.zeros(count).at[left % count].add(1 - part)
            charge = charge.at[(left + 1) % count].add(part) * (count / size) - 1.0
            field = jnp.fft.irfft(jnp.where(wave > 0, -1j / jnp.maximum(wave, 1.0), 0.0)
                                  * jnp.fft.rfft(charge), count)
            felt = field[left % count] * (1 - part) + field[(left + 1) % count] * part
            v = v - 0.1 * felt
            return ((x + 0.1 * v) % 1.0, v), jnp.sum(field**2)

        return jax.lax.scan(turn, (x, v), None, length=10)

    half = jnp.where(jnp.arange(size) % 2 == 0, 0.2, -0.2)
    return step, (between(jnp, 0, 1, size), half + 0.01 * normal(jnp, size))
