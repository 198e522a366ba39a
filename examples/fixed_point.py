"""A fixed point, and its gradient by the implicit function theorem instead of through the search.

Where z = f(params, z), the derivative of z needs no step of the search that found it: with A and B
the derivatives of f by z and by params, dz = (1 - A)⁻¹ B dparams, and reverse mode solves one more
fixed point, w = ct + Aᵀ w. `custom_vjp` says so to the library, and memory no longer grows with the
search. Three answers are known: Kepler's equation, where the derivatives stand in any book on
orbits; a linear layer whose fixed point solves a system; and one that learns to reach a target.
Run it: `python examples/fixed_point.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import lax


def iterate(step: Callable[[Any], Any], z: Any, tolerance: float = 1e-6, limit: int = 500) -> Any:
    """`step` again and again from `z` until it changes nothing, or `limit` times."""

    def moving(carry: Any) -> Any:
        before, z, count = carry
        return (jnp.max(jnp.abs(z - before)) > tolerance) & (count < limit)

    def again(carry: Any) -> Any:
        _, z, count = carry
        return z, step(z), count + 1

    return lax.while_loop(moving, again, (z, step(z), 1))[1]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f: Callable[[Any, Any], Any], params: Any, guess: Any) -> Any:
    """The z with z = f(params, z), by iteration from `guess`."""
    return iterate(lambda z: f(params, z), guess)


def forward(f: Callable[[Any, Any], Any], params: Any, guess: Any) -> tuple[Any, Any]:
    """The fixed point, and what its derivative needs: where it is."""
    z = fixed_point(f, params, guess)
    return z, (params, z)


def backward(f: Callable[[Any, Any], Any], saved: Any, cotangent: Any) -> tuple[Any, Any]:
    """Cotangents of the parameters, and of the guess, on which the fixed point does not depend."""
    params, z = saved
    _, pull = jax.vjp(f, params, z)
    w = iterate(lambda w: cotangent + pull(w)[1], cotangent)
    return pull(w)[0], jnp.zeros_like(z)


fixed_point.defvjp(forward, backward)


def kepler(params: Any, anomaly: Any) -> Any:
    """Kepler's equation, E = M + e sin E, as a step towards E."""
    mean_anomaly, eccentricity = params
    return mean_anomaly + eccentricity * jnp.sin(anomaly)


def orbit() -> float:
    """The largest error of dE/dM = 1 / (1 - e cos E) and dE/de = sin E / (1 - e cos E)."""

    def eccentric(mean_anomaly: Any, eccentricity: Any) -> Any:
        return fixed_point(kepler, (mean_anomaly, eccentricity), mean_anomaly)

    m = jnp.linspace(0.1, 3.0, 7)
    e = jnp.full(7, 0.4)
    anomaly = jax.vmap(eccentric)(m, e)
    by_m, by_e = jax.jit(jax.vmap(jax.grad(eccentric, (0, 1))))(m, e)
    whole = 1.0 - e * jnp.cos(anomaly)
    print("   M        E     dE/dM   exact    dE/de   exact")
    rows = np.stack([m, anomaly, by_m, 1 / whole, by_e, jnp.sin(anomaly) / whole], axis=1)
    for row in rows:
        print("  ".join(f"{x:6.4f}" for x in row))
    residual = np.max(np.abs(anomaly - e * jnp.sin(anomaly) - m))
    return float(max(residual, np.max(np.abs(rows[:, [2, 4]] - rows[:, [3, 5]]))))


def linear(params: Any, z: Any) -> Any:
    """A layer whose fixed point is the solution of (1 - W) z = b."""
    w, b = params
    return w @ z + b


def system() -> float:
    """The largest error of a gradient through a linear fixed point, against NumPy's solutions."""
    rng = np.random.default_rng(0)
    w = (rng.normal(size=(6, 6)) / 12).astype(np.float32)
    b = rng.normal(size=6).astype(np.float32)
    by_w, by_b = jax.grad(lambda p: jnp.sum(fixed_point(linear, p, jnp.zeros(6)) ** 2))((w, b))
    z = np.linalg.solve(np.eye(6) - w, b)
    u = np.linalg.solve(np.eye(6) - w.T, 2 * z)
    return float(max(np.max(np.abs(by_b - u)), np.max(np.abs(by_w - np.outer(u, z)))))


def layer(params: Any, z: Any) -> Any:
    """A layer that is applied to its own result: small weights make it settle."""
    return jnp.tanh(params["w"] @ z + params["b"])


def equilibrium(steps: int = 60) -> float:
    """What is left of the distance to a target after the layer has learned to settle there."""
    target = jnp.array([0.5, -0.3, 0.8, 0.0])

    @jax.jit
    def learn(params: Any) -> tuple[Any, Any]:
        def miss(params: Any) -> Any:
            return jnp.sum((fixed_point(layer, params, jnp.zeros(4)) - target) ** 2)

        value, slopes = jax.value_and_grad(miss)(params)
        return jax.tree.map(lambda p, s: p - 0.3 * s, params, slopes), value

    params = {"w": 0.2 * jax.random.normal(jax.random.key(0), (4, 4)), "b": jnp.zeros(4)}
    value = jnp.inf
    for step in range(1, steps + 1):
        params, value = learn(params)
        if step == 1 or step % 20 == 0:
            print(f"  step {step:2d}   squared distance {float(value):.2e}")
    return float(value)


def main() -> dict[str, float]:
    """The three answers, each checked."""
    print("Kepler's equation, eccentricity 0.4:")
    found = {"orbit": orbit(), "system": system()}
    print(f"largest error: orbit {found['orbit']:.1e}, linear system {found['system']:.1e}")
    print("a layer learns where to settle:")
    found["equilibrium"] = equilibrium()
    assert found["orbit"] < 1e-5 and found["system"] < 1e-4, "a gradient is wrong"
    assert found["equilibrium"] < 1e-3, "the layer has not learned"
    return found


if __name__ == "__main__":
    main()
