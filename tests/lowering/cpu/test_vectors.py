"""Products with vectors: which programs are compiled without the pass that makes them matrices, and
that their numbers are those that it gives."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.cpu import vectors
from tests.lowering.cpu.against_plain import named
from xfront_ir import ops

PRODUCTS = (
    ((5, 7), (7,), "ij,j->i"), ((7,), (7, 5), "j,ji->i"), ((7, 5), (7,), "ji,j->i"),
    ((7,), (7,), "i,i->"), ((3, 5, 7), (3, 7), "bij,bj->bi"), ((5, 7), (7, 1), "ij,jk->ik"),
    ((7, 1), (5, 7), "jk,ij->ki"), ((1, 7), (7, 1), "ij,jk->ik"), ((1, 7), (7, 6), "ij,jk->ik"),
    ((0, 7), (7,), "ij,j->i"), ((5, 0), (0,), "ij,j->i"), ((5, 7), (5, 7), "ij,ij->"),
    ((2, 1, 7), (2, 7, 1), "bij,bjk->bik"), ((300, 40), (40,), "ij,j->i"),
    ((40, 300), (40,), "ij,i->j"), ((33, 1), (1,), "ij,j->i"), ((9,), (9, 1), "i,ij->j"))


def product(func, dtype, *shapes):
    """A product of a matrix and what is given, which sums the last axis of the first."""
    return func([named(dtype, *shape) for shape in shapes], lambda b, x, y: [
        b.emit(ops.dot_general, x, y, contract=((1,), (0,)), batch=((), ()), precision=None,
               preferred=None)])


@pytest.mark.parametrize("dtype, shapes, chosen", (
    ("f32", ((5, 7), (7,)), True), ("f64", ((5, 7), (7, 1)), True), ("f32", ((1, 7), (7, 3)), True),
    ("f32", ((5, 7), (7, 3)), False), ("bf16", ((5, 7), (7,)), False),
    ("c64", ((5, 7), (7,)), False)))
def test_which(func, dtype, shapes, chosen) -> None:
    assert bool(vectors.options(product(func, dtype, *shapes))) == chosen


def test_one_product_of_other_numbers_keeps_the_pass(func) -> None:
    def both(b, *operands):
        return [b.emit(ops.dot_general, x, y, contract=((1,), (0,)), batch=((), ()), precision=None,
                       preferred=None) for x, y in (operands[:2], operands[2:])]

    types = [named("f32", 5, 7), named("f32", 7), named("bf16", 5, 7), named("bf16", 7)]
    assert not vectors.options(func(types, both))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_numbers_are_those_with_the_pass(dtype) -> None:
    rng = np.random.default_rng(0)
    with xfront.enable_x64(True):
        operands = [jnp.asarray(rng.normal(size=shape).astype(dtype))
                    for *shapes, _ in PRODUCTS for shape in shapes]

        def run(*operands):
            return [jnp.einsum(text, *operands[2 * i:2 * i + 2])
                    for i, (*_, text) in enumerate(PRODUCTS)]

        got = xfront.jit(run)(*operands)
        want = xfront.jit(run, compiler_options={"xla_disable_hlo_passes": ""})(*operands)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


def test_loops_keep_the_pass_on_the_older_jaxlib() -> None:
    def total(w, rows):
        return xfront.lax.scan(lambda carry, row: (carry + w @ row, None), rows[0], rows)[0]

    function = xfront.jit(total).trace(jnp.ones((4, 4)), jnp.ones((3, 4))).ir
    assert bool(vectors.options(function)) != compat.HAS_FUSION_EMITTER_OPTION


def test_no_kernel_copies_a_vector() -> None:
    x, w = jnp.ones((64, 16)), jnp.ones((16, 1))
    assert "fusion" not in xfront.jit(jnp.matmul).lower(x, w).compile().as_text()
