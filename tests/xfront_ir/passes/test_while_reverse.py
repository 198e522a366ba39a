"""The transpose of while: against differences, and that it is as small and as frugal as it says."""

from __future__ import annotations

import numpy as np
import pytest

from xfront_ir import dtypes, ops
from xfront_ir.errors import MissingRule
from xfront_ir.ops.while_loop import CHECKPOINTS, FEWEST, _slots, _stride
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient, linear_transpose, linearize
from xfront_ir.passes.pipeline import simplify
from xfront_ir.passes.transpose import transpose
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.printer import print_function
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor

WHILE = ops.REGISTRY["while"]
F64 = tensor((), dtypes.f64)


def growing(ir):
    """x becomes sin(x) * w + x / n, with n counted, until n is the limit; m is carried too."""
    test = ir.trace(lambda b, limit, x, n, m: b.emit(ops.lt, n, limit), ir.i32(), F64, ir.i32(),
                    F64)

    def turn(b, w, x, n, m):
        n = b.emit(ops.add, n, b.full(n.type, 1))
        part = b.emit(ops.div, x, b.emit(ops.convert, n, dtype=dtypes.f64))
        return [b.emit(ops.add, b.emit(ops.mul, b.emit(ops.sin, x), w), part), n,
                b.emit(ops.mul, m, w)]
    body = ir.trace(turn, F64, F64, ir.i32(), F64)

    def f(b, limit, w, x, m):
        return b.emit(WHILE, limit, w, x, b.full(ir.i32(), 0), m, cond=test, body=body,
                      n_cond_consts=1, n_body_consts=1)
    return ir.trace(f, ir.i32(), F64, F64, F64)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_gradient_in_every_order(ir, turns):
    fn = growing(ir)
    args = [np.int32(turns), np.float64(0.9), np.float64(0.6), np.float64(1.2)]
    ir.check(fn, args)
    ir.check(gradient(fn, (False, True, True, True)), [*args, np.float64(0.3), np.float64(0.8)])


def test_gradient_of_lanes(ir):
    fn = growing(ir)
    args = [np.array([3, 0, 6], np.int32), np.array([0.9, 0.4, 1.1]), np.array([0.6, 1.0, 0.1]),
            np.float64(0.4)]
    many, _ = vectorize(fn, (0, 0, 0, None), ("i", 3))
    ir.check(many, args)
    back = gradient(fn, (False, True, True, True))
    ir.check_batch(back, (0, 0, 0, None, None, 0),
                   args=[*args, np.float64(0.3), np.array([0.8, 0.1, 0.5])])


def linear_side(ir):
    parts = linearize(growing(ir), (False, True, True, True))
    (op,) = [op for op in parts.linear.ops if op.definition.name == "while_tangent"]
    return parts, op


def test_the_forward_loop_saves_its_number_of_turns_and_no_turn(ir):
    parts, op = linear_side(ir)
    assert op.attrs["n_carry"] == 3 and op.attrs["n_consts"] == 1
    saved = [parts.forward.returns[parts.n_out + i] for kind, i in parts.residuals
             if kind == "residual"]
    assert [v.type for v in saved] == [ir.i32()]


def test_carries_that_the_tangents_do_not_need_are_left_out(ir):
    fn = growing(ir)
    parts = linearize(fn, (False, False, False, True))       # d m' = w dm
    (op,) = [op for op in parts.linear.ops if op.definition.name == "while_tangent"]
    assert op.attrs["n_carry"] == 0 and op.attrs["n_consts"] == 1


