"""Programs as data: the inverse of a function by walking its operations, and one's own operation.

The first half inverts a function that it has never seen, by going through its program backwards.
The second half defines an operation with its rules for values, types, derivatives and batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.extend import core
from xfront.interpreters import ad, batching, mlir, xla

# --- the inverse of a function --------------------------------------------------------------

INVERSES: dict[core.Primitive, Callable[..., Any]] = {
    lax.exp_p: jnp.log, lax.log_p: jnp.exp, lax.tanh_p: jnp.arctanh, lax.neg_p: jnp.negative,
    lax.sinh_p: jnp.arcsinh,
}
BY_NUMBER = {
    lax.add_p: lambda y, c: y - c, lax.sub_p: lambda y, c: y + c,
    lax.mul_p: lambda y, c: y / c, lax.div_p: lambda y, c: y * c,
}
"""With the unknown first and a known second operand."""


def inverse(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The inverse of a function of one array that does one thing after another."""
    def undo(y: Any) -> Any:
        closed = jax.make_jaxpr(f)(y)

        def back(jaxpr: Any, consts: list[Any], y: Any) -> Any:
            known = dict(zip(jaxpr.constvars, consts, strict=True))
            env = {jaxpr.outvars[0]: y}
            for eqn in reversed(jaxpr.eqns):
                y = env[eqn.outvars[0]]
                if eqn.primitive is core.primitives.jit_p:          # a program inside
                    inner = eqn.params["jaxpr"]
                    env[eqn.invars[0]] = back(inner.jaxpr, inner.consts, y)
                elif eqn.primitive in INVERSES:
                    env[eqn.invars[0]] = INVERSES[eqn.primitive](y)
                elif eqn.primitive in BY_NUMBER:
                    x, c = eqn.invars
                    value = c.val if isinstance(c, core.Literal) else known[c]
                    env[x] = BY_NUMBER[eqn.primitive](y, value)
                else:
                    raise NotImplementedError(f"no inverse is known of {eqn}")
            return env[jaxpr.invars[0]]

        return back(closed.jaxpr, closed.consts, y)

    return undo


def squash(x: Any) -> Any:
    """A function whose inverse is asked for."""
    return jax.jit(jnp.tanh)(x * 0.5 - 0.25) * 3.0


# --- one's own operation --------------------------------------------------------------------

huber_p = core.Primitive("huber")
"""x²/2 up to `delta` from zero, straight on from there."""


def huber(x: Any, delta: float = 1.0) -> Any:
    """The loss of a residual, element by element."""
    return huber_p.bind(x, delta=delta)


def _lowered(x: Any, *, delta: float) -> Any:
    size = jnp.abs(x)
    return jnp.where(size < delta, 0.5 * x * x, delta * (size - 0.5 * delta))


huber_p.def_impl(partial(xla.apply_primitive, huber_p))
huber_p.def_abstract_eval(lambda x, *, delta: x)
mlir.register_lowering(huber_p, mlir.lower_fun(_lowered, multiple_results=False))
ad.defjvp(huber_p, lambda t, x, *, delta: t * jnp.clip(x, -delta, delta))
batching.defvectorized(huber_p)


def main() -> None:
    """Inverts a function, then fits a line to points with outliers."""
    x = jnp.linspace(-1.0, 1.0, 5)
    error = jnp.abs(jax.jit(inverse(squash))(squash(x)) - x).max()
    print(f"inverse of squash: largest error {error:.1e}")
    print(jax.make_jaxpr(inverse(squash))(0.5))

    xs = jnp.arange(8.0)
    ys = (2.0 * xs + 1.0).at[jnp.array([2, 6])].add(jnp.array([40.0, -30.0]))

    def loss(line: Any) -> Any:
        return huber(line[0] * xs + line[1] - ys, delta=0.1).sum()

    @jax.jit
    def fit(line: Any) -> Any:
        return lax.fori_loop(0, 4000, lambda i, line: line - 0.05 / (1 + 0.01 * i) * jax.grad(
            loss)(line), line)

    slope, offset = fit(jnp.zeros(2))
    print(f"line through points with two outliers: {slope:.2f} x + {offset:.2f}")
    print(jax.make_jaxpr(jax.vmap(huber))(xs))


if __name__ == "__main__":
    main()
