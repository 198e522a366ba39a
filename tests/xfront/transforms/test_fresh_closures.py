"""Functions made anew for each call cost tracing: nothing is lowered or compiled once a program of
their skeleton is known, whatever Python numbers they hold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lowering
import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.running import first_runs, programs

X = np.linspace(0.1, 0.9, 4, dtype=np.float32)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each program that is lowered, then compiled or loaded.

    What other tests ran does not count: after two new programs of a name, the next one runs by
    units first. Small programs are compiled when they first run, not when they have run often.
    """
    names: list[str] = []
    monkeypatch.setattr(first_runs, "RUNS", 0)
    programs.clear()
    monkeypatch.setattr(programs, "_NEW_IN_A_ROW", {})
    compile_function = lowering.compile_function

    def counted(function: Any, **options: Any) -> Any:
        names.append(options["name"])
        return compile_function(function, **options)

    monkeypatch.setattr(lowering, "compile_function", counted)
    return names


def clamp_rule(c: float) -> Callable[[Any], Any]:
    """A function with a forward rule, made anew; its own number is in the function alone."""
    f = jax.custom_jvp(lambda x: jnp.sin(x) * c)
    f.defjvp(lambda p, t: (f(p[0]), jnp.cos(p[0]) * t[0]))
    return f


def scale_rule() -> Callable[[Any], Any]:
    """A function with a backward rule, made anew."""
    f = jax.custom_vjp(lambda x: jnp.sin(x))
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (jnp.cos(x) * g,))
    return f


def pushed(c: float) -> Callable[[Any], Any]:
    """A function whose forward rule alone has the number, and calls the function."""
    f = jax.custom_jvp(jnp.sin)
    f.defjvp(lambda p, t: (f(p[0]), jnp.cos(p[0]) * (t[0] * c + 0.375 * t[0])))
    return f


def pulled(c: float) -> Callable[[Any], Any]:
    """A function with the number in both halves of its backward rule, by way of another."""
    def scaled(x: Any) -> Any:
        return jnp.cos(x) * c

    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (f(x), scaled(x)), lambda s, g: (s * g * (c + 1.0),))
    return f


def arrayed(c: float) -> Callable[[Any], Any]:
    """A function that makes an array of the number, as its rule does, which calls it."""
    f = jax.custom_jvp(lambda x: jnp.sin(x) * jnp.float32(c))
    f.defjvp(lambda p, t: (f(p[0]), jnp.cos(p[0]) * t[0] * jnp.float32(c)))
    return f


@jax.custom_vjp
def ruled(x: Any) -> Any:
    """A function whose rule reads a global number."""
    return jnp.sin(x)


ruled.defvjp(lambda x: (ruled(x), x), lambda x, g: (jnp.cos(x) * g * SCALE,))
SCALE = 0.5


def with_scale(c: float) -> Callable[[Any], Any]:
    """`ruled` with that number."""
    global SCALE
    SCALE = c
    return ruled


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def clipped(c: Any, x: Any) -> Any:
    """A function whose rules are given the number."""
    return jnp.sin(x)


clipped.defvjp(lambda c, x: (jnp.sin(x), x), lambda c, x, g: (jnp.clip(jnp.cos(x) * g, -c, c),))


def nested(c: float) -> Callable[[Any], Any]:
    """A rule that differentiates a function with a rule."""
    f = jax.custom_jvp(lambda x: x * 2.0)
    f.defjvp(lambda p, t: jax.jvp(pulled(c), p, t))
    return f


def scanned(c: float) -> Callable[[Any], Any]:
    return lambda x: lax.scan(lambda s, v: (jnp.sin(s) * c + v, s), 0.0, x)[0]


def turned(c: float) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1]) * c),
                              (0, x))[1]
    return f


