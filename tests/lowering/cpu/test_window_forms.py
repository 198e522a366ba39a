"""The form of the gradient of extrema of windows against the plain rule, bit for bit: ties, zeros,
NaNs, windows side by side, overlapping, with gaps, with padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.lowering.cpu.against_plain import (
    Case,
    compared,
    named,
    program,
    samples,
)
from xfront_ir import ops
from xfront_ir.ops.window import windowed_shape


def case(shape, window, strides, padding, taken=True, dtype="f32", select="ge") -> Case:
    how = {"select": select, "window": window, "strides": strides, "padding": padding}
    x = named(dtype, *shape)
    source = named(dtype, *windowed_shape("", x, how))
    return (f"{dtype} {select} {shape} {window} {strides} {padding}", ops.select_and_scatter_add,
            (source, x), how, taken)


def cases() -> Iterator[Case]:
    none = (0, 0)
    windows = ((2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 2, 1), (3, 2, 0), (2, 3, 0), (4, 4, 0),
               (4, 2, 1), (4, 1, 2), (2, 5, 1), (3, 3, 1))
    for size, dtype, select, n in (
            (20, "f32", "ge", 11), (21, "f32", "le", 3), (20, "f64", "le", 2), (20, "f16", "ge", 2),
            (21, "bf16", "ge", 2)):
        for k, by, pad in windows[:n]:
            p = (pad, pad)
            taken = not pad or k != 2
            yield case((2, size, size, 3), (1, k, k, 1), (1, by, by, 1), (none, p, p, none),
                       taken, dtype, select)
            if n == 11:
                yield case((2, 3, size, size), (1, 1, k, k), (1, 1, by, by), (none, none, p, p),
                           taken, dtype, select)
    for p, q, taken in (((0, 1), (2, 0), True), ((-1, 2), (1, -3), False), ((3, 0), (0, 3), True)):
        yield case((3, 2, 20, 21), (1, 1, 3, 4), (1, 1, 2, 2), (none, none, p, q), taken)
    yield case((2, 9, 10, 12, 2), (1, 2, 2, 2, 1), (1, 2, 1, 2, 1), (none,) * 5)
    yield case((4000,), (16,), (7,), ((3, 4),))
    yield case((4000,), (17,), (7,), ((3, 4),), taken=False)
    yield case((2047,), (2,), (2,), (none,), taken=False)
    yield case((2048,), (2,), (2,), (none,))
    yield case((4096,), (2,), (200,), (none,))
    yield case((4096,), (1,), (1,), (none,), taken=False)


@pytest.mark.parametrize("case", list(cases()), ids=lambda c: c[0].replace(" ", "-"))
def test_each_window_gives_to_what_wins(monkeypatch, case) -> None:
    _, _, types, _, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, plain = made
    rng = np.random.default_rng(0)
    for seed in range(4):
        source, x = (samples(t, seed + i).astype(v.type.dtype.numpy)
                     for i, (t, v) in enumerate(zip(types, program(case).params, strict=True)))
        if seed == 3:
            source, x = (rng.normal(size=v.shape).astype(v.dtype) for v in (source, x))
        got, want = fast(source, x)[0], plain(source, x)[0]
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[want == 0]))


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = np.random.default_rng(0).normal(size=(3, 32, 32, 4)).astype(np.float32)

    def loss(x):
        y = xfront.lax.reduce_window(x, -jnp.inf, xfront.lax.max, (3, 3, 1), (2, 2, 1), "SAME")
        return jnp.sum(jnp.sin(y))

    for f in (xfront.vmap(xfront.grad(loss)), xfront.jacrev(
            lambda x: xfront.vmap(xfront.grad(loss))(x * jnp.ones_like(x)).sum((1, 2, 3)))):
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            made.append(np.asarray(xfront.jit(lambda x, f=f: f(x)).lower(x).compile()(x)))
        np.testing.assert_allclose(*made, rtol=1e-6, atol=1e-6)
