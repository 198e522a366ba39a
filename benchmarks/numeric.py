"""The numeric library: tracing and un-jitted calls of common functions of numpy, random draws,
special functions and attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import least_in_a_row, per_call, row, scaled, warm_stages

TRACED = """
abs(x) add(x,y) arctan2(x,y) argmax(x,axis=1) argsort(x) astype(x,'int32') average(x,axis=0)
broadcast_to(x,(3,8,8)) ceil(x) clip(x,0.,1.) concatenate([x,y]) cos(x) cov(x) cumsum(x,axis=0)
diag(x) diff(x) divide(x,y) dot(x,y) einsum('ij,kj->ik',x,y) equal(x,y) exp(x)
expand_dims(x,0) eye(8) flip(x,0) floor(x) full((8,8),1.) isfinite(x) isnan(x) linspace(0.,1.,8)
linalg.norm(x) log(x) log1p(x) logical_and(x>0,y>0) matmul(x,y) max(x,axis=0) maximum(x,y) mean(x)
median(x,axis=0) min(x,axis=0) moveaxis(x,0,1) multiply(x,y) nansum(x) ones_like(x) outer(x[0],y[0])
pad(x,1) power(x,2) prod(x,axis=0) repeat(x,2,axis=0) reshape(x,(4,16)) roll(x,1,axis=0) sign(x)
sort(x,axis=0) split(x,2) sqrt(x) squeeze(x[:1]) stack([x,y]) std(x,axis=0) sum(x,axis=0)
take(x,idx,axis=0) tanh(x) tensordot(x,y) tile(x,(2,1)) trace(x) transpose(x) tril(x) var(x,axis=0)
vstack([x,y]) where(x>0,x,y) zeros_like(x)
""".split()
"""Calls of functions of numpy, with two arrays x and y of 8 x 8, and indices idx."""


def calls_of(jnp: Any) -> dict[str, Callable[[Any, Any, Any], Any]]:
    """The calls as functions of x, y and idx, by the name of the function that they call."""
    return {text.partition("(")[0]: eval(f"lambda x, y, idx: jnp.{text}", {"jnp": jnp})
            for text in TRACED}


def operands(jnp: Any) -> tuple[Any, Any, Any]:
    """x, y and idx of the calls."""
    return jnp.ones((8, 8)), jnp.ones((8, 8)), jnp.arange(4)


@row("trace functions of numpy, 20 calls each")
def traced(jax: Any, jnp: Any) -> dict[str, float]:
    """Each function by itself, called with a signature that was seen before: the least of 16 traces
    in a row. Garbage is not collected between them; that leaves the processor's caches cold, and an
    empty trace then takes longer than 20 calls."""
    warm_stages(jax, jnp)
    given = operands(jnp)

    def program(call: Any) -> Callable[[], Any]:
        def f(*given: Any) -> Any:
            return [call(*given) for _ in range(20)]

        return lambda: jax.jit(lambda *given: f(*given)).trace(*given)

    return {name: least_in_a_row(program(call), 16) for name, call in calls_of(jnp).items()}


@row("un-jitted functions of numpy")
def eager(jax: Any, jnp: Any) -> dict[str, float]:
    """The same functions, called outside of jit."""
    given = operands(jnp)
    return {name: per_call(lambda call=call: call(*given), 0.1)
            for name, call in calls_of(jnp).items()}


@row("run random draws, 1M")
def drawn(jax: Any, jnp: Any) -> dict[str, float]:
    """Draws from ten distributions."""
    r, n = jax.random, (scaled(1_000_000, 10_000),)
    draws = {
        "uniform": lambda k: r.uniform(k, n), "normal": lambda k: r.normal(k, n),
        "exponential": lambda k: r.exponential(k, n), "gumbel": lambda k: r.gumbel(k, n),
        "bernoulli": lambda k: r.bernoulli(k, 0.3, n), "randint": lambda k: r.randint(k, n, 0, 100),
        "gamma": lambda k: r.gamma(k, 2.5, n), "beta": lambda k: r.beta(k, 2.0, 0.5, n),
        "poisson": lambda k: r.poisson(k, 7.0, n), "permutation": lambda k: r.permutation(k, n[0]),
    }
    key = r.key(0)
    return {name: timed(jax, draw, key) for name, draw in draws.items()}


@row("run special functions, 1M")
def special(jax: Any, jnp: Any) -> dict[str, float]:
    """Ten special functions of numbers between 0.01 and 20, or within their domain."""
    s = jax.scipy.special
    n = scaled(1_000_000, 10_000)
    x = jnp.asarray(np.random.default_rng(0).uniform(0.01, 20, n).astype(np.float32))
    unit = x / 20.01
    functions = {
        "gammaln": (s.gammaln, x), "digamma": (s.digamma, x), "erf": (s.erf, x),
        "erfinv": (s.erfinv, unit), "ndtri": (s.ndtri, unit), "log_ndtr": (s.log_ndtr, -x),
        "i0e": (s.i0e, x), "gammainc": (lambda x: s.gammainc(2.5, x), x),
        "betainc": (lambda x: s.betainc(2.5, 1.5, x), unit), "expit": (s.expit, x),
    }
    return {name: timed(jax, f, x) for name, (f, x) in functions.items()}


@row("run attention, 8 heads of 64, 1,024 tokens")
def attention(jax: Any, jnp: Any) -> dict[str, float]:
    """The value and the gradient of attention, with and without a causal mask."""
    shape = (1, scaled(1024, 64), 8, 64)
    q, k, v = (jnp.asarray(np.random.default_rng(i).normal(size=shape).astype(np.float32))
               for i in range(3))

    def of(causal: bool) -> Callable[..., Any]:
        return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=causal)

    def gradient(causal: bool) -> Callable[..., Any]:
        return jax.grad(lambda *x: (of(causal)(*x) ** 2).sum(), (0, 1, 2))

    return {"forward": timed(jax, of(False), q, k, v),
            "gradient": timed(jax, gradient(False), q, k, v),
            "causal, forward": timed(jax, of(True), q, k, v),
            "causal, gradient": timed(jax, gradient(True), q, k, v)}


def timed(jax: Any, f: Callable[..., Any], *args: Any) -> float:
    """Seconds of a warm call of the jitted function."""
    jitted = jax.jit(f)
    return per_call(lambda: jitted(*args))
