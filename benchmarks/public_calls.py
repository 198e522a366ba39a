"""Calls of public functions on arrays of 10, 1,000 and 1,000,000 elements, for estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.models import uniform

SIZES = (10, 1000, 1_000_000)
Call = tuple[str, Callable[..., Any], tuple[Any, ...]]


def calls(jax: Any, jnp: Any) -> Iterator[Call]:
    """Each call with its name and arguments; what is costly at a million elements is left out
    there."""
    for n in SIZES:
        for make in (elementwise, of_vectors, draws):
            for name, f, args in make(jax, jnp, n):
                yield f"{name}, {n}", f, args
    for n in (5, 32):
        for name, f, args in of_matrices(jax, jnp, n):
            yield f"{name}, {n} x {n}", f, args


def elementwise(jax: Any, jnp: Any, n: int) -> Iterator[Call]:
    """Functions of each element."""
    special, x = jax.scipy.special, uniform(jnp, n) * 0.5 + 1.0
    for name in ("sin", "exp2", "cbrt", "arctanh", "sinc", "i0", "expm1", "signbit", "rint"):
        yield f"numpy.{name}", getattr(jnp, name), (x * 0.6,)
    for name in ("erf", "erfinv", "gammaln", "digamma", "i1e", "k0", "ndtri", "exp1", "spence",
                 "fresnel", "sici", "zeta"):
        if hasattr(special, name):
            more = (jnp.full((n,), 2.0),) if name == "zeta" else ()
            yield f"special.{name}", getattr(special, name), (x * 0.6 + (name == "zeta"), *more)
    for name in ("xlogy", "kl_div", "rel_entr", "betaln", "logaddexp", "hypot", "arctan2"):
        home = special if hasattr(special, name) else jnp
        yield f"{name} of two", getattr(home, name), (x, x + 0.25)
    yield "special.betainc", special.betainc, (x, x + 1.0, x * 0.5)
    yield "twenty-two functions of one vector", lambda v: sum([
        getattr(jnp, name)(v) for name in (
            "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "exp",
            "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "square", "abs",
            "floor", "sign")]), (x * 0.5,)


def of_vectors(jax: Any, jnp: Any, n: int) -> Iterator[Call]:
    """Functions of a vector as a whole."""
    lax, x = jax.lax, uniform(jnp, n)
    some = jnp.arange(0, n, max(n // 8, 1), dtype=jnp.int32)
    yield "at.apply", lambda v, i: v.at[i].apply(jnp.sin), (x, some)
    yield "at.add", lambda v, i: v.at[i].add(1.0), (x, some)
    yield "logsumexp, gradient", jax.grad(jax.nn.logsumexp), (x,)
    yield "cond", lambda v: lax.cond(v[0] > 0, lambda: jnp.sin(v) * jnp.cos(v),
                                     lambda: jnp.exp(v) + v), (x,)
    yield "boolean mask", lambda v: jnp.sum(v, where=v > 0) / jnp.sum(v > 0), (x,)
    yield "running mean", lambda v: jnp.cumsum(v) / jnp.arange(1, n + 1), (x,)
    yield "diff, squared", lambda v: jnp.sum(jnp.diff(v) ** 2), (x,)
    yield "percentile", lambda v: jnp.percentile(v, 30.0), (x,)
    yield "argsort", jnp.argsort, (x,)
    yield "histogram", lambda v: jnp.histogram(v, bins=8)[0], (x,)
    yield "interp", lambda v: jnp.interp(v, jnp.arange(8.0), jnp.arange(8.0) ** 2), (x,)
    if n < SIZES[-1]:
        yield "associative scan", lambda v: lax.associative_scan(jnp.add, v), (x,)
        yield "associative scan of pairs", lambda v: lax.associative_scan(
            lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (v, v))[1], (x,)
        yield "window by a function", lambda v: lax.reduce_window(
            v, 1.0, lambda a, b: a * b + 0.0, (4,), (2,), "VALID"), (x,)


def draws(jax: Any, jnp: Any, n: int) -> Iterator[Call]:
    """Random numbers."""
    random, key = jax.random, jax.random.key(0)
    for name in ("uniform", "normal", "bits", "gumbel", "truncated_normal", "rademacher"):
        more = {"truncated_normal": (-1.0, 1.0)}.get(name, ())
        yield f"random.{name}", lambda k, name=name, more=more: getattr(random, name)(
            k, *more, shape=(n,)), (key,)
    yield "random.uniform of a split key", lambda k: random.uniform(random.split(k, 3)[1], (n,)), (
        key,)
    yield "random.randint", lambda k: random.randint(k, (n,), 0, 10), (key,)
    yield "random.permutation", lambda k: random.permutation(k, n), (key,)
    yield "random.choice", lambda k: random.choice(k, n, (min(n, 8),)), (key,)
    if n < SIZES[-1]:
        yield "random.gamma", lambda k: random.gamma(k, 2.0, (n,)), (key,)
        yield "random.t", lambda k: random.t(k, 3.0, (n,)), (key,)
        yield "random.dirichlet", lambda k: random.dirichlet(k, jnp.ones(n)), (key,)


def of_matrices(jax: Any, jnp: Any, n: int) -> Iterator[Call]:
    """Linear algebra."""
    square = uniform(jnp, n, n) + 2 * jnp.eye(n)
    for name in ("slogdet", "inv", "det", "qr", "svd"):
        yield f"linalg.{name}", getattr(jnp.linalg, name), (square,)
    yield "linalg.matrix_power", lambda a: jnp.linalg.matrix_power(a, 5), (square,)
    yield "linalg.lu", lambda a: jax.scipy.linalg.lu(a), (square,)
    yield "linalg.expm", jax.scipy.linalg.expm, (square,)
    sizes = jnp.array([n // 2, n - n // 2], jnp.int32)
    yield "ragged dot", lambda a, c, s: jax.lax.ragged_dot(a, c, s), (
        square, jnp.stack([square, square + 1.0]), sizes)
