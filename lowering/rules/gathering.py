"""Lowering of gather and the scatters.

StableHLO's gather clamps indices and its scatter drops updates that do not fit. The mode `fill` of
a gather and the mode `clip` of a scatter are written here, as operations on the indices.

On several devices index vectors are whole on each: XLA's partitioner writes broadcasts of other
shapes where they are divided.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from lowering import compat
from lowering.context import RuleContext, rule
from lowering.rules.starts import widened
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.dtypes import bool_, u32
from xfront_ir.ops.gathering import default_fill
from xfront_ir.sharding import MeshAxes
from xfront_ir.types import BOOL, TensorType, scalar, tensor

from .elementwise import extremum
from .shape import word_axes

_WORD = scalar(u32)


def _numbers(kind: str, index_vector_dim: int, **dims: tuple[int, ...]) -> str:
    listed = ", ".join(f"{name} = [{', '.join(map(str, of))}]" for name, of in dims.items() if of)
    return f"#stablehlo.{kind}<{f'{listed}, ' if listed else ''}" \
           f"index_vector_dim = {index_vector_dim}>"


def _clamped(ctx: RuleContext, indices: Any, type: TensorType, limits: tuple[int, ...]) -> Any:
    """Index vectors clamped to [0, limits]. The bounds are scalars where all limits are equal."""
    one = scalar(type.dtype)
    if len(set(limits)) == 1:
        low, high = ctx.constant(0, one), ctx.constant(limits[0], one)
    else:
        low = ctx.constant(0, type)
        high = ctx.create("stablehlo.broadcast_in_dim",
                          [ctx.constant(limits, tensor((len(limits),), type.dtype))], [type],
                          broadcast_dimensions=ctx.int_array((type.ndim - 1,)))
    return ctx.create("stablehlo.clamp", [low, indices, high], [type])


def _inside(ctx: RuleContext, indices: Any, type: TensorType, limits: tuple[int, ...]) -> Any:
    """Whether each index vector lies in [0, limits], that is, whether clamping leaves it unchanged.
    """
    clamped = _clamped(ctx, indices, type, limits)
    equal = ctx.create("stablehlo.compare", [indices, clamped], [type.with_dtype(bool_)],
                       comparison_direction=ctx.attr("#stablehlo<comparison_direction EQ>"),
                       compare_type=ctx.attr("#stablehlo<comparison_type SIGNED>"))
    of_vectors = tensor(type.shape[:-1], bool_)
    if type.shape[-1] == 1:
        return ctx.create("stablehlo.reshape", [equal], [of_vectors])
    return ctx.create("stablehlo.reduce", [equal, ctx.constant(True, BOOL)], [of_vectors],
                      regions=[_combine("stablehlo.and", BOOL)], region_args=[BOOL, BOOL],
                      dimensions=ctx.int_array((type.ndim - 1,)))


def _combine(name: str, type: TensorType) -> Callable[..., Any]:
    return lambda ctx, a, c: ctx.create(name, [a, c], [type])


def _extremum(direction: str, type: TensorType) -> Callable[..., Any]:
    return lambda ctx, a, c: extremum(ctx, direction, a, c, type)


def _is_one_vector(of_indices: TensorType) -> bool:
    """Whether XLA takes one slice, which it merges with a slice that the operand may be: it adds up
    both starts before it clamps either."""
    return math.prod(of_indices.shape[:-1]) == 1


@rule(ops.gather)
def _gather(ctx: RuleContext, op: Op, x: Any, indices: Any) -> Any:
    a, operand, of_indices = op.attrs, op.operands[0].type, op.operands[1].type
    (result,), sizes = op.results, a["slice_sizes"]
    limits = tuple(operand.shape[d] - sizes[d] for d in a["start_index_map"])
    indices = ctx.undivided(indices, of_indices, (of_indices.ndim - 1,))
    indices, of_indices = widened(ctx, indices, of_indices, limits)
    if a["mode"] == "clip" and limits and _is_one_vector(of_indices) and compat.VERSION < (0, 12):
        indices = _clamped(ctx, indices, of_indices, limits)
    windows = (*a["offset_dims"], *word_axes(result.type))
    numbers = _numbers("gather", of_indices.ndim - 1, offset_dims=windows,
                       collapsed_slice_dims=a["collapsed_slice_dims"],
                       operand_batching_dims=a["operand_batching_dims"],
                       start_indices_batching_dims=a["start_indices_batching_dims"],
                       start_index_map=a["start_index_map"])
    made = ctx.create("stablehlo.gather", [x, indices], op.results,
                      dimension_numbers=ctx.attr(numbers),
                      slice_sizes=ctx.int_array((*sizes, *operand.dtype.physical)),
                      indices_are_sorted=ctx.bool(a["indices_are_sorted"]))
    if a["mode"] != "fill" or not a["start_index_map"] or not result.type.size:
        return made
    inside = _inside(ctx, indices, of_indices, limits)
    shape = (*result.type.shape, *operand.dtype.physical)
    kept = tuple(d for d in range(len(shape)) if d not in windows)
    mask = ctx.create("stablehlo.broadcast_in_dim", [inside], [tensor(shape, bool_)],
                      broadcast_dimensions=ctx.int_array(kept))
    fill = a["fill_value"]
    outside = ctx.constant(default_fill(operand.dtype) if fill is None else fill, result.type)
    return ctx.create("stablehlo.select", [mask, made, outside], op.results)


def _limits(op: Op) -> tuple[int, ...]:
    """The last places of the windows of a scatter."""
    a, shape, by_window = op.attrs, op.operands[0].type.shape, iter(op.attrs["update_window_dims"])
    alone = (*a["inserted_window_dims"], *a["operand_batching_dims"])
    sizes = [1 if d in alone else op.operands[2].type.shape[next(by_window)]
             for d in range(len(shape))]
    return tuple([shape[d] - sizes[d] for d in a["scatter_dims_to_operand_dims"]])


def _uneven(mesh: MeshAxes, op: Op) -> list[int]:
    """The dimensions of updates, one for each of indices, that some axes of a mesh, or parts of
    axes, would divide unevenly while others hold copies: XLA loses updates there."""
    n_devices = math.prod(mesh.sizes)
    parts = [n for n in range(2, n_devices) if n_devices % n == 0]
    return [d for d, n in enumerate(op.operands[2].type.shape)
            if d not in op.attrs["update_window_dims"] and any([n % part for part in parts])]


def _is_constant(x: Any) -> bool:
    """Whether a value of the module is a constant, or one that is repeated."""
    name = getattr(x.owner, "name", "")          # a block, of which x is a parameter, has none
    return name == "stablehlo.constant" or (
        name == "stablehlo.broadcast_in_dim" and _is_constant(x.owner.operands[0]))


def _undivided(ctx: RuleContext, op: Op, indices: Any, updates: Any) -> tuple[Any, Any]:
    """Indices and updates, whole where XLA's partitioner would lose updates. Maxima and minima of
    floats are taken where all updates are: NaN is lost between devices."""
    of_indices, of_updates = op.operands[1].type, op.operands[2].type
    if op.definition in (ops.scatter_min, ops.scatter_max) and of_updates.dtype.is_float:
        of_each = [d for d in range(of_updates.ndim) if d not in op.attrs["update_window_dims"]]
        return (ctx.undivided(indices, of_indices, range(of_indices.ndim)),
                ctx.undivided(updates, of_updates, of_each))
    indices = ctx.undivided(indices, of_indices, (of_indices.ndim - 1,))
    if ctx.shared_mesh is not None:
        updates = ctx.undivided(updates, of_updates, _uneven(ctx.shared_mesh, op))
    return indices, updates


def _scatter_with(combine: Callable[..., Callable[..., Any]] | None) -> Callable[..., Any]:
    def lower(ctx: RuleContext, op: Op, x: Any, indices: Any, updates: Any) -> Any:
        a, operand, of_updates = op.attrs, op.operands[0].type, op.operands[2].type
        limits = _limits(op)
        indices, updates = _undivided(ctx, op, indices, updates)
        if ctx.is_shared and compat.VERSION < (0, 11) and not _is_constant(x):
            # XLA adds up the place in the whole and that in a device's part, if both are slices
            x = ctx.barrier(x, operand)
        indices, of_indices = widened(ctx, indices, op.operands[1].type, limits)
        clipped = a["mode"] == "clip" and limits
        key = (op.definition, operand, of_indices, of_updates, *a, *a.values())
        if not clipped and (found := ctx.copied(key, [x, indices, updates])) is not None:
            return found
        if clipped:
            indices = _clamped(ctx, indices, of_indices, limits)
        numbers = _numbers(
            "scatter", of_indices.ndim - 1,
            update_window_dims=(*a["update_window_dims"], *word_axes(of_updates)),
            inserted_window_dims=a["inserted_window_dims"],
            input_batching_dims=a["operand_batching_dims"],
            scatter_indices_batching_dims=a["scatter_indices_batching_dims"],
            scatter_dims_to_operand_dims=a["scatter_dims_to_operand_dims"])
        element = scalar(operand.dtype) if not operand.dtype.is_key else _WORD
        region = (lambda ctx, old, new: new) if combine is None else combine(element)
        return ctx.kept(key, ctx.create(
            "stablehlo.scatter", [x, indices, updates], op.results,
            regions=[region], region_args=[element, element],
            scatter_dimension_numbers=ctx.attr(numbers),
            indices_are_sorted=ctx.bool(a["indices_are_sorted"]),
            unique_indices=ctx.bool(a["unique_indices"])))

    return lower


rule(ops.scatter)(_scatter_with(None))
rule(ops.scatter_add)(_scatter_with(functools.partial(_combine, "stablehlo.add")))
rule(ops.scatter_mul)(_scatter_with(functools.partial(_combine, "stablehlo.multiply")))
rule(ops.scatter_min)(_scatter_with(functools.partial(_extremum, "LT")))
rule(ops.scatter_max)(_scatter_with(functools.partial(_extremum, "GT")))
