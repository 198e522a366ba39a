"""A trained model that leaves the process: exported with its gradient, called where none of its
source is, and trained a little further there.

Run it: `python examples/leave_the_process.py`. It writes `model.bin` to a folder of its own, starts
a second process that reads it, and prints what both compute.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import export

ROWS = 64


def points() -> tuple[Any, Any]:
    """Inputs in [-1, 1] and the values of the function to be learnt."""
    x = jnp.linspace(-1, 1, ROWS)[:, None]
    return x, jnp.sin(3 * x[:, 0])


def train(loss: Any, params: Any, steps: int) -> tuple[Any, float]:
    """Steps of gradient descent; the new parameters and their loss."""
    step = jax.jit(lambda p: jax.tree.map(lambda w, g: w - 0.2 * g, p, jax.grad(loss)(p)))
    for _ in range(steps):
        params = step(params)
    return params, float(loss(params))


def model(params: Any, x: Any) -> Any:
    """A layer of tanh units and a sum of them."""
    return jnp.tanh(x @ params["in"] + params["shift"]) @ params["out"]


def first(path: Path) -> None:
    """Train the model and write it."""
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "in": jax.random.normal(keys[0], (1, 16)),
        "shift": jax.random.normal(keys[1], (16,)),
        "out": jax.random.normal(keys[2], (16,)) / 4,
    }
    x, y = points()
    params, loss = train(lambda p: jnp.mean((model(p, x) - y) ** 2), params, 200)
    exported = export.export(jax.jit(model), platforms=("cpu", "tpu", "cuda"))(params, x)
    path.write_bytes(exported.serialize(vjp_order=1))
    with path.with_suffix(".npz").open("wb") as file:
        np.savez(file, *[np.asarray(v) for v in jax.tree.leaves(params)])
    print(f"written: {exported.fun_name} for {', '.join(exported.platforms)}, loss {loss:.4f}")


def second(path: Path) -> None:
    """Read the program and train its parameters further; `model` above is not used."""
    read = export.deserialize(path.read_bytes())
    leaves = [jnp.asarray(v) for v in np.load(path.with_suffix(".npz")).values()]
    (params, _), _ = jax.tree.unflatten(read.in_tree, [*leaves, None])
    x, y = points()
    loss = lambda p: jnp.mean((read.call(p, x) - y) ** 2)
    before = float(loss(params))
    _, after = train(loss, params, 200)
    print(f"read: {read.fun_name}, loss {before:.4f}, and {after:.4f} after more steps")


def main() -> None:
    """Both processes, one after the other."""
    if len(sys.argv) > 1:
        second(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bin"
        first(path)
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, str(path)], check=True)


if __name__ == "__main__":
    main()
