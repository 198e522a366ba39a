"""What `test_processes.py` runs in several processes of two CPU devices: each `check_*` is a test.

`python -m tests.xfront.distributed.checks PORT INDEX COUNT` joins the others, runs them all in the
same order, and prints a row of JSON for each.
"""

from __future__ import annotations

import functools
import itertools
import os
import pickle
import signal
import sys
import time
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import report
from xfront import lax
from xfront.distributed import watch
from xfront.experimental import io_callback
from xfront.experimental import multihost_utils as together
from xfront.sharding import Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

DEVICES = 2


def devices() -> np.ndarray:
    return np.array(xfront.devices())


def line() -> Mesh:
    return Mesh(devices(), ("x",))


def on(*spec: Any) -> NamedSharding:
    return NamedSharding(line(), P(*spec))


def spread(value: np.ndarray, *spec: Any) -> Any:
    return xfront.make_array_from_callback(value.shape, on(*spec), lambda index: value[index])


def whole(x: Any) -> np.ndarray:
    return together.process_allgather(x, tiled=True)


def refused(error: type[Exception], words: str, call: Any) -> None:
    try:
        call()
    except error as e:
        assert words in str(e), str(e)
    else:
        raise AssertionError(f"{error.__name__} expected")


# --- devices ------------------------------------------------------------------------------------

def check_each_process_knows_all_devices() -> None:
    count, here = xfront.process_count(), xfront.process_index()
    assert xfront.distributed.is_initialized()
    assert count == int(sys.argv[3]) and here == int(sys.argv[2])
    assert xfront.device_count() == DEVICES * count == len(xfront.devices())
    assert xfront.local_device_count() == DEVICES == len(xfront.local_devices())
    assert [d.process_index for d in xfront.devices()] == sorted([*range(count)] * DEVICES)
    assert {d.process_index for d in xfront.local_devices()} == {here}
    assert xfront.local_devices(process_index=count - 1) == xfront.devices()[-DEVICES:]
    refused(RuntimeError, "once", lambda: xfront.distributed.initialize("localhost:1", 1, 0))


def check_programs_of_one_process_run_alone() -> None:
    if xfront.process_index() == 0:                       # the others do not take part
        x = jnp.arange(4.0)
        assert x.is_fully_addressable and float(xfront.jit(jnp.sum)(x)) == 6.0


# --- arrays -------------------------------------------------------------------------------------

def check_arrays_of_several_processes() -> None:
    n = xfront.device_count()
    value = np.arange(4.0 * n, dtype=np.float32)
    x = spread(value, "x")
    assert not x.is_fully_addressable and not x.is_fully_replicated
    assert repr(x) == str(x) == f"{x}" == f"Array(shape=({4 * n},), dtype=float32)"
    assert len(x.addressable_shards) == DEVICES and len(x.global_shards) == n
    for shard in x.addressable_shards:
        assert np.array_equal(shard.data, value[shard.index])
    assert sum(s.data is None for s in x.global_shards) == n - DEVICES
    refused(RuntimeError, "process_allgather", lambda: np.asarray(x))
    refused(RuntimeError, "process_allgather", lambda: pickle.dumps(x))
    assert np.array_equal(whole(x), value)
    total = jnp.sum(x)
    assert total.is_fully_replicated and float(total) == value.sum()
    assert float((x * 2 + 1)[5]) == 11.0
    assert np.array_equal(np.asarray(xfront.device_put(x, on())), value)
    turned = xfront.device_put(spread(value.reshape(n, 4), "x"), on(None, None))
    assert np.array_equal(np.asarray(turned), value.reshape(n, 4))
    again = xfront.device_put(turned, on("x"))
    assert again.sharding == on("x") and np.array_equal(whole(again), value.reshape(n, 4))


