"""Collectives over the axis of vmap, against what they mean over all lanes."""

from __future__ import annotations

import numpy as np
import pytest

from xfront_ir import ops
from xfront_ir.errors import IRTypeError, MissingRule
from xfront_ir.opdef import NAMES, define
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient
from xfront_ir.passes.varying import varying
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate

N = 4
OVER = {"axes": ("i",), "sizes": (N,)}
ALL = {**OVER, "groups": None}


def lanes(fn, out, *arrays, places=None):
    places = places or (0,) * len(arrays)
    return evaluate(vectorize(fn, places, ("i", N), (out,))[0], *arrays)[0]


def test_sums_and_extrema(ir):
    x = np.random.default_rng(0).normal(size=(N, 3))
    for name, f in (("psum", np.sum), ("pmax", np.max), ("pmin", np.min)):
        op = ops.REGISTRY[name]
        fn = ir.trace(lambda b, x, op=op: b.emit(op, x, **ALL), ir.f64(3))
        assert vectorize(fn, (0,), ("i", N))[1] == (None,)
        np.testing.assert_allclose(lanes(fn, 0, x), np.broadcast_to(f(x, 0), (N, 3)))
        same = evaluate(vectorize(fn, (None,), ("i", N))[0], x[0])[0]
        np.testing.assert_allclose(same, N * x[0] if name == "psum" else x[0])


def test_all_gather_and_its_transpose(ir):
    x = np.random.default_rng(0).normal(size=(N, 3, 2))
    for d in (0, 1, 2):
        fn = ir.trace(lambda b, x, d=d: b.emit(ops.all_gather, x, dimension=d, tiled=False, **ALL),
                      ir.f64(3, 2))
        np.testing.assert_array_equal(lanes(fn, 0, x)[1], np.moveaxis(x, 0, d))
        same = vectorize(fn, (None,), ("i", N))
        np.testing.assert_array_equal(evaluate(same[0], x[0])[0], np.stack([x[0]] * N, d))
    for d in (0, 1):
        fn = ir.trace(lambda b, x, d=d: b.emit(ops.all_gather, x, dimension=d, tiled=True, **ALL),
                      ir.f64(3, 2))
        np.testing.assert_array_equal(lanes(fn, 0, x)[2], np.concatenate(list(x), d))
    y = np.random.default_rng(0).normal(size=(N, 3, 2 * N))
    fn = ir.trace(lambda b, y: b.emit(ops.psum_scatter, y, dimension=1, tiled=True, **ALL),
                  ir.f64(3, 2 * N))
    got = lanes(fn, 0, y)
    for i in range(N):
        np.testing.assert_allclose(got[i], y.sum(0)[:, 2 * i:2 * i + 2])


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("concat", [0, 1, 2])
def test_all_to_all(ir, tiled, split, concat):
    shape = [3, 2, 5]
    shape[split] = 2 * N if tiled else N
    fn = ir.trace(lambda b, x: b.emit(ops.all_to_all, x, split=split, concat=concat, tiled=tiled,
                                      **ALL), ir.f64(*shape))
    x = np.random.default_rng(0).normal(size=(N, *shape))
    got = lanes(fn, 0, x)
    for i in range(N):
        if tiled:
            pieces = [np.split(x[j], N, split)[i] for j in range(N)]
            wanted = np.concatenate(pieces, concat)
        else:
            wanted = np.stack([np.take(x[j], i, split) for j in range(N)], concat)
        np.testing.assert_array_equal(got[i], wanted)
    assert fn.return_types[0].shape == wanted.shape
    ir.check_reverse(vectorize(fn, (0,), ("i", N))[0])


@pytest.mark.parametrize("perm", [((0, 1), (1, 2), (2, 3), (3, 0)), ((0, 2), (3, 1)), ()])
def test_ppermute(ir, perm):
    fn = ir.trace(lambda b, x: b.emit(ops.ppermute, x, perm=perm, **OVER), ir.f64(2))
    x = np.random.default_rng(0).normal(size=(N, 2))
    wanted = np.zeros_like(x)
    for s, d in perm:
        wanted[d] = x[s]
    np.testing.assert_array_equal(lanes(fn, 0, x), wanted)
    wanted = np.zeros_like(x)
    for _, d in perm:
        wanted[d] = x[0]
    np.testing.assert_array_equal(lanes(fn, 0, x[0], places=(None,)), wanted)


def test_axis_index_over_several_names(ir):
    fn = ir.trace(lambda b: b.emit(ops.axis_index, axes=("i", "j"), sizes=(N, 3)))
    inner = vectorize(fn, (), ("j", 3))[0]
    both = vectorize(inner, (), ("i", N), (0,))[0]
    np.testing.assert_array_equal(evaluate(both)[0].reshape(-1), np.arange(12))
    outer = vectorize(vectorize(fn, (), ("i", N))[0], (), ("j", 3), (1,))[0]
    np.testing.assert_array_equal(evaluate(outer)[0].reshape(-1), np.arange(12))


