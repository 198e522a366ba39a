"""Warm calls of jitted functions: flattening, dispatch and a program that does next to nothing."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import per_call, row


@row("warm jit call, leaves in")
def leaves(jax: Any, jnp: Any) -> dict[str, float]:
    """The sum of a list of scalars."""
    times = {}
    for n in (1, 10, 100, 1000):
        f = jax.jit(lambda xs: sum(xs[1:], xs[0]))
        xs = [jnp.float32(i) for i in range(n)]
        times[f"{n}"] = per_call(lambda f=f, xs=xs: f(xs))
    return times


@row("warm jit call, a dict of 10 in and out")
def tree(jax: Any, jnp: Any) -> float:
    """One is added to each leaf of a dict."""
    f = jax.jit(lambda d: {name: x + 1.0 for name, x in d.items()})
    d = {f"layer{i}": jnp.ones(4) for i in range(10)}
    return per_call(lambda: f(d))


@row("warm jit call, Python scalar")
def scalar(jax: Any, jnp: Any) -> float:
    """An array and a Python float."""
    f = jax.jit(lambda x, s: x * s)
    x = jnp.ones(4)
    return per_call(lambda: f(x, 0.5))


@row("warm jit call, static argument")
def static(jax: Any, jnp: Any) -> float:
    """An array and a string that is part of the program."""
    f = jax.jit(lambda x, how: x + 1.0 if how == "up" else x - 1.0, static_argnames="how")
    x = jnp.ones(4)
    return per_call(lambda: f(x, how="up"))


@row("warm jit call, donated argument")
def donated(jax: Any, jnp: Any) -> float:
    """A state that is donated and replaced by the result."""
    f = jax.jit(lambda s: s + 1.0, donate_argnums=0)
    state = [jnp.ones(1024)]

    def call() -> Any:
        state[0] = f(state[0])
        return state[0]

    return per_call(call)


@row("warm call of a compiled function")
def ahead(jax: Any, jnp: Any) -> float:
    """A call of the result of `jit(f).lower(x).compile()`."""
    x = jnp.ones(4)
    f = jax.jit(lambda x: x + 1.0).lower(x).compile()
    return per_call(lambda: f(x))
