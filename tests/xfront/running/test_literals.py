"""Literals of programs: a value that changes changes nothing but itself, whatever holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.xfront_ir.samples import op_counts
from xfront import export, lax
from xfront.experimental import xla_metadata
from xfront.running import programs
from xfront_ir import Builder, Function, ops, skeleton, tensor
from xfront_ir.dtypes import f32
from xfront_ir.passes.literals import abstract
from xfront_ir.reference import evaluate

X = np.array([[2.0, 0.5], [0.25, 3.0]], np.float32)
V = np.array([0.5, 1.5], np.float32)
I = np.array([1, 5], np.int32)
F32 = tensor((), f32)


RATE = [2.0]
"""What the functions with rules of their own capture: their rules do not, and stay the same."""


@jax.custom_jvp
def pushed(v: Any) -> Any:
    return v * RATE[0]


@jax.custom_vjp
def pulled(v: Any) -> Any:
    return v * RATE[0]


@jax.custom_batching.custom_vmap
def batched(v: Any) -> Any:
    return v * RATE[0]


pushed.defjvp(lambda primals, tangents: (primals[0] * 3.0, tangents[0] * 2.0))
pulled.defvjp(lambda v: (v * 3.0, v), lambda v, ct: (ct * v,))
batched.def_vmap(lambda size, batched, v: (v * 3.0, batched[0]))


def by_rule(f: Callable[..., Any]) -> Callable[[float], Callable[..., Any]]:
    def at(c: float) -> Callable[..., Any]:
        RATE[0] = c
        return f
    return at


def ruled(forward: bool) -> Callable[[float], Callable[..., Any]]:
    """Functions that differ by their rules, which call them."""
    def at(c: float) -> Callable[..., Any]:
        f: Any = jax.custom_jvp(jnp.sin) if forward else jax.custom_vjp(jnp.sin)
        if forward:
            f.defjvp(lambda p, t: (f(p[0]), jnp.cos(p[0]) * c * t[0] - 0.25 * t[0]))
        else:
            f.defvjp(lambda v: (f(v), v * c - 0.25), lambda s, ct: (s * ct * c + 0.125,))
        return lambda v: jax.grad(lambda x: jnp.sum(f(x) * x))(v)
    return at


def solved(c: float) -> Callable[..., Any]:
    def f(v: Any) -> Any:
        matvec = lambda y: y * (v * v + c)
        solve = lambda matvec, b: b / (v * v + c)
        return lax.custom_linear_solve(matvec, v, solve, solve)
    return f


def linear(c: float) -> Callable[..., Any]:
    def f(v: Any) -> Any:
        return jax.custom_derivatives.linear_call(lambda r, y: y * r * c, lambda r, ct: ct * r * c,
                                                  v, v)
    return f


HOLDERS: dict[str, Callable[[float], Callable[..., Any]]] = {
    "call": lambda c: jax.jit(lambda v: v * c),
    "xla_metadata_call": lambda c: xla_metadata.xla_metadata_call(lambda v: v * c, tag="mine"),
    "pending": lambda c: jax.jacfwd(lambda v: jnp.sin(v) * c),
    "cond": lambda c: lambda v: lax.cond(v[0] < 1.0, lambda: v * c, lambda: v * (c + 1.0)),
    "scan": lambda c: lambda v: lax.scan(lambda s, y: (s * c + y, s * y), v[0], v),
    "while": lambda c: lambda v: lax.while_loop(lambda s: jnp.sum(s) < 9.0 * c, lambda s: s + c, v),
    "checkpoint": lambda c: jax.checkpoint(lambda v: jnp.sin(v * c)),
    "composite": lambda c: lax.composite(lambda v: jnp.sin(v * c), "my.sine"),
    "custom_jvp": by_rule(pushed), "custom_vjp": by_rule(pulled), "custom_vmap": by_rule(batched),
    "a rule of custom_jvp": ruled(True), "a rule of custom_vjp": ruled(False),
    "custom_linear_solve": solved, "linear_call": linear,
    "while_tangent": lambda c: lambda v: jax.linearize(lambda v: lax.while_loop(
        lambda s: jnp.sum(s) < 9.0, lambda s: s * s + c, v), v)[1](v),
    "shard_map": lambda c: jax.shard_map(
        lambda v: lax.psum(v * c, "i"), mesh=jax.sharding.Mesh(jax.devices()[:1], ("i",)),
        in_specs=jax.P("i"), out_specs=jax.P()),
    "reduce": lambda c: lambda v: lax.reduce(v, 0.0, lambda a, b: a + b * c, (0,)),
    "gather": lambda c: lambda v: v.at[I].get(mode="fill", fill_value=c),
    "take": lambda c: lambda v: jnp.take(v, I),
    "solve": lambda c: lambda v: jnp.linalg.solve(X, v),
    "inverse in a branch": lambda c: lambda v: lax.cond(
        v[0] < 1.0, lambda: jnp.linalg.inv(X * v[0] + c) @ v, lambda: v * c),
}
"""What may hold a literal, or stand beside one."""


def program(name: str, c: float) -> Callable[..., Any]:
    """Something that holds c among literals of its own."""
    held = HOLDERS[name](c)

    def f(v: Any) -> Any:
        RATE[0] = c
        return jax.tree.map(lambda y: (y + 0.25) * c - 1.0, held(v * 0.5))
    return f


def windows(c: float) -> Function:
    """`reduce_window` by a body, which no public function records."""
    b, body = Builder("windows"), Builder("body")
    x, y = body.param(F32), body.param(F32)
    scaled = body.emit(ops.mul, y, body.literal(c, f32))
    combined = body.close([body.emit(ops.add, x, scaled)])
    return b.close(b.emit(ops.reduce_window, b.param(tensor((4,), f32)), b.literal(0.0, f32),
                          body=combined, window=(2,), strides=(1,), padding=((0, 0),),
                          base_dilation=(1,), window_dilation=(1,)))


def test_literals_of_bodies_that_take_nothing_from_outside_are_part_of_the_skeleton():
    assert skeleton(windows(2.0))[0] != skeleton(windows(0.5))[0]
    assert skeleton(windows(2.0)) == skeleton(windows(2.0))
    assert len(skeleton(windows(2.0))[1]) == 1


def exported(c: float) -> Function:
    """A call of an exported program, of which only the artifact holds c."""
    held = export.export(jax.jit(lambda v: v * c))(V)
    return jax.make_ir(lambda v: held.call(v) + 0.25)(V).ir


def test_exported_programs_belong_to_the_skeleton():
    (one, mine), (other, theirs) = skeleton(exported(2.75)), skeleton(exported(0.6875))
    assert one != other
    assert [v.array.tolist() for v in mine] == [v.array.tolist() for v in theirs] == [0.25]
    for c in (2.75, 0.6875, 2.75):
        held = export.export(jax.jit(lambda v, c=c: v * c))(V)
        np.testing.assert_allclose(jax.jit(held.call)(V), V * c, rtol=1e-6)


def test_every_op_that_holds_literals_is_here():
    made = {op for name in HOLDERS
            for op in op_counts(jax.make_ir(program(name, 2.0))(V).ir)}
    made |= {*op_counts(windows(2.0)), *op_counts(exported(2.0))}
    for definition in ops.REGISTRY.values():
        kinds = [kind.text for kind in definition.attrs.values()]
        if definition.has_bodies or "literal" in kinds:
            assert definition.name in made, definition.name


@pytest.mark.parametrize("name", HOLDERS)
def test_parameters_in_place_of_literals(name):
    one, other = (jax.make_ir(program(name, c))(V).ir for c in (2.75, 0.6875))  # nowhere else
    (shape, mine), (its, theirs) = skeleton(one), skeleton(other)
    threaded = all(ops.REGISTRY[op].regions.takes_from_outside for op in op_counts(one)
                   if ops.REGISTRY[op].has_bodies)
    assert (shape == its) == (threaded and name != "gather")
    for fn, values in ((one, mine), (other, theirs) if shape == its else (one, mine)):
        expected = evaluate(fn, V)
        for i in range(len(mine)):
            some = [k for k in range(len(mine)) if k >= i or mine[k] != theirs[k]] \
                if shape == its else [i]
            got = evaluate(abstract(one, some), V, *[values[k].array for k in some])
            for g, e in zip(got, expected, strict=True):
                np.testing.assert_array_equal(g, e)


def summed(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda v: sum(map(jnp.sum, jax.tree.leaves(f(v))))


WAYS: dict[str, Callable[..., Any]] = {
    "jit": lambda f: jax.jit(f)(V),
    "grad": lambda f: jax.grad(summed(f))(V),
    "vmap": lambda f: jax.vmap(f)(jnp.stack([V, V * 0.5])),
    "vmap of grad": lambda f: jax.vmap(jax.grad(summed(f)))(jnp.stack([V, V * 0.5])),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_values_that_change_give_what_a_fresh_process_gives(name):
    for way, run in WAYS.items():
        values = (2.0, 0.5, 0.75, 1.25)
        found = [jax.tree.leaves(run(program(name, c))) for c in values]
        programs.clear()
        for c, got in zip(values[1:3], found[1:3], strict=True):
            expected = jax.tree.leaves(run(program(name, c)))
            programs.clear()
            for g, e in zip(got, expected, strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-6, err_msg=f"{way}, {c}")


def test_a_program_after_another_of_its_structure():
    """Newton's method over solves, whose reads are filled outside: no number moves another."""
    def solve(a, b):
        return jnp.linalg.solve(a.reshape(1, 1), b.reshape(1)).reshape(())

    def root(x):
        def body(s):
            step = s[1] - solve(s[3], s[2])
            return s[0] + 1, step, step * step - x, 2 * step
        return lax.while_loop(lambda s: s[0] < 5, body, (0, 1.0, 3.0, 2.0))[1]

    def by_numpy(x):
        n, y, slope = 1.0, 3.0, 2.0
        for _ in range(5):
            n = n - y / slope
            y, slope = n * n - x, 2 * n
        return n

    for x in (5.0, 6.0, 7.0):
        np.testing.assert_allclose(root(np.asarray(x, np.float32)), by_numpy(x), rtol=1e-5)
