"""Lowering of products with strong zeros, to plain products and selections.

A sum of products is the plain one where all operands are finite, which is tested at run time.
Otherwise elements that are not finite are left out, unless they are multiplied by an element that
is not zero.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lowering.context import expanded
from xfront_ir import ops
from xfront_ir.core import Function, Op
from xfront_ir.ops.formulas import Term, where
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType


@expanded(ops.strong_mul)
def _strong_mul(op: Op) -> Function:
    return _scaled(ops.mul, op.operands[0].type)


@expanded(ops.strong_div)
def _strong_div(op: Op) -> Function:
    return _scaled(ops.div, op.operands[0].type)


@lru_cache(maxsize=512)
def _scaled(plain: Any, type: TensorType) -> Function:
    b = PlacedBuilder(f"strong_{plain.name}")
    x, y = Term(b, b.param(type)), Term(b, b.param(type))
    zero = x.like(0)
    nothing = x == zero
    if plain is ops.mul:
        nothing = nothing | (y == zero)
    return b.close([where(nothing, zero, plain(x, y)).value])


@expanded(ops.strong_dot_general)
def _strong_dot_general(op: Op) -> Function:
    lhs, rhs = (v.type for v in op.operands)
    return _summed(lhs, rhs, tuple(op.attrs.items()))


@lru_cache(maxsize=512)
def _summed(lhs: TensorType, rhs: TensorType, attrs: tuple) -> Function:
    dims = dict(attrs)
    b = PlacedBuilder("plain")
    plain = b.close([b.emit(ops.dot_general, b.param(lhs), b.param(rhs), **dims)])

    b = PlacedBuilder("careful")
    x, y = Term(b, b.param(lhs)), Term(b, b.param(rhs))
    of_x, of_y = _finite(x), _finite(y)
    left, right = where(of_x, x, 0), where(of_y, y, 0)
    odd_x, odd_y = (~of_x).to(x.dtype), (~of_y).to(y.dtype)
    some_x, some_y = (x != 0).to(x.dtype), (y != 0).to(y.dtype)
    meet = ops.dot_general(odd_x, some_y, **dims) + ops.dot_general(some_x, odd_y, **dims)
    made = where(meet != 0, ops.dot_general(x, y, **dims), ops.dot_general(left, right, **dims))
    careful = b.close([made.value])

    b = PlacedBuilder("strong_dot_general")
    x, y = Term(b, b.param(lhs)), Term(b, b.param(rhs))
    every = _all(_finite(x)) & _all(_finite(y))
    return b.close(b.emit(ops.cond, every.value, x.value, y.value, branches=(careful, plain)))


def _finite(x: Term) -> Term:
    if not x.dtype.is_complex:
        return ops.is_finite(x)
    return ops.is_finite(ops.real(x)) & ops.is_finite(ops.imag(x))


def _all(x: Term) -> Term:
    return ops.reduce_and(x, axes=tuple(range(x.type.ndim))) if x.type.ndim else x


