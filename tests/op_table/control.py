"""Rows of `ops/control.py`. Nestings: `tests/xfront_ir/passes/test_control.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import DType
from xfront_ir.types import I32, TensorType, tensor

from .row import Bad, Row, Sample

WIDE = (dtypes.f64, dtypes.f32)


def trace(make: Callable[..., Any], *types: TensorType) -> Function:
    """The Function of `make(b, *params)`, which returns a list of values."""
    b = Builder("body")
    return b.close(make(b, *[b.param(t) for t in types]))


def sample(make: Callable[..., Any], *shapes: Any, low: float = 0.5, high: float = 1.5,
           **options: Any) -> Sample:
    """A sample whose program is `make(b, *params)`; a shape may also be an integer operand."""
    def build(dtype: DType, rng: np.random.Generator) -> tuple[Function, list[np.ndarray]]:
        arrays = [np.asarray(s, np.int32) if isinstance(s, int) else
                  rng.uniform(low, high, s).astype(dtype.numpy) for s in shapes]
        types = [I32 if isinstance(s, int) else tensor(s, dtype) for s in shapes]
        return trace(make, *types), arrays
    return Sample(build=build, **options)


def _called(b: Any, x: Any, y: Any) -> Any:
    body = trace(lambda b, x, y: [b.emit(ops.mul, b.emit(ops.sin, x), y), y], x.type, y.type)
    return b.emit(ops.call, x, y, body=body, name="g")


def _composite(b: Any, x: Any, y: Any) -> Any:
    body = trace(lambda b, x, y: [b.emit(ops.mul, b.emit(ops.sin, x), y), y], x.type, y.type)
    return b.emit(ops.composite, x, y, body=body, name="my.g", attributes='{"k" = 2 : i64}',
                  version=1)


def _tagged(b: Any, x: Any, y: Any) -> Any:
    body = trace(lambda b, x, y: [b.emit(ops.mul, b.emit(ops.sin, x), y), y], x.type, y.type)
    return b.emit(ops.xla_metadata_call, x, y, body=body, name="g", attributes='{k = "2"}',
                  of_derivatives='{k = "3"}')


def _switched(b: Any, index: Any, x: Any, y: Any) -> Any:
    branches = (trace(lambda b, x, y: [b.emit(ops.mul, x, y), x], x.type, y.type),
                trace(lambda b, x, y: [b.emit(ops.sin, x), y], x.type, y.type),
                trace(lambda b, x, y: [b.full(x.type, 2), b.emit(ops.exp, y)], x.type, y.type))
    return b.emit(ops.cond, index, x, y, branches=branches)


def _chosen(b: Any, x: Any, y: Any) -> Any:
    branches = (trace(lambda b, x, y: [b.emit(ops.mul, x, y)], x.type, y.type),
                trace(lambda b, x, y: [b.emit(ops.sin, x)], x.type, y.type))
    return b.emit(ops.cond, b.emit(ops.lt, x, y), x, y, branches=branches)


def _scanned(length: int, reverse: bool) -> Callable[..., Any]:
    def make(b: Any, w: Any, c: Any, xs: Any) -> Any:
        def body(b: Any, w: Any, c: Any, n: Any, x: Any) -> Any:
            c = b.emit(ops.add, b.emit(ops.mul, w, c), b.emit(ops.sin, x))
            return [c, b.emit(ops.add, n, b.full(n.type, 1)), b.emit(ops.mul, c, x), n]
        inner = trace(body, w.type, c.type, I32, w.type)
        return b.emit(ops.scan, w, c, b.full(I32, 0), xs, body=inner, n_consts=1, n_carry=2,
                      length=length, reverse=reverse, unroll=1)
    return make


_F32 = tensor((), dtypes.f32)
_SAME = trace(lambda b, x: [x], _F32)
_NARROW = trace(lambda b, x: [b.emit(ops.convert, x, dtype=dtypes.f16)], _F32)
_SCAN = {"body": _SAME, "n_consts": 0, "n_carry": 1, "length": 3, "reverse": False, "unroll": 1}

ROWS = [
    Row("call", [sample(_called, (2, 3), (2, 3))], WIDE, [
        Bad([("f32", (3,))], "must be f32[], got f32[3]", {"body": _SAME, "name": "g"})]),
    Row("composite", [sample(_composite, (2, 3), (2, 3))], WIDE, [
        Bad([("f32", (3,))], "must be f32[], got f32[3]",
            {"body": _SAME, "name": "my.g", "attributes": "{}", "version": 0})]),
    Row("xla_metadata_call", [sample(_tagged, (2, 3), (2, 3))], WIDE, [
        Bad([("f32", (3,))], "must be f32[], got f32[3]",
            {"body": _SAME, "name": "g", "attributes": "{}", "of_derivatives": "{}"})]),
    Row("cond", [*[sample(_switched, i, (3,), (3,)) for i in (0, 1, 2, -7, 9)],
                 sample(_chosen, (), ())], WIDE, [
        Bad([("f32", ()), ("f32", ())], "scalar bool or i32", {"branches": (_SAME, _SAME)}),
        Bad([("bool", ()), ("f32", ())], "between two branches",
            {"branches": (_SAME, _SAME, _SAME)}),
        Bad([("i32", ()), ("f32", ())], "result of branch 1", {"branches": (_SAME, _NARROW)}),
        Bad([("i32", ()), ("f64", ())], "parameter of branch 0", {"branches": (_SAME,)}),
        Bad([("i32", ())], "at least one", {"branches": ()})]),
    Row("scan", [sample(_scanned(n, reverse), (2,), (2,), (n, 2))
                 for n in (0, 1, 4) for reverse in (False, True)], WIDE, [
        Bad([("f32", (2,))], "operand 0", _SCAN),
        Bad([("f32", ())], "carry 0", {**_SCAN, "body": _NARROW}),
        Bad([("f32", (2,))], "leading axis of size 3", {**_SCAN, "n_carry": 0}),
        Bad([("f32", ())], "negative", {**_SCAN, "length": -1})]),
]
