"""Facts about Functions, and what they cost."""

from __future__ import annotations

import pytest

from tests.xfront_ir import samples
from tests.xfront_ir.samples import F32, V3
from xfront_ir import Builder, Function, Value, cost, cost_by_location, dtypes, ops, tensor
from xfront_ir.analysis import (
    axis_names,
    functions,
    has_effects,
    last_uses,
    op_has_effects,
)
from xfront_ir.cost import size_in_bytes
from xfront_ir.locations import capture
from xfront_ir.opdef import NAMES, Pending, Request, define


def call(body: object) -> Function:
    b = Builder("outer")
    return b.close(b.emit(ops.call, b.param(V3), body=body, name="g"))


def test_liveness() -> None:
    """The last reader; returned values live to the end."""
    b = Builder()
    x, unread = b.param(F32), b.param(F32)
    y = b.emit(ops.sin, x)
    z = b.emit(ops.cos, x)
    dead = b.emit(ops.neg, y)
    fn = b.close([z])
    assert last_uses(fn) == {x: 1, unread: -1, y: 2, z: 3, dead: 2}


def test_functions_come_once_and_bodies_first() -> None:
    """Shared ones too."""
    fn = samples.shared()
    found = functions(fn)
    assert [f.name for f in found] == ["chain", "middle", "shared"]
    assert samples.op_counts(fn) == {"call": 4, "sin": 1, "literal": 1, "mul": 1}


@pytest.fixture
def marked():
    """An op with an effect and the name of an axis."""
    made = define("analysis_test_op", attrs={"axes": NAMES}, infer=lambda types, attrs: types,
                  operands=1, effects=True, mentions_axis=lambda attrs: attrs["axes"])
    yield made
    del ops.REGISTRY["analysis_test_op"]


def test_effects_and_axes_of_bodies(marked: object) -> None:
    """However deep. Of a transformation that is pending, its effects are asked for; the axes of
    what it starts from count, unless it may resolve one."""
    b = Builder("inner")
    x = b.param(V3)
    b.emit(marked, x, axes=("i", "j"))        # type: ignore[arg-type]
    inner = b.close([x])
    outer = call(call(inner))
    assert has_effects(outer) and axis_names(outer) == {"i", "j"}
    assert op_has_effects(outer.ops[0])
    assert not has_effects(samples.loop()) and axis_names(samples.loop()) == frozenset()

    forced = []

    def transform(fn: Function, request: Request) -> Function:
        forced.append(fn)
        return samples.chain()

    plain = call(Pending(samples.chain(), Request("vectorize"), transform, (V3,), (V3,)))
    assert axis_names(plain) == frozenset() and not forced
    held = call(Pending(inner, Request("vectorize"), transform, (V3,), (V3,)))
    assert axis_names(held) == frozenset() and forced == [inner]      # the name was resolved
    assert not has_effects(held) and not has_effects(plain) and len(forced) == 2


def test_cost_counts_trips_and_branches() -> None:
    """A scan by its length, a cond by its dearest branch; a while says that it does not know."""
    step = cost(samples.step())
    loop = cost(samples.loop())
    assert loop.flops == 4 * step.flops and loop.exact_trips
    one = cost(samples.chain())
    assert cost(samples.branches()).flops == one.flops
    assert not cost(samples.counting()).exact_trips
    assert cost(samples.shared()).flops == 3 * one.flops


def test_cost_of_a_product() -> None:
    """Two operations a term."""
    assert cost(samples.products()).flops >= 2 * 4 * 2


def test_peak_memory() -> None:
    """A chain holds two arrays beside its parameter; a tree of sums holds its leaves."""
    b = Builder()
    big = tensor((1000,), dtypes.f32)
    y = b.param(big)
    for _ in range(10):
        y = b.emit(ops.sin, y)
    assert cost(b.close([y])).peak == 3 * 4000
    b = Builder()
    x = b.param(big)
    leaves = [b.emit(ops.sin, x) for _ in range(8)]
    total = leaves[0]
    for leaf in leaves[1:]:
        total = b.emit(ops.add, total, leaf)
    assert cost(b.close([total])).peak == 4000 * (1 + 8 + 1)


