"""Terms: values of the IR with Python's operators, for forms that are formulas.

    t = Term(b, x)
    y = where(t < 0, -t, polynomial(t * t, (1.0, -1 / 6)) * t)

Numbers become constants of the term's type.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Value
from xfront_ir.dtypes import DType
from xfront_ir.ops.convert import convert


class Term:
    """An array in the body being written."""

    __slots__ = ("b", "value")

    def __init__(self, b: Builder, value: Value) -> None:
        self.b, self.value = b, value

    def like(self, number: Any) -> Term:
        """The same shape and dtype, filled with `number`."""
        return Term(self.b, self.b.full(self.value.type, number))

    def op(self, definition: Any, *others: Any, **attrs: Any) -> Term:
        """`definition` of this and others."""
        values = [(v if isinstance(v, Term) else self.like(v)).value for v in others]
        return Term(self.b, self.b.emit(definition, self.value, *values, **attrs))

    def to(self, dtype: DType) -> Term:
        """Converted."""
        return self.op(convert, dtype=dtype)

    def bits(self, dtype: DType) -> Term:
        """The same bits as another dtype."""
        return self.op(ops.bitcast, dtype=dtype)

    def round(self) -> Term:
        """The nearest integer, ties to even."""
        return self.op(ops.round, method="to_nearest_even")

    def sqrt(self) -> Term:
        """Square root."""
        return self.op(ops.sqrt)

    def with_sign_of(self, other: Term) -> Term:
        """This f32, which is not negative, with the sign of another, zeros included."""
        sign = other.bits(dtypes.i32) & -2 ** 31
        return (self.bits(dtypes.i32) | sign).bits(dtypes.f32)

    def __add__(self, other: Any) -> Term:
        return self.op(ops.add, other)

    def __sub__(self, other: Any) -> Term:
        return self.op(ops.sub, other)

    def __mul__(self, other: Any) -> Term:
        return self.op(ops.mul, other)

    def __truediv__(self, other: Any) -> Term:
        return self.op(ops.div, other)

    def __rsub__(self, other: Any) -> Term:
        return self.like(other) - self

    def __rtruediv__(self, other: Any) -> Term:
        return self.like(other) / self

    def __neg__(self) -> Term:
        return self.op(ops.neg)

    def __abs__(self) -> Term:
        return self.op(ops.abs)

    def __and__(self, other: Any) -> Term:
        return self.op(ops.and_, other)

    def __or__(self, other: Any) -> Term:
        return self.op(ops.or_, other)

    def __lt__(self, other: Any) -> Term:
        return self.op(ops.lt, other)

    def __le__(self, other: Any) -> Term:
        return self.op(ops.le, other)

    def __gt__(self, other: Any) -> Term:
        return self.op(ops.gt, other)

    def __ge__(self, other: Any) -> Term:
        return self.op(ops.ge, other)

    def equals(self, other: Any) -> Term:
        """Where the two are equal."""
        return self.op(ops.eq, other)


def where(mask: Term, on_true: Any, on_false: Any) -> Term:
    """Elements of `on_true` where `mask` is set, else of `on_false`; one of them is a Term."""
    model = on_true if isinstance(on_true, Term) else on_false
    chosen = [v if isinstance(v, Term) else model.like(v) for v in (on_true, on_false)]
    return mask.op(ops.select, *chosen)


def sum_of(terms: Sequence[Term]) -> Term:
    """The terms, of which there are some, added up from left to right."""
    return functools.reduce(operator.add, terms)


def polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """The sum of coefficients[i] x^i, by Horner's scheme."""
    made: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        made = x * made + c
    return made
