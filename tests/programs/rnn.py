"""A gated recurrent unit adds up a sequence that it reads once."""

import jax
import jax.numpy as jnp
from jax import lax, random

HIDDEN = 12


def init(key):
    a, b, c = random.split(key, 3)
    orthogonal = jax.nn.initializers.orthogonal()
    return {"in": random.normal(a, (1, 3 * HIDDEN)) * 0.5, "bias": jnp.zeros(3 * HIDDEN),
            "rec": jnp.concatenate(
                [orthogonal(k, (HIDDEN, HIDDEN)) for k in random.split(b, 3)], 1),
            "out": random.normal(c, (HIDDEN,)) * 0.3}


def cell(p, h, x):
    xr, xz, xn = jnp.split(x @ p["in"] + p["bias"], 3)
    hr, hz, hn = jnp.split(h @ p["rec"], 3)
    r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
    h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
    return h, h @ p["out"]


def loss(p, xs):
    def one(x):
        _, out = lax.scan(lambda h, t: cell(p, h, t), jnp.zeros(HIDDEN), x[:, None])
        return jnp.mean((out - jnp.cumsum(x)) ** 2)
    return jnp.mean(jax.vmap(one)(xs))


@jax.jit
def step(p, key):
    xs = random.uniform(key, (32, 10), minval=-0.5, maxval=0.5)
    value, g = jax.value_and_grad(jax.checkpoint(loss))(p, xs)
    size = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(g)))
    return jax.tree.map(lambda a, b: a - 0.3 * b / jnp.maximum(1.0, size), p, g), value


p, losses = init(random.key(0)), []
for i in range(30):
    p, value = step(p, random.fold_in(random.key(1), i))
    losses.append(float(value))
RESULT = [losses[0], losses[10], losses[-1]]
print(RESULT)
