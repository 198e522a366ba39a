"""What transformations and control flow refuse: the class users catch, what the message says, and
the user's line, in the message or as the last frame of their own that the traceback names."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from lowering import compat
from xfront import lax
from xfront.running import first_runs

HERE = "test_errors_of_transforms.py"
X = np.ones(3, np.float32)


class Refused(NamedTuple):
    """A call, the class of its error, and what the message says among other things."""

    call: Callable[[], Any]
    kind: type[Exception]
    says: tuple[str, ...]


def with_vjp(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> Callable[..., Any]:
    f = jax.custom_vjp(lambda a, b: fwd(a, b)[0])
    f.defvjp(fwd, bwd)
    return f


def with_jvp(rule: Callable[..., Any]) -> Callable[..., Any]:
    f = jax.custom_jvp(lambda a: a * 2.0)
    f.defjvp(rule)
    return f


def fwd(a: Any, b: Any) -> Any:
    return a * b, (a, b)


def donated(read: Callable[[Any], Any]) -> Any:
    state = jnp.ones(3)
    jax.jit(lambda state: state + 1.0, donate_argnums=0)(state)
    return read(state)


def leaked() -> Any:
    kept: list[Any] = []
    jax.jit(lambda a: kept.append(a))(1.0)
    return kept[0] + 1.0


CONTROL = {
    "cond, a leaf's dtype": Refused(
        lambda: lax.cond(True, lambda x: {"a": x, "b": x},
                         lambda x: {"a": x, "b": x.astype(int)}, X),
        TypeError, ("result['b']", "dtype", "f32[3]", "i32[3]", "true_fun", "false_fun", HERE)),
    "cond, a leaf's shape": Refused(
        lambda: lax.cond(True, lambda x: (x, x), lambda x: (x, x[:2]), X),
        TypeError, ("result[1]", "shape", "f32[3]", "f32[2]", HERE)),
    "cond, structure": Refused(
        lambda: lax.cond(True, lambda x: {"a": [x, x]}, lambda x: {"a": (x, x)}, X),
        TypeError, ("result['a']", "a list", "a tuple", HERE)),
    "cond, predicate": Refused(
        lambda: lax.cond(X > 0, lambda x: x, lambda x: x, X),
        TypeError, ("Pred must be a scalar", "bool[3]")),
    "switch, a leaf's shape": Refused(
        lambda: lax.switch(1, [lambda x: [x], lambda x: [x], lambda x: [x[:1]]], X),
        TypeError, ("result[0]", "shape", "branches[0]", "branches[2]", "f32[1]", HERE)),
    "switch, structure": Refused(
        lambda: lax.switch(0, [lambda x: x, lambda x: (x,)], X),
        TypeError, ("branches[1]", "`result`", "a tuple", "a leaf", HERE)),
    "switch, index": Refused(
        lambda: lax.switch(0.5, [lambda x: x, lambda x: x], X),
        TypeError, ("Index type must be an integer", "f32[]")),
    "scan, a carry's dtype": Refused(
        lambda: lax.scan(lambda c, _: ({"n": c["n"] + 0.5}, None), {"n": np.int32(0)}, None, 3),
        TypeError, ("carry['n']", "dtype", "i32[]", "f32[]", HERE)),
    "scan, a carry's shape": Refused(
        lambda: lax.scan(lambda c, _: ((c[0], c[1][:2]), None), (0.0, X), None, 3),
        TypeError, ("carry[1]", "shape", "f32[3]", "f32[2]", HERE)),
    "scan, the carry's structure": Refused(
        lambda: lax.scan(lambda c, _: ({"u": c["u"]}, None), {"u": X, "v": X}, None, 3),
        TypeError, ("keys ['v'] are missing", HERE)),
    "scan, no pair": Refused(
        lambda: lax.scan(lambda c, _: c, X, None, 3), TypeError, ("must be a pair", HERE)),
    "scan, sizes": Refused(
        lambda: lax.scan(lambda c, x: (c, x), 0.0, {"a": X, "b": X[:2]}),
        ValueError, ("xs['a'] has 3", "xs['b'] has 2")),
    "scan, no size": Refused(
        lambda: lax.scan(lambda c, x: (c, x), 0.0), ValueError, ("`length` not provided",)),
    "while_loop, a carry's dtype": Refused(
        lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1].astype(int)), (0, X)),
        TypeError, ("carry[1]", "dtype", "f32[3]", "i32[3]", HERE)),
    "while_loop, the carry's structure": Refused(
        lambda: lax.while_loop(lambda c: True, lambda c: {"a": c}, X),
        TypeError, ("`carry`", "a dict", "a leaf", HERE)),
    "while_loop, test": Refused(
        lambda: lax.while_loop(lambda c: c, lambda c: c, X),
        TypeError, ("must return a boolean scalar", "f32[3]", HERE)),
    "fori_loop, the value's shape": Refused(
        lambda: lax.fori_loop(0, 3, lambda i, c: (c[0], c[1][:1]), (0.0, X)),
        TypeError, ("fori_loop", "init_val[1]", "shape", "f32[3]", "f32[1]", HERE)),
    "fori_loop, traced bounds": Refused(
        lambda: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c[:1], X))(3),
        TypeError, ("fori_loop", "init_val has type f32[3]", "f32[1]", HERE)),
    "fori_loop, the value's structure": Refused(
        lambda: lax.fori_loop(0, 3, lambda i, c: (c, c), X),
        TypeError, ("fori_loop", "`init_val`", "a tuple", HERE)),
}

DERIVATIVES = {
    "grad of an array": Refused(
        lambda: jax.grad(lambda x: x * 2)(X), TypeError, ("scalar-output", "f32[3]")),
    "grad of a tree": Refused(
        lambda: jax.grad(lambda x: (x, x))(1.0), TypeError, ("scalar-output", "has_aux")),
    "grad by an integer": Refused(
        lambda: jax.grad(lambda p: p["w"] * p["n"])({"w": 1.0, "n": 3}),
        TypeError, ("argument 0['n']", "int32", "allow_int")),
    "grad of an integer": Refused(
        lambda: jax.grad(lambda x: x.astype(int))(1.0), TypeError, ("real-valued", "i32[]")),
    "grad of a complex number": Refused(
        lambda: jax.grad(lambda x: x * x)(1.0 + 2j), TypeError, ("real-valued", "c64[]")),
    "grad by an argument that is not there": Refused(
        lambda: jax.grad(lambda x: x, argnums=2)(1.0), TypeError, ("argnums=2", "at least 3")),
    "grad of a host function": Refused(
        lambda: jax.grad(lambda x: jax.pure_callback(
            np.sin, jax.ShapeDtypeStruct((), np.float32), x))(1.0),
        ValueError, ("do not support JVP", "custom_jvp", HERE)),
    "jvp, dtypes": Refused(
        lambda: jax.jvp(jnp.sin, (1.0,), (1,)), TypeError, ("f32[]", "i32[]", "astype")),
    "jvp, shapes": Refused(
        lambda: jax.jvp(jnp.sin, (X,), (1.0,)), ValueError, ("(3,)", "()", "leaf 0")),
    "vjp, a cotangent's shape": Refused(
        lambda: jax.vjp(jnp.sin, X)[1](np.ones(2, np.float32)),
        ValueError, ("f32[2]", "f32[3]")),
    "vjp, a cotangent's structure": Refused(
        lambda: jax.vjp(lambda x: (x, x), X)[1](X), ValueError, ("tree structure",)),
    "transpose of what is not linear": Refused(
        lambda: jax.linear_transpose(jnp.sin, X)(X), NotImplementedError, ("sin",)),
    "custom_vjp without rules": Refused(
        lambda: jax.grad(jax.custom_vjp(lambda a: a))(1.0), AttributeError, ("defvjp",)),
    "custom_jvp without a rule": Refused(
        lambda: jax.grad(jax.custom_jvp(lambda a: a))(1.0), AttributeError, ("defjvp",)),
    "bwd, no tuple": Refused(
        lambda: jax.grad(with_vjp(fwd, lambda r, g: g), (0, 1))(1.0, 2.0),
        TypeError, ("bwd rule", "each of the 2")),
    "bwd, too few": Refused(
        lambda: jax.grad(with_vjp(fwd, lambda r, g: (g,)), (0, 1))(1.0, 2.0),
        TypeError, ("bwd rule", "each of the 2", "got 1")),
    "bwd, a shape": Refused(
        lambda: jax.grad(lambda p: jnp.sum(with_vjp(
            lambda p, b: (p["w"] * b, b), lambda r, g: ({"w": jnp.sum(g)}, g))(p, X)))({"w": X}),
        ValueError, ("argument 0['w']", "f32[3]", "f32[]")),
    "fwd, no pair": Refused(
        lambda: jax.grad(with_vjp(lambda a, b: [a * b], lambda r, g: (g, g)))(1.0, 2.0),
        TypeError, ("fwd rule", "pair")),
    "rule of a jvp, no pair": Refused(
        lambda: jax.grad(with_jvp(lambda p, t: p[0]))(1.0), TypeError, ("JVP rule", "pair")),
    "rule of a jvp, a tangent's shape": Refused(
        lambda: jax.jvp(with_jvp(lambda p, t: (p[0] * 2.0, jnp.ones(3))), (1.0,), (1.0,)),
        TypeError, ("JVP rule", "f32[]", "f32[3]")),
    "rule of a jvp, a tangent's structure": Refused(
        lambda: jax.jvp(with_jvp(lambda p, t: (p[0], (t[0], t[0]))), (1.0,), (1.0,)),
        TypeError, ("JVP rule", "structure")),
    "a branch under checkpoint": Refused(
        lambda: jax.grad(jax.checkpoint(lambda x: x if x > 0 else -x))(1.0),
        jax.errors.TracerBoolConversionError, ("lax.cond", "checkpoint", HERE)),
}

BATCHES = {
    "sizes": Refused(
        lambda: jax.vmap(lambda a, b: a["u"] + b)({"u": X}, X[:2]),
        ValueError, ("size 3: axis 0 of argument a['u'] of type f32[3]", "argument b", "size 2",
                     HERE)),
    "sizes of keyword arguments": Refused(
        lambda: jax.vmap(lambda a, *, k: a + k)(X, k=X[:2]),
        ValueError, ("argument a", "keyword argument k", HERE)),
    "sizes against axis_size": Refused(
        lambda: jax.vmap(lambda a: a, axis_size=4)(X),
        ValueError, ("`axis_size` argument was 4", "size 3")),
    "rank": Refused(
        lambda: jax.vmap(lambda a: a)(1.0),
        ValueError, ("rank should be at least 1", "argument a")),
    "out_axes of what is mapped": Refused(
        lambda: jax.vmap(lambda a: {"u": a, "v": 1.0}, out_axes={"u": None, "v": None})(X),
        ValueError, ("out_axes['u'], got axis spec None but output was batched on axis 0",
                     "result['u']", HERE)),
    "out_axes, structure": Refused(
        lambda: jax.vmap(lambda a: {"u": a}, out_axes={"v": 0})(X),
        ValueError, ("out_axes", "prefix", "'v'")),
    "out_axes, bounds": Refused(
        lambda: jax.vmap(lambda a: a, out_axes=3)(X), ValueError, ("out_axes 3", "out of bounds")),
    "in_axes, number": Refused(
        lambda: jax.vmap(lambda a, b: a, in_axes=(0,))(X, X), ValueError, ("len(in_axes)=1",)),
    "in_axes, structure": Refused(
        lambda: jax.vmap(lambda a: a["u"], in_axes=({"v": 0},))({"u": X}),
        ValueError, ("in_axes", "prefix", "'v'")),
    "nothing mapped": Refused(
        lambda: jax.vmap(lambda a: a, in_axes=None)(X), ValueError, ("in_axes", "axis_size")),
    "a name nobody binds": Refused(
        lambda: lax.psum(X, "i"), NameError, ("unbound axis name: i", "psum")),
    "a name nobody binds, compiled": Refused(
        lambda: jax.jit(lambda x: lax.psum(x, "i"))(X), NameError, ("unbound axis name: i",)),
    "another name than is bound": Refused(
        lambda: jax.vmap(lambda x: lax.psum(x, "j"), axis_name="i")(X),
        NameError, ("unbound axis name: j", "bound here: 'i'")),
    "the index along it": Refused(
        lambda: lax.axis_index("i"), NameError, ("unbound axis name: i", "axis_index")),
}

COMPILED = {
    "a static argument, by position": Refused(
        lambda: jax.jit(lambda a, n: a, static_argnums=1)(X, [1, 2]),
        ValueError, ("Non-hashable static arguments", "[1, 2]")),
    "a static argument, by name": Refused(
        lambda: jax.jit(lambda a, n: a, static_argnames="n")(X, n=[1, 2]),
        ValueError, ("Non-hashable static arguments", "[1, 2]")),
    "an argument that is no array": Refused(
        lambda: jax.jit(lambda a: a)({"k": "text"}), TypeError, ("path a['k']", "str", "static")),
    "a result that is no array": Refused(
        lambda: jax.jit(lambda a: [a, "text"])(1.0), TypeError, ("result[1]", "str")),
    "a branch": Refused(
        lambda: jax.jit(lambda a: 1 if a > 0 else 2)(1.0),
        jax.errors.TracerBoolConversionError, ("lax.cond", HERE)),
    "a range": Refused(
        lambda: jax.jit(lambda a: list(range(a)))(3),
        jax.errors.TracerIntegerConversionError, ("argument a", "static")),
    "a NumPy function": Refused(
        lambda: jax.jit(lambda a: np.sin(a))(1.0),
        jax.errors.TracerArrayConversionError, ("argument a", "xfront.numpy")),
    "a tracer that escaped": Refused(
        leaked, jax.errors.UnexpectedTracerError, ("escaped", "jit", HERE)),
    "a donated array, by an op": Refused(
        lambda: donated(lambda x: jnp.sinh(x)),
        RuntimeError, ("deleted", "f32[3]", "donate_argnums")),
    "a donated array, in a closure": Refused(
        lambda: donated(lambda x: jax.grad(lambda y: jnp.sum(x * y))(jnp.ones(3))),
        RuntimeError, ("deleted", "f32[3]", "donate_argnums")),
    "a donated array, by NumPy": Refused(
        lambda: donated(np.asarray), RuntimeError, ("deleted", "float32[3]")),
}


@pytest.mark.parametrize("row", [
    pytest.param(row, id=name) for table in (CONTROL, DERIVATIVES, BATCHES, COMPILED)
    for name, row in table.items()])
def test_the_class_what_it_says_and_the_users_line(row: Refused) -> None:
    with pytest.raises(row.kind) as found:
        row.call()
    message = str(found.value)
    assert not [text for text in row.says if text not in message], message
    frames = traceback.extract_tb(found.value.__traceback__)[1:]
    assert [f for f in frames if f.filename.endswith(HERE)], "the traceback names no user's line"


def consumed() -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """A function that donates and one that does not, run by C++ alone, and what the first took."""
    f = jax.jit(lambda state: state["s"] + 1.0, donate_argnums=0)
    g = jax.jit(lambda s: s * 2.0)
    for _ in range(first_runs.RUNS + 2):
        g(jnp.ones(3)), f({"s": jnp.ones(3)}), jnp.ones(3) + 1.0
    state = jnp.ones(3)
    f({"s": state})
    return f, g, state


def test_a_donated_array_given_again_to_the_function_that_consumed_it() -> None:
    f, _, state = consumed()
    with pytest.raises(RuntimeError, match=re.escape(
            "called with an array that is no longer there: state['s'], of type float32[3]")):
        f({"s": state})


@pytest.mark.parametrize("read", [lambda g, s: g(s), lambda g, s: s + 1.0],
                         ids=["another jit", "op"])
def test_a_donated_array_read_by_another_program_in_use(read: Callable[..., Any]) -> None:
    """C++ runs them alone: on jaxlib 0.10 the class and the words are the runtime's, as in JAX;
    0.12 hands what is gone to Python."""
    _, g, state = consumed()
    kind, words = ((RuntimeError, "no longer there") if compat.VERSION >= (0, 12) else
                   (ValueError, "Buffer has been deleted or donated"))
    with pytest.raises(kind, match=words):
        read(g, state)


@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
def test_what_a_donating_call_did_not_consume_stays() -> None:
    f = jax.jit(lambda a, b, c: a.sum() + b + c["k"].sum(), donate_argnames=("a", "c"))
    x, y, z = jnp.ones(3), jnp.ones(()), {"k": jnp.ones(4), "n": 2}
    for _ in range(3):
        assert f(x, y, c=z) == 8
    assert not any(v.is_deleted() for v in (x, y, z["k"]))
    assert jax.jit(lambda: f(1.0, 2.0, c={"k": jnp.ones(1), "n": 0}))() == 4


def with_rule(fun: Callable[..., Any] = lambda x, y=2.0: x * y, **which: Any) -> Any:
    f = jax.custom_jvp(fun, **which)
    f.defjvp(lambda *args: (args[-2][0], args[-1][0]))
    return f


@pytest.mark.parametrize("make, words", [
    (lambda: with_rule(nondiff_argnums=(2,)), "has only 2 positional arguments"),
    (lambda: with_rule(nondiff_argnums=(-3,)), "has only 2 positional arguments"),
    (lambda: with_rule(nondiff_argnames=("z",)), "has no argument called 'z'"),
    (lambda: jax.checkpoint(lambda x: x, static_argnums=(1,)), "has only 1 positional arguments"),
    (lambda: jax.checkpoint(lambda x: x, static_argnames="z"), "has no argument called 'z'"),
    (lambda: jax.make_jaxpr(lambda x: x, static_argnums=1), "has only 1 positional arguments"),
    (lambda: with_rule(lambda *xs: xs[0], nondiff_argnums=(3,))(1.0),
     "was called with 1 positional arguments, but nondiff_argnums"),
], ids=range(7))
def test_positions_and_names_that_a_function_does_not_have(make: Callable[[], Any],
                                                           words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_positions_of_arguments_with_defaults() -> None:
    assert with_rule(nondiff_argnums=(-1,))(3.0) == 6.0
    with pytest.raises(ValueError, match="static_argnums"):
        jax.checkpoint(lambda x, n=2: x * n, static_argnums=(1,))(3.0)
    jax.make_jaxpr(lambda x, n=2: x * n, static_argnums=(-1, 1))(3.0)
