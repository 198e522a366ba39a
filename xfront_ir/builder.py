"""Builders: the one way in which ops come to be.

`Builder` appends ops in order and closes into a Function. `SplitBuilder` has two sides: ops that
touch a tangent go to the linear one, all others to the forward one, and a forward value that the
linear side reads becomes a residual.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import NO_ATTRS, Function, Op, Value
from .dtypes import DType
from .errors import ShardingTypeError
from .literal import Literal, literal, number
from .locations import Location
from .opdef import OpDef, R, infer_anyway, infer_types, lookup
from .sharding import HOST, Sharding, in_memory
from .spreading import settled
from .types import TensorType

_new = object.__new__
"""Makes an object without `__init__`, which would take as long again."""


class Builder:
    """Collects ops. `loc` is given to every op emitted until it is set again."""

    __slots__ = ("loc", "name", "ops", "param_names", "params", "weak_params", "widened")
    strict = False
    """Whether to refuse an op where the axes of its results cannot be told. This is for programs as
    users write them; results of ops that passes write have no axes then: the compiler decides."""

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
                        if (settled := self.settled(definition, operands)) is not None:
                            return self.add(definition, settled, attrs)
                        known = self.infer(definition, types, attrs), None
                found, attrs = known[0], known[1] or attrs
        else:
            attrs = NO_ATTRS
            found = definition.memo.get(types)
            if found is None:
                try:
                    found = definition.memo[types] = infer_types(definition, types, attrs)
                except ShardingTypeError:
                    if (settled := self.settled(definition, operands)) is not None:
                        return self.add(definition, settled, attrs)
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
        """Result types; a strict builder refuses where the axes of results cannot be told."""
        return (infer_types if self.strict else infer_anyway)(definition, types, attrs)

    def settled(self, definition: OpDef, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        """The operands of an op that was refused, brought to where they may be used: scalars are
        moved to the host's memory where another operand is. Terms of a sum are summed, if
        the builder is not strict. None where nothing was to be brought."""
        types = tuple([v.type for v in operands])
        if len({t.memory for t in types}) > 1:
            made = tuple([v if v.type.memory else self._on_host(v) for v in operands])
            return None if made == operands else made
        if self.strict or not any([t.sharding is not None and t.sharding.spec.unreduced
                                   for t in types]):
            return None
        reshard = lookup("reshard")
        return tuple([v if s is None else self._settled_inside(v, s)
                      if v.type.is_manual or s.sums_inside else self.emit(reshard, v, sharding=s)
                      for v, s in zip(operands, settled(definition, types), strict=True)])

    def _settled_inside(self, value: Value, sharding: Sharding) -> Value:
        """As `settled` inside a `shard_map`: what is the same on all devices becomes reduced."""
        if value.type.sharding is not None or not sharding.spec.reduced:
            return value
        return self.emit(lookup("manual_cast"), value, mesh=sharding.mesh,
                         axes=sharding.spec.reduced, old="invarying", new="reduced")

    def _on_host(self, value: Value) -> Value:
        """A scalar, or what is made of scalars alone, in the host's memory; another value as it
        is."""
        if not self._is_of_scalars(value):
            return value
        return self.emit(lookup("reshard"), value, sharding=in_memory(value.type.ndim, HOST))

    def _is_of_scalars(self, value: Value) -> bool:
        if value.type.ndim == 0 or value.type.sharding is not None:
            return value.type.ndim == 0
        for op in reversed(self.ops):
            if value in op.results:
                if op.definition is literal:
                    return op.attrs["value"].array.ndim == 0
                return op.operands != () and all(map(self._is_of_scalars, op.operands))
        return False

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
        """Zeros of `type` (False for bool), which lie as it says."""
        return self._lying(self.full(type, 0), type)

    def ones(self, type: TensorType) -> Value:
        """Ones of `type`, which lie as it says."""
        return self._lying(self.full(type, 1), type)

    def _lying(self, made: Value, type: TensorType) -> Value:
        """A whole value as `type` says: where that is terms of a sum, one device has it."""
        held = type.sharding
        if held is None:
            return made
        if not type.is_manual:
            return self.emit(lookup("reshard"), made, sharding=held)
        for kind, axes in (("unreduced", held.spec.unreduced), ("reduced", held.spec.reduced)):
            if axes:
                made = self.emit(lookup("manual_cast"), made, mesh=held.mesh, axes=axes,
                                 old="invarying", new=kind)
        return made

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


class SplitBuilder(Builder):
    """The builder of `linearize`: a forward side (this builder) and a linear one.

    `tangents` are the values that live on the linear side. `residuals` maps a forward value to the
    parameter that stands for it there.
    """

    __slots__ = ("linear", "residuals", "tangents")

    def __init__(self, name: str = "main") -> None:
        super().__init__(name)
        self.linear = Builder(f"{name}_linear")
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
