"""Optimisation: quasi-Newton methods, least squares, evolution, transport, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, part, workload


@workload("BFGS of logistic regressions, scipy.optimize")
def bfgs(jax: Any, jnp: Any) -> Program:
    """Sixty-four kinds of labels by vmap, 200 rows and 10 columns, until all have arrived."""
    minimize = part(jax, "scipy.optimize").minimize
    x = normal(jnp, 200, 10)

    def one(labels: Any) -> Any:
        def loss(w: Any) -> Any:
            logit = x @ w
            return jnp.mean(jnp.logaddexp(0.0, logit) - labels * logit) + 0.05 * jnp.sum(w**2)

        return minimize(loss, jnp.zeros(10), method="BFGS").x

    return jax.vmap(one), ((between(jnp, 0, 1, 64, 200) < 0.5).astype(jnp.float32),)


@workload("curve fitting by Levenberg and Marquardt")
def marquardt(jax: Any, jnp: Any) -> Program:
    """Sums of two Gaussians through 100 points each, 64 curves, 12 iterations."""
    t = np.linspace(-3, 3, 100, dtype=np.float32)

    def curve(p: Any) -> Any:
        return p[0] * jnp.exp(-((t - p[1]) ** 2) / (0.1 + p[2] ** 2)) + p[3] * jnp.exp(
            -((t - p[4]) ** 2) / (0.1 + p[5] ** 2))

    def fit(y: Any) -> Any:
        def turn(s: Any, _: Any) -> Any:
            p, damping = s
            r = curve(p) - y
            slope = jax.jacfwd(curve)(p)
            square = slope.T @ slope
            new = p - jnp.linalg.solve(square + damping * jnp.eye(6), slope.T @ r)
            better = jnp.sum((curve(new) - y) ** 2) < jnp.sum(r**2)
            damping = jnp.where(better, damping * 0.5, damping * 3.0)
            return (jnp.where(better, new, p), damping), jnp.sum(r**2)

        start = jnp.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0]), jnp.float32(0.1)
        (p, _), errors = jax.lax.scan(turn, start, None, length=12)
        return p, errors

    truth = jnp.array([1.5, -0.8, 0.7, 0.8, 1.2, 0.9]) + 0.1 * normal(jnp, 64, 6)
    return jax.vmap(fit), (jax.vmap(curve)(truth),)


@workload("evolution of a covariance (CMA-ES)")
def evolution(jax: Any, jnp: Any) -> Program:
    """Twenty generations of 64 in 40 dimensions, with an eigendecomposition each."""
    n, many, chosen = 40, 64, 32
    weights = np.log(chosen + 0.5) - np.log(np.arange(1, chosen + 1))
    weights = (weights / weights.sum()).astype(np.float32)

    def cost(x: Any) -> Any:
        return jnp.sum(x**2 * 10.0 ** (2 * jnp.arange(n) / n), -1)

    def step(key: Any, mean: Any) -> Any:
        def turn(s: Any, key: Any) -> Any:
            mean, cov, path, sigma = s
            values, vectors = jnp.linalg.eigh(cov)
            root = vectors * jnp.sqrt(jnp.maximum(values, 1e-9)) @ vectors.T
            steps = jax.random.normal(key, (many, n)) @ root
            costs = cost(mean + sigma * steps)
            best = steps[jnp.argsort(costs)[:chosen]]
            moved = jnp.asarray(weights) @ best
            path = 0.8 * path + 0.6 * (chosen / 2) ** 0.5 * moved
            spread = jnp.einsum("k,ki,kj->ij", jnp.asarray(weights), best, best)
            cov = 0.85 * cov + 0.05 * jnp.outer(path, path) + 0.1 * spread
            sigma = sigma * jnp.exp(0.1 * (jnp.linalg.norm(path) / n**0.5 - 1))
            return (mean + sigma * moved, cov, path, sigma), costs.min()

        start = mean, jnp.eye(n), jnp.zeros(n), jnp.float32(0.5)
        (mean, _, _, sigma), costs = jax.lax.scan(turn, start, jax.random.split(key, 20))
        return mean, sigma, costs

    return step, (jax.random.key(0), jnp.ones(n))


@workload("optimal transport by Sinkhorn, gradient")
def transport(jax: Any, jnp: Any) -> Program:
    """Twenty-five iterations between clouds of 150 points, in logarithms."""
    def distance(x: Any, y: Any) -> Any:
        cost = jnp.sum((x[:, None] - y[None]) ** 2, -1)

        def turn(s: Any, _: Any) -> Any:
            f, g = s
            f = -0.1 * jax.nn.logsumexp((g[None] - cost) / 0.1, axis=1)
            g = -0.1 * jax.nn.logsumexp((f[:, None] - cost) / 0.1, axis=0)
            return (f, g), None

        (f, g), _ = jax.lax.scan(turn, (jnp.zeros(len(x)), jnp.zeros(len(y))), None, length=25)
        plan = jnp.exp((f[:, None] + g[None] - cost) / 0.1)
        return jnp.sum(plan * cost)

    return jax.value_and_grad(distance), (normal(jnp, 150, 2), normal(jnp, 150, 2, seed=1) + 1.0)


@workload("lasso along a path of penalties (FISTA)")
def lasso(jax: Any, jnp: Any) -> Program:
    """Twenty penalties by vmap, 150 accelerated steps, 200 rows and 100 columns."""
    def step(a: Any, y: Any, penalties: Any) -> Any:
        square, across = a.T @ a, a.T @ y
        rate = 1.0 / jnp.linalg.norm(square)

        def one(penalty: Any) -> Any:
            def turn(_: Any, s: Any) -> Any:
                w, z, t = s
                moved = z - rate * (square @ z - across)
                new = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - rate * penalty, 0.0)
                later = (1 + jnp.sqrt(1 + 4 * t**2)) / 2
                return new, new + (t - 1) / later * (new - w), later

            zeros = jnp.zeros(a.shape[1])
            return jax.lax.fori_loop(0, 150, turn, (zeros, zeros, jnp.float32(1.0)))[0]

        w = jax.vmap(one)(penalties)
        return w, jnp.sum(w != 0, 1)

    return step, (normal(jnp, 200, 100), normal(jnp, 200, seed=1),
                  jnp.logspace(0.0, 2.0, 20))


@workload("Newton steps with conjugate gradients")
def newton(jax: Any, jnp: Any) -> Program:
    """Four steps of a softmax regression, 512 rows, 32 columns, 10 classes."""
    cg = part(jax, "scipy.sparse.linalg").cg

    def step(w: Any, x: Any, labels: Any) -> Any:
        def loss(w: Any) -> Any:
            logits = x @ w
            picked = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
            return jnp.mean(jax.nn.logsumexp(logits, -1) - picked) + 5e-3 * jnp.sum(w**2)

        def turn(w: Any, _: Any) -> Any:
            value, g = jax.value_and_grad(loss)(w)
            product = lambda v: jax.jvp(jax.grad(loss), (w,), (v,))[1]
            return w - cg(product, g, tol=0.0, maxiter=8)[0], value

        return jax.lax.scan(turn, w, None, length=4)

    return step, (jnp.zeros((32, 10)), normal(jnp, 512, 32),
                  between(jnp, 0, 10, 512, dtype=np.int32))
