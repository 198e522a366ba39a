"""A network learns on eight devices what it learns on one.

Eight virtual CPU devices stand for accelerators, in a mesh of 4 x 2. Examples are divided over its
first axis (data parallel) and the features inside each layer over its second (tensor parallel):
that is said once, where arrays are put, and the compiler does the rest. The step is written as for
one device. Run it: `python examples/many_devices.py`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront.sharding import AxisType, Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

DEVICES = 8
STEPS = 60
WIDTH = 32

Params = dict[str, Any]

SPECS = {"in": P(None, "model"), "in_bias": P("model"), "out": P("model", None), "out_bias": P()}
"""How each parameter lies: the hidden layer's features over the axis `model`."""


def mesh() -> Mesh:
    """Four groups of two devices."""
    return jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def init(seed: int = 0) -> dict[str, np.ndarray]:
    """Two layers: 8 numbers in, 1 out."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal
    return {"in": draw((8, WIDTH), np.float32) / 3, "in_bias": np.zeros(WIDTH, np.float32),
            "out": draw((WIDTH, 1), np.float32) / 6, "out_bias": np.zeros(1, np.float32)}


def examples(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Points, and a smooth function of them."""
    x = np.random.default_rng(seed).standard_normal((256, 8), np.float32)
    return x, np.sin(x[:, :1]) * x[:, 1:2]


def loss(params: Params, x: Any, y: Any) -> Any:
    """The mean square of what the network misses."""
    hidden = jnp.tanh(x @ params["in"] + params["in_bias"])
    return jnp.mean((hidden @ params["out"] + params["out_bias"] - y) ** 2)


@jax.jit
def step(params: Params, x: Any, y: Any) -> tuple[Params, Any]:
    """A step down the slope; no word of devices."""
    missed, slopes = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, s: p - 0.2 * s, params, slopes), missed


def learn(params: Params, x: Any, y: Any) -> tuple[Params, list[float]]:
    """The parameters after all steps, and what was missed at each."""
    missed = []
    for _ in range(STEPS):
        params, now = step(params, x, y)
        missed.append(float(now))
    return params, missed


def spread(params: Params, over: Mesh) -> Params:
    """The parameters on the mesh."""
    return {name: jax.device_put(p, NamedSharding(over, SPECS[name]))
            for name, p in params.items()}


def collectives(params: Params, x: Any, y: Any) -> dict[str, int]:
    """How often the compiled step exchanges values between devices, by kind."""
    text = step.lower(params, x, y).compile().as_text()  # type: ignore[attr-defined]
    kinds = re.findall(r" (all-reduce|all-gather|all-to-all|collective-permute)(?:-start)?\(", text)
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def main() -> None:
    """Learns on one device and on eight, and compares."""
    jax.config.update("jax_num_cpu_devices", DEVICES)
    x, y = examples()
    alone, missed_alone = learn(init(), x, y)

    over = mesh()
    params = spread(init(), over)
    rows = NamedSharding(over, P("data"))
    x, y = jax.device_put((x, y), rows)
    together, missed = learn(params, x, y)

    apart = max(float(np.abs(np.asarray(together[k]) - np.asarray(alone[k])).max()) for k in alone)
    print(f"{len(jax.devices())} devices; the hidden layer lies so:")
    jax.debug.visualize_array_sharding(together["in"])
    print("exchanges in a step:", collectives(together, x, y))
    print(f"missed at first {missed[0]:.4f}, at last {missed[-1]:.4f} "
          f"(alone {missed_alone[-1]:.4f}); parameters differ by at most {apart:.1e}")


if __name__ == "__main__":
    main()
