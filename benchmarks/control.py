"""Transformed ops and control flow: the cost of tracing, compiling and running them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness import best_of, per_call, row, scaled, stages, warm_stages
from benchmarks.models import uniform

USES = 10


def repeated(use: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that applies `use` ten times in a row."""

    def run(x: Any) -> Any:
        for _ in range(USES):
            x = use(x)
        return x

    return run


def uses(jax: Any, jnp: Any) -> dict[str, Callable[[Any], Any]]:
    """One use of each op, from a row of numbers to a row of numbers."""
    w = uniform(jnp, 3, 3)
    return {
        "cond": lambda x: jax.lax.cond(x[0] > 0, lambda y: jnp.sin(y), lambda y: y * 0.5, x),
        "scan": lambda x: jax.lax.scan(lambda c, y: (jnp.sin(c) + y, c * y), x[0], x)[1],
        "where": lambda x: jnp.where(x > 0, x, x * 0.5),
        "softmax": lambda x: jax.nn.softmax(x),
        "x.at[i].add": lambda x: x.at[1].add(x[0]),
        "einsum": lambda x: jnp.einsum("ij,jk->ik", x.reshape(-1, 3), w).reshape(-1),
    }


def trace_and_lower(jax: Any, jnp: Any, transform: Callable[[Any], Any], ndim: int
                    ) -> dict[str, float]:
    """Seconds per use of each op, for new functions on arrays of new sizes."""
    warm_stages(jax, jnp)

    def make(name: str, seed: int) -> Callable[[], Any]:
        x = jnp.ones((2, 3 * seed + 9)[-ndim:])
        use = uses(jax, jnp)[name]
        return lambda: jax.jit(transform(repeated(use))).trace(x).lower() and None

    found = {}
    for name in uses(jax, jnp):
        make(name, 100)()
        found[name] = best_of(lambda seed, name=name: make(name, seed), 7) / USES
    return found


@row("trace + lower under grad, a use")
def under_grad(jax: Any, jnp: Any) -> dict[str, float]:
    """The gradient of a function with ten uses, traced and lowered."""
    return trace_and_lower(jax, jnp, lambda f: jax.grad(lambda x: jnp.sum(f(x))), 1)


@row("trace + lower under vmap, a use")
def under_vmap(jax: Any, jnp: Any) -> dict[str, float]:
    """A function with ten uses, mapped over a leading axis."""
    return trace_and_lower(jax, jnp, jax.vmap, 2)


def recurrence(jax: Any, jnp: Any, steps: int, width: int) -> tuple[Callable, tuple[Any, ...]]:
    """The gradient of the loss of a recurrent network on `steps` inputs, with its arguments."""

    def loss(params: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            state = jnp.tanh(state @ params["w"] + x * params["u"] + params["b"])
            return state, jnp.sum(state * state)

        _, energies = jax.lax.scan(step, jnp.zeros(width), xs)
        return jnp.mean(energies)

    params = {"w": uniform(jnp, width, width), "u": uniform(jnp, width), "b": jnp.zeros(width)}
    return jax.grad(loss), (params, uniform(jnp, steps))


@row("grad of a 400-step scan")
def grad_of_scan(jax: Any, jnp: Any) -> dict[str, float]:
    """A recurrent network of 32 units: tracing, lowering, compiling and running."""
    warm_stages(jax, jnp)
    f, args = recurrence(jax, jnp, 7, 4)
    jax.jit(f).lower(*args).compile()
    return stages(jax, *recurrence(jax, jnp, scaled(400, 40), 32))


@row("grad of a 400-step scan, peak live bytes", unit="bytes", repeats=1)
def bytes_of_scan(jax: Any, jnp: Any) -> dict[str, float]:
    """The memory of that program besides its arguments: temporaries and results."""

    def live(f: Callable, args: tuple[Any, ...]) -> float:
        found = jax.jit(f).lower(*args).compile().memory_analysis()
        return float(found.temp_size_in_bytes + found.output_size_in_bytes)

    f, args = recurrence(jax, jnp, scaled(400, 40), 32)
    batched = jax.vmap(f, (None, 0))
    return {"alone": live(f, args),
            "under vmap of 8": live(batched, (args[0], uniform(jnp, 8, scaled(400, 40)))),
            "of jax.checkpoint": live(*checkpointed(jax, jnp, scaled(400, 40), 32))}


def checkpointed(jax: Any, jnp: Any, steps: int, width: int) -> tuple[Callable, tuple[Any, ...]]:
    """The gradient of a recurrence whose steps save their carry only, with its arguments."""

    def loss(w: Any, xs: Any) -> Any:
        step = jax.checkpoint(lambda c, x: (jnp.tanh(jnp.sin(c @ w) + x), jnp.sum(c * c)))
        _, energies = jax.lax.scan(step, jnp.zeros(width), xs)
        return jnp.mean(energies)

    return jax.grad(loss), (uniform(jnp, width, width), uniform(jnp, steps))


@row("hessian of a function of 64 variables")
def hessian(jax: Any, jnp: Any) -> dict[str, float]:
    """The compiled Hessian of a network's loss with respect to its input."""
    a, b = uniform(jnp, 64, 64), uniform(jnp, 64, 64, seed=1)

    def f(x: Any) -> Any:
        return jnp.sum(jnp.tanh(b @ jnp.sin(a @ x)) ** 2) + jnp.prod(1 + 0.01 * x)

    return stages(jax, jax.hessian(f), (uniform(jnp, 64),))


@row("hessian of Rosenbrock's function of 64 variables, run")
def rosenbrock(jax: Any, jnp: Any) -> float:
    """A sum whose Hessian is tridiagonal."""
    f = jax.jit(jax.hessian(lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2
                                              + (1 - x[:-1]) ** 2)))
    x = uniform(jnp, 64)
    return per_call(lambda: f(x))
