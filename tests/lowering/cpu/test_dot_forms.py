"""Forms of products of tiny matrices and of stacks against the plain rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowering
import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.forms.extras import extras
from lowering.forms.facts import NO_FACTS
from lowering.forms.places import Place
from lowering.forms.registry import forms_of
from tests.lowering.cpu.against_plain import (
    Case,
    compared,
    form_taken,
    named,
    program,
    samples,
)
from xfront import lax
from xfront_ir import ops


def products() -> Iterator[Case]:
    def case(batch, left, right, contract, taken=True, dtype="f32", **given) -> Case:
        n = len(batch)
        axes = tuple(range(n))
        how = {"contract": ((n + contract[0],), (n + contract[1],)), "batch": (axes, axes),
               "precision": None, "preferred": None, **given}
        return (f"{dtype} {batch} {left} {right} {contract}", ops.dot_general,
                (named(dtype, *batch, *left), named(dtype, *batch, *right)), how, taken)

    for dtype in ("f32", "f64"):
        for m, k, n in ((2, 2, 2), (4, 3, 2), (3, 4, 4)):
            yield case((2000,), (m, k), (k, n), (1, 0), dtype=dtype)
            yield case((50, 40), (k, m), (k, n), (0, 0), dtype=dtype)
            yield case((50, 40), (m, k), (n, k), (1, 1), dtype=dtype)
            yield case((2000,), (k, m), (n, k), (0, 1), dtype=dtype)
    yield case((1024,), (2, 2), (2, 2), (1, 0))
    yield case((1023,), (2, 2), (2, 2), (1, 0), False)
    yield case((2000,), (5, 4), (4, 4), (1, 0), False)
    yield case((2000,), (4, 1), (1, 4), (1, 0), False)
    yield case((2000,), (4, 4), (4, 4), (1, 0), False, "bf16")
    yield case((2000,), (4, 4), (4, 4), (1, 0), False, precision="F32_F32_F32")


def by_rows() -> Iterator[Case]:
    for k, m, n, dtype, contract, taken in (
            (256, 512, 512, "f32", (0, 0), True), (300, 513, 600, "f32", (0, 0), True),
            (255, 512, 512, "f32", (0, 0), False), (256, 511, 512, "f32", (0, 0), False),
            (256, 512, 511, "f32", (0, 0), False), (256, 512, 512, "f64", (0, 0), False),
            (512, 512, 512, "f32", (1, 1), False)):
        how = {"contract": ((contract[0],), (contract[1],)), "batch": ((), ()), "precision": None,
               "preferred": None}
        yield (f"by rows {k} {m} {n} {dtype} {contract}", ops.dot_general,
               (named(dtype, k, m), named(dtype, k, n)), how, taken)


@pytest.mark.parametrize("case", list(by_rows()), ids=lambda c: c[0].replace(" ", "-"))
def test_products_by_rows(monkeypatch, case) -> None:
    """Whole numbers have exact sums; NaN and infinity stay in their rows and columns; others are
    within the bound of a sum of so many terms."""
    _, _, types, _, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, plain = made
    rng = np.random.default_rng(0)
    whole = [rng.integers(-9, 10, t.shape).astype(np.float32) for t in types]
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    whole[0][3, 5], whole[1][4, 6], whole[1][3, 7] = np.nan, np.inf, 0
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    x, y = (rng.normal(size=t.shape).astype(np.float32) for t in types)
    bound = x.shape[0] * np.finfo(np.float32).eps * (np.abs(x).T @ np.abs(y))
    exact = x.T.astype(np.float64) @ y.astype(np.float64)
    assert (np.abs(fast(x, y)[0] - exact) <= bound).all()


def matrices(name: str, listed: Any) -> Iterator[Case]:
    for x, y, contract, dtype, taken in listed:
        n = len(x) - 2
        batch = tuple(range(n))
        yield (f"{name} {x} {y} {contract} {dtype}", ops.dot_general,
               (named(dtype, *x), named(dtype, *y)),
               {"contract": ((n + contract[0],), (n + contract[1],)), "batch": (batch, batch),
                "precision": None, "preferred": None}, taken)


COMPLEX = matrices("complex", (
    ((256, 160), (160, 206), (1, 0), "c64", True), ((160, 230), (160, 230), (0, 0), "c128", True),
    ((8192, 32), (32, 33), (1, 0), "c64", True), ((48, 4096), (48, 4096), (1, 1), "c128", True),
    ((4096, 64), (33, 4096), (0, 1), "c64", True), ((256, 256), (256, 127), (1, 0), "c64", False),
    ((31, 512), (512, 512), (1, 0), "c64", False), ((512, 31), (31, 512), (1, 0), "c64", False),
    ((256, 256), (256, 256), (1, 0), "f64", False), ((0, 256), (256, 256), (1, 0), "c64", False),
    ((2, 256, 256), (2, 256, 256), (1, 0), "c64", False)))


@pytest.mark.parametrize("case", list(COMPLEX), ids=lambda c: c[0].replace(" ", "-"))
def test_complex_products(monkeypatch, case) -> None:
    """Whole numbers have exact sums; NaN and infinity go where the plain rule has them; others are
    within the bound of a sum of so many terms, each part by itself."""
    _, _, types, how, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, plain = made
    rng = np.random.default_rng(0)

    def pair(make):
        return [(make(t.shape) + 1j * make(t.shape)).astype(t.dtype.numpy) for t in types]

    whole = pair(lambda shape: rng.integers(-9, 10, shape))
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    for number in (np.inf, -np.inf, np.nan):
        x, y = pair(lambda shape: rng.integers(-9, 10, shape))
        x.real[3, 5], x.imag[7, 9], y.imag[4, 6] = number, -number, number
        np.testing.assert_array_equal(fast(x, y)[0], plain(x, y)[0])
    x, y = pair(lambda shape: rng.normal(size=shape))
    axes = how["contract"]
    made = fast(x, y)[0]
    exact = np.tensordot(x.astype(np.complex128), y.astype(np.complex128), axes)
    bound = 2 * x.shape[axes[0][0]] * np.finfo(x.dtype).eps * np.tensordot(
        np.abs(x), np.abs(y), axes)
    for part in (np.real, np.imag):
        assert (np.abs(part(made) - part(exact)) <= bound).all()


OLD = compat.VERSION < (0, 11)

SHORT = matrices("short", (
    ((128, 128), (128, 64), (1, 0), "bf16", OLD), ((103, 105), (103, 104), (0, 0), "bf16", OLD),
    ((8, 1024), (128, 1024), (1, 1), "bf16", OLD), ((40, 300), (100, 40), (0, 1), "bf16", OLD),
    ((10, 32, 64), (10, 64, 64), (1, 0), "bf16", OLD),
    ((10, 32, 64), (10, 64, 64), (1, 1), "bf16", OLD),
    ((10, 64, 32), (10, 64, 64), (0, 0), "bf16", OLD),
    ((127, 128), (128, 64), (1, 0), "bf16", False), ((7, 512), (512, 512), (1, 0), "bf16", False),
    ((512, 512), (512, 63), (1, 0), "bf16", False), ((512, 31), (31, 512), (1, 0), "bf16", False),
    ((128, 128), (128, 64), (1, 0), "f16", False),
    ((0, 512), (512, 512), (1, 0), "bf16", False)))


@pytest.mark.parametrize("case", list(SHORT), ids=lambda c: c[0].replace(" ", "-"))
def test_products_of_bf16(monkeypatch, case) -> None:
    """The rounding to bf16 of a sum in f32, which the plain rule leaves out where f32 is read."""
    _, _, types, how, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, unrounded = made

    def plain(x, y):
        return unrounded(x, y)[0].astype(ml_dtypes.bfloat16).astype(np.float32)

    rng = np.random.default_rng(0)
    whole = [rng.integers(-9, 10, t.shape).astype(np.float32) for t in types]
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole))
    for number in (np.inf, -np.inf, np.nan, 1e-40):
        x, y = (np.where(rng.random(v.shape) < 0.05, number, v).astype(np.float32) for v in whole)
        np.testing.assert_array_equal(fast(x, y)[0], plain(x, y))
    x, y = (rng.normal(size=t.shape).astype(ml_dtypes.bfloat16).astype(np.float32) for t in types)
    made, usual, size = fast(x, y)[0], plain(x, y), plain(np.abs(x), np.abs(y))
    terms = x.shape[how["contract"][0][0]]
    bound = 2.0 ** -7 * np.abs(usual) + terms * np.finfo(np.float32).eps * size
    assert (np.abs(made - usual) <= bound).all()


def small() -> Iterator[Case]:
    for x, y, contract, batch, dtype, taken in (
            ((4, 4), (4, 4), (1, 0), (), "f32", True), ((4, 3), (5, 4), (0, 1), (), "f64", True),
            ((8, 16), (8, 16), (0, 0), (), "f32", True),
            ((8, 16), (8, 17), (0, 0), (), "f32", False),
            ((9, 2), (9, 2), (0, 0), (), "f32", False), ((1, 2), (1, 2), (0, 0), (), "f32", False),
            ((3, 3), (5, 3, 2), (1, 1), (), "f32", True), ((4,), (4,), (0, 0), (), "f32", True),
            ((3, 5, 2), (3, 2, 5), (1, 2), (0,), "f32", True),
            ((5, 3, 2), (2, 5, 3), (0, 1), (1, 2), "f32", True),
            ((4, 4), (4, 4), (1, 0), (), "bf16", False),
            ((0, 4), (4, 4), (1, 0), (), "f32", False)):
        how = {"contract": ((contract[0],), (contract[1],)), "precision": None, "preferred": None,
               "batch": ((batch[0],), (batch[-1],)) if batch else ((), ())}
        yield (f"small {x} {y} {contract} {batch} {dtype}", ops.dot_general,
               (named(dtype, *x), named(dtype, *y)), how, taken)


@pytest.mark.parametrize("case", list(small()), ids=lambda c: c[0].replace(" ", "-"))
def test_small_products_in_loops(monkeypatch, case) -> None:
    """The form is for loops alone; there whole numbers have exact sums, NaN and infinity spread as
    they do in the plain rule, and others are within the bound of a sum of so many terms."""
    _, definition, types, how, taken = case
    fn = program(case)
    assert form_taken(fn, definition, has_fences=False) is None
    inside = Place(fn, {}, NO_FACTS.is_private, in_loop=True)
    (op,) = [op for op in fn.ops if op.definition is definition]
    forms = [form.name for form in forms_of(definition)
             if form.when(op) and (form.only is None or form.only(inside, op))]
    assert ("dot.small_product" in forms) == taken
    if not taken:
        return
    numbers = (how["contract"], how["batch"])

    def loop(x, y):
        return xfront.lax.fori_loop(0, 3, lambda i, t: t + xfront.lax.dot_general(x, y, numbers),
                                    xfront.lax.dot_general(x, y, numbers))

    rng = np.random.default_rng(0)
    whole = [rng.integers(-9, 10, t.shape).astype(t.dtype.numpy) for t in types]
    special = [np.where(rng.random(x.shape) < 0.1, number, x).astype(x.dtype)
               for x, number in zip(whole, (np.nan, np.inf), strict=True)]
    given = [rng.normal(size=x.shape).astype(x.dtype) for x in whole]
    with xfront.enable_x64():
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            f = xfront.jit(lambda x, y: loop(x, y))
            made.append([np.asarray(f.lower(*xs).compile()(*xs))
                         for xs in (whole, special, given, [np.abs(x) for x in given])])
    (exact, spread, near, _), (exact_, spread_, near_, size) = made
    np.testing.assert_array_equal(exact, exact_)
    np.testing.assert_array_equal(spread, spread_)
    assert (np.abs(near - near_) <= 16 * np.finfo(near.dtype).eps * size).all()


@pytest.mark.parametrize("m, k, n, taken", [(4, 4, 4, True), (3, 4, 4, True), (4, 2, 8, True),
                                            (4, 4, 5, False), (2, 5, 2, False), (4, 1, 4, False)])
def test_tiny_products_in_programs(monkeypatch, m, k, n, taken) -> None:
    x, y = (np.random.default_rng(0).integers(-9, 10, s).astype(np.float32)
            for s in ((m, k), (k, n)))

    def f(x, y):
        return jnp.tanh(x @ y) + x @ y

    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        lowered = xfront.jit(lambda x, y: f(x, y)).lower(x, y)
        assert any(t.form == "dot.tiny_product" for t in lowered.forms()) == (taken and flag == "1")
        made.append(np.asarray(lowered.compile()(x, y)))
    np.testing.assert_array_equal(*made)
    alone = xfront.jit(lambda x, y: x @ y).trace(x, y).ir
    assert not lowering.lower(alone, extras=extras("eager", "cpu", 1)).forms


def stacks() -> Iterator[Case]:
    for shape, n, dtype, taken in (
            ((16, 32, 32), 2, "f32", True), ((8, 8, 16, 16), 3, "i32", True),
            ((16, 32, 32), 4, "f32", False), ((512, 32), 2, "f32", False),
            ((16, 32, 31), 2, "f32", False), ((16, 32, 32), 2, "f64", False)):
        yield (f"stack {n} {dtype} {shape}", ops.concatenate, (named(dtype, *shape, 1),) * n,
               {"dimension": len(shape)}, taken)


@pytest.mark.parametrize("case", [*products(), *stacks()], ids=lambda c: c[0].replace(" ", "-"))
def test_a_form_gives_what_its_plain_rule_gives(monkeypatch, case) -> None:
    _, definition, types, _, _ = case
    if (made := compared(case, monkeypatch)) is None:
        return
    fast, plain = made
    rng = np.random.default_rng(0)
    if definition is ops.concatenate:
        xs = [samples(t, i) for i, t in enumerate(types)]
        assert fast(*xs)[0].tobytes() == plain(*xs)[0].tobytes()
        return
    whole = [rng.integers(-4, 5, t.shape).astype(t.dtype.numpy) for t in types]
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    for number in (np.inf, -np.inf, np.nan):
        special = [np.where(rng.random(x.shape) < 0.05, number, x).astype(x.dtype) for x in whole]
        np.testing.assert_array_equal(fast(*special)[0], plain(*special)[0])
    given = [rng.normal(size=x.shape).astype(x.dtype) for x in whole]
    bound = 4 * np.finfo(whole[0].dtype).eps * plain(*map(np.abs, given))[0]
    assert (np.abs(fast(*given)[0] - plain(*given)[0]) <= bound).all()


@pytest.mark.parametrize("dtype", ["complex64", "bfloat16"])
def test_wide_products_under_grad_and_vmap(monkeypatch, dtype) -> None:
    x = np.random.default_rng(0).normal(size=(2, 205, 205)).astype(np.float32)
    x = jnp.asarray(x[0] + 1j * x[1] if dtype == "complex64" else x[0]).astype(dtype)

    def f(x):
        return jnp.sum(jnp.abs(jnp.matmul(x, x) * x.T) ** 2).astype(np.float32)

    for g, args in ((xfront.grad(f), (x,)), (xfront.vmap(jnp.matmul, (0, None)), (x[None], x))):
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            lowered = xfront.jit(lambda *a, g=g: g(*a)).lower(*args)
            wanted = {"dot.complex_product"} if dtype == "complex64" else {"dot.short_product"}
            found = {t.form for t in lowered.forms()}
            assert flag == "0" or found >= wanted or (dtype == "bfloat16" and not OLD)
            made.append(np.asarray(lowered.compile()(*args).astype(
                np.complex64 if dtype == "complex64" else np.float32)))
        scale = np.max(np.abs(made[0]))
        tolerance = 1e-6 if dtype == "complex64" else 2.0 ** -6
        np.testing.assert_allclose(made[0] / scale, made[1] / scale, rtol=0, atol=tolerance)


def test_under_grad_and_vmap(monkeypatch) -> None:
    x = np.random.default_rng(0).normal(size=(2000, 3, 3)).astype(np.float32)
    y = np.random.default_rng(1).normal(size=(2, 16, 32, 32)).astype(np.float32)

    def stacked(a, b):
        return jnp.sum(jnp.sin(jnp.stack([a * b, a + b], -1)))

    for f, args in ((xfront.vmap(lambda a: a @ a.T), (x,)),
                    (xfront.grad(lambda a: jnp.sum(jnp.tanh(a @ a))), (x,)),
                    (xfront.vmap(xfront.grad(stacked)), (y, y))):
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            compiled = xfront.jit(lambda *a, f=f: f(*a)).lower(*args).compile()
            made.append(np.asarray(compiled(*args)))
        np.testing.assert_allclose(*made, rtol=1e-5, atol=1e-5)


def test_products_of_bf16_in_f32_that_are_read_by_columns(monkeypatch) -> None:
    """XLA has no kernel that writes them by columns."""
    x, y = np.ones((2, 17, 120), np.float32), np.ones((2, 120, 17), np.float32)

    def f(x, y):
        one = lax.dot_general(x[0], y[0], (((1,), (0,)), ((), ())),
                              preferred_element_type=jnp.float32)
        each = lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))),
                               preferred_element_type=jnp.float32)
        return one.T, one.T @ jnp.ones((17, 3)), each.transpose(0, 2, 1)

    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        for made, wanted in zip(xfront.jit(lambda x, y: f(x, y))(
                jnp.asarray(x, jnp.bfloat16), jnp.asarray(y, jnp.bfloat16)),
                (120, 2040, 120), strict=True):
            np.testing.assert_array_equal(made, np.full(made.shape, wanted))
