"""Host callbacks: values, order, errors, batching."""

from __future__ import annotations

import time

import numpy as np
import pytest

import lowering
from lowering.compat import RuntimeFailure
from lowering.devices import devices
from lowering.executable import (
    HostCall,
    HostFunctionFailed,
    HostTransfer,
    effects_barrier,
    for_runtime,
    host_calls,
    original_error,
)
from xfront_ir import dtypes, ops
from xfront_ir.errors import IRTypeError, IRValueError
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.types import F32, tensor

V = tensor((3,), dtypes.f32)
X = np.array([1, 2, 0.5], np.float32)


def call(b, *operands, slot=0, types=(V,), kind="pure", ordered=False, vmap_method=None):
    return b.emit(ops.callback, *operands, slot=slot, result_types=types, kind=kind,
                  ordered=ordered, vmap_method=vmap_method)


def test_pure_results_come_back(func, run) -> None:
    fn = func([V], lambda b, x: call(b, b.emit(ops.add, x, x)))
    np.testing.assert_array_equal(run(fn, X, callbacks=(np.sin,))[0], np.sin(X + X))


def test_an_unused_pure_callback_may_be_dropped_but_not_an_effect(func, run) -> None:
    seen = []

    def make(b, x):
        call(b, x)
        call(b, x, slot=1, types=(), kind="debug")
        return [x]

    run(func([V], make), X, callbacks=(lambda x: seen.append("pure") or x,
                                       lambda x: seen.append("debug")))
    effects_barrier()
    assert seen == ["debug"]


def test_ordered_effects_keep_the_order_of_the_program(func, run) -> None:
    seen = []

    def make(b, x):
        for i in range(4):
            call(b, x, slot=i, types=(), kind="debug", ordered=True)
        return [x]

    run(func([V], make), X, callbacks=[lambda x, i=i: seen.append(i) for i in range(4)])
    effects_barrier()
    assert seen == [0, 1, 2, 3]


def test_ordered_effects_keep_the_order_of_programs(func, execute) -> None:
    seen = []
    fn = func([V], lambda b, x: call(b, x, types=(V,), kind="io", ordered=True))

    def slow(x):
        time.sleep(0.02)
        seen.append("slow")
        return x

    first = lowering.compile_function(fn, callbacks=(slow,))
    second = lowering.compile_function(fn, callbacks=(lambda x: seen.append("fast") or x,))
    execute(first, fn, X)
    execute(second, fn, X)
    effects_barrier()
    assert seen == ["slow", "fast"] and first.has_ordered_effects


def test_ordered_effects_pass_through_loops_and_branches(func, run) -> None:
    seen = []
    double = func([V], lambda b, x: call(b, x, kind="io", ordered=True), "double")
    same = func([V], lambda b, x: [x], "same")
    step = func([V], lambda b, x: b.emit(
        ops.cond, b.emit(ops.lt, b.emit(ops.reduce_sum, x, axes=(0,)),
                         b.literal(20.0, dtypes.f32)), x, branches=(same, double)), "step")
    fn = func([V], lambda b, x: b.emit(ops.scan, x, body=step, n_consts=0, n_carry=1, length=6,
                                       reverse=False, unroll=1))

    def host(x):
        seen.append(float(x[0]))
        return x * 2

    np.testing.assert_array_equal(run(fn, X, callbacks=(host,))[0], X * 8)
    assert seen == [1.0, 2.0, 4.0]


def test_the_same_program_with_other_functions(func, execute) -> None:
    fn = func([V], lambda b, x: call(b, x))
    sine = lowering.compile_function(fn, callbacks=(np.sin,))
    cosine = lowering.compile_function(fn, callbacks=(np.cos,))
    np.testing.assert_array_equal(execute(cosine, fn, X)[0], np.cos(X))
    np.testing.assert_array_equal(execute(sine, fn, X)[0], np.sin(X))


def test_an_exception_comes_out_as_one_of_its_class_and_as_a_failure(func, execute, arrays) -> None:
    fn = func([V], lambda b, x: call(b, x, kind="io"))
    error = KeyError("mine")

    def fails(x):
        raise error

    executable = lowering.compile_function(fn, callbacks=(fails,))
    put, handlers_of, _ = arrays
    with pytest.raises(Exception) as caught:  # at once, or when it is awaited
        executable.execute([put(X)], handlers_of(fn))[0].block_until_ready()
    found = original_error(caught.value)
    assert isinstance(found, KeyError) and isinstance(found, RuntimeFailure)
    assert (type(found).__name__, found.args) == ("KeyError", error.args)
    try:
        effects_barrier()
    except KeyError as e:
        assert e is found


@pytest.mark.parametrize(("result", "message"), [
    (np.ones(4, np.float32), r"declared as f32\[3\], but it returned float32\[4\]"),
    (np.ones(3, np.float64), r"returned float64\[3\]"),
    ((X, X), "returned 2 results, but 1 were declared")])
def test_results_of_the_wrong_type_are_refused(func, execute, arrays, result, message) -> None:
    fn = func([V], lambda b, x: call(b, x))
    put, handlers_of, _ = arrays
    executable = lowering.compile_function(fn, callbacks=(lambda x: result,))
    with pytest.raises(Exception, match=message):
        executable.execute([put(X)], handlers_of(fn))[0].block_until_ready()
    try:
        effects_barrier()
    except ValueError:
        pass


def test_a_slot_without_function_is_an_error(func) -> None:
    fn = func([V], lambda b, x: call(b, x, slot=1))
    with pytest.raises(ValueError, match="host function number 1, but only 1 were given"):
        lowering.compile_function(fn, callbacks=(np.sin,))


