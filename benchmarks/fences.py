"""Fences on CPU: the time of programs with and without them, and the cost of placing them.

    python benchmarks/run.py --rows '^fences:'      # the other side has XFRONT_CPU_FENCES=0

The programs are chains of ten mixes of operations under several transformations, unrolled
integrators and optimisers, and residual networks with five norms. Each link of a chain has a slope
near 1, so that no gradient ends in denormal numbers, which are slow with and without fences.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.harness import Row, compiling, enter, per_call, row, scaled, warm_stages
from benchmarks.models import chain, uniform
from benchmarks.unrolled import runge_kutta

CALLED = 5
"""The number of turns in which a side calls a program."""
REPEATS = 3
"""The number of processes in which a program is compiled."""
GROUP = "fences"

Made = tuple[Callable[..., Any], tuple[Any, ...]]
Link = Callable[[Any, Any, Any, Any], Any]

LINKS: dict[str, tuple[float, float, Link]] = {
    "polynomial": (0.49, 0.499, lambda jax, jnp, y, x: y * y * 0.5 + x),
    "where": (-1.0, 1.0, lambda jax, jnp, y, x: jnp.where(y > 0.1, y * 0.99, x - y * 0.99)),
    "waves": (1e-5, 1e-4, lambda jax, jnp, y, x: jnp.sin(jnp.tanh(y * 1.01 + x)) - 0.001),
    "tanh": (0.0, 1e-3, lambda jax, jnp, y, x: jnp.tanh(y * 1.01 + x)),
    "softplus": (5.0, 6.0, lambda jax, jnp, y, x: jax.nn.softplus(y) - x * 0.001),
    "exp and log": (1.0, 2.0, lambda jax, jnp, y, x: jnp.log(0.01 + jnp.exp(y)) - x * 0.001),
    "division": (0.01, 0.02, lambda jax, jnp, y, x: (y + x) / (1.0 + 0.01 * y * y)),
    "root": (0.01, 0.02, lambda jax, jnp, y, x: jnp.sqrt(y * y + x)),
    "cheap": (-0.1, 0.1, lambda jax, jnp, y, x: jnp.maximum(x - y * 0.999, -0.75) - 0.1),
    "cosine": (0.001, 0.02, lambda jax, jnp, y, x: y * 0.98 + x * jnp.cos(y) * y),
}
"""For each mix, the range (low, high) of the argument x, and the link: the next value of a chain
from its last value y and x."""

CHAINS = (
    (20, "forward", 1_000_000),
    (100, "forward", 10),
    (1000, "forward", 1024),
    (20, "vmapped gradient", 100_000),
    (100, "gradient", 4097),
    (300, "gradient", 1024),
    (100, "gradient", 1),
    (100, "jvp", 1024),
    (20, "Hessian-vector product", 1024),
)


def transformed(jax: Any, jnp: Any, how: str, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An elementwise function of arrays, transformed as `how` says."""
    total = lambda x: jnp.sum(f(x))
    derivative = f
    if how == "forward":
        return f
    if how == "gradient":
        return jax.grad(total)
    if how == "jvp":
        return lambda x: jax.jvp(f, (x,), (x,))
    if how == "Hessian-vector product":
        return lambda x: jax.jvp(jax.grad(total), (x,), (x,))[1]
    for _ in range({"vmapped gradient": 1, "Hessian diagonal": 2, "third derivative": 3}[how]):
        derivative = jax.grad(derivative)
    return jax.vmap(derivative)


def measured(jax: Any, jnp: Any, made: Made) -> Iterator[dict[str, float]]:
    """Yields CPU seconds of compiling, then seconds of a warm run in several turns."""
    f, args = made
    warm_stages(jax, jnp)
    spent, compiled = compiling(jax, f, args)
    yield {"compile": spent}
    for _ in range(scaled(CALLED, 1)):
        yield {"run": per_call(lambda: compiled(*args), budget=0.05, batches=4)}


def program(name: str, make: Callable[[Any, Any], Made]) -> None:
    """Registers the row of a program."""
    enter(Row(GROUP, name, lambda jax, jnp: measured(jax, jnp, make(jax, jnp)),
              repeats=REPEATS))


def linked(mix: str, length: int, how: str, size: int) -> None:
    """Registers the row of a chain of one mix."""

    def make(jax: Any, jnp: Any) -> Made:
        low, high, link = LINKS[mix]

        def run(x: Any) -> Any:
            y = x
            for _ in range(scaled(length, min(length, 5))):
                y = link(jax, jnp, y, x)
            return y

        x = uniform(jnp, size) * (size ** 0.5 * (high - low) / 2) + (high + low) / 2
        return transformed(jax, jnp, how, run), (x,)

    program(f"{mix}, {length} times, {how}, {size} numbers", make)


