"""Derivatives and batches of ops with bodies, against differences and loops."""

from __future__ import annotations

import numpy as np
import pytest

from xfront_ir import dtypes, ops
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient, linearize
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor

BOOL = tensor((), dtypes.bool_)


def scan_of(b, body, consts, carry, xs, length, reverse=False):
    return b.emit(ops.scan, *consts, *carry, *xs, body=body, n_consts=len(consts),
                  n_carry=len(carry), length=length, reverse=reverse, unroll=1)




WHILE = ops.REGISTRY["while"]


def test_straight_line(ir):
    def f(b, x, y):
        return [b.emit(ops.mul, b.emit(ops.sin, x), y), b.emit(ops.exp, y), x]
    ir.check(ir.trace(f, ir.f64(3), ir.f64(3)))


def test_call(ir):
    inner = ir.trace(lambda b, x, y, n: [b.emit(ops.mul, b.emit(ops.sin, x), y), n, x],
                     ir.f64(3), ir.f64(3), ir.i32())

    def f(b, x, y, n):
        z, m, x = b.emit(ops.call, x, y, n, body=inner, name="g")
        w, m, _ = b.emit(ops.call, z, z, m, body=inner, name="g")
        return [w, m, x]
    ir.check(ir.trace(f, ir.f64(3), ir.f64(3), ir.i32()))


@pytest.mark.parametrize("index", [0, 1, 2, 5, -1])
def test_cond(ir, index):
    branches = (ir.trace(lambda b, x, y: [b.emit(ops.sin, x), y], ir.f64(3), ir.f64(3)),
                ir.trace(lambda b, x, y: [b.emit(ops.mul, b.emit(ops.exp, x), y), x],
                         ir.f64(3), ir.f64(3)),
                ir.trace(lambda b, x, y: [b.full(x.type, 2.0), b.full(x.type, 1.0)],
                         ir.f64(3), ir.f64(3)))

    def f(b, i, x, y):
        a, c = b.emit(ops.cond, i, b.emit(ops.cos, x), y, branches=branches)
        return [b.emit(ops.mul, a, c), c]
    fn = ir.trace(f, ir.i32(), ir.f64(3), ir.f64(3))
    args = [np.int32(index), *ir.samples(fn)[1:]]
    ir.check_forward(fn, args)
    ir.check_reverse(fn, args)
    ir.check(fn)


