"""Transformations without jit, as in exploring and debugging: first and warm calls."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import once, per_call, row, scaled
from benchmarks.models import chain, mlp


@row("un-jitted grad, 4-layer MLP")
def grad(jax: Any, jnp: Any) -> float:
    """Reverse mode of a small perceptron."""
    loss, args = mlp(jnp, 4, 16, 8)
    return per_call(lambda: jax.grad(loss)(*args))


@row("un-jitted grad, a new lambda each call")
def grad_lambda(jax: Any, jnp: Any) -> float:
    """The same mathematics from a function object that no call has seen."""
    loss, (params, x, y) = mlp(jnp, 4, 16, 8)
    return per_call(lambda: jax.grad(lambda p: loss(p, x, y))(params))


@row("un-jitted value_and_grad, 8-layer MLP")
def value_and_grad(jax: Any, jnp: Any) -> float:
    """Value and gradient of a deeper perceptron."""
    loss, args = mlp(jnp, 8, 64, 32)
    return per_call(lambda: jax.value_and_grad(loss)(*args))


@row("un-jitted jvp, 4-layer MLP")
def jvp(jax: Any, jnp: Any) -> float:
    """Forward mode, with the arguments themselves as tangents."""
    loss, args = mlp(jnp, 4, 16, 8)
    return per_call(lambda: jax.jvp(loss, args, args))


@row("un-jitted vmap")
def vmap(jax: Any, jnp: Any) -> float:
    """A function of ten operations over 32 rows."""
    f, x = chain(jnp, 10), jnp.ones((32, 16))
    return per_call(lambda: jax.vmap(f)(x))


@row("un-jitted, of a function of three operations")
def small(jax: Any, jnp: Any) -> dict[str, float]:
    """The cost of a transformation apart from its function; and vmap of a product with a vector."""
    rows, x = jnp.ones((32, 16)), jnp.ones(16)

    def f(x: Any) -> Any:
        return jnp.sin(x) * 2.0 + 1.0

    return {
        "vmap": per_call(lambda: jax.vmap(f)(rows)),
        "jvp": per_call(lambda: jax.jvp(f, (x,), (x,))),
        "vjp": per_call(lambda: jax.vjp(f, x)[0]),
        "vmap of jnp.dot, one side mapped": per_call(lambda: jax.vmap(jnp.dot, (0, None))(rows, x)),
    }


@row("un-jitted vmap(grad)")
def vmap_grad(jax: Any, jnp: Any) -> float:
    """A gradient for each example."""
    loss, (params, x, y) = mlp(jnp, 2, 16, 8)
    return per_call(lambda: jax.vmap(jax.grad(loss), (None, 0, 0))(params, x, y))


@row("first un-jitted calls")
def first(jax: Any, jnp: Any) -> dict[str, float]:
    """The first call of each kind in a process that has run other operations."""
    loss, (params, x, y) = mlp(jnp, 2, 12, 6)
    w = params[0][0]
    jnp.sum(jnp.tanh(w @ w)).block_until_ready()
    calls = {
        "grad": lambda: jax.grad(loss)(params, x, y),
        "jvp": lambda: jax.jvp(loss, (params, x, y), (params, x, y)),
        "vmap": lambda: jax.vmap(loss, (None, 0, 0))(params, x, y),
        "vmap(grad)": lambda: jax.vmap(jax.grad(loss), (None, 0, 0))(params, x, y),
    }
    return {name: once(call) for name, call in calls.items()}


@row("200 calls of a jitted step under one un-jitted grad", repeats=3)
def unrolled_jitted(jax: Any, jnp: Any) -> dict[str, float]:
    """The gradient of a simulation of many steps: the first call and a later one."""
    step = jax.jit(lambda w, x: jnp.tanh(x @ w) * 0.9 + 0.1 * jnp.sin(x))
    w, x = jnp.eye(16) * 0.5, jnp.ones((4, 16))

    def total(w: Any) -> Any:
        y = x
        for _ in range(scaled(200, 50)):
            y = step(w, y)
        return jnp.sum(y * y)

    return {"first": once(lambda: jax.grad(total)(w)), "later": once(lambda: jax.grad(total)(w))}


@row("40 programs that all differ, under un-jitted grad", repeats=3)
def all_differ(jax: Any, jnp: Any) -> float:
    """New chains of 30 operations, each run once."""
    x = jnp.ones(16)

    def gradients() -> Any:
        out = None
        for seed in range(scaled(40, 10)):
            f = chain(jnp, 30, seed)
            out = jax.grad(lambda x, f=f: jnp.sum(f(x)))(x)
        return out

    return once(gradients)


@row("un-jitted grad, a learning rate that changes in 100 steps", repeats=3)
def changing_rate(jax: Any, jnp: Any) -> float:
    """Gradient descent whose rate is a Python float in a closure."""
    loss, (params, x, y) = mlp(jnp, 2, 12, 6)
    w0, rest = params[0][0], params

    def descend() -> Any:
        w = w0
        for i in range(100):
            rate = 0.1 / (1 + i)
            g = jax.grad(lambda w, r=rate: r * loss([(w, rest[0][1]), rest[1]], x, y))(w)
            w = w - g
        return w

    return once(descend)


@row("eager scan with a fresh lambda")
def scan(jax: Any, jnp: Any) -> float:
    """Ten steps of a scan whose body is a new function in each call."""
    x, xs = jnp.ones(8), jnp.ones((10, 8))
    return per_call(lambda: jax.lax.scan(lambda c, s: (jnp.sin(c) + s, c), x, xs)[0])


@row("eager scan of one function, 60 operations")
def scan_of_one(jax: Any, jnp: Any) -> float:
    """Ten steps of a scan whose body is the same function in each call."""
    x, xs = jnp.ones(8), jnp.ones((10, 8))

    def body(c: Any, s: Any) -> tuple[Any, Any]:
        for _ in range(30):
            c = jnp.sin(c) + s
        return c, c

    return per_call(lambda: jax.lax.scan(body, x, xs)[0])


@row("eager cond with a fresh lambda")
def cond(jax: Any, jnp: Any) -> float:
    """A cond whose branches are new functions in each call."""
    x, yes = jnp.ones(8), jnp.array(True)
    return per_call(lambda: jax.lax.cond(yes, lambda x: jnp.sin(x), lambda x: jnp.cos(x), x))


@row("eager while_loop with a fresh lambda")
def while_loop(jax: Any, jnp: Any) -> float:
    """Ten turns of a loop whose body is a new function in each call."""
    x = jnp.ones(8)
    return per_call(lambda: jax.lax.fori_loop(0, 10, lambda i, c: jnp.sin(c) + 0.5, x))
