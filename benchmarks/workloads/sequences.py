"""Models of sequences: recurrences, attention, state spaces, decoding."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, workload


@workload("LSTM that predicts characters, SGD step")
def lstm(jax: Any, jnp: Any) -> Program:
    """Sixteen texts of 40 characters, a width of 128, with clipped gradients."""
    vocabulary, width = 64, 128
    params = {
        "embed": normal(jnp, vocabulary, width) * 0.1,
        "wx": normal(jnp, width, 4 * width, seed=1) * 0.08,
        "wh": normal(jnp, width, 4 * width, seed=2) * 0.08,
        "b": jnp.zeros(4 * width),
        "out": normal(jnp, width, vocabulary, seed=3) * 0.08,
    }
    tokens = between(jnp, 0, vocabulary, 16, 41, dtype=np.int32)

    def loss(p: Any, tokens: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=-1)
            c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        x = p["embed"][tokens[:, :-1]]
        start = jnp.zeros((x.shape[0], width))
        _, h = jax.lax.scan(cell, (start, start), jnp.swapaxes(x, 0, 1))
        logp = jax.nn.log_softmax(h @ p["out"])
        picked = jnp.take_along_axis(logp, tokens[:, 1:].T[..., None], axis=-1)
        return -jnp.mean(picked)

    def step(p: Any, tokens: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, tokens)
        norm = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(g)))
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        return jax.tree.map(lambda a, b: a - 0.5 * scale * b, p, g), value

    return step, (params, tokens)


@workload("small transformer, AdamW step")
def transformer(jax: Any, jnp: Any) -> Program:
    """Two layers of width 96 with rotated keys, over four texts of 64 tokens."""
    width, heads, vocabulary = 96, 4, 256
    layers = [
        {"qkv": normal(jnp, width, 3 * width, seed=i) * 0.1,
         "out": normal(jnp, width, width, seed=i + 1) * 0.1,
         "up": normal(jnp, width, 4 * width, seed=i + 2) * 0.1,
         "down": normal(jnp, 4 * width, width, seed=i + 3) * 0.05,
         "g1": jnp.ones(width), "g2": jnp.ones(width)}
        for i in (0, 10)
    ]
    params = {"embed": normal(jnp, vocabulary, width, seed=20) * 0.1, "layers": layers}
    tokens = between(jnp, 0, vocabulary, 4, 65, dtype=np.int32)

    def norm(x: Any, g: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g

    def rotated(x: Any) -> Any:
        half = x.shape[-1] // 2
        angle = jnp.arange(x.shape[1])[:, None] * 100.0 ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    def attention(layer: Any, x: Any) -> Any:
        b, t, _ = x.shape
        q, k, v = (y.reshape(b, t, heads, -1) for y in jnp.split(x @ layer["qkv"], 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", rotated(q), rotated(k)) / (width / heads) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
        return mixed.reshape(b, t, -1) @ layer["out"]

    def loss(p: Any, tokens: Any) -> Any:
        x = p["embed"][tokens[:, :-1]]
        for layer in p["layers"]:
            x = x + attention(layer, norm(x, layer["g1"]))
            x = x + jax.nn.gelu(norm(x, layer["g2"]) @ layer["up"]) @ layer["down"]
        logits = x @ p["embed"].T
        targets = jax.nn.one_hot(tokens[:, 1:], vocabulary)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * targets, -1))

    def step(p: Any, m: Any, v: Any, t: Any, tokens: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, tokens)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        p = jax.tree.map(
            lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-6)
                                        + 0.01 * p), p, m, v)
        return p, m, v, t, value

    zeros = jax.tree.map(jnp.zeros_like, params)
    return step, (params, zeros, zeros, jnp.float32(0.0), tokens)


@workload("diagonal state space by associative_scan, gradient")
def state_space(jax: Any, jnp: Any) -> Program:
    """A recurrence h = a h + b x of 64 channels over 1,024 times, with gates of the input."""
    params = {"a": normal(jnp, 64), "b": normal(jnp, 64, 64, seed=1) * 0.1,
              "gate": normal(jnp, 64, 64, seed=2) * 0.1, "c": normal(jnp, 64, seed=3) * 0.1}

    def join(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    def loss(p: Any, x: Any, y: Any) -> Any:
        gate = jax.nn.sigmoid(x @ p["gate"])
        decay = jnp.exp(-jax.nn.softplus(p["a"]) * gate)
        _, h = jax.lax.associative_scan(join, (decay, (1 - decay) * (x @ p["b"])))
        return jnp.mean((h @ p["c"] - y) ** 2)

    return jax.value_and_grad(loss), (params, normal(jnp, 1024, 64), normal(jnp, 1024, seed=4))


@workload("greedy decoding with a cache of keys and values")
def decoding(jax: Any, jnp: Any) -> Program:
    """Twenty-four tokens for two texts, each written into the caches of two layers."""
    width, heads, length, vocabulary = 128, 4, 64, 512
    layers = {
        "qkv": normal(jnp, 2, width, 3 * width) * 0.1,
        "out": normal(jnp, 2, width, width, seed=1) * 0.1,
        "up": normal(jnp, 2, width, 4 * width, seed=2) * 0.1,
        "down": normal(jnp, 2, 4 * width, width, seed=3) * 0.05,
    }
    embed = normal(jnp, vocabulary, width, seed=4) * 0.3

    def token(layers: Any, embed: Any, state: Any, place: Any) -> Any:
        current, keys, values = state
        x = embed[current]
        for i in range(2):
            q, k, v = jnp.split(x @ layers["qkv"][i], 3, -1)
            q, k, v = (y.reshape(-1, heads, width // heads) for y in (q, k, v))
            keys = keys.at[i, :, place].set(k)
            values = values.at[i, :, place].set(v)
            scores = jnp.einsum("bhd,bthd->bht", q, keys[i]) / (width / heads) ** 0.5
            scores = jnp.where(jnp.arange(length) <= place, scores, -jnp.inf)
            mixed = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(scores, -1), values[i])
            x = x + mixed.reshape(-1, width) @ layers["out"][i]
            x = x + jax.nn.relu(x @ layers["up"][i]) @ layers["down"][i]
        current = jnp.argmax(x @ embed.T, -1).astype(jnp.int32)
        return (current, keys, values), current

    def step(layers: Any, embed: Any, first: Any) -> Any:
        cache = jnp.zeros((2, first.shape[0], length, heads, width // heads))
        _, tokens = jax.lax.scan(
            lambda s, i: token(layers, embed, s, i), (first, cache, cache), jnp.arange(24))
        return tokens.T

    return step, (layers, embed, jnp.array([3, 5], jnp.int32))


@workload("CTC loss of speech, gradient")
def ctc(jax: Any, jnp: Any) -> Program:
    """The forward recursion over 120 frames for eight texts of 20 symbols, in logarithms."""
    frames, symbols, batch, length = 120, 29, 8, 20
    labels = between(jnp, 1, symbols, batch, length, dtype=np.int32)

    def one(logits: Any, label: Any) -> Any:
        logp = jax.nn.log_softmax(logits)
        spread = jnp.zeros(2 * length + 1, jnp.int32).at[1::2].set(label)
        before = jnp.concatenate([jnp.full(2, -1, jnp.int32), spread[:-2]])
        skips = (spread != 0) & (spread != before)
        start = jnp.full(2 * length + 1, -1e30)
        start = start.at[0].set(logp[0, 0]).at[1].set(logp[0, spread[1]])

        def frame(alpha: Any, lp: Any) -> Any:
            one_back = jnp.concatenate([jnp.array([-1e30]), alpha[:-1]])
            two_back = jnp.concatenate([jnp.array([-1e30, -1e30]), alpha[:-2]])
            two_back = jnp.where(skips, two_back, -1e30)
            total = jnp.logaddexp(jnp.logaddexp(alpha, one_back), two_back)
            return total + lp[spread], None

        alpha, _ = jax.lax.scan(frame, start, logp[1:])
        return -jnp.logaddexp(alpha[-1], alpha[-2])

    def loss(w: Any, x: Any) -> Any:
        return jnp.mean(jax.vmap(one)(x @ w, labels))

    weights = normal(jnp, 40, symbols) * 0.1
    return jax.value_and_grad(loss), (weights, normal(jnp, batch, frames, 40, seed=1))
