"""Every form against its plain rule: dtypes, shapes at and beside its condition, special values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lowering
import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.forms import placing
from lowering.forms.extras import ALWAYS, NOTHING, Extras, extras
from tests.lowering.cpu.against_plain import (
    Case,
    compared,
    form_taken,
    named,
    program,
    samples,
    takes_a_form,
)
from xfront_ir import dtypes, ops
from xfront_ir.ops.sort import sort

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("bool", "i8", "i16", "i32", "u8", "u16", "u32")

def sorts() -> Iterator[Case]:
    def attrs(dimension=0, stable=True, n_keys=1):
        return {"dimension": dimension, "n_keys": n_keys, "stable": stable}

    for dtype in (*FLOATS, *INTEGERS, "i64", "c64"):
        narrow = dtype not in ("f64", "i64", "c64")
        x = named(dtype, 520)
        yield f"sort {dtype}", sort, (x,), attrs(), narrow and dtype in FLOATS
        yield f"argsort {dtype}", sort, (x, named("i32", 520)), attrs(), narrow
    f32 = "f32"
    for shape, taken in (((511,), False), ((512,), True), ((9000,), True), ((31, 20), False),
                         ((32, 16), True), ((40, 0), False)):
        yield f"sort of {shape}", sort, (named(f32, *shape),), attrs(), taken
    for shape, axis in (((13, 40), 1), ((40, 13), 0), ((2, 33, 8), 1)):
        types = (named("bf16", *shape), named("c64", *shape), named("i8", *shape))
        yield f"three of {shape} by axis {axis}", sort, types, attrs(axis), True
    yield "unstable", sort, (named("u8", 512),) * 2, attrs(stable=False), True
    yield "two keys", sort, (named(f32, 512), named(f32, 512)), attrs(n_keys=2), False
    yield "no elements", sort, (named(f32, 0),), attrs(), False


def positions() -> Iterator[Case]:
    for op in (ops.argmax, ops.argmin):
        for dtype in (*FLOATS, *INTEGERS, "i64", "u64"):
            yield (f"{op.name} {dtype}", op, (named(dtype, 729, 45),),
                   {"axis": 1, "index_dtype": dtypes.i32}, True)
        for shape, axis, taken in (((31, 2000), 0, False), ((32, 1024), 0, True),
                                   ((32, 1023), 0, False), ((2, 33, 600), 1, True),
                                   ((2000, 31), 1, False), ((2 ** 15,), 0, True),
                                   ((2, 33, 0), 1, False), ((90000,), 0, True)):
            yield (f"{op.name} {shape} axis {axis}", op, (named("f32", *shape),),
                   {"axis": axis, "index_dtype": dtypes.i64}, taken)
        yield (f"{op.name} of columns, divided", op, (named("i32", 33, 32000),),
               {"axis": 0, "index_dtype": dtypes.i32}, True)
        yield (f"{op.name} at 127", op, (named("f32", 256, 128),),
               {"axis": 1, "index_dtype": dtypes.i8}, True)


def logical() -> Iterator[Case]:
    for op in (ops.reduce_or, ops.reduce_and):
        for shape, axes, taken in (((2 ** 17,), (0,), True), ((2 ** 17 - 1,), (0,), False),
                                   ((512, 256), (1,), True), ((512, 256), (0,), True),
                                   ((512, 256), (), False)):
            yield f"{op.name} {shape} {axes}", op, (named("bool", *shape),), {"axes": axes}, taken
        yield f"{op.name} i32", op, (named("i32", 2 ** 17),), {"axes": (0,)}, False


def sums() -> Iterator[Case]:
    for dtype, taken in (("f32", True), ("f64", True), ("f16", False), ("i32", False)):
        for k in (1, 2, 3, 4, 8, 9):
            yield (f"sum of {k} {dtype}", ops.reduce_sum, (named(dtype, 128, 128, k),),
                   {"axes": (2,)}, taken and 2 <= k <= 8)
    yield from places(ops.reduce_sum, 2 ** 14)
    yield "both axes", ops.reduce_sum, (named("f32", 2 ** 14, 4),), {"axes": (0, 1)}, False


def places(op: Any, least: int) -> Iterator[Case]:
    """Sizes beside the edges, by where the axis stands; `least` results where the axis is near."""
    early = compat.VERSION < (0, 11)
    for name, shape, axis, taken in (
            ("few", (least - 1, 4), 1, False), ("enough", (least, 4), 1, True),
            ("first axis", (4, 2 ** 16), 0, early), ("shorter", (4, 2 ** 16 - 1), 0, False),
            ("two behind", (least // 2, 3, 2), 1, True), ("eight", (least // 8, 3, 8), 1, True),
            ("fewer of them", (least // 8 - 1, 3, 8), 1, False),
            ("middle", (2 ** 8, 4, 2 ** 10), 1, True), ("smaller", (2 ** 8, 4, 1023), 1, False)):
        yield f"{op.name} {name}", op, (named("f32", *shape),), {"axes": (axis,)}, taken


def extrema() -> Iterator[Case]:
    for op in (ops.reduce_max, ops.reduce_min):
        for dtype, taken in (("f32", True), ("f64", True), ("f16", False), ("i32", False)):
            for k in (1, 2, 4, 5):
                yield (f"{op.name} of {k} {dtype}", op, (named(dtype, 128, 256, k),),
                       {"axes": (2,)}, taken and 2 <= k <= 4)
        yield from places(op, 2 ** 15)


def whole() -> Iterator[Case]:
    for op in (ops.reduce_sum, ops.reduce_max, ops.reduce_min):
        for dtype in ("i16", "u8", "i32", "u32", "i64", "u64"):
            yield (f"{op.name} {dtype}", op, (named(dtype, 31, 101),), {"axes": (1,)},
                   not dtype.endswith(("8", "16")))
        for shape, axes, taken in (((1024,), (0,), True), ((1023,), (0,), False),
                                   ((16, 64), (1,), True), ((17, 63), (1,), False),
                                   ((3, 33, 11), (1, 2), True), ((3, 33, 11), (0, 1, 2), True),
                                   ((3, 33, 11), (0, 2), False), ((64, 16), (0,), False),
                                   ((1024, 0), (1,), False), ((2048,), (), False)):
            yield f"{op.name} {shape} {axes}", op, (named("i32", *shape),), {"axes": axes}, taken


CASES = [*sorts(), *positions(), *logical(), *whole()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].replace(" ", "-"))
def test_a_form_gives_what_its_plain_rule_gives(monkeypatch, case) -> None:
    _, definition, types, attrs, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, plain = made
    for seed in range(3):
        unique = definition is sort and not attrs["stable"]    # ties may go either way
        xs = [(np.arange(t.size) * 37 % 512 if unique else samples(t, seed + (i > 0))
               ).astype(v.type.dtype.numpy)
              for i, (t, v) in enumerate(zip(types, program(case).params, strict=True))]
        for a, c in zip(fast(*xs), plain(*xs), strict=True):
            assert a.tobytes() == c.tobytes()


def flushed(x: np.ndarray) -> np.ndarray:
    """Denormal numbers are zero in all arithmetic of XLA's CPU programs."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, x.dtype.type(0), x)


