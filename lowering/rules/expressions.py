"""Rules that are formulas of Terms: each op is lowered as soon as it is written.

    writer = Writer(ctx)
    x = writer.term(type, value)
    y = writer.mlir(where(x < 0, -x, ops.log(x + 1)))

The notation is that of `xfront_ir/ops/formulas.py`, in which forms and derivatives are written too.
`loop` repeats a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from lowering.context import SIMPLE, RuleContext, rule_of
from xfront_ir.core import Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.opdef import infer_types
from xfront_ir.ops.formulas import Term
from xfront_ir.types import BOOL, TensorType

_type = attrgetter("type")


class Writer:
    """The builder of such Terms: it lowers ops of one result at the insertion point of `ctx`."""

    __slots__ = ("_mlir", "ctx")

    def __init__(self, ctx: RuleContext) -> None:
        self.ctx = ctx
        self._mlir: dict[Value, Any] = {}

    def emit(self, definition: OpDef[Any], *operands: Value, **attrs: Any) -> Value:
        """The result of an op, as `Builder.emit`."""
        types = tuple(map(_type, operands))
        found = None if attrs else definition.memo.get(types)
        if found is None:
            found = infer_types(definition, types, attrs)
            if not attrs:
                definition.memo[types] = found
        made = Value(found[0])
        written = map(self._mlir.__getitem__, operands)
        if name := SIMPLE.get(definition):
            self._mlir[made] = self.ctx.create(name, [*written], found)
        else:
            op = Op(definition, operands, attrs, (made,))
            self._mlir[made] = rule_of(definition)(self.ctx, op, *written)
        return made

    def full(self, type: TensorType, value: Any) -> Value:
        """A constant, as `Builder.full`."""
        made = Value(type)
        self._mlir[made] = self.ctx.constant(value, type)
        return made

    def term(self, type: TensorType, mlir: Any) -> Term:
        """An MLIR value as a Term."""
        b: Any = self
        made = Value(type)
        self._mlir[made] = mlir
        return Term(b, made)

    def mlir(self, term: Term) -> Any:
        """The MLIR value of a Term."""
        return self._mlir[term.value]


def _any(ctx: RuleContext, mask: Any, rank: int) -> Any:
    """Whether any element of a mask is true."""
    return ctx.create("stablehlo.reduce", [mask, ctx.constant(False, BOOL)], [BOOL],
                      [lambda ctx, a, c: ctx.create("stablehlo.or", [a, c], [BOOL])],
                      [BOOL, BOOL], dimensions=ctx.int_array(range(rank)))


def loop(going: Callable[..., Term], step: Callable[..., Sequence[Term]], start: Sequence[Term]
         ) -> list[Term]:
    """The state after `state = step(*state)` while `going(*state)` holds for any element."""
    writer: Any = start[0].b
    types = [t.type for t in start]

    def terms(values: Sequence[Any]) -> list[Term]:
        return [writer.term(t, v) for v, t in zip(values, types, strict=True)]

    made = writer.ctx.create("stablehlo.while", [*map(writer.mlir, start)], types, [
        lambda ctx, *values: _any(ctx, writer.mlir(going(*terms(values))), types[0].ndim),
        lambda ctx, *values: [*map(writer.mlir, step(*terms(values)))]], types)
    return terms(made if isinstance(made, list) else [made])
