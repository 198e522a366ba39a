"""Rows of `ops/linear_call.py`. Solvers that loop, matrices that are differentiated by:
`tests/xfront/lax/test_linear_solve.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.types import tensor

from .control import WIDE, sample, trace
from .row import Bad, Row

_DIMS = {"contract": ((0,), (0,)), "batch": ((), ()), "precision": None, "preferred": None}


def _product(x: Any, m: Any) -> Any:
    return trace(lambda b, x, m: [b.emit(ops.dot_general, x, m, **_DIMS)], x, m)


def _transposed_product(y: Any, m: Any) -> Any:
    dims = {**_DIMS, "contract": ((0,), (1,))}
    return trace(lambda b, y, m: [b.emit(ops.dot_general, y, m, **dims)], y, m)


def _linear_call(b: Any, x: Any, m: Any) -> Any:
    y = x.type.with_shape((m.type.shape[1],))
    return b.emit(ops.linear_call, x, m, body=_product(x.type, m.type),
                  transposed=_transposed_product(y, m.type), n_linear=1)


def _scaled(x: Any, d: Any, op: Any) -> Any:
    return trace(lambda b, x, d: [b.emit(op, x, d)], x, d)


def _solve(b: Any, x: Any, d: Any) -> Any:
    solve = trace(lambda b, x, d: [b.emit(ops.div, x, d), b.emit(ops.lt, x, d)], x.type, d.type)
    return b.emit(ops.custom_linear_solve, x, d, matvec=_scaled(x.type, d.type, ops.mul),
                  solve=solve,
                  transpose_solve=_scaled(x.type, d.type, ops.div), n=1)


_F32 = tensor((), dtypes.f32)
_BODY = _scaled(_F32, _F32, ops.mul)

ROWS = [
    Row("linear_call", [sample(_linear_call, (3,), (3, 2))], WIDE,
        [Bad([("f32", (3,)), ("f32", ())], "parameters of the body",
             {"body": _BODY, "transposed": _BODY, "n_linear": 1})]),
    Row("custom_linear_solve", [sample(_solve, (3,), (3,))], WIDE,
        [Bad([("f32", (3,)), ("f32", ())], "parameters of matvec",
             {"matvec": _BODY, "solve": _BODY, "transpose_solve": _BODY, "n": 1})]),
]
