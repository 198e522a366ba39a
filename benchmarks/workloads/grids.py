"""Grids: stencils, spectra, lattices, cells that live and die."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, workload


@workload("game of life, int8")
def life(jax: Any, jnp: Any) -> Program:
    """Ten generations on 512 x 512, neighbours counted by rolls."""
    def step(cells: Any) -> Any:
        def turn(_: Any, cells: Any) -> Any:
            around = sum(jnp.roll(cells, (i, j), (0, 1))
                         for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
            return ((around == 3) | ((cells == 1) & (around == 2))).astype(jnp.int8)

        return jax.lax.fori_loop(0, 10, turn, cells)

    return step, (between(jnp, 0, 2, 512, 512, dtype=np.int8),)


@workload("reaction and diffusion (Gray-Scott)")
def reaction(jax: Any, jnp: Any) -> Program:
    """Twenty steps on 128 x 128 with a stencil of nine points."""
    def around(u: Any) -> Any:
        cross = sum(jnp.roll(u, s, a) for s in (-1, 1) for a in (0, 1))
        corners = sum(jnp.roll(u, (s, t), (0, 1)) for s in (-1, 1) for t in (-1, 1))
        return 0.2 * cross + 0.05 * corners - u

    def step(u: Any, v: Any) -> Any:
        def turn(carry: Any, _: Any) -> Any:
            u, v = carry
            eaten = u * v * v
            u = u + 1.0 * around(u) - eaten + 0.055 * (1 - u)
            v = v + 0.5 * around(v) + eaten - (0.055 + 0.062) * v
            return (u, v), None

        return jax.lax.scan(turn, (u, v), None, length=20)[0]

    seed = np.zeros((128, 128), np.float32)
    seed[54:74, 54:74] = 0.25
    rough = 0.01 * between(jnp, 0, 1, 128, 128)
    return step, (jnp.asarray(1 - 2 * seed), jnp.asarray(seed) + rough)


@workload("shallow water")
def water(jax: Any, jnp: Any) -> Program:
    """Twenty steps of Lax and Friedrichs on 96 x 96."""
    def fluxes(q: Any) -> Any:
        h, hu, hv = q
        u, v, p = hu / h, hv / h, 0.5 * 9.8 * h**2
        return jnp.stack([hu, hu * u + p, hu * v]), jnp.stack([hv, hu * v, hv * v + p])

    def step(q: Any) -> Any:
        def turn(q: Any, _: Any) -> Any:
            f, g = fluxes(q)
            mean = 0.25 * (jnp.roll(q, 1, 1) + jnp.roll(q, -1, 1)
                           + jnp.roll(q, 1, 2) + jnp.roll(q, -1, 2))
            q = mean - 0.05 * (jnp.roll(f, -1, 1) - jnp.roll(f, 1, 1)
                               + jnp.roll(g, -1, 2) - jnp.roll(g, 1, 2))
            return q, jnp.max(q[0])

        return jax.lax.scan(turn, q, None, length=20)

    x = np.linspace(-1, 1, 96)
    hill = 1.0 + 0.3 * np.exp(-20 * (x[:, None] ** 2 + x[None] ** 2))
    return step, (jnp.asarray(np.stack([hill, 0 * hill, 0 * hill]).astype(np.float32)),)


@workload("turbulence by spectra")
def turbulence(jax: Any, jnp: Any) -> Program:
    """Four steps of the vorticity equation on 128 x 128, by real transforms of two axes."""
    n = 128

    def step(w: Any) -> Any:
        kx = jnp.fft.fftfreq(n, 1.0 / n)[:, None]
        ky = jnp.fft.rfftfreq(n, 1.0 / n)[None]
        squared = kx**2 + ky**2
        kept = (jnp.abs(kx) < n / 3) & (ky < n / 3)

        def slope(wh: Any) -> Any:
            stream = wh / jnp.where(squared == 0, 1.0, squared)
            u = jnp.fft.irfft2(1j * ky * stream)
            v = jnp.fft.irfft2(-1j * kx * stream)
            turned = u * jnp.fft.irfft2(1j * kx * wh) + v * jnp.fft.irfft2(1j * ky * wh)
            return jnp.where(kept, -jnp.fft.rfft2(turned), 0.0)

        def turn(wh: Any, _: Any) -> Any:
            half = wh + 0.0025 * slope(wh)
            return (wh + 0.005 * slope(half)) / (1 + 0.005 * 1e-3 * squared), None

        wh, _ = jax.lax.scan(turn, jnp.fft.rfft2(w), None, length=4)
        return jnp.fft.irfft2(wh)

    return step, (normal(jnp, n, n),)


@workload("lattice Boltzmann flow past a cylinder")
def boltzmann(jax: Any, jnp: Any) -> Program:
    """Ten steps of nine velocities on 64 x 160."""
    c = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
    weight = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)
    back = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    y, x = np.mgrid[:64, :160]
    solid = (y - 32) ** 2 + (x - 40) ** 2 < 64

    def steady(rho: Any, u: Any) -> Any:
        along = jnp.einsum("qd,dyx->qyx", jnp.asarray(c, jnp.float32), u)
        return rho * weight[:, None, None] * (
            1 + 3 * along + 4.5 * along**2 - 1.5 * jnp.sum(u**2, 0))

    def step(f: Any, solid: Any) -> Any:
        def turn(f: Any, _: Any) -> Any:
            rho = f.sum(0)
            u = jnp.einsum("qd,qyx->dyx", jnp.asarray(c, jnp.float32), f) / rho
            new = f - (f - steady(rho, u)) / 0.6
            new = jnp.where(solid, f[back], new)
            new = jnp.stack([jnp.roll(new[i], (c[i, 1], c[i, 0]), (0, 1)) for i in range(9)])
            return new, jnp.mean(u[0])

        return jax.lax.scan(turn, f, None, length=10)

    flow = jnp.stack([jnp.full((64, 160), 0.1), jnp.zeros((64, 160))])
    return step, (steady(jnp.ones((64, 160)), flow), jnp.asarray(solid))


@workload("Poisson's equation by multigrid")
def multigrid(jax: Any, jnp: Any) -> Program:
    """Three V-cycles on 128 x 128 with weighted Jacobi steps."""
    def residual(u: Any, f: Any, h: float) -> Any:
        p = jnp.pad(u, 1)
        lap = (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u) / h**2
        return f - lap

    def smoothed(u: Any, f: Any, h: float, times: int) -> Any:
        return jax.lax.fori_loop(
            0, times, lambda _, u: u - 0.8 * h**2 / 4 * residual(u, f, h), u)

    def cycle(u: Any, f: Any, h: float) -> Any:
        u = smoothed(u, f, h, 3)
        n = u.shape[0]
        if n <= 8:
            return smoothed(u, f, h, 20)
        r = residual(u, f, h).reshape(n // 2, 2, n // 2, 2).mean((1, 3))
        coarse = cycle(jnp.zeros_like(r), r, 2 * h)
        u = u + jax.image.resize(coarse, (n, n), "bilinear")
        return smoothed(u, f, h, 3)

    def step(f: Any) -> Any:
        u = jnp.zeros_like(f)
        for _ in range(3):
            u = cycle(u, f, 1 / 128)
        return u, jnp.sqrt(jnp.mean(residual(u, f, 1 / 128) ** 2))

    return step, (normal(jnp, 128, 128),)


@workload("magnets of Ising on a chessboard")
def ising(jax: Any, jnp: Any) -> Program:
    """Ten sweeps of 128 x 128 spins of int8, black squares and then white ones."""
    black = (np.indices((128, 128)).sum(0) % 2) == 0

    def step(key: Any, spins: Any, black: Any) -> Any:
        def sweep(spins: Any, key: Any) -> Any:
            for k, mask in zip(jax.random.split(key), (black, ~black), strict=True):
                around = sum(jnp.roll(spins, s, a) for s in (-1, 1) for a in (0, 1))
                flips = jnp.exp(-2.0 * 0.44 * (spins * around).astype(jnp.float32))
                draws = jax.random.uniform(k, spins.shape)
                spins = jnp.where(mask & (draws < flips), -spins, spins)
            return spins, jnp.mean(spins.astype(jnp.float32))

        return jax.lax.scan(sweep, spins, jax.random.split(key, 10))

    spins = 2 * between(jnp, 0, 2, 128, 128, dtype=np.int8) - 1
    return step, (jax.random.key(0), spins, jnp.asarray(black))