def test_cond_whose_predicate_is_a_batch_hides_what_is_not_taken(ir):
    branches = (ir.trace(lambda b, x: b.full(x.type, 0.0), ir.f64()),
                ir.trace(lambda b, x: b.emit(ops.sqrt, x), ir.f64()))

    def f(b, x):
        ok = b.emit(ops.gt, x, b.zeros(x.type))
        return b.emit(ops.cond, ok, x, branches=branches)
    fn = ir.trace(f, ir.f64())
    grad, _ = vectorize(gradient(fn, (True,)), (0, 0), ("i", 3))
    _, dx = evaluate(grad, np.array([-1.0, 4.0, 0.0]), np.ones(3))
    np.testing.assert_allclose(dx, [0, 0.25, 0])
    back = gradient(vectorize(fn, (0,), ("i", 3))[0], (True,))
    _, dx = evaluate(back, np.array([-1.0, 4.0, 0.0]), np.ones(3))
    np.testing.assert_allclose(dx, [0, 0.25, 0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [4, 1, 0])
def test_scan(ir, reverse, length):
    def body(b, w, c, i, z, x):
        new = b.emit(ops.mul, b.emit(ops.sin, b.emit(ops.mul, w, c)), b.emit(ops.cos, x))
        one = b.full(i.type, 1)
        return [new, b.emit(ops.add, i, one), z, b.emit(ops.mul, new, x), i, z]
    inner = ir.trace(body, ir.f64(2), ir.f64(2), ir.i32(), ir.f64(2), ir.f64(2))

    def f(b, w, c, xs):
        c, i, z, ys, n, zs = scan_of(b, inner, [b.emit(ops.exp, w)],
                                     [c, b.full(ir.i32(), 0), b.full(c.type, 3.0)], [xs], length,
                                     reverse)
        return [c, ys, i, n, z, zs]
    ir.check(ir.trace(f, ir.f64(2), ir.f64(2), ir.f64(length, 2)), second=length != 1)


def test_scan_batches_only_what_depends_on_the_batch(ir):
    def body(b, w, c, d, x):
        return [b.emit(ops.mul, c, w), b.emit(ops.add, d, x), d]
    inner = ir.trace(body, ir.f64(), ir.f64(), ir.f64(), ir.f64())

    def f(b, w, c, d, xs):
        return scan_of(b, inner, [w], [c, d], [xs], 5)
    fn = ir.trace(f, ir.f64(), ir.f64(), ir.f64(), ir.f64(5))
    moved, places = vectorize(fn, (0, None, None, None), ("i", 3))
    assert places == (0, None, None)
    ir.check_batch(fn, (0, None, None, None))
    ir.check_batch(fn, (None, None, None, 1))
    ir.check_batch(fn, (None, None, None, 0))


def test_scan_saves_only_what_is_read_and_stacks_no_constant(ir):
    def body(b, w, c, x):
        s = b.emit(ops.sin, w)                   # the same in every turn
        return [b.emit(ops.mul, b.emit(ops.mul, c, s), x), b.emit(ops.exp, w)]
    inner = ir.trace(body, ir.f64(3), ir.f64(3), ir.f64(3))

    def f(b, w, c, xs):
        return scan_of(b, inner, [w], [c], [xs], 4)[0]
    fn = ir.trace(f, ir.f64(3), ir.f64(3), ir.f64(4, 3))
    parts = linearize(fn, (False, True, False))
    saved = [t for t in parts.forward.return_types[1:]]
    assert saved == [ir.f64(3)], saved           # sin(w) once; xs is forwarded by index
    assert ("param", 2) in parts.residuals
    ir.check(fn)


def test_scan_in_scan(ir):
    inner = ir.trace(lambda b, w, c, x: [b.emit(ops.sin, b.emit(ops.mul, c, w)),
                                         b.emit(ops.mul, c, x)], ir.f64(), ir.f64(), ir.f64())

    def outer(b, w, xs, c):
        c, ys = scan_of(b, inner, [w], [c], [xs], 3)
        return [c, b.emit(ops.reduce_sum, ys, axes=(0,))]
    middle = ir.trace(outer, ir.f64(), ir.f64(3), ir.f64())

    def f(b, w, xs, c):
        return scan_of(b, middle, [w, xs], [c], [], 2)
    ir.check(ir.trace(f, ir.f64(), ir.f64(3), ir.f64()))


def test_cond_in_scan_in_call(ir):
    branches = (ir.trace(lambda b, c, x: b.emit(ops.sin, c), ir.f64(), ir.f64()),
                ir.trace(lambda b, c, x: b.emit(ops.mul, c, x), ir.f64(), ir.f64()))

    def body(b, c, x):
        (c,) = b.emit(ops.cond, b.emit(ops.lt, c, x), c, x, branches=branches)
        return [c, c]
    inner = ir.trace(body, ir.f64(), ir.f64())
    called = ir.trace(lambda b, c, xs: scan_of(b, inner, [], [c], [xs], 4), ir.f64(), ir.f64(4))

    def f(b, c, xs):
        return b.emit(ops.call, c, xs, body=called, name="g")
    ir.check(ir.trace(f, ir.f64(), ir.f64(4)))


def doubling(ir):
    """x doubled, and multiplied by w, until it passes the limit."""
    test = ir.trace(lambda b, lim, x, n: b.emit(ops.lt, x, lim), ir.f64(), ir.f64(), ir.i32())

    def body(b, w, x, n):
        return [b.emit(ops.mul, b.emit(ops.add, x, x), w), b.emit(ops.add, n, b.full(n.type, 1))]
    turn = ir.trace(body, ir.f64(), ir.f64(), ir.i32())

    def f(b, lim, w, x):
        return b.emit(WHILE, lim, w, x, b.full(ir.i32(), 0), cond=test, body=turn,
                      n_cond_consts=1, n_body_consts=1)
    return ir.trace(f, ir.f64(), ir.f64(), ir.f64())


def test_while(ir):
    fn = doubling(ir)
    args = [np.float64(20.0), np.float64(1.1), np.float64(0.7)]
    ir.check_forward(fn, args)
    ir.check_forward(jvp(fn, (True, True, True))[0], [*args, *args], tol=1e-5)
    batch = [np.array([20.0, 1.0, 900.0]), np.array([1.1, 0.9, 1.3]), np.array([0.7, 3.0, 0.2])]
    for positions in [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)]:
        given = [x if p == 0 else x[0] for x, p in zip(batch, positions, strict=True)]
        ir.check_batch(fn, positions, args=given)
    many, _ = vectorize(fn, (0, 0, 0), ("i", 3))
    ir.check_forward(many, batch)


