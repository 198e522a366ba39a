"""Ops that say how values lie on a mesh of devices; none changes a value.

    sharding_constraint(x) {sharding}
    reshard(x) {sharding}

The compiler places x as the sharding says, and everything else so that this holds. The result type
of `reshard` has the explicit axes of the sharding, whatever those of x are; a constraint leaves
the type as it is. Source: the Shardy dialect, `sdy.sharding_constraint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import Op, Value
from ..definition import LINEAR_OP, lookup
from ..errors import IRTypeError, IRValueError, MissingRule
from ..opdef import SHARDING, define, infer_anyway
from ..sharding import Sharding, Spec, batch_axes, replicated
from ..spreading import SUMS, alike, as_inferred, listed, refuse, spreads
from ..types import TensorType

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values


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


def _transpose_reshard(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    """The cotangent goes back to the sharding that cotangents of the operand have."""
    x, old = op.operands[0].type.cotangent, op.attrs["sharding"]
    sharding = x.sharding or Sharding(old.mesh, replicated(x.ndim))
    return (b.emit(reshard, cotangents[0], sharding=sharding),)


def brought(b: Builder, x: Value, sharding: Sharding, *, strict: bool = False) -> Value:
    """`x`, which the last ops of a builder made, as the sharding says. Where devices are to hold
    terms of the sum that made x, it is written again without the exchange.

    Raises: ShardingTypeError where that is another sum, if `strict`.
    """
    terms = sharding.spec.unreduced
    if x.type.is_manual or sharding.sums_inside:
        return _brought_inside(b, x, sharding)
    if terms and not (x.type.sharding and x.type.sharding.spec.unreduced):
        x = _as_terms(b, x, sharding, terms, strict)
    return x if x.type is x.type.over(sharding) else b.emit(reshard, x, sharding=sharding)


def _brought_inside(b: Builder, x: Value, sharding: Sharding) -> Value:
    """A cotangent inside a `shard_map`: terms of a sum are summed for a value that all devices
    have alike."""
    wanted = x.type.over(sharding)
    if wanted is x.type:
        return x
    held = x.type.sharding
    if held is None or wanted.sharding is not None or held.spec.reduced:
        raise MissingRule(f"inside shard_map, a cotangent of type {x.type} reached a value whose "
                          f"cotangents have type {wanted}; cast the value with lax.pcast(x, axes, "
                          "to='varying') where it is first used")
    cast = lookup("manual_cast")
    return b.emit(cast, x, mesh=held.mesh, axes=held.spec.unreduced, old="unreduced",
                  new="invarying")


def _as_terms(b: Builder, x: Value, sharding: Sharding, terms: tuple[str, ...], strict: bool
              ) -> Value:
    """`x` as terms of its sum over these axes; x itself where it is no such sum."""
    moves: list[Op] = []
    value = x
    for op in reversed(b.ops):
        if len(op.results) != 1 or op.results[0] is not value:
            return x
        if op.definition in SUMS:
            break
        if op.definition.jvp is not LINEAR_OP or len(op.operands) != 1:
            return x
        moves.append(op)
        value = op.operands[0]
    else:
        return x
    types = tuple([v.type for v in op.operands])
    axes, left = SUMS[op.definition](types, op.attrs)
    if axes is None or tuple(sorted(axes)) != terms:
        if strict:
            refuse("out_sharding's unreduced axes should be equal to those that divide the "
                   f"dimensions which {op.definition.name} sums over, on both sides: got unreduced "
                   f"axes={terms} and operands {listed(types)}")
        return x
    found = infer_anyway(op.definition, left, op.attrs)[0]
    if {a for d in found.dims for a in d}.intersection(terms):
        return x
    made = b.append(op.definition, op.operands, op.attrs,
                    found.over(Sharding(sharding.mesh, Spec(found.dims, (), terms))))
    for op in reversed(moves):
        made = b.emit(op.definition, made, **op.attrs)
    return made


def summed_as(b: Builder, x: Value, type: TensorType) -> Value:
    """`x` as terms of a sum, or reduced, over the axes over which values of `type` are. Inside
    `shard_map`, where casts alone change this, it is left as it is."""
    if x.type.sums == type.sums or x.type.is_manual or type.is_manual:
        return x
    return brought(b, x, lying(type, x.type))


def lying(type: TensorType, other: TensorType) -> Sharding:
    """The sharding of a type. A type without one is replicated over the mesh of `other`, which has
    one."""
    if type.sharding is not None:
        return type.sharding
    assert other.sharding is not None
    return Sharding(other.sharding.mesh, replicated(type.ndim))


def _transpose_sharding_constraint(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                                   ) -> NewTangents:
    return (b.emit(sharding_constraint, cotangents[0], sharding=op.attrs["sharding"]),)


def _batch_sharding_constraint(b: Builder, op: Op, operands: Values, positions: Positions,
                               axis: Axis
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

__all__ = ["brought", "lying", "reshard", "sharding_constraint", "summed_as"]
