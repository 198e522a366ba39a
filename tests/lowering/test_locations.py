"""Source positions and scopes reach MLIR and HLO."""

from __future__ import annotations

import sys

import lowering
from xfront_ir import dtypes, ops
from xfront_ir.locations import Location
from xfront_ir.types import tensor

V = tensor((3,), dtypes.f32)


def here(scope: tuple[str, ...] = ()) -> Location:
    frame = sys._getframe(1)
    return Location(frame.f_code, frame.f_lasti, scope)


def test_an_op_carries_scope_name_file_line_and_function(func) -> None:
    def make(b, x):
        b.loc = here(("jvp", "layer"))
        return [b.emit(ops.sin, x)]

    line = make.__code__.co_firstlineno + 1
    text = lowering.lower(func([V], make), name="model").as_text(debug_info=True)
    assert 'loc("jit(model)/jvp/layer/sin"' in text
    assert f'test_locations.py":{line}:0' in text
    assert make.__qualname__ in text


def test_names_reach_the_metadata_of_hlo(func) -> None:
    def make(b, x):
        b.loc = here()
        return [b.emit(ops.sin, x)]

    text = lowering.lower(func([V], make), name="model").compile().hlo_text()
    assert 'op_name="jit(model)/sin"' in text and "test_locations.py" in text


def test_a_call_adds_its_name_to_the_scope(func) -> None:
    def make(b, x):
        b.loc = here(("inner",))
        return [b.emit(ops.sin, x)]

    body = func([V], make, "g")

    def outer(b, x):
        b.loc = here(("outer",))
        made = b.emit(ops.call, x, body=body, name="g")
        return [b.emit(ops.cos, *made)]

    text = lowering.lower(func([V], outer)).as_text(debug_info=True)
    assert 'loc("jit(f)/outer/g/inner/sin"' in text and 'loc("jit(f)/outer/cos"' in text


def test_one_position_is_one_location(func) -> None:
    def make(b, x):
        b.loc = here()
        for _ in range(3):
            x = b.emit(ops.sin, x)
        return [x]

    text = lowering.lower(func([V], make)).as_text(debug_info=True)
    assert text.count("jit(f)/sin") == 1


def test_ops_without_location_have_none(func) -> None:
    text = lowering.lower(func([V], lambda b, x: [b.emit(ops.sin, x)])).as_text(debug_info=True)
    assert "stablehlo.sine %arg0 : tensor<3xf32> loc(#loc)" in text
    assert "#loc = loc(unknown)" in text
