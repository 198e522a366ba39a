"""Ctrl-C at any moment of a trace leaves no trace open, and the cyclic collector as it was."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest

import xfront
import xfront.numpy as jnp
from lowering.module import build_module
from xfront.base import collector
from xfront.base.config import staging
from xfront.binding import default_client
from xfront.tracing.trace import state, trace_function
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.types import tensor


class Interrupt:
    """Raises KeyboardInterrupt behind the nth call that returns to `code`, as a signal would."""

    def __init__(self, code: CodeType, n: int) -> None:
        self.code, self.n, self.came = code, n, False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        caller = frame if event == "c_return" else frame.f_back if event == "return" else None
        if caller is not None and caller.f_code is self.code:
            self.n -= 1
            if self.n == 0:
                sys.setprofile(None)
                self.came = True
                raise KeyboardInterrupt


def interrupted(run: Callable[[], Any], code: CodeType) -> Iterator[None]:
    """Run once for each call that `code` makes, interrupted behind that call."""
    run()
    for n in range(1, 1000):
        interrupt = Interrupt(code, n)
        sys.setprofile(interrupt)
        try:
            run()
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        if not interrupt.came:
            return
        yield
    pytest.fail("the run did not come to its end")


def is_clean() -> bool:
    return (state.current is None and not state.stack and not state.scope and state.place is None
            and not state.axes and not staging.value and gc.isenabled())


def test_a_trace_that_is_interrupted() -> None:
    x = jnp.ones(3)
    runs = [lambda: xfront.jit(lambda x: xfront.vmap(lambda y: y * 2, axis_name="i")(x))(x),
            lambda: xfront.grad(lambda x: jnp.sum(xfront.jit(lambda y: y * y)(x)))(x)]
    for run in runs:
        count = 0
        for _ in interrupted(run, trace_function.__code__):
            count += 1
            assert is_clean(), count
        assert count > 20
        run()


def test_a_pause_of_the_collector_that_is_interrupted() -> None:
    paused = collector.uncollected(lambda: None)
    for _ in interrupted(paused, paused.__code__):
        assert gc.isenabled()

    def importing() -> None:
        with collector.collector_paused():
            pass

    for _ in interrupted(importing, collector.collector_paused.__wrapped__.__code__):  # type: ignore[attr-defined]
        assert gc.isenabled()


def test_a_lowering_that_is_interrupted() -> None:
    b = Builder("f")
    x = b.param(tensor((3,), dtypes.f32))
    function = b.close([b.emit(ops.sin, x)])
    count = 0
    for _ in interrupted(lambda: build_module(function), build_module.__code__):
        count += 1
        assert gc.isenabled(), count
    assert count > 5


def test_stand_ins_of_modules_that_are_interrupted() -> None:
    names = ("jax", "jax._src", "jax._src.named_sharding")
    before = [sys.modules.get(name) for name in names]
    standing_in: Any = default_client._standing_in
    next(interrupted(default_client.prime_specs, standing_in.__wrapped__.__code__))
    assert [sys.modules.get(name) for name in names] == before
    for _ in interrupted(default_client.prime_specs, default_client.prime_specs.__code__):
        assert [sys.modules.get(name) for name in names] == before