@pytest.mark.parametrize("case", list(sums()), ids=lambda case: case[0].replace(" ", "-"))
def test_short_sums_add_one_after_the_other(func, run, monkeypatch, case) -> None:
    """Bit for bit the sum from left to right, which is as near to the plain rule's as the error
    of such a sum; negative zeros sum to zero."""
    _, definition, (type,), attrs, taken = case
    (axis, *_), n = attrs["axes"], type.shape[attrs["axes"][0]]
    fn = func([type], lambda b, x: [b.emit(definition, x, **attrs)])
    assert takes_a_form(fn, definition) == taken
    if not taken:
        return
    x = samples(type, 0)
    for seed in range(4):
        x = samples(type, seed)
        if seed == 3:
            x = np.random.default_rng(3).normal(size=type.shape).astype(x.dtype)
        with np.errstate(all="ignore"):
            want = flushed(x.take(0, axis))
            for i in range(1, n):
                want = flushed(want + flushed(x.take(i, axis)))
        got = run(fn, x)[0]
        np.testing.assert_array_equal(got, want)
        assert not np.signbit(got[got == 0]).any()
    assert not np.signbit(run(fn, np.full(type.shape, -0.0, x.dtype))[0]).any()
    monkeypatch.setenv("XFRONT_CPU_FORMS", "0")
    bound = n * np.finfo(x.dtype).eps * np.abs(x).sum(axis)
    assert (np.abs(run(fn, x)[0] - got) <= bound).all()


