"""The clean-up passes: what they change, that values stay, that a second run changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.fingerprint import skeleton
from xfront_ir.locations import capture
from xfront_ir.opdef import Pending, Request
from xfront_ir.passes.bypass import bypass
from xfront_ir.passes.common_subexpressions import common_subexpressions
from xfront_ir.passes.dead_code import dead_code
from xfront_ir.passes.fold_constants import fold_constants
from xfront_ir.passes.hoist import hoist
from xfront_ir.passes.inline import expand, inline, inline_calls, inline_pending, settle
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient, linearize
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.pipeline import PASSES, simplify
from xfront_ir.passes.transpose import transpose
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor
from xfront_ir.verifier import verify

WHILE = ops.REGISTRY["while"]


def names(fn):
    return [op.definition.name for op in fn.ops]


def same_values(ir, fn, made):
    verify(made)
    args = ir.samples(fn)
    for x, y in zip(evaluate(fn, *args), evaluate(made, *args), strict=True):
        np.testing.assert_array_equal(x, y)


def applied(ir, change, fn):
    made = change(fn)
    same_values(ir, fn, made)
    assert change(made) is made
    return made


def scan_of(b, body, consts, carry, xs, length):
    return b.emit(ops.scan, *consts, *carry, *xs, body=body, n_consts=len(consts),
                  n_carry=len(carry), length=length, reverse=False, unroll=1)


# --- on ops --------------------------------------------------------------------------------

def test_dead_code_and_common(ir):
    def f(b, x):
        b.emit(ops.cos, x)
        y, z = b.emit(ops.sin, x), b.emit(ops.sin, x)
        return b.emit(ops.mul, y, z)
    fn = ir.trace(f, ir.f64(3))
    assert names(applied(ir, dead_code, fn)) == ["sin", "sin", "mul"]
    assert names(applied(ir, common_subexpressions, fn)) == ["cos", "sin", "mul"]


def test_common_tells_attributes_and_literals_apart(ir):
    def f(b, x):
        y = b.emit(ops.add, b.literal(0.0, dtypes.f64, (3,)), b.literal(-0.0, dtypes.f64, (3,)))
        z = b.emit(ops.add, b.emit(ops.reduce_sum, x, axes=(0,)),
                   b.emit(ops.reduce_sum, x, axes=(1,)))
        return [y, z]
    fn = ir.trace(f, ir.f64(3, 3))
    assert common_subexpressions(fn) is fn


def test_fold_computes_exact_ops_of_literals(ir):
    def f(b, x):
        two, half = b.full(x.type, 2.0), b.full(x.type, 0.5)
        one = b.emit(ops.mul, two, half)
        wide = b.emit(ops.broadcast_in_dim, b.literal(1.0, dtypes.f64), shape=(3,), dims=())
        return b.emit(ops.mul, b.emit(ops.mul, x, one), b.emit(ops.div, wide, one))
    fn = ir.trace(f, ir.f64(3))
    made = dead_code(applied(ir, fold_constants, fn))
    assert made.ops == () and made.returns == made.params


@pytest.mark.parametrize("op,value,gone", [
    ("add", 0.0, False), ("add", -0.0, True), ("sub", 0.0, True), ("sub", -0.0, False),
    ("mul", 1.0, True), ("mul", 0.0, False), ("div", 1.0, True), ("mul", -1.0, False)])
def test_identities_are_those_of_ieee(ir, op, value, gone):
    fn = ir.trace(lambda b, x: b.emit(ops.REGISTRY[op], x, b.full(x.type, value)), ir.f64(6))
    made = dead_code(fold_constants(fn))
    assert (made.ops == ()) is gone
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.0])
    for a, c in zip(evaluate(fn, x), evaluate(made, x), strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(c))


def test_fold_leaves_what_devices_compute_otherwise(ir):
    def f(b, x):
        n = b.full(ir.i32(), 0)
        return [b.emit(ops.sin, b.full(x.type, 2.0)), b.emit(ops.div, b.full(ir.i32(), 1), n)]
    fn = ir.trace(f, ir.f64())
    assert fold_constants(fn) is fn


def test_fold_removes_what_moves_nothing(ir):
    def f(b, x):
        y = b.emit(ops.transpose, x, permutation=(1, 0))
        z = b.emit(ops.neg, b.emit(ops.neg, b.emit(ops.transpose, y, permutation=(1, 0))))
        return b.emit(ops.reshape, z, shape=(2, 3))
    assert dead_code(applied(ir, fold_constants, ir.trace(f, ir.f64(2, 3)))).ops == ()


def test_a_cond_of_a_known_index_is_its_branch(ir):
    branches = (ir.trace(lambda b, x: b.emit(ops.sin, x), ir.f64()),
                ir.trace(lambda b, x: b.emit(ops.cos, x), ir.f64()))
    fn = ir.trace(lambda b, x: b.emit(ops.cond, b.literal(True), x, branches=branches), ir.f64())
    assert names(simplify(fn)) == ["cos"]
    same_values(ir, fn, simplify(fn))


# --- calls ----------------------------------------------------------------------------------

def test_inline_takes_what_is_used_once_or_small(ir):
    def long(b, x):
        for _ in range(20):
            x = b.emit(ops.sin, x)
        return x
    large = ir.trace(long, ir.f64())
    small = ir.trace(lambda b, x: b.emit(ops.cos, x), ir.f64())

    def f(b, x):
        (x,) = b.emit(ops.call, x, body=large, name="large")
        (x,) = b.emit(ops.call, x, body=small, name="small")
        (x,) = b.emit(ops.call, x, body=small, name="small")
        return x
    once = ir.trace(f, ir.f64())
    assert names(applied(ir, inline, once)) == ["sin"] * 20 + ["cos"] * 2

    def g(b, x):
        (x,) = b.emit(ops.call, x, body=large, name="large")
        (x,) = b.emit(ops.call, x, body=large, name="large")
        return x
    twice = ir.trace(g, ir.f64())
    assert inline(twice) is twice
    assert names(applied(ir, inline_calls, twice)) == ["sin"] * 40


def test_a_call_inside_a_body_counts_once(ir):
    """However deep it stands; a body that two bodies call stays a call."""
    def long(b, x):
        for _ in range(20):
            x = b.emit(ops.sin, x)
        return x

    def through(body, times=1):
        def calls(b, x):
            for _ in range(times):
                (x,) = b.emit(ops.call, long(b, x), body=body, name="g")
            return x
        return ir.trace(calls, ir.f64())
    large = ir.trace(long, ir.f64())
    assert names(applied(ir, inline, through(through(large)))) == ["sin"] * 60
    made = applied(ir, inline, through(through(large, 2)))
    assert names(made) == ["sin"] * 20 + (["sin"] * 20 + ["call"]) * 2


def test_inlined_ops_without_a_place_get_that_of_the_call(ir):
    b = Builder("body")
    x = b.param(ir.f64())
    y = b.emit(ops.sin, x)
    b.loc = inside = capture(("inside",))
    body = b.close([b.emit(ops.cos, y), b.literal(2.0, dtypes.f64)])
    b = Builder("f")
    x = b.param(ir.f64())
    b.loc = where = capture(("call",))
    called = b.emit(ops.call, x, body=body, name="g")
    assert [op.loc for op in inline(b.close(called)).ops] == [where, inside, inside]
    b.emit(ops.neg, x)
    assert [op.loc for op in inline(b.close(called)).ops] == [where, inside, inside, where]
    b = Builder("nothing_read")
    body = b.close([b.literal(2.0, dtypes.f64)])
    b = Builder("f")
    x = b.param(ir.f64())
    b.loc = where
    called = b.emit(ops.call, body=body, name="g")
    assert [op.loc for op in inline(b.close([*called, b.emit(ops.neg, x)])).ops] == [where] * 2


def test_inline_pending_carries_out_transformations_alone(ir):
    inner = ir.trace(lambda b, x: b.emit(ops.sin, x), ir.f64())
    pending = Pending(inner, Request("jvp", (True,)), lambda f, r: jvp(f, *r.details)[0],
                      (ir.f64(), ir.f64()), (ir.f64(), ir.f64()))

    def f(b, x, t):
        (x,) = b.emit(ops.call, x, body=inner, name="g")
        return b.emit(ops.call, x, t, body=pending, name="g")
    assert names(inline_pending(ir.trace(f, ir.f64(), ir.f64()))) == ["call", "sin", "cos", "mul"]


def test_pending_bodies_are_carried_out(ir):
    inner = ir.trace(lambda b, x: b.emit(ops.sin, x), ir.f64())
    pending = Pending(inner, Request("jvp", (True,)), lambda f, r: jvp(f, *r.details)[0],
                      (ir.f64(), ir.f64()), (ir.f64(), ir.f64()))
    fn = ir.trace(lambda b, x, t: b.emit(ops.call, x, t, body=pending, name="g"), ir.f64(),
                  ir.f64())
    assert names(simplify(fn)) == ["sin", "cos", "mul"]


# --- loops ----------------------------------------------------------------------------------

def test_forward_drops_and_forwards_through_scan(ir):
    def body(b, w, u, c, d, e, x, z):
        return [b.emit(ops.mul, c, w), d, b.emit(ops.add, e, u), x, w, b.emit(ops.sin, c)]
    inner = ir.trace(body, *[ir.f64()] * 7)

    def f(b, w, u, c, d, e, xs, zs):
        c, d, _, ys, ws, _ = scan_of(b, inner, [w, u], [c, d, e], [xs, zs], 4)
        return [c, d, ys, ws]
    fn = ir.trace(f, *[ir.f64()] * 5, ir.f64(4), ir.f64(4))
    made = applied(ir, bypass, fn)
    (op,) = [op for op in made.ops if op.definition is ops.scan]
    assert (op.attrs["n_consts"], op.attrs["n_carry"], len(op.operands)) == (1, 1, 2)
    assert len(op.results) == 1
    assert made.returns[1] is made.params[3]
    assert made.returns[2] is made.params[5]


def test_forward_through_while(ir):
    test = ir.trace(lambda b, lim, n, x, y, z: b.emit(ops.lt, n, lim), ir.i32(), ir.i32(),
                    ir.f64(), ir.f64(), ir.f64())

    def body(b, w, n, x, y, z):
        return [b.emit(ops.add, n, b.full(n.type, 1)), b.emit(ops.mul, x, y), y,
                b.emit(ops.mul, z, w)]
    turn = ir.trace(body, ir.f64(), ir.i32(), ir.f64(), ir.f64(), ir.f64())

    def f(b, w, x, y, z):
        n, x, y, _ = b.emit(WHILE, b.full(ir.i32(), 3), w, b.full(ir.i32(), 0), x, y, z, cond=test,
                            body=turn, n_cond_consts=1, n_body_consts=1)
        return [n, x, y]
    fn = ir.trace(f, *[ir.f64()] * 4)
    made = applied(ir, bypass, fn)
    (op,) = [op for op in made.ops if op.definition is WHILE]
    assert (op.attrs["n_cond_consts"], op.attrs["n_body_consts"], len(op.results)) == (1, 1, 2)
    assert made.returns[2] is made.params[2]


def test_forward_through_cond_and_call(ir):
    branches = (ir.trace(lambda b, x, y, z: [x, b.emit(ops.sin, x), z], *[ir.f64()] * 3),
                ir.trace(lambda b, x, y, z: [x, b.emit(ops.cos, x), y], *[ir.f64()] * 3))

    def f(b, i, x, y, z):
        p, q, _ = b.emit(ops.cond, i, x, y, z, branches=branches)
        return [p, q]
    fn = ir.trace(f, ir.i32(), *[ir.f64()] * 3)
    made = applied(ir, bypass, fn)
    assert len(made.ops[0].operands) == 2 and len(made.ops[0].results) == 1
    assert made.returns[0] is made.params[1]
    body = ir.trace(lambda b, x, y: [y, b.emit(ops.sin, x), b.emit(ops.sin, y)], *[ir.f64()] * 2)

    def g(b, x, y):
        p, q, _ = b.emit(ops.call, x, y, body=body, name="g")
        return [p, q]
    made = applied(ir, bypass, ir.trace(g, ir.f64(), ir.f64()))
    assert len(made.ops[0].operands) == 1 and len(made.ops[0].results) == 1


def test_hoist_moves_what_a_loop_computes_from_constants(ir):
    def body(b, w, c):
        s = b.emit(ops.mul, b.emit(ops.sin, w), b.full(w.type, 2.0))
        return b.emit(ops.add, b.emit(ops.mul, c, s), b.emit(ops.cos, b.full(w.type, 1.0)))
    inner = ir.trace(body, ir.f64(), ir.f64())
    fn = ir.trace(lambda b, w, c: scan_of(b, inner, [w], [c], [], 3), ir.f64(), ir.f64())
    made = applied(ir, hoist, fn)
    assert names(made) == ["sin", "literal", "mul", "literal", "cos", "scan"]
    assert sorted(set(names(made.ops[-1].attrs["body"]))) == ["add", "literal", "mul"]
    test = ir.trace(lambda b, k, c: b.emit(ops.lt, c, b.emit(ops.exp, k)), ir.f64(), ir.f64())

    def f(b, k, w, c):
        return b.emit(WHILE, k, w, c, cond=test, body=inner, n_cond_consts=1, n_body_consts=1)
    made = applied(ir, hoist, ir.trace(f, *[ir.f64()] * 3))
    assert "exp" in names(made) and "sin" in names(made)


def test_simplify_cleans_bodies_once_and_is_idempotent(ir):
    inner = ir.trace(lambda b, c, x: [b.emit(ops.mul, c, b.full(c.type, 1.0)),
                                      b.emit(ops.mul, x, b.emit(ops.mul, x, b.full(x.type, 1.0)))],
                     ir.f64(), ir.f64())
    fn = ir.trace(lambda b, c, xs: scan_of(b, inner, [], [c], [xs], 3), ir.f64(), ir.f64(3))
    made = applied(ir, simplify, fn)
    assert names(made) == ["scan"]
    assert names(made.ops[0].attrs["body"]) == ["mul"]


def test_nothing_to_do_gives_the_same_object(ir):
    fn = ir.trace(lambda b, x: b.emit(ops.sin, x), ir.f64())
    for change in (*PASSES.values(), simplify, settle, expand):
        assert change(fn) is fn


# --- literals -------------------------------------------------------------------------------

def with_literals(ir, k):
    """A program with literals everywhere; `k` are their values, in the order of the skeleton."""
    take = iter(k)

    def lit(b):
        return b.full(ir.f64(), next(take))

    def times(b, x, y):
        return b.emit(ops.mul, x, y)
    called = ir.trace(lambda b, x: times(b, x, lit(b)), ir.f64())
    branches = (ir.trace(lambda b, x: times(b, x, lit(b)), ir.f64()),
                ir.trace(lambda b, x: b.emit(ops.add, x, lit(b)), ir.f64()))
    turn = ir.trace(lambda b, w, c, x: times(b, times(b, c, lit(b)), b.emit(ops.add, x, w)),
                    *[ir.f64()] * 3)
    test = ir.trace(lambda b, c: b.emit(ops.lt, c, lit(b)), ir.f64())
    grow = ir.trace(lambda b, w, c: b.emit(ops.add, times(b, c, lit(b)), w), ir.f64(), ir.f64())
    checked = ir.trace(lambda b, x: b.emit(ops.sin, times(b, x, lit(b))), ir.f64())

    def f(b, i, x, xs):
        (x,) = b.emit(ops.call, x, body=called, name="g")
        (x,) = b.emit(ops.cond, i, x, branches=branches)
        x = scan_of(b, turn, [x], [x], [xs], 3)[0]
        (x,) = b.emit(WHILE, b.emit(ops.exp, x), x, cond=test, body=grow, n_cond_consts=0,
                      n_body_consts=1)
        (x,) = b.emit(ops.checkpoint, x, body=checked, policy=None, prevent_cse=True)
        return times(b, x, lit(b))
    return ir.trace(f, ir.i32(), ir.f64(), ir.f64(3))


VALUES = (0.5, 1.5, 0.25, 0.75, 40.0, 2.0, 0.3, 3.0)
OTHERS = (0.6, 1.4, 0.35, 0.8, 30.0, 2.5, 0.2, 4.0)


@pytest.mark.parametrize("indices", [(0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (1, 2, 4),
                                     tuple(range(8))])
def test_abstracted_literals_are_parameters(ir, indices):
    fn, other = with_literals(ir, VALUES), with_literals(ir, OTHERS)
    assert len(skeleton(fn)[1]) == 8
    general = abstract(fn, indices)
    verify(general)
    assert general.param_types[3:] == (ir.f64(),) * len(indices)
    mixed = with_literals(ir, [OTHERS[i] if i in indices else v for i, v in enumerate(VALUES)])
    for index in (0, 1):
        args = [np.int32(index), np.float64(0.7), np.array([0.3, 0.6, 0.9])]
        for values, wanted in ((VALUES, fn), (OTHERS, mixed)):
            got = evaluate(general, *args, *[values[i] for i in indices])
            np.testing.assert_array_equal(got[0], evaluate(wanted, *args)[0])
    assert abstract(fn, ()) is fn
    assert len(skeleton(other)[1]) == 8


def test_abstraction_reaches_pending_bodies_and_gradients(ir):
    inner = ir.trace(lambda b, x: b.emit(ops.mul, b.emit(ops.sin, x), b.full(x.type, 2.0)),
                     ir.f64())

    class Jvp:
        def __call__(self, fn, request):
            (active,) = request.details
            made = jvp(fn, (*active, *[False] * (len(fn.params) - len(active))))[0]
            x, *more, tangent = made.params
            return made.replace(params=(x, tangent, *more))

        def pending(self, fn, request):
            x, *more = fn.param_types
            return Pending(fn, request, self, (x, ir.f64(), *more), (ir.f64(), ir.f64()))
    body = Jvp().pending(inner, Request("jvp", (True,)))
    fn = ir.trace(lambda b, x, t: b.emit(ops.call, x, t, body=body, name="g"), ir.f64(), ir.f64())
    general = abstract(fn, (0,))
    got = evaluate(general, 0.5, 1.0, 7.0)
    np.testing.assert_allclose(got, [7 * np.sin(0.5), 7 * np.cos(0.5)])


# --- size and depth ---------------------------------------------------------------------------

def chain(n):
    b = Builder("chain")
    x = y = b.param(tensor((3,), dtypes.f64))
    for _ in range(n):
        y = b.emit(ops.sin, b.emit(ops.mul, y, x))
    return b.close([y])


@pytest.mark.slow
def test_a_hundred_thousand_ops(ir):
    fn = chain(50_000)
    parts = linearize(fn, (True,))
    back, _ = transpose(parts.linear, len(parts.residuals), (True,))
    assert len(back.ops) >= 100_000
    assert len(vectorize(fn, (0,), ("i", 2))[0].ops) == 100_000
    for change in PASSES.values():
        change(fn)
    assert len(abstract(fn, ()).ops) == 100_000


def test_two_hundred_transformations_deep(ir):
    """Pending gradients of calls of pending gradients: carried out without recursion."""
    fn = ir.trace(lambda b, x: b.emit(ops.mul, b.full(x.type, 2.0), x), ir.f64())

    def transform(f, request):
        full = gradient(f, (True,))              # value and derivative: their sum
        b = Builder(f.name)
        x = b.param(ir.f64())
        y, g = b.inline(full, (x, b.full(ir.f64(), 1.0)))
        return b.close([b.emit(ops.sub, y, g)])
    for level in range(200):
        pending = Pending(fn, Request("grad", level), transform, (ir.f64(),), (ir.f64(),))
        fn = ir.trace(lambda b, x, pending=pending: b.emit(ops.call, x, body=pending, name="g"),
                      ir.f64())
    made = simplify(fn)
    np.testing.assert_allclose(evaluate(made, 500.0)[0], 1000.0 - 2 * 200)
    deep = ir.trace(lambda b, x: b.emit(ops.sin, x), ir.f64())
    for _ in range(300):
        deep = ir.trace(lambda b, x, body=deep: b.emit(ops.call, x, body=body, name="g"), ir.f64())
    assert names(jvp(deep, (True,))[0]) == ["sin", "cos", "mul"]
    assert names(simplify(deep)) == ["sin"]
    for _ in range(200):
        deep = vectorize(deep, (None,), ("i", 2))[0]
    assert names(deep) == ["sin"]
