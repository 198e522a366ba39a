"""A gated recurrent unit learns parity: whether a row of bits holds an odd number of ones.

The running parity of 24 random bits: each answer depends on every bit before it, so a network that
does not carry one bit of state without loss is right half of the time. The network is a `scan`, its
gradient runs back through it, and the training loop is a `scan` too: one program learns. The answer
is known: all bits of rows that were never shown, and of rows five times as long.
Run it: `python examples/rnn.py`.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

WIDTH, LENGTH, BATCH = 16, 24, 64
STEPS, ROUNDS = 40, 5


class Adam(NamedTuple):
    """Steps taken, running means of slopes and of their squares."""

    count: Any
    mean: Any
    square: Any


def init(key: Any) -> dict[str, Any]:
    """Weights of the gates and of the candidate, from state and input; and of the answer."""
    gates, candidate, answer = jax.random.split(key, 3)
    return {
        "gates": jax.random.normal(gates, (WIDTH + 1, 2 * WIDTH)) / jnp.sqrt(WIDTH),
        "gates_bias": jnp.zeros(2 * WIDTH),
        "candidate": jax.random.normal(candidate, (WIDTH + 1, WIDTH)) / jnp.sqrt(WIDTH),
        "candidate_bias": jnp.zeros(WIDTH),
        "answer": jax.random.normal(answer, (WIDTH,)) / jnp.sqrt(WIDTH),
        "answer_bias": jnp.zeros(()),
    }


def cell(params: Any, state: Any, bit: Any) -> Any:
    """The next state (Cho et al., 2014): how much is forgotten, and how much is replaced."""
    gates = jnp.append(state, bit) @ params["gates"] + params["gates_bias"]
    reset, update = jnp.split(jax.nn.sigmoid(gates), 2)
    new = jnp.tanh(jnp.append(reset * state, bit) @ params["candidate"] + params["candidate_bias"])
    return update * state + (1.0 - update) * new


def read(params: Any, bits: Any) -> Any:
    """For each bit of one row, how much more likely odd than even, as a logarithm of odds."""

    def step(state: Any, bit: Any) -> tuple[Any, Any]:
        state = cell(params, state, bit)
        return state, state @ params["answer"] + params["answer_bias"]

    return lax.scan(step, jnp.zeros(WIDTH), 2.0 * bits - 1.0)[1]


def parity(bits: Any) -> Any:
    """1 where the bits so far hold an odd number of ones."""
    return jnp.cumsum(bits, axis=-1) % 2


def loss(params: Any, bits: Any) -> Any:
    """The mean surprise at the parities of a batch, in nats."""
    scores = jax.vmap(read, (None, 0))(params, bits)
    return jnp.mean(jax.nn.softplus(jnp.where(parity(bits) == 1, -scores, scores)))


def accuracy(params: Any, bits: Any) -> Any:
    """The part of all parities of a batch that is told right."""
    scores = jax.vmap(read, (None, 0))(params, bits)
    return jnp.mean((scores > 0) == (parity(bits) == 1))


def random_bits(key: Any, rows: int, length: int) -> Any:
    """Rows of fair coins, as floats."""
    return jax.random.bernoulli(key, 0.5, (rows, length)).astype(float)


def learn(carry: tuple[Any, Adam], key: Any, rate: float = 0.01) -> tuple[tuple[Any, Adam], Any]:
    """One step of Adam (Kingma and Ba, 2015) on a fresh batch."""
    params, adam = carry
    value, slopes = jax.value_and_grad(loss)(params, random_bits(key, BATCH, LENGTH))
    count = adam.count + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, adam.mean, slopes)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, adam.square, slopes)
    scale = rate * jnp.sqrt(1.0 - 0.999**count) / (1.0 - 0.9**count)
    params = jax.tree.map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, mean, square
    )
    return (params, Adam(count, mean, square)), value


@jax.jit
def train(carry: tuple[Any, Adam], key: Any) -> tuple[tuple[Any, Adam], Any]:
    """Many steps in one program; gives the last loss."""
    carry, losses = lax.scan(learn, carry, jax.random.split(key, STEPS))
    return carry, losses[-1]


def main() -> dict[str, float]:
    """Trains, and gives the accuracy on unseen rows, of the length it learned and of longer."""
    start = time.perf_counter()
    params = init(jax.random.key(0))
    zeros = jax.tree.map(jnp.zeros_like, params)
    carry = params, Adam(0.0, zeros, zeros)
    unseen = random_bits(jax.random.key(1), 500, LENGTH)
    longer = random_bits(jax.random.key(2), 200, 5 * LENGTH)
    measure = jax.jit(accuracy)
    right = 0.0
    for round_ in range(1, ROUNDS + 1):
        carry, value = train(carry, jax.random.fold_in(jax.random.key(3), round_))
        right = float(measure(carry[0], unseen))
        print(f"step {round_ * STEPS:5d}   loss {float(value):.4f}   unseen rows {right:7.2%}")
    found = {"unseen": right, "longer": float(measure(carry[0], longer))}
    print(f"rows of {5 * LENGTH} bits: {found['longer']:.2%} right, after "
          f"{time.perf_counter() - start:.1f} s")
    assert found["unseen"] > 0.99, "parity was not learned"
    return found


if __name__ == "__main__":
    main()
