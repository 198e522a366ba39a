"""Loops over scalars, several turns in one, against one turn at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.lax as lax
import xfront.numpy as jnp
from tests.lowering.cpu.against_plain import takes_a_form, variants
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.types import tensor

Body = Callable[..., list[Any]]


def line(b: Builder, c: Any, x: Any) -> list[Any]:
    made = b.emit(ops.add, b.emit(ops.mul, c, b.full(c.type, 0.5)), x)
    return [made, c]


def where(b: Builder, c: Any, x: Any) -> list[Any]:
    up = b.emit(ops.gt, x, b.zeros(x.type))
    return [b.emit(ops.select, up, b.emit(ops.add, c, x), b.emit(ops.sub, x, c)), c]


def parabola(b: Builder, c: Any, x: Any) -> list[Any]:
    return [b.emit(ops.sub, b.emit(ops.floor, b.emit(ops.square, x)), c), c]


def curve(b: Builder, c: Any, x: Any) -> list[Any]:
    return [b.emit(ops.tanh, b.emit(ops.add, c, x)), c]


def long(b: Builder, c: Any, x: Any) -> list[Any]:
    made = c
    for _ in range(17):
        made = b.emit(ops.max, made, x)
    return [made, c]


def loop(make: Body, length: int, reverse: bool = False, unroll: int = 1, shape: tuple = ()
         ) -> Function:
    b, inner = Builder("loop"), Builder("body")
    carry = tensor(shape, dtypes.f32)
    body = inner.close(make(inner, inner.param(carry), inner.param(carry)))
    first = b.param(carry)
    stack = b.param(tensor((length, *shape), dtypes.f32))
    return b.close(b.emit(ops.scan, first, stack, body=body, n_consts=0, n_carry=1, length=length,
                          reverse=reverse, unroll=unroll))


@pytest.mark.parametrize("fn, taken", (
    (loop(line, 8192), True), (loop(line, 8184), False), (loop(line, 8193), False),
    (loop(line, 8260), True), (loop(line, 8260, reverse=True), True), (loop(where, 9009), True),
    (loop(parabola, 8192), True),
    (loop(line, 8192, unroll=2), False), (loop(line, 8192, shape=(1,)), False),
    (loop(curve, 8192), False), (loop(long, 8192), False)),
    ids=lambda x: getattr(x, "name", str(x)))
def test_which_loops_and_their_values(monkeypatch, fn, taken) -> None:
    assert takes_a_form(fn, ops.scan) == taken
    fast, plain = variants(fn, monkeypatch)
    carry, stack = (v.type for v in fn.params)
    for seed in range(2):
        x = np.random.default_rng(seed).integers(-3, 4, stack.shape).astype(np.float32)
        if seed:
            x[len(x) // 2] = np.nan
        first = np.ones(carry.shape, np.float32)
        for got, want in zip(fast(first, x), plain(first, x), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = np.random.default_rng(0).normal(size=9000).astype(np.float32)

    def both(f, x: np.ndarray) -> None:
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            made.append(np.asarray(xfront.jit(lambda x: f(x)).lower(x).compile()(x)))
        np.testing.assert_allclose(made[0], made[1], rtol=1e-5, atol=1e-5)

    def run(x):
        return jnp.sum(lax.scan(lambda c, a: (c * 0.9 + a * a, c), 0.0, x)[1])

    both(run, x)
    both(xfront.grad(run), x)
    both(xfront.vmap(run), x.reshape(2, 4500))
    both(lambda x: lax.fori_loop(0, 9000, lambda i, c: c * 0.99 + i, x[0]), x)
