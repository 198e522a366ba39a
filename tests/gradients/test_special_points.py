"""Slopes at points where a rule may go wrong that differences do not see: ends, NaN, masks."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import grad, nn
from xfront.scipy import special

NAN, INF = float("nan"), float("inf")
MASK = np.array([True, False, True])


def _f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(("f", "x", "slope"), [
    (special.entr, 0.0, INF), (special.entr, -0.0, INF), (special.entr, 1.0, -1.0),
    (jnp.i0, 0.0, 0.0), (grad(jnp.i0), 0.0, 0.5), (special.i0, 0.0, 0.0),
    (grad(special.i0), 0.0, 0.5), (special.i1, 0.0, 0.5), (grad(special.i1), 1e-10, 0.0),
    (special.digamma, -20.5, 9.822002), (grad(special.log_ndtr), -10.0, -0.990555),
    (lambda x: jnp.frexp(x)[0], 3.0, 0.25), (jnp.angle, 0.0, 0.0),
    (nn.relu, NAN, 0.0), (nn.relu6, NAN, 0.0), (nn.hard_sigmoid, NAN, 0.0),
    (nn.gelu, 1e30, 1.0), (grad(jnp.arcsinh), 1e-10, 0.0), (jnp.arcsinh, 1e20, 1e-20),
    (lambda x: jnp.where(x > 0, jnp.floor_divide(1.0, x), 0.0), 0.0, 0.0),
    (lambda x: jnp.arctan2(x, INF), 1.0, 0.0), (lambda x: jnp.arctan2(x, 0.0), 0.0, 0.0),
    (lambda x: special.poch(0.5, x), 0.0, -1.963510), (lambda x: special.boxcox(2.0, x), 0.0,
                                                       0.240227),
])
def test_slopes(f, x: float, slope: float) -> None:
    got = float(grad(f)(np.float32(x)))
    np.testing.assert_allclose(got, slope, rtol=2e-4, atol=1e-9)


@pytest.mark.parametrize(("f", "x", "slopes"), [
    (jnp.nanvar, _f32(1, NAN, 3), [-1, 0, 1]), (jnp.nanstd, _f32(1, NAN, 3), [-0.5, 0, 0.5]),
    (jnp.std, _f32(2, 2, 2), [0, 0, 0]), (jnp.linalg.norm, _f32(0, 0, 0), [0, 0, 0]),
    (lambda x: nn.logsumexp(x, where=MASK), _f32(1, NAN, 1), [0.5, 0, 0.5]),
    (lambda x: nn.logsumexp(x, where=MASK), _f32(1, 1000, 1), [0.5, 0, 0.5]),
    (lambda x: nn.softmax(x, where=MASK)[0], _f32(1, INF, 1), [0.25, 0, -0.25]),
    (lambda x: nn.softmax(x, where=np.zeros(3, bool)).sum(), _f32(1, 2, 3), [0, 0, 0]),
    (lambda b: nn.logsumexp(_f32(1, 2, INF), b=b), _f32(1, 1, 0), [0.268941, 0.731059, 0]),
    (lambda b: nn.logsumexp(_f32(0, 1, 0), b=b), _f32(1, 0, 1), [0.5, 1.359141, 0.5]),
    (lambda p: jnp.interp(-1.0, p, _f32(1, 5, 2)), _f32(0, 1e-20, 1), [0, 0, 0]),
])
def test_slopes_in_vectors(f, x: np.ndarray, slopes: list) -> None:
    np.testing.assert_allclose(grad(f)(x), slopes, rtol=2e-5, atol=1e-7)


def test_values_that_logarithms_of_gamma_lost() -> None:
    """Against SciPy's beta, betaln and poch."""
    made = xfront.jit(lambda a, b: (special.beta(a, b), special.betaln(a, b), special.poch(b, a)))(
        _f32(1e-20, 0.5, 3.0, 2.5), _f32(1e10, 1e10, 1e6, 20))
    np.testing.assert_allclose(made[0], [1e20, 1.7724538e-5, 1.9999940e-18, 6.7864545e-4],
                               rtol=2e-5)
    np.testing.assert_allclose(made[1], [46.0517, -10.94056, -40.753298, -7.2954117], rtol=2e-5)
    np.testing.assert_allclose(made[2], [1, 1e5, 1.000003e18, 1958.8143], rtol=2e-4)
