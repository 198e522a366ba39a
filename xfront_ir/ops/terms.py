"""Casts inside `shard_map` between the ways in which devices hold a value along an axis.

    manual_cast(x) {mesh, axes, old, new}

`old` and `new` are one of these words; `mesh` is the mesh inside the `shard_map`.

    "varying"    each device has a value of its own
    "invarying"  all devices have the same value
    "unreduced"  each device has a term; the value is their sum
    "reduced"    all devices have the same value, and hold terms of the sum that is its cotangent

Types say which axes are unreduced or reduced, `passes/varying.py` along which values vary.
Cotangents of unreduced values are reduced and the other way round, so the transpose of a cast is
the cast between the kinds of the cotangents, backwards. From unreduced to invarying is the sum;
from invarying to unreduced the first device keeps the value and the others have zeros. All other
casts leave each device's value as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import Op
from ..definition import LINEAR_OP
from ..errors import IRTypeError, ShardingTypeError
from ..opdef import MESH, NAMES, define, enum
from ..sharding import MeshAxes, Sharding, Spec
from ..spreading import as_inferred, spreads
from ..types import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..builder import Builder
    from ..passes.varying import Varying
    from ..rules import Attrs, Axis, Batched, NewTangents, Tangents, Types, Values, Varied

KINDS = ("varying", "invarying", "unreduced", "reduced")
"""How devices can hold a value along an axis."""
DUAL = {"varying": "varying", "invarying": "invarying", "unreduced": "reduced",
        "reduced": "unreduced"}
"""How they hold its cotangent."""
CASTS = frozenset([
    ("varying", "unreduced"), ("reduced", "varying"), ("unreduced", "varying"),
    ("varying", "reduced"), ("invarying", "reduced"), ("unreduced", "invarying"),
    ("reduced", "invarying"), ("invarying", "unreduced")])


def _infer(types: Types, attrs: Attrs) -> Types:
    if (attrs["old"], attrs["new"]) not in CASTS:
        raise IRTypeError(f"manual_cast: there is none from {attrs['old']!r} to {attrs['new']!r}")
    if bad := [a for a in attrs["axes"] if a not in attrs["mesh"].of_type("manual")]:
        raise IRTypeError(f"manual_cast: {bad[0]!r} is no manual axis of {attrs['mesh']}")
    return (held_as(types[0], attrs["mesh"], attrs["axes"], attrs["new"]),)


def held_as(t: TensorType, mesh: MeshAxes, axes: Collection[str], kind: str) -> TensorType:
    """The type of the values of type `t` where devices hold them so along `axes`."""
    spec = Spec(t.dims) if t.sharding is None else t.sharding.spec
    sums = {"unreduced": {*spec.unreduced}.difference(axes),
            "reduced": {*spec.reduced}.difference(axes)}
    if kind in sums:
        sums[kind].update(axes)
    return t.over(Sharding(mesh, Spec(spec.dims, (), **sums), t.memory))


def _transpose(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    attrs = op.attrs
    return (b.emit(manual_cast, cotangents[0], mesh=attrs["mesh"], axes=attrs["axes"],
                   old=DUAL[attrs["new"]], new=DUAL[attrs["old"]]),)


def _batch(b: Builder, op: Op, operands: Values, positions: Any, axis: Axis) -> Batched:
    return (b.emit(manual_cast, operands[0], **op.attrs),), positions


def _varying(v: Varying, op: Op, operands: Values) -> Varied:
    (x,), attrs = operands, op.attrs
    axes = v.followed(attrs["axes"])
    found = v.of(x)
    if attrs["old"] == "varying":
        if missing := axes - found:
            raise ShardingTypeError(
                f"a value that does not vary over {min(missing)!r} cannot be cast to "
                f"{attrs['new']!r} along it: all devices have the same value there")
    elif axes & found:
        raise ShardingTypeError(f"a value that varies over {min(axes & found)!r} cannot be cast "
                                f"from {attrs['old']!r} to {attrs['new']!r} along it")
    found = found | axes if attrs["new"] == "varying" else found - axes
    return (v.b.emit(manual_cast, x, **attrs),), (found,)


manual_cast = define(
    "manual_cast", operands=1,
    attrs={"mesh": MESH, "axes": NAMES, "old": enum(*KINDS), "new": enum(*KINDS)},
    infer=_infer, jvp=LINEAR_OP, transpose=_transpose, batch=_batch,
    mentions_axis=lambda attrs: attrs["axes"], varying=_varying)

spreads(as_inferred, manual_cast)

__all__ = ["DUAL", "KINDS", "held_as", "manual_cast"]
