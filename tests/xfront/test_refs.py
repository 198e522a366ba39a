"""Mutable references: against plain Python in generated programs, across every transformation, and
what is refused."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.generated.amount import share
from xfront import lax
from xfront.jaxpr.evaluating import jaxpr_as_fun

X = jnp.array([1.0, 2.0, 3.0])
SIZE = 3

# --- generated programs against plain loops -------------------------------------------------


def expression(rng, depth=2):
    kind = rng.choice(["read", "x", "constant", "sin", "mul", "add"] if depth else ["read", "x"])
    if kind in ("sin",):
        return kind, expression(rng, depth - 1)
    if kind in ("mul", "add"):
        return kind, expression(rng, depth - 1), expression(rng, depth - 1)
    return (kind, rng.uniform(-1, 1)) if kind == "constant" else (kind, rng.randrange(SIZE))


def block(rng, depth=2):
    found = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["set", "add", *["whole", "if", "for", "while"][:4 * (depth > 0)]])
        if kind in ("set", "add"):
            found.append((kind, rng.choice([*range(SIZE), "i"]), expression(rng)))
        elif kind == "whole":
            found.append((kind, rng.uniform(-1, 1)))
        elif kind == "if":
            found.append((kind, rng.randrange(SIZE), block(rng, depth - 1), block(rng, depth - 1)))
        else:
            found.append((kind, rng.randint(1, 3), block(rng, depth - 1)))
    return found


def evaluated(e, read, x, sin):
    kind, *parts = e
    if kind == "read":
        return read(parts[0])
    if kind == "x":
        return x[parts[0]]
    if kind == "constant":
        return parts[0]
    values = [evaluated(p, read, x, sin) for p in parts]
    return sin(values[0]) if kind == "sin" else (
        values[0] * values[1] if kind == "mul" else values[0] + values[1])


def plainly(program, x):
    """What a program gives in plain Python on a NumPy array that is written in place."""
    held = np.array(x)

    def run(statements, i):
        for kind, *parts in statements:
            if kind in ("set", "add"):
                place, e = parts
                place = i if place == "i" else place
                value = evaluated(e, lambda j: held[j], x, np.sin)
                held[place] = value if kind == "set" else held[place] + value
            elif kind == "whole":
                held[...] = held * parts[0] + x
            elif kind == "if":
                run(parts[1] if held[parts[0]] > 0 else parts[2], i)
            else:
                for k in range(parts[0]):
                    run(parts[1], k)

    run(program, 0)
    return held


def on_refs(program, x):
    """The same on a reference, with control flow of lax."""
    ref = jax.new_ref(x)

    def run(statements, i):
        for kind, *parts in statements:
            if kind in ("set", "add"):
                place, e = parts
                place = i if place == "i" else place
                value = evaluated(e, lambda j: ref[j], x, jnp.sin)
                if kind == "set":
                    ref[place] = jnp.asarray(value, x.dtype)
                else:
                    ref[place] += value
            elif kind == "whole":
                ref[...] = ref[...] * parts[0] + x
            elif kind == "if":
                lax.cond(ref[parts[0]] > 0, partial(run, parts[1], i), partial(run, parts[2], i))
            elif kind == "for":
                lax.fori_loop(0, parts[0], lambda k, _, body=parts[1]: run(body, k), None)
            else:
                lax.while_loop(lambda k, n=parts[0]: k < n,
                               lambda k, body=parts[1]: (run(body, k), k + 1)[1], 0)

    run(program, 0)
    return jax.freeze(ref)


@pytest.mark.parametrize("number", range(share(6, 200)))
def test_generated_programs(number):
    with jax.enable_x64(True):
        program = block(random.Random(number))
        rng = np.random.default_rng(number)
        lanes = rng.uniform(-1, 1, (3, SIZE))
        run = partial(on_refs, program)
        wanted = np.stack([plainly(program, x) for x in lanes])
        np.testing.assert_allclose(jax.jit(run)(lanes[0]), wanted[0], rtol=1e-12)
        np.testing.assert_allclose(jax.vmap(run)(lanes), wanted, rtol=1e-12)
        x, t = lanes[0], rng.uniform(-1, 1, SIZE)
        _, dot = jax.jvp(run, (x,), (t,))
        slope = jax.grad(lambda x: jnp.vdot(run(x), t))(x)
        eps = 1e-6
        near = (plainly(program, x + eps * t) - plainly(program, x - eps * t)) / (2 * eps)
        np.testing.assert_allclose(dot, near, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(slope @ t, t @ np.asarray(dot), rtol=1e-10, atol=1e-12)


def test_unjitted_program_by_ops():
    program = block(random.Random(3))
    with jax.enable_x64(True):
        x = np.array([0.3, -0.2, 0.9])
        np.testing.assert_allclose(on_refs(program, jnp.asarray(x)), plainly(program, x),
                                   rtol=1e-12)


# --- references outside traces --------------------------------------------------------------

def test_on_arrays():
    ref = jax.new_ref(jnp.zeros(3))
    ref[0] = 1.0
    ref[1:] += jnp.array([2.0, 3.0])
    assert ref[...].tolist() == [1, 2, 3] and ref[-1] == 3
    assert jax.ref.swap(ref, 1, 5.0) == 2 and jax.ref.get(ref, 1) == 5
    jax.ref.addupdate(ref, np.array([0, 0]), jnp.ones(2))
    jax.ref.set(ref, 2, 0)
    assert ref[...].tolist() == [3, 5, 0]
    assert (ref.shape, ref.ndim, ref.size, len(ref), ref.dtype) == ((3,), 1, 3, 3, np.float32)
    assert str(ref.aval) == "Ref{float32[3]}" and repr(ref) == "Ref([3., 5., 0.], dtype=float32)"
    assert isinstance(ref, jax.Ref) and not isinstance(ref, jax.Array)
    assert not jax.new_ref(1.0)[...].weak_type
    assert jax.ref.empty_ref(jax.ShapeDtypeStruct((2,), np.int32))[...].dtype == np.int32
    key = jax.new_ref(jax.random.key(0))
    key[...] = jax.random.split(key[...])[0]
    assert key.dtype == jax.random.key(1).dtype


def outside(f):
    """`f(ref, x)` with a reference that is made outside of all that `f` is under."""
    ref = jax.new_ref(jnp.zeros(3))
    result = f(ref, 2.0)
    return result, ref[...].tolist()


def store(ref, x):
    ref[1] = lax.stop_gradient(x)
    return ref[1] * x


AROUND = {
    "jit, closed over": lambda r, x: jax.jit(lambda x: store(r, x))(x),
    "jit, argument": lambda r, x: jax.jit(store)(r, x),
    "jit in jit": lambda r, x: jax.jit(lambda r, x: jax.jit(store)(r, x))(r, x),
    "checkpoint": lambda r, x: jax.checkpoint(lambda x: store(r, x))(x),
    "value_and_grad": lambda r, x: jax.value_and_grad(lambda x: store(r, x))(x)[0],
    "jit of value_and_grad": lambda r, x: jax.jit(
        jax.value_and_grad(lambda x: store(r, x)))(x)[0],
    "jvp": lambda r, x: jax.jvp(lambda x: store(r, x), (x,), (1.0,))[0],
    "jit of jvp": lambda r, x: jax.jit(
        lambda x: jax.jvp(lambda x: store(r, x), (x,), (1.0,))[0])(x),
    "cond": lambda r, x: lax.cond(x > 0, lambda: store(r, x), lambda: 0.0),
    "scan": lambda r, x: lax.scan(lambda c, _: (store(r, c), None), x, None, length=1)[0],
    "while": lambda r, x: lax.while_loop(
        lambda c: (c[0] < 1) & (r[1] < 9), lambda c: (c[0] + 1, store(r, c[1])), (0, x))[1],
    "vmap": lambda r, x: (jax.vmap(lambda a, y: a.__setitem__(..., y))(r, jnp.array([0, x, 0])),
                          r[1] * 2)[1],
}


@pytest.mark.parametrize("name", AROUND)
def test_from_outside(name):
    for _ in range(2):                           # a program that is known writes, too
        result, left = outside(AROUND[name])
        assert (float(result), left) == (4.0, [0, 2, 0])


def test_type_is_that_of_a_reference():
    assert jax.typeof(jax.new_ref(X)) == jax.ref.AbstractRef(jax.typeof(X))


def test_jitted_function_told_trees_of_none():
    r = jax.new_ref(X)
    f = jax.jit(lambda a, b: a.addupdate(a[...] * b), in_shardings=(None, None), out_shardings=None)
    f(r, 1.0)
    assert r[...].tolist() == [2, 4, 6]
    with pytest.raises(ValueError, match="tree prefix"):
        jax.jit(lambda a: a[0], out_shardings=(None, None))(r)


def test_jitted_function_sees_what_was_written_between_calls():
    ref = jax.new_ref(0)

    @jax.jit
    def count(by):
        ref[...] += by
        return ref[...] * 10

    assert [int(count(2)), int(count(3))] == [20, 50]
    ref[...] = 100
    assert int(count(1)) == 1010 and ref[...] == 101


def test_derivative_of_a_function_that_writes_to_its_own():
    def f(x):
        ref = jax.new_ref(jnp.zeros(3))
        ref[0] = x[0]
        ref[...] += x * x
        return (ref[...] ** 2).sum()

    x = np.asarray(X)
    inner = x * x + [x[0], 0, 0]
    wanted = 2 * inner * (2 * x + [1, 0, 0])
    np.testing.assert_allclose(jax.grad(f)(X), wanted, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vjp(f, X)[1])(1.0)[0], wanted, rtol=1e-6)
    assert jax.hessian(f)(X).shape == (3, 3)


def test_program_as_data():
    def f(ref, x):
        ref[0] = x
        return ref[...] * 2

    closed = jax.make_jaxpr(f)(jax.new_ref(X), 1.0)
    assert [e.primitive.name for e in closed.eqns if e.effects] == ["get", "swap", "get"]
    assert "Ref{f32[3]}" in str(closed)
    for under in (lambda g: g, jax.jit):
        ref = jax.new_ref(X)
        (result,) = under(jaxpr_as_fun(closed))(ref, 7.0)
        assert result.tolist() == [14, 4, 6] and ref[...].tolist() == [7, 2, 3]


# --- what is refused ------------------------------------------------------------------------

R = jax.new_ref(jnp.zeros(3))
GRID = jax.new_ref(jnp.zeros((3, 2)))


def frozen():
    ref = jax.new_ref(X)
    jax.freeze(ref)
    return ref


REFUSED = [
    (ValueError, "appeared at both a and b", lambda: jax.jit(lambda a, b: a[...])(R, R)),
    (ValueError, "both closed over and passed", lambda: jax.jit(lambda a: a[0] + R[0])(R)),
    (ValueError, "twice", lambda: jax.jit(lambda x: lax.cond(
        x > 0, lambda a, b: a[0], lambda a, b: b[0], R, R))(1.0)),
    (ValueError, "cannot be returned", lambda: jax.jit(lambda a: a)(R)),
    (ValueError, "cannot be returned", lambda: jax.jit(lambda x: {"a": jax.new_ref(x)})(X)),
    (ValueError, "cannot be returned", lambda: lax.scan(lambda c, _: (c, None), R, None, length=3)),
    (ValueError, "vmapped value", lambda: jax.vmap(lambda x: R.__setitem__(0, x))(X)),
    (ValueError, "differentiated value", lambda: jax.grad(
        lambda x: (R.__setitem__(0, x), x)[1])(3.0)),
    (ValueError, "differentiated value", lambda: jax.jvp(
        lambda x: (R.__setitem__(0, x), x)[1], (3.0,), (1.0,))),
    (TypeError, r"read it with ref\[...\]", lambda: jnp.sin(R)),
    (TypeError, "unsupported operand", lambda: R + 1),
    (NotImplementedError, "told where", lambda: jax.jit(
        lambda a: a[0], out_shardings=X.sharding)(R)),
    (TypeError, "no truth value", lambda: bool(R)),
    (TypeError, "boolean masks", lambda: R[R[...] > 0]),
    (TypeError, "argument to new_ref", lambda: jax.new_ref({"a": 1})),
    (ValueError, "refer to a reference", lambda: jax.new_ref(R)),
    (NotImplementedError, "memory_space", lambda: jax.new_ref(X, memory_space="host")),
    (TypeError, "takes a Ref", lambda: jax.freeze(X)),
    (ValueError, "was frozen", lambda: frozen()[0]),
    (ValueError, "was frozen", lambda: jax.jit(lambda a: a[0])(frozen())),
    (ValueError, "Invalid shape", lambda: GRID.__setitem__(0, jnp.ones(5))),
    (ValueError, "Invalid shape", lambda: GRID.__setitem__(0, 1.0)),
    (ValueError, "Invalid dtype", lambda: R.__setitem__(0, jnp.int32(1))),
    (ValueError, "Out of bound", lambda: R[7]),
    (TypeError, "cannot be stored in a reference", lambda: R.__setitem__(..., R)),
    (jax.errors.UnexpectedTracerError, "escaped", lambda: leaked()[0]),
    (NotImplementedError, "cannot take a reference", lambda: jax.jit(lambda x: custom(x))(1.0)),
]


def leaked():
    kept = []
    jax.jit(lambda x: kept.append(jax.new_ref(x)))(X)
    return kept[0]


def custom(x):
    ref = jax.new_ref(x)

    @jax.custom_jvp
    def f(y):
        ref[...] = y
        return y

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f(x)


@pytest.mark.parametrize(("error", "message", "call"), REFUSED,
                         ids=[f"{i}" for i in range(len(REFUSED))])
def test_refused(error, message, call):
    with pytest.raises(error, match=message):
        call()
    assert R[...].tolist() == [0, 0, 0]