for _mix in LINKS:
    for _length, _how, _size in CHAINS:
        linked(_mix, _length, _how, _size)
for _mix in ("polynomial", "softplus", "division"):
    linked(_mix, 20, "Hessian diagonal", 4097)
for _mix in ("polynomial", "waves"):
    linked(_mix, 1000, "gradient", 1024)
linked("polynomial", 20, "Hessian diagonal", 100_000)


# ------------------------------------------------------------------------- integrators, optimisers


def lorenz(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    """The slope of Lorenz's equations."""
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z


def apart(steps: int) -> Callable[..., Any]:
    """Runge-Kutta steps of Lorenz's equations, with each coordinate in an array of its own."""

    def moved(s: Any, k: Any, h: float) -> Any:
        return tuple(a + h * b for a, b in zip(s, k, strict=True))

    def run(*s: Any) -> Any:
        for _ in range(scaled(steps, 1)):
            k1 = lorenz(*s)
            k2 = lorenz(*moved(s, k1, 0.005))
            k3 = lorenz(*moved(s, k2, 0.005))
            k4 = lorenz(*moved(s, k3, 0.01))
            s = tuple(a + 0.01 / 6 * (b + 2 * c + 2 * d + e)
                      for a, b, c, d, e in zip(s, k1, k2, k3, k4, strict=True))
        return s

    return run


def integrated(steps: int, size: int, how: str, kind: str) -> None:
    """Registers the row of an unrolled integrator: of stacked coordinates, of coordinates apart, or
    of coupled waves."""

    def make(jax: Any, jnp: Any) -> Made:
        def stacked(s: Any) -> Any:
            return runge_kutta(lambda s: jnp.stack(lorenz(*s)), s, scaled(steps, 1))

        def ring(s: Any) -> Any:
            slope = lambda s: jnp.sin(s) * jnp.roll(s, 1, axis=0) - s * jnp.roll(s, -1, axis=0)
            return runge_kutta(slope, s, scaled(steps, 1))

        of_three = kind == "coordinates apart"
        run = apart(steps) if of_three else stacked if kind == "stacked" else ring
        points = uniform(jnp, 3, size)
        args = tuple(points) if of_three else (points,)
        if how == "gradient":
            total = lambda *s: sum(jnp.sum(x) for x in run(*s))
            return jax.grad(total, tuple(range(len(args)))), args
        return run, args

    program(f"Runge-Kutta, {steps} steps, {kind}, {how}, {size} points", make)


for _arguments in (
    (4, 4096, "forward", "stacked"), (4, 10, "forward", "stacked"), (4, 100, "gradient", "stacked"),
    (4, 1, "gradient", "coordinates apart"), (4, 100, "gradient", "coordinates apart"),
    (4, 4096, "forward", "coordinates apart"), (30, 1000, "forward", "coordinates apart"),
    (4, 4096, "forward", "waves"), (4, 10, "forward", "waves"), (2, 100, "gradient", "waves"),
):
    integrated(*_arguments)


def moving(name: str, size: int, force: Callable[[Any, Any], Any]) -> None:
    """Registers the row of forty leapfrog steps."""

    def make(jax: Any, jnp: Any) -> Made:
        def run(q: Any, p: Any) -> Any:
            for _ in range(scaled(40, 2)):
                p = p + 0.05 * force(jnp, q)
                q = q + 0.1 * p
                p = p + 0.05 * force(jnp, q)
            return q, p

        return run, (uniform(jnp, size), uniform(jnp, size, seed=1))

    program(f"leapfrog, 40 steps, {name}, {size} numbers", make)


moving("springs in a ring", 5000,
       lambda jnp, q: 0.1 * (jnp.roll(q, 1) - 2 * q + jnp.roll(q, -1)) - q)
moving("pendulums", 5000, lambda jnp, q: -jnp.sin(q))


def heat(jax: Any, jnp: Any) -> Made:
    """The gradient of thirty steps of the heat equation."""

    def run(u: Any) -> Any:
        for _ in range(scaled(30, 2)):
            u = u + 0.1 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))
        return jnp.sum(u * u)

    return jax.grad(run), (uniform(jnp, 2000),)


program("heat equation, 30 steps, gradient, 2000 numbers", heat)


def horner(jax: Any, jnp: Any) -> Made:
    """The third derivative of a polynomial of 15 terms."""

    def value(x: Any) -> Any:
        y = 0.1
        for i in range(15):
            y = y * x + 0.1 * i
        return y

    return transformed(jax, jnp, "third derivative", value), (uniform(jnp, 10_000),)


program("Horner's scheme of 15 terms, third derivative, 10000 numbers", horner)


