"""Equations: ordinary and stochastic ones, integrals, finite elements, networks as solutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import normal
from benchmarks.workloads.measured import Program, part, workload

TABLE = (
    (), (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""Dormand and Prince's stages; the last one is the solution of order five."""
FOURTH = (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)


@workload("Lotka and Volterra by steps that adapt, float64", x64=True)
def adaptive(jax: Any, jnp: Any) -> Program:
    """Dormand and Prince's method in a while_loop, 512 starts by vmap."""
    def slope(y: Any) -> Any:
        a, b = y
        return jnp.array([1.1 * a - 0.4 * a * b, 0.1 * a * b - 0.4 * b])

    def solved(y0: Any) -> Any:
        def turn(s: Any) -> Any:
            t, y, h, steps = s
            k: list[Any] = []
            for row in TABLE:
                k.append(slope(y + h * sum((a * b for a, b in zip(row, k, strict=True)), 0.0 * y)))
            new = y + h * sum(a * b for a, b in zip(TABLE[-1], k, strict=False))
            other = y + h * sum(a * b for a, b in zip(FOURTH, k, strict=True))
            error = jnp.sqrt(jnp.mean(((new - other) / (1e-7 + 1e-7 * jnp.abs(y))) ** 2))
            good = error <= 1
            factor = jnp.clip(0.9 * (error + 1e-12) ** -0.2, 0.2, 5.0)
            t, y = jnp.where(good, t + h, t), jnp.where(good, new, y)
            return t, y, jnp.minimum(h * factor, 10.0 - t + 1e-12), steps + 1

        start = jnp.zeros(()), y0, jnp.full((), 0.01), 0
        _, y, _, steps = jax.lax.while_loop(lambda s: s[0] < 10.0 - 1e-9, turn, start)
        return y, steps

    starts = 5.0 + np.random.default_rng(0).normal(size=(512, 2))
    return jax.vmap(solved), (jnp.asarray(starts),)


@workload("odeint of a driven pendulum, gradient by the adjoint")
def adjoint(jax: Any, jnp: Any) -> Program:
    """jax.experimental.ode through 80 times, the loss of a trajectory."""
    odeint = part(jax, "experimental.ode").odeint

    def slope(y: Any, t: Any, p: Any) -> Any:
        return jnp.array([y[1], -p[0] * jnp.sin(y[0]) - p[1] * y[1] + p[2] * jnp.cos(2.0 * t)])

    def loss(p: Any, times: Any, seen: Any) -> Any:
        path = odeint(slope, jnp.array([1.0, 0.0]), times, p, rtol=1e-5, atol=1e-5)
        return jnp.mean((path[:, 0] - seen) ** 2)

    times = jnp.linspace(0.0, 20.0, 80)
    return jax.value_and_grad(loss), (jnp.array([4.0, 0.5, 0.5]), times, jnp.cos(2.0 * times))


@workload("neural differential equation, gradient through RK4")
def neural(jax: Any, jnp: Any) -> Program:
    """Twenty checkpointed steps for 64 spirals."""
    params = [normal(jnp, 2, 48) * 0.5, normal(jnp, 48, 48, seed=1) * 0.15,
              normal(jnp, 48, 2, seed=2) * 0.15]

    def slope(p: Any, y: Any) -> Any:
        return jnp.tanh(jnp.tanh(y**3 @ p[0]) @ p[1]) @ p[2]

    def loss(p: Any, y: Any, target: Any) -> Any:
        @jax.checkpoint
        def turn(y: Any, _: Any) -> Any:
            k1 = slope(p, y)
            k2 = slope(p, y + 0.05 * k1)
            k3 = slope(p, y + 0.05 * k2)
            k4 = slope(p, y + 0.1 * k3)
            y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return y, y

        _, path = jax.lax.scan(turn, y, None, length=20)
        return jnp.mean(jnp.abs(path - target))

    return jax.value_and_grad(loss), (params, normal(jnp, 64, 2), normal(jnp, 20, 64, 2))


@workload("stochastic pendulums by Euler and Maruyama")
def stochastic(jax: Any, jnp: Any) -> Program:
    """Two thousand paths of 50 steps with noise drawn in the loop; moments in time."""
    def step(key: Any, x: Any, v: Any) -> Any:
        def turn(s: Any, i: Any) -> Any:
            x, v = s
            noise = jax.random.normal(jax.random.fold_in(key, i), x.shape)
            x, v = x + 0.02 * v, v - 0.02 * (jnp.sin(x) + 0.1 * v) + 0.3 * 0.02**0.5 * noise
            return (x, v), (x.mean(), x.var(), jnp.mean(jnp.abs(x) > 3.0))

        return jax.lax.scan(turn, (x, v), jnp.arange(50))

    return step, (jax.random.key(0), normal(jnp, 2000), jnp.zeros(2000))


