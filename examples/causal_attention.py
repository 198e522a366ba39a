"""Attention that sees the past alone learns to repeat what was said three steps ago.

One head of `nn.dot_product_attention(..., is_causal=True)` reads rows of random symbols, each with
the number of its place; at every place it shall name the symbol three places before. As no place
sees a later one, all places of a row are learned from at once, and a symbol that is changed changes
no answer before it. Run it: `python examples/causal_attention.py`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from digits import Adam, adam

import xfront as jax
import xfront.numpy as jnp
from xfront import lax, nn

SYMBOLS, LENGTH, WIDTH, BACK = 8, 24, 32, 3
ROWS, STEPS, RATE = 64, 400, 0.01


def init(key: Any) -> list[dict[str, Any]]:
    """Vectors of symbols and places, and the matrices of the head and of the answer."""
    shapes = {"symbol": (SYMBOLS, WIDTH), "place": (LENGTH, WIDTH), "query": (WIDTH, WIDTH),
              "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH), "answer": (WIDTH, SYMBOLS)}
    keys = jax.random.split(key, len(shapes))
    return [{name: jax.random.normal(k, shape) / WIDTH ** 0.5
             for k, (name, shape) in zip(keys, shapes.items(), strict=True)}]


def answers(params: Any, rows: Any) -> Any:
    """Logits of the symbol at each place: (rows, LENGTH, SYMBOLS)."""
    (p,) = params
    x = p["symbol"][rows] + p["place"]
    query, key, value = (x @ p[name] for name in ("query", "key", "value"))
    heads = nn.dot_product_attention(*(v[:, :, None, :] for v in (query, key, value)),
                                     is_causal=True)
    return heads[:, :, 0, :] @ p["answer"]


def loss(params: Any, rows: Any) -> Any:
    """Mean surprise at the symbols three places before."""
    logits = nn.log_softmax(answers(params, rows)[:, BACK:])
    return -jnp.take_along_axis(logits, rows[:, :-BACK, None], axis=-1).mean()


@functools.partial(jax.jit, static_argnames="steps")
def learned(params: Any, key: Any, steps: int) -> tuple[Any, Any]:
    """Parameters after so many steps, each with rows of its own, and the losses."""
    zeros = jax.tree.map(jnp.zeros_like, params)

    def step(state: Any, key: Any) -> Any:
        params, momenta = state
        rows = jax.random.randint(key, (ROWS, LENGTH), 0, SYMBOLS)
        value, slopes = jax.value_and_grad(loss)(params, rows)
        return adam(params, slopes, momenta, rate=RATE), value

    start = (params, Adam(jnp.float32(0), zeros, zeros))
    (params, _), losses = lax.scan(step, start, jax.random.split(key, steps))
    return params, losses


def main() -> None:
    params, losses = learned(init(jax.random.key(0)), jax.random.key(1), STEPS)
    print(f"loss {losses[0]:.3f} at first, {losses[-1]:.4f} after {STEPS} steps")
    rows = np.asarray(jax.random.randint(jax.random.key(2), (500, LENGTH), 0, SYMBOLS))
    said = np.asarray(answers(params, rows))
    right = (said.argmax(-1)[:, BACK:] == rows[:, :-BACK]).mean()
    print(f"unseen rows: {right:.1%} of the symbols three places before are named")
    changed, half = rows.copy(), LENGTH // 2
    changed[:, half:] = (changed[:, half:] + 1) % SYMBOLS
    moved = np.abs(np.asarray(answers(params, changed)) - said).max((0, 2))
    print("second half of the rows changed: answers of the first half move by "
          f"{moved[:half].max():.1f}, of the second by {moved[half:].max():.1f}")


if __name__ == "__main__":
    main()
