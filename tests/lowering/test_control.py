"""Lowering of control flow, custom rules and checkpoint, run and compared with Python loops."""

from __future__ import annotations

import numpy as np
import pytest

import lowering
from xfront_ir import dtypes, ops
from xfront_ir.errors import IRTypeError
from xfront_ir.types import BOOL, F32, I32, tensor

V = tensor((3,), dtypes.f32)
C = np.array([1, 2, 0.5], np.float32)
ONES = np.ones(3, np.float32)


@pytest.fixture
def turn(func):
    """(const, carry, x) -> (carry * const + x, sin of that)."""
    def make(b, c, s, x):
        new = b.emit(ops.add, b.emit(ops.mul, s, c), x)
        return [new, b.emit(ops.sin, new)]

    return func([V, V, V], make, "turn")


@pytest.mark.parametrize("unroll", [1, 2, 3, 10])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_scan(func, run, turn, rng, length, reverse, unroll) -> None:
    xs = rng.random((length, 3), np.float32)
    fn = func([V, V, tensor((length, 3), dtypes.f32)], lambda b, c, s, x: b.emit(
        ops.scan, c, s, x, body=turn, n_consts=1, n_carry=1, length=length, reverse=reverse,
        unroll=unroll))
    last, ys = run(fn, C, ONES, xs)
    s, want = ONES, np.zeros((length, 3), np.float32)
    for i in range(length)[::-1] if reverse else range(length):
        s = s * C + xs[i]
        want[i] = np.sin(s)
    np.testing.assert_allclose(last, s, rtol=1e-6)
    np.testing.assert_allclose(ys, want, rtol=1e-5, atol=1e-7)


def test_scan_makes_constants_again_inside(func, run, turn) -> None:
    fn = func([V, tensor((4, 3), dtypes.f32)], lambda b, s, x: b.emit(
        ops.scan, b.literal(2.0, dtypes.f32, (3,)), s, x, body=turn, n_consts=1, n_carry=1,
        length=4, reverse=False, unroll=1))
    inside = lowering.lower(fn).as_text().partition("} do {")[2]
    assert "dense<2.000000e+00>" in inside and "tensor<i32>, tensor<3xf32>, tensor<4x3xf32>" in \
        lowering.lower(fn).as_text()
    np.testing.assert_array_equal(run(fn, ONES, np.zeros((4, 3), np.float32))[0], 16 * ONES)


def test_scan_without_slices_carries_only(func, run) -> None:
    body = func([V], lambda b, x: [b.emit(ops.add, x, x)], "double")
    fn = func([V], lambda b, x: b.emit(ops.scan, x, body=body, n_consts=0, n_carry=1, length=5,
                                       reverse=False, unroll=1))
    np.testing.assert_array_equal(run(fn, ONES)[0], 32 * ONES)


def test_scan_over_keys_slices_their_words_along(func, run) -> None:
    keys = tensor((4,), dtypes.key_fry)
    one = tensor((), dtypes.key_fry)
    body = func([one], lambda b, k: [k], "same")
    fn = func([keys], lambda b, k: b.emit(ops.scan, k, body=body, n_consts=0, n_carry=0, length=4,
                                          reverse=True, unroll=1))
    words = np.arange(8, dtype=np.uint32).reshape(4, 2)
    np.testing.assert_array_equal(run(fn, words)[0], words)


def test_while(func, run) -> None:
    below = func([I32, I32, V], lambda b, n, i, x: [b.emit(ops.lt, i, n)], "below")
    step = func([V, I32, V], lambda b, k, i, x: [
        b.emit(ops.add, i, b.literal(1, dtypes.i32)), b.emit(ops.mul, x, k)], "step")
    fn = func([I32, V, I32, V], lambda b, n, k, i, x: b.emit(
        ops.while_, n, k, i, x, cond=below, body=step, n_cond_consts=1, n_body_consts=1))
    for n in (0, 4):
        i, x = run(fn, np.int32(n), C, np.int32(0), ONES)
        assert i == n
        np.testing.assert_allclose(x, C ** n, rtol=1e-6)


