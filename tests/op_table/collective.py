"""Rows of `ops/collective.py`: what they refuse.

Over the axis of vmap they become other ops, which `tests/xfront_ir/passes/test_collective.py`
compares with what they mean; over the axes of a mesh they run in the tests of shard_map.
"""

from __future__ import annotations

from typing import Any

from .row import FLOATS, Bad, Row

OVER: dict[str, Any] = {"axes": ("i",), "sizes": (4,)}
ALL = {**OVER, "groups": None}


def _row(name: str, bad: list[Bad], **options: Any) -> Row:
    return Row(name, [], FLOATS, bad, **options)


def _reduction(name: str, **options: Any) -> Row:
    return _row(name, [
        Bad([("f32", ())], "distinct", {"axes": ("i", "i"), "sizes": (2, 2), "groups": None}),
        Bad([("f32", ())], "one size each", {"axes": ("i", "j"), "sizes": (2,), "groups": None}),
        Bad([("f32", ())], "the same size, got", {**OVER, "groups": ((0, 1, 2), (3,))}),
        Bad([("f32", ())], "each of the 4 participants", {**OVER, "groups": ((0, 1), (1, 2))}),
    ], **options)


ROWS = [
    _reduction("psum"),
    _row("psum_invariant", [
        Bad([("f32", ())], "distinct", {"axes": ("i", "i"), "sizes": (2, 2)}),
        Bad([("bool", ())], "takes numbers", OVER)]),
    _row("pcast", [Bad([("f32", ())], "one size each", {"axes": ("i", "j"), "sizes": (2,)})]),
    _reduction("pmax", differentiable=False),
    _reduction("pmin", differentiable=False),
    _row("all_gather", [
        Bad([("f32", (3,))], "not in [0, 2)", {**ALL, "dimension": 2, "tiled": False}),
        Bad([("f32", (3,))], "not in [0, 1)", {**ALL, "dimension": 1, "tiled": True})]),
    _row("psum_scatter", [
        Bad([("f32", (3,))], "cannot be divided", {**ALL, "dimension": 0, "tiled": True}),
        Bad([("f32", (8,))], "cannot be divided", {**ALL, "dimension": 0, "tiled": False})]),
    _row("all_to_all", [
        Bad([("f32", (6, 2))], "cannot be divided",
            {**ALL, "split": 0, "concat": 1, "tiled": True}),
        Bad([("f32", (8, 2))], "cannot be divided",
            {**ALL, "split": 0, "concat": 1, "tiled": False}),
        Bad([("f32", (4, 2))], "not in [0, 2)",
            {**ALL, "split": 0, "concat": 2, "tiled": False})]),
    _row("ppermute", [
        Bad([("f32", ())], "sources must be distinct", {**OVER, "perm": ((0, 1), (0, 2))}),
        Bad([("f32", ())], "destinations must be distinct", {**OVER, "perm": ((0, 4),)})]),
    _row("axis_index", [Bad([], "one size each", {"axes": ("i",), "sizes": ()})]),
]
