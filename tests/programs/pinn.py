"""A network with physics in its loss: u'' + u = 0 with u(0) = 0 and u'(0) = 1."""

import jax
import jax.numpy as jnp
from jax import grad, hessian, jit, random, vmap
from jax.flatten_util import ravel_pytree

jax.config.update("jax_enable_x64", True)
k1, k2 = random.split(random.key(0))
params = (random.normal(k1, (12,)), jnp.linspace(-2.0, 2.0, 12), random.normal(k2, (12,)) * 0.3)
vector, unravel = ravel_pytree(params)


def u(v, x):
    w, b, a = unravel(v)
    return jnp.dot(a, jnp.tanh(w * x + b))


def loss(v):
    xs = jnp.linspace(0, 2, 24)
    residual = vmap(lambda x: grad(grad(u, 1), 1)(v, x) + u(v, x))(xs)
    return jnp.mean(residual**2) + u(v, 0.0) ** 2 + (grad(u, 1)(v, 0.0) - 1) ** 2


@jit
def newton(v, damping):
    step = jnp.linalg.solve(hessian(loss)(v) + damping * jnp.eye(v.size), grad(loss)(v))
    new = v - step
    better = loss(new) < loss(v)
    return jnp.where(better, new, v), jnp.where(better, damping / 3, damping * 5)


start, damping = float(loss(vector)), 1.0
for _ in range(25):
    vector, damping = newton(vector, damping)
near = abs(u(vector, 1.0) - jnp.sin(1.0)) < 0.05
RESULT = [start, float(jnp.log10(loss(vector)) < -3), float(near)]
print(RESULT)
