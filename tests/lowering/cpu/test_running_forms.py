"""Running reductions as loops against their plain rules, and sums against exact ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import xfront
import xfront.lax as lax
import xfront.numpy as jnp
from tests.lowering.cpu.against_plain import (
    Case,
    compared,
    named,
    program,
    samples,
    takes_a_form,
    variants,
)
from xfront_ir import ops

SHAPES = (((16,), 0, False), ((17,), 0, True), ((24,), 0, True), ((1003,), 0, True),
          ((5, 17), 1, True), ((5, 40), 1, True), ((3, 23, 2), 1, False), ((3, 24, 2), 1, True),
          ((30, 1), 0, True), ((0, 40), 1, False), ((40, 0), 0, False))
KINDS = {"sum": ops.cumsum, "prod": ops.cumprod, "max": ops.cummax, "min": ops.cummin}
DTYPES = ("i8", "u8", "i32", "u64", "f16", "bf16", "f32", "f64")


def cases() -> Iterator[Case]:
    for kind, op in KINDS.items():
        for i, dtype in enumerate((*DTYPES, "c64")):
            taken = kind in ("sum", "prod") or dtype not in ("c64", "i8", "u8")
            yield (f"cum{kind} {dtype}", op, (named(dtype, 77),), {"axis": 0, "reverse": i % 2 > 0},
                   taken)
        for shape, axis, taken in SHAPES:
            for reverse in (False, True) if kind == "sum" else (len(shape) > 1,):
                yield (f"cum{kind} {shape} {axis} {reverse}", op, (named("f32", *shape),),
                       {"axis": axis, "reverse": reverse}, taken)
    for shape, taken in (((1024, 127), True), ((1024, 128), False), ((256, 512), False),
                         ((256, 513), True)):
        yield f"cumsum of rows {shape}", ops.cumsum, (named("f32", *shape),), {
            "axis": 1, "reverse": False}, taken
    yield "cummax of long rows", ops.cummax, (named("f32", 256, 513),), {
        "axis": 1, "reverse": False}, False


def exact(type, kind: str, seed: int) -> np.ndarray:
    """Numbers whose sums and products are no rounded ones, with infinities and NaNs in some."""
    if kind in ("max", "min") or not type.dtype.is_inexact:
        return samples(type, seed)
    rng = np.random.default_rng(seed)
    numbers = (-2.0, -1.0, 0.0, 1.0, 2.0) if kind == "sum" else (-1.0, 1.0)
    x = rng.choice(numbers, type.shape)
    if seed and not type.dtype.is_complex:
        x = np.where(rng.random(type.shape) < 0.02, rng.choice([np.inf, -np.inf, np.nan, 0.0],
                                                               type.shape), x)
    return x.astype(type.dtype.numpy)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0].replace(" ", "-"))
def test_a_loop_gives_what_its_plain_rule_gives(monkeypatch, case) -> None:
    """Bit for bit where nothing is rounded, but for the signs of zeros and NaNs."""
    name, definition, (type,), _, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, plain = made
    for seed in range(3):
        x = exact(type, definition.name[3:], seed).astype(program(case).params[0].type.dtype.numpy)
        np.testing.assert_array_equal(fast(x)[0], plain(x)[0])


def wide(x: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """The running sums in the widest floats that NumPy has."""
    turned = np.flip(x, axis) if reverse else x
    made = np.cumsum(turned.astype(np.longdouble), axis=axis)
    return np.flip(made, axis) if reverse else made


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("shape, axis", (((100_003,), 0), ((9, 1001), 1), ((1001, 9), 0)))
@pytest.mark.parametrize("dtype", ("f16", "f32", "f64"))
def test_how_far_sums_are_rounded(monkeypatch, dtype, shape, axis, reverse) -> None:
    """Each element meets three roundings on its way into a sum of eight; sums of those are wider,
    where there is something wider. NumPy's error is larger."""
    type = named(dtype, *shape)
    fn = program(("", ops.cumsum, (type,), {"axis": axis, "reverse": reverse}, True))
    fast, _ = variants(fn, monkeypatch)
    x = np.random.default_rng(0).normal(size=shape).astype(type.dtype.numpy)
    got, want = fast(x)[0], wide(x, axis, reverse)
    error, eps = np.abs(got - want), np.finfo(x.dtype).eps
    if dtype != "f64":
        assert (error <= eps * (2 * wide(np.abs(x), axis, reverse) + np.abs(want))).all()
    turned = np.flip(x, axis) if reverse else x
    sequential = np.cumsum(turned, axis=axis, dtype=x.dtype)
    sequential = np.flip(sequential, axis) if reverse else sequential
    assert error.max() <= np.abs(sequential - want).max()
    assert error.mean() <= np.abs(sequential - want).mean()


