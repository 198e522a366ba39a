"""The programs that rows measure, once for every library: chains, perceptrons, transformers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

# Each step keeps values within [-1, 1], so that a chain of any length stays finite.
LINKS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda jnp, x: jnp.sin(x),
    lambda jnp, x: jnp.tanh(x),
    lambda jnp, x: x * 0.5,
    lambda jnp, x: x - 0.25,
    lambda jnp, x: -x,
    lambda jnp, x: jnp.cos(x),
    lambda jnp, x: jnp.maximum(x, -0.75),
)


def chain(jnp: Any, n: int, seed: int = 0) -> Callable[[Any], Any]:
    """A function of `n` elementwise operations in a row; each seed gives another program."""
    links = random.Random(seed).choices(LINKS, k=n)

    def run(x: Any) -> Any:
        for link in links:
            x = link(jnp, x)
        return x

    return run


def uniform(jnp: Any, *shape: int, seed: int = 0) -> Any:
    """A float32 array of uniform numbers in [-1, 1], divided by sqrt(shape[0])."""
    size = max(shape[0], 1) if shape else 1
    values = np.random.default_rng(seed).uniform(-1.0, 1.0, shape) / np.sqrt(size)
    return jnp.asarray(values.astype(np.float32))


def mlp_params(jnp: Any, layers: int, width: int) -> list[tuple[Any, Any]]:
    """Weights and biases of square layers."""
    return [(uniform(jnp, width, width, seed=i), jnp.zeros(width)) for i in range(layers)]


def mlp_loss(jnp: Any) -> Callable[..., Any]:
    """The squared error of a perceptron of tanh layers."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return jnp.mean((x - y) ** 2)

    return loss


def mlp(
    jnp: Any, layers: int, width: int, batch: int
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A perceptron's loss with its arguments."""
    params = mlp_params(jnp, layers, width)
    return mlp_loss(jnp), (params, uniform(jnp, batch, width), uniform(jnp, batch, width, seed=1))


def transformer_params(jnp: Any, layers: int, width: int, vocabulary: int) -> dict[str, Any]:
    """Embedding and blocks of a transformer whose output shares the embedding."""
    sizes = {
        "qkv": (width, 3 * width),
        "out": (width, width),
        "up": (width, 4 * width),
        "down": (4 * width, width),
    }
    blocks = []
    for i in range(layers):
        block: dict[str, Any] = {
            name: uniform(jnp, *size, seed=4 * i + j)
            for j, (name, size) in enumerate(sizes.items())
        }
        for name in ("norm1", "norm2"):
            block[name] = {"scale": jnp.ones(width), "shift": jnp.zeros(width)}
        blocks.append(block)
    return {"embedding": uniform(jnp, vocabulary, width, seed=7), "blocks": blocks}


def norm(jax: Any, jnp: Any, x: Any) -> Any:
    """The rows of x, normalised to mean 0 and variance 1."""
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5)


def norm_written_out(jax: Any, jnp: Any, x: Any) -> Any:
    """The same norm, whose mean and variance share the centred values."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def transformer_loss(
    jax: Any, jnp: Any, heads: int, norm: Callable[..., Any]
) -> Callable[..., Any]:
    """The next-token loss of a causal transformer, with its layers unrolled."""

    def scaled(p: Any, x: Any) -> Any:
        return norm(jax, jnp, x) * p["scale"] + p["shift"]

    def attention(p: Any, x: Any) -> Any:
        batch, length, width = x.shape
        qkv = (x @ p["qkv"]).reshape(batch, length, 3, heads, width // heads)
        q, k, v = (jnp.transpose(qkv[:, :, i], (0, 2, 1, 3)) for i in range(3))
        scores = q @ jnp.swapaxes(k, -1, -2) / np.sqrt(width // heads).astype(np.float32)
        places = jnp.arange(length)
        scores = jnp.where(places[:, None] >= places[None, :], scores, -1e9)
        mixed = jnp.transpose(jax.nn.softmax(scores, axis=-1) @ v, (0, 2, 1, 3))
        return mixed.reshape(batch, length, width) @ p["out"]

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embedding"][tokens[:, :-1]]
        for p in params["blocks"]:
            x = x + attention(p, scaled(p["norm1"], x))
            x = x + jax.nn.gelu(scaled(p["norm2"], x) @ p["up"]) @ p["down"]
        scores = jax.nn.log_softmax(x @ params["embedding"].T, axis=-1)
        right = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)
        return -jnp.mean(right)

    return loss


def transformer_step(
    jax: Any,
    jnp: Any,
    layers: int,
    width: int = 64,
    batch: int = 4,
    length: int = 32,
    norm: Callable[..., Any] = norm_written_out,
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A training step (gradient and descent) of a transformer, with its arguments."""
    loss = transformer_loss(jax, jnp, 4, norm)
    params = transformer_params(jnp, layers, width, vocabulary=128)
    tokens = np.random.default_rng(0).integers(0, 128, (batch, length + 1), dtype=np.int32)

    def step(params: Any, tokens: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(params, tokens)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, slopes), value

    return step, (params, jnp.asarray(tokens))