CALLS: dict[str, Callable[[float], Any]] = {
    "jit": lambda c: jax.jit(lambda x: jnp.sin(x) * c)(X),
    "grad": lambda c: jax.grad(lambda x: jnp.sum(jnp.sin(x) * c))(X),
    "value_and_grad": lambda c: jax.value_and_grad(lambda x: jnp.sum(jnp.sin(x) * c))(X),
    "jvp": lambda c: jax.jvp(lambda x: jnp.sin(x) * c, (X,), (X,)),
    "vjp": lambda c: jax.vjp(lambda x: jnp.sin(x) * c, X)[1](X),
    "linearize": lambda c: jax.linearize(lambda x: jnp.sin(x) * c, X)[1](X),
    "vmap(jvp)": lambda c: jax.vmap(lambda d: jax.jvp(lambda x: jnp.sin(x) * c, (0.5,), (d,)))(X),
    "jvp(jvp)": lambda c: jax.jvp(lambda v: jax.jvp(lambda x: jnp.sin(x) * c * v, (v,), (v,)),
                                  (X,), (X,)),
    "vmap": lambda c: jax.vmap(lambda x: jnp.sin(x) * c)(X),
    "hessian": lambda c: jax.hessian(lambda x: jnp.sum(jnp.sin(x) * c))(X),
    "checkpoint": lambda c: jax.grad(jax.checkpoint(lambda x: jnp.sum(jnp.sin(x) * c)))(X),
    "scan": lambda c: scanned(c)(X),
    "cond": lambda c: lax.cond(X[0] > c, lambda x: jnp.sin(x) * c, lambda x: jnp.cos(x) + c, X),
    "switch": lambda c: lax.switch(1, [lambda x: x * c, lambda x: jnp.cos(x) + c], X),
    "while_loop": lambda c: turned(c)(X),
    "fori_loop": lambda c: lax.fori_loop(0, 3, lambda i, s: jnp.sin(s) * c + i, X),
    "map": lambda c: lax.map(lambda x: jnp.sin(x) * c, X),
    "associative_scan": lambda c: lax.associative_scan(lambda a, b: a * b + c, X),
    "jit(grad(scan))": lambda c: jax.jit(jax.grad(lambda x: scanned(c)(x)))(X),
    "grad(jit(scan))": lambda c: jax.grad(jax.jit(lambda x: scanned(c)(x)))(X),
    "grad(while_loop)": lambda c: jax.grad(lambda x: jnp.sum(turned(c)(x)))(X),
    "vmap(grad(cond))": lambda c: jax.vmap(jax.grad(lambda x: lax.cond(
        x > 0.5, lambda v: v * c, lambda v: jnp.sin(v) * c, x)))(X),
    "jit(vmap(while_loop))": lambda c: jax.jit(jax.vmap(lambda x: turned(c)(x)))(X),
    "grad(scan(scan))": lambda c: jax.grad(lambda x: lax.scan(
        lambda s, v: (s + scanned(c)(x * v), None), 0.0, x)[0])(X),
    "jit(grad(vmap(scan)))": lambda c: jax.jit(jax.grad(lambda x: jnp.sum(jax.vmap(
        lambda v: scanned(c)(jnp.stack([v, v])))(x))))(X),
    "grad of a custom_jvp": lambda c: jax.grad(lambda x: jnp.sum(clamp_rule(2.0)(x) * c))(X),
    "grad of a custom_vjp": lambda c: jax.grad(lambda x: jnp.sum(scale_rule()(x) * c))(X),
    "grad of a rule over it": lambda c: jax.grad(lambda x: jnp.sum(pushed(c)(x)))(X),
    "jvp of a rule over it": lambda c: jax.jvp(pushed(c), (X,), (X,)),
    "hessian of a rule over it": lambda c: jax.hessian(lambda x: jnp.sum(pushed(c)(x)))(X),
    "grad of a backward rule over it": lambda c: jax.grad(lambda x: jnp.sum(pulled(c)(x)))(X),
    "vjp of a backward rule over it": lambda c: jax.vjp(pulled(c), X)[1](X),
    "hessian of a backward rule over it": lambda c: jax.hessian(
        lambda x: jnp.sum(pulled(c)(x)))(X),
    "vmap(grad) of rules over it": lambda c: jax.vmap(jax.grad(
        lambda x: pushed(c)(pulled(c)(x))))(X),
    "grad of a rule over an array": lambda c: jax.grad(
        lambda x: jnp.sum(pulled(jnp.float32(c))(x)))(X),
    "jit(grad) of a rule that makes an array": lambda c: jax.jit(jax.grad(
        lambda x: jnp.sum(arrayed(c)(x))))(X),
    "grad of a rule over a global": lambda c: jax.grad(lambda x: jnp.sum(with_scale(c)(x)))(X),
    "jit(grad) of a rule that is given it": lambda c: jax.jit(jax.grad(
        lambda x: jnp.sum(clipped(c, x))))(X),
    "jit of a rule that nobody asks": lambda c: jax.jit(pushed(c))(X),
    "grad of a rule in a rule": lambda c: jax.grad(lambda x: jnp.sum(nested(c)(x)))(X),
    "jit(grad) of rules over it in a scan": lambda c: jax.jit(jax.grad(lambda x: lax.scan(
        lambda s, v: (pushed(c)(s) + pulled(c)(v), None), 0.0, x)[0]))(X),
    "grad of a rule in a cond": lambda c: jax.grad(lambda x: lax.cond(
        x > 0.5, pulled(c), pushed(c), x))(0.75),
    "jit(grad) of a custom_vjp in a scan": lambda c: jax.jit(jax.grad(lambda x: lax.scan(
        lambda s, v: (scale_rule()(s) * c + v, None), 0.0, x)[0]))(X),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_fresh_closure_whose_number_changes_costs_tracing(call: Any, made: list[str]) -> None:
    """After three values of the number, others make no program."""
    for c in (0.25, 0.5, 0.125):
        jax.block_until_ready(call(c))
    made.clear()
    for i in range(30):
        call(0.3 + 0.001 * i)
    assert not made


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_fresh_closure_of_a_known_number_costs_tracing(call: Any, made: list[str]) -> None:
    """The second call of the same mathematics makes no program."""
    call(0.75)
    made.clear()
    call(0.75)
    assert not made


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_number_that_became_a_parameter_counts_where_it_stands(call: Any) -> None:
    """What a program with parameters for numbers gives is what a compiler that sees them gives."""
    for c in (0.25, 0.5, 0.125):
        call(c)
    found, wanted = call(0.3), jax.jit(lambda: call(0.3))()
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
