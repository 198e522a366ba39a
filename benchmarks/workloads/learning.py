"""Other ways to learn: tables, ensembles, learning to learn, experts, contrasts, second order."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, workload


@workload("network of a table with embeddings, Adam step")
def table(jax: Any, jnp: Any) -> Program:
    """Six columns of categories and ten of numbers, 1,024 rows, with dropout."""
    params = {
        "embed": [normal(jnp, 50, 8, seed=i) * 0.1 for i in range(6)],
        "dense": [normal(jnp, 58, 64, seed=6) * 0.1, normal(jnp, 64, 64, seed=7) * 0.1,
                  normal(jnp, 64, 1, seed=8) * 0.1],
    }

    def loss(p: Any, key: Any, kinds: Any, numbers: Any, labels: Any) -> Any:
        columns = [e[kinds[:, i]] for i, e in enumerate(p["embed"])]
        x = jnp.concatenate([*columns, numbers], -1)
        for i, w in enumerate(p["dense"][:-1]):
            x = jax.nn.relu(x @ w)
            kept = jax.random.bernoulli(jax.random.fold_in(key, i), 0.9, x.shape)
            x = jnp.where(kept, x / 0.9, 0.0)
        logit = (x @ p["dense"][-1])[:, 0]
        return jnp.mean(jnp.logaddexp(0.0, logit) - labels * logit)

    def step(p: Any, m: Any, v: Any, key: Any, *data: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, key, *data)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, g)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v)
        return p, m, v, value

    zeros = jax.tree.map(jnp.zeros_like, params)
    kinds = between(jnp, 0, 50, 1024, 6, dtype=np.int32)
    labels = (between(jnp, 0, 1, 1024) < 0.4).astype(jnp.float32)
    return step, (params, zeros, zeros, jax.random.key(0), kinds, normal(jnp, 1024, 10), labels)


@workload("ensemble of 16 networks by vmap, step")
def ensemble(jax: Any, jnp: Any) -> Program:
    """Mean and variance of a target, each network with a bootstrap sample of its own."""
    params = (normal(jnp, 16, 6, 48) * 0.4, jnp.zeros((16, 48)),
              normal(jnp, 16, 48, 48, seed=1) * 0.15, jnp.zeros((16, 48)),
              normal(jnp, 16, 48, 2, seed=2) * 0.15)

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = jax.nn.silu(x @ p[0] + p[1])
        h = jax.nn.silu(h @ p[2] + p[3])
        mean, raw = jnp.moveaxis(h @ p[4], -1, 0)
        var = jax.nn.softplus(raw) + 1e-4
        return jnp.mean(0.5 * jnp.log(var) + 0.5 * (y - mean) ** 2 / var)

    def member(p: Any, key: Any, x: Any, y: Any) -> Any:
        rows = jax.random.randint(key, (256,), 0, x.shape[0])
        value, g = jax.value_and_grad(loss)(p, x[rows], y[rows])
        return jax.tree.map(lambda a, b: a - 0.01 * b, p, g), value

    def step(params: Any, key: Any, x: Any, y: Any) -> Any:
        keys = jax.random.split(key, 16)
        return jax.vmap(member, in_axes=(0, 0, None, None))(params, keys, x, y)

    return step, (params, jax.random.key(1), normal(jnp, 512, 6), normal(jnp, 512, seed=3))


@workload("learning to learn sines (MAML), gradient")
def maml(jax: Any, jnp: Any) -> Program:
    """The gradient through three inner steps of 16 tasks of 20 points."""
    params = [(normal(jnp, 1, 40) * 0.5, jnp.zeros(40)),
              (normal(jnp, 40, 40, seed=1) * 0.15, jnp.zeros(40)),
              (normal(jnp, 40, 1, seed=2) * 0.15, jnp.zeros(1))]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = jnp.tanh(x @ w + b)
        return jnp.mean((x @ params[-1][0] + params[-1][1] - y) ** 2)

    def after(params: Any, x: Any, y: Any) -> Any:
        for _ in range(3):
            g = jax.grad(loss)(params, x, y)
            params = jax.tree.map(lambda p, g: p - 0.05 * g, params, g)
        return params

    def outer(params: Any, x: Any, y: Any) -> Any:
        def of_task(x: Any, y: Any) -> Any:
            return loss(after(params, x[:10], y[:10]), x[10:], y[10:])

        return jnp.mean(jax.vmap(of_task)(x, y))

    x = between(jnp, -5, 5, 16, 20, 1)
    phase = between(jnp, 0, 3, 16, 1, 1, seed=1)
    return jax.value_and_grad(outer), (params, x, jnp.sin(x + phase))


@workload("mixture of experts, gradient")
def experts(jax: Any, jnp: Any) -> Program:
    """The two best of eight experts for each of 512 tokens, with limited places."""
    count, places, width = 8, 160, 48
    params = {"gate": normal(jnp, width, count) * 0.2,
              "up": normal(jnp, count, width, 96, seed=1) * 0.15,
              "down": normal(jnp, count, 96, width, seed=2) * 0.1}

    def loss(p: Any, x: Any, y: Any) -> Any:
        gates = jax.nn.softmax(x @ p["gate"])
        weight, chosen = jax.lax.top_k(gates, 2)
        weight = weight / weight.sum(-1, keepdims=True)
        hot = jax.nn.one_hot(chosen, count)
        rank = jnp.cumsum(hot.reshape(-1, count), 0).reshape(hot.shape) - hot
        rank = jnp.sum(rank * hot, -1).astype(jnp.int32)
        sent = hot[..., None] * jax.nn.one_hot(rank, places)[:, :, None]
        inside = jnp.einsum("tkep,td->epd", sent, x)
        outside = jnp.einsum("epf,efd->epd", jax.nn.relu(
            jnp.einsum("epd,edf->epf", inside, p["up"])), p["down"])
        out = jnp.einsum("tkep,tk,epd->td", sent, weight, outside)
        balance = count * jnp.sum(gates.mean(0) * hot.sum(1).mean(0))
        return jnp.mean((out - y) ** 2) + 0.01 * balance

    return jax.value_and_grad(loss), (params, normal(jnp, 512, width, seed=3),
                                      normal(jnp, 512, width, seed=4))


@workload("contrastive pairs of views, gradient")
def contrast(jax: Any, jnp: Any) -> Program:
    """Two noisy views of 128 inputs, one encoder, similarities divided by a temperature."""
    params = [normal(jnp, 256, 128) * 0.06, normal(jnp, 128, 128, seed=1) * 0.09,
              normal(jnp, 128, 64, seed=2) * 0.09]

    def encoded(p: Any, x: Any) -> Any:
        h = jax.nn.relu(jax.nn.relu(x @ p[0]) @ p[1]) @ p[2]
        return h / jnp.linalg.norm(h, axis=-1, keepdims=True)

    def loss(p: Any, key: Any, x: Any) -> Any:
        a, b = jax.random.split(key)
        views = [x + 0.1 * jax.random.normal(k, x.shape) for k in (a, b)]
        z = jnp.concatenate([encoded(p, v) for v in views])
        scores = z @ z.T / 0.1 - 1e9 * jnp.eye(len(z))
        partner = jnp.roll(jnp.arange(len(z)), len(z) // 2)
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(len(z)), partner])

    return jax.value_and_grad(loss), (params, jax.random.key(2), normal(jnp, 128, 256, seed=3))


@workload("curvature by the trace of Hutchinson, and its sharpest direction")
def curvature(jax: Any, jnp: Any) -> Program:
    """Hessian-vector products of a network: eight probes by vmap, ten power iterations."""
    params = [normal(jnp, 10, 64) * 0.3, normal(jnp, 64, 64, seed=1) * 0.1,
              normal(jnp, 64, 1, seed=2) * 0.1]

    def loss(p: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(jnp.tanh(x @ p[0]) @ p[1]) @ p[2] - y) ** 2)

    def step(p: Any, key: Any, x: Any, y: Any) -> Any:
        def product(v: Any) -> Any:
            return jax.jvp(jax.grad(lambda p: loss(p, x, y)), (p,), (v,))[1]

        def inner(a: Any, b: Any) -> Any:
            return sum(jnp.vdot(s, t) for s, t in zip(a, b, strict=True))

        def probe(key: Any) -> Any:
            signs = [jax.random.rademacher(jax.random.fold_in(key, i), w.shape, jnp.float32)
                     for i, w in enumerate(p)]
            return inner(signs, product(signs))

        def power(v: Any, _: Any) -> Any:
            w = product(v)
            size = jnp.sqrt(inner(w, w))
            return [x / size for x in w], size

        trace = jnp.mean(jax.vmap(probe)(jax.random.split(key, 8)))
        _, sizes = jax.lax.scan(power, [jnp.ones_like(w) for w in p], None, length=10)
        return trace, sizes[-1]

    return step, (params, jax.random.key(3), normal(jnp, 128, 10), normal(jnp, 128, 1, seed=4))
