"""Derivatives of solutions by the equation that they solve."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax


def newton(f, x):
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-6, lambda x: x - f(x) / jax.grad(f)(x), x)


def scalar_solve(g, y):
    return y / g(1.0)


def cube_root(a):
    return lax.custom_root(lambda x: x ** 3 - a, 1.5, newton, scalar_solve)


def test_derivatives_of_a_scalar_root():
    a = 8.0
    np.testing.assert_allclose(cube_root(a), 2.0, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(cube_root)(a), 1 / 12, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(cube_root))(a), 1 / 12, rtol=1e-6)
    np.testing.assert_allclose(jax.jvp(cube_root, (a,), (2.0,))[1], 1 / 6, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.grad(cube_root))(a), -2 / 9 * 8 ** (-5 / 3), rtol=1e-5)
    np.testing.assert_allclose(jax.hessian(cube_root)(a), -2 / 9 * 8 ** (-5 / 3), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(jax.grad(cube_root))(jnp.array([1.0, 8.0, 27.0])),
                               [1 / 3, 1 / 12, 1 / 27], rtol=1e-5)


def test_a_root_of_a_tree():
    def f(a, c):
        def equations(x):
            return {"u": x["u"] ** 2 - a, "v": x["v"] * x["u"] - c}

        def solve(f, x):
            u = lax.stop_gradient(jnp.sqrt(2.0))
            return {"u": u, "v": 3.0 / u}

        def tangent_solve(g, y):
            u = g({"u": 1.0, "v": 0.0})
            v = g({"u": 0.0, "v": 1.0})
            du = y["u"] / u["u"]
            return {"u": du, "v": (y["v"] - u["v"] * du) / v["v"]}
        return lax.custom_root(equations, {"u": 1.0, "v": 1.0}, solve, tangent_solve)["v"]

    np.testing.assert_allclose(f(2.0, 3.0), 3 / 2 ** 0.5, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(f, argnums=(0, 1))(2.0, 3.0),
                               (-1.5 * 2 ** -1.5, 2 ** -0.5), rtol=1e-6)


def test_aux_is_handed_through():
    def f(a):
        return lax.custom_root(lambda x: x ** 2 - a, 1.0,
                               lambda f, x: (newton(f, x), {"n": jnp.int32(3), "r": 0.5}),
                               scalar_solve, has_aux=True)
    root, aux = f(4.0)
    np.testing.assert_allclose(root, 2.0, rtol=1e-6)
    assert aux["n"] == 3 and aux["r"] == 0.5
    gradient, aux = jax.grad(f, has_aux=True)(4.0)
    np.testing.assert_allclose(gradient, 0.25, rtol=1e-6)
    assert aux["n"] == 3


@pytest.mark.parametrize("held", ["closures", "an object"])
def test_what_the_solvers_close_over_is_not_differentiated(held):
    class Solver:
        def __init__(self, a):
            self.a = a

        def solve(self, f, x):
            return 1.0 / self.a

        def tangent_solve(self, g, y):
            return y / self.a

    def inverse(a):
        s = Solver(a)
        solvers = (s.solve, s.tangent_solve) if held == "an object" else (
            lambda f, x: 1.0 / a, lambda g, y: y / a)
        return lax.custom_root(lambda x: a * x - 1.0, 0.0, *solvers)

    for differentiated in (jax.grad(inverse), jax.jit(jax.jacfwd(inverse)), jax.jacrev(inverse)):
        np.testing.assert_allclose(differentiated(4.0), -1 / 16, rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(inverse)(4.0), 1 / 32, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(inverse))(jnp.array([2.0, 4.0])),
                               [-1 / 4, -1 / 16], rtol=1e-6)


def test_other_structures_are_refused():
    with pytest.raises(TypeError, match="result of f"):
        lax.custom_root(lambda x: (x, x), 1.0, newton, scalar_solve)
    with pytest.raises(TypeError, match="the solution"):
        lax.custom_root(lambda x: x, 1.0, lambda f, x: (x, x), scalar_solve)
    with pytest.raises(ValueError, match="pair"):
        lax.custom_root(lambda x: x, 1.0, newton, scalar_solve, has_aux=True)
