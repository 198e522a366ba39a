"""A small decoder-only transformer learns to continue a repeating text."""

import jax
import jax.numpy as jnp
from jax import random

TEXT = "the quick brown fox jumps over the lazy dog. " * 4
LETTERS = sorted(set(TEXT))
DATA = jnp.array([LETTERS.index(c) for c in TEXT])
WIDTH, HEADS, LENGTH = 32, 4, 16


def init(key):
    keys = iter(random.split(key, 8))
    dense = lambda m, n: random.normal(next(keys), (m, n)) / jnp.sqrt(m)
    return {
        "embed": random.normal(next(keys), (len(LETTERS), WIDTH)) * 0.1,
        "place": random.normal(next(keys), (LENGTH, WIDTH)) * 0.1,
        "qkv": dense(WIDTH, 3 * WIDTH), "out": dense(WIDTH, WIDTH),
        "up": dense(WIDTH, 4 * WIDTH), "down": dense(4 * WIDTH, WIDTH),
    }


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(p, x):
    q, k, v = jnp.split(norm(x) @ p["qkv"], 3, axis=-1)
    heads = lambda a: a.reshape(LENGTH, HEADS, -1).transpose(1, 0, 2)
    q, k, v = heads(q), heads(k), heads(v)
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v)
    return mixed.transpose(1, 0, 2).reshape(LENGTH, WIDTH) @ p["out"]


def forward(p, tokens):
    x = p["embed"][tokens] + p["place"]
    x = x + attend(p, x)
    x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
    return norm(x) @ p["embed"].T


def loss(p, tokens):
    logits = jax.vmap(lambda t: forward(p, t))(tokens[:, :-1])
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1).mean()


@jax.jit
def step(p, momentum, key):
    starts = random.randint(key, (16,), 0, len(DATA) - LENGTH - 1)
    tokens = jax.vmap(lambda s: jax.lax.dynamic_slice(DATA, (s,), (LENGTH + 1,)))(starts)
    value, grads = jax.value_and_grad(loss)(p, tokens)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda a, m: a - 0.1 * m, p, momentum), momentum, value


params = init(random.key(0))
momentum = jax.tree.map(jnp.zeros_like, params)
losses = []
for i in range(30):
    params, momentum, value = step(params, momentum, random.fold_in(random.key(1), i))
    losses.append(float(value))
RESULT = [losses[0], losses[5], losses[-1]]
print(RESULT)
