"""Rows of `ops/window.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import DType
from xfront_ir.types import tensor

from .reduce_by_body import affine, product
from .row import FLOATS, NARROW, NUMERIC, REAL, Bad, Draw, Fixed, Row, Sample


def _window(window: tuple, strides: tuple = (), padding: tuple = (), base: tuple = (),
            inner: tuple = ()) -> dict[str, Any]:
    ones = (1,) * len(window)
    return {"window": window, "strides": strides or ones,
            "padding": padding or ((0, 0),) * len(window), "base_dilation": base or ones,
            "window_dilation": inner or ones}


NAN = float("nan")
USES = [((6,), _window((3,))), ((7,), _window((2,), (2,), ((1, 1),))), ((), _window(())),
        ((5, 4), _window((2, 3), (2, 1), ((0, 1), (1, 1)))),
        ((5,), _window((3,), (2,), ((-1, 2),))), ((5,), _window((2,), (2,), ((2, 1),), (3,))),
        ((7,), _window((3,), (2,), ((1, 1),), (), (2,))), ((2,), _window((3,))),
        ((3,), _window((3,)))]
PLAIN = [(shape, {name: attrs[name] for name in ("window", "strides", "padding")})
         for shape, attrs in USES[:5]]
OVER = ((3,), _window((2,), (), ((1, 2),)))
"""Windows of padding and elements, and one of padding alone."""
WITH_ZERO = [dtype for dtype in NARROW if dtype.name != "f8_e8m0fnu"]
"""Those that have a tangent for a window of padding."""
REFUSED = [Bad([("f32", (4,))], "must have one entry for each axis", _window((2, 2))),
           Bad([("f32", (4,))], "must have one entry for each axis", _window((0,))),
           Bad([("f32", (4,))], "must have one entry for each axis",
               {**_window((2,)), "padding": (0,)}),
           Bad([("bool", (4,))], "operands, got", _window((2,)))]


def _row(name: str, allowed: Sequence[DType], low: float = -3, high: float = 3,
         distinct: bool = False) -> Row:
    # with gaps of two between elements a window may hold none, and its extremum is infinite
    samples = [Sample([Draw(shape, low, high, distinct=distinct)], attrs,
                      smooth=not distinct or attrs["base_dilation"] != (3,))
               for shape, attrs in USES]
    return Row(name, samples, allowed, REFUSED)


def _extremum(name: str) -> Row:
    row = _row(name, REAL, distinct=True)
    narrow = [Sample([Fixed(values)], OVER[1], smooth=False, dtypes=NARROW)
              for values in ([1.0, 4.0, 2.0], [NAN, 0.5, -2.0])]
    return Row(name, [*row.samples, *narrow], row.dtypes, row.bad)


def _sources() -> list[Sample]:
    shapes = ((4,), (4,), (), (3, 4), (2,))
    return [Sample([Draw(source), Draw(shape, distinct=True)], {"select": select, **attrs})
            for select in ("ge", "le") for source, (shape, attrs) in zip(shapes, PLAIN)]


def _by_body(body: Any, inits: Sequence[float], shape: tuple, attrs: dict) -> Sample:
    def build(dtype: DType, rng: np.random.Generator) -> tuple[Function, list[np.ndarray]]:
        arrays = [Draw(shape, 0.5, 1.5).array(dtype, rng) for _ in inits]
        arrays += [np.asarray(v).astype(dtype.numpy) for v in inits]
        b = Builder("f")
        params = [b.param(tensor(a.shape, dtype)) for a in arrays]
        return b.close(b.emit(ops.reduce_window, *params, body=body(dtype), **attrs)), arrays

    return Sample(build=build)


MUL = {"body": product(dtypes.f32), **_window((2,))}

ROWS = [
    Row("reduce_window", [*[_by_body(product, [1.0], *use) for use in USES],
                          *[_by_body(affine, [1.0, 0.0], *use) for use in USES[:4]]],
        FLOATS, [Bad([("f32", (3,))], "as many initial values", MUL),
                 *[Bad([("f32", (3,)), ("f32", (n,)), ("f32", ()), ("f32", ())],
                       "operands of the same shape", MUL) for n in (2, 4)],
                 Bad([("f32", (3,)), ("i32", ())], "initial values must be", MUL),
                 Bad([("i32", (3,)), ("i32", ())], "the body must take", MUL),
                 Bad([("f32", (3, 3)), ("f32", ())], "one entry for each axis", MUL)]),
    _row("reduce_window_sum", NUMERIC),
    _row("reduce_window_prod", NUMERIC, 0.5, 1.5),
    _extremum("reduce_window_max"),
    _extremum("reduce_window_min"),
    Row("select_and_gather_add", [
        *[Sample([Draw(shape), Draw(shape, distinct=True)], {"select": select, **attrs})
          for select in ("ge", "le") for shape, attrs in USES],
        *[Sample([Fixed([0.5, 1.0, 2.0]), Fixed([1.0, 4.0, 2.0])], {"select": select, **OVER[1]},
                 smooth=False, dtypes=WITH_ZERO) for select in ("ge", "le")]],
        FLOATS, [Bad([("f32", (4,)), ("f64", (4,))], "of the same type",
                     {"select": "ge", **_window((2,))}),
                 Bad([("i32", (4,)), ("i32", (4,))], "two float arrays",
                     {"select": "ge", **_window((2,))})]),
    Row("select_and_scatter_add", _sources(),
        FLOATS, [Bad([("f32", (4,)), ("f32", (4,))], "of shape (3,)",
                     {"select": "ge", "window": (2,), "strides": (1,), "padding": ((0, 0),)})]),
]
