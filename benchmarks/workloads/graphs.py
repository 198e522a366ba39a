"""Graphs and sparse matrices: messages along edges, ranks, distances, products."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, part, workload


def edges(jnp: Any, nodes: int, count: int) -> tuple[Any, Any]:
    """The ends of random edges."""
    return (between(jnp, 0, nodes, count, dtype=np.int32),
            between(jnp, 0, nodes, count, seed=1, dtype=np.int32))


@workload("graph convolutions for classes of nodes, gradient")
def convolutions(jax: Any, jnp: Any) -> Program:
    """Two layers over 2,000 nodes and 10,000 edges, weighted by degrees."""
    nodes = 2000
    senders, receivers = edges(jnp, nodes, 10_000)
    params = [normal(jnp, 64, 32) * 0.1, normal(jnp, 32, 7, seed=1) * 0.1]

    def loss(p: Any, x: Any, labels: Any, mask: Any) -> Any:
        ones = jnp.ones(senders.shape)
        out = jax.ops.segment_sum(ones, senders, nodes) + 1.0
        into = jax.ops.segment_sum(ones, receivers, nodes) + 1.0
        weight = jax.lax.rsqrt(out[senders] * into[receivers])[:, None]

        def spread(x: Any) -> Any:
            return jax.ops.segment_sum(x[senders] * weight, receivers, nodes) + x / into[:, None]

        logits = spread(jax.nn.relu(spread(x @ p[0])) @ p[1])
        losses = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)[:, 0]
        return jnp.sum(losses * mask) / jnp.sum(mask)

    labels = between(jnp, 0, 7, nodes, dtype=np.int32)
    mask = (between(jnp, 0, 1, nodes) < 0.3).astype(jnp.float32)
    return jax.value_and_grad(loss), (params, normal(jnp, nodes, 64), labels, mask)


@workload("graph attention, forward")
def attention(jax: Any, jnp: Any) -> Program:
    """Four heads over 1,000 nodes and 8,000 edges, with a softmax over each node's edges."""
    nodes, heads = 1000, 4
    senders, receivers = edges(jnp, nodes, 8000)

    def step(w: Any, left: Any, right: Any, x: Any) -> Any:
        h = (x @ w).reshape(nodes, heads, -1)
        score = jax.nn.leaky_relu((h * left).sum(-1)[senders] + (h * right).sum(-1)[receivers], 0.2)
        top = jax.ops.segment_max(score, receivers, nodes)
        e = jnp.exp(score - top[receivers])
        share = e / jax.ops.segment_sum(e, receivers, nodes)[receivers]
        mixed = jax.ops.segment_sum(h[senders] * share[..., None], receivers, nodes)
        return jax.nn.elu(mixed.reshape(nodes, -1))

    return step, (normal(jnp, 32, 64) * 0.2, normal(jnp, heads, 16, seed=1),
                  normal(jnp, heads, 16, seed=2), normal(jnp, nodes, 32, seed=3))


@workload("PageRank until it is steady")
def pagerank(jax: Any, jnp: Any) -> Program:
    """A while_loop of sums over 50,000 edges between 5,000 pages."""
    pages = 5000
    senders, receivers = edges(jnp, pages, 50_000)

    def step(senders: Any, receivers: Any) -> Any:
        degree = jnp.zeros(pages).at[senders].add(1.0)

        def turn(state: Any) -> Any:
            rank, _, turns = state
            share = jnp.where(degree > 0, rank / jnp.maximum(degree, 1.0), 0.0)
            lost = jnp.sum(jnp.where(degree == 0, rank, 0.0)) / pages
            new = 0.15 / pages + 0.85 * (jnp.zeros(pages).at[receivers].add(share[senders]) + lost)
            return new, jnp.sum(jnp.abs(new - rank)), turns + 1

        start = jnp.full(pages, 1.0 / pages), jnp.float32(jnp.inf), 0
        return jax.lax.while_loop(lambda s: (s[1] > 1e-5) & (s[2] < 20), turn, start)[0]

    return step, (senders, receivers)


@workload("shortest paths between all pairs")
def distances(jax: Any, jnp: Any) -> Program:
    """Floyd and Warshall's loop over 192 nodes."""
    lengths = np.random.default_rng(0).uniform(1.0, 10.0, (192, 192)).astype(np.float32)
    lengths[lengths > 4.0] = np.inf

    def step(d: Any) -> Any:
        d = jnp.where(jnp.eye(len(d), dtype=bool), 0.0, d)
        return jax.lax.fori_loop(
            0, len(d), lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k, :]), d)

    return step, (jnp.asarray(lengths),)


@workload("conjugate gradients with a sparse matrix")
def conjugate(jax: Any, jnp: Any) -> Program:
    """The Laplacian of a grid of 48 x 48 in coordinates, 40 iterations."""
    side = 48
    sparse, linalg = part(jax, "experimental.sparse"), part(jax, "scipy.sparse.linalg")
    place = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate([
        np.stack([a.ravel(), b.ravel()], -1)
        for a, b in ((place, place), (place[1:], place[:-1]), (place[:-1], place[1:]),
                     (place[:, 1:], place[:, :-1]), (place[:, :-1], place[:, 1:]))])
    values = np.where(pairs[:, 0] == pairs[:, 1], 4.1, -1.0).astype(np.float32)

    def step(values: Any, pairs: Any, b: Any) -> Any:
        a = sparse.BCOO((values, pairs), shape=(side * side, side * side))
        return linalg.cg(lambda x: a @ x, b, tol=0.0, maxiter=40)[0]

    return step, (jnp.asarray(values), jnp.asarray(pairs), normal(jnp, side * side))
