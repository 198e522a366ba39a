"""Checks that every test of a transformation shares: against differences and against loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient, linearize
from xfront_ir.passes.transpose import transpose
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate
from xfront_ir.types import TensorType, tensor
from xfront_ir.verifier import verify

EPS = 1e-6


def f64(*shape: int) -> TensorType:
    return tensor(shape, dtypes.f64)


def i32(*shape: int) -> TensorType:
    return tensor(shape, dtypes.i32)


def trace(make: Callable[..., Any], *types: TensorType, name: str = "f") -> Function:
    """The Function of `make(b, *params)`, which returns a value or a list of them."""
    b = Builder(name)
    made = make(b, *[b.param(t) for t in types])
    return close(b, made)


def close(b: Builder, made: Any) -> Function:
    fn = b.close(list(made) if isinstance(made, (list, tuple)) else [made])
    verify(fn)
    return fn


def samples(fn: Function, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 1.5, t.shape).astype(t.dtype.numpy) if t.is_inexact
            else rng.integers(0, 3, t.shape).astype(t.dtype.numpy) for t in fn.param_types]


def active_of(fn: Function) -> tuple[bool, ...]:
    return tuple(t.is_inexact for t in fn.param_types)


def dot(xs: Sequence[np.ndarray], ys: Sequence[np.ndarray]) -> float:
    return float(sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True)))


def differences(fn: Function, args: Sequence[Any], active: Sequence[bool], tangents: Sequence[Any]
                ) -> list[np.ndarray]:
    """Central differences of the inexact results."""
    def at(step: float) -> list[np.ndarray]:
        given = iter(tangents)
        return evaluate(fn, *[x + step * next(given) if a else x
                              for x, a in zip(args, active, strict=True)])

    return [(p - m) / (2 * EPS) for p, m, t in zip(at(EPS), at(-EPS), fn.return_types, strict=True)
            if t.is_inexact]


def check_forward(fn: Function, args: Sequence[Any] | None = None, tol: float = 1e-6) -> None:
    """Tangents of `jvp` and of `linearize` against differences, values against the Function."""
    args = samples(fn) if args is None else args
    active = active_of(fn)
    tangents = [np.random.default_rng(7).normal(size=v.type.shape)
                for v, a in zip(fn.params, active, strict=True) if a]
    n, values = len(fn.returns), evaluate(fn, *args)
    moved, active_out = jvp(fn, active)
    verify(moved)
    made = evaluate(moved, *args, *tangents)
    for x, y in zip(made[:n], values, strict=True):
        np.testing.assert_array_equal(x, y)
    given = iter(made[n:])
    dots = [next(given) if a else np.zeros(t.shape)
            for a, t in zip(active_out, fn.return_types, strict=True) if t.is_inexact]
    for got, wanted in zip(dots, differences(fn, args, active, tangents), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=tol, atol=tol)
    parts = linearize(fn, active)
    verify(parts.forward)
    verify(parts.linear)
    saved = evaluate(parts.forward, *args)
    for x, y in zip(saved[:n], values, strict=True):
        np.testing.assert_array_equal(x, y)
    linear = evaluate(parts.linear, *tangents, *parts.pick(args, saved))
    assert parts.active_out == active_out
    for x, y in zip(linear, made[n:], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def check_reverse(fn: Function, args: Sequence[Any] | None = None) -> None:
    """The transpose of the linear side: <ct, J t> = <J^T ct, t>; the same from `gradient`."""
    args = samples(fn) if args is None else args
    active = active_of(fn)
    rng = np.random.default_rng(11)
    tangents = [rng.normal(size=v.type.shape) for v, a in zip(fn.params, active, strict=True) if a]
    parts = linearize(fn, active)
    saved = evaluate(parts.forward, *args)
    residuals = parts.pick(args, saved)
    dots = evaluate(parts.linear, *tangents, *residuals)
    cts = [rng.normal(size=x.shape) for x in dots]
    back, active_in = transpose(parts.linear, len(parts.residuals), (True,) * len(dots))
    verify(back)
    got = evaluate(back, *residuals, *cts)
    reached = [t for t, a in zip(tangents, active_in, strict=True) if a]
    np.testing.assert_allclose(dot(cts, dots), dot(got, reached), rtol=1e-9, atol=1e-9)
    whole = gradient(fn, active)
    verify(whole)
    given = iter(cts)
    all_cts = [next(given) if a else np.zeros(t.shape)
               for a, t in zip(parts.active_out, fn.return_types, strict=True) if t.is_inexact]
    made = evaluate(whole, *args, *all_cts)
    for x, y in zip(made[:len(fn.returns)], evaluate(fn, *args), strict=True):
        np.testing.assert_array_equal(x, y)
    grads = made[len(fn.returns):]
    wanted = iter(got)
    for g, a in zip(grads, active_in, strict=True):
        np.testing.assert_allclose(g, next(wanted) if a else 0, rtol=1e-12, atol=1e-12)


def check_batch(fn: Function, positions: Sequence[int | None] | None = None, size: int = 3,
                out: Sequence[int | None] | None = None, args: Sequence[Any] | None = None,
                tol: float = 1e-12) -> None:
    """`vectorize` against a loop over the batch."""
    if positions is None:
        positions = (0,) * len(fn.params)
    moved, places = vectorize(fn, positions, ("i", size), out)
    verify(moved)
    args = samples(moved) if args is None else args
    got = evaluate(moved, *args)
    lanes = [evaluate(fn, *[x if p is None else np.take(x, i, p)
                            for x, p in zip(args, positions, strict=True)]) for i in range(size)]
    for j, (x, p) in enumerate(zip(got, places, strict=True)):
        for i in range(size):
            np.testing.assert_allclose(x if p is None else np.take(x, i, p), lanes[i][j],
                                       rtol=tol, atol=tol)


def check(fn: Function, args: Sequence[Any] | None = None, reverse: bool = True,
          second: bool = True) -> None:
    """All of it, in nestings: derivatives of derivatives, of batches, batches of derivatives."""
    check_forward(fn, args)
    if reverse:
        check_reverse(fn, args)
    check_batch(fn)
    some = tuple(0 if i % 2 == 0 else None for i in range(len(fn.params)))
    check_batch(fn, some)
    check_batch(fn, tuple(v.type.ndim for v in fn.params))
    if second:
        many, _ = vectorize(fn, (0,) * len(fn.params), ("i", 2))
        active = active_of(fn)
        twice, _ = jvp(fn, active)
        check_forward(many)
        check_forward(twice, tol=1e-5)
        check_batch(twice)
        if reverse:
            check_reverse(many)
            check_reverse(twice)
            grad = gradient(fn, active)
            check_forward(grad, tol=1e-5)
            check_reverse(grad)
            check_batch(grad, tol=1e-10)


@pytest.fixture
def ir() -> SimpleNamespace:
    """The helpers of this file, and `ops`."""
    return SimpleNamespace(ops=ops, f64=f64, i32=i32, trace=trace, close=close, check=check,
                           check_forward=check_forward, check_reverse=check_reverse,
                           check_batch=check_batch, samples=samples, active_of=active_of)
