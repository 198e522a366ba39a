"""The builder of traces and passes, which moves operands that an op cannot use where they are.

Rules write ops without regard to meshes and memories. Where the type rule of an op raises
ShardingTypeError or MemorySpaceError, this builder moves the operands and emits the op again.
"""

from __future__ import annotations

from typing import Any

from .builder import Builder
from .core import Value
from .definition import OpDef, lookup
from .literal import literal
from .opdef import infer_anyway, infer_types
from .sharding import HOST, Sharding, in_memory
from .spreading import repairs
from .types import TensorType


class PlacedBuilder(Builder):
    """A builder that moves operands where an op needs them elsewhere."""

    __slots__ = ()
    strict = False
    """Whether to refuse an op where the axes that divide its results are ambiguous. Traces of
    users' programs do; in passes such results have no axes, and the compiler chooses."""

    def infer(self, definition: OpDef, types: tuple[TensorType, ...], attrs: dict[str, Any]
              ) -> tuple[TensorType, ...]:
        """Result types; a strict builder raises where the axes of results are ambiguous."""
        return (infer_types if self.strict else infer_anyway)(definition, types, attrs)

    def repaired(self, definition: OpDef, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        """Operands with which an op that the type rule refused can be emitted again: scalars moved
        to the host's memory if another operand is there, else, unless the builder is strict,
        partial sums added up over their axes. None if neither changes anything."""
        types = tuple([v.type for v in operands])
        if len({t.memory for t in types}) > 1:
            made = tuple([v if v.type.memory else self._on_host(v) for v in operands])
            return None if made == operands else made
        if self.strict or not any([t.sharding is not None and t.sharding.spec.unreduced
                                   for t in types]):
            return None
        reshard = lookup("reshard")
        return tuple([v if s is None else self._repaired_inside(v, s)
                      if v.type.is_manual or s.sums_inside else self.emit(reshard, v, sharding=s)
                      for v, s in zip(operands, repairs(definition, types), strict=True)])

    def _repaired_inside(self, value: Value, sharding: Sharding) -> Value:
        """As `repaired`, inside a `shard_map`: a value that is the same on all devices is cast to
        one that counts as reduced over the axes of `sharding`."""
        if value.type.sharding is not None or not sharding.spec.reduced:
            return value
        return self.emit(lookup("manual_cast"), value, mesh=sharding.mesh,
                         axes=sharding.spec.reduced, old="invarying", new="reduced")

    def _on_host(self, value: Value) -> Value:
        """A scalar, or a value computed from scalars alone, moved to the host's memory; any other
        value unchanged."""
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

    def zeros(self, type: TensorType) -> Value:
        """Zeros of `type` (False for bool), in its memory and divided as it says."""
        return self._lying(self.full(type, 0), type)

    def ones(self, type: TensorType) -> Value:
        """Ones of `type`, in its memory and divided as it says."""
        return self._lying(self.full(type, 1), type)

    def _lying(self, made: Value, type: TensorType) -> Value:
        """`made`, which is on every device, moved to where `type` says. If that says partial sums,
        one device keeps the value."""
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
