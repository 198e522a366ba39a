"""Programs with unrolled layers and steps: CPU seconds of compiling, and the time of a warm run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import models
from benchmarks.harness import compiling, per_call, row, scaled, warm_stages
from benchmarks.models import chain, transformer_step, uniform

CALLED = 5
"""The number of turns in which a side calls a program."""


def compiled_and_run(
    jax: Any, jnp: Any, f: Callable[..., Any], args: tuple[Any, ...]
) -> Iterator[dict[str, float]]:
    """Yields CPU seconds of compiling, then seconds of a warm run in several turns."""
    warm_stages(jax, jnp)
    spent, compiled = compiling(jax, f, args)
    yield {"compile": spent}
    for _ in range(scaled(CALLED, 1)):
        yield {"run": per_call(lambda: compiled(*args))}


def forward_and_gradient(
    jax: Any, jnp: Any, loss: Callable[..., Any], args: tuple[Any, ...]
) -> Iterator[dict[str, float]]:
    """The same for a loss, and for its value with the gradient."""
    for name, f in (("forward", loss), ("gradient", jax.value_and_grad(loss))):
        for found in compiled_and_run(jax, jnp, f, args):
            yield {f"{name}, {what}": seconds for what, seconds in found.items()}


def transformer(name: str, norm: Callable[..., Any]) -> None:
    """Registers the row of a transformer's training step: width 128, four heads, two sequences of
    64 tokens."""

    @row(f"transformer of 12 layers, training step{name}", repeats=2)
    def run(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
        step, args = transformer_step(jax, jnp, scaled(12, 2), 128, 2, 64, norm)
        return compiled_and_run(jax, jnp, step, args)


transformer("", models.norm)
transformer(", norm written out", models.norm_written_out)


@row("LSTM of 20 steps", repeats=2)
def lstm(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """An LSTM of 128 units, with a batch of 32."""
    width, batch = 128, 32

    def loss(p: Any, xs: Any) -> Any:
        h = c = jnp.zeros((batch, width))
        for x in xs:
            parts = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, axis=-1)
            i, f, o = (jax.nn.sigmoid(part) for part in parts[:3])
            c = f * c + i * jnp.tanh(parts[3])
            h = o * jnp.tanh(c)
        return jnp.mean(h * h)

    params = {
        "x": uniform(jnp, width, 4 * width),
        "h": uniform(jnp, width, 4 * width, seed=1),
        "b": jnp.zeros(4 * width),
    }
    xs = [uniform(jnp, batch, width, seed=i) for i in range(scaled(20, 3))]
    return forward_and_gradient(jax, jnp, loss, (params, xs))


def residual(name: str, norm: Callable[..., Any]) -> None:
    """Registers the row of blocks x + tanh(norm(x) @ up) @ down, with width 128 and batch 256."""

    @row(f"residual MLP of 24 blocks{name}", repeats=2)
    def run(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
        def loss(params: Any, x: Any) -> Any:
            for up, down in params:
                x = x + jnp.tanh(norm(jax, jnp, x) @ up) @ down
            return jnp.mean(x * x)

        params = [
            (uniform(jnp, 128, 128, seed=2 * i), uniform(jnp, 128, 128, seed=2 * i + 1))
            for i in range(scaled(24, 3))
        ]
        return forward_and_gradient(jax, jnp, loss, (params, uniform(jnp, 256, 128, seed=99)))


residual("", models.norm)
residual(", norm written out", models.norm_written_out)


def runge_kutta(slope: Callable[[Any], Any], s: Any, steps: int) -> Any:
    """The state after steps of 0.01 of the classical Runge-Kutta method of fourth order."""
    for _ in range(steps):
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s


@row("Runge-Kutta, four steps of Lorenz's equations", repeats=2)
def lorenz(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """Lorenz's equations from 4,096 points."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    steps = scaled(4, 1)
    return compiled_and_run(
        jax, jnp, lambda s: runge_kutta(slope, s, steps), (uniform(jnp, 3, 4096),))


@row("Runge-Kutta, four steps of Lorenz's equations, coordinates apart", repeats=2)
def lorenz_apart(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """The same, but the state is a tuple of three arrays, which are stacked only at the end."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z

    def moved(s: Any, k: Any, h: float) -> Any:
        return jax.tree_util.tree_map(lambda s, k: s + h * k, s, k)

    def run(points: Any) -> Any:
        s = tuple(points)
        for _ in range(scaled(4, 1)):
            k1 = slope(s)
            k2 = slope(moved(s, k1, 0.005))
            k3 = slope(moved(s, k2, 0.005))
            k4 = slope(moved(s, k3, 0.01))
            s = jax.tree_util.tree_map(
                lambda s, a, b, c, d: s + 0.01 / 6 * (a + 2 * b + 2 * c + d), s, k1, k2, k3, k4)
        return jnp.stack(s)

    return compiled_and_run(jax, jnp, run, (uniform(jnp, 3, 4096),))


@row("Runge-Kutta, four steps of coupled waves", repeats=2)
def waves(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """A ring of three coupled waves from 4,096 points; most of the time goes into the sine."""

    def slope(s: Any) -> Any:
        return jnp.sin(s) * jnp.roll(s, 1, axis=0) - s * jnp.roll(s, -1, axis=0)

    steps = scaled(4, 1)
    return compiled_and_run(
        jax, jnp, lambda s: runge_kutta(slope, s, steps), (uniform(jnp, 3, 4096),))


@row("chain of 1,000 operations", repeats=2)
def thousand(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """A chain of 1,000 elementwise operations on 1,024 numbers."""
    run = chain(jnp, scaled(1000, 100), 1)
    return forward_and_gradient(jax, jnp, lambda x: jnp.sum(run(x)), (uniform(jnp, 1024),))


@row("residual convolutions, 15 blocks", repeats=2)
def convolutions(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
    """Blocks x + conv(relu(conv(norm(x)))) of 16 channels of 16 x 16, with a batch of 8."""

    def conv(x: Any, k: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def loss(params: Any, x: Any) -> Any:
        for first, second in params:
            x = x + conv(jax.nn.relu(conv(models.norm(jax, jnp, x), first)), second)
        return jnp.mean(x * x)

    params = [
        (uniform(jnp, 3, 3, 16, 16, seed=2 * i), uniform(jnp, 3, 3, 16, 16, seed=2 * i + 1))
        for i in range(scaled(15, 2))
    ]
    return forward_and_gradient(jax, jnp, loss, (params, uniform(jnp, 8, 16, 16, 16)))
