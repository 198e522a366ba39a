"""A variational autoencoder of rings, trained by the reparametrised lower bound."""

import jax
import jax.numpy as jnp
from jax import random

KEY = random.key(3)
angles = random.uniform(KEY, (128,), maxval=2 * jnp.pi)
DATA = jnp.stack([jnp.cos(angles), jnp.sin(angles)], 1) + 0.05 * random.normal(KEY, (128, 2))


def dense(key, m, n):
    return {"w": jax.nn.initializers.glorot_normal()(key, (m, n)), "b": jnp.zeros(n)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


k = random.split(KEY, 4)
params = {"enc": dense(k[0], 2, 16), "stats": dense(k[1], 16, 4),
          "dec": dense(k[2], 2, 16), "out": dense(k[3], 16, 2)}


def bound(p, key, x):
    mean, log_std = jnp.split(apply(p["stats"], jnp.tanh(apply(p["enc"], x))), 2)
    z = mean + jnp.exp(log_std) * random.normal(key, mean.shape)
    out = apply(p["out"], jnp.tanh(apply(p["dec"], z)))
    fit = jax.scipy.stats.norm.logpdf(x, out, 0.3).sum()
    kl = 0.5 * jnp.sum(jnp.exp(2 * log_std) + mean**2 - 1 - 2 * log_std)
    return fit - kl


def loss(p, key):
    keys = random.split(key, len(DATA))
    return -jnp.mean(jax.vmap(bound, (None, 0, 0))(p, keys, DATA))


def adam(carry, i):
    p, m, v = carry
    value, g = jax.value_and_grad(loss)(p, random.fold_in(KEY, i))
    m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
    v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b**2, v, g)
    t = i + 1
    p = jax.tree.map(lambda x, a, b: x - 0.02 * (a / (1 - 0.9**t)) / (
        jnp.sqrt(b / (1 - 0.999**t)) + 1e-8), p, m, v)
    return (p, m, v), value


zeros = jax.tree.map(jnp.zeros_like, params)
_, losses = jax.lax.scan(adam, (params, zeros, zeros), jnp.arange(60.0).astype(jnp.int32))
RESULT = [float(losses[0]), float(losses[20]), float(losses[-1])]
print(RESULT)