def test_sizes() -> None:
    """Packed where elements are narrower than a byte, words where they are keys."""
    assert size_in_bytes(tensor((3,), dtypes.bool_)) == 3
    assert size_in_bytes(tensor((3,), dtypes.i4)) == 2
    assert size_in_bytes(tensor((3,), dtypes.c128)) == 48
    assert size_in_bytes(tensor((3,), dtypes.key_fry)) == 24


def test_cost_by_location() -> None:
    """The dearest place first."""
    b = Builder()
    x = b.param(V3)
    b.loc = capture(("a",))
    y = b.emit(ops.sin, x)
    b.loc = capture(("b",))
    z = b.emit(ops.add, b.emit(ops.cos, y), y)
    places = cost_by_location(b.close([z]))
    assert [where.split()[0] for where, _ in places] == ["b", "a"]
    assert places[0][1].flops == 6


def test_a_body_that_combines_elements_counts_for_each() -> None:
    """`reduce` by a body: one combination an element."""
    combine = Builder("add")
    a, c = combine.param(F32), combine.param(F32)
    body = combine.close([combine.emit(ops.add, a, c)])
    b = Builder()
    x = b.param(tensor((100, 3), dtypes.f32))
    made = b.emit(ops.reduce, x, b.literal(0.0, dtypes.f32), body=body, axes=(0,))
    assert cost(b.close([made] if isinstance(made, Value) else made)).flops == 300


@pytest.mark.parametrize("name,operands,attrs,flops,moved", [
    ("dot_general", [("f32", 8, 4), ("f32", 4, 2)], {"contract": ((1,), (0,)), "batch": ((), ())},
     2 * 16 * 4, 4 * (32 + 8 + 16)),
    ("dot_general", [("bf16", 3, 8, 4), ("bf16", 3, 4, 2)],
     {"contract": ((2,), (1,)), "batch": ((0,), (0,)), "preferred": dtypes.f32},
     2 * 48 * 4, 2 * (96 + 24) + 4 * 48),
    ("dot_general", [("f32", 4, 8, 3), ("f32", 3, 4, 2)],
     {"contract": ((0, 2), (1, 0)), "batch": ((), ())}, 2 * 16 * 12, 4 * (96 + 24 + 16)),
    ("conv_general_dilated", [("f32", 2, 3, 6), ("f32", 4, 3, 3)],
     {"lhs_spec": (0, 1, 2), "rhs_spec": (0, 1, 2), "out_spec": (0, 1, 2), "strides": (1,),
      "padding": ((0, 0),), "lhs_dilation": (1,), "rhs_dilation": (1,), "feature_groups": 1,
      "batch_groups": 1}, 2 * 32 * 3 * 3, 4 * (36 + 36 + 32)),
    ("fft", [("f32", 3, 8)], {"kind": "rfft", "lengths": (8,)}, 5 * 24 * 3, 4 * 24 + 8 * 15),
    ("fft", [("c64", 3, 6)], {"kind": "fft", "lengths": (6,)}, 5 * 18 * 3, 2 * 8 * 18),
    ("triangular_solve", [("f32", 2, 3, 3), ("f32", 2, 3, 5)],
     {"left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False,
      "unit_diagonal": False}, 30 * 3, 4 * (18 + 30 + 30)),
    ("reshape", [("f32", 2, 3)], {"shape": (6,)}, 0, 4 * 12),
])
def test_costs_of_ops(name: str, operands: list, attrs: dict, flops: int, moved: int) -> None:
    """Two operations a term of a product, n log n of a transform; each array is moved once."""
    b = Builder()
    params = [b.param(tensor(tuple(shape), dtypes.BY_NAME[dtype])) for dtype, *shape in operands]
    found = cost(b.close([b.emit(ops.REGISTRY[name], *params, **attrs)]))
    assert (found.flops, found.bytes) == (flops, moved)
