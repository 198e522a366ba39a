"""Builders: the one way in which ops come to be.

A `Builder` appends ops in order and closes into a Function. Traces and passes use `PlacedBuilder`,
which can also move operands between memories and shardings; `linearize` uses `SplitBuilder`, which
has two sides.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import NO_ATTRS, Function, Op, Value
from .definition import OpDef, R
from .dtypes import DType
from .errors import ShardingTypeError
from .literal import Literal, literal, number
from .locations import Location
from .opdef import infer_types
from .types import TensorType

_new = object.__new__
"""Makes an object without `__init__`, which would take as long again."""


class Builder:
    """Collects ops. `loc` is given to every op emitted until it is set again."""

    __slots__ = ("loc", "name", "ops", "param_names", "params", "weak_params", "widened")
    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.ops: list[Op] = []
        self.params: list[Value] = []
        self.param_names: list[str] = []
        self.weak_params: list[bool] = []
        self.loc: Location | None = None
        self.widened: dict[Any, Value] = {}       # unbatched values, broadcast to a batch

    def param(self, type: TensorType, name: str = "", weak: bool = False) -> Value:
        """A new parameter."""
        value = Value(type)
        self.params.append(value)
        self.param_names.append(name)
        self.weak_params.append(weak)
        return value

    def emit(self, definition: OpDef[R], *operands: Value, **attrs: Any) -> R:
        """Append an op and return its results: bare where it has exactly one, else a tuple.

        Raises: IRTypeError from the op's type rule.
        """
        return self.add(definition, operands, attrs)

    def add(self, definition: OpDef[R], operands: tuple[Value, ...], attrs: dict[str, Any]) -> R:
        """As `emit`; the op keeps the dict `attrs`, or an equal one that another op already has."""
        n = len(operands)
        if n == 1:
            types = (operands[0].type,)
        elif n == 2:
            types = (operands[0].type, operands[1].type)
        else:
            types = tuple([v.type for v in operands]) if n else ()
        if attrs:
            if definition.holds_python:
                found = self.infer(definition, types, attrs)
            else:
                key = (types, *attrs, *attrs.values())
                if definition.has_numbers:                   # 2 is not 2.0
                    key = (*key, *map(type, attrs.values()))
                known = definition.memo.get(key)
                if known is None:
                    try:
                        known = definition.memo[key] = (infer_types(definition, types, attrs),
                                                        None if definition.has_floats else attrs)
                    except ShardingTypeError:
                        if (repaired := self.repaired(definition, operands)) is not None:
                            return self.add(definition, repaired, attrs)
                        known = self.infer(definition, types, attrs), None
                found, attrs = known[0], known[1] or attrs
        else:
            attrs = NO_ATTRS
            found = definition.memo.get(types)
            if found is None:
                try:
                    found = definition.memo[types] = infer_types(definition, types, attrs)
                except ShardingTypeError:
                    if (repaired := self.repaired(definition, operands)) is not None:
                        return self.add(definition, repaired, attrs)
                    found = self.infer(definition, types, attrs)
        op = _new(Op)
        op.definition, op.operands, op.attrs, op.loc = definition, operands, attrs, self.loc
        self.ops.append(op)
        if definition.single:
            made: Any = _new(Value)
            made.type = found[0]
            op.results = (made,)
            return made
        results: Any = tuple([Value(t) for t in found])
        op.results = results
        return results

    def infer(self, definition: OpDef, types: tuple[TensorType, ...], attrs: dict[str, Any]
              ) -> tuple[TensorType, ...]:
        """Result types. Raises: IRTypeError."""
        return infer_types(definition, types, attrs)

    def repaired(self, definition: OpDef, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        """Operands with which an op can be emitted again after its type rule refused the memories
        or shardings of these; None if there are none. A plain builder never has any."""
        return None

    def append(self, definition: OpDef, operands: tuple[Value, ...], attrs: dict[str, Any],
               type: TensorType) -> Value:
        """As `add`, for an op of one result whose type rule is known to give `type`."""
        made, op = _new(Value), _new(Op)
        made.type = type
        op.definition, op.operands, op.attrs, op.loc = definition, operands, attrs, self.loc
        op.results = (made,)
        self.ops.append(op)
        return made

    def literal(self, value: Any, dtype: DType | None = None, shape: tuple[int, ...] | None = None
                ) -> Value:
        """A known scalar or small array, broadcast to `shape` where that is given."""
        data = value if type(value) is Literal else Literal(value, dtype)
        return self.emit(literal, value=data, shape=data.array.shape if shape is None else shape)

    def full(self, type: TensorType, value: Any) -> Value:
        """An array of `type` filled with the scalar `value`."""
        return self.add(literal, (), {"value": number(value, type.dtype), "shape": type.shape})

    def zeros(self, type: TensorType) -> Value:
        """Zeros of `type` (False for bool)."""
        return self.full(type, 0)

    def ones(self, type: TensorType) -> Value:
        """Ones of `type`."""
        return self.full(type, 1)

    def inline(self, function: Function, operands: Sequence[Value]) -> tuple[Value, ...]:
        """Append the ops of `function` with `operands` for its parameters; gives its returns."""
        env = dict(zip(function.params, operands, strict=True))
        append, read, loc = self.ops.append, env.__getitem__, self.loc
        for op in function.ops:
            values: list[Value] = []
            made = _new(Op)
            made.definition, made.attrs, made.loc = op.definition, op.attrs, op.loc or loc
            made.operands = tuple(map(read, op.operands))
            for v in op.results:
                env[v] = value = _new(Value)
                value.type = v.type
                values += value,
            made.results = tuple(values)
            append(made)
        return tuple(map(read, function.returns))

    def close(self, returns: Sequence[Value], weak_returns: Sequence[bool] = ()) -> Function:
        """The Function of the parameters and ops collected so far."""
        return Function(self.name, self.params, self.ops, returns, param_names=self.param_names,
                        weak_params=self.weak_params, weak_returns=weak_returns)