@pytest.mark.parametrize("dtype", ("f32", "f64"))
def test_how_far_products_are_rounded(monkeypatch, dtype) -> None:
    """No more than as many roundings as there are factors, as NumPy's."""
    type = named(dtype, 1003)
    fn = program(("", ops.cumprod, (type,), {"axis": 0, "reverse": False}, True))
    fast, _ = variants(fn, monkeypatch)
    x = np.exp(np.random.default_rng(0).normal(size=1003) * 0.1).astype(type.dtype.numpy)
    want = np.cumprod(x.astype(np.longdouble))
    assert (np.abs(fast(x)[0] / want - 1) <= np.arange(1, 1004) * np.finfo(x.dtype).eps).all()


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("shape, axis, taken", (((7,), 0, False), ((8,), 0, True),
                                                ((1003,), 0, True), ((9, 33), 1, True),
                                                ((33, 9), 0, True)))
@pytest.mark.parametrize("dtype", ("f16", "bf16", "f32", "f64", "c64"))
def test_logarithms_of_running_sums(monkeypatch, dtype, shape, axis, taken, reverse) -> None:
    """Within 4 units of the greatest magnitude met of what f64 (f64: wider floats) gives, and so
    as near as the plain rule; infinities and NaNs as there."""
    type = named(dtype, *shape)
    case = ("", ops.cumlogsumexp, (type,), {"axis": axis, "reverse": reverse},
            taken and dtype != "c64")
    fn = program(case)
    assert takes_a_form(fn, ops.cumlogsumexp) == case[-1]
    if not case[-1]:
        return
    fast, plain = variants(fn, monkeypatch)
    of = np.float32 if dtype == "bf16" else type.dtype.numpy
    eps = 2.0 ** -8 if dtype == "bf16" else np.finfo(of).eps
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=shape) * (1, 10, 100, 1)[seed]
        if seed == 2:
            x = np.sort(x, axis=axis)
        if seed == 3:
            x = np.where(rng.random(shape) < 0.2, rng.choice([-np.inf, np.inf, np.nan, 1.0],
                                                             shape, p=(.7, .1, .1, .1)), x)
        x = x.astype(type.dtype.numpy).astype(of)
        turned = (np.flip(x, axis) if reverse else x).astype(np.longdouble)
        with np.errstate(all="ignore"):
            want = np.logaddexp.accumulate(turned, axis=axis)
        want = np.flip(want, axis) if reverse else want
        got = fast(x)[0]
        sure = np.isfinite(want)
        np.testing.assert_array_equal(got[~sure], plain(x)[0][~sure])
        size = np.maximum(np.abs(want[sure]), 1)
        assert (np.abs(got[sure] - want[sure]) <= 4 * eps * size).all()


def test_a_rising_sum_of_many_terms(monkeypatch) -> None:
    """Each term is the greatest so far: nothing is lost in exchanging the shift 100,000 times."""
    x = (np.arange(100_000) * 1e-6).astype(np.float32)
    fn = program(("", ops.cumlogsumexp, (named("f32", x.size),), {"axis": 0, "reverse": False},
                  True))
    want = np.log(np.cumsum(np.exp(x.astype(np.float64))))
    np.testing.assert_allclose(variants(fn, monkeypatch)[0](x)[0], want, rtol=3e-7, atol=3e-7)


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (3, 40)).astype(np.float32)

    def both(f) -> None:
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            made.append(np.asarray(xfront.jit(lambda x: f(x)).lower(x).compile()(x)))
        np.testing.assert_allclose(made[0], made[1], rtol=1e-5, atol=1e-6)

    weights = np.arange(40, dtype=np.float32)
    for running in (jnp.cumsum, lax.cummax, lax.cummin, lax.cumlogsumexp):
        both(xfront.grad(lambda x, r=running: jnp.sum(r(x, axis=1) * weights)))
        both(xfront.vmap(running))
        both(xfront.vmap(running, in_axes=1))
    both(xfront.grad(lambda x: jnp.sum(jnp.cumprod(x / 3, axis=1))))


@pytest.mark.parametrize("reverse", [False, True])
def test_products_leave_the_range_where_those_in_order_do(reverse):
    x = np.array([2, 0.5, 0, *[1e30, -1e30] * 20, 1e30], np.float32)
    end = np.array([*[1e-30] * 4, *[1e30] * 20], np.float32)
    for values in (x, end, np.stack([x, x + 1])):
        given = values[..., ::-1].copy() if reverse else values
        with np.errstate(over="ignore"):
            want = np.cumprod(values, -1)
        got = xfront.lax.cumprod(given, given.ndim - 1, reverse)
        np.testing.assert_array_equal(np.asarray(got)[..., ::-1] if reverse else got, want)
