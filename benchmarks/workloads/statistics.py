"""Statistics: Gaussian processes, clusters, mixtures, trees, densities, samples of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, part, workload


@workload("Gaussian process: likelihood, its gradient, prediction")
def process(jax: Any, jnp: Any) -> Program:
    """A Matern kernel over 150 points in four dimensions, in float32 with a ridge."""
    linalg = part(jax, "scipy.linalg")

    def kernel(p: Any, a: Any, b: Any) -> Any:
        apart = (a[:, None] - b[None]) / jnp.exp(p["scales"])
        r = jnp.sqrt(5.0 * jnp.sum(apart**2, -1) + 1e-12)
        return jnp.exp(p["size"]) * (1 + r + r**2 / 3) * jnp.exp(-r)

    def fitted(p: Any, x: Any, y: Any) -> Any:
        k = kernel(p, x, x) + (jnp.exp(p["noise"]) + 1e-4) * jnp.eye(len(x))
        low = jnp.linalg.cholesky(k)
        return low, linalg.cho_solve((low, True), y)

    def loss(p: Any, x: Any, y: Any) -> Any:
        low, alpha = fitted(p, x, y)
        return 0.5 * y @ alpha + jnp.sum(jnp.log(jnp.diag(low)))

    def step(p: Any, x: Any, y: Any, new: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, x, y)
        p = jax.tree.map(lambda a, b: a - 1e-3 * b, p, g)
        low, alpha = fitted(p, x, y)
        across = kernel(p, new, x)
        half = linalg.solve_triangular(low, across.T, lower=True)
        return p, value, across @ alpha, jnp.exp(p["size"]) - jnp.sum(half**2, 0)

    params = {"scales": jnp.zeros(4), "size": jnp.float32(0.0), "noise": jnp.float32(-2.0)}
    x = normal(jnp, 150, 4)
    return step, (params, x, jnp.sin(x.sum(-1)), normal(jnp, 50, 4, seed=1))


@workload("k-means until nothing moves")
def kmeans(jax: Any, jnp: Any) -> Program:
    """Ten thousand points in eight dimensions, twelve centres, at most ten turns."""
    def step(x: Any, centres: Any) -> Any:
        def turn(s: Any) -> Any:
            centres, _, turns = s
            far = jnp.sum(x**2, 1)[:, None] - 2 * x @ centres.T + jnp.sum(centres**2, 1)
            nearest = jnp.argmin(far, 1)
            total = jnp.zeros_like(centres).at[nearest].add(x)
            count = jnp.zeros(len(centres)).at[nearest].add(1.0)
            new = jnp.where(count[:, None] > 0, total / jnp.maximum(count, 1.0)[:, None], centres)
            return new, jnp.max(jnp.abs(new - centres)), turns + 1

        start = centres, jnp.float32(jnp.inf), 0
        return jax.lax.while_loop(lambda s: (s[1] > 1e-4) & (s[2] < 10), turn, start)

    x = normal(jnp, 10_000, 8)
    return step, (x, x[:12])


@workload("mixture of Gaussians by EM")
def mixture(jax: Any, jnp: Any) -> Program:
    """Three turns with full covariances: 2,000 points, three dimensions, six components."""
    multivariate = part(jax, "scipy.stats").multivariate_normal

    def step(x: Any, means: Any) -> Any:
        def turn(s: Any, _: Any) -> Any:
            weights, means, covs = s
            logp = jax.vmap(lambda m, c: multivariate.logpdf(x, m, c))(means, covs)
            logp = logp + jnp.log(weights)[:, None]
            total = jax.nn.logsumexp(logp, axis=0)
            share = jnp.exp(logp - total)
            n = share.sum(1)
            means = share @ x / n[:, None]
            apart = x[None] - means[:, None]
            covs = jnp.einsum("kn,kni,knj->kij", share, apart, apart) / n[:, None, None]
            return (n / len(x), means, covs + 1e-3 * jnp.eye(3)), total.mean()

        start = jnp.full(6, 1 / 6), means, jnp.tile(jnp.eye(3), (6, 1, 1))
        return jax.lax.scan(turn, start, None, length=3)

    x = normal(jnp, 2000, 3)
    return step, (x, x[:6])


@workload("boosted trees from histograms")
def boosting(jax: Any, jnp: Any) -> Program:
    """Five trees of depth four over 2,000 rows and ten columns of 32 bins."""
    depth, bins = 4, 32

    def tree(score: Any, x: Any, y: Any) -> Any:
        chance = jax.nn.sigmoid(score)
        g, h = chance - y, chance * (1 - chance)
        node = jnp.zeros(len(y), jnp.int32)
        columns = jnp.arange(x.shape[1])
        for level in range(depth):
            shape = (2**level, x.shape[1], bins)
            sums = [jnp.cumsum(jnp.zeros(shape).at[node[:, None], columns, x].add(v[:, None]), -1)
                    for v in (g, h)]
            (gl, hl), (gt, ht) = sums, [s[..., -1:] for s in sums]
            gain = (gl**2 / (hl + 1) + (gt - gl) ** 2 / (ht - hl + 1)).reshape(2**level, -1)
            best = jnp.argmax(gain, 1)
            column, cut = best // bins, best % bins
            right = jnp.take_along_axis(x, column[node][:, None], 1)[:, 0] > cut[node]
            node = 2 * node + right
        leaves = [jax.ops.segment_sum(v, node, 2**depth) for v in (g, h)]
        leaf = -leaves[0] / (leaves[1] + 1.0)
        return score + 0.3 * leaf[node], jnp.mean(jnp.logaddexp(0.0, score) - y * score)

    def step(x: Any, y: Any) -> Any:
        return jax.lax.scan(lambda s, _: tree(s, x, y), jnp.zeros(len(y)), None, length=5)

    return step, (between(jnp, 0, bins, 2000, 10, dtype=np.int32),
                  (between(jnp, 0, 1, 2000) < 0.5).astype(jnp.float32))


@workload("bootstrap of a median and a correlation")
def bootstrap(jax: Any, jnp: Any) -> Program:
    """Two hundred samples of 500 rows, with quantiles of what they give."""
    def one(key: Any, x: Any) -> Any:
        rows = x[jax.random.choice(key, len(x), (len(x),))]
        return jnp.median(rows[:, 0]), jnp.corrcoef(rows, rowvar=False)[0, 1]

    def step(key: Any, x: Any) -> Any:
        found = jax.vmap(one, (0, None))(jax.random.split(key, 200), x)
        return [jnp.quantile(f, jnp.array([0.025, 0.5, 0.975])) for f in found]

    return step, (jax.random.key(0), normal(jnp, 500, 2))


@workload("principal components and whitening")
def components(jax: Any, jnp: Any) -> Program:
    """Four thousand rows of 64 columns: covariance, its eigenvectors, distances."""
    def step(x: Any) -> Any:
        centred = x - x.mean(0)
        values, vectors = jnp.linalg.eigh(centred.T @ centred / (len(x) - 1))
        scores = centred @ jnp.abs(vectors[:, -8:]) / jnp.sqrt(values[-8:])
        farthest = jnp.sort(jnp.sum(scores**2, 1))[-20:]
        return values, farthest, jnp.cumsum(values[::-1]) / values.sum()

    scale = jnp.asarray(np.linspace(0.5, 4.0, 64, dtype=np.float32))
    return step, (normal(jnp, 4000, 64) * scale,)
