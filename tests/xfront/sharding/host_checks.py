"""What `test_host_functions.py` runs in processes with two and with eight CPU devices: host
functions of programs on several devices, which fail, or begin other programs."""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.experimental import io_callback
from xfront.running import launching
from xfront.sharding import Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

DEVICES = int(sys.argv[1]) if __name__ == "__main__" else 8


class Unfit(Exception):
    """What host functions here raise."""


def mesh() -> Mesh:
    return Mesh(np.array(xfront.devices()), ("i",))


def rows() -> Any:
    """A row on each device."""
    value = np.arange(DEVICES * 4, dtype=np.float32).reshape(DEVICES, 4)
    return xfront.device_put(value, NamedSharding(mesh(), P("i")))


def alone() -> Any:
    """The same rows on one device."""
    return jnp.asarray(np.asarray(rows()))


def like(x: Any) -> Any:
    return xfront.ShapeDtypeStruct(x.shape, x.dtype)


def pure(f: Callable[..., Any], x: Any) -> Any:
    return xfront.pure_callback(f, like(x), x)


def effect(f: Callable[..., Any], x: Any) -> Any:
    return io_callback(f, like(x), x)


def unread(f: Callable[..., Any], x: Any) -> Any:
    io_callback(f, like(x), x)
    return x


def shown(f: Callable[..., Any], x: Any) -> Any:
    xfront.debug.callback(f, x)
    return x


KINDS = (pure, effect, unread, shown)
"""The ways to call a host function with an array; each gives an array like it."""


