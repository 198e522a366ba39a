"""The NumPy evaluator: operands, results, ops with bodies."""

from __future__ import annotations

import numpy as np
import pytest

from tests.xfront_ir import samples
from tests.xfront_ir.samples import F32, V3, has_row
from xfront_ir import (
    Builder,
    Function,
    IRTypeError,
    MissingRule,
    evaluate,
    ops,
    parse,
    print_function,
    tensor,
)
from xfront_ir.dtypes import bf16, i32
from xfront_ir.opdef import Pending, Request, define
from xfront_ir.reference import _ROWS, reference, row_of

X = np.array([0.5, 1.0, 2.0], np.float32)


def scaled_sin(x: np.ndarray, scale: float) -> np.ndarray:
    return np.sin(x.astype(np.float64)).astype(np.float32) * np.float32(scale)


def test_values() -> None:
    """The program of the docs."""
    (y,) = evaluate(samples.chain(), X)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, scaled_sin(X, 2))


def test_operands_are_converted_and_checked() -> None:
    """To the parameter's dtype; shapes must agree."""
    assert evaluate(samples.chain(), [1, 2, 3])[0].dtype == np.float32
    with pytest.raises(IRTypeError, match="takes 1 arrays, got 2"):
        evaluate(samples.chain(), X, X)
    with pytest.raises(IRTypeError, match=r"parameter 0 of @chain has type f32\[3\].*shape \(2,\)"):
        evaluate(samples.chain(), X[:2])


def test_calls() -> None:
    """Of shared bodies, pending ones carried out."""
    (y,) = evaluate(samples.shared(), X)
    expected = X
    for _ in range(3):
        expected = scaled_sin(expected, 2)
    np.testing.assert_array_equal(y, expected)
    b = Builder()
    body = Pending(samples.loop(), Request("any"), lambda fn, r: samples.chain(), (V3,), (V3,))
    made = b.close(b.emit(ops.call, b.param(V3), body=body, name="g"))
    np.testing.assert_array_equal(evaluate(made, X)[0], scaled_sin(X, 2))


def test_branches() -> None:
    """False takes the first; an integer is clamped."""
    for p, scale in ((False, 3.0), (True, 4.0)):
        (y,) = evaluate(samples.branches(), p, X)
        np.testing.assert_array_equal(y, scaled_sin(X, scale))
    b = Builder()
    held = tuple(samples.chain(float(i)) for i in range(3))
    fn = b.close(b.emit(ops.cond, b.param(tensor((), i32)), b.param(V3), branches=held))
    for index, taken in ((-5, 0), (0, 0), (1, 1), (2, 2), (9, 2)):
        np.testing.assert_array_equal(evaluate(fn, index, X)[0], scaled_sin(X, taken))


def test_loops() -> None:
    """A scan in both directions, of no steps, and a while."""
    xs = np.arange(12, dtype=np.float32).reshape(4, 3)
    total, ys = evaluate(samples.loop(), 1.0, xs)
    c, expected = np.float32(1), []
    for x in xs:
        expected.append(c + x.sum())
        c = expected[-1] * np.float32(0.5)
    assert total == c
    np.testing.assert_array_equal(ys, expected)
    text = print_function(samples.loop())
    turned = evaluate(parse(text.replace("reverse = false", "reverse = true")), 1.0, xs[::-1])
    assert turned[0] == c
    np.testing.assert_array_equal(turned[1], expected[::-1])
    empty = parse(text.replace("length = 4", "length = 0").replace("f32[4", "f32[0"))
    total, ys = evaluate(empty, 1.0, xs[:0])
    assert total == 1.0 and ys.shape == (0,)
    i, x = evaluate(samples.counting(), 5, 1.0)
    assert (i, x) == (5, 32)


def test_custom_rules_and_checkpoints_run_their_bodies() -> None:
    """The rule is never asked."""
    (y,) = evaluate(samples.custom(), X)
    np.testing.assert_array_equal(y, scaled_sin(scaled_sin(scaled_sin(X, 2), 5), 2))
    again = evaluate(parse(print_function(samples.custom())), X)[0]
    np.testing.assert_array_equal(y, again)


def test_a_result_is_rounded_to_its_type_but_not_reshaped() -> None:
    """Rows may compute wide; a wrong shape, or a wrong number of results, is an error."""
    made = define("reference_test_op", infer=lambda types, attrs: types, operands=1)
    try:
        b = Builder()
        fn = b.close([b.emit(made, b.param(tensor((3,), bf16)))])
        with pytest.raises(MissingRule, match="'reference_test_op' has no reference row"):
            evaluate(fn, X)
        assert not has_row("reference_test_op")
        answer = [np.array([0.1, 0.2, 0.3])]

        @reference("reference_test_op")
        def row(attrs: object, types: object, x: np.ndarray) -> np.ndarray:
            return answer[0]

        assert row_of("reference_test_op") is row
        (y,) = evaluate(fn, X)
        assert y.dtype == bf16.numpy and y[0] == bf16.numpy.type(0.1)
        answer[0] = np.zeros(2)
        with pytest.raises(IRTypeError, match=r"a result of reference_test_op has type bf16\[3\]"):
            evaluate(fn, X)
        answer[0] = (np.zeros(3), np.zeros(3))      # type: ignore[call-overload]
        with pytest.raises(IRTypeError, match="has 1 results, but its row returned 2"):
            evaluate(fn, X)
        with pytest.raises(IRTypeError, match="has two rows"):
            reference("reference_test_op")(row)
    finally:
        del ops.REGISTRY["reference_test_op"]
        _ROWS.pop("reference_test_op", None)


def test_floating_point_warnings_do_not_escape() -> None:
    """Infinities and NaN are values."""
    b = Builder()
    x = b.param(F32)
    fn: Function = b.close([b.emit(ops.mul, x, x)])
    assert np.isinf(evaluate(fn, np.float32(3e38))[0])


def test_depth_is_no_recursion() -> None:
    """Calls, branches and loops in one another."""
    fn = samples.chain()
    for i in range(3000):
        b = Builder("f")
        x = b.param(fn.params[0].type)
        if i % 3 == 0:
            made = b.emit(ops.call, x, body=fn, name="g")
        elif i % 3 == 1:
            made = b.emit(ops.cond, b.literal(True), x, branches=(fn, fn))
        else:
            made = b.emit(ops.scan, x, body=fn, n_consts=0, n_carry=1, length=1, reverse=False,
                          unroll=1)
        fn = b.close(made)
    (y,) = evaluate(fn, np.ones(3, np.float32))
    np.testing.assert_allclose(y, 2 * np.sin(np.ones(3)), rtol=1e-6)