def test_batched_while_with_a_loop_inside_ends(ir):
    """A lane that is done must not run the inner loop, which would not end on its values."""
    inner_test = ir.trace(lambda b, y, k: b.emit(ops.ne, k, y), ir.i32(), ir.i32())
    inner_body = ir.trace(lambda b, k: b.emit(ops.add, k, b.full(k.type, 1)), ir.i32())

    def body(b, y):                              # counts to y: never ends where y is negative
        (k,) = b.emit(WHILE, y, b.full(y.type, 0), cond=inner_test, body=inner_body,
                      n_cond_consts=1, n_body_consts=0)
        return b.emit(ops.sub, k, b.full(k.type, 2))
    turn = ir.trace(body, ir.i32())
    test = ir.trace(lambda b, y: b.emit(ops.gt, y, b.full(y.type, 0)), ir.i32())

    def f(b, y):
        return b.emit(WHILE, y, cond=test, body=turn, n_cond_consts=0, n_body_consts=0)
    ir.check_batch(ir.trace(f, ir.i32()), args=[np.array([1, 6, 3], np.int32)])


def test_keys_pass_through_a_cond_by_lane(ir):
    key = tensor((), dtypes.key_fry)
    branches = (ir.trace(lambda b, k: k, key),
                ir.trace(lambda b, k: b.emit(ops.random_wrap, b.emit(
                    ops.add, b.emit(ops.random_unwrap, k), b.full(tensor((2,), dtypes.u32), 5)),
                    impl="fry"), key))
    fn = ir.trace(lambda b, p, k: b.emit(ops.cond, p, k, branches=branches), BOOL, key)
    moved, places = vectorize(fn, (0, None), ("i", 3))
    assert places == (0,)
    got = evaluate(moved, np.array([True, False, True]), np.array([1, 2], np.uint32))[0]
    np.testing.assert_array_equal(got, [[6, 7], [1, 2], [6, 7]])
    moved, _ = vectorize(fn, (0, 0), ("i", 2))
    got = evaluate(moved, np.array([True, False]), np.array([[1, 2], [3, 4]], np.uint32))[0]
    np.testing.assert_array_equal(got, [[6, 7], [3, 4]])


def test_lanes_of_one_test_move_their_batch_where_the_body_leaves_it(ir):
    """The condition counts turns, which all lanes share."""
    test = ir.trace(lambda b, n, x, y: b.emit(ops.lt, n, b.full(n.type, 3)), ir.i32(), ir.f64(2),
                    ir.f64(2))

    def turn(b, w, n, x, y):
        return [b.emit(ops.add, n, b.full(n.type, 1)), b.emit(ops.mul, x, w),
                b.emit(ops.add, y, b.emit(ops.sin, x))]
    body = ir.trace(turn, ir.f64(2), ir.i32(), ir.f64(2), ir.f64(2))

    def f(b, w, x, y):
        _, x, y = b.emit(ops.REGISTRY["while"], w, b.full(ir.i32(), 0), x, y, cond=test, body=body,
                         n_cond_consts=0, n_body_consts=1)
        return [x, y]
    fn = ir.trace(f, ir.f64(2), ir.f64(2), ir.f64(2))
    for places in ((0, None, None), (None, 1, None), (None, None, 1), (1, 0, 1), (1, 1, None)):
        ir.check_batch(fn, places)
        (op,) = [op for op in vectorize(fn, places, ("i", 3))[0].ops
                 if op.definition.name == "while"]
        assert op.attrs["cond"].return_types == (tensor((), dtypes.bool_),)