def test_forward_and_transposed_maps_of_a_batch_agree(ir):
    parts, op = linear_side(ir)
    side, n = parts.linear, len(parts.residuals)
    places = (0,) * len(side.params)
    many, out = vectorize(side, places, ("i", 3), (0,) * len(side.returns))
    rng = np.random.default_rng(2)
    args = [rng.uniform(0.5, 1.5, v.type.shape).astype(v.type.dtype.numpy) if v.type.is_inexact
            else np.array([2, 0, 4], np.int32) for v in many.params]
    cts = [rng.normal(size=v.type.shape) for v in many.returns]
    back, active = transpose(many, n, (True,) * len(cts))
    k = len(args) - n
    moved = evaluate(many, *args)
    pulled = evaluate(back, *args[k:], *cts)
    linear = [x for x, a in zip(args[:k], active, strict=True) if a]
    np.testing.assert_allclose(sum([np.sum(c * m) for c, m in zip(cts, moved, strict=True)]),
                               sum([np.sum(p * x) for p, x in zip(pulled, linear, strict=True)]))


def test_a_linear_while_is_transposed_as_it_stands(ir):
    """x becomes x * n / 2 while n < 4, linear in x without any division into sides."""
    test = ir.trace(lambda b, x, n: b.emit(ops.lt, n, b.full(n.type, 4.0)), F64, F64)
    body = ir.trace(lambda b, x, n: [b.emit(ops.mul, x, b.emit(ops.mul, n, b.full(n.type, 0.5))),
                                     b.emit(ops.add, n, b.ones(n.type))], F64, F64)

    def f(b, x, n):
        return b.emit(WHILE, x, n, cond=test, body=body, n_cond_consts=0, n_body_consts=0)[0]
    fn = ir.trace(f, F64, F64)
    for back, _ in (transpose(fn, 1, (True,)), linear_transpose(fn, (True, False), (True,))):
        (ct,) = evaluate(back, 1.0, 2.0)
        assert ct == 2.0 * 0.5 * 1.0 * 1.5


def test_a_loop_that_ends_by_what_it_should_be_linear_in_is_refused(ir):
    test = ir.trace(lambda b, x: b.emit(ops.lt, x, b.full(x.type, 4.0)), F64)
    body = ir.trace(lambda b, x: b.emit(ops.add, x, x), F64)
    fn = ir.trace(lambda b, x: b.emit(WHILE, x, cond=test, body=body, n_cond_consts=0,
                                      n_body_consts=0), F64)
    with pytest.raises(MissingRule, match="number of iterations depends"):
        linear_transpose(fn, (True,), (True,))


@pytest.mark.parametrize(("turns", "slots", "most"), [(64, 64, 1.0), (1000, 64, 2.1),
                                                      (40, 3, 5.0), (300, 8, 4.1)])
def test_few_turns_run_again(ir, turns, slots, most):
    """The stack as `_reversal` keeps it: never more than its rows, few turns for each that is
    reversed."""
    i32 = ir.i32()
    stride = ir.trace(_stride, i32, i32)
    stack, ran = [0], 0
    for t in reversed(range(turns)):
        while stack[-1] < t:
            free = slots - len(stack) + 1
            (count,) = evaluate(stride, t - stack[-1] + 1, free)
            assert 1 <= count <= t - stack[-1] and len(stack) <= slots
            stack.append(stack[-1] + int(count))
            ran += int(count)
        assert stack.pop() == t
    assert not stack and ran <= most * turns


def test_the_budget_of_checkpoints(ir):
    assert _slots((F64,)) == CHECKPOINTS
    assert _slots((ir.f64(2 ** 18),)) == 32
    assert _slots((ir.f64(2 ** 24), ir.f64(3))) == FEWEST


def test_the_lowered_program_holds_plain_loops(ir):
    back = simplify(gradient(growing(ir), (False, True, True, True)))
    text = print_function(back)
    assert "while_tangent" not in text and f"[{CHECKPOINTS + 1}]" in text
    twice, _ = jvp(back, (False, True, True, True, True, True))
    assert "while_tangent" not in print_function(simplify(twice))


def test_a_given_budget_is_kept_to():
    assert _slots((F64,), (3, 2 ** 20)) == 3
    assert _slots((F64,), (100, 2 ** 20)) == 100
    assert _slots((F64, F64), (100, 80)) == 5
    assert _slots((F64,), (100, 1)) == 1