def check_arrays_of_what_each_process_has() -> None:
    here, count = xfront.process_index(), xfront.process_count()
    make = xfront.make_array_from_process_local_data
    mine = np.arange(4.0, dtype=np.float32) + 10 * here
    x = make(on("x"), mine)
    assert x.shape == (4 * count,)
    want = np.concatenate([np.arange(4.0) + 10 * i for i in range(count)])
    assert np.array_equal(whole(x), want)
    same = make(on("x"), want)                            # as long as what follows: a part
    assert same.shape == (4 * count * count,)
    cut = make(on("x"), want, (4 * count,))               # as long as the whole: the whole
    assert np.array_equal(whole(cut), want)
    assert np.array_equal(whole(make(on("x"), mine, (4 * count,))), want)
    everywhere = make(on(), want)
    assert everywhere.is_fully_replicated and np.array_equal(np.asarray(everywhere), want)
    across = NamedSharding(Mesh(devices().reshape(count, DEVICES).T, ("a", "b")), P("a", "b"))
    block = np.full((DEVICES, 3), here)
    assert np.array_equal(whole(make(across, block)), np.repeat(np.arange(count), 3)[None].repeat(
        DEVICES, axis=0))
    refused(ValueError, "either global or process shape",
            lambda: make(on("x"), mine, (12 * count,)))
    refused(ValueError, "2 of", lambda: make(on("x"), np.zeros(3)))
    parts = [xfront.device_put(np.full(2, d.id), d) for d in xfront.local_devices()]
    ids = xfront.make_array_from_single_device_arrays((2 * len(devices()),), on("x"), parts)
    assert np.array_equal(whole(ids), np.repeat([d.id for d in xfront.devices()], 2))


def check_values_for_all_are_the_same_everywhere() -> None:
    here = xfront.process_index()
    value = np.arange(8.0 * len(devices()))
    x = xfront.device_put({"a": value, "b": np.float32(2)}, on())
    assert float(x["a"].sum() * x["b"]) == 2 * value.sum()
    refused(AssertionError, "of [1", lambda: xfront.device_put(value + (here > 0), on("x")))
    other = next(d for d in xfront.devices() if d.process_index != here)
    refused(ValueError, "drives none", lambda: xfront.device_put(value, other))


# --- programs -----------------------------------------------------------------------------------

def check_collectives_of_parts() -> None:
    n = xfront.device_count()
    value = np.arange(2.0 * n, dtype=np.float32).reshape(n, 2)

    def body(v: Any) -> Any:
        right = [(i, (i + 1) % n) for i in range(n)]
        return (lax.psum(v, "x"), lax.ppermute(v, "x", right), lax.all_gather(v, "x", tiled=True),
                lax.axis_index("x")[None] + jnp.zeros(1, int))

    run = xfront.jit(xfront.shard_map(body, mesh=line(), in_specs=P("x"), check_vma=False,
                                      out_specs=(P(), P("x"), P(), P("x"))))
    total, moved, gathered, where = run(spread(value, "x"))
    assert np.array_equal(np.asarray(total)[0], value.sum(0))
    assert np.array_equal(whole(moved), np.roll(value, 1, axis=0))
    assert np.array_equal(np.asarray(gathered), value)
    assert np.array_equal(whole(where), np.arange(n))


def _loss(params: Any, x: Any, y: Any) -> Any:
    hidden = jnp.tanh(x @ params["in"] + params["bias"])
    return jnp.mean((hidden @ params["out"] - y) ** 2)


def _step(params: Any, x: Any, y: Any) -> tuple[Any, Any]:
    loss, slope = xfront.value_and_grad(_loss)(params, x, y)
    return xfront.tree.map(lambda p, g: p - 0.1 * g, params, slope), loss


@functools.cache
def _alone() -> tuple[Any, Any, np.ndarray]:
    """The model, its data, and the losses of ten steps of one process on one device."""
    r = np.random.default_rng(0)
    params = {"in": r.normal(size=(8, 16)), "bias": np.zeros(16), "out": r.normal(size=(16, 1))}
    params = xfront.tree.map(lambda p: p.astype(np.float32), params)
    x = r.normal(size=(32, 8)).astype(np.float32)
    data = (x, np.sin(x.sum(1, keepdims=True)))
    step, now, losses = xfront.jit(_step), params, []
    for _ in range(10):
        now, loss = step(now, *data)
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
    return params, data, np.array([*losses, float(np.sum(now["out"]))])


