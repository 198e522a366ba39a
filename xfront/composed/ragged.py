"""Products of matrices in groups (`ragged_dot`) and of blocks with scales (`scaled_dot`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as jnp
from ..base.dtypes import bfloat16
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import operand
from ..lax.contractions import DotDimensionNumbers, dot_general
from ..lax.precision import PrecisionLike
from ..tracing.trace import state
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home


class RaggedDotDimensionNumbers(NamedTuple):
    """Which axes the operands of `ragged_dot_general` have in common, and which are in groups.

    Fields:
      dot_dimension_numbers: as for `dot_general`.
      lhs_ragged_dimensions: the one axis of lhs whose elements are divided into groups.
      rhs_group_dimensions: the axis of rhs that numbers the groups, where the ragged axis is not
        contracted; else none.

    >>> numbers = lax.RaggedDotDimensionNumbers(
    ...     dot_dimension_numbers=(((1,), (1,)), ((), ())), lhs_ragged_dimensions=[0],
    ...     rhs_group_dimensions=[0])
    >>> lhs, rhs = jnp.ones((3, 2)), jnp.array([[[1.], [1.]], [[10.], [10.]]])
    >>> lax.ragged_dot_general(lhs, rhs, jnp.array([1, 2]), numbers)
    Array([[ 2.],
           [20.],
           [20.]], dtype=float32)
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


_MATRICES = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@takes_out_sharding("ragged_dot")
def ragged_dot(lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike,
               precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
               group_offset: ArrayLike | None = None, out_sharding: ShardingLike = None) -> Array:
    """The rows of lhs, in groups that follow one another, each times the matrix of its group.

    Args:
      lhs: [m, k].
      rhs: [g, k, n].
      group_sizes: integers [g], the number of rows in each group; rows after the last group are
        zeros in the result.
      out_sharding: the sharding of the result; it must be given where explicit axes divide an
        operand.
    Returns: array [m, n].
    Raises: TypeError, NotImplementedError as `ragged_dot_general`.

    >>> lax.ragged_dot(jnp.ones((3, 2)), jnp.ones((2, 2, 1)), jnp.array([1, 2]))
    Array([[2.],
           [2.],
           [2.]], dtype=float32)
    """
    return ragged_dot_general(lhs, rhs, group_sizes, _MATRICES, precision,
                              preferred_element_type, group_offset, out_sharding)


@takes_out_sharding("ragged_dot_general")
def ragged_dot_general(lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike,
                       ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
                       precision: PrecisionLike = None,
                       preferred_element_type: DTypeLike | None = None,
                       group_offset: ArrayLike | None = None, out_sharding: ShardingLike = None
                      ) -> Array:
    """`dot_general` where one axis of lhs is divided into groups that follow one another.

    The ragged axis may be free (each group has a matrix of its own in rhs), contracted (each
    group gives a product of its own, numbered by the first axis of the result) or a batch axis
    (then groups change nothing).

    Args:
      group_sizes: integers [g], or [*batch, g] with the batch axes of lhs; elements of the ragged
        axis after the last group are ignored.
    Raises: TypeError where axes, sizes or dtypes do not match; NotImplementedError for
      `group_offset`, and without `out_sharding` where explicit axes divide an operand.
    Source: CHLO spec, ragged_dot. All groups are one product with masks: the work is that of g
      products.

    >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    >>> lhs, rhs = jnp.array([[1.], [2.], [3.]]), jnp.ones((3, 2))
    >>> lax.ragged_dot_general(lhs, rhs, jnp.array([1, 2]), numbers)[:, 0]
    Array([[1., 1.],
           [5., 5.]], dtype=float32)
    """
    at_home("ragged_dot_general", out_sharding)
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset is not supported; leave it out")
    (contract, batch), ragged, groups = ragged_dot_dimension_numbers
    numbers = tuple([tuple([tuple([int(d) for d in axes]) for axes in pair])
                     for pair in (contract, batch)])
    if len(ragged) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension, got "
                        f"{ragged}")
    return _ragged(lhs, rhs, group_sizes, numbers, int(ragged[0]), tuple(map(int, groups)),
                   precision, preferred_element_type)


