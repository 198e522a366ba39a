"""Two networks in competition: one makes numbers, the other tells them from a normal sample."""

import jax
import jax.numpy as jnp
from jax import random
from jax.nn import leaky_relu, log_sigmoid


def network(key, sizes):
    return [{"w": random.normal(k, (m, n)) * jnp.sqrt(2 / m), "b": jnp.zeros((n,))}
            for k, m, n in zip(random.split(key, len(sizes)), sizes, sizes[1:])]


def run(layers, x):
    *hidden, last = layers
    for layer in hidden:
        x = leaky_relu(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def d_loss(d, g, real, noise):
    return -jnp.mean(log_sigmoid(run(d, real)) + log_sigmoid(-run(d, run(g, noise))))


def g_loss(g, d, noise):
    return -jnp.mean(log_sigmoid(run(d, run(g, noise))))


@jax.jit
def step(d, g, key):
    a, b, c = random.split(key, 3)
    real = 3.0 + 0.5 * random.normal(a, (64, 1))
    dl, dg = jax.value_and_grad(d_loss)(d, g, real, random.normal(b, (64, 2)))
    d = jax.tree_util.tree_map(lambda p, q: p - 0.05 * q, d, dg)
    gl, gg = jax.value_and_grad(g_loss)(g, d, random.normal(c, (64, 2)))
    return d, jax.tree_util.tree_map(lambda p, q: p - 0.05 * q, g, gg), dl, gl


d, g = network(random.key(0), [1, 16, 1]), network(random.key(1), [2, 16, 1])
for i in range(40):
    d, g, dl, gl = step(d, g, random.fold_in(random.key(2), i))
RESULT = [float(dl), float(gl), float(run(g, random.normal(random.key(9), (100, 2))).mean())]
print(RESULT)
