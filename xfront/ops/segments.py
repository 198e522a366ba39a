"""Reductions over segments: rows of an array with the same segment number are combined."""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir.dtypes import DType

from .. import numpy as jnp
from ..base.dimension_numbers import ModeLike
from ..base.on_demand import public as _public
from ..binding.annotations import Array, ArrayLike, ShardingLike
from ..binding.tracebacks import front_door
from ..eager.dispatch import takes_out_sharding
from ..eager.operands import array_like, index_of, ir_dtype
from ..numpy.indexed_updates import At, _mode
from ..values.arguments import at_home

_REDUCTIONS: dict[str, Any] = {"add": jnp.sum, "multiply": jnp.prod, "max": jnp.max, "min": jnp.min}


@front_door
def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                bucket_size: int | None = None, mode: ModeLike = None,
                out_sharding: ShardingLike = None) -> Array:
    """Sums of the rows of `data` with the same segment number; 0 for segments without rows.

    Args:
      data: array of numbers, [n, ...].
      segment_ids: integers, [n]; rows whose number is not in [0, num_segments) are left out.
      num_segments: number of segments; None means one more than the greatest segment number, which
        must be known.
      indices_are_sorted, unique_indices: whether `segment_ids` are promised to be sorted, and to be
        distinct; the result is undefined where a promise is broken.
      bucket_size: number of rows that are summed first, before these sums are added, for smaller
        rounding errors in long arrays; None sums all at once.
      mode: how numbers out of range are treated, as in `.at[]`: "drop" (also None and "fill"),
        "clip" or "promise_in_bounds".
      out_sharding: None, or the sharding of the default device.
    Returns: array [num_segments, ...] of data's dtype.
    Raises: TypeError for lists, bools and segment numbers that are not integers;
      ConcretizationTypeError (a TypeError) where `num_segments` is traced, or None under jit;
      ValueError for sizes that do not fit, a negative `num_segments` or a `bucket_size` below 1.
    Source: `jax.ops.segment_sum`.

    >>> segment_sum(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 2, 0]), 3)
    Array([5., 0., 2.], dtype=float32)
    """
    return _segment("segment_sum", "add", 0, data, segment_ids, num_segments, indices_are_sorted,
                    unique_indices, bucket_size, mode, out_sharding)


@front_door
def segment_prod(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                 indices_are_sorted: bool = False, unique_indices: bool = False,
                 bucket_size: int | None = None, mode: ModeLike = None,
                 out_sharding: ShardingLike = None) -> Array:
    """Products of the rows of `data` with the same segment number; 1 for segments without rows.

    Arguments and errors are those of `segment_sum`.

    >>> segment_prod(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 0]), 2)
    Array([4., 2.], dtype=float32)
    """
    return _segment("segment_prod", "multiply", 1, data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


@front_door
def segment_max(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                bucket_size: int | None = None, mode: ModeLike = None,
                out_sharding: ShardingLike = None) -> Array:
    """The maximum of the rows of `data` with the same segment number; for a segment without rows
    -inf, the least integer or False.

    Arguments and errors are those of `segment_sum`. Bools are accepted too, and so are complex
    numbers, which are ordered by their real parts.

    >>> segment_max(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 0]), 2)
    Array([4., 2.], dtype=float32)
    """
    return _segment("segment_max", "max", _least(ir_dtype(array_like("segment_max", data))[0]),
                    data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                    bucket_size, mode, out_sharding)


@front_door
def segment_min(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                bucket_size: int | None = None, mode: ModeLike = None,
                out_sharding: ShardingLike = None) -> Array:
    """The minimum of the rows of `data` with the same segment number; for a segment without rows
    inf, the greatest integer or True.

    Arguments and errors are those of `segment_sum`. Bools are accepted too, and so are complex
    numbers, which are ordered by their real parts.

    >>> segment_min(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 0]), 2)
    Array([1., 2.], dtype=float32)
    """
    return _segment("segment_min", "min", _greatest(ir_dtype(array_like("segment_min", data))[0]),
                    data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                    bucket_size, mode, out_sharding)


def _least(dtype: DType) -> Any:
    if dtype.kind == "bool":
        return False
    return jnp.iinfo(dtype.numpy).min if dtype.is_integer else -np.inf


def _greatest(dtype: DType) -> Any:
    if dtype.kind == "bool":
        return True
    return jnp.iinfo(dtype.numpy).max if dtype.is_integer else np.inf


def _segment(name: str, how: str, empty: Any, data: Any, segment_ids: Any, num_segments: Any,
             indices_are_sorted: bool, unique_indices: bool, bucket_size: int | None, mode: Any,
             out_sharding: ShardingLike) -> Any:
    data = jnp.asarray(array_like(name, data))
    ids = jnp.asarray(array_like(name, segment_ids, "segment_ids"))
    kind = ir_dtype(data)[0].kind
    if kind == "bool" and how in ("add", "multiply"):
        raise TypeError(f"{name} does not accept dtype {data.dtype}")
    if not ir_dtype(ids)[0].is_integer:
        raise TypeError(f"{name}: segment_ids must have an integer dtype, got {ids.dtype}")
    if num_segments is None:
        most = index_of(jnp.max(ids), f"{name}: the number of segments")
        num_segments = max(0, most + 1)           # in Python: ids may be too narrow for one more
    n = index_of(num_segments, f"{name}: num_segments")
    if n < 0:
        raise ValueError(f"{name}: num_segments must be non-negative, got {n}")
    mode = _mode(mode)
    flags = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices,
             "mode": "drop" if mode in (None, "fill", "fill_or_drop") else mode,
             "wrap_negative_indices": False}
    size = None if bucket_size is None else index_of(bucket_size, f"{name}: bucket_size")
    of_segments = _of_segments if out_sharding is None else takes_out_sharding(name)(_of_segments)
    return of_segments(name, how, empty, data, ids, n, size, flags, out_sharding=out_sharding)


def _of_segments(name: str, how: str, empty: Any, data: Any, ids: Any, n: int, size: int | None,
                 flags: dict[str, Any], out_sharding: ShardingLike = None) -> Any:
    at_home(name, out_sharding)
    shape = (n, *data.shape[1:])
    if not n:
        return jnp.zeros(shape, data.dtype)
    if size is None:
        return getattr(At(jnp.full(shape, empty, data.dtype))[ids], how)(data, **flags)
    if size < 1 or ids.ndim != 1:
        raise ValueError(f"{name}: bucket_size must be at least 1 and segment_ids must have one "
                         f"axis, got {size} and shape {ids.shape}")
    buckets = np.arange(ids.shape[0], dtype=np.int32) // size
    start = jnp.full((-(-ids.shape[0] // size), *shape), empty, data.dtype)
    parts = getattr(At(start)[buckets, ids], how)(data, **flags)
    if not parts.shape[0]:
        return jnp.full(shape, empty, data.dtype)
    return _REDUCTIONS[how](parts, axis=0).astype(data.dtype)


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
_public("xfront.ops", globals())
