"""Rows of `ops/gathering.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir import dtypes
from xfront_ir.dtypes import DType
from xfront_ir.literal import Literal

from .row import BOOL, COMPLEX, FLOATS, INTEGERS, NUMERIC, Bad, Draw, Fixed, Row, Sample

EVERY = (*NUMERIC, *BOOL)
MODES = ("clip", "fill")


def _gather(windows: tuple, removed: tuple, batching: tuple, of_indices: tuple, index_map: tuple,
            sizes: tuple, mode: str = "clip", **more: Any) -> dict[str, Any]:
    return {"offset_dims": windows, "collapsed_slice_dims": removed,
            "operand_batching_dims": batching, "start_indices_batching_dims": of_indices,
            "start_index_map": index_map, "slice_sizes": sizes, "mode": mode, "fill_value": None,
            "indices_are_sorted": False, "unique_indices": False, **more}


def _scatter(windows: tuple, removed: tuple, batching: tuple, of_indices: tuple, index_map: tuple,
             mode: str = "clip", unique: bool = False) -> dict[str, Any]:
    return {"update_window_dims": windows, "inserted_window_dims": removed,
            "operand_batching_dims": batching, "scatter_indices_batching_dims": of_indices,
            "scatter_dims_to_operand_dims": index_map, "mode": mode, "indices_are_sorted": False,
            "unique_indices": unique}


ROW_OF = _gather((1,), (0,), (), (), (0,), (1, 4))
WHERE = Fixed([[1], [9], [-3]], dtypes.i32)


def _gathers() -> list[Sample]:
    made = []
    for mode in MODES:
        made += [Sample([Draw(shape), indices], _gather(*rest, mode), smooth=mode == "clip")
                 for shape, indices, *rest in (
                     ((5, 4), WHERE, (1,), (0,), (), (), (0,), (1, 4)),
                     ((5, 4), Draw((2, 3, 2), -2, 5, dtypes.i32), (0, 3), (), (), (), (1, 0),
                      (2, 3)),
                     ((2, 5, 4), Draw((3, 2, 1), -1, 5, dtypes.i64), (2,), (1,), (0,), (1,), (1,),
                      (1, 1, 3)),
                     ((6,), Fixed([200], dtypes.u8), (), (0,), (), (), (0,), (1,)),
                     ((5, 4), Fixed([[[1, 1], [2 ** 32 - 1, 2]]], dtypes.u32), (), (0, 1), (), (),
                      (0, 1), (1, 1)),
                     ((3, 2), Fixed([[0], [1]], dtypes.i32), (0, 2), (), (), (), (0,), (0, 2)),
                     ((3,), Draw((0, 1), 0, 2, dtypes.i32), (), (0,), (), (), (0,), (1,)))]
    made.append(Sample([Draw((5, 4)), WHERE], lambda dtype: {
        **ROW_OF, "mode": "fill", "fill_value": Literal(1, dtype)}))
    made.append(Sample([Draw((5, 4)), Fixed([[1], [4]], dtypes.i32)],
                       {**ROW_OF, "mode": "promise_in_bounds", "indices_are_sorted": True,
                        "unique_indices": True}))
    return made


def _scatters(unique: bool = False, distinct: bool = False, smooth: bool = True) -> list[Sample]:
    """Updates that meet (unless `unique`) and that lie outside."""
    rows = Fixed([[1], [9], [0]] if unique else [[1], [9], [1]], dtypes.i32)
    points = [[1, 3], [-9, 0], [2, 1]] if unique else [[1, 3], [1, 3], [2, 9]]
    lanes = Fixed([[[1], [2]], [[0], [4]], [[3], [-7]]] if unique else
                  [[[1], [2]], [[1], [4]], [[1], [2]]], dtypes.i64)
    return [Sample([Draw(shape, distinct=distinct), indices,
                    Draw(updates, -2.9, 2.9, distinct=distinct)], _scatter(*rest, mode, unique),
                   smooth=smooth)
            for mode in MODES for shape, indices, updates, *rest in (
                ((5, 4), rows, (3, 4), (1,), (0,), (), (), (0,)),
                ((5, 4), Fixed(points, dtypes.i32), (3,), (), (0, 1), (), (), (0, 1)),
                ((2, 6, 2), lanes, (3, 2, 2), (2,), (1,), (0,), (1,), (1,)),
                ((5,), Fixed([3], dtypes.u8), (2,), (0,), (), (), (), (0,)),
                ((5,), Fixed([200], dtypes.u8), (), (), (0,), (), (), (0,)))]


def _row(name: str, allowed: Sequence[DType], samples: list[Sample], bad: Sequence[Bad] = ()
         ) -> Row:
    types = [("f32", (5, 4)), ("i32", (3, 1)), ("f32", (3, 4))]
    attrs = _scatter((1,), (0,), (), (), (0,))
    return Row(name, samples, allowed, [
        Bad([types[0], ("f32", (3, 1)), types[2]], "must be integers", attrs),
        Bad([types[0], types[1], ("f64", (3, 4))], "cannot be written", attrs),
        Bad([types[0], types[1], ("f32", (2, 4))], "do not fit", attrs),
        Bad([types[0], types[1], ("f32", (3, 5))], "do not fit", attrs),
        Bad(types, "one axis for each", {**attrs, "scatter_dims_to_operand_dims": (0, 1)}),
        Bad(types, "must account for each axis", {**attrs, "inserted_window_dims": ()}), *bad])


ROWS = [
    Row("gather", _gathers(), EVERY, [
        Bad([("f32", (5, 4)), ("f32", (3, 1))], "must be integers", ROW_OF),
        Bad([("f32", (5, 4)), ("i32", ())], "index vectors in their last", ROW_OF),
        Bad([("f32", (5, 4)), ("i32", (3, 2))], "one axis for each", ROW_OF),
        Bad([("f32", (5, 3)), ("i32", (3, 1))], "must fit in", ROW_OF),
        Bad([("f32", (5, 4, 2)), ("i32", (3, 1))], "must account for each axis", ROW_OF),
        Bad([("f32", (5, 4)), ("i32", (3, 1))], "must be ascending and in",
            {**ROW_OF, "offset_dims": (2,)}),
        Bad([("f32", (5, 4, 3)), ("i32", (3, 1))], "must be ascending and in",
            _gather((0, 0, 1), (), (), (), (0,), (1, 4, 3))),
        *[Bad([("f32", (5, 4, 3)), ("i32", (3, 1))], "must be ascending, without a common",
              _gather((1,), removed, batching, (0,) * len(batching), (0,), (1, 1, 3)))
          for removed, batching in (((1, 0), ()), ((0,), (0,)), ((), (1, 0)), ((0, 3), ()))],
        Bad([("f32", (5, 4)), ("i32", (3, 1))], "fill value must be",
            {**ROW_OF, "fill_value": Literal(1, dtypes.i32)}),
        Bad([("f32", (2, 4)), ("i32", (3, 1))], "do not match dims",
            _gather((1,), (), (0,), (0,), (1,), (1, 2)))]),
    _row("scatter", EVERY, [*_scatters(), *_scatters(unique=True)]),
    _row("scatter_add", NUMERIC, _scatters(),
         [Bad([("bool", (5, 4)), ("i32", (3, 1)), ("bool", (3, 4))], "cannot be written",
              _scatter((1,), (0,), (), (), (0,)))]),
    _row("scatter_mul", (*FLOATS, *COMPLEX, *INTEGERS), [
        *_scatters(unique=True), *_scatters(smooth=False)]),
    _row("scatter_min", NUMERIC, _scatters(distinct=True),
         [Bad([("bool", (5, 4)), ("i32", (3, 1)), ("bool", (3, 4))], "cannot be written",
              _scatter((1,), (0,), (), (), (0,)))]),
    _row("scatter_max", NUMERIC, _scatters(distinct=True)),
]
