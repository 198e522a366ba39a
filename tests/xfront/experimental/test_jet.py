"""experimental.jet: Taylor series against polynomials, series that are known, and derivatives."""

import math

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.experimental.jet import jet


def through(f, *series):
    """Coefficients of f(x(t)) in double precision, by a polynomial fitted to values."""
    t = np.linspace(-0.05, 0.05, 25)
    x = [np.polynomial.polynomial.polyval(t, s) for s in series]
    return np.polynomial.polynomial.polyfit(t, f(*x), 8)


SERIES = [0.7, 1.0, -0.5, 0.25]


@pytest.mark.parametrize(("f", "reference"), [
    (jnp.sin, np.sin), (jnp.exp, np.exp), (jnp.log, np.log), (jnp.tanh, np.tanh),
    (lambda x: x ** 3 / (1 + x), lambda x: x ** 3 / (1 + x)),
    (lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, 1.0), lambda x: x ** 3),
    (lambda x: lax.cond(x > 0, jnp.sqrt, jnp.cos, x), np.sqrt),
    (jax.nn.silu, lambda x: x / (1 + np.exp(-x))),
])
def test_series_of_one_variable(f, reference):
    with jax.enable_x64(True):
        value, terms = jet(f, (SERIES[0],), (SERIES[1:],), factorial_scaled=False)
        np.testing.assert_allclose([value, *terms], through(reference, SERIES)[:4], rtol=1e-5,
                                   atol=1e-9)
        scaled = [c * math.factorial(k + 1) for k, c in enumerate(SERIES[1:])]
        derivatives = jet(f, (SERIES[0],), (scaled,))[1]
        np.testing.assert_allclose(
            derivatives, [c * math.factorial(k + 1) for k, c in enumerate(terms)], rtol=1e-9)


def test_trees_arrays_and_integers():
    x, y = np.ones((2, 2), np.float32), np.full((2, 2), 2, np.float32)
    zero = np.zeros((2, 2), np.float32)

    @jax.jit
    def made(x, y):
        return jet(lambda x, y: {"a": (x @ y).sum(), "b": x.T, "c": x > 0, "d": 3}, (x, y),
                   ([x, zero], [zero, y]))

    value, terms = made(x, y)
    assert value["a"] == 16 and value["c"].all() and value["d"] == 3
    assert [float(t) for t in terms["a"]] == [16.0, 16.0]
    assert np.asarray(terms["b"]).tolist() == [x.tolist(), zero.tolist()]
    assert np.asarray(terms["c"]).tolist() == [zero.tolist()] * 2 and terms["d"][0] == 0
    assert jet(jnp.sin, (1.0,), ([],))[1] == []
    batched = jax.vmap(lambda x: jet(jnp.sin, (x,), ([1.0, 0.0],))[1][1])(np.arange(3.0))
    np.testing.assert_allclose(batched, -np.sin(np.arange(3.0)), rtol=1e-5)
    assert jax.grad(lambda x: jet(lambda x: x ** 3, (x,), ([1.0, 0.0],))[1][1])(2.0) == 6.0


def test_what_is_refused():
    for series in (([1.0, 0.0], [1.0]), ([1.0],)):
        with pytest.raises(ValueError, match="inconsistent lengths"):
            jet(lambda x, y: x * y, (1.0, 2.0), series)
    with pytest.raises(TypeError, match="must be arrays"):
        jet(lambda x: x["a"], ({"a": 1.0},), ([{"a": 1.0}],))
