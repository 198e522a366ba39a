"""Functions with rules of their own that count how often their Python runs, and uses of them.

`observed(jax, name)` is what the test compares, and what `recorded/record_custom_runs.py` records
of JAX.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

ROLES = ("body", "jvp", "fwd", "bwd", "inner", "inner_jvp")


def _jvp(jax: Any, ran: Counter) -> Any:
    @jax.custom_jvp
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        ran["jvp"] += 1
        (x,), (t,) = primals, tangents
        return jax.numpy.sin(x), 2 * jax.numpy.cos(x) * t

    return f


def _jvp_calls_itself(jax: Any, ran: Counter) -> Any:
    @jax.custom_jvp
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        ran["jvp"] += 1
        return f(*primals), 2 * jax.numpy.cos(primals[0]) * tangents[0]

    return f


def _jvps(jax: Any, ran: Counter) -> Any:
    @jax.custom_jvp
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x)

    def rule(t, value, x):
        ran["jvp"] += 1
        return t * value

    f.defjvps(rule)
    return f


def _jvp_symbolic(jax: Any, ran: Counter) -> Any:
    @jax.custom_jvp
    def f(x, y):
        ran["body"] += 1
        return jax.numpy.sin(x) * y

    def rule(primals, tangents):
        ran["jvp"] += 1
        return primals[0] * 2, tangents[0] * 3

    f.defjvp(rule, symbolic_zeros=True)
    return lambda x: f(x, 2.0)


def _jvp_nondiff(jax: Any, ran: Counter) -> Any:
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def f(n, x):
        ran["body"] += 1
        return x ** n

    @f.defjvp
    def rule(n, primals, tangents):
        ran["jvp"] += 1
        return primals[0] ** n, n * tangents[0]

    return lambda x: f(3, x)


def _jvp_captures(jax: Any, ran: Counter) -> Any:
    def g(x):
        scale = x * 2.0

        @jax.custom_jvp
        def f(y):
            ran["body"] += 1
            return jax.numpy.sin(y)

        @f.defjvp
        def rule(primals, tangents):
            ran["jvp"] += 1
            return jax.numpy.sin(primals[0]), tangents[0] * jax.lax.stop_gradient(scale)

        return f(x) * scale

    return g


def _jvp_closure(jax: Any, ran: Counter) -> Any:
    def g(x):
        scale = x * 2.0

        @jax.custom_jvp
        def f(y):
            ran["body"] += 1
            return jax.numpy.sin(y)

        @f.defjvp
        def rule(primals, tangents):
            ran["jvp"] += 1
            return jax.numpy.sin(primals[0]), tangents[0] * 3.0

        return f(x) * scale

    return g


def _jvp_numbers(jax: Any, ran: Counter) -> Any:
    scale = 2.5

    @jax.custom_jvp
    def f(y):
        ran["body"] += 1
        return jax.numpy.sin(y) * scale

    @f.defjvp
    def rule(primals, tangents):
        ran["jvp"] += 1
        return jax.numpy.sin(primals[0]) * scale, tangents[0] * scale

    return f


def _numbers_calls_itself(jax: Any, ran: Counter) -> Any:
    scale = 2.5

    @jax.custom_jvp
    def f(y):
        ran["body"] += 1
        return jax.numpy.sin(y) * scale

    @f.defjvp
    def rule(primals, tangents):
        ran["jvp"] += 1
        return f(*primals), tangents[0] * scale

    return f


def _vjp(jax: Any, ran: Counter) -> Any:
    @jax.custom_vjp
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x)

    def fwd(x):
        ran["fwd"] += 1
        return jax.numpy.sin(x), x

    def bwd(x, ct):
        ran["bwd"] += 1
        return (2 * jax.numpy.cos(x) * ct,)

    f.defvjp(fwd, bwd)
    return f


def _vjp_calls_itself(jax: Any, ran: Counter) -> Any:
    @jax.custom_vjp
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x)

    def fwd(x):
        ran["fwd"] += 1
        return f(x), x

    def bwd(x, ct):
        ran["bwd"] += 1
        return (2 * jax.numpy.cos(x) * ct,)

    f.defvjp(fwd, bwd)
    return f


def _vjp_nondiff(jax: Any, ran: Counter) -> Any:
    @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
    def f(x, n):
        ran["body"] += 1
        return x ** n

    def fwd(x, n):
        ran["fwd"] += 1
        return x ** n, x

    def bwd(n, x, ct):
        ran["bwd"] += 1
        return (n * ct * x,)

    f.defvjp(fwd, bwd)
    return lambda x: f(x, 3)


def _vjp_symbolic(jax: Any, ran: Counter) -> Any:
    @jax.custom_vjp
    def f(x, y):
        ran["body"] += 1
        return jax.numpy.sin(x) * y

    def fwd(x, y):
        ran["fwd"] += 1
        return x.value * 2, (x.value, y.value)

    def bwd(saved, ct):
        ran["bwd"] += 1
        return saved[0] * ct, None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return lambda x: f(x, 2.0)


def _vjp_numbers(jax: Any, ran: Counter) -> Any:
    scale = 2.5

    @jax.custom_vjp
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x) * scale

    def fwd(x):
        ran["fwd"] += 1
        return jax.numpy.sin(x) * scale, x

    def bwd(x, ct):
        ran["bwd"] += 1
        return (scale * jax.numpy.cos(x) * ct,)

    f.defvjp(fwd, bwd)
    return f


def _custom_gradient(jax: Any, ran: Counter) -> Any:
    @jax.custom_gradient
    def f(x):
        ran["body"] += 1
        return jax.numpy.sin(x), lambda ct: 2 * ct * x

    return f


def _vjp_of_jvp(jax: Any, ran: Counter) -> Any:
    @jax.custom_jvp
    def inner(x):
        ran["inner"] += 1
        return x * x

    @inner.defjvp
    def inner_rule(primals, tangents):
        ran["inner_jvp"] += 1
        return inner(*primals), 3 * tangents[0] * primals[0]

    @jax.custom_vjp
    def f(x):
        ran["body"] += 1
        return inner(jax.numpy.sin(x))

    def fwd(x):
        ran["fwd"] += 1
        return inner(jax.numpy.sin(x)), x

    def bwd(x, ct):
        ran["bwd"] += 1
        return (inner(x) * ct,)

    f.defvjp(fwd, bwd)
    return f


def _jvp_of_jvp(jax: Any, ran: Counter) -> Any:
    @jax.custom_jvp
    def inner(x):
        ran["inner"] += 1
        return x * x

    @inner.defjvp
    def inner_rule(primals, tangents):
        ran["inner_jvp"] += 1
        return inner(*primals), 3 * tangents[0] * primals[0]

    @jax.custom_jvp
    def f(x):
        ran["body"] += 1
        return inner(jax.numpy.sin(x))

    @f.defjvp
    def rule(primals, tangents):
        ran["jvp"] += 1
        (x,), (t,) = primals, tangents
        return jax.jvp(lambda x: inner(jax.numpy.sin(x)), (x,), (t,))

    return f


def _plain_of_both(jax: Any, ran: Counter) -> Any:
    one, other = _jvp(jax, ran), _vjp(jax, ran)
    return lambda x: other(one(x) * x)


FUNCTIONS = {maker.__name__[1:]: maker for maker in (
    _jvp, _jvp_calls_itself, _jvps, _jvp_symbolic, _jvp_nondiff, _jvp_closure, _jvp_captures,
    _jvp_numbers, _numbers_calls_itself,
    _vjp, _vjp_calls_itself, _vjp_nondiff, _vjp_symbolic, _vjp_numbers,
    _custom_gradient, _vjp_of_jvp, _jvp_of_jvp, _plain_of_both)}

def uses(jax: Any, f: Any) -> dict[str, Any]:
    """By name a function to be called several times; each call is told apart in the counts."""
    jnp, lax = jax.numpy, jax.lax
    x, t, xs = jnp.float32(0.5), jnp.float32(1.0), jnp.arange(3.0)
    grad, jit, vmap = jax.grad, jax.jit, jax.vmap

    def total(g: Any) -> Any:
        return lambda xs: jnp.sum(g(xs))

    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, _: (f(c), c), x, None, length=3)[0]

    def branched(x: Any) -> Any:
        return lax.cond(x > 0, f, lambda x: x * 2, x)

    def looped(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: f(c), x)

    jitted, jit_grad, jit_vmap_grad = jit(f), jit(grad(f)), jit(vmap(grad(f)))
    jit_in = jit(lambda x: f(x) * 2)
    return {
        "call": lambda: f(x),
        "call of a number": lambda: f(0.5),
        "call of a batch": lambda: f(xs),
        "jit": lambda: jitted(x),
        "grad": lambda: grad(f)(x),
        "grad of a number": lambda: grad(f)(0.5),
        "value_and_grad": lambda: jax.value_and_grad(f)(x),
        "vjp": lambda: jax.vjp(f, x),
        "vjp and pull": lambda: jax.vjp(f, x)[1](t),
        "jvp": lambda: jax.jvp(f, (x,), (t,)),
        "linearize": lambda: jax.linearize(f, x),
        "linearize and call": lambda: jax.linearize(f, x)[1](t),
        "vmap": lambda: vmap(f)(xs),
        "vmap of vmap": lambda: vmap(vmap(f))(jnp.ones((2, 3))),
        "vmap of grad": lambda: vmap(grad(f))(xs),
        "grad of vmap": lambda: grad(total(vmap(f)))(xs),
        "vmap of jvp": lambda: vmap(lambda x: jax.jvp(f, (x,), (t,)))(xs),
        "jit of grad": lambda: jit_grad(x),
        "jit of jvp": lambda: jit(lambda x: jax.jvp(f, (x,), (x,)))(x),
        "jit of vmap of grad": lambda: jit_vmap_grad(xs),
        "grad of jit": lambda: grad(jit_in)(x),
        "grad of a product": lambda: grad(lambda x: f(x) * f(2 * x))(x),
        "grad of a closure": lambda: grad(lambda y: f(y) * x)(x),
        "grad by another": lambda: grad(lambda y: f(x) * y)(x),
        "grad with aux": lambda: grad(lambda y: (f(y), y), has_aux=True)(x),
        "grad of grad": lambda: grad(grad(f))(x),
        "jvp of grad": lambda: jax.jvp(grad(f), (x,), (t,)),
        "jvp of jvp": lambda: jax.jvp(lambda x: jax.jvp(f, (x,), (t,))[1], (x,), (t,)),
        "jacfwd": lambda: jax.jacfwd(f)(xs),
        "jacrev": lambda: jax.jacrev(f)(xs),
        "hessian": lambda: jax.hessian(total(f))(xs),
        "scan": lambda: scanned(x),
        "jit of scan": lambda: jit(scanned)(x),
        "grad of scan": lambda: grad(scanned)(x),
        "cond": lambda: branched(x),
        "grad of cond": lambda: grad(branched)(x),
        "fori_loop": lambda: looped(x),
        "checkpoint": lambda: jax.checkpoint(f)(x),
        "grad of checkpoint": lambda: grad(jax.checkpoint(f))(x),
        "eval_shape": lambda: jax.eval_shape(f, x),
        "make_jaxpr": lambda: jax.make_jaxpr(f)(x),
        "make_jaxpr of grad": lambda: jax.make_jaxpr(grad(f))(x),
        "lower": lambda: jit(f).lower(x),
        "trace": lambda: jit(f).trace(x),
        "while reading": lambda: grad(lambda y: f(y) if y > 0 else y)(x),
        "reading what it gives": lambda: grad(lambda y: y if f(y) > 0 else 2 * y)(x),
    }


def counts(jax: Any, function: str, use: str, calls: int = 3) -> str:
    """What ran at each of several calls, as text."""
    ran: Counter = Counter()
    go = uses(jax, FUNCTIONS[function](jax, ran))[use]
    seen = []
    for _ in range(calls):
        ran.clear()
        go()
        seen.append(" ".join(f"{role} {ran[role]}" for role in ROLES if ran[role]) or "nothing")
    return "; ".join(seen)


def observed(jax: Any, function: str) -> dict[str, str]:
    """The counts of each use of a function, or the class of the error."""
    found: dict[str, str] = {}
    for use in uses(jax, FUNCTIONS[function](jax, Counter())):
        try:
            found[use] = counts(jax, function, use)
        except Exception as error:
            found[use] = type(error).__name__
    return found