@eager(static=("numbers", "ragged", "groups", "precision", "preferred"))
def _ragged(lhs: Any, rhs: Any, sizes: Any, numbers: Any, ragged: int, groups: tuple[int, ...],
            precision: Any, preferred: Any) -> Any:
    x, y = operand("ragged_dot", lhs), operand("ragged_dot", rhs)
    sizes = operand("ragged_dot", sizes)
    if divided := [t for t in (x, y, sizes) if t.value.type.sharding is not None]:
        if not state.out_sharding_given:
            raise NotImplementedError(
                f"ragged_dot: an operand is {divided[0].value.type}, and where the result lies is "
                "not inferred from explicit axes; say it by out_sharding=P(...)")
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    if not jnp.issubdtype(sizes.dtype, jnp.integer):
        raise TypeError(f"ragged_dot: group_sizes must be integers, got {sizes.value.type}")
    lead = tuple([x.shape[d] for d in lhs_batch])
    if sizes.ndim == 0 or sizes.shape[:-1] not in ((), lead):
        raise TypeError(f"ragged_dot: group_sizes must have shape [g] or {[*lead, 'g']}, got "
                        f"{sizes.value.type}")
    options = {"precision": precision, "preferred_element_type": preferred}
    if ragged in lhs_batch:
        return dot_general(x, y, numbers, **options)
    n_groups, inner = sizes.shape[-1], ragged in lhs_contract
    if len(groups) != (0 if inner else 1):
        raise TypeError("ragged_dot_general requires exactly one rhs group dimension where the "
                        f"ragged dimension is free, and none where it is contracted; got {groups}")
    if groups and y.shape[groups[0]] != n_groups:
        raise TypeError(f"ragged_dot: rhs has {y.shape[groups[0]]} groups in axis {groups[0]}, but "
                        f"group_sizes has {n_groups}")
    masked = _masked(x, sizes, ragged, lhs_batch)
    last = x.ndim                                # the axis of groups in `masked`
    if not inner:
        by_group = ((*lhs_contract, last), (*rhs_contract, groups[0]))
        return dot_general(masked, y, (by_group, (lhs_batch, rhs_batch)), **options)
    made = dot_general(masked, y, numbers, **options)
    return jnp.moveaxis(made, x.ndim - len(lhs_contract), 0)


def _masked(x: Tracer, sizes: Tracer, ragged: int, batch: tuple[int, ...]) -> Any:
    """`x` with an axis of groups at the end, zero where an element is not in the group."""
    ends = jnp.cumsum(sizes, axis=-1, dtype=np.int32)
    starts = ends - sizes.astype(np.int32)
    places = np.arange(x.shape[ragged], dtype=np.int32)[:, None]
    inside = (places >= starts[..., None, :]) & (places < ends[..., None, :])
    axes = (*(batch if sizes.ndim > 1 else ()), ragged, x.ndim)
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    shape = [1] * (x.ndim + 1)
    for i in order:
        shape[axes[i]] = inside.shape[i]
    inside = jnp.transpose(inside, order).reshape(shape)
    return jnp.where(inside, x[..., None], 0)


# --- blocks with scales -------------------------------------------------------------------

def scaled_dot(lhs: ArrayLike, rhs: ArrayLike, *, lhs_scale: ArrayLike | None = None,
               rhs_scale: ArrayLike | None = None,
               dimension_numbers: DotDimensionNumbers | None = None,
               preferred_element_type: DTypeLike | None = None) -> Array:
    """`dot_general` of operands whose blocks along contracted axes are multiplied by scales first.

    Args:
      lhs_scale, rhs_scale: arrays with one scale for each block. They have the shape of the
        operand, except along contracted axes, where their sizes divide those of the operand; None
        for ones.
      dimension_numbers: as for `dot_general`; None for matrix products over the last axes.
      preferred_element_type: dtype of the result; None for bfloat16. Operands times scales are
        rounded to bfloat16 before the product.
    Raises: TypeError where shapes do not match.
    Source: OCP Microscaling Formats (MX) specification 1.0, 6.2.

    >>> lhs, rhs = jnp.ones((1, 4), "float8_e4m3fn"), jnp.ones((4, 1), "float8_e4m3fn")
    >>> scale = jnp.array([[2., 8.]], "bfloat16")
    >>> lax.scaled_dot(lhs, rhs, lhs_scale=scale)
    Array([[20]], dtype=bfloat16)
    """
    if dimension_numbers is None:
        n = np.ndim(lhs)
        lead = tuple(range(n - 2))
        dimension_numbers = (((n - 1,), (n - 2,)), (lead, lead))
    (contract, batch), preferred = dimension_numbers, preferred_element_type
    numbers = tuple([tuple([tuple([int(d) for d in axes]) for axes in pair])
                     for pair in (contract, batch)])
    return _scaled(lhs, rhs, lhs_scale, rhs_scale, numbers,
                   bfloat16 if preferred is None else preferred)


@eager(static=("numbers", "preferred"))
def _scaled(lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, numbers: Any, preferred: Any
            ) -> Any:
    x = _by_blocks("lhs", operand("scaled_dot", lhs), lhs_scale, numbers[0][0])
    y = _by_blocks("rhs", operand("scaled_dot", rhs), rhs_scale, numbers[0][1])
    return dot_general(x, y, numbers, preferred_element_type=preferred)


def _by_blocks(name: str, x: Tracer, scale: Any, contracted: tuple[int, ...]) -> Any:
    x = as_tracer(x.astype(bfloat16))
    if scale is None:
        return x
    scale = operand("scaled_dot", scale)
    if scale.ndim != x.ndim:
        raise TypeError(f"scaled_dot: {name}_scale must have {x.ndim} axes, got {scale.shape}")
    for d, (size, blocks) in enumerate(zip(x.shape, scale.shape, strict=True)):
        if (d in contracted and (not blocks or size % blocks)) or (
                d not in contracted and size != blocks):
            raise TypeError(f"scaled_dot: axis {d} has {size} elements in {name} and {blocks} in "
                            f"{name}_scale; the scale must have the same number, or on a "
                            "contracted axis a divisor of it")
        if size != blocks:
            scale = jnp.repeat(scale, size // blocks, axis=d)
    return x * scale.astype(bfloat16)


__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]
