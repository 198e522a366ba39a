"""Arrays and programs on eight virtual CPU devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import once, per_call, row, scaled, warm_stages

LONG = 1.5
"""Seconds of timing a call whose time is that of waking eight threads, which varies."""


def mesh(jax: Any) -> Any:
    """A mesh of 4 x 2 devices; the first row of the process makes them."""
    try:
        jax.config.update("jax_num_cpu_devices", 8)
    except RuntimeError:
        assert len(jax.devices()) == 8, jax.devices()
    return jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))


def divided(jax: Any, shape: tuple[int, ...], *spec: Any) -> Any:
    """An array of ones, sharded by a spec."""
    return jax.device_put(np.ones(shape, np.float32), named(jax, *spec))


def named(jax: Any, *spec: Any) -> Any:
    """The sharding of a spec on the mesh."""
    return jax.sharding.NamedSharding(mesh(jax), jax.sharding.PartitionSpec(*spec))


@row("warm jit call on 8 devices")
def call(jax: Any, jnp: Any) -> float:
    """One is added to an array that is divided over all devices."""
    x = divided(jax, (64, 64), "x", "y")
    f = jax.jit(lambda x: x + 1.0)
    return per_call(lambda: f(x), LONG)


@row("warm jit call on 8 devices, with an all-reduce")
def reduced(jax: Any, jnp: Any) -> float:
    """The sum of an array that is divided over all devices; the call waits for it."""
    x = divided(jax, (64, 64), "x", "y")
    f = jax.jit(lambda x: x.sum())
    return per_call(lambda: f(x).block_until_ready(), LONG)


@row("warm pmap call on 8 devices")
def mapped(jax: Any, jnp: Any) -> dict[str, float]:
    """One is added to a row per device; and the mean over the devices of a dict of four arrays, for
    which the call waits."""
    x = jax.device_put(np.ones((8, 64), np.float32), named(jax, ("x", "y")))
    f = jax.pmap(lambda x: x + 1.0)
    g = jax.pmap(lambda p: {k: jax.lax.pmean(v, "i") for k, v in p.items()}, axis_name="i")
    first, tree = f(x), {k: f(x) for k in "abcd"}    # sharded as pmap needs them
    return {"x + 1": per_call(lambda: f(first)),
            "mean of four": per_call(lambda: jax.block_until_ready(g(tree)))}


@row("shard_map on 8 devices, trace + lower")
def parts(jax: Any, jnp: Any) -> float:
    """The gradient of eight layers, with examples over one axis and features over the other, after
    that of one layer: no imports."""
    specs, over = jax.sharding.PartitionSpec, mesh(jax)
    x = divided(jax, (64, 64), "x")
    layers = [{"a": divided(jax, (64, 128), None, "y"), "b": divided(jax, (128, 64), "y")}
              for _ in range(8)]

    def part(layers: Any, x: Any) -> Any:
        y = x
        for p in layers:
            y = y + jax.lax.psum(jnp.tanh(y @ p["a"]) @ p["b"], "y")
        return jax.lax.pmean(jnp.mean((y - x) ** 2), "x")

    def lowered(layers: Any) -> Any:
        whole = jax.shard_map(part, mesh=over, out_specs=specs(), in_specs=(
            [{"a": specs(None, "y"), "b": specs("y")}] * len(layers), specs("x")))
        return jax.jit(jax.grad(whole)).lower(layers, x)

    lowered(layers[:1])
    return once(lambda: lowered(layers))


@row("eager ops on 8 devices")
def eager(jax: Any, jnp: Any) -> dict[str, float]:
    """Functions called outside of jit."""
    x = divided(jax, (64, 64), "x", "y")
    return {"x + x": per_call(lambda: x + x, LONG), "sin": per_call(lambda: jnp.sin(x), LONG),
            "x.T": per_call(lambda: x.T, LONG)}


@row("device_put over 8 devices")
def put(jax: Any, jnp: Any) -> dict[str, float]:
    """A NumPy array of 16 MiB, divided over the devices or copied to each."""
    n = scaled(2048, 256)
    value = np.ones((n, n), np.float32)
    return {text: per_call(lambda s=s: jax.device_put(value, s).block_until_ready())
            for text, s in (("divided", named(jax, "x", "y")), ("rows", named(jax, ("x", "y"))),
                            ("whole", named(jax)))}


@row("step of a network on 8 devices")
def step(jax: Any, jnp: Any) -> dict[str, float]:
    """The gradient of two layers, with examples over one axis and features over the other."""
    x = divided(jax, (64, 64), "x")
    warm_stages(jax, jnp)
    params = {"a": divided(jax, (64, 128), None, "y"), "b": divided(jax, (128, 64), "y")}

    def loss(params: Any, x: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ params["a"]) @ params["b"] - x) ** 2)

    slope, done = jax.grad(loss), {}
    seconds = {"trace + lower": once(
        lambda: done.update(at=jax.jit(slope).trace(params, x).lower()))}
    compiled = done["at"].compile()
    seconds["run"] = per_call(lambda: jax.block_until_ready(compiled(params, x)))
    return seconds