def _train(params: Any, data: Any, step: Any) -> np.ndarray:
    losses = []
    for _ in range(10):
        params, loss = step(params, *data)
        losses.append(float(loss))
    return np.array([*losses, float(jnp.sum(params["out"]))])


def _near(found: np.ndarray, want: np.ndarray) -> None:
    np.testing.assert_allclose(found, want, rtol=3e-5)


def check_training_on_parts_of_the_batch() -> None:
    params, data, want = _alone()
    rows = len(data[0]) // xfront.process_count()
    mine = slice(rows * xfront.process_index(), rows * (xfront.process_index() + 1))
    parts = [xfront.make_array_from_process_local_data(on("x"), d[mine]) for d in data]
    _near(_train(xfront.device_put(params, on()), parts, xfront.jit(_step)), want)


def check_training_with_divided_weights() -> None:
    params, data, want = _alone()
    split = {"in": on(None, "x"), "bias": on("x"), "out": on("x", None)}
    held = xfront.tree.map(xfront.device_put, params, split)
    step = xfront.jit(_step, out_shardings=(split, on()), donate_argnums=0)
    _near(_train(held, [spread(d, "x") for d in data], step), want)


def check_training_by_shard_map() -> None:
    params, data, want = _alone()

    def step(p: Any, x: Any, y: Any) -> tuple[Any, Any]:
        def loss(p: Any) -> Any:
            return lax.pmean(_loss(p, x, y), "x")

        value, slope = xfront.value_and_grad(loss)(p)
        return xfront.tree.map(lambda p, g: p - 0.1 * g, p, slope), value

    mapped = xfront.jit(xfront.shard_map(step, mesh=line(), in_specs=(P(), P("x"), P("x")),
                                         out_specs=(P(), P())))
    _near(_train(xfront.device_put(params, on()), [spread(d, "x") for d in data], mapped), want)


# --- values from process to process ------------------------------------------------------------

def check_gathering() -> None:
    here, count = xfront.process_index(), xfront.process_count()
    gather = together.process_allgather
    found = gather({"a": np.arange(3) + here, "b": jnp.float32(here), "c": bool(here)})
    assert np.array_equal(found["a"], np.arange(3) + np.arange(count)[:, None])
    assert found["b"].dtype == np.float32 and np.array_equal(found["b"], np.arange(count))
    assert np.array_equal(found["c"], np.arange(count) > 0)
    tiled = gather(np.full((1, 2), here, np.int8), tiled=True)
    assert tiled.dtype == np.int8 and np.array_equal(tiled[:, 0], np.arange(count))
    assert gather(np.zeros((0, 2), np.float32)).shape == (count, 0, 2)
    assert np.array_equal(gather(here, tiled=True), np.arange(count))
    bf16 = gather(jnp.full(2, here, jnp.bfloat16))
    assert bf16.dtype == jnp.bfloat16 and np.array_equal(bf16[:, 0].astype(int), np.arange(count))
    refused(ValueError, "tiled=True", lambda: gather(spread(np.zeros(len(devices())), "x")))
    refused(TypeError, "key", lambda: gather(xfront.random.key(0)))
    refused(TypeError, "traced", lambda: xfront.jit(gather)(1.0))


def check_broadcasting() -> None:
    here = xfront.process_index()
    found = together.broadcast_one_to_all(
        {"a": np.arange(3) + here, "b": -0.0 if here == 0 else 5.0, "c": np.array([here == 0])})
    assert np.array_equal(found["a"], np.arange(3)) and found["c"].dtype == bool and found["c"][0]
    assert np.signbit(found["b"])
    last = together.broadcast_one_to_all(np.array([np.nan, here], np.float32), is_source=here == 1)
    assert np.isnan(last[0]) and last[1] == 1


