"""A look inside one training step: its IR, its StableHLO, what XLA made of it, and what it costs.

Run it: `python examples/inspect_program.py`, or with `--full` to see every line.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import xfront as jax
import xfront.numpy as jnp


def loss(params: dict[str, Any], x: Any, y: Any) -> Any:
    """Mean squared error of a layer of tanh units."""
    return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)


def train_step(params: dict[str, Any], x: Any, y: Any) -> tuple[dict[str, Any], Any]:
    """One step down the gradient; gives the new parameters and the loss before."""
    value, slopes = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value


def arguments() -> tuple[dict[str, Any], Any, Any]:
    """A layer from 16 to 4 and a batch of 32."""
    w, x, y = (
        jax.random.normal(key, shape)
        for key, shape in zip(
            jax.random.split(jax.random.key(0), 3), [(16, 4), (32, 16), (32, 4)], strict=True
        )
    )
    return {"w": w, "b": jnp.zeros(4)}, x, y


def show(title: str, text: str, lines: int | None) -> None:
    """Prints a text under its title, or its first lines."""
    rows = text.strip().splitlines()
    print(f"\n== {title} ({len(rows)} lines)\n")
    print("\n".join(rows[:lines]))
    if lines is not None and len(rows) > lines:
        print(f"... {len(rows) - lines} more; --full shows them")


def op_counts(hlo: str) -> Counter[str]:
    """How often each HLO operation occurs: the name before the first parenthesis after `=`."""
    counts: Counter[str] = Counter()
    for row in hlo.splitlines():
        name, equals, rest = row.strip().partition(" = ")
        if equals and name.removeprefix("ROOT ").startswith("%"):
            operation = rest.split("(")[0].split()
            counts.update(operation[-1:])
    return counts


def main(full: bool = False) -> None:
    """Goes through the stages of one step, from Python to the device."""
    lines = None if full else 20
    args = arguments()

    show("IR: what tracing the step gives", str(jax.make_ir(train_step)(*args)), lines)

    lowered = jax.jit(train_step).lower(*args)
    show("StableHLO: what the lowering gives to XLA", lowered.as_text(), lines)

    compiled = lowered.compile()
    optimised = compiled.as_text()
    optimised = optimised[optimised.index("ENTRY") :]
    show("HLO: what XLA made of it (the entry; fusions stand before it)", optimised, lines)
    print("\noperations:", ", ".join(f"{n} {op}" for op, n in op_counts(optimised).most_common(8)))

    costs = compiled.cost_analysis()
    print("\n== Costs, by XLA's estimate\n")
    for name in ("flops", "transcendentals", "bytes accessed"):
        print(f"{name:>16}: {costs.get(name, 0.0):12,.0f}")
    memory = compiled.memory_analysis()
    if memory is not None:
        print(f"{'arguments':>16}: {memory.argument_size_in_bytes:12,} bytes")
        print(f"{'temporaries':>16}: {memory.temp_size_in_bytes:12,} bytes")

    params, value = compiled(*args)
    after = loss(params, *args[1:])
    print(f"\nOne step takes the loss from {float(value):.4f} to {float(after):.4f}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="show every line")
    main(parser.parse_args().full)
