"""What tracing and lowering small transformed programs costs, counted in Python calls.

The bounds are a tenth above what it took when they were written, or less.
"""

from __future__ import annotations

import itertools

import pytest

import xfront
import xfront.numpy as jnp
from benchmarks.control import repeated, uses
from tests.work import calls
from xfront.running import first_runs
from xfront_ir.sharding import MeshAxes

USES = 10
SIZES = itertools.count(303, 3)         # a size that was met twice has templates of its traces


@pytest.fixture(autouse=True)
def no_mesh(monkeypatch):
    """The costs are those of a process that has not made a mesh; other tests may have made one."""
    monkeypatch.setattr(MeshAxes, "placed", False)


def made(name, transform):
    """A call that traces and lowers ten uses, on a size of its own."""
    use = uses(xfront, jnp)[name]

    def go(stage):
        n = next(SIZES)
        f, x = repeated(use), jnp.ones((2, n) if transform == "vmap" else n)
        g = xfront.vmap(f) if transform == "vmap" else xfront.grad(lambda x: jnp.sum(f(x)))
        traced = []
        if transform == "vmap":
            xfront.jit(f).trace(jnp.ones(n))     # einsum keeps the order of products for a size
        if stage == "trace":
            return calls(lambda: xfront.jit(g).trace(x))
        traced.append(xfront.jit(g).trace(x))
        return calls(lambda: traced[0].lower())

    for _ in range(2):
        go("lower")                     # what is imported and remembered once
    return go


@pytest.mark.parametrize(("name", "transform", "to_trace", "to_lower"), [
    ("cond", "grad", 313, 1769),
    ("scan", "grad", 254, 3152),
    ("where", "grad", 124, 495),
    ("softmax", "grad", 167, 1003),
    ("x.at[i].add", "grad", 183, 646),
    ("einsum", "grad", 248, 400),
    ("cond", "vmap", 298, 626),
    ("scan", "vmap", 250, 930),
    ("where", "vmap", 115, 199),
    ("softmax", "vmap", 155, 371),
    ("x.at[i].add", "vmap", 168, 251),
    ("einsum", "vmap", 226, 203),
])
def test_a_use_costs(name, transform, to_trace, to_lower) -> None:
    go = made(name, transform)
    assert go("trace") / USES < to_trace
    assert go("lower") / USES < to_lower


def test_a_known_row_under_vmap_is_a_slice() -> None:
    """Its program knows the number, as it does without vmap."""
    rows = xfront.jit(xfront.vmap(lambda x: x[1])).trace(jnp.ones((2, 3)))
    text = rows.lower().as_text("ir")
    assert "slice(" in text and "dynamic_slice" not in text and "literal" not in text


def test_an_operation_knows_the_line_that_called_the_function() -> None:
    """Also the one of several that a library function records."""
    traced = xfront.jit(lambda x: xfront.nn.softmax(x)).trace(jnp.ones(3))
    lines = {(op.loc.function, op.loc.line) for op in traced.ir.ops}
    assert len(lines) == 1 and next(iter(lines))[0].endswith("<lambda>")


def test_the_line_inside_a_function_given_to_the_library() -> None:
    """What a user's function records is at its own line."""
    def inner(x):
        return jnp.sin(x)

    traced = xfront.jit(lambda x: jnp.apply_along_axis(inner, 0, x)).trace(jnp.ones(3))
    sines = [op.loc.function for f in [traced.ir, *traced.ir.bodies()] for op in f.ops
             if op.definition.name == "sin"]
    assert not sines or sines[0].endswith("inner")


@pytest.mark.parametrize(("f", "most"), [
    (lambda x: xfront.lax.cos(xfront.lax.sin(x)), 21),
    (lambda x: xfront.lax.mul(xfront.lax.add(x, x), x), 26),
    (lambda x: xfront.lax.add(xfront.lax.mul(x, 0.5), 0.25), 31),
])
def test_an_op_of_lax_costs(f, most) -> None:
    """Two operations, which promote nothing."""
    def chain(n):
        def run(x):
            for _ in range(n):
                x = f(x)
            return x

        return calls(lambda: xfront.jit(run).trace(jnp.ones(3)))

    chain(1)
    assert (chain(30) - chain(10)) / 20 <= most


@pytest.mark.parametrize(("f", "most"), [
    (lambda x, w, b: x @ w, 47), (lambda x, w, b: x + b, 40), (lambda x, w, b: x * 0.5, 14),
    (lambda x, w, b: 1 - x, 24), (lambda x, w, b: jnp.where(x > 0, x, 0.0), 49),
    (lambda x, w, b: jnp.mean(x), 68), (lambda x, w, b: x.T, 30),
    (lambda x, w, b: jnp.reshape(x, (1, 9)), 37),
])
def test_an_operation_of_numpy_costs(f, most) -> None:
    def traced(n):
        def run(x, w, b):
            return [f(x, w, b) for _ in range(n)]

        return calls(lambda: xfront.jit(run).trace(*[jnp.ones((3, 3))] * 2, jnp.ones(3)))

    traced(1)
    assert (traced(30) - traced(10)) / 20 <= most


@pytest.mark.parametrize(("call", "most"), [
    (lambda f, x: xfront.vmap(f)(x), 199), (lambda f, x: xfront.jvp(f, (x,), (x,)), 193),
    (lambda f, x: xfront.vmap(jnp.dot, (0, None))(x, x[0]), 215),
])
def test_an_unjitted_transformation_costs(call, most) -> None:
    def go():
        return call(lambda x: jnp.sin(x) * 2.0 + 1.0, x)

    x = jnp.ones((4, 3))
    for _ in range(first_runs.RUNS + 3):           # then `x[0]` runs in C++
        go()
    assert calls(go) <= most
