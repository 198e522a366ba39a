"""A Kalman filter follows a moving point, and learns its noise by gradients of the likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve
from jax.scipy.stats import multivariate_normal

DT = 0.1
F = jnp.array([[1.0, DT], [0.0, 1.0]])
H = jnp.array([[1.0, 0.0]])
rng = np.random.default_rng(0)
path = np.cumsum(np.cumsum(rng.normal(size=60) * 0.1) * DT)
SEEN = jnp.asarray(path + 0.2 * rng.normal(size=60), jnp.float32)[:, None]


def filtered(log_noise):
    q, r = jnp.exp(log_noise)
    Q = q * jnp.array([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]])
    R = r * jnp.eye(1)

    def step(state, y):
        mean, cov = state
        mean, cov = F @ mean, F @ cov @ F.T + Q
        S = H @ cov @ H.T + R
        gain = cho_solve(cho_factor(S), H @ cov).T
        logp = multivariate_normal.logpdf(y, H @ mean, S)
        return (mean + gain @ (y - H @ mean), cov - gain @ H @ cov), (mean[0], logp)

    _, (means, logps) = lax.scan(step, (jnp.zeros(2), jnp.eye(2)), SEEN)
    return means, logps.sum()


objective = jax.jit(jax.value_and_grad(lambda p: -filtered(p)[1]))
p = jnp.array([0.0, 0.0])
for _ in range(40):
    value, g = objective(p)
    p = p - 0.02 * g
means, likelihood = filtered(p)
RESULT = [float(value), float(p[1]), float(jnp.mean((means - path) ** 2))]
print(RESULT)
