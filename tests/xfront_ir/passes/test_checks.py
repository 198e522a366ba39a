"""Checks that become results: which one is reported, from everywhere that an op may stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.op_table.gathering import _gather, _scatter
from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.opdef import define
from xfront_ir.ops.formulas import Term
from xfront_ir.passes.checks import Failure, index_inside, no_nan, no_zero, with_checks
from xfront_ir.passes.written_out import written_out
from xfront_ir.reference import evaluate
from xfront_ir.sharding import MeshAxes, Spec
from xfront_ir.verifier import verify

WHILE = lookup("while")


def positive(b, op):
    """The operand of `log` must be positive, that of `sqrt` not negative; both report it."""
    if op.definition not in (ops.log, ops.sqrt):
        return []
    x = op.operands[0]
    holds = Term(b, x) > 0 if op.definition is ops.log else Term(b, x) >= 0
    return [Failure(holds.value, op.definition.name, [x])]


def reported(fn: Function, *args: Any, checks: Any = positive) -> Any:
    """The site of the first check that failed with what it reports; None where all hold."""
    checked = with_checks(fn, checks)
    verify(checked.function)
    results = evaluate(checked.function, *args)
    n = len(fn.returns)
    for got, wanted in zip(results, evaluate(fn, *args)):
        np.testing.assert_array_equal(got, wanted)
    number, reported = int(results[n]), results[n + 1:]
    assert len(reported) == len(checked.reported)
    if not number:
        return None
    site, places = checked.sites[number - 1]
    return (site, *[reported[p].tolist() for p in places])


def test_the_first_check_that_fails_is_reported(ir):
    """In the order of the program, with its own values; those of one type share a result."""
    fn = ir.trace(lambda b, x, y: [b.emit(ops.log, x), b.emit(ops.sqrt, y), b.emit(ops.log, y)],
                  ir.f64(), ir.f64())
    assert with_checks(fn, positive).reported == (ir.f64(),)
    assert [site for site, _ in with_checks(fn, positive).sites] == ["log", "sqrt", "log"]
    with np.errstate(all="ignore"):
        assert reported(fn, 1.0, 2.0) is None
        assert reported(fn, -1.0, -2.0) == ("log", -1.0)
        assert reported(fn, 1.0, -2.0) == ("sqrt", -2.0)
        assert reported(fn, 1.0, 0.0) == ("log", 0.0)


def test_two_values_of_one_check_have_places_of_their_own(ir):
    def checks(b, op):
        if op.definition is not ops.sub:
            return []
        return [Failure((Term(b, op.operands[0]) > Term(b, op.operands[1])).value, "order",
                        op.operands)]
    fn = ir.trace(lambda b, x, y: b.emit(ops.sub, x, y), ir.f64(), ir.f64())
    assert reported(fn, 1.0, 2.0, checks=checks) == ("order", 1.0, 2.0)
    assert reported(fn, 2.0, 1.0, checks=checks) is None


def test_arrays_are_reported(ir):
    def checks(b, op):
        return [Failure(no_nan(b, v), op.definition.name, [v]) for v in op.results]
    fn = ir.trace(lambda b, x: b.emit(ops.sqrt, x), ir.f64(3))
    with np.errstate(all="ignore"):
        site, found = reported(fn, np.array([1.0, -1.0, 4.0]), checks=checks)
    assert site == "sqrt"
    np.testing.assert_array_equal(found, [1.0, np.nan, 2.0])
    assert reported(fn, np.ones(3), checks=checks) is None


def test_checks_in_control_flow(ir):
    """The first turn that fails is reported, and a branch only where it is taken."""
    body = ir.trace(lambda b, c, x: [b.emit(ops.add, c, b.emit(ops.log, x))] * 2, ir.f64(),
                    ir.f64())

    def turns(b, c, xs):
        return b.emit(ops.scan, c, xs, body=body, n_consts=0, n_carry=1, length=3, reverse=False,
                      unroll=1)
    fn = ir.trace(turns, ir.f64(), ir.f64(3))
    with np.errstate(all="ignore"):
        assert reported(fn, 0.0, np.array([1.0, -2.0, -3.0])) == ("log", -2.0)
        assert reported(fn, 0.0, np.array([1.0, 2.0, 3.0])) is None
    branches = (ir.trace(lambda b, x: b.emit(ops.log, x), ir.f64()),
                ir.trace(lambda b, x: b.emit(ops.sqrt, x), ir.f64()),
                ir.trace(lambda b, x: b.emit(ops.neg, x), ir.f64()))
    fn = ir.trace(lambda b, i, x: b.emit(ops.cond, i, x, branches=branches), ir.i32(), ir.f64())
    with np.errstate(all="ignore"):
        assert [reported(fn, np.int32(i), -1.0) for i in range(3)] == [
            ("log", -1.0), ("sqrt", -1.0), None]
    test = ir.trace(lambda b, x: b.emit(ops.gt, x, b.full(x.type, -2.5)), ir.f64())
    turn = ir.trace(lambda b, x: b.emit(ops.sub, x, b.full(x.type, 1.0)), ir.f64())
    fn = ir.trace(lambda b, x: b.emit(WHILE, x, cond=test, body=turn, n_cond_consts=0,
                                      n_body_consts=0), ir.f64())

    def negative(b, op):
        return [Failure((Term(b, op.operands[0]) > 0).value, "turn", [op.operands[0]])
                ] if op.definition is ops.sub else []
    assert reported(fn, 1.5, checks=negative) == ("turn", -0.5)
    assert reported(fn, -3.0, checks=negative) is None


def test_a_function_with_a_rule_is_called_for_its_checks(ir):
    """It stays beside the call, without the checks, so that its derivative stays."""
    body = ir.trace(lambda b, x: b.emit(ops.log, x), ir.f64())
    fn = ir.trace(lambda b, x: b.emit(ops.custom_jvp, x, body=body, rule=object(), name="g"),
                  ir.f64())
    with np.errstate(all="ignore"):
        assert reported(fn, -1.0) == ("log", -1.0)
        assert reported(fn, 1.0) is None
    made = with_checks(fn, positive).function
    assert [op.definition.name for op in made.ops if op.definition.has_bodies] == [
        "call", "custom_jvp"]


def test_parts_report_the_first_device_that_failed(ir):
    body = ir.trace(lambda b, x: b.emit(ops.log, x), ir.f64(2))
    spec = Spec([["x"]])

    def checks(b, op):
        return [Failure(no_zero(b, op.operands[0]), "log", [op.operands[0]])
                ] if op.definition is ops.log else []
    fn = ir.trace(lambda b, x: b.emit(
        ops.shard_map, x, mesh=MeshAxes(["x"], [1]), axes=("x",), in_specs=(spec,),
        out_specs=(spec,), check_vma=False, body=body), ir.f64(2))
    with np.errstate(all="ignore"):
        assert reported(fn, np.array([1.0, 0.0]), checks=checks) == ("log", [1.0, 0.0])
        assert reported(fn, np.array([1.0, 2.0]), checks=checks) is None
    many = ir.trace(lambda b, x: b.emit(
        ops.shard_map, x, mesh=MeshAxes(["x"], [4]), axes=("x",), in_specs=(spec,),
        out_specs=(spec,), check_vma=False, body=body), ir.f64(8))
    made = with_checks(many, checks).function
    verify(made)
    (op,) = [op for op in made.ops if op.definition is ops.shard_map]
    assert [str(v.type) for v in op.results] == ["f64[8]", "i32[4]", "f64[4,2]"]


X, I1, I = (5, 4), (3, 1), ()


@pytest.mark.parametrize("name,shapes,attrs,good,bad,found", [
    ("dynamic_slice", [X, I, I], {"sizes": (2, 3)}, [3, 1], [4, 1], (4, 0)),
    ("dynamic_slice", [X, I, I], {"sizes": (2, 3)}, [0, 0], [3, 2], (2, 1)),
    ("dynamic_update_slice", [X, (2, 3), I, I], {}, [3, 1], [3, -1], (-1, 1)),
    ("dynamic_update_slice", [X, (2, 3), I, I], {}, [0, 1], [4, 5], (4, 0)),
    ("gather", [X, I1], _gather((1,), (0,), (), (), (0,), (1, 4)), [[[0], [4], [2]]],
     [[[0], [5], [7]]], (5, 0)),
    ("gather", [X, (2, 2)], _gather((), (0, 1), (), (), (1, 0), (1, 1)), [[[3, 4], [0, 0]]],
     [[[3, 4], [3, 5]]], (5, 1)),
    ("scatter_add", [X, I1, (3, 4)], _scatter((1,), (0,), (), (), (0,)), [[[0], [4], [2]]],
     [[[0], [4], [-1]]], (-1, 0)),
    ("scatter", [X, (1,), (2, 4)], _scatter((0, 1), (), (), (), (0,)), [[3]], [[4]], (4, 0)),
    ("scatter", [X, (1,), (2, 3)], _scatter((0, 1), (), (), (), (1,)), [[1]], [[2]], (2, 0)),
])
def test_positions_inside(ir, name, shapes, attrs, good, bad, found):
    """A block must lie inside as a whole; the first index outside is reported with its column."""
    definition = lookup(name)

    def checks(b, op):
        made = index_inside(b, op)
        return [] if made is None else [Failure(made[0], made[2], made[1])]
    n = len(good)
    types = [ir.f64(*s) for s in shapes[:1]] + [ir.i32(*s) for s in shapes[1:]]
    if name == "dynamic_update_slice":
        types[1] = ir.f64(*shapes[1])
    elif name.startswith("scatter"):
        types[2] = ir.f64(*shapes[2])
    fn = ir.trace(lambda b, *xs: b.emit(definition, *xs, **attrs), *types)
    args = ir.samples(fn)
    start = len(args) - n if name.startswith("dynamic") else 1

    def at(indices):
        given = list(args)
        given[start:start + n] = [np.asarray(i, np.int32) for i in indices]
        return reported(fn, *given, checks=checks)
    assert at(good) is None
    assert at(bad)[1:] == found


def test_dropped_updates_and_no_positions_are_not_checked(ir):
    inside = []

    def f(b, x, i, u):
        x = b.emit(ops.scatter, x, i, u, **{**_scatter((1,), (0,), (), (), (0,)), "mode": "drop"})
        return b.emit(ops.dynamic_slice, b.emit(ops.reduce_sum, x, axes=(0, 1)), sizes=())
    fn = ir.trace(f, ir.f64(*X), ir.i32(*I1), ir.f64(3, 4))
    with_checks(fn, lambda b, op: [inside.append(index_inside(b, op))] and [])
    assert inside == [None] * 3


# --- ops of programs' own ---------------------------------------------------------------------

@pytest.fixture
def double(ir):
    """An op that is written as another one, which is written as an addition."""
    def infer(types, attrs):
        return types
    same = {"infer": infer, "operands": 1}
    inner = define("checks_test_inner", **same, written=lambda op: ir.trace(
        lambda b, x: b.emit(ops.add, x, x), op.operands[0].type))
    outer = define("checks_test_outer", **same, written=lambda op: ir.trace(
        lambda b, x: b.emit(inner, x), op.operands[0].type))
    yield outer
    del ops.REGISTRY["checks_test_inner"], ops.REGISTRY["checks_test_outer"]


def test_own_ops_are_written_as_others(ir, double):
    """However deep, in bodies too; other ops stay, and what nobody reads goes."""
    body = ir.trace(lambda b, c: b.emit(double, c), ir.f64())

    def f(b, x):
        b.emit(double, b.emit(ops.cos, x))
        (y,) = b.emit(ops.scan, b.emit(double, b.emit(ops.sin, x)), body=body, n_consts=0,
                      n_carry=1, length=2, reverse=False, unroll=1)
        return b.emit(ops.neg, y)
    made = written_out(ir.trace(f, ir.f64()))
    verify(made)
    assert [op.definition.name for op in made.ops] == ["sin", "add", "scan", "neg"]
    assert [op.definition.name for op in made.ops[2].attrs["body"].ops] == ["add"]
    np.testing.assert_allclose(evaluate(made, 0.3)[0], -8 * np.sin(0.3))