def test_psum_over_two_names_and_derivative(ir):
    fn = ir.trace(lambda b, x: b.emit(ops.sin, b.emit(
        ops.psum, b.emit(ops.mul, x, x), axes=("i", "j"), sizes=(N, 3), groups=None)), ir.f64())
    x = np.random.default_rng(0).normal(size=(N, 3))
    ct = np.random.default_rng(1).normal(size=(N, 3))
    # The derivative of each lane is taken before the lanes are mapped: cotangents are summed.
    grad = gradient(fn, (True,))
    both = vectorize(vectorize(grad, (0, 0), ("j", 3))[0], (0, 0), ("i", N), (0, 0))[0]
    _, dx = evaluate(both, x, ct)
    total = np.sum(x * x)
    np.testing.assert_allclose(dx, 2 * x * np.sum(ct * np.cos(total)))


def test_a_collective_in_a_body_is_resolved_where_no_operand_is_batched(ir):
    body = ir.trace(lambda b, c: b.emit(ops.psum, c, **ALL), ir.f64())

    def f(b, c):
        return b.emit(ops.scan, c, body=body, n_consts=0, n_carry=1, length=2, reverse=False,
                      unroll=1)
    fn = ir.trace(f, ir.f64())
    moved, places = vectorize(fn, (None,), ("i", N))
    assert places == (None,)
    assert evaluate(moved, 1.5)[0] == 1.5 * N * N
    np.testing.assert_allclose(lanes(fn, 0, np.arange(4.0)), [24.0] * 4)


def test_a_body_that_reads_neither_batch_nor_axis_stays(ir):
    body = ir.trace(lambda b, c: b.emit(ops.sin, c), ir.f64())
    fn = ir.trace(lambda b, c: b.emit(ops.scan, c, body=body, n_consts=0, n_carry=1, length=2,
                                      reverse=False, unroll=1), ir.f64())
    assert vectorize(fn, (None,), ("i", N))[0].ops[0].attrs["body"] is body


def test_other_axes_keep_their_collective(ir):
    fn = ir.trace(lambda b, x: b.emit(ops.all_gather, x, dimension=1, tiled=False, **ALL),
                  ir.f64(3))
    moved, places = vectorize(fn, (1,), ("other", 2))
    assert places == (0,)
    (op,) = [op for op in moved.ops if op.definition is ops.all_gather]
    assert op.attrs["dimension"] == 2
    assert moved.returns[0].type is ir.f64(2, 3, N)


@pytest.fixture
def alone():
    """An op that nothing is known of but its type."""
    yield define("collective_test_op", infer=lambda types, attrs: types, operands=1)
    del ops.REGISTRY["collective_test_op"]


def test_an_op_without_a_rule_is_refused_by_name(ir, alone):
    fn = ir.trace(lambda b, x: b.emit(alone, x), ir.f64())
    with pytest.raises(MissingRule, match="collective_test_op"):
        vectorize(fn, (0,), ("i", N))
    assert vectorize(fn, (None,), ("i", N))[0].ops[0].definition is alone


@pytest.fixture
def reader():
    """An op that reads an axis, and has no rule on what varies over it."""
    yield define("collective_test_reader", attrs={"axes": NAMES}, operands=1,
                 infer=lambda types, attrs: types, mentions_axis=lambda attrs: attrs["axes"])
    del ops.REGISTRY["collective_test_reader"]


def test_an_op_that_reads_an_axis_needs_a_rule_where_it_is_followed(ir, reader):
    fn = ir.trace(lambda b, x: b.emit(reader, x, axes=("i",)), ir.f64())
    with pytest.raises(MissingRule, match="reads 'i', an axis of a shard_map"):
        varying(fn, (frozenset(),), (("i", N),))
    assert varying(fn, (frozenset(),), (("j", N),))[1] == (frozenset(),)


def test_refusals(ir):
    with pytest.raises(IRTypeError, match="distinct"):
        ir.trace(lambda b, x: b.emit(ops.ppermute, x, perm=((0, 1), (0, 2)), **OVER), ir.f64())
    fn = ir.trace(lambda b, x: b.emit(ops.psum, x, **OVER, groups=((0, 1), (2, 3))), ir.f64())
    with pytest.raises(MissingRule, match="axis_index_groups"):
        vectorize(fn, (0,), ("i", N))
    fn = ir.trace(lambda b, x: b.emit(ops.pmax, x, **ALL), ir.f64())
    with pytest.raises(NotImplementedError, match="pmax"):
        jvp(fn, (True,))
