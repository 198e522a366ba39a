"""Forms of products of tiny matrices and of stacks against the plain rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import lowering
import xfront
import xfront.numpy as jnp
from lowering.cpu import registry
from lowering.cpu.extras import extras
from tests.lowering.cpu.against_plain import (
    Case,
    named,
    program,
    samples,
    takes_a_form,
    variants,
)
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
            (256, 128, 128, "f32", (0, 0), True), (300, 130, 257, "f32", (0, 0), True),
            (255, 128, 128, "f32", (0, 0), False), (256, 127, 128, "f32", (0, 0), False),
            (256, 128, 127, "f32", (0, 0), False), (256, 128, 128, "f64", (0, 0), False),
            (256, 256, 256, "f32", (1, 1), False)):
        how = {"contract": ((contract[0],), (contract[1],)), "batch": ((), ()), "precision": None,
               "preferred": None}
        yield (f"by rows {k} {m} {n} {dtype} {contract}", ops.dot_general,
               (named(dtype, k, m), named(dtype, k, n)), how, taken)


@pytest.mark.parametrize("case", list(by_rows()), ids=lambda c: c[0].replace(" ", "-"))
def test_products_by_rows(monkeypatch, case) -> None:
    """Whole numbers have exact sums; NaN and infinity stay in their rows and columns; others are
    within the bound of a sum of so many terms."""
    _, definition, types, _, taken = case
    fn = program(case)
    assert takes_a_form(fn, definition) == taken
    if not taken:
        return
    fast, plain = variants(fn, monkeypatch)
    rng = np.random.default_rng(0)
    whole = [rng.integers(-9, 10, t.shape).astype(np.float32) for t in types]
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    whole[0][3, 5], whole[1][4, 6], whole[1][3, 7] = np.nan, np.inf, 0
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    x, y = (rng.normal(size=t.shape).astype(np.float32) for t in types)
    bound = x.shape[0] * np.finfo(np.float32).eps * (np.abs(x).T @ np.abs(y))
    exact = x.T.astype(np.float64) @ y.astype(np.float64)
    assert (np.abs(fast(x, y)[0] - exact) <= bound).all()


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
    (op,) = [op for op in program(case).ops if op.definition is definition]
    assert registry.chosen(op) is None
    assert (registry.chosen(op, registry.in_loops) is not None) == taken
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
    assert not lowering.lower(alone, extras=extras("eager", "cpu", 1))._built.forms


def stacks() -> Iterator[Case]:
    for shape, n, dtype, taken in (
            ((16, 32, 32), 2, "f32", True), ((8, 8, 16, 16), 3, "i32", True),
            ((16, 32, 32), 4, "f32", False), ((512, 32), 2, "f32", False),
            ((16, 32, 31), 2, "f32", False), ((16, 32, 32), 2, "f64", False)):
        yield (f"stack {n} {dtype} {shape}", ops.concatenate, (named(dtype, *shape, 1),) * n,
               {"dimension": len(shape)}, taken)


@pytest.mark.parametrize("case", [*products(), *stacks()], ids=lambda c: c[0].replace(" ", "-"))
def test_a_form_gives_what_its_plain_rule_gives(monkeypatch, case) -> None:
    _, definition, types, how, taken = case
    fn = program(case)
    assert takes_a_form(fn, definition) == taken
    if not taken:
        return
    fast, plain = variants(fn, monkeypatch)
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
