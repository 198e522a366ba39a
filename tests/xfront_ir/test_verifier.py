"""The verifier: legal Functions pass; each broken invariant is named with its place."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.xfront_ir import samples
from tests.xfront_ir.samples import F32, SAMPLES, V3
from xfront_ir import Builder, Function, Op, Value, VerifyError, ops, tensor, verify
from xfront_ir.dtypes import f32
from xfront_ir.opdef import Pending, Request, define
from xfront_ir.types import TensorType


@pytest.mark.parametrize("name", SAMPLES)
def test_legal_functions_pass(name: str) -> None:
    """All that the builder makes."""
    assert verify(SAMPLES[name]()) is None


def op(definition: object, *operands: Value, result: TensorType = V3, **attrs: object) -> Op:
    return Op(definition, operands, attrs, (Value(result),))       # type: ignore[arg-type]


def reads_later() -> Function:
    x = Value(V3)
    second = op(ops.sin, x)
    return Function("f", [x], [op(ops.sin, *second.results), second], [x])


def reads_outside() -> Function:
    inner = samples.chain()
    leaked = Function("inner", inner.params, inner.ops[1:], inner.returns)
    x = Value(V3)
    return Function("f", [x], [op(ops.call, x, body=leaked, name="g")], [x])


def defined_twice() -> Function:
    x = Value(V3)
    first = op(ops.sin, x)
    again = Op(ops.cos, (x,), {}, first.results)
    return Function("f", [x], [first, again], [x])


def one_parameter_twice() -> Function:
    x = Value(V3)
    return Function("f", [x, x], [], [x])


def returns_nothing_known() -> Function:
    return Function("f", [Value(V3)], [], [Value(V3)])


def wrong_result() -> Function:
    x = Value(V3)
    return Function("f", [x], [op(ops.sin, x, result=F32)], [x])


def refused_operands() -> Function:
    x, y = Value(V3), Value(F32)
    return Function("f", [x, y], [op(ops.mul, x, y)], [x])


def too_few_operands() -> Function:
    x = Value(V3)
    return Function("f", [x], [op(ops.mul, x)], [x])


def wrong_attribute() -> Function:
    x = Value(V3)
    return Function("f", [x], [op(ops.reverse, x, axes=[0])], [x])


def missing_attribute() -> Function:
    x = Value(V3)
    return Function("f", [x], [op(ops.reverse, x)], [x])


def unknown_attribute() -> Function:
    x = Value(V3)
    return Function("f", [x], [op(ops.sin, x, axes=(0,))], [x])


def wrong_body() -> Function:
    x = Value(F32)
    return Function("f", [x], [op(ops.call, x, result=V3, body=samples.chain(), name="g")], [x])


def body_of_garbage() -> Function:
    x = Value(F32)
    return Function("f", [x], [op(ops.call, x, body=3, name="g")], [x])


def uninterned_type() -> Function:
    return Function("f", [Value(TensorType((3,), f32))], [], [])


def two_results() -> Function:
    x = Value(V3)
    return Function("f", [x], [Op(ops.sin, (x,), {}, (Value(V3), Value(V3)))], [x])


def too_many_names() -> Function:
    return Function("f", [Value(V3)], [], [], param_names=("a", "b"))


def too_few_flags() -> Function:
    return Function("f", [Value(V3), Value(V3)], [], [], weak_params=(True,))


def too_many_return_flags() -> Function:
    return Function("f", [Value(V3)], [], [], weak_returns=(True,))


def foreign_definition() -> Function:
    fake = define("foreign", infer=lambda types, attrs: types, operands=1)
    del ops.REGISTRY["foreign"]
    x = Value(V3)
    return Function("f", [x], [op(fake, x)], [x])


BROKEN = [
    (reads_later, "@f, op 0 `%1: f32[3] = sin(%2)`: operand 0 is not defined before this"),
    (reads_outside, "@inner, op 1 `%2: f32[3] = mul(%?, %1)`: operand 0 is not defined"),
    (defined_twice, "op 1 `%2: f32[3] = cos(%0)`: result 0 is a value that is defined twice"),
    (one_parameter_twice, "@f: parameter 1 is a value that is defined twice"),
    (returns_nothing_known, "@f: return 0 is a value that nothing in it defines"),
    (wrong_result, "result 0 is f32[], but its type rule gives f32[3]"),
    (refused_operands, "mul: operand types must be equal, got f32[3], f32[]"),
    (too_few_operands, "mul takes 2 operands, got 1"),
    (wrong_attribute, "reverse: attribute 'axes' must be ints, got [0]"),
    (missing_attribute, "reverse: attribute 'axes' (ints) is missing"),
    (unknown_attribute, "sin has no attribute called 'axes'"),
    (wrong_body, "call"),
    (body_of_garbage, "call: attribute 'body' must be body, got 3"),
    (uninterned_type, "which `tensor` did not make"),
    (two_results, "the op has 2 results, but its type rule gives 1"),
    (too_many_names, "@f: got 2 param_names for 1 parameters"),
    (too_few_flags, "@f: got 1 weak_params for 2 parameters"),
    (too_many_return_flags, "@f: got 1 weak_returns for 0 returns"),
    (foreign_definition, "'foreign' is not in the registry"),
]


@pytest.mark.parametrize(("make", "message"), BROKEN, ids=[f.__name__ for f, _ in BROKEN])
def test_a_broken_invariant_is_named(make: Callable[[], Function], message: str) -> None:
    """Where (function, op) and why."""
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(make())


def test_the_place_is_a_body_and_a_line() -> None:
    """Bodies are checked wherever they stand, with the location of the op where it has one."""
    from xfront_ir.locations import capture

    x = Value(V3)
    bad = Op(ops.sin, (Value(V3),), {}, (Value(V3),), capture())
    inner = Function("inner", [x], [bad], [x])
    y = Value(V3)
    outer = Function("outer", [y], [op(ops.call, y, body=inner, name="g")], [y])
    with pytest.raises(VerifyError, match=r"@inner, op 0 .* at test_verifier.py:\d+ \(test_the_"):
        verify(outer)


def test_a_body_of_itself_is_refused() -> None:
    """Not followed for ever."""
    x = Value(V3)
    held = op(ops.call, x, body=samples.chain(), name="g")
    fn = Function("f", [x], [held], [x])
    held.attrs["body"] = fn
    with pytest.raises(VerifyError, match="@f"):
        verify(fn)


def test_pending_bodies_are_not_carried_out() -> None:
    """What a transformation starts from is checked, the transformation not run."""
    def never(fn: Function, request: Request) -> Function:
        raise AssertionError

    def held(start: Function) -> Function:
        b = Builder()
        body = Pending(start, Request("jvp"), never, (V3,), (V3,))
        return b.close(b.emit(ops.call, b.param(V3), body=body, name="g"))

    verify(held(samples.chain()))
    with pytest.raises(VerifyError, match="parameter 1"):
        verify(held(one_parameter_twice()))


def test_a_type_rule_that_fails_is_an_error_of_the_function() -> None:
    """Whatever it raises."""
    bad = define("verifier_test_op", infer=lambda types, attrs: (types[7],))
    try:
        x = Value(V3)
        with pytest.raises(VerifyError, match="type rule cannot read this .IndexError"):
            verify(Function("f", [x], [op(bad, x)], [x]))
    finally:
        del ops.REGISTRY["verifier_test_op"]


def test_depth_is_no_recursion() -> None:
    """2,000 calls in one another."""
    fn = samples.chain()
    for _ in range(2000):
        b = Builder("f")
        fn = b.close(b.emit(ops.call, b.param(V3), body=fn, name="g"))
    verify(fn)
    assert tensor((3,), f32) is V3
