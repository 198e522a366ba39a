"""Two processes of two devices each train one network on data that neither of them has whole.

On a cluster the processes are started by its launcher, and `initialize()` needs no arguments. Here
this program starts itself twice.
"""

import subprocess
import sys

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront.distributed.clusters import free_port
from xfront.sharding import Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

PROCESSES, DEVICES = 2, 2


def loss(params, x, y):
    hidden = jnp.tanh(x @ params["in"] + params["bias"])
    return jnp.mean((hidden @ params["out"] - y) ** 2)


def train(index: int) -> float:
    """Train as one of the processes; the last loss, which is the same in each."""
    mesh = Mesh(np.array(jax.devices()), ("data",))
    everywhere, divided = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))

    r = np.random.default_rng(0)                     # the same weights in every process
    params = {"in": 2 * r.normal(size=(2, 32)), "bias": r.normal(size=32),
              "out": r.normal(size=(32, 1)) / 8}
    params = jax.device_put(params, everywhere)
    r = np.random.default_rng(1 + index)             # its own half of the data
    x = r.uniform(-1, 1, (64, 2)).astype(np.float32)
    y = np.sin(3 * x[:, :1]) * x[:, 1:]
    x, y = (jax.make_array_from_process_local_data(divided, part) for part in (x, y))

    @jax.jit
    def step(params):
        value, slope = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, slope), value

    losses = []
    for _ in range(200):
        params, value = step(params)
        losses.append(value)
    first, last = float(losses[0]), float(losses[-1])
    print(f"process {index}: the loss of {x.shape[0]} points went from {first:.4f} to {last:.4f}",
          flush=True)
    return last


def main() -> None:
    if len(sys.argv) == 1:
        command = [sys.executable, __file__, f"localhost:{free_port()}"]
        started = [subprocess.Popen([*command, str(i)]) for i in range(PROCESSES)]
        assert [p.wait(120) for p in started] == [0] * PROCESSES
        return
    address, index = sys.argv[1], int(sys.argv[2])
    jax.config.update("jax_num_cpu_devices", DEVICES)
    jax.distributed.initialize(address, PROCESSES, index)
    assert train(index) < 0.05


if __name__ == "__main__":
    main()
