"""Derivatives whose rules square their operands, at every number of the dtypes of 8 bits and fewer:
the exact slope rounded once, whether or not the dtype has infinities."""

from __future__ import annotations

import numpy as np
import pytest

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType
from xfront_ir.passes.jvp import jvp
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor

NARROW = [d for d in dtypes.BY_NAME.values()
          if d.is_float and d.bits < 16 and d.name != "f8_e8m0fnu"]     # that one has no zero


def numbers(dtype: DType) -> np.ndarray:
    """All numbers of a dtype, infinities included."""
    found = np.arange(2 ** dtype.bits, dtype=np.uint8).view(dtype.numpy)
    return found[~np.isnan(found.astype(np.float64))]


def slope(op: OpDef, by: int, *operands: np.ndarray) -> np.ndarray:
    """The derivative of an op by one of its operands, at these."""
    b = Builder("f")
    params = [b.param(tensor(x.shape, dtypes.from_numpy(x.dtype))) for x in operands]
    moved, _ = jvp(b.close([b.emit(op, *params)]), tuple([i == by for i in range(len(operands))]))
    return evaluate(moved, *operands, np.ones_like(operands[by]))[1].astype(np.float64)


def same(got: np.ndarray, exact: np.ndarray, dtype: DType) -> None:
    """Whether slopes are the exact ones rounded to the dtype, by way of f32."""
    want = exact.astype(np.float32).astype(dtype.numpy).astype(np.float64)
    room = np.abs(exact) <= dtypes.greatest_finite(dtype)
    half = exact * (1 + 2.0 ** -20), exact * (1 - 2.0 ** -20)             # ties may go either way
    either = [x.astype(dtype.numpy).astype(np.float64) for x in half]
    wrong = room & (got != want) & (got != either[0]) & (got != either[1])
    assert not wrong.any(), (dtype, got[wrong][:4], exact[wrong][:4])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_asinh(dtype: DType) -> None:
    x = numbers(dtype)
    same(slope(ops.asinh, 0, x), 1 / np.sqrt(1 + x.astype(np.float64) ** 2), dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_atan2(dtype: DType) -> None:
    y, x = [v.ravel() for v in np.meshgrid(numbers(dtype), numbers(dtype))]
    a, b = y.astype(np.float64), x.astype(np.float64)
    squares = np.where((a == 0) & (b == 0) | np.isinf(a) | np.isinf(b), np.inf, a * a + b * b)
    finite = np.isfinite(squares)
    for by, part in enumerate((b, -a)):
        same(slope(ops.atan2, by, y, x), np.where(finite, part, 0) / squares, dtype)
