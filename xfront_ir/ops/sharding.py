"""Ops that say how values lie on a mesh of devices; none changes a value.

    sharding_constraint(x) {sharding}
    reshard(x) {sharding}

The compiler places x as the sharding says, and everything else so that this holds. The result type
of `reshard` has the explicit axes of the sharding, whatever those of x are; a constraint leaves
the type as it is. Source: the Shardy dialect, `sdy.sharding_constraint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import Op
from ..errors import IRTypeError, IRValueError
from ..opdef import LINEAR_OP, SHARDING, define
from ..sharding import Sharding, batch_axes, replicated
from ..spreading import alike, as_inferred, spreads
from ..types import TensorType

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, Tangents, Types, Values


def _checked(name: str, x: Any, sharding: Sharding) -> None:
    try:
        sharding.spec.check(sharding.mesh, x.shape)
    except IRValueError as e:
        raise IRTypeError(f"{name}: {e}") from None


def _infer_sharding_constraint(types: Types, attrs: Attrs) -> Types:
    _checked("sharding_constraint", types[0], attrs["sharding"])
    return types


def _infer_reshard(types: Types, attrs: Attrs) -> Types:
    (x,), sharding = types, attrs["sharding"]
    _checked("reshard", x, sharding)
    return (x.over(sharding),)


def _transpose_reshard(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> Tangents:
    """The cotangent goes back to the sharding of the operand; a sum that was taken has no inverse.
    """
    x, old = op.operands[0].type, op.attrs["sharding"]
    sharding = x.sharding or Sharding(old.mesh, replicated(x.ndim))
    return (b.emit(reshard, cotangents[0], sharding=sharding),)


def lying(type: TensorType, other: TensorType) -> Sharding:
    """The sharding of a type. A type without one is whole over the mesh of `other`, which has one.
    """
    if type.sharding is not None:
        return type.sharding
    assert other.sharding is not None
    return Sharding(other.sharding.mesh, replicated(type.ndim))


def _transpose_sharding_constraint(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                                   ) -> Tangents:
    return (b.emit(sharding_constraint, cotangents[0], sharding=op.attrs["sharding"]),)


def _batch_sharding_constraint(b: Builder, op: Op, operands: Values, positions: Any, axis: Axis
                               ) -> Batched:
    (x,), (p,), old = operands, positions, op.attrs["sharding"]
    over = batch_axes(axis) if op.definition is sharding_constraint else ()
    if over:
        if again := [a for a in over if a in old.spec.axes]:
            raise IRValueError(f"vmap spmd_axis_name {over} cannot appear in "
                               f"with_sharding_constraint spec, but got {old.spec}, which has "
                               f"{again[0]!r}")
        if strays := [a for a in over if a not in old.mesh.names]:
            raise IRValueError(f"vmap: spmd_axis_name has {strays[0]!r}, but the axes of the mesh "
                               f"of a sharding constraint are {old.mesh.names}")
    # without axes the batch dimension is open: closed, it would gather the batch on every device
    spec = old.spec.insert(p, over, open=not over)
    return (b.emit(op.definition, x, sharding=Sharding(old.mesh, spec, old.memory_kind)),), (p,)


sharding_constraint = define(
    "sharding_constraint", attrs={"sharding": SHARDING}, operands=1,
    infer=_infer_sharding_constraint, jvp=LINEAR_OP, transpose=_transpose_sharding_constraint,
    batch=_batch_sharding_constraint)
reshard = define("reshard", attrs={"sharding": SHARDING}, operands=1, infer=_infer_reshard,
                 jvp=LINEAR_OP, transpose=_transpose_reshard, batch=_batch_sharding_constraint)

spreads(alike, sharding_constraint)
spreads(as_inferred, reshard)

__all__ = ["lying", "reshard", "sharding_constraint"]
