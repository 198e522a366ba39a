"""A network learns to read handwritten digits.

1,797 scans of 8x8 pixels, four fifths to learn from and one fifth held out; a perceptron with two
hidden layers, its gradient by `value_and_grad`, Adam written out, one compiled step. Ends with what
it takes for what. Run it: `python examples/digits.py`.
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import xfront as jax
import xfront.numpy as jnp

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
SIZES = (64, 128, 64, 10)
BATCH = 128
SHADES = " .:-=+*#%@"

Params = list[dict[str, Any]]


class Digits(NamedTuple):
    """Scans as rows of 64 numbers in [0, 1], and the digit that each shows."""

    images: np.ndarray
    labels: np.ndarray


class Adam(NamedTuple):
    """What Adam remembers: steps taken, running means of slopes and of their squares."""

    count: Any
    mean: Params
    square: Params


def load(seed: int = 0) -> tuple[Digits, Digits]:
    """The scans in a random order, divided into those to learn from and those held out."""
    with gzip.open(DATA, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int32)
    table = table[np.random.default_rng(seed).permutation(len(table))]
    digits = Digits((table[:, :-1] / 16.0).astype(np.float32), table[:, -1])
    held_out = len(table) // 5
    return (
        Digits(digits.images[held_out:], digits.labels[held_out:]),
        Digits(digits.images[:held_out], digits.labels[:held_out]),
    )


def init(key: Any) -> Params:
    """Random weights of the size that keeps the signal's, and biases of zero."""
    layers = []
    for n, m in zip(SIZES[:-1], SIZES[1:], strict=True):
        key, own = jax.random.split(key)
        w = jax.random.normal(own, (n, m)) * jnp.sqrt(2.0 / n)
        layers.append({"w": w, "b": jnp.zeros(m)})
    return layers


def logits(params: Params, images: Any) -> Any:
    """How much each image looks like each digit."""
    x = images
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params: Params, images: Any, labels: Any) -> Any:
    """The mean surprise at the right digit, in nats."""
    scores = jax.nn.log_softmax(logits(params, images))
    return -jnp.mean(jnp.sum(scores * jax.nn.one_hot(labels, 10), axis=-1))


def adam(params: Params, slopes: Params, state: Adam, rate: float) -> tuple[Params, Adam]:
    """One step of Adam (Kingma and Ba, 2015), its bias correction included."""
    count = state.count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, slopes)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state.square, slopes)
    scale = jnp.sqrt(1.0 - 0.999**count) / (1.0 - 0.9**count)
    params = jax.tree.map(
        lambda p, m, v: p - rate * scale * m / (jnp.sqrt(v) + 1e-8), params, mean, square
    )
    return params, Adam(count, mean, square)


@jax.jit
def step(params: Params, state: Adam, images: Any, labels: Any) -> tuple[Params, Adam, Any]:
    """Learns from one batch; gives the loss before."""
    value, slopes = jax.value_and_grad(loss)(params, images, labels)
    params, state = adam(params, slopes, state, rate=2e-3)
    return params, state, value


@jax.jit
def read(params: Params, images: Any) -> Any:
    """The digit that each image looks like most."""
    return jnp.argmax(logits(params, images), axis=-1)


def train(digits: Digits, test: Digits, epochs: int = 40, seed: int = 0) -> Params:
    """The weights after `epochs` rounds through the scans, telling on the way how it goes."""
    params = init(jax.random.key(seed))
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = Adam(jnp.zeros(()), zeros, zeros)
    order = np.random.default_rng(seed)
    for epoch in range(1, epochs + 1):
        rows = order.permutation(len(digits.labels))
        losses = []
        for start in range(0, len(rows) - BATCH + 1, BATCH):
            batch = rows[start : start + BATCH]
            params, state, value = step(params, state, digits.images[batch], digits.labels[batch])
            losses.append(value)
        if epoch == 1 or epoch % 5 == 0:
            mean = float(np.mean([float(v) for v in losses]))
            print(f"epoch {epoch:3d}   loss {mean:.4f}   held out {accuracy(params, test):6.1%}")
    return params


def accuracy(params: Params, digits: Digits) -> float:
    """The part of the scans that is read as what it shows."""
    return float(np.mean(np.asarray(read(params, digits.images)) == digits.labels))


def draw(image: np.ndarray) -> list[str]:
    """The lines of an image, two characters a pixel."""
    shades = np.minimum(image.reshape(8, 8) * len(SHADES), len(SHADES) - 1).astype(int)
    return ["".join(SHADES[shade] * 2 for shade in row) for row in shades]


def confusion(read_as: np.ndarray, labels: np.ndarray) -> str:
    """A table of how often each digit was read as each."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, read_as), 1)
    lines = ["     read as", "      " + "".join(f"{digit:4d}" for digit in range(10))]
    for digit, row in enumerate(counts):
        lines.append(f"  {digit}  |" + "".join(f"{n:4d}" if n else "   ." for n in row))
    return "\n".join(lines)


def main(epochs: int = 40) -> float:
    """Trains, shows what was learned, and gives the accuracy on the held-out scans."""
    digits, test = load()
    print(f"{len(digits.labels)} scans to learn from, {len(test.labels)} held out")
    start = time.perf_counter()
    params = train(digits, test, epochs)
    reached = accuracy(params, test)
    seconds = time.perf_counter() - start
    read_as = np.asarray(read(params, test.images))
    print(f"\nreads {reached:.1%} of the held-out scans after {seconds:.1f} s\n")
    print(confusion(read_as, test.labels))
    wrong = np.flatnonzero(read_as != test.labels)[:4]
    if len(wrong):
        print("\nmisread:")
        print("   ".join(f"{test.labels[i]} read as {read_as[i]}".ljust(16) for i in wrong))
        for lines in zip(*(draw(test.images[i]) for i in wrong), strict=True):
            print("   ".join(lines))
    return reached


if __name__ == "__main__":
    main()
