"""Collectives over axes of a mesh, inside `shard_map`.

The pass for `vmap` resolves the axis names that it maps. So a collective reaches the lowering only
where no `vmap` around it binds its name, which is then an axis of a mesh, or unbound.

Participants are numbered as the devices of the mesh, last axis fastest; the program numbers its
devices in the same way. Sources: StableHLO spec, the collective ops.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from lowering.context import RuleContext, rule
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.sharding import MeshAxes
from xfront_ir.types import BOOL, I32, TensorType, scalar

from .reduce import is_nan, loses_nan_between_devices, nan_where


def _groups(ctx: RuleContext, op: Op) -> np.ndarray:
    """The groups of devices that work together, one per row, in the order of the op's axes.

    Raises: NameError where the enclosing mesh lacks one of the axes.
    """
    return _groups_along(ctx, op, op.attrs["axes"], op.attrs["sizes"])


def _groups_along(ctx: RuleContext, op: Op, axes: Any, sizes: Any) -> np.ndarray:
    mesh = ctx.mesh
    if mesh is None or any([a not in mesh.names for a in axes]):
        where = f" at {op.loc}" if op.loc is not None else ""
        raise NameError(f"unbound axis name: {', '.join(map(repr, axes))} in {op.definition.name}"
                        f"{where}; call it inside vmap(..., axis_name=...) or shard_map")
    return _rows(mesh, axes, tuple(sizes), op.attrs.get("groups"))


@functools.lru_cache(maxsize=256)
def _rows(mesh: MeshAxes, axes: tuple[str, ...], sizes: tuple[int, ...],
          parts: tuple[tuple[int, ...], ...] | None) -> np.ndarray:
    places = [mesh.names.index(a) for a in axes]
    rest = [i for i in range(len(mesh.names)) if i not in places]
    numbers = np.arange(mesh.size, dtype=np.int64).reshape(mesh.sizes)
    rows = numbers.transpose([*rest, *places]).reshape(-1, math.prod(sizes))
    if parts:
        rows = np.concatenate([rows[:, list(g)] for g in parts])
    rows = np.ascontiguousarray(rows)
    rows.flags.writeable = False
    return rows


def _together(ctx: RuleContext, op: Op, groups: np.ndarray) -> dict[str, Any]:
    """The attributes of a collective op over these groups of devices."""
    return {**_groups_of(ctx, groups), **_channel(ctx)}


def _groups_of(ctx: RuleContext, groups: np.ndarray) -> dict[str, Any]:
    make: Any = ctx.ir.DenseElementsAttr.get
    return {"replica_groups": make(groups)}


def _channel(ctx: RuleContext) -> dict[str, Any]:
    return {"channel_handle": ctx.attr(
        f"#stablehlo.channel_handle<handle = {ctx.next_channel()}, type = 1>")}


def _combine(name: str, element: TensorType) -> Any:
    def fill(ctx: RuleContext, a: Any, b: Any) -> Any:
        return ctx.create(name, [a, b], [element])

    return fill


def _combiner(ctx: RuleContext, op: Op, kind: str) -> tuple[Any, list[TensorType]]:
    element = scalar(op.operands[0].type.dtype)
    if element.dtype.kind == "bool":
        kind = {"stablehlo.maximum": "stablehlo.or", "stablehlo.minimum": "stablehlo.and"}[kind]
    return _combine(kind, element), [element, element]


def _all_reduce(kind: str) -> Any:
    return lambda ctx, op, x: _reduced(ctx, op, x, kind, _groups(ctx, op))


def _all_extremum(kind: str) -> Any:
    def lower(ctx: RuleContext, op: Op, x: Any) -> Any:
        """The extremum over devices. Where the exchange between devices loses NaN, they also
        exchange flags that say where there is one."""
        groups, type = _groups(ctx, op), op.operands[0].type
        found = _reduced(ctx, op, x, kind, groups)
        if found is x or not loses_nan_between_devices(ctx, type):
            return found
        mask = type.with_dtype(dtypes.bool_)
        raised = ctx.create(
            "stablehlo.all_reduce", [is_nan(ctx, x, type)], [mask],
            (_combine("stablehlo.or", BOOL),), [BOOL, BOOL], **_groups_of(ctx, groups),
            **_channel(ctx), use_global_device_ids=ctx.unit)
        return nan_where(ctx, raised, found, op.results[0].type)

    return lower


def _reduced(ctx: RuleContext, op: Op, x: Any, kind: str, groups: np.ndarray) -> Any:
    if groups.shape[1] == 1:
        return x
    key = (kind, op.operands[0].type, groups.tobytes(), groups.shape)
    channel = _channel(ctx)
    found = ctx.copied(key, [x], **channel)
    if found is None:
        fill, args = _combiner(ctx, op, kind)
        found = ctx.kept(key, ctx.create(
            "stablehlo.all_reduce", [x], op.results, (fill,), args, **_groups_of(ctx, groups),
            **channel, use_global_device_ids=ctx.unit))
    return found


def all_reduced(ctx: RuleContext, op: Op, x: Any, axes: Any, sizes: Any) -> Any:
    """The sum of x over the axes of a mesh, as the result of `op`."""
    return _reduced(ctx, op, x, "stablehlo.add", _groups_along(ctx, op, axes, sizes))


for _definition in (ops.psum, ops.psum_invariant):
    rule(_definition)(_all_reduce("stablehlo.add"))
for _definition, _kind in ((ops.pmax, "stablehlo.maximum"), (ops.pmin, "stablehlo.minimum")):
    rule(_definition)(_all_extremum(_kind))


@rule(ops.pcast)
def _pcast(ctx: RuleContext, op: Op, x: Any) -> Any:
    _groups(ctx, op)
    return x


def _reshaped(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    return ctx.create("stablehlo.reshape", [x], [type])


def _with_one(t: TensorType, d: int) -> TensorType:
    return t.with_shape((*t.shape[:d], 1, *t.shape[d:]))


@rule(ops.all_gather)
def _all_gather(ctx: RuleContext, op: Op, x: Any) -> Any:
    d, groups = op.attrs["dimension"], _groups(ctx, op)
    if not op.attrs["tiled"]:
        x = _reshaped(ctx, x, _with_one(op.operands[0].type, d))
    if groups.shape[1] == 1:
        return x
    return ctx.create("stablehlo.all_gather", [x], op.results, all_gather_dim=ctx.i64(d),
                      **_together(ctx, op, groups), use_global_device_ids=ctx.unit)


@rule(ops.psum_scatter)
def _psum_scatter(ctx: RuleContext, op: Op, x: Any) -> Any:
    d, groups, result = op.attrs["dimension"], _groups(ctx, op), op.results[0].type
    whole = result if op.attrs["tiled"] else _with_one(result, d)
    if groups.shape[1] > 1:
        fill, args = _combiner(ctx, op, "stablehlo.add")
        x = ctx.create("stablehlo.reduce_scatter", [x], [whole], (fill,), args,
                       scatter_dimension=ctx.i64(d), **_together(ctx, op, groups),
                       use_global_device_ids=ctx.unit)
    return x if op.attrs["tiled"] else _reshaped(ctx, x, result)


@rule(ops.all_to_all)
def _all_to_all(ctx: RuleContext, op: Op, x: Any) -> Any:
    """The exchange of parts. If the op is not tiled, the split axis has one element for each
    participant, and moves to position `concat`."""
    split, concat, groups = op.attrs["split"], op.attrs["concat"], _groups(ctx, op)
    n, source, result = groups.shape[1], op.operands[0].type, op.results[0].type
    if not op.attrs["tiled"]:
        if n > 1:
            x = _exchange(ctx, op, x, source, groups, split, split)
        order = [i for i in range(source.ndim) if i != split]
        order.insert(concat, split)
        physical = range(source.ndim, source.ndim + len(source.dtype.physical))
        return ctx.create("stablehlo.transpose", [x], [result],
                          permutation=ctx.int_array((*order, *physical)))
    return x if n == 1 else _exchange(ctx, op, x, result, groups, split, concat)


def _exchange(ctx: RuleContext, op: Op, x: Any, result: TensorType, groups: np.ndarray, split: int,
              concat: int) -> Any:
    return ctx.create("stablehlo.all_to_all", [x], [result], split_dimension=ctx.i64(split),
                      concat_dimension=ctx.i64(concat), split_count=ctx.i64(groups.shape[1]),
                      **_together(ctx, op, groups))


@rule(ops.ppermute)
def _ppermute(ctx: RuleContext, op: Op, x: Any) -> Any:
    if ctx.num_partitions == 1:
        return x if op.attrs["perm"] else ctx.constant(0, op.results[0].type)
    pairs = [(row[s], row[d]) for row in _groups(ctx, op) for s, d in op.attrs["perm"]]
    make: Any = ctx.ir.DenseElementsAttr.get
    return ctx.create("stablehlo.collective_permute", [x], op.results, source_target_pairs=make(
        np.array(pairs, np.int64).reshape(len(pairs), 2)), **_channel(ctx))


@rule(ops.axis_index)
def _axis_index(ctx: RuleContext, op: Op) -> Any:
    _groups(ctx, op)
    total = ctx.constant(0, I32)
    for i, (axis, size) in enumerate(zip(op.attrs["axes"], op.attrs["sizes"], strict=True)):
        own = index_along(ctx, axis)
        if i:
            total = ctx.create("stablehlo.multiply", [total, ctx.constant(size, I32)], [I32])
            own = ctx.create("stablehlo.add", [total, own], [I32])
        total = own
    return total


def index_along(ctx: RuleContext, axis: str) -> Any:
    """The device's index along an axis: the value that the region receives, or else computed from
    the device's number in the program."""
    mesh, word = ctx.mesh, scalar(dtypes.u32)
    assert mesh is not None
    if axis in ctx.indices:
        return ctx.indices[axis]
    if mesh.sizes[mesh.names.index(axis)] == 1:
        return ctx.constant(0, I32)
    at = mesh.names.index(axis)
    stride = int(np.prod(mesh.sizes[at + 1:], dtype=np.int64))
    own = ctx.create("stablehlo.partition_id", [], [word])
    own = ctx.create("stablehlo.divide", [own, ctx.constant(stride, word)], [word])
    own = ctx.create("stablehlo.remainder", [own, ctx.constant(mesh.sizes[at], word)], [word])
    return ctx.create("stablehlo.convert", [own], [I32])
