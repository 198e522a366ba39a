"""The builder of `linearize`, which has two sides.

Ops that touch a tangent go to the linear side, all others to the forward one, and a forward value
that the linear side reads becomes a residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import Function, Value
from .definition import OpDef, R
from .placed_builder import PlacedBuilder
from .types import TensorType


class SplitBuilder(PlacedBuilder):
    """The builder of `linearize`: a forward side (this builder) and a linear one.

    `tangents` are the values that live on the linear side. `residuals` maps a forward value to the
    parameter that stands for it there.
    """

    __slots__ = ("linear", "residuals", "tangents")

    def __init__(self, name: str = "main") -> None:
        super().__init__(name)
        self.linear = PlacedBuilder(f"{name}_linear")
        self.tangents: set[Value] = set()
        self.residuals: dict[Value, Value] = {}

    def tangent_param(self, type: TensorType) -> Value:
        """A new linear parameter (they come before the residuals when the linear side closes)."""
        value = self.linear.param(type)
        self.tangents.add(value)
        return value

    def residual(self, value: Value) -> Value:
        """The parameter of the linear side for a forward value; a tangent stands for itself."""
        if value in self.tangents:
            return value
        found = self.residuals.get(value)
        if found is None:
            found = self.residuals[value] = Value(value.type)
        return found

    def read_there(self, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """The operands as the linear side reads them: residual parameters for forward values."""
        return tuple([self.residual(v) for v in operands])

    def emit(self, definition: OpDef[R], *operands: Value, **attrs: Any) -> R:
        """Append an op to the side where it belongs; ops with bodies are divided by `split`."""
        tangents = self.tangents
        if tangents.isdisjoint(operands):
            return self.add(definition, operands, attrs)
        if definition.split is not None:
            flags = tuple([v in tangents for v in operands])
            results: Any = tuple(definition.split(self, attrs, operands, flags))
            return results[0] if definition.single else results
        return self.add_linear(definition, operands, attrs)

    def emit_linear(self, definition: OpDef[R], *operands: Value, **attrs: Any) -> R:
        """Append an op to the linear side, whatever its operands; forward ones become residuals."""
        return self.add_linear(definition, operands, attrs)

    def add_linear(self, definition: OpDef[R], operands: tuple[Value, ...], attrs: dict[str, Any]
                   ) -> R:
        """As `emit_linear`; `attrs` becomes the op's."""
        linear = self.linear
        linear.loc = self.loc
        made: Any = linear.add(definition, self.read_there(operands), attrs)
        if definition.single:
            self.tangents.add(made)
        else:
            self.tangents.update(made)
        return made

    def inline(self, function: Function, operands: Sequence[Value]) -> tuple[Value, ...]:
        """As `Builder.inline`, with each op on the side where it belongs."""
        tangents = self.tangents
        if tangents.isdisjoint(operands):
            return super().inline(function, operands)
        env = dict(zip(function.params, operands, strict=True))
        read = env.__getitem__
        for op in function.ops:
            self.loc = op.loc or self.loc
            definition, attrs, given = op.definition, op.attrs, tuple(map(read, op.operands))
            if not definition.single:
                made = self.emit(definition, *given, **attrs)
                env.update(zip(op.results, made, strict=True))
                continue
            (result,) = op.results
            if tangents.isdisjoint(given):
                env[result] = self.append(definition, given, attrs, result.type)
            elif definition.split is None:
                env[result] = self.add_linear(definition, given, attrs)
            else:
                env[result] = self.emit(definition, *given, **attrs)
        return tuple(map(read, function.returns))
