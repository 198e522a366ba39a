"""A convolutional network with batch statistics tells stripes from checks."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, random


def data(key, n):
    kind = random.bernoulli(key, 0.5, (n,)).astype(jnp.int32)
    i, j = jnp.mgrid[:8, :8]
    both = jnp.stack([i % 2, (i + j) % 2]).astype(jnp.float32)
    return both[kind][..., None] + 0.5 * random.normal(key, (n, 8, 8, 1)), kind


def init(key):
    a, b, c = random.split(key, 3)
    return {"first": random.normal(a, (3, 3, 1, 4)) * 0.3,
            "second": random.normal(b, (3, 3, 4, 8)) * 0.2,
            "dense": random.normal(c, (2 * 2 * 8, 2)) * 0.2}


def conv(x, w, stride):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def normalise(x):
    return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)


def forward(p, x):
    x = jax.nn.relu(normalise(conv(x, p["first"], 1)))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(normalise(conv(x, p["second"], 2)))
    return x.reshape(x.shape[0], -1) @ p["dense"]


def loss(p, x, y):
    return -jnp.mean(jax.nn.log_softmax(forward(p, x))[jnp.arange(len(y)), y])


@partial(jax.jit, donate_argnums=0)
def step(p, key):
    x, y = data(key, 32)
    value, g = jax.value_and_grad(loss)(p, x, y)
    return jax.tree.map(lambda a, b: a - 0.2 * b, p, g), value


params, losses = init(random.PRNGKey(0)), []
for i in range(20):
    params, value = step(params, random.PRNGKey(i))
    losses.append(float(value))
RESULT = [losses[0], losses[9], losses[-1]]
print(RESULT)