@workload("integrals by Gauss and Legendre, float64", x64=True)
def quadrature(jax: Any, jnp: Any) -> Program:
    """Two-dimensional integrals of oscillations for 200 parameters, with derivatives."""
    nodes, weights = np.polynomial.legendre.leggauss(24)

    def integral(p: Any, nodes: Any, weights: Any) -> Any:
        x, y = nodes[:, None], nodes[None]
        f = jnp.exp(-p[0] * (x**2 + y**2)) * jnp.cos(p[1] * x + p[2] * y) / (2 + jnp.sin(x * y))
        return weights @ f @ weights

    grid = np.random.default_rng(0).uniform(0.5, 5.0, (200, 3))
    return (jax.vmap(jax.value_and_grad(integral), (0, None, None)),
            (jnp.asarray(grid), jnp.asarray(nodes), jnp.asarray(weights)))


@workload("finite elements of a membrane, float64", x64=True)
def elements(jax: Any, jnp: Any) -> Program:
    """Triangles on 24 x 24 squares: two Newton steps of an energy, by conjugate gradients."""
    n = 24
    cg = part(jax, "scipy.sparse.linalg").cg
    grid = np.linspace(0.0, 1.0, n + 1)
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    place = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = (place[:-1, :-1].ravel(), place[1:, :-1].ravel(), place[:-1, 1:].ravel(),
                  place[1:, 1:].ravel())
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([d, c, b], -1)])
    free = np.ones((n + 1, n + 1))
    free[[0, -1]] = free[:, [0, -1]] = 0.0

    def energy(u: Any, corners: Any, values: Any) -> Any:
        sides = jnp.stack([corners[1] - corners[0], corners[2] - corners[0]])
        area = 0.5 * jnp.abs(jnp.linalg.det(sides))
        slope = jnp.linalg.solve(sides, jnp.stack([values[1] - values[0], values[2] - values[0]]))
        return area * (jnp.sqrt(1 + slope @ slope) - u * values.mean())

    def step(load: Any, points: Any, triangles: Any, free: Any) -> Any:
        def total(w: Any) -> Any:
            return jnp.sum(jax.vmap(energy, (None, 0, 0))(load, points[triangles], w[triangles]))

        def turn(w: Any, _: Any) -> Any:
            g = jax.grad(total)(w) * free
            product = lambda v: free * jax.jvp(jax.grad(total), (w,), (v * free,))[1]
            return w - cg(product, g, tol=0.0, maxiter=10)[0], total(w)

        return jax.lax.scan(turn, jnp.zeros(len(points)), None, length=2)

    return step, (jnp.asarray(0.5), jnp.asarray(points), jnp.asarray(triangles),
                  jnp.asarray(free.ravel()))


@workload("network that solves Burgers' equation, gradient")
def informed(jax: Any, jnp: Any) -> Program:
    """The residual u_t + u u_x - u_xx / 100 at 1,024 points, by nested derivatives under vmap."""
    params = [(normal(jnp, 2, 32), jnp.zeros(32)),
              (normal(jnp, 32, 32, seed=1) * 0.2, jnp.zeros(32)),
              (normal(jnp, 32, 1, seed=2) * 0.2, jnp.zeros(1))]

    def u(p: Any, t: Any, x: Any) -> Any:
        h = jnp.stack([t, x])
        for w, b in p[:-1]:
            h = jnp.tanh(h @ w + b)
        return (h @ p[-1][0] + p[-1][1])[0]

    def residual(p: Any, t: Any, x: Any) -> Any:
        ut, ux = jax.grad(u, (1, 2))(p, t, x)
        uxx = jax.grad(jax.grad(u, 2), 2)(p, t, x)
        return ut + u(p, t, x) * ux - 0.01 * uxx

    def loss(p: Any, t: Any, x: Any) -> Any:
        inside = jax.vmap(residual, (None, 0, 0))(p, t, x)
        start = jax.vmap(u, (None, None, 0))(p, 0.0, x)
        return jnp.mean(inside**2) + jnp.mean((start + jnp.sin(jnp.pi * x)) ** 2)

    return jax.value_and_grad(loss), (params, jnp.abs(normal(jnp, 1024)), normal(jnp, 1024, seed=3))