def adam(size: int) -> None:
    """Registers the row of fifteen steps of Adam on a quadratic."""

    def make(jax: Any, jnp: Any) -> Made:
        def run(p: Any, target: Any) -> Any:
            m = v = jnp.zeros_like(p)
            for t in range(1, scaled(15, 2) + 1):
                g = jax.grad(lambda p: jnp.sum((p - target) ** 2 * 0.5))(p)
                m = 0.9 * m + 0.1 * g
                v = 0.99 * v + 0.01 * g * g
                p = p - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-8)
            return p

        return run, (uniform(jnp, size), uniform(jnp, size, seed=1))

    program(f"Adam, 15 steps of a quadratic, {size} numbers", make)


for _size in (1000, 100_000):
    adam(_size)


def nested(size: int) -> None:
    """Registers the row of a jitted function in a jitted, unrolled loop."""

    def make(jax: Any, jnp: Any) -> Made:
        turn = jax.jit(lambda x: x * jnp.cos(x) + 0.1 * x * x)

        def run(x: Any) -> Any:
            for _ in range(scaled(30, 2)):
                x = turn(x)
            return x

        return run, (uniform(jnp, size),)

    program(f"jit of jit, 30 times, {size} numbers", make)


for _size in (8, 1000):
    nested(_size)


def unrolled_scan(jax: Any, jnp: Any) -> Made:
    """A scan that is unrolled by eight turns."""
    turn = lambda c, _: (jnp.sin(c) * 0.9 + 0.1, c * 2.0)
    return (lambda x: jax.lax.scan(turn, x, None, length=64, unroll=8)), (uniform(jnp, 10),)


program("scan with unroll=8 of a sine, 10 numbers", unrolled_scan)

# ------------------------------------------------------------------------------- residual networks


def root_of_variance(jnp: Any, x: Any, axis: int) -> Any:
    """Standard deviations."""
    return jnp.sqrt(jnp.var(x, axis, keepdims=True) + 1e-5)


def centred(jnp: Any, x: Any) -> Any:
    """Layer norm whose mean and variance share the centred values."""
    c = x - jnp.mean(x, -1, keepdims=True)
    return c / jnp.sqrt(jnp.mean(c * c, -1, keepdims=True) + 1e-5)


NORMS: dict[str, Callable[[Any, Any], Any]] = {
    "layer norm": centred,
    "layer norm by variance": lambda jnp, x: (
        (x - jnp.mean(x, -1, keepdims=True)) / root_of_variance(jnp, x, -1)),
    "batch norm": lambda jnp, x: (x - jnp.mean(x, 0)) / root_of_variance(jnp, x, 0),
    "root mean square": lambda jnp, x: (
        x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)),
    "length": lambda jnp, x: x / (jnp.sqrt(jnp.sum(x * x, -1, keepdims=True)) + 1e-3),
}


def residual(norm: str) -> None:
    """Registers the row of the gradient of twelve blocks x + tanh(norm(x) @ up) @ down."""

    def make(jax: Any, jnp: Any) -> Made:
        def loss(params: Any, x: Any) -> Any:
            for up, down in params:
                x = x + jnp.tanh(NORMS[norm](jnp, x) @ up) @ down
            return jnp.mean(x * x)

        params = [(uniform(jnp, 64, 64, seed=2 * i), uniform(jnp, 64, 64, seed=2 * i + 1))
                  for i in range(scaled(12, 2))]
        return jax.value_and_grad(loss), (params, uniform(jnp, 128, 64, seed=99))

    program(f"residual network of 12 blocks, {norm}, gradient", make)


for _norm in NORMS:
    residual(_norm)


def mixed(length: int, how: str) -> None:
    """Registers the row of a chain of mixed elementwise operations on 1,024 numbers."""
    program(f"{length} mixed operations, {how}, 1024 numbers", lambda jax, jnp: (
        transformed(jax, jnp, how, chain(jnp, scaled(length, 50), 1)), (uniform(jnp, 1024),)))


mixed(1000, "forward")
mixed(1000, "gradient")
mixed(100_000, "forward")


# --------------------------------------------------------------------------------------- the pass


@row("placing fences in a chain of 100,000 operations, an operation", repeats=REPEATS)
def placing(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """Yields CPU seconds of the fence pass per operation."""
    if jax.__name__ != "xfront":
        raise NotImplementedError("the pass is xfront's own")
    from lowering.cpu.fences import fence_pass
    from xfront_ir import dtypes, ops
    from xfront_ir.builder import Builder
    from xfront_ir.types import tensor

    length = scaled(100_000, 1000)
    b = Builder("chain")
    x = b.param(tensor((1024,), dtypes.f32))
    for k in range(length):
        x = b.emit((ops.floor, ops.neg, ops.tanh, ops.sin)[k % 4], x)
    fn = b.close([x])
    gc.disable()                                # as while modules are built
    for _ in range(scaled(CALLED, 1)):
        start = time.process_time()
        fence_pass(fn)
        yield {"": (time.process_time() - start) / length}
    gc.enable()
