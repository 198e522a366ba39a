"""What `test_launching.py` runs in a process with eight CPU devices: threads that run programs on
all of them at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import report
from xfront import lax
from xfront.running import launching
from xfront.sharding import Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

DEVICES = 8


def example() -> tuple[Any, list[tuple[Callable[[Any], Any], Any]]]:
    """An array with a row on each device; programs that exchange values, with what each gives."""
    mesh = Mesh(np.array(xfront.devices()), ("i",))
    value = np.arange(DEVICES * 16, dtype=np.float32).reshape(DEVICES, 16) / 64
    x = xfront.device_put(value, NamedSharding(mesh, P("i")))

    def mapped(f: Callable[[Any], Any], out: P) -> Any:
        return xfront.jit(xfront.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=out))

    return x, [
        (mapped(lambda a: lax.psum(a, "i"), P()), value.sum(0, keepdims=True)),
        (mapped(lambda a: lax.all_gather(a, "i", tiled=True), P("i")), np.tile(value, (8, 1))),
        (xfront.pmap(lambda a: a - lax.pmean(a, "i"), axis_name="i"), value - value.mean(0)),
        (xfront.jit(lambda a: a.sum()), value.sum()),
        (xfront.jit(lambda a: a * 2), value * 2),
    ]


def run_threads(work: Callable[[int], object], n: int = 4) -> None:
    """Run `work(i)` in so many threads; raise what one of them raised."""
    failures: list[BaseException] = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


def the_first_thread_launches_from_c_plus_plus() -> None:
    """Before another thread has launched anything, as the order of the checks has it."""
    x, programs = example()
    f, wanted = programs[0]
    for _ in range(20):
        np.testing.assert_allclose(f(x), wanted, rtol=1e-6)
    assert launching.is_free()
    run_threads(lambda i: f(x).block_until_ready(), 1)
    assert not launching.is_free()
    np.testing.assert_allclose(f(x), wanted, rtol=1e-6)


def threads_that_launch_at_once() -> None:
    x, programs = example()

    def work(i: int) -> None:
        for k in range(300):
            f, wanted = programs[(i + k) % len(programs)]
            result = f(x)
            if k % 25 == i:
                np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)

    run_threads(work)


def threads_with_operations_that_are_not_jitted() -> None:
    x, programs = example()
    alone = jnp.arange(5.0)

    def work(i: int) -> None:
        for k in range(300):
            result = programs[(i + k) % 3][0](x)
            moved = jnp.sin(x) + x if i % 2 else jnp.cos(alone) * k
            if k % 30 == 0:
                assert all(np.isfinite(np.asarray(y)).all() for y in (moved, result))

    run_threads(work)


CHECKS: dict[str, Callable[[], None]] = {f.__name__: f for f in (
    the_first_thread_launches_from_c_plus_plus, threads_that_launch_at_once,
    threads_with_operations_that_are_not_jitted)}

if __name__ == "__main__":
    report(CHECKS, DEVICES)
