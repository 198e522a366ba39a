"""Rows of `ops/shard_map.py`, on meshes of one device; `tests/xfront/sharding` has larger ones."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.sharding import MeshAxes, Spec
from xfront_ir.types import tensor

from .control import WIDE, sample, trace
from .row import Bad, Row

ONE = MeshAxes(["x", "y"], [1, 1])
FOUR = MeshAxes(["x", "y"], [4, 1])
ROWS_OVER_X = Spec([["x"], []])


def _mapped(check_vma: bool) -> Any:
    def make(b: Any, w: Any, x: Any) -> Any:
        over: dict[str, Any] = {"axes": ("x",), "sizes": (1,)}

        def body(b: Any, w: Any, x: Any) -> Any:
            w = b.emit(ops.pcast, w, **over) if check_vma else w
            y = b.emit(ops.mul, b.emit(ops.sin, x), w)
            total = b.emit(ops.reduce_sum, y, axes=(0, 1))
            return [y, b.emit(ops.psum_invariant, total, **over) if check_vma else
                    b.emit(ops.psum, total, groups=None, **over)]

        return b.emit(ops.shard_map, w, x, mesh=ONE, axes=("x", "y"),
                      in_specs=(Spec([[], []]), ROWS_OVER_X),
                      out_specs=(ROWS_OVER_X, Spec([])), check_vma=check_vma,
                      body=trace(body, w.type, x.type))

    return make


_SAME = trace(lambda b, x: [x], tensor((2, 3), dtypes.f32))
_ATTRS = {"mesh": FOUR, "axes": ("x",), "in_specs": (ROWS_OVER_X,), "out_specs": (ROWS_OVER_X,),
          "check_vma": False, "body": _SAME}

ROWS = [
    Row("shard_map", [sample(_mapped(vma), (2, 3), (2, 3)) for vma in (False, True)], WIDE, [
        Bad([("f32", (9, 3))], "cannot be divided", _ATTRS),
        Bad([("f32", (4, 3))], "local parts are", _ATTRS),
        Bad([("f32", (8, 3))], "not an axis of the mesh", {**_ATTRS, "axes": ("x", "z")}),
        Bad([("f32", (8, 3))], "not one of the manual axes",
            {**_ATTRS, "out_specs": (Spec([[], ["y"]]),)}),
        Bad([("f32", (8, 3))], "a spec for each", {**_ATTRS, "in_specs": ()}),
        Bad([("f32", (8, 3))], "may only say how",
            {**_ATTRS, "in_specs": (Spec([["x"], []], open=[1]),)}),
    ]),
]