@pytest.fixture
def branches(func):
    return (func([V, V], lambda b, x, y: [b.emit(ops.sin, x)], "a"),
            func([V, V], lambda b, x, y: [b.emit(ops.add, x, y)], "b"),
            func([V, V], lambda b, x, y: [y], "c"))


def test_cond_on_a_bool_takes_the_second_branch_when_true(func, run, branches) -> None:
    fn = func([BOOL, V, V], lambda b, p, x, y: b.emit(ops.cond, p, x, y, branches=branches[:2]))
    np.testing.assert_array_equal(run(fn, np.array(True), C, ONES)[0], C + ONES)
    np.testing.assert_allclose(run(fn, np.array(False), C, ONES)[0], np.sin(C), rtol=1e-6)


def test_cond_on_an_index_is_clamped(func, run, branches) -> None:
    fn = func([I32, V], lambda b, i, x: b.emit(
        ops.cond, i, x, b.literal(7.0, dtypes.f32, (3,)), branches=branches))
    executable = {i: run(fn, np.int32(i), C)[0] for i in (-5, 0, 1, 2, 9)}
    np.testing.assert_array_equal(executable[-5], executable[0])
    np.testing.assert_allclose(executable[0], np.sin(C), rtol=1e-6)
    np.testing.assert_array_equal(executable[1], C + 7)
    np.testing.assert_array_equal(executable[2], 7 * ONES)
    np.testing.assert_array_equal(executable[9], 7 * ONES)


def test_cond_with_one_branch_is_that_branch(func, branches) -> None:
    fn = func([I32, V, V], lambda b, i, x, y: b.emit(ops.cond, i, x, y, branches=branches[:1]))
    text = lowering.lower(fn).as_text()
    assert "case" not in text and "stablehlo.sine" in text


def test_loops_nest(func, run) -> None:
    one = func([F32, F32], lambda b, c, x: [b.emit(ops.add, c, x)], "one")
    row = func([F32, V], lambda b, c, xs: b.emit(
        ops.scan, c, xs, body=one, n_consts=0, n_carry=1, length=3, reverse=False, unroll=1), "row")
    fn = func([F32, tensor((4, 3), dtypes.f32)], lambda b, c, xs: b.emit(
        ops.scan, c, xs, body=row, n_consts=0, n_carry=1, length=4, reverse=False, unroll=2))
    xs = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert run(fn, np.float32(0), xs)[0] == xs.sum()


def test_custom_rules_and_checkpoint_are_their_bodies(func) -> None:
    body = func([V], lambda b, x: [b.emit(ops.sin, x)], "body")

    def make(b, x):
        (x,) = b.emit(ops.custom_jvp, x, body=body, rule=None, name="f")
        (x,) = b.emit(ops.custom_vjp, x, body=body, rule=None, name="g")
        return b.emit(ops.checkpoint, x, body=body, policy=None, prevent_cse=True)

    text = lowering.lower(func([V], make)).as_text()
    assert text.count("stablehlo.sine") == 3 and "call" not in text


def _tangent_of(func, backward):
    class Rule:
        name = "my_function"

        def function(self, request):
            return func([V], backward, "bwd")

    return func([V], lambda b, t: b.emit(ops.custom_vjp_tangent, t, rule=Rule(), n_residuals=0,
                                         types=(V,), perturbed=(True,)))


def test_forward_mode_of_custom_vjp_is_the_transpose_of_its_backward_rule(func) -> None:
    text = lowering.lower(_tangent_of(func, lambda b, ct: [b.emit(ops.neg, ct)])).as_text()
    assert text.count("stablehlo.negate") == 1


@pytest.mark.parametrize("backward", [
    lambda b, ct: [b.emit(ops.sin, ct)], lambda b, ct: [b.emit(ops.mul, ct, ct)],
    lambda b, ct: [b.emit(ops.select, b.emit(ops.gt, ct, b.zeros(V)), ct, b.zeros(V))]])
def test_forward_mode_of_custom_vjp_is_a_type_error_where_that_is_not_linear(func, backward
                                                                             ) -> None:
    with pytest.raises(IRTypeError, match="forward-mode.*custom_vjp.*my_function"):
        lowering.lower(_tangent_of(func, backward))