def check_meeting() -> None:
    together.sync_global_devices("here")
    here = xfront.process_index()
    refused(AssertionError, "mismatch", lambda: together.sync_global_devices(f"{here}"))
    together.assert_equal({"a": np.array([1, np.nan], np.float32)})
    refused(AssertionError, "they differ. Expected", lambda: together.assert_equal(
        np.arange(3) + here, "they differ"))
    assert not together.reached_preemption_sync_point(3)
    refused(RuntimeError, "jax_enable_recoverability",
            lambda: together.live_devices(xfront.devices()).__enter__())


def check_local_and_global_arrays() -> None:
    here, count = xfront.process_index(), xfront.process_count()
    tree = (np.arange(4.0) + 10 * here, {"w": np.ones((2, 3))})
    made = together.host_local_array_to_global_array(tree, line(), (P("x"), P()))
    assert made[0].shape == (4 * count,) and made[0].sharding == on("x")
    assert made[1]["w"].is_fully_replicated
    back = together.global_array_to_host_local_array(made, line(), (P("x"), P()))
    assert back[0].is_fully_addressable and np.array_equal(back[0], tree[0])
    assert back[0].sharding.mesh == line().local_mesh
    assert np.array_equal(back[1]["w"], tree[1]["w"])
    rows = together.global_array_to_host_local_array(made[0], line(), P())
    assert rows.shape == (4 * count,)


def check_pmap_goes_over_all_processes() -> None:
    """Each process passes the elements of its own devices; collectives go over those of all."""
    n, here = 2 * xfront.process_count(), xfront.process_index()
    value = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    mine = value[2 * here : 2 * here + 2]

    def summed(x: Any) -> Any:
        return lax.psum(x, "i") + 100 * lax.axis_index("i")

    wanted = value.sum(0) + 100 * np.arange(2 * here, 2 * here + 2)[:, None]
    f: Any = xfront.pmap(summed, axis_name="i")
    for given in (mine, jnp.asarray(mine), f(mine) * 0 + mine):
        made = f(given)
        assert made.is_fully_addressable and len(made.addressable_shards) == 2
        np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(xfront.pmap(
        summed, axis_name="i", in_axes=1, out_axes=1, devices=list(devices()))(mine.T), wanted.T)
    np.testing.assert_array_equal(
        xfront.pmap(lambda k, x, y: k * lax.psum(x, "i") + y, axis_name="i", out_axes=None,
                    in_axes=(None, 0, None), static_broadcasted_argnums=0)(2, mine, 1.0),
        2 * value.sum(0) + 1)
    taken = xfront.pmap(lambda x: lax.pmean(x, "i"), axis_name="i", donate_argnums=0)
    x = taken(mine)
    np.testing.assert_array_equal(taken(x), np.broadcast_to(value.mean(0), (2, 3)))
    assert x.is_deleted()
    own = xfront.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=xfront.local_devices())
    np.testing.assert_array_equal(own(mine), np.broadcast_to(mine.sum(0), (2, 3)))
    refused(ValueError, "of its own devices, of which this one has 2", lambda: f(mine[:1]))
    refused(NotImplementedError, "shard_map", lambda: f.lower(mine))


CHECKS = {name: value for name, value in globals().items() if name.startswith("check_")}


