"""Row of `ops/reduce_by_body.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import DType, from_numpy
from xfront_ir.types import scalar, tensor

from .row import FLOATS, INEXACT, INTEGERS, Bad, Draw, Row, Sample


def product(dtype: DType) -> Function:
    """x * y"""
    b = Builder("product")
    x, y = b.param(scalar(dtype)), b.param(scalar(dtype))
    return b.close([b.emit(ops.mul, x, y)])


def affine(dtype: DType) -> Function:
    """Composition of maps t -> a t + c, first the left one: associative, does not commute."""
    b = Builder("affine")
    a, c, d, e = (b.param(scalar(dtype)) for _ in range(4))
    return b.close([b.emit(ops.mul, a, d), b.emit(ops.add, b.emit(ops.mul, d, c), e)])


def greatest(dtype: DType) -> Function:
    """The greater value and its place."""
    b = Builder("greatest")
    x, i, y, j = (b.param(scalar(d)) for d in (dtype, dtypes.i32) * 2)
    first = b.emit(ops.ge, x, y)
    return b.close([b.emit(ops.select, first, x, y), b.emit(ops.select, first, i, j)])


def _sample(body: Any, operands: list[Draw], inits: list[float], axes: tuple[int, ...],
            **options: Any) -> Sample:
    def build(dtype: DType, rng: np.random.Generator) -> tuple[Function, list[np.ndarray]]:
        arrays = [operand.array(dtype, rng) for operand in operands]
        arrays += [np.asarray(v).astype(a.dtype) for v, a in zip(inits, arrays, strict=True)]
        b = Builder("f")
        params = [b.param(tensor(a.shape, from_numpy(a.dtype))) for a in arrays]
        return b.close(b.emit(ops.reduce, *params, body=body(dtype), axes=axes)), arrays

    return Sample(build=build, **options)


UNIT = Draw((3, 5), 0.5, 1.5)
PLACES = Draw((3, 5), 0, 9, dtypes.i32)
ROWS = [Row("reduce", [
    *[_sample(product, [Draw(shape, 0.5, 1.5)], [1.0], axes)
      for shape, axes in (((3, 5), (1,)), ((3, 5), (0, 1)), ((2, 3, 2), (0, 2)), ((0, 2), (0,)),
                          ((1,), (0,)))],
    _sample(affine, [UNIT, UNIT], [1.0, 0.0], (1,)),
    _sample(greatest, [Draw((3, 5), distinct=True), PLACES], [-100.0, 0], (1,), dtypes=FLOATS),
], (*INEXACT, *INTEGERS), [
    Bad([("f32", (3,))], "as many initial values", {"body": product(dtypes.f32), "axes": (0,)}),
    Bad([("f32", (3,)), ("f32", ())], "axes must be", {"body": product(dtypes.f32), "axes": (1,)}),
    Bad([("f32", (3,)), ("i32", ())], "initial values", {"body": product(dtypes.f32), "axes": ()}),
    Bad([("f32", (3,)), ("f32", ())], "the body must take",
        {"body": product(dtypes.i32), "axes": ()}),
], tolerance={"bf16": 5 * 8e-3, "f16": 5 * 1e-3})]       # each of five steps rounds
