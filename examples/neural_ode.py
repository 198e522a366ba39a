"""A differential equation is solved with steps of its own choosing, and differentiated through.

Dormand and Prince's pair of orders 5 and 4 in a `while_loop` that ends when the time is reached:
how many steps it takes is known only when it has taken them. Reverse mode goes through the loop as
through any other code. Two answers are known: the gradient of a damped oscillation by its decay and
frequency, in closed form, and the decay and frequency that made the observations which a descent
along such gradients has to find. Run it: `python examples/neural_ode.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

# Dormand and Prince (1980): row i combines the slopes before stage i; the last is the solution.
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)

Field = Callable[[Any, Any], Any]


def weighted(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    """The sum of slopes by weights."""
    return sum(w * k for w, k in zip(weights, slopes, strict=True) if w)


def attempt(field: Field, params: Any, y: Any, h: Any) -> tuple[Any, Any]:
    """One step of size `h`: the state after it, and an estimate of its error."""
    slopes: list[Any] = []
    at = y
    for row in STAGES:
        at = y + h * weighted(row, slopes) if row else y
        slopes.append(field(params, at))
    return at, h * weighted(ERROR, slopes)


def solve(field: Field, params: Any, y: Any, span: Any, tolerance: float = 1e-6) -> tuple[Any, Any]:
    """The state after a time `span` from `y`, and the number of steps tried.

    A step whose error passes the tolerance is tried again, smaller. The sizes of steps are chosen,
    not computed with: no derivative goes through them.
    """

    def unfinished(carry: Any) -> Any:
        return carry[0] < span

    def step(carry: Any) -> Any:
        t, h, y, tried = carry
        h = jnp.minimum(h, span - t)
        after, error = attempt(field, params, y, h)
        scale = tolerance * (1.0 + jnp.maximum(jnp.abs(y), jnp.abs(after)))
        size = lax.stop_gradient(jnp.max(jnp.abs(error) / scale))
        fine = size <= 1.0
        change = jnp.clip(0.9 * jnp.maximum(size, 1e-8) ** -0.2, 0.2, 5.0)
        t, y = jnp.where(fine, t + h, t), jnp.where(fine, after, y)
        return t, h * change, y, tried + 1

    _, _, y, tried = lax.while_loop(unfinished, step, (jnp.zeros(()), 0.01 * span, y, 0))
    return y, tried


def oscillator(params: Any, y: Any) -> Any:
    """x'' + 2 decay x' + (decay² + frequency²) x = 0, as a system of first order."""
    position, speed = y
    stiffness = params["decay"] ** 2 + params["frequency"] ** 2
    return jnp.stack([speed, -stiffness * position - 2.0 * params["decay"] * speed])


def released(params: Any, span: Any) -> Any:
    """The position after `span`, of an oscillator that starts at 1 with speed -decay."""
    start = jnp.stack([1.0, -params["decay"]])
    return solve(oscillator, params, start, span)[0][0]


def exact(decay: float, frequency: float, span: Any) -> tuple[Any, Any, Any]:
    """Its position in closed form, exp(-decay t) cos(frequency t), and the slopes of it."""
    fall = np.exp(-decay * span)
    position = fall * np.cos(frequency * span)
    return position, -span * position, -span * fall * np.sin(frequency * span)


def fit(times: Any, positions: Any, params: Any, steps: int = 60) -> Any:
    """Decay and frequency by Gauss and Newton's steps, slopes by reverse mode at every time."""

    @jax.jit
    def step(params: Any) -> tuple[Any, Any]:
        values, slopes = jax.vmap(jax.value_and_grad(released), (None, 0))(params, times)
        away = values - positions
        matrix = jnp.stack([slopes["decay"], slopes["frequency"]], axis=1)
        change = jnp.linalg.solve(matrix.T @ matrix + 1e-3 * jnp.eye(2), matrix.T @ away)
        return {"decay": params["decay"] - change[0],
                "frequency": params["frequency"] - change[1]}, jnp.mean(away**2)

    for i in range(1, steps + 1):
        params, miss = step(params)
        print(f"  step {i:2d}   decay {float(params['decay']):.5f}   "
              f"frequency {float(params['frequency']):.5f}   mean square miss {float(miss):.1e}")
    return params


def main() -> dict[str, float]:
    """Compares the gradient with the one in closed form, then finds what made observations."""
    begun = time.perf_counter()
    true = {"decay": 0.3, "frequency": 2.0}
    span = 4.0
    value, slopes = jax.jit(jax.value_and_grad(released))(true, span)
    wanted = exact(**true, span=span)
    _, tried = solve(oscillator, true, jnp.array([1.0, -0.3]), span)
    print(f"position after {span} s, {int(tried)} steps: {float(value):.6f}, exact {wanted[0]:.6f}")
    for name, slope in zip(true, wanted[1:], strict=True):
        print(f"slope by {name}: {float(slopes[name]):.6f}, exact {slope:.6f}")
    found = np.array([value, slopes["decay"], slopes["frequency"]])
    gradient_error = float(np.max(np.abs(found - wanted)))
    assert gradient_error < 1e-4, "the gradient is wrong"
    times = np.linspace(0.2, 4.0, 12, dtype=np.float32)
    print(f"{len(times)} observations, from a wrong guess:")
    fitted = fit(times, exact(**true, span=times)[0], {"decay": 0.1, "frequency": 1.6}, steps=8)
    fit_error = max(abs(float(fitted[name]) - true[name]) for name in true)
    print(f"found within {fit_error:.1e} after {time.perf_counter() - begun:.1f} s")
    assert fit_error < 1e-3, "the fit has not found what made the observations"
    return {"gradient_error": gradient_error, "fit_error": fit_error}


if __name__ == "__main__":
    main()
