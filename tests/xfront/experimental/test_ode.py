"""odeint against solutions that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.experimental.ode import odeint

TIMES = np.array([0.0, 0.3, 1.0, 2.0])


def pendulum(y: Any, t: Any, rate: Any) -> Any:
    return {"x": y["v"], "v": -rate ** 2 * y["x"] + 0 * t}


def test_solutions() -> None:
    with jax.enable_x64(True):
        @jax.jit
        def made(rate: Any) -> Any:
            y0 = {"x": jnp.ones(2), "v": jnp.zeros(2)}
            return (odeint(pendulum, y0, TIMES, rate, rtol=1e-9, atol=1e-9),
                    odeint(lambda y, t: 1j * t * y, 1 + 0j, TIMES),
                    odeint(lambda y, t: -y, 1.0, TIMES, mxstep=2),
                    odeint(lambda y, t: -y, 1, TIMES, rtol=1e-3, atol=1e-3, hmax=0.01),
                    odeint(lambda y, t: -1000 * (y - jnp.cos(t)), 1.0, TIMES, rtol=1e-5,
                           atol=1e-5),
                    odeint(lambda y, t: y ** 2, 1.0, TIMES, mxstep=200))

        swing, turn, short, fine, stiff, burst = made(3.0)
    np.testing.assert_allclose(swing["x"][:, 0], np.cos(3 * TIMES), atol=1e-7)
    np.testing.assert_allclose(swing["v"][:, 1], -3 * np.sin(3 * TIMES), atol=1e-7)
    np.testing.assert_allclose(turn, np.exp(0.5j * TIMES ** 2), atol=1e-7)
    assert short[0] == 1 and np.isnan(short[1:]).all()
    np.testing.assert_allclose(fine, np.exp(-TIMES), atol=1e-9)
    np.testing.assert_allclose(stiff, np.cos(TIMES), atol=2e-3)
    np.testing.assert_allclose(burst[:2], [1, 1 / 0.7], rtol=1e-6)      # infinite at 1
    assert np.isnan(burst[3])


def test_derivatives_and_batches() -> None:
    with jax.enable_x64(True):
        def last(rate: Any, start: Any, times: Any) -> Any:
            return odeint(lambda y, t, rate: -rate * y, start, times, rate)[-1]

        args = (1.5, 2.0, TIMES)
        end = 2 * np.exp(-3.0)
        for grads in (jax.jit(jax.grad(last, (0, 1, 2)))(*args),
                      jax.jit(jax.jacfwd(last, (0, 1, 2)))(*args)):
            np.testing.assert_allclose(grads[0], -2 * end, rtol=1e-5)
            np.testing.assert_allclose(grads[1], end / 2, rtol=1e-5)
            np.testing.assert_allclose(grads[2], [1.5 * end, 0, 0, -1.5 * end], atol=1e-5)
        many = jax.vmap(last, (0, None, None))(np.array([1.5, 0.5]), 2.0, TIMES)
    np.testing.assert_allclose(many, 2 * np.exp([-3.0, -1.0]), rtol=1e-6)


REFUSED: list[tuple[type, str, Callable[[], Any]]] = [
    (ValueError, "ascending", lambda: odeint(lambda y, t: y, 1.0, TIMES[::-1])),
    (ValueError, "negative", lambda: odeint(lambda y, t: y, 1.0, TIMES, rtol=-1.0)),
    (TypeError, "odeint", lambda: odeint(lambda y, t: y, 1.0, [0.0, 1.0])),
    (TypeError, "vector of floats", lambda: odeint(lambda y, t: y, 1.0, np.arange(3))),
    (TypeError, "args", lambda: odeint(lambda y, t, a: y, 1.0, TIMES, "a")),
    (TypeError, "func must return", lambda: odeint(lambda y, t: [y], 1.0, TIMES)),
]


@pytest.mark.parametrize(("kind", "match", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refuses(kind: type, match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=match):
        call()
