"""One training step of a small network, written for eight devices in three ways with `shard_map`.

Data-parallel: each device has a part of the examples. Tensor-parallel: each has some hidden units.
Pipeline: each has one of the layers, and examples move from device to device. All give the losses
of one device.
"""

from __future__ import annotations

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import P, lax

DEVICES, LAYERS, BATCH, WIDTH, STEPS, RATE = 8, 8, 32, 16, 5, 0.1

jax.config.update("jax_num_cpu_devices", DEVICES)
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))


def layer(w, x):
    return jnp.tanh(x @ w) + x


def squared(y, target):
    return ((y - target) ** 2).mean()


# --- one device -----------------------------------------------------------------------------

def alone(weights, x, target):
    return squared(lax.scan(lambda x, w: (layer(w, x), None), x, weights)[0], target)


# --- each device has examples ---------------------------------------------------------------

@jax.shard_map(mesh=mesh, in_specs=(P(), P("i"), P("i")), out_specs=P())
def by_examples(weights, x, target):
    return lax.pmean(alone(weights, x, target), "i")


# --- each device has hidden units -----------------------------------------------------------

@jax.shard_map(mesh=mesh, in_specs=(P(None, None, "i"), P(), P()), out_specs=P())
def by_units(weights, x, target):
    def narrow(x, w):
        part = jnp.tanh(x @ w)                       # this device's columns
        at = lax.axis_index("i") * part.shape[1]
        own = lax.dynamic_update_slice(jnp.zeros(x.shape), part, (0, at))
        return lax.psum(own, "i") + x, None          # the others' columns are zero here

    return squared(lax.scan(narrow, x, weights)[0], target)


# --- each device has a layer ----------------------------------------------------------------

@jax.shard_map(mesh=mesh, in_specs=(P("i"), P(), P()), out_specs=P())
def by_layers(weights, x, target):
    me, last = lax.axis_index("i"), LAYERS - 1
    batches = x.reshape(DEVICES, -1, WIDTH)          # they follow one another through the layers

    def turn(carry, t):
        arrived, done = carry
        here = jnp.where(me == 0, batches[jnp.clip(t, 0, DEVICES - 1)], arrived)
        made = layer(weights[0], here)
        at = t - last                                # which of them leaves the last layer now
        stored = done.at[jnp.clip(at, 0, DEVICES - 1)].set(made)
        done = jnp.where((me == last) & (at >= 0), stored, done)
        return (lax.ppermute(made, "i", [(k, k + 1) for k in range(last)]), done), None

    start = jnp.zeros_like(batches[0]), jnp.zeros_like(batches)
    (_, done), _ = lax.scan(turn, start, jnp.arange(DEVICES + last))
    y = lax.psum(jnp.where(me == last, done, 0.0), "i").reshape(x.shape)
    return squared(y, target)


def train(loss) -> list[float]:
    """The losses of a few steps."""
    rng = np.random.default_rng(0)
    weights = jnp.asarray(rng.normal(size=(LAYERS, WIDTH, WIDTH)).astype(np.float32) / 8)
    x = jnp.asarray(rng.normal(size=(BATCH, WIDTH)).astype(np.float32))
    target = jnp.roll(x, 1, axis=1)

    @jax.jit
    def step(weights):
        value, slope = jax.value_and_grad(loss)(weights, x, target)
        return weights - RATE * slope, value

    losses = []
    for _ in range(STEPS):
        weights, value = step(weights)
        losses.append(float(value))
    return losses


if __name__ == "__main__":
    for name, loss in (("one device", alone), ("by examples", by_examples),
                       ("by hidden units", by_units), ("by layers", by_layers)):
        print(f"{name:16}", " ".join(f"{x:.6f}" for x in train(loss)))
