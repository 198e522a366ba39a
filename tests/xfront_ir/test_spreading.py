"""Which explicit axes divide the results of ops: a row says how the operands lie, and how the
result lies or what the refusal says. `tests/xfront/sharding` runs such programs on devices."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.op_table.conv import _conv
from tests.op_table.gathering import _gather, _scatter
from xfront_ir import TensorType, dtypes
from xfront_ir.builder import Builder
from xfront_ir.definition import lookup
from xfront_ir.errors import ShardingTypeError
from xfront_ir.sharding import MeshAxes, Sharding, Spec
from xfront_ir.types import tensor

MESH = MeshAxes(["x", "y"], [4, 2], ["explicit", "explicit"])


def typed(text: str) -> TensorType:
    """The type of `f32[8@x,4]`; after a semicolon, axes over which devices hold terms of a sum."""
    found = re.fullmatch(r"(\w+)\[([^;]*);?(.*)\]", text)
    assert found is not None
    name, shape, terms = found.groups()
    dims = [d.partition("@") for d in shape.split(",") if d]
    plain = tensor(tuple(int(n) for n, _, _ in dims), dtypes.BY_NAME[name])
    axes = [tuple(a) for _, _, a in dims]
    if not terms and not any(axes):
        return plain
    return plain.over(Sharding(MESH, Spec(axes, (), tuple(terms))))


def emitted(name: str, operands: tuple[str, ...], attrs: dict[str, Any]) -> TensorType:
    """The type of the first result."""
    b = Builder("f")
    definition = lookup(name)
    made = b.emit(definition, *[b.param(typed(t)) for t in operands], **attrs)
    return (made if definition.single else made[0]).type


WINDOWS = {"window": (1, 2), "strides": (1, 1), "padding": ((0, 0), (0, 1)),
           "base_dilation": (1, 1), "window_dilation": (1, 1)}
ROW_OF = _gather((1,), (0,), (), (), (0,), (1, 4))
PART_OF = _gather((0, 1), (), (), (), (0,), (2, 4))
EACH = _gather((1,), (1,), (0,), (0,), (1,), (1, 1, 4))
INTO = _scatter((1,), (0,), (), (), (0,))
INTO_EACH = _scatter((1,), (1,), (0,), (0,), (1,))
PRODUCT = {"contract": ((1,), (0,)), "batch": ((), ()), "precision": None, "preferred": None}
BATCHED = {**PRODUCT, "contract": ((2,), (1,)), "batch": ((0,), (0,))}


@pytest.mark.parametrize("name,operands,attrs,result", [
    ("add", ("f32[8@x,4]", "f32[8,4@y]"), {}, "f32[8@x,4@y]"),
    ("add", ("f32[8@x,4]", "f32[8@y,4]"), {}, "incompatible shardings"),
    ("mul", ("f32[8@x,4]", "f32[8,4@x]"), {}, "can divide only one dimension"),
    ("select", ("bool[8]", "f32[8@x]", "f32[8@x]"), {}, "f32[8@x]"),
    ("select", ("bool[8@x]", "f32[8@x]", "f32[8]"), {}, "f32[8@x]"),
    ("select", ("bool[8]", "f32[8@x]", "f32[8@y]"), {}, "select cases must have the same"),
    ("broadcast_in_dim", ("f32[8@x,1]",), {"shape": (3, 8, 4), "dims": (1, 2)}, "f32[3,8@x,4]"),
    ("broadcast_in_dim", ("f32[4@y]",), {"shape": (8, 4), "dims": (1,)}, "f32[8,4@y]"),
    ("transpose", ("f32[8@x,4@y,3]",), {"permutation": (2, 0, 1)}, "f32[3,8@x,4@y]"),
    ("reverse", ("f32[8@x,4]",), {"axes": (1,)}, "f32[8@x,4]"),
    ("reshape", ("f32[8@x,4]",), {"shape": (8, 2, 2)}, "f32[8@x,2,2]"),
    ("reshape", ("f32[8@x,4]",), {"shape": (4, 2, 4)}, "f32[4@x,2,4]"),
    ("reshape", ("f32[8@x,4]",), {"shape": (2, 4, 4)}, "This reshape is not supported"),
    ("reshape", ("f32[8,4@x]",), {"shape": (32,)}, "This reshape is not supported"),
    ("reshape", ("f32[8@x,4]",), {"shape": (32,)}, "f32[32@x]"),
    ("reshape", ("f32[8@x,4@y]",), {"shape": (1, 8, 1, 4)}, "f32[1,8@x,1,4@y]"),
    ("reshape", ("f32[8@x,6]",), {"shape": (16, 3)}, "This reshape is not supported"),
    ("reduce_sum", ("f32[8@x,4@y,3]",), {"axes": (1,)}, "f32[8@x,3]"),
    ("reduce_max", ("f32[8@x,4@y]",), {"axes": (0, 1)}, "f32[]"),
    ("argmax", ("f32[8@x,4@y]",), {"axis": 0, "index_dtype": dtypes.i32}, "i32[4@y]"),
    ("cumsum", ("f32[8@x,4]",), {"axis": 1, "reverse": False}, "f32[8@x,4]"),
    ("cumsum", ("f32[8@x,4]",), {"axis": 0, "reverse": False}, "must be unsharded over"),
    ("top_k", ("f32[8@x,4]",), {"axis": 1, "k": 2}, "f32[8@x,2]"),
    ("top_k", ("f32[8,4@x]",), {"axis": 1, "k": 2}, "must be unsharded over"),
    ("slice", ("f32[8@x,6@y]",), {"starts": (0, 1), "limits": (8, 5), "strides": (1, 1)},
     "f32[8@x,4@y]"),
    ("slice", ("f32[8@x,6]",), {"starts": (0, 0), "limits": (6, 6), "strides": (1, 1)},
     "is not divisible by mesh axes"),
    ("concatenate", ("f32[8@x,4]", "f32[8@x,3]"), {"dimension": 1}, "f32[8@x,7]"),
    ("concatenate", ("f32[8@x,4]", "f32[8,3]"), {"dimension": 1}, "should have the same sharding"),
    ("dynamic_update_slice", ("f32[8@x,4]", "f32[8@x,2]", "i32[]", "i32[]"), {}, "f32[8@x,4]"),
    ("dynamic_update_slice", ("f32[8@x,4]", "f32[8,2]", "i32[]", "i32[]"), {}, "f32[8@x,4]"),
    ("dynamic_update_slice", ("f32[8@x,4]", "f32[4,4]", "i32[]", "i32[]"), {}, "covers only a"),
    ("dynamic_update_slice", ("f32[8,4]", "f32[4@x,4]", "i32[]", "i32[]"), {}, "covers only a"),
    ("gather", ("f32[8,4@x]", "i32[3,1]"), ROW_OF, "f32[3,4@x]"),
    ("gather", ("f32[8@x,4]", "i32[3,1]"), ROW_OF, "could not be resolved"),
    ("gather", ("f32[8@x,4]", "i32[1]"), PART_OF, "could not be resolved"),
    ("gather", ("f32[8,4@y]", "i32[1]"), PART_OF, "f32[2,4@y]"),
    ("gather", ("f32[8,4]", "i32[4@x,1]"), ROW_OF, "could not be resolved"),
    ("gather", ("f32[8@x,5,4]", "i32[8,1]"), EACH, "f32[8@x,4]"),
    ("gather", ("f32[8,5,4@y]", "i32[8@x,1]"), EACH, "f32[8@x,4@y]"),
    ("gather", ("f32[8@y,5,4]", "i32[8@x,1]"), EACH, "incompatible shardings"),
    ("scatter_add", ("f32[8,4@x]", "i32[3,1]", "f32[3,4@x]"), INTO, "f32[8,4@x]"),
    ("scatter_add", ("f32[8,4@x]", "i32[3,1]", "f32[3,4]"), INTO, "f32[8,4@x]"),
    ("scatter_add", ("f32[8,4]", "i32[3,1]", "f32[3,4@x]"), INTO, "could not be resolved"),
    ("scatter_add", ("f32[8@x,4]", "i32[3,1]", "f32[3,4]"), INTO, "could not be resolved"),
    ("scatter_add", ("f32[8,4]", "i32[4@x,1]", "f32[4,4]"), INTO, "could not be resolved"),
    ("scatter_add", ("f32[8,4]", "i32[4,1]", "f32[4@x,4]"), INTO, "could not be resolved"),
    ("scatter_add", ("f32[8,4@x]", "i32[3,1]", "f32[3,2]"), INTO, "could not be resolved"),
    ("scatter", ("f32[8@x,5,4]", "i32[8@x,1]", "f32[8@x,4]"), INTO_EACH, "f32[8@x,5,4]"),
    ("dot_general", ("f32[8@x,4]", "f32[4,2@y]"), PRODUCT, "f32[8@x,2@y]"),
    ("dot_general", ("f32[8@x,4@y]", "f32[4,2]"), PRODUCT, "f32[8@x,2]"),
    ("dot_general", ("f32[8,4@x]", "f32[4@x,2]"), PRODUCT, "it is ambiguous"),
    ("dot_general", ("f32[8,4@x]", "f32[4@y,2]"), PRODUCT, "consistent sharding"),
    ("dot_general", ("f32[8@x,3,4]", "f32[8,4,2@y]"), BATCHED, "f32[8@x,3,2@y]"),
    ("dot_general", ("f32[8@x,3,4]", "f32[8@y,4,2]"), BATCHED, "incompatible shardings"),
    ("conv_general_dilated", ("f32[4@x,2,8@y]", "f32[4,2,3]"), _conv(), "f32[4@x,4,6@y]"),
    ("conv_general_dilated", ("f32[4,2,8]", "f32[4@x,2,3]"), _conv(), "f32[4,4@x,6]"),
    ("conv_general_dilated", ("f32[4,2@y,8]", "f32[4,2,3]"), _conv(), "sums over dim"),
    ("conv_general_dilated", ("f32[4,2,8]", "f32[4,2@y,3]"), _conv(), "sums over dim"),
    ("conv_general_dilated", ("f32[4,2,8]", "f32[4@x,1,3]"),
     {**_conv(), "feature_groups": 2}, "no dimension that is several groups"),
    ("conv_general_dilated", ("f32[4@x,2,8]", "f32[4,2,3]"),
     {**_conv(), "batch_groups": 2}, "no dimension that is several groups"),
    ("reduce_window_sum", ("f32[8@x,4@y]",), WINDOWS, "f32[8@x,4@y]"),
    ("fft", ("c64[8@x,4@y]",), {"kind": "fft", "lengths": (4,)}, "c64[8@x,4@y]"),
    ("fft", ("f32[8@x,6@y]",), {"kind": "rfft", "lengths": (6,)}, "c64[8@x,4@y]"),
    ("fft", ("f32[8@x,8@y]",), {"kind": "rfft", "lengths": (8,)}, "is not divisible by mesh axes"),
    ("cholesky", ("f32[8@x,4,4]",), {}, "f32[8@x,4,4]"),
    ("cholesky", ("f32[8,4@x,4]",), {}, "last 2 dimensions are not"),
    ("bitcast", ("f32[8@x]",), {"dtype": dtypes.i32}, "i32[8@x]"),
    ("bitcast", ("f32[8@x]",), {"dtype": dtypes.i8}, "i8[8@x,4]"),
    ("bitcast", ("i8[8@x,4]",), {"dtype": dtypes.f32}, "f32[8@x]"),
    ("neg", ("f32[8;x]",), {}, "f32[8;x]"),
    ("sin", ("f32[8;x]",), {}, "does not accept unreduced"),
    ("add", ("f32[8;x]", "f32[8;x]"), {}, "f32[8;x]"),
    ("add", ("f32[8;x]", "f32[8]"), {}, "does not accept unreduced"),
    ("select", ("bool[8]", "f32[8;x]", "f32[8;x]"), {}, "f32[8;x]"),
    ("select", ("bool[8]", "f32[8;x]", "f32[8]"), {}, "does not accept unreduced"),
    ("reduce_sum", ("f32[8,4;x]",), {"axes": (0,)}, "f32[4;x]"),
])
def test_results_lie_as_the_rule_says(name: str, operands: tuple[str, ...], attrs: dict[str, Any],
                                      result: str) -> None:
    """Or the op is refused."""
    if re.fullmatch(r"\w+\[.*\]", result):
        assert emitted(name, operands, attrs) is typed(result)
        return
    with pytest.raises(ShardingTypeError, match=re.escape(result)):
        emitted(name, operands, attrs)
