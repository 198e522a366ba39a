"""Rows of `ops/sharding.py`, on meshes of one device; `tests/xfront/sharding` has more of them."""

from __future__ import annotations

from xfront_ir.sharding import MeshAxes, Sharding, Spec

from .row import BOOL, NUMERIC, Bad, Draw, Row, Sample

ONE = MeshAxes(["x", "y"], [1, 1])
EXPLICIT = MeshAxes(["x", "y"], [1, 1], ["explicit", "explicit"])
FOUR = MeshAxes(["x"], [4])

ROWS = [
    Row("sharding_constraint", [
        Sample([Draw(shape)], {"sharding": Sharding(ONE, spec)})
        for shape, spec in (((2, 3), Spec([["x"], []])), ((2, 3), Spec([[], ["y", "x"]], open=[0])),
                            ((), Spec([])), ((0, 2), Spec([[], ["x"]])))
    ], (*NUMERIC, *BOOL), [
        Bad([("f32", (2, 3))], "has 2", {"sharding": Sharding(ONE, Spec([["x"]]))}),
        Bad([("f32", (3,))], "cannot be divided", {"sharding": Sharding(FOUR, Spec([["x"]]))})]),
    Row("reshard", [
        Sample([Draw(shape)], {"sharding": Sharding(mesh, spec)})
        for mesh, shape, spec in ((ONE, (2, 3), Spec([["x"], []])),
                                  (EXPLICIT, (2, 3), Spec([["x"], ["y"]])),
                                  (EXPLICIT, (), Spec([])), (EXPLICIT, (0, 2), Spec([[], ["x"]])))
    ], (*NUMERIC, *BOOL), [
        Bad([("f32", (2, 3))], "has 2", {"sharding": Sharding(ONE, Spec([["x"]]))}),
        Bad([("f32", (3,))], "cannot be divided", {"sharding": Sharding(FOUR, Spec([["x"]]))})]),
]