def test_programs_with_callbacks_are_in_no_cache(func, cache) -> None:
    fn = func([V], lambda b, x: call(b, x))
    lowering.compile_function(fn, fingerprint=b"f", callbacks=(np.sin,))
    assert not cache.exists() or not list(cache.iterdir())


@pytest.mark.parametrize(("method", "wanted"), [
    ("sequential", [(3,)] * 2), ("sequential_unrolled", [(3,)] * 2), ("expand_dims", [(2, 3)]),
    ("broadcast_all", [(2, 3)])])
def test_batches_reach_the_host_as_asked(func, run, method, wanted) -> None:
    fn = func([V, V], lambda b, x, y: call(b, x, y, vmap_method=method))
    batched, out = vectorize(fn, (0, None), ("i", 2))
    xs = np.stack([X, 2 * X])
    seen = []

    def host(x, y):
        seen.append((x.shape, y.shape))
        return x + y

    np.testing.assert_array_equal(run(batched, xs, X, callbacks=(host,))[0], xs + X)
    assert out == (0,) and [x for x, _ in seen] == wanted
    unbatched = {"expand_dims": (1, 3), "broadcast_all": (2, 3)}.get(method, (3,))
    assert {y for _, y in seen} == {unbatched}


def test_what_cannot_be_batched_says_why(func) -> None:
    with pytest.raises(NotImplementedError, match="vmap_method"):
        vectorize(func([V], lambda b, x: call(b, x)), (0,), ("i", 2))
    fn = func([V], lambda b, x: call(b, x, kind="io", ordered=True))
    with pytest.raises(ValueError, match="Cannot vmap an ordered io callback"):
        vectorize(fn, (0,), ("i", 2))


def test_derivatives_of_callbacks(func) -> None:
    from xfront_ir.passes.jvp import jvp

    with pytest.raises(IRValueError, match="do not support JVP"):
        jvp(func([V], lambda b, x: call(b, x)), (True,))

    def make(b, x):
        call(b, x, types=(), kind="debug")
        return [b.emit(ops.sin, x)]

    moved, active = jvp(func([V], make), (True,))
    assert active == (True,)
    assert [op.definition.name for op in moved.ops].count("callback") == 1


def test_the_type_rule_refuses_what_makes_no_sense(func) -> None:
    with pytest.raises(IRTypeError, match="debug callback cannot have results"):
        func([F32], lambda b, x: call(b, x, kind="debug"))
    with pytest.raises(IRTypeError, match="cannot be ordered"):
        func([F32], lambda b, x: call(b, x, ordered=True))


def test_callbacks_of_every_dtype_round_trip(func, arrays) -> None:
    put, handlers_of, _ = arrays
    for dtype in (dtypes.bool_, dtypes.i32, dtypes.bf16, dtypes.c64, dtypes.f8_e4m3fn):
        t = tensor((4,), dtype)
        x = np.array([0, 1, 1, 0]).astype(dtype.numpy)
        seen = []
        fn = func([t], lambda b, x, t=t: call(b, x, types=(t,)))
        executable = lowering.compile_function(
            fn, callbacks=(lambda x, seen=seen: seen.append(np.array(x)) or x,))
        executable.execute([put(x)], handlers_of(fn))[0].block_until_ready()
        assert seen[0].dtype == dtype.numpy and seen[0].tobytes() == x.tobytes()


def test_host_calls_of_a_tpu_are_transfers(func) -> None:
    """Each operand and result has a channel; a number stands for operands or results of none."""
    def make(b, x):
        made = call(b, x, types=(V, V))
        call(b, slot=1, types=(), kind="io", ordered=True)
        call(b, made[0], slot=2, types=(), kind="io", ordered=True)
        return [made[1]]

    lowered = lowering.lower(func([V], make), platform="tpu")
    sends, receives = ([[n for n, _ in getattr(spec, which)] for spec in lowered.callbacks]
                       for which in ("sends", "receives"))
    assert sends == [[1], [4], [6]] and receives == [[2, 3], [5], [7]]
    text = lowered.as_text()
    assert text.count("stablehlo.create_token") == 2      # those that are ordered share one
    for kind, name, channels in (2, "send", sum(sends, [])), (3, "recv", sum(receives, [])):
        assert text.count(f'"stablehlo.{name}"') == len(channels)
        for n in channels:
            assert f"handle = {n}, type = {kind}>, is_host_transfer = true" in text
            assert f'_xla_host_transfer_rendezvous = "{n}"' in text


def test_the_hosts_side_of_transfers() -> None:
    """It drops the number in place of operands, gives one in place of results, and checks."""
    seen = []
    quiet = HostTransfer(HostCall(lambda *xs: seen.append(xs), (), False), 0)
    (instead,) = quiet(np.zeros(1, np.float32))
    assert seen == [()] and instead.dtype == np.float32 and instead.shape == ()
    double = HostTransfer(HostCall(lambda x: x * 2, (V,), False), 1)
    np.testing.assert_array_equal(double(X)[0], X * 2)
    with pytest.raises(HostFunctionFailed, match="was declared as"):
        double(X[:1])


def test_a_client_takes_the_hosts_side_of_transfers(func) -> None:
    fn = func([V], lambda b, x: call(b, x))
    (spec,) = lowering.lower(fn, platform="tpu").callbacks
    calls = host_calls([spec], (np.sin,))
    (taken,) = for_runtime(devices()[0].client, calls, [spec])
    assert "capsule" in repr(taken) and calls[0].n_tokens == 0
