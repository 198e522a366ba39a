"""Equal exported programs are one program where they are called and differentiated; different ones,
also those that differ in a rule alone, are not."""

from __future__ import annotations

import random

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import export
from xfront.running import compiled
from xfront_ir.fingerprint import fingerprint

X = np.linspace(0.1, 0.9, 3, dtype=np.float32)
STEPS = {
    "sin": lambda k, x: jnp.sin(x * k), "add": lambda k, x: x + k, "mul": lambda k, x: x * k,
    "square": lambda k, x: x * x, "tanh": lambda k, x: jnp.tanh(x),
    "rule": lambda k, x: ruled(k)(x), "forward": lambda k, x: forward(k)(x),
    "loop": lambda k, x: jax.lax.fori_loop(0, 2, lambda _, c: c * k, x),
}


def ruled(slope):
    """sin with a rule for its cotangents that only the slope tells from others."""
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), None), lambda _, ct: (ct * slope,))
    return f


def forward(slope):
    f = jax.custom_jvp(jnp.sin)
    f.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), tangents[0] * slope))
    return f


def function(recipe):
    def f(x):
        for name, k in recipe:
            x = STEPS[name](k, x)
        return x

    return f


def recipes(draw):
    """A program, and one that differs from it in a number or a step; in a rule alone at times."""
    first = [(draw.choice(list(STEPS)), draw.choice([0.5, 2.0])) for _ in range(draw.randint(1, 4))]
    i = draw.randrange(len(first))
    name, k = draw.choice(["rule", "forward", first[i][0]]), first[i][1]
    first[i] = name, k
    other = [*first]
    if name in ("square", "tanh"):
        other[i] = {"square": "tanh", "tanh": "square"}[name], k
    else:
        other[i] = name, 2.5 - k
    return first, other


def exported(recipe):
    return export.export(jax.jit(function(recipe)))(X)


def print_of(f):
    traced = jax.make_ir(f)(X).ir
    return fingerprint(traced)


def slope_of(f):
    return np.asarray(jax.grad(lambda x: f(x).sum())(X))


@pytest.mark.parametrize("seed", range(12))
def test_fingerprints_follow_the_content(seed):
    first, other = recipes(random.Random(seed))
    a, again, b = exported(first), exported(first), exported(other)
    assert print_of(a.call) == print_of(again.call)
    assert print_of(a.call) != print_of(b.call)
    # The values: each as the function itself gives them, whichever was run before.
    for one, recipe in ((a, first), (again, first), (b, other)):
        wanted = slope_of(function(recipe))
        np.testing.assert_allclose(slope_of(one.call), wanted, rtol=1e-5)
        np.testing.assert_allclose(slope_of(jax.jit(one.call)), wanted, rtol=1e-5)


def test_what_is_read_from_bytes_follows_them_too():
    recipe = [("sin", 2.0), ("rule", 0.5)]
    read = [export.deserialize(exported(r).serialize(vjp_order=order)) for r, order in (
        (recipe, 1), (recipe, 1), ([("sin", 2.0), ("rule", 2.0)], 1), (recipe, 0))]
    prints = [print_of(e.call) for e in read]
    assert prints[0] == prints[1] and len({*prints}) == 3
    np.testing.assert_allclose(slope_of(read[0].call), slope_of(function(recipe)), rtol=1e-5)
    np.testing.assert_allclose(slope_of(read[2].call),
                               slope_of(function([("sin", 2.0), ("rule", 2.0)])), rtol=1e-5)
    with pytest.raises(ValueError, match="No VJP"):
        slope_of(read[3].call)


def test_equal_programs_are_compiled_once(monkeypatch):
    made = []
    compile_function = compiled.lowering.compile_function

    def counted(*args, name, **kwargs):
        made.append(name)
        return compile_function(*args, name=name, **kwargs)

    def slope():
        def total(x):
            return called(x).sum()

        called = exported([("sin", 0.5), ("mul", 2.0)]).call
        return jax.grad(total)(X)

    monkeypatch.setattr(compiled.lowering, "compile_function", counted)
    np.testing.assert_array_equal(slope(), slope())
    assert made.count("total") == 1


def test_rules_that_read_options_are_told_apart():
    def f(x):
        made = jax.custom_vjp(lambda x: x * 1.0)
        made.defvjp(lambda x: (x, None), lambda _, ct: (
            ct * (2.0 if jax.config.jax_default_matmul_precision == "highest" else 3.0),))
        return made(x)

    def slope(setting):
        with jax.default_matmul_precision(setting):
            return slope_of(export.export(jax.jit(f))(X).call).tolist()

    assert slope("highest") == [2.0] * 3 and slope("default") == [3.0] * 3
    assert slope("highest") == [2.0] * 3
