"""Programs on several devices that several threads begin. Processes with eight CPU devices run
`launching_checks.py` and the scripts here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.device_checks import ROOT, errors_of

from .launching_checks import CHECKS


@pytest.fixture(scope="module")
def errors() -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    return errors_of("tests.xfront.running.launching_checks", CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_launching(name: str, errors: dict[str, str | None]) -> None:
    assert errors[name] is None, errors[name]


AT_WORK = """
import threading
import numpy as np
import xfront, xfront.numpy as jnp
from xfront import lax
from xfront.sharding import Mesh, NamedSharding, PartitionSpec as P
from xfront.running import launching

xfront.config.update("jax_num_cpu_devices", 8)
mesh = Mesh(np.array(xfront.devices()), ("i",))
x = xfront.device_put(np.ones((8, 64), np.float32), NamedSharding(mesh, P("i")))
f, g = (xfront.jit(xfront.shard_map(h, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
        for h in (lambda a: a / lax.psum(a, "i"), lambda a: a - lax.pmax(a, "i")))
f(x), g(x), f(x), g(x)
launching.LONGEST = 1e9                         # no thread waits until then

def other():
    for _ in range(50):
        y = g(x)
    y.block_until_ready()

threads = [threading.Thread(target=other) for _ in range(3)]
for k in range(300):
    y = f(x)
    if k in (20, 21, 150):
        threads.pop().start()
assert float(y[0, 0]) == 0.125
"""


def test_a_second_thread_begins_while_the_first_is_at_work() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", AT_WORK], cwd=ROOT,
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
