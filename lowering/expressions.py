"""Expressions: MLIR values with Python's operators, for lowerings that are formulas.

    x = Expr(ctx, value, type)
    y = where(x < 0, -x, (x + 1).log())

Operands are of one type; Python numbers become constants of it. `loop` repeats a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lowering.context import RuleContext
from lowering.rules.compare import compare
from xfront_ir import dtypes
from xfront_ir.types import BOOL, TensorType


class Expr:
    """An array of floats (or bools) in the program being emitted."""

    __slots__ = ("ctx", "type", "value")

    def __init__(self, ctx: RuleContext, value: Any, type: TensorType) -> None:
        self.ctx, self.value, self.type = ctx, value, type

    def like(self, number: float) -> Expr:
        """The same shape and dtype, filled with `number`."""
        return Expr(self.ctx, self.ctx.constant(number, self.type), self.type)

    def op(self, name: str, *operands: Any) -> Expr:
        """The MLIR op `name` of this and others of its type."""
        values = [self.value, *(self._of(v).value for v in operands)]
        return Expr(self.ctx, self.ctx.create(name, values, [self.type]), self.type)

    def _of(self, other: Any) -> Expr:
        return other if isinstance(other, Expr) else self.like(other)

    def __add__(self, other: Any) -> Expr:
        return self.op("stablehlo.add", other)

    def __sub__(self, other: Any) -> Expr:
        return self.op("stablehlo.subtract", other)

    def __mul__(self, other: Any) -> Expr:
        return self.op("stablehlo.multiply", other)

    def __truediv__(self, other: Any) -> Expr:
        return self.op("stablehlo.divide", other)

    def __radd__(self, other: float) -> Expr:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Expr:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Expr:
        return self.like(other) * self

    def __rtruediv__(self, other: float) -> Expr:
        return self.like(other) / self

    def __neg__(self) -> Expr:
        return self.op("stablehlo.negate")

    def __abs__(self) -> Expr:
        return self.op("stablehlo.abs")

    def __and__(self, other: Expr) -> Expr:
        return self.op("stablehlo.and", other)

    def __or__(self, other: Expr) -> Expr:
        return self.op("stablehlo.or", other)

    def __invert__(self) -> Expr:
        return self.op("stablehlo.not")

    def compared(self, direction: str, other: Any) -> Expr:
        """Where this stands in that relation (EQ, NE, LT, LE, GT, GE) to `other`."""
        mask = self.type.with_dtype(dtypes.bool_)
        made = compare(self.ctx, direction, self.value, self._of(other).value, mask, "FLOAT")
        return Expr(self.ctx, made, mask)

    def __lt__(self, other: Any) -> Expr:
        return self.compared("LT", other)

    def __le__(self, other: Any) -> Expr:
        return self.compared("LE", other)

    def __gt__(self, other: Any) -> Expr:
        return self.compared("GT", other)

    def __ge__(self, other: Any) -> Expr:
        return self.compared("GE", other)

    def is_nan(self) -> Expr:
        """Where this is NaN."""
        return self.compared("NE", self)

    def exp(self) -> Expr:
        """e to this power."""
        return self.op("stablehlo.exponential")

    def log(self) -> Expr:
        """Natural logarithm."""
        return self.op("stablehlo.log")

    def log1p(self) -> Expr:
        """log(1 + this)"""
        return self.op("stablehlo.log_plus_one")

    def rsqrt(self) -> Expr:
        """1 over the square root."""
        return self.op("stablehlo.rsqrt")

    def erfc(self) -> Expr:
        """1 - erf"""
        return self.op("chlo.erfc")

    def lgamma(self) -> Expr:
        """log |gamma|"""
        return self.op("chlo.lgamma")

    def digamma(self) -> Expr:
        """The derivative of lgamma."""
        return self.op("chlo.digamma")

    def any(self) -> Any:
        """Whether any element (of bools) is set: an MLIR value."""
        ctx = self.ctx
        return ctx.create("stablehlo.reduce", [self.value, ctx.constant(False, BOOL)], [BOOL],
                          [lambda ctx, a, c: ctx.create("stablehlo.or", [a, c], [BOOL])],
                          [BOOL, BOOL], dimensions=ctx.int_array(range(self.type.ndim)))


def where(mask: Expr, on_true: Any, on_false: Any) -> Expr:
    """Elements of `on_true` where `mask` is set, else of `on_false`; one of them is an Expr."""
    model = on_true if isinstance(on_true, Expr) else on_false
    a, c = model._of(on_true), model._of(on_false)
    ctx = mask.ctx
    return Expr(ctx, ctx.create("stablehlo.select", [mask.value, a.value, c.value], [model.type]),
                model.type)


def loop(going: Callable[..., Expr], step: Callable[..., Sequence[Expr]], start: Sequence[Expr]
         ) -> list[Expr]:
    """`state = step(*state)` while `going(*state)` holds for any element."""
    ctx, types = start[0].ctx, [e.type for e in start]

    def exprs(ctx: RuleContext, values: Sequence[Any]) -> list[Expr]:
        return [Expr(ctx, v, t) for v, t in zip(values, types, strict=True)]

    made = ctx.create("stablehlo.while", [e.value for e in start], types, [
        lambda ctx, *values: going(*exprs(ctx, values)).any(),
        lambda ctx, *values: [e.value for e in step(*exprs(ctx, values))]], types)
    return exprs(ctx, made if isinstance(made, list) else [made])
