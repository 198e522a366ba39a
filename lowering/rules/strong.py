"""Lowering of products with strong zeros, to plain ones and selections.

A sum of products is the plain one where all operands are finite, which is asked at run time.
Otherwise what is not finite is left out, unless it meets something that is not zero.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lowering.context import expanded
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value
from xfront_ir.types import TensorType


@expanded(ops.strong_mul)
def _strong_mul(op: Op) -> Function:
    return _scaled(ops.mul, op.operands[0].type)


@expanded(ops.strong_div)
def _strong_div(op: Op) -> Function:
    return _scaled(ops.div, op.operands[0].type)


@lru_cache(maxsize=512)
def _scaled(plain: Any, type: TensorType) -> Function:
    b = Builder(f"strong_{plain.name}")
    x, y, zero = b.param(type), b.param(type), b.zeros(type)
    nothing = b.emit(ops.eq, x, zero)
    if plain is ops.mul:
        nothing = b.emit(ops.or_, nothing, b.emit(ops.eq, y, zero))
    return b.close([b.emit(ops.select, nothing, zero, b.emit(plain, x, y))])


@expanded(ops.strong_dot_general)
def _strong_dot_general(op: Op) -> Function:
    lhs, rhs = (v.type for v in op.operands)
    return _summed(lhs, rhs, tuple(op.attrs.items()))


@lru_cache(maxsize=512)
def _summed(lhs: TensorType, rhs: TensorType, attrs: tuple) -> Function:
    dims = dict(attrs)
    b = Builder("plain")
    plain = b.close([b.emit(ops.dot_general, b.param(lhs), b.param(rhs), **dims)])

    b = Builder("careful")
    operands = b.param(lhs), b.param(rhs)
    finite = [_finite(b, v) for v in operands]
    left, right = (b.emit(ops.select, f, v, b.zeros(v.type))
                   for f, v in zip(finite, operands, strict=True))
    odd = [b.emit(ops.convert, b.emit(ops.not_, f), dtype=v.type.dtype)
           for f, v in zip(finite, operands, strict=True)]
    some = [b.emit(ops.convert, b.emit(ops.ne, v, b.zeros(v.type)), dtype=v.type.dtype)
            for v in operands]
    meet = [b.emit(ops.dot_general, x, y, **dims) for x, y in ((odd[0], some[1]),
                                                               (some[0], odd[1]))]
    bad = b.emit(ops.ne, b.emit(ops.add, *meet), b.zeros(meet[0].type))
    careful = b.close([b.emit(ops.select, bad, b.emit(ops.dot_general, *operands, **dims),
                              b.emit(ops.dot_general, left, right, **dims))])

    b = Builder("strong_dot_general")
    operands = b.param(lhs), b.param(rhs)
    every = [_all(b, _finite(b, v)) for v in operands]
    return b.close(b.emit(ops.cond, b.emit(ops.and_, *every), *operands,
                          branches=(careful, plain)))


def _finite(b: Builder, v: Value) -> Value:
    if not v.type.dtype.is_complex:
        return b.emit(ops.is_finite, v)
    return b.emit(ops.and_, b.emit(ops.is_finite, b.emit(ops.real, v)),
                  b.emit(ops.is_finite, b.emit(ops.imag, v)))


def _all(b: Builder, v: Value) -> Value:
    return b.emit(ops.reduce_and, v, axes=tuple(range(v.type.ndim))) if v.type.ndim else v


