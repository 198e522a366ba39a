"""Rows of `ops/refs.py`. How control flow carries contents: `tests/xfront_ir/passes/golden`."""

from __future__ import annotations

from typing import Any

import numpy as np

from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.dtypes import DType, i32, ref_dtype
from xfront_ir.types import tensor

from .row import FLOATS, Bad, Row, Sample

REF = ref_dtype(i32)


def program(dtype: DType, rng: np.random.Generator) -> Any:
    """Write, add, read: what a reference holds at each point."""
    b = Builder("f")
    x, y = (b.param(tensor((2, 3), dtype)) for _ in range(2))
    ref = b.emit(ops.new_ref, x)
    old = b.emit(ops.swap, ref, y)
    b.emit(ops.addupdate, ref, x)
    read = b.emit(ops.get, ref)
    arrays = [rng.uniform(-3, 3, (2, 3)).astype(dtype.numpy) for _ in range(2)]
    return b.close([old, read, b.emit(ops.freeze, ref)]), arrays


def _row(name: str, bad: list[Bad]) -> Row:
    return Row(name, [Sample(build=program)], FLOATS, bad, differentiable=False, batch=False,
               lowered=False)


ROWS = [
    _row("new_ref", [Bad([("ref<i32>", (2,))], "takes an array")]),
    _row("get", [Bad([("i32", (2,))], "takes a reference")]),
    _row("freeze", [Bad([("i32", (2,))], "takes a reference")]),
    _row("swap", [Bad([("ref<i32>", (2,)), ("f32", (2,))], "holds i32"),
                  Bad([("ref<i32>", (2,)), ("i32", (3,))], "holds i32")]),
    _row("addupdate", [Bad([("ref<i32>", (2,)), ("f32", (2,))], "holds i32")]),
]