def lose_process_1() -> None:
    """Compute until process 1 is killed."""
    watch.GRACE = 5.0
    x = spread(np.arange(8.0 * len(devices()), dtype=np.float32), "x")
    step = xfront.jit(lambda v: v - v.mean())
    step(x).block_until_ready()
    if xfront.process_index() == 1:
        print("killed at", time.time(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        x = step(x)
        x.block_until_ready()


def fail_in_process_1(where: str) -> None:
    """A loop of exchanges in which process 1 raises: in the loop, or in a host function, which is
    called by the step or by a scan of it."""
    watch.GRACE = 5.0
    here, called = xfront.process_index(), [0]

    def host(v: Any) -> np.ndarray:
        called[0] += 1
        if here == 1 and called[0] > 40:
            fail()
        return np.asarray(v)

    def fail() -> None:
        print("failed at", time.time(), flush=True)
        raise ValueError("an error of process 1 alone")

    def step(v: Any) -> Any:
        if where != "loop":
            v = io_callback(host, xfront.ShapeDtypeStruct(v.shape, v.dtype), v)
        return v - lax.psum(v, "x") / 1e3

    def steps(v: Any) -> Any:
        return lax.scan(lambda v, _: (step(v), None), v, None, length=30)[0]

    run = xfront.jit(xfront.shard_map(steps if where == "scan" else step, mesh=line(),
                                      in_specs=P("x"), out_specs=P("x"), check_vma=False))
    x = spread(np.arange(8.0 * len(devices()), dtype=np.float32), "x")
    until = time.monotonic() + 60
    for i in itertools.count():
        assert time.monotonic() < until
        x = run(x)
        if i % 7 == 0:
            x.block_until_ready()
        if where == "loop" and here == 1 and i > 40:
            fail()


def leave_in_process(leaver: int, alone: bool) -> None:
    """A loop of exchanges that one process leaves in the midst, as if its data had ended: while the
    other one waits for it, or before that one begins the next exchange (`alone`)."""
    watch.GRACE = 5.0
    here = xfront.process_index()
    x = spread(np.arange(8.0 * len(devices()), dtype=np.float32), "x")
    step = xfront.jit(lambda v: v - v.mean())
    for i in range(30):
        if i == 12 and here == leaver:
            time.sleep(0 if alone else 2)            # until the other one waits
            print("left at", time.time(), flush=True)
            sys.exit(0)
        if i == 12 and alone:
            time.sleep(2)                            # until the farewell has come
        x = step(x)
        x.block_until_ready()


def work_alone_after_process_1() -> None:
    """Process 1 leaves; what process 0 still does alone is not disturbed."""
    x = spread(np.arange(8.0 * len(devices()), dtype=np.float32), "x")
    total = float(jnp.sum(x))
    if xfront.process_index() == 0:
        time.sleep(2)
        own = NamedSharding(Mesh(np.array(xfront.local_devices()), ("x",)), P("x"))
        print("alone", total + float(jnp.sum(xfront.device_put(np.ones(4), own))), flush=True)


def outlive_process_1() -> None:
    """Go on with the devices of those that are left."""
    here = xfront.process_index()
    with together.live_devices(xfront.devices()) as live:
        assert live == xfront.devices()
    try:
        with together.live_devices(xfront.devices()) as live:
            if here == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            together.sync_global_devices("a collective that fails")
    except together.ProcessFailureError as e:
        assert {d.process_index for d in e.failed_devices} == {1}
        print("outlived", flush=True)
    with together.live_devices(xfront.devices()) as live:
        assert {d.process_index for d in live} == {0}
        print("alone", float(jnp.sum(xfront.device_put(
            np.ones(4), NamedSharding(Mesh(np.array(live), ("x",)), P("x"))))), flush=True)
    os._exit(0)


def main() -> None:
    port, index, count, *what = sys.argv[1:]
    devices = 1 if what[:1] in (["lose"], ["leave"]) and count == "2" else DEVICES
    xfront.config.update("jax_num_cpu_devices", devices)
    xfront.config.update("jax_enable_recoverability", what == ["outlive"])
    xfront.distributed.initialize(f"localhost:{port}", int(count), int(index),
                                  initialization_timeout=60,
                                  heartbeat_timeout_seconds=4 if what == ["outlive"] else 60)
    if what == ["lose"]:
        lose_process_1()
    elif what[:1] == ["fail"]:
        fail_in_process_1(what[1])
    elif what[:1] == ["leave"]:
        leave_in_process(int(what[1]), what[2] == "alone")
    elif what == ["work alone"]:
        work_alone_after_process_1()
    elif what == ["outlive"]:
        outlive_process_1()
    else:
        report(CHECKS, DEVICES)
        xfront.distributed.shutdown()
        assert not xfront.distributed.is_initialized()


if __name__ == "__main__":
    main()
