"""Pacing of programs on virtual devices: the hook that C++ calls, beside one that stands there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import xfront
import xfront.numpy as jnp
from xfront import binding
from xfront.running import pacing


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    found = binding.post_hook_state
    before = found.get_global()
    monkeypatch.setattr(pacing, "_set", None)
    monkeypatch.setattr(pacing, "_begun", 0)
    monkeypatch.setattr(pacing, "_kept", None)
    found.set_global(None)
    yield found
    found.set_global(before)


def test_it_is_set_once(state: Any) -> None:
    for _ in range(2):
        pacing._hook()
        assert state.get_global() is pacing._called


def test_a_hook_that_stands_there_is_still_called(state: Any) -> None:
    seen: list[Any] = []
    state.set_global(lambda function, args, kwargs, result: seen.append(result))
    double = xfront.jit(lambda x: x * 2)
    x = jnp.ones(3)
    double(x)
    for _ in range(2):                           # the second time it is ours that stands there
        pacing._hook()
    seen.clear()
    pacing._begun = 0
    result = double(x)
    assert len(seen) == 1 and seen[0] is result
    assert pacing._begun == 1


@pytest.fixture
def waited(state: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Results for which Python has waited while programs are paced."""
    found: list[Any] = []

    def noted(result: Any) -> bool:
        found.append(result)
        return not result.is_deleted()

    monkeypatch.setattr(pacing, "_ended", noted)
    monkeypatch.setattr(pacing, "_is_divided", lambda x: True)
    pacing._hook()
    return found


def test_it_waits_for_the_program_that_began_a_fixed_number_of_programs_before(waited: Any) -> None:
    double, x = xfront.jit(lambda x: x * 2), jnp.ones(3)
    double(x)
    waited.clear()
    pacing._begun, pacing._kept = pacing.EVERY, None
    made = [double(x) for _ in range(3 * pacing.EVERY + 1)]
    expected = [0, 0, pacing.EVERY, 2 * pacing.EVERY]     # the first is of those nobody counted
    assert len(waited) == 4 and all(w is made[i] for w, i in zip(waited, expected, strict=True))


def test_it_waits_at_once_where_no_result_is_small_or_the_kept_one_is_gone(waited: Any) -> None:
    pair = xfront.jit(lambda x: (x * 2, x.sum()))
    alone = xfront.jit(lambda x: x * 2)
    x = jnp.ones(pacing.LARGEST // 4 + 1)
    pair(x)
    alone(x)
    for f, of_result in ((pair, lambda r: r[1]), (alone, lambda r: r)):
        pacing._begun, pacing._kept = pacing.EVERY, None
        waited.clear()
        made = [f(x) for _ in range(2 * pacing.EVERY + 1)]
        expected = (0, 0, pacing.EVERY) if f is pair else (0, pacing.EVERY, 2 * pacing.EVERY)
        assert [id(w) for w in waited] == [id(of_result(made[i])) for i in expected]
    made = [pair(x)[1] for _ in range(pacing.EVERY)]
    kept: Any = pacing._kept
    assert any(kept is m for m in made)
    kept.delete()
    waited.clear()
    made = [pair(x)[1] for _ in range(pacing.EVERY)]
    assert len(waited) == 2 and waited[0].is_deleted() and any(waited[1] is m for m in made)


ON_DEVICES = """
import numpy as np, xfront, xfront.numpy as jnp
from xfront.sharding import NamedSharding, PartitionSpec as P
from xfront import binding
from lowering import compat
compat.COLLECTIVES_NEED_THREADS = True
xfront.config.update("jax_num_cpu_devices", 4)
mesh = xfront.make_mesh((4,), ("x",), axis_types=(xfront.sharding.AxisType.Auto,))
x = xfront.device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, P("x")))

def of_parts(f):
    return xfront.jit(xfront.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x")))

hook = binding.post_hook_state.get_global
for f in (jnp.sin, xfront.jit(lambda x: x + 1), lambda x: x + x):
    f(x)
    print(hook() is None)
EXCHANGE(x)
print(hook() is None)
"""


@pytest.mark.parametrize("exchange", [
    "xfront.jit(lambda x: x.sum())",
    "xfront.jit(lambda x: x, out_shardings=NamedSharding(mesh, P()))",
    "of_parts(lambda x: xfront.lax.ppermute(x, 'x', [(0, 1)]))",
    "of_parts(lambda x: xfront.lax.all_to_all(x, 'x', 1, 1))"])
def test_programs_are_counted_once_one_of_them_exchanges_values(exchange: str) -> None:
    env = {**os.environ, "NPROC": "2"}
    text = ON_DEVICES.replace("EXCHANGE", exchange)
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.stdout.split() == ["True", "True", "True", "False"], done.stdout + done.stderr


BETWEEN = """
for alone in (0, pacing.EVERY - 1):
    for i in range(40 * pacing.EVERY):
        if i % pacing.EVERY == alone:
            y = g(y)
        else:
            z = f(x)
    z.block_until_ready()
print("ended")
"""


def test_programs_on_one_device_between_others_are_not_waited_for() -> None:
    """Whichever place of the count they stand at, programs on several devices do not stop."""
    env = {**os.environ, "NPROC": "2"}
    text = ON_DEVICES.partition("def of_parts")[0] + """
from xfront.running import pacing
f = xfront.jit(lambda x: x * 0.5 + x.sum())
g = xfront.jit(lambda y: y + 1)
y = g(jnp.ones(3))
f(x)
""" + BETWEEN
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.stdout.split() == ["ended"], done.stdout + done.stderr
