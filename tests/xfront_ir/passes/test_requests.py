"""Pending transformations of functions that read and write references, carried out on contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.dtypes import f64, ref_dtype
from xfront_ir.opdef import Request
from xfront_ir.passes.discharge import discharge
from xfront_ir.passes.inline import inline_calls
from xfront_ir.passes.requests import GRAD, JVP, VECTORIZE
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor
from xfront_ir.verifier import verify

REF = tensor((), ref_dtype(f64))


def body(ir, written: str = "y") -> Function:
    """(x, y, ref, other) -> x sin(content), x + y; the content becomes y, or x."""
    def f(b, x, y, ref, other):
        old = b.emit(ops.swap, ref, {"x": x, "y": y}[written])
        kept = b.emit(ops.get, other)
        return [b.emit(ops.mul, b.emit(ops.mul, x, b.emit(ops.sin, old)), kept),
                b.emit(ops.add, x, y)]
    return ir.trace(f, ir.f64(), ir.f64(), REF, REF)


def called(ir, rules: Any, request: Request, *types: Any, written: str = "y") -> Function:
    """The pending body called on operands and two references, whose contents come last."""
    pending = rules.pending(body(ir, written), request)

    def f(b, c, d, *operands):
        refs = b.emit(ops.new_ref, c), b.emit(ops.new_ref, d)
        made = b.emit(ops.call, *operands, *refs, body=pending, name="g")
        return [*made, *[b.emit(ops.freeze, r) for r in refs]]
    fn = inline_calls(discharge(ir.trace(f, ir.f64(), ir.f64(), *types))[0])
    verify(fn)
    return fn


def test_tangents_stand_between_operands_and_references(ir):
    fn = called(ir, JVP, Request("jvp", (True, False)), *[ir.f64()] * 3)
    made = evaluate(fn, 0.3, 2.0, 5.0, 7.0, 11.0)
    np.testing.assert_allclose(made, [5 * np.sin(0.3) * 2, 12, 11 * np.sin(0.3) * 2, 11, 7, 2])
    fn = called(ir, JVP, Request("jvp", (False, True)), *[ir.f64()] * 3, written="x")
    made = evaluate(fn, 0.3, 2.0, 5.0, 7.0, 11.0)
    np.testing.assert_allclose(made, [5 * np.sin(0.3) * 2, 12, 0, 11, 5, 2])


def test_gradients(ir):
    fn = called(ir, GRAD, Request("grad", (True, False), 0, False), *[ir.f64()] * 2)
    made = evaluate(fn, 0.3, 2.0, 5.0, 7.0)
    np.testing.assert_allclose(made, [5 * np.sin(0.3) * 2, 12, np.sin(0.3) * 2, 7, 2])


def test_a_batch_of_lanes(ir):
    fn = called(ir, VECTORIZE, Request("vectorize", (0, None), ("i", 2), (0, 0)), ir.f64(2),
                ir.f64())
    x = np.array([5.0, 6.0])
    made = evaluate(fn, 0.3, 2.0, x, 7.0)
    for got, wanted in zip(made, [x * np.sin(0.3) * 2, x + 7, 7, 2]):
        np.testing.assert_allclose(got, wanted)


def test_what_a_reference_cannot_hold_is_refused(ir):
    """A tangent, or one value for each lane."""
    for rules, request, types in (
            (JVP, Request("jvp", (True, False)), [ir.f64()] * 3),
            (GRAD, Request("grad", (True, False), 0, False), [ir.f64()] * 2),
            (VECTORIZE, Request("vectorize", (0, None), ("i", 2), (0, 0)), [ir.f64(2), ir.f64()])):
        with pytest.raises(ValueError, match="performing a set/swap operation with a"):
            called(ir, rules, request, *types, written="x")


def test_weakness_of_results(ir):
    """That of the Function's results; a gradient is as weak as its parameter."""
    fn = ir.trace(lambda b, x, y: [b.emit(ops.mul, x, y), y], ir.f64(), ir.f64()).replace(
        weak_params=(True, False), weak_returns=(False, True))
    assert GRAD.weak_returns(fn, Request("grad", (True, True), 0, False)) == (
        False, True, True, False)
    assert GRAD.weak_returns(fn, Request("grad", (False, True), 0, False)) == (False, True, False)
    assert VECTORIZE.weak_returns(fn, Request("vectorize", (0, 0), ("i", 2), (0, 0))) == (
        False, True)
