"""Which ops take a form, on both sides of what its condition says. Nothing is compiled; the values
of forms are compared with those of plain rules in the files of their families."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lowering.cpu import fences, libraries
from lowering.forms import placing
from lowering.forms.emitted import MANY, emitted
from lowering.forms.registry import forms_of, written
from tests.lowering.cpu.against_plain import Case, form_taken, named, program
from tests.lowering.cpu.test_conv_forms import GRADIENT, attrs, line, square
from tests.op_table.gathering import _gather
from xfront_ir import dtypes, ops


def of_two(name: str | None, shapes: tuple, how: dict) -> Case:
    """A convolution of f32."""
    types = tuple(named("f32", *shape) for shape in shapes)
    return str((shapes, how)), ops.conv_general_dilated, types, how, name


def convolutions() -> Iterator[Case]:
    once = (4, 6, 6, 32), (4, 6, 6, 8)                       # the window fits only once
    for padding, name in ((((0, 0), (0, 0)), "conv.product"), (((-1, 1), (0, 0)), None),
                          (((1, 0), (0, 0)), None), (((0, 0), (-1, 2)), None)):
        yield of_two(name, once, attrs(2, **{**GRADIENT, "padding": padding}))
    for spec, shapes, name in (((0, 2, 1, 3), ((32, 6, 4, 6), (8, 6, 4, 6)), "conv.product"),
                               ((2, 0, 1, 3), ((4, 6, 32, 6), (4, 6, 8, 6)), None),
                               ((1, 0, 2, 3), ((4, 32, 6, 6), (4, 8, 6, 6)), None)):
        yield of_two(name, shapes, attrs(2, lhs_spec=spec, rhs_spec=spec, out_spec=(2, 3, 0, 1)))
    yield line("conv.in_rows", 2 ** 18, 257, 0)
    yield line(None, 2 ** 18 + 1, 257, 0)
    yield line("conv.in_chunks", 2 ** 18 + 1, 256, 0)
    for last in (True, False):
        for groups, depth, width, taken in ((2, 8, 16, True), (8, 16, 8, True), (9, 16, 16, False),
                                            (1, 16, 16, False), (4, 7, 64, False),
                                            (4, 64, 7, False)):
            yield square("conv.one_by_one" if taken else None, "f32", 2, 48, groups, depth, width,
                         last=last)
    yield square(None, "f32", 2, 20, 2, 16, 32)
    yield square("conv.one_by_one", "f32", 3, 20, 2, 16, 32)


def products() -> Iterator[Case]:
    """Of batches, by the number of products: of the rows of one with columns, or with rows."""
    for lhs, rhs, right, least in (((2, 4), (2, 4), 2, 512), ((2, 4), (4, 2), 1, 512),
                                   ((4, 2), (4, 2), 2, 256), ((4, 2), (2, 4), 1, 256),
                                   ((3, 3), (3, 3), 1, 304)):
        for batch, taken in ((least, True), (least - 1, False)):
            how = {"contract": ((2,), (right,)), "batch": ((0,), (0,)), "precision": None,
                   "preferred": None}
            yield (f"{lhs} {rhs} {right} of {batch}", ops.dot_general,
                   (named("f32", batch, *lhs), named("f32", batch, *rhs)), how,
                   "dot.dot_general" if taken else None)


def stacks() -> Iterator[Case]:
    for n, taken in ((1, False), (2, True), (3, True), (4, False)):
        yield (f"stack of {n}", ops.concatenate, (named("f32", 16, 32, 32, 1),) * n,
               {"dimension": 3}, "indexing.concatenate" if taken else None)


@pytest.mark.parametrize("case", [*convolutions(), *products(), *stacks()], ids=lambda c: c[0])
def test_which(case: Case) -> None:
    assert form_taken(program(case), case[1]) == case[-1]


@pytest.mark.parametrize("n, joined", [(2, True), (3, True), (4, False)])
def test_matrices_of_more_than_nine_entries_are_chosen(n: int, joined: bool) -> None:
    """XLA makes a kernel of each part of a concatenation."""
    (form,) = [form for form in forms_of(ops.cholesky) if form.name == "linalg.cholesky"]
    body, _ = written(form, (named("f32", 2 ** 13, n, n),), ())
    assert (ops.concatenate in [op.definition for op in body.ops]) is joined


def test_what_a_fence_costs() -> None:
    """A kernel's start, and a write and a read of each element, for each kernel that it makes; what
    is computed again must cost more. Much that is repeated is always worth a kernel."""
    dear = fences._is_dear
    one = fences.START + fences.STORE * 100                  # of a value of 100 elements
    assert one == 5200
    for times in (1, 2, 3):
        assert dear(20, 100, 100 + one * times / 20, 2, times)
        assert not dear(20, 100, 100 + one * times / 20 - 1, 2, times)
    assert dear(12, 100, 1e9, 2) and not dear(11, 100, 1e9, 2)
    assert dear(128, 100, 0, 2) and not dear(127, 100, 0, 2) and dear(64, 100, 0, 3)
    assert not dear(128, 100, 0, 2, 2) and dear(128, 100, 0, 3, 2)


@pytest.mark.parametrize("reverse, operations, near", [
    (False, 3, True), (False, 4, False), (True, 1, True), (True, 2, False)])
def test_rows_of_a_loop_are_near_memory(func: Any, reverse: bool, operations: int, near: bool
                                        ) -> None:
    """A row of two axes is 4 operations away from it, 6 if the loop counts down."""
    def turn(b, x):
        for _ in range(operations):
            x = b.emit(ops.neg, x)
        return [b.emit(ops.reduce_sum, x, axes=(1,))]

    rows = named("f32", 2 ** 14, 4)
    body = func([rows], turn)
    fn = func([named("f32", 3, 2 ** 14, 4)], lambda b, xs: list(b.emit(
        ops.scan, xs, body=body, n_consts=0, n_carry=0, length=3, reverse=reverse, unroll=1)))
    assert bool(list(placing.taken(placing.place_forms(fn)))) is near


def test_operations_of_ops_with_bodies_and_of_choices(func: Any) -> None:
    """A branch is chosen by its index; loops of one turn are written out, others are in memory. A
    choice between keys spreads an array of predicates to their words, and a gather of what lies
    inside is none."""
    x = named("f32", 3)
    same = func([x], lambda b, x: [b.emit(ops.neg, x)])

    def count(types: Any, make: Any) -> tuple[int, int]:
        n, read = emitted(func(types, make).ops[-1])
        return n, len(read)

    for index, n in ((named("bool"), 1), (named("i32"), 3)):
        assert count([index, x], lambda b, i, x: list(
            b.emit(ops.cond, i, x, branches=(same, same)))) == (n, 1)
    for length, unroll, n in ((2, 1, 0), (1, 1, MANY), (4, 4, MANY), (4, 2, 0)):
        assert count([x], lambda b, x, length=length, unroll=unroll: list(b.emit(
            ops.scan, x, body=same, n_consts=0, n_carry=1, length=length, reverse=False,
            unroll=unroll))) == (n, 0)
    for mode, n in (("clip", 0), ("fill", MANY)):
        how = _gather((), (0,), (), (), (0,), (1,), mode)
        assert count([x, named("i32", 2, 1)], lambda b, x, i, how=how: [
            b.emit(ops.gather, x, i, **how)]) == (n, 0)
    for shape, n in (((), 1), ((3,), 2), ((2, 3), 2)):
        keys = named("key<fry>", *shape or (3,))
        assert count([named("bool", *shape), keys, keys], lambda b, *xs: [
            b.emit(ops.select, *xs)]) == (n, 3)
        assert count([named("i32", *shape), keys, keys, keys], lambda b, *xs: [
            b.emit(ops.select_n, *xs)]) == (2 * (n + 2), 4)


def test_sums_of_what_is_repeated_in_several_ways(func: Any) -> None:
    """A value that repeats itself along its axis is repeated along another one: operations on it
    keep both."""
    def f(b, a):
        twice = b.emit(ops.broadcast_in_dim, a, shape=(2, 64), dims=(1,))
        mixed = b.emit(ops.reshape, twice, shape=(128,))
        wide = b.emit(ops.broadcast_in_dim, mixed, shape=(64, 128), dims=(1,))
        return [b.emit(ops.reduce_sum, b.emit(ops.neg, wide), axes=(0,))]

    fn = func([named("f32", 64)], f)
    assert form_taken(fn, ops.reduce_sum) == "repeated.sum_of_repeated"


def test_products_over_two_axes_choose_no_library(func: Any) -> None:
    """Those over one axis of as many terms do."""
    def chosen(lhs: tuple, rhs: tuple, contract: tuple) -> bool:
        return bool(libraries.options(func(
            [named("f32", *lhs), named("f32", *rhs)] * 4, lambda b, *xs: [
                b.emit(ops.dot_general, x, y, contract=contract, batch=((), ()), precision=None,
                       preferred=None) for x, y in zip(xs[::2], xs[1::2])]), True))

    assert chosen((256, 128), (128, 128), ((1,), (0,)))
    assert not chosen((256, 8, 16), (16, 8, 128), ((2, 1), (0, 1)))


@pytest.mark.parametrize("dtype, table, taken", [
    ("f32", (64, 64), True), ("f64", (64, 64), True), ("f32", (64, 63), False),
    ("bf16", (64, 64), False), ("i32", (64, 64), False), ("c64", (64, 64), False),
    ("f32", (64, 8, 8), False)])
def test_rows_of_tables(func: Any, dtype: str, table: tuple[int, ...], taken: bool) -> None:
    """Of f32 or f64 with two axes, and 2**20 products or more."""
    def f(b, i, table):
        wide = b.emit(ops.broadcast_in_dim, i, shape=(256, 64), dims=(0,))
        numbers = b.emit(ops.iota, dtype=dtypes.i32, shape=(256, 64), dimension=1)
        hot = b.emit(ops.convert, b.emit(ops.eq, wide, numbers), dtype=table.type.dtype)
        return [b.emit(ops.dot_general, hot, table, contract=((1,), (0,)), batch=((), ()),
                       precision=None, preferred=None)]

    fn = func([named("i32", 256), named(dtype, *table)], f)
    assert (form_taken(fn, ops.dot_general) == "dot.rows") is taken