def programs(call: Callable[[Any], Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Programs on several devices whose devices exchange values after a host call."""
    yield "jit", xfront.jit(lambda x: call(x * 2).sum(0) + x)
    yield "shard_map", xfront.jit(xfront.shard_map(
        lambda x: lax.psum(call(x), "i"), mesh=mesh(), in_specs=P("i"), out_specs=P(),
        check_vma=False))
    yield "pmap", xfront.pmap(lambda x: lax.psum(call(x), "i"), axis_name="i")


def error_of(run: Callable[[], Any]) -> BaseException:
    """What a call raises, at the call itself."""
    try:
        run()
    except BaseException as e:
        return e
    raise AssertionError("nothing was raised")


def fails(x: Any) -> Any:
    raise Unfit(f"got {np.asarray(x).dtype}")


def check_errors_are_those_of_one_device() -> None:
    x = rows()
    for kind in KINDS:
        wanted = error_of(lambda kind=kind: xfront.effects_barrier() or xfront.jit(
            lambda x: kind(fails, x))(alone()).block_until_ready())
        for name, f in programs(lambda x, kind=kind: kind(fails, x)):
            error = error_of(lambda f=f: f(x))
            assert type(error) is type(wanted), (name, kind, error, wanted)
            assert isinstance(error, Unfit), (name, kind, error)
            assert str(error) == str(wanted), (name, kind, error)
            frames = [f.filename for f in traceback.extract_tb(error.__traceback__)]
            assert frames[1] == __file__, frames     # the caller's line


def check_programs_run_again_after_an_error() -> None:
    bad, x = [True], rows()

    def host(x: Any) -> Any:
        if bad[0]:
            raise Unfit("now")
        return np.asarray(x)

    for kind in KINDS:
        for _, f in programs(lambda x, kind=kind: kind(host, x)):
            bad[0] = False
            wanted = np.asarray(f(x))
            for _ in range(3):
                bad[0] = True
                assert isinstance(error_of(lambda f=f: f(x)), Unfit)
                bad[0] = False
                np.testing.assert_array_equal(f(x), wanted)
    np.testing.assert_array_equal(x + x, 2 * np.asarray(x))


def check_results_that_do_not_fit() -> None:
    def odd(x: Any) -> Any:
        return np.zeros((1, 1), np.float64)

    for kind in (pure, effect):
        wanted = error_of(lambda kind=kind: xfront.jit(lambda x: kind(odd, x))(alone()))
        for name, f in programs(lambda x, kind=kind: kind(odd, x)):
            error = error_of(lambda f=f: f(rows()))
            assert type(error) is type(wanted) and isinstance(error, ValueError), (name, error)
            assert "returned float32[1, 1] as result 0" in str(error), (name, error)


def check_a_host_call_may_name_any_one_device() -> None:
    x, seen = rows(), []

    def host(x: Any) -> Any:
        seen.append(x.shape)
        return x + 1

    for device in (None, xfront.devices()[0], xfront.devices()[-1]):
        place = None if device is None else xfront.sharding.SingleDeviceSharding(device)
        for call in (io_callback, xfront.pure_callback):
            for y in (x, alone()):
                made = xfront.jit(lambda x, call=call, place=place: call(host, like(x), x,
                                                                         sharding=place))(y)
                np.testing.assert_array_equal(made, np.asarray(y) + 1)
    assert seen == [x.shape] * 12
    try:
        io_callback(host, like(x), x, sharding=NamedSharding(mesh(), P("i")))
    except NotImplementedError as e:
        assert "device_put" in str(e)
    else:
        raise AssertionError("a sharding over several devices was taken")


def check_results_of_any_dtype() -> None:
    dtypes = (np.bool_, np.int8, np.uint32, np.complex64, ml_dtypes.bfloat16, np.float16)
    kinds = [xfront.ShapeDtypeStruct((2, n), d) for n, d in enumerate(dtypes)]
    f = xfront.jit(lambda x: (xfront.pure_callback(fails, kinds, x), x.sum()))
    assert isinstance(error_of(lambda: f(rows())), Unfit)


def check_exceptions_that_are_no_errors() -> None:
    def leave(x: Any) -> Any:
        sys.exit(3)

    for _, f in programs(lambda x: pure(leave, x)):
        error = error_of(lambda f=f: f(rows()))
        assert type(error) is SystemExit and error.code == 3, error


def check_loops_that_wait_for_a_host_function_end() -> None:
    def until(wanted: bool) -> Callable[..., Any]:
        truth = xfront.ShapeDtypeStruct((), np.bool_)

        def whole(x: Any) -> Any:
            return lax.while_loop(
                lambda c: xfront.pure_callback(fails, truth, c.sum()) == wanted,
                lambda c: c + x.sum(), x)

        return whole

    for wanted in (False, True):
        mapped = xfront.shard_map(until(wanted), mesh=mesh(), in_specs=P("i"), out_specs=P("i"),
                                  check_vma=False)
        for f in (xfront.jit(until(wanted)), xfront.jit(mapped)):
            assert isinstance(error_of(lambda f=f: f(rows())), Unfit)


def check_no_host_function_is_called_after_one_failed() -> None:
    seen: list[int] = []

    def note(i: Any, _: Any) -> Any:
        seen.append(int(i))
        if len(seen) == 3:
            raise Unfit("third")
        return np.int32(i)

    def f(x: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            made = io_callback(note, xfront.ShapeDtypeStruct((), np.int32), i, carry.sum())
            return carry + made, made

        return lax.scan(step, x, jnp.arange(6))

    assert isinstance(error_of(lambda: xfront.jit(f)(rows())), Unfit)
    assert seen == [0, 1, 2], seen


def check_programs_in_host_functions_are_refused_by_name() -> None:
    x = rows()

    def inner(x: Any) -> Any:
        return x.sum(0)

    compiled = xfront.jit(inner).lower(x).compile()
    begun = (xfront.jit(inner), compiled, lambda x: x + x, lambda x: jnp.sin(x), lambda x: x.T,
             xfront.pmap(lambda x: lax.psum(x, "i"), axis_name="i"))
    for begin in begun:
        for _ in range(2):                           # known to C++ by now
            np.asarray(begin(x))

        def outer(given: Any, begin: Any = begin) -> Any:
            return np.asarray(begin(x)).sum() + given

        for name, f in programs(lambda x, outer=outer: pure(outer, x)):
            error = error_of(lambda f=f: f(x))
            assert isinstance(error, RuntimeError), (name, error)
            assert "runs on several devices, and was called in a host function" in str(error)
    named = error_of(lambda: xfront.jit(outer_of(inner, x))(x))
    assert "inner runs" in str(named) and " of outer_step, which" in str(named), named


def outer_of(inner: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    def outer_step(y: Any) -> Any:
        return pure(lambda v: np.asarray(xfront.jit(inner)(x)) + v, y)

    return outer_step


def check_a_host_function_may_answer_a_refusal() -> None:
    x, wanted = rows(), np.asarray(rows())

    def host(v: Any) -> Any:
        try:
            return np.asarray(x + x)
        except RuntimeError:
            return 3 * np.asarray(v)

    np.testing.assert_array_equal(xfront.jit(lambda x: pure(host, x) - x)(x), 2 * wanted)


def check_programs_on_one_device_run_in_host_functions() -> None:
    x, value = rows(), np.asarray(rows())
    square = xfront.jit(lambda a: a @ a.T)

    def host(v: Any) -> Any:
        y = jnp.sin(jnp.asarray(v)) * 2
        return np.asarray(y + square(jnp.ones((300, 300)))[0, 0])

    for name, f in programs(lambda x: pure(host, x)):
        f(x)
        made = np.asarray(f(x))
        if name == "jit":
            wanted = (np.sin(2 * value) * 2 + 300).sum(0) + value
        else:
            wanted = (np.sin(value) * 2 + 300).sum(0)
        np.testing.assert_allclose(made.reshape(-1, 4)[0], wanted.reshape(-1, 4)[0], rtol=1e-5)


def check_programs_of_one_device_that_begin_one_on_several() -> None:
    x = rows()
    total = xfront.jit(lambda a: a.sum())
    wanted = float(total(x))

    def host(v: Any) -> Any:
        return np.float32(total(x)) + np.asarray(v)

    f = xfront.jit(lambda b: xfront.pure_callback(host, like(b[0, 0]), b[0, 0]))
    big = jnp.zeros((400, 400)).block_until_ready()
    times = xfront.jit(lambda a: a @ a)
    assert float(f(big)) == wanted                   # in this thread, as the argument is there
    for _ in range(5):
        y = big
        for _ in range(20):
            y = times(y)
        try:                                         # in a thread of the runtime, where it is not
            made = float(f(y))
        except RuntimeError as e:
            assert "runs on several devices, and was called in a host function" in str(e), e
        else:
            assert made == wanted
    with suppress(RuntimeError):                     # the same errors, for effects
        xfront.effects_barrier()


def check_threads_that_a_host_function_waits_for() -> None:
    x, found = rows(), []
    total = xfront.jit(lambda a: a.sum())
    wanted = float(total(x))
    launching.PATIENCE = 0.5

    def call() -> None:
        found.append(error_of(lambda: total(x)))

    def joined() -> None:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    def of_pool() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(call).result()

    def while_waiting(wait: Callable[[], None]) -> Any:
        def host(v: Any) -> Any:
            wait()
            return np.asarray(v)

        return xfront.jit(lambda a: pure(host, a))(x)

    for wait in (joined, of_pool):
        found.clear()
        np.testing.assert_array_equal(while_waiting(wait), x)
        assert found and all(isinstance(e, RuntimeError) for e in found), found
        assert "was called in a thread that began during a host function" in str(found[0])
        assert float(total(x)) == wanted


def check_threads_that_a_host_function_leaves_behind() -> None:
    x, made, threads = rows(), [], []
    total = xfront.jit(lambda a: a.sum())
    wanted = float(total(x))

    def host(v: Any) -> Any:
        threads.append(threading.Thread(target=lambda: made.append(float(total(x)))))
        threads[-1].start()
        time.sleep(0.1)                              # busy for itself: the thread is let wait
        return np.asarray(v)

    np.testing.assert_array_equal(xfront.jit(lambda a: pure(host, a))(x), x)
    for thread in threads:
        thread.join()
    assert threads and made == [wanted] * len(threads), made
    assert not launching._running


def check_threads_get_their_own_errors() -> None:
    x, found = rows(), []

    def work(k: int) -> None:
        calls = [0]

        def host(v: Any) -> Any:
            calls[0] += 1
            if calls[0] % 2:
                raise Unfit(f"of thread {k}")
            return np.asarray(v)

        f = xfront.jit(lambda x: pure(host, x * 2).sum(0) + x + k)
        g = xfront.jit(lambda x: (x * k).sum(0))
        for turn in range(10):
            try:
                made = np.asarray(f(x))
            except Unfit as e:
                found.append((e.args == (f"of thread {k}",), turn % 2 == 0))
            else:
                found.append((made.shape == x.shape, turn % 2 == 1))
            np.testing.assert_allclose(g(x), np.asarray(x).sum(0) * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 40 and all(map(all, found)), found


def generated(seed: int) -> None:
    """A chain of sums and host calls, one of which may fail, on all devices as on one."""
    draw = random.Random(seed)
    steps: list[Any] = [draw.choice(("sum", "double", *KINDS)) for _ in range(draw.randint(2, 7))]
    loops = draw.choice((0, 0, 3))
    last = draw.randint(0, 8)                        # the number of the call that fails

    def program(seen: list[Any]) -> Callable[[Any], Any]:
        def host(v: Any) -> Any:
            seen.append(float(np.asarray(v).sum()))
            if len(seen) - 1 == last:
                raise Unfit(f"call {last}")
            return np.asarray(v) / 2

        def chain(x: Any) -> Any:
            for step in steps:
                if step == "sum":
                    x = x + x.sum(0) / 64
                elif step == "double":
                    x = x * 2
                else:
                    x = effect(host, x) if step is pure else step(host, x)
            return x

        if loops:
            return xfront.jit(lambda x: lax.fori_loop(0, loops, lambda _, c: chain(c), x))
        return xfront.jit(chain)

    def outcome(x: Any) -> tuple[Any, list[Any]]:
        seen: list[Any] = []
        try:
            made = np.asarray(program(seen)(x))
            xfront.effects_barrier()
        except Unfit as e:
            return str(e), seen
        return made, seen

    (made, seen), (wanted, known) = outcome(rows()), outcome(alone())
    assert isinstance(made, str) is isinstance(wanted, str), (made, wanted)
    if isinstance(made, str):
        assert made == wanted
    else:
        np.testing.assert_allclose(made, wanted, rtol=1e-5)
        np.testing.assert_allclose(sorted(seen), sorted(known), rtol=1e-5)


def check_generated_programs() -> None:
    for_seeds(generated, 20)


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
