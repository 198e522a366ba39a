"""Rows of `ops/while_loop.py`. Many turns, nestings:
`tests/xfront_ir/passes/test_while_reverse.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.definition import lookup
from xfront_ir.types import I32, tensor

from .control import WIDE, sample, trace
from .row import Bad, Row

WHILE = lookup("while")


def _repeated(b: Any, limit: Any, w: Any, x: Any) -> Any:
    test = trace(lambda b, limit, x, n: [b.emit(ops.lt, x, limit)], limit.type, x.type, I32)
    body = trace(lambda b, w, x, n: [b.emit(ops.add, b.emit(ops.mul, x, w), x),
                                     b.emit(ops.add, n, b.full(n.type, 1))], w.type, x.type, I32)
    return b.emit(WHILE, limit, w, x, b.full(I32, 0), cond=test, body=body, n_cond_consts=1,
                  n_body_consts=1)


def _tangent(b: Any, w: Any, dw: Any, x: Any, dx: Any, count: Any) -> Any:
    def turn(b: Any, w: Any, dw: Any, x: Any, n: Any, dx: Any) -> Any:
        moved = b.emit(ops.add, b.emit(ops.mul, b.emit(ops.cos, x), b.emit(ops.mul, dx, w)),
                       b.emit(ops.mul, b.emit(ops.sin, x), dw))
        return [b.emit(ops.mul, b.emit(ops.sin, x), w),
                b.emit(ops.add, n, b.full(n.type, 1)), moved]
    body = trace(turn, w.type, w.type, x.type, I32, x.type)
    return b.emit(ops.while_tangent, w, dw, x, b.full(I32, 0), dx, count, body=body, n_consts=1,
                  n_linear_consts=1, n_carry=2, budget=(2, 2 ** 20))


_F32 = tensor((), dtypes.f32)
_SAME = trace(lambda b, x: [x], _F32)
_NARROW = trace(lambda b, x: [b.emit(ops.convert, x, dtype=dtypes.f16)], _F32)
_TESTED = trace(lambda b, x: [b.emit(ops.gt, x, x)], _F32)
_EMPTY = trace(lambda b: [])
_NOTHING = trace(lambda b, x: [], _F32)
_LOOP = {"cond": _TESTED, "body": _SAME, "n_cond_consts": 0, "n_body_consts": 0}
_LINEAR = {"body": _SAME, "n_consts": 0, "n_linear_consts": 0, "n_carry": 0}

ROWS = [
    Row("while", [sample(_repeated, (), (), ())], WIDE, [
        Bad([("f32", ())], "must return one scalar bool", {**_LOOP, "cond": _SAME}),
        Bad([("f32", ())], "must return one scalar bool", {**_LOOP, "cond": _NOTHING}),
        Bad([("f32", ())], "carry 0", {**_LOOP, "body": _NARROW}),
        Bad([("f32", (2,))], "parameter of the condition", _LOOP),
        Bad([("f32", ())], "both positive", {**_LOOP, "budget": (0, 8)})]),
    Row("while_tangent", [sample(_tangent, (2,), (2,), (2,), (2,), n) for n in (0, 1, 4)], WIDE, [
        Bad([("f32", ()), ("f32", ())], "number of iterations must be i32", _LINEAR),
        Bad([("f32", (2,)), ("i32", ())], "parameter of the body", _LINEAR),
        Bad([("f32", ()), ("i32", ())], "carry 0", {**_LINEAR, "body": _NARROW}),
        Bad([("i32", ())], "both positive", {**_LINEAR, "body": _EMPTY, "budget": (1,)})]),
]
