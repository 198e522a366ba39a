"""A normalising flow of affine couplings fits a bent density; its inverse is checked."""

import jax
import jax.numpy as jnp
from jax import random

key = random.PRNGKey(0)
z = random.normal(key, (256, 2))
DATA = jnp.stack([z[:, 0], 0.5 * z[:, 1] + z[:, 0] ** 2], 1)


def init(key):
    def layer(k):
        a, b = random.split(k)
        return {"w1": random.normal(a, (1, 16)), "b1": jnp.zeros(16),
                "w2": 0.01 * random.normal(b, (16, 2)), "b2": jnp.zeros(2)}
    return [layer(k) for k in random.split(key, 4)]


def scale_shift(p, x):
    s, t = jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
    return jnp.tanh(s), t


def forward(params, x):
    logdet = 0.0
    for p in params:
        s, t = scale_shift(p, x[:1])
        x = jnp.array([x[1] * jnp.exp(s) + t, x[0]])
        logdet += s
    return x, logdet


def inverse(params, y):
    for p in reversed(params):
        s, t = scale_shift(p, y[1:])
        y = jnp.array([y[1], (y[0] - t) * jnp.exp(-s)])
    return y


@jax.jit
def loss(params):
    y, logdet = jax.vmap(forward, (None, 0))(params, DATA)
    return -jnp.mean(jax.scipy.stats.norm.logpdf(y).sum(1) + logdet)


params = init(key)
start = float(loss(params))
for _ in range(60):
    grads = jax.grad(loss)(params)
    params = jax.tree.map(lambda p, g: p - 0.02 * g, params, grads)
y, logdet = forward(params, DATA[0])
assert jnp.allclose(inverse(params, y), DATA[0], atol=1e-4)
exact = jnp.linalg.slogdet(jax.jacfwd(lambda x: forward(params, x)[0])(DATA[0]))[1]
RESULT = [start, float(loss(params)), float(jnp.abs(logdet - exact) < 1e-4)]
print(RESULT)
