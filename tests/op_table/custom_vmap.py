"""The row of `ops/custom_vmap.py`. Rules that differ from the plain batch:
`tests/xfront/transforms/test_custom_vmap.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.types import tensor

from .control import WIDE, sample, trace
from .row import Bad, Row


class PlainBatch:
    """The rule that a function without one has."""

    name = "plain"

    def __init__(self, body: Any) -> None:
        self.body = body

    def function(self, request: Any) -> Any:
        """The Function for a batch."""
        _, flags, size = request.details
        made, out = vectorize(self.body, [0 if f else None for f in flags], ("", size))
        b = Builder("batch")
        b.params, b.ops = list(made.params), list(made.ops)
        return b.close([v if p is None else moved(b, v, p)
                        for v, p in zip(made.returns, out, strict=True)])


def moved(b: Builder, v: Any, p: int) -> Any:
    order = (p, *[a for a in range(v.type.ndim) if a != p])
    return b.emit(ops.transpose, v, permutation=order)


def _body(type: Any) -> Any:
    return trace(lambda b, x, y: [b.emit(ops.mul, b.emit(ops.sin, x), y), y], type, type)


def _custom(b: Any, x: Any, y: Any) -> Any:
    body = _body(x.type)
    return b.emit(ops.custom_vmap, x, y, body=body, rule=PlainBatch(body), name="sine")


_F32 = tensor((), dtypes.f32)

ROWS = [
    Row("custom_vmap", [sample(_custom, (3,), (3,))], WIDE,
        [Bad([("f32", (3,))], "the body takes",
             {"body": _body(_F32), "rule": PlainBatch(_body(_F32)), "name": "sine"})]),
]
