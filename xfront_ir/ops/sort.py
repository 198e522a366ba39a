"""Sorting: `sort` of several arrays by the first of them, and `top_k`.

Order of floats: NaN is greater than everything, -0 and 0 are equal; complex numbers are ordered by
real part, then imaginary part. Sources: StableHLO spec, `sort`; CHLO spec, `top_k`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import dtypes
from ..core import Op, Value
from ..errors import IRTypeError
from ..opdef import BOOL, INT, define
from ..spreading import along, spreads
from ..traits import ORDERS, mark
from .families import move_batch
from .gathering import gather
from .shape import iota, reshape

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import (
        Attrs,
        Axis,
        Batched,
        NewTangents,
        Positions,
        Tangents,
        Types,
        Values,
        WithTangents,
    )


def take_along(b: Builder, x: Value, indices: Value, dimension: int) -> Value:
    """The elements of `x` at `indices` along one axis; the other axes are paired."""
    ndim = x.type.ndim
    others = tuple(d for d in range(ndim) if d != dimension)
    vectors = b.emit(reshape, indices, shape=(*indices.type.shape, 1))
    return b.emit(gather, x, vectors, offset_dims=(), collapsed_slice_dims=(dimension,),
                  operand_batching_dims=others, start_indices_batching_dims=others,
                  start_index_map=(dimension,), slice_sizes=tuple(min(1, n) for n in x.type.shape),
                  mode="promise_in_bounds", fill_value=None, indices_are_sorted=False,
                  unique_indices=True)


# --- sort ---------------------------------------------------------------------------------

def _infer_sort(types: Types, attrs: Attrs) -> Types:
    dimension, n_keys = attrs["dimension"], attrs["n_keys"]
    if not types:
        raise IRTypeError("sort takes at least one operand")
    if any(t.shape != types[0].shape for t in types):
        raise IRTypeError("sort: operands must have the same shape, got "
                          f"{', '.join(map(str, types))}")
    if not 0 <= dimension < types[0].ndim:
        raise IRTypeError(f"sort: dimension must be in [0, {types[0].ndim}), got {dimension}")
    if not 1 <= n_keys <= len(types):
        raise IRTypeError(f"sort: n_keys must be in [1, {len(types)}], got {n_keys}")
    for t in types[:n_keys]:
        if t.dtype.is_key:
            raise IRTypeError(f"sort: values of type {t} have no order")
    return types


def _jvp_sort(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    """Tangents move as their operands do: one sort carries the positions along."""
    shape, dimension = operands[0].type.shape, attrs["dimension"]
    dtype = dtypes.u32 if shape[dimension] < 2 ** 31 else dtypes.i64      # nobody asks for a sign
    places = b.emit(iota, dtype=dtype, shape=shape, dimension=dimension)
    *results, order = b.emit(sort, *operands, places, **attrs)
    return tuple(results), tuple(None if t is None else take_along(b, t, order, dimension)
                                 for t in tangents)


def _batch_sort(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    to = next(p for p in positions if p is not None)
    moved = [move_batch(b, v, p, to, axis[1]) for v, p in zip(operands, positions, strict=True)]
    dimension = op.attrs["dimension"]
    attrs = {**op.attrs, "dimension": dimension + (dimension >= to)}
    return b.emit(sort, *moved, **attrs), (to,) * len(moved)


sort = define("sort", attrs={"dimension": INT, "n_keys": INT, "stable": BOOL}, infer=_infer_sort,
              single=False, jvp=_jvp_sort, own_primal=True, batch=_batch_sort)
"""Sorts all operands by the first `n_keys` of them, which are compared one after another."""


# --- top_k --------------------------------------------------------------------------------

def _infer_top_k(types: Types, attrs: Attrs) -> Types:
    (x,), k, axis = types, attrs["k"], attrs["axis"]
    if not 0 <= axis < x.ndim:
        raise IRTypeError(f"top_k: axis must be in [0, {x.ndim}), got {axis}")
    if not 0 <= k <= x.shape[axis]:
        raise IRTypeError(f"top_k: k={k} is not in [0, {x.shape[axis]}], the size of axis {axis} "
                          f"of {x}")
    if x.dtype.is_complex or x.dtype.is_key:
        raise IRTypeError(f"top_k takes real or bool operands, got {x}")
    made = x.with_shape((*x.shape[:axis], k, *x.shape[axis + 1:]))
    return made, made.with_dtype(dtypes.i32)


def _jvp_top_k(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    return take_along(b, tangents[0], op.results[1], op.attrs["axis"]), None


def _batch_top_k(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (x,), (p,), at = operands, positions, op.attrs["axis"]
    return b.emit(top_k, x, k=op.attrs["k"], axis=at + (at >= p)), (p, p)


top_k = define("top_k", attrs={"k": INT, "axis": INT}, infer=_infer_top_k, operands=1,
               single=False, jvp=_jvp_top_k, batch=_batch_top_k)
"""The `k` greatest elements along an axis, greatest first, and their positions. Of equal elements
the one at the lower position comes first."""


spreads(along("dimension"), sort)
spreads(along("axis"), top_k)

mark({ORDERS}, sort)