@pytest.mark.parametrize("case", list(extrema()), ids=lambda case: case[0].replace(" ", "-"))
def test_short_extrema(run, case) -> None:
    """Those of NumPy, NaNs included, which XLA's own reductions lose; a zero may have the other
    sign."""
    _, definition, (type,), attrs, taken = case
    fn = program(case)
    short = f"reduce.{definition.name}"
    assert (form_taken(fn, definition) == short) == taken
    if not taken:
        return
    extremum = np.max if definition is ops.reduce_max else np.min
    for seed in range(3):
        x = samples(type, seed)
        assert np.isnan(x).any() == (seed < 2)
        np.testing.assert_array_equal(run(fn, x)[0], extremum(flushed(x), axis=attrs["axes"]))


def test_who_has_them(func, monkeypatch) -> None:
    assert extras("eager", "cpu", 1).forms and not extras("jit", "cpu", 2).forms
    assert extras("jit", "cuda", 1) == ALWAYS["cuda"] and extras("jit", "rocm", 1) == NOTHING
    fn = func([named("f32", 512)], lambda b, x: b.emit(sort, x, dimension=0, n_keys=1, stable=True))
    assert "xi64>" in lowering.lower(fn, extras=Extras(forms=1)).as_text()
    assert "xi64>" not in lowering.lower(fn).as_text()
    monkeypatch.setenv("XFRONT_CPU_FORMS", "0")
    assert not extras("jit", "cpu", 1).forms


def test_who_has_the_needed_ones(func, monkeypatch) -> None:
    """All programs for CPU: those for several devices, exported ones, and where forms are off."""
    assert extras("jit", "cpu", 2) == ALWAYS["cpu"] and extras("jit", "cpu", 1).needed
    fn = func([named("f32", 2 ** 16)], lambda b, x: [
        b.emit(ops.sin, b.emit(ops.reduce_max, x, axes=(0,))),
        b.emit(sort, x, dimension=0, n_keys=1, stable=True)])
    names = [found.name for _, found in placing.taken(
        placing.place_forms(fn, needed_only=True))]
    assert names == ["reduce.greatest_or_nan"]
    monkeypatch.setenv("XFRONT_CPU_FORMS", "0")
    assert extras("jit", "cpu", 1)._replace(fences=0) == ALWAYS["cpu"]


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = np.random.default_rng(0).normal(size=(900, 40)).astype(np.float32)

    def both(f, x=x):
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            made.append(np.asarray(xfront.jit(lambda x: f(x)).lower(x).compile()(x)))
        assert made[0].tobytes() == made[1].tobytes()

    weights = np.arange(40, dtype=np.float32)
    both(xfront.grad(lambda x: jnp.sum(jnp.sort(x, axis=1) * weights)))
    both(xfront.vmap(jnp.argsort))
    both(xfront.vmap(jnp.argmax))
    both(xfront.vmap(lambda row: jnp.median(row)))
    many = np.random.default_rng(1).normal(size=(20000, 3)).astype(np.float32)
    both(xfront.grad(lambda x: jnp.sum(jnp.max(x, axis=1) ** 2)), many)
    both(xfront.vmap(lambda row: jnp.max(row) - jnp.min(row)), many)
