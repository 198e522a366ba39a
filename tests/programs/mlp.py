"""Digits learned by a network of dense layers, with stochastic gradient descent."""


import jax.numpy as jnp
import numpy as np
from jax import grad, jit, random, vmap
from jax.scipy.special import logsumexp

rng = np.random.RandomState(0)
images = rng.rand(256, 64).astype(np.float32)
centres = rng.rand(10, 64).astype(np.float32)
labels = np.argmin(((images[:, None] - centres) ** 2).sum(-1), 1)
targets = jnp.eye(10)[labels]


def init_layer(m, n, key, scale=1e-1):
    w_key, b_key = random.split(key)
    return scale * random.normal(w_key, (n, m)), scale * random.normal(b_key, (n,))


def init(sizes, key):
    keys = random.split(key, len(sizes))
    return [init_layer(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = jnp.maximum(0, jnp.dot(w, activations) + b)
    w, b = params[-1]
    logits = jnp.dot(w, activations) + b
    return logits - logsumexp(logits)


batched = vmap(predict, in_axes=(None, 0))


def loss(params, images, targets):
    return -jnp.mean(batched(params, images) * targets)


@jit
def update(params, x, y):
    grads = grad(loss)(params, x, y)
    return [(w - 0.5 * dw, b - 0.5 * db) for (w, b), (dw, db) in zip(params, grads)]


params = init([64, 32, 10], random.key(0))
first = float(loss(params, images, targets))
for _ in range(3):
    for i in range(0, 256, 64):
        params = update(params, images[i:i + 64], targets[i:i + 64])
accuracy = jnp.mean(jnp.argmax(batched(params, images), 1) == labels)
RESULT = [first, float(loss(params, images, targets)), float(accuracy)]
print(RESULT)
