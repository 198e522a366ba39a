"""Sorts whose key fits in 32 bits: key and position are packed in one integer.

XLA has a fast sort for one operand compared by plain `<`. The high word is the key as an integer
of the same order, the low word is the position. So equal keys keep their order, and no two numbers
are equal; after the sort the low words are the permutation.
"""

from __future__ import annotations

import numpy as np

from lowering.forms.conditions import condition
from lowering.forms.registry import form
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.sort import sort, take_along

LEAST = 32
"""The plain rule sorts shorter axes as fast."""
FEWEST = 512
"""Elements in all. A sort of fewer elements gains less than the form takes longer to compile."""
STABLE_FROM = 8192
"""XLA's stable sort is faster than its unstable one from this length on."""

_KEYS = (dtypes.bool_, dtypes.i8, dtypes.i16, dtypes.i32, dtypes.u8, dtypes.u16, dtypes.u32,
         dtypes.f16, dtypes.bf16, dtypes.f32)


@condition
def _one_short_key(op: Op) -> bool:
    """One key of at most 32 bits along an axis of 32 or more, 512 elements in all; a sort of one
    array must be of floats."""
    key, n = op.operands[0].type, op.operands[0].type.shape[op.attrs["dimension"]]
    return (op.attrs["n_keys"] == 1 and key.dtype in _KEYS and LEAST <= n < 2 ** 31
            and key.size >= FEWEST
            and (len(op.operands) > 1 or key.dtype.is_float)
            and not any(v.type.dtype.is_key for v in op.operands))


# One key of at most 32 bits: XLA's fast sort is for a single integer array.
@form(sort, when=_one_short_key, row="kernels.order: sort")
def packed(b: Builder, op: Op, *operands: Value) -> list[Value]:
    """Sort (key, position) pairs as integers, then move each operand by the positions."""
    key, dimension = Term(b, operands[0]), op.attrs["dimension"]
    high = ops.shift_left(_ordered(key).to(dtypes.i64), 32)
    place = b.emit(ops.iota, dtype=dtypes.i64, shape=high.type.shape, dimension=dimension)
    (pairs,) = sort(high | Term(b, place), dimension=dimension, n_keys=1,
                    stable=high.type.shape[dimension] >= STABLE_FROM)
    order = (pairs & 2 ** 32 - 1).to(dtypes.i32).value
    return [take_along(b, x, order, dimension) for x in operands]


def _ordered(key: Term) -> Term:
    """The keys as 32-bit integers of the same order."""
    if key.dtype is dtypes.u32:
        return ops.bitcast(ops.xor(key, 2 ** 31), dtype=dtypes.i32)
    return float_order(key) if key.dtype.is_float else key.to(dtypes.i32)


def float_order(x: Term) -> Term:
    """Floats as integers of the same order. The two zeros are equal; all NaNs are equal, and
    greater than all numbers."""
    if x.dtype.bits < 32:
        x = x.to(dtypes.f32)
    bits = x.dtype.bits
    zero, nan = x.like(0.0), x.like(np.nan)
    one = where(x == zero, zero, x)
    one = where(x != x, nan, one)
    made = ops.bitcast(one, dtype=dtypes.i32 if bits == 32 else dtypes.i64)
    sign = ops.shift_right_arithmetic(made, bits - 1)
    return ops.xor(made, sign & 2 ** (bits - 1) - 1)
