"""A small convolutional network reads handwritten digits.

The scans of `digits.py`, of 8x8 pixels: two convolutions, each followed by the largest of every 2x2
pixels (`reduce_window`), and one dense layer. Learning sees each scan moved by up to a pixel, drawn
inside the compiled step. Fewer than two in a hundred held-out scans are misread.
Run it: `python examples/convnet.py`.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
from digits import Adam, Digits, Params, adam, load

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

CHANNELS = (1, 16, 40)
BATCH = 64


def init(key: Any) -> Params:
    """Kernels of 3x3 and a dense layer, of the size that keeps the signal's."""
    layers, inputs = [], 2 * 2 * CHANNELS[-1]
    shapes = [*[(3, 3, n, m) for n, m in itertools.pairwise(CHANNELS)], (inputs, 10)]
    for shape in shapes:
        key, own = jax.random.split(key)
        size = np.sqrt(2.0 / np.prod(shape[:-1]))
        layers.append({"w": size * jax.random.normal(own, shape), "b": jnp.zeros(shape[-1])})
    return layers


def largest(x: Any) -> Any:
    """The largest of every 2x2 pixels: (batch, height, width, channels) with half the sides."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def logits(params: Params, images: Any) -> Any:
    """How much each image, a row of 64 pixels, looks like each digit."""
    x = images.reshape(-1, 8, 8, 1)
    for layer in params[:-1]:
        x = lax.conv_general_dilated(x, layer["w"], (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = largest(jax.nn.relu(x + layer["b"]))
    return x.reshape(x.shape[0], -1) @ params[-1]["w"] + params[-1]["b"]


def loss(params: Params, images: Any, labels: Any) -> Any:
    """The mean surprise at the right digit, in nats."""
    scores = jax.nn.log_softmax(logits(params, images))
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def moved(image: Any, key: Any) -> Any:
    """The image moved by a pixel in some direction now and then, zeros coming in."""
    corner = 1 + jnp.round(0.4 * jax.random.truncated_normal(key, -3.0, 3.0, (2,))).astype(int)
    return lax.dynamic_slice(jnp.pad(image.reshape(8, 8), 1), corner, (8, 8)).reshape(64)


@jax.jit
def epoch(
    params: Params, state: Adam, digits: Digits, key: Any, rate: Any
) -> tuple[Params, Adam, Any]:
    """Learns once from all scans, in random order; gives the mean loss. One program."""
    to_order, to_moves = jax.random.split(key)
    n = len(digits.labels) // BATCH * BATCH
    order = jax.random.permutation(to_order, len(digits.labels))[:n].reshape(-1, BATCH)

    def step(carry: tuple[Params, Adam], batch: tuple[Any, Any]) -> tuple[Any, Any]:
        params, state = carry
        rows, key = batch
        images = jax.vmap(moved)(digits.images[rows], jax.random.split(key, BATCH))
        value, slopes = jax.value_and_grad(loss)(params, images, digits.labels[rows])
        return adam(params, slopes, state, rate), value

    keys = jax.random.split(to_moves, len(order))
    (params, state), losses = lax.scan(step, (params, state), (order, keys))
    return params, state, jnp.mean(losses)


@jax.jit
def accuracy(params: Params, digits: Digits) -> Any:
    """The part of the scans that is read as what it shows."""
    return jnp.mean(jnp.argmax(logits(params, digits.images), axis=-1) == digits.labels)


def main(epochs: int = 32) -> float:
    """Trains, telling how it goes, and gives the accuracy on the held-out scans."""
    begun = time.perf_counter()
    digits, test = (jax.tree.map(jnp.asarray, part) for part in load())
    params = init(jax.random.key(0))
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = Adam(jnp.zeros(()), zeros, zeros)
    for i in range(1, epochs + 1):
        rate = 4e-3 * (1.0 - (i - 1) / epochs)
        params, state, value = epoch(params, state, digits, jax.random.key(i), rate)
        if i == 1 or i % 4 == 0:
            reached = float(accuracy(params, test))
            print(f"epoch {i:2d}   loss {float(value):.4f}   held out {reached:.1%}")
    reached = float(accuracy(params, test))
    print(f"reads {reached:.1%} of the held-out scans after {time.perf_counter() - begun:.1f} s")
    assert reached >= 0.98, "more than two in a hundred are misread"
    return reached


if __name__ == "__main__":
    main()
