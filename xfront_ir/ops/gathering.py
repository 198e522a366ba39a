"""gather and the scatters: blocks taken from, or placed at, positions that an array lists.

The dimension numbers are those of the StableHLO spec; index vectors stand in the last axis of the
indices. `mode` says what happens to a block that does not lie inside the operand:

    clip                it is moved inside
    fill                gather gives `fill_value`; scatter leaves the block out
    drop                scatter alone: as fill, where blocks are left out on purpose: checks of
                        indices do not look at it
    promise_in_bounds   the program promises that there is none; where there is one, gather moves it
                        inside and scatter leaves it out, as StableHLO does

Batching uses the batching dimensions of these same ops, so nothing loops. Where several updates of
a `scatter` meet, one of them wins; the derivative follows the winner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import dtypes
from ..core import Op, Value
from ..definition import LINEAR, OpDef, lookup
from ..errors import IRTypeError
from ..literal import Literal
from ..opdef import AXES, BOOL, LITERAL, SHAPE, define, enum, optional
from ..spreading import Dims, met, refuse, spreads
from ..traits import BRANCHES, MERGED, MOVES, mark
from ..types import TensorType
from .families import is_numeric, move_batch
from .indexing import or_zeros
from .shape import iota, moved, reshape, transpose

if TYPE_CHECKING:
    from ..builder import Builder
    from ..dtypes import DType
    from ..rules import Attrs, Axis, Batched, Infer, NewTangents, Positions, Tangents, Types, Values

Ints = tuple[int, ...]

MODE = enum("promise_in_bounds", "clip", "fill")
WRITE_MODE = enum("promise_in_bounds", "clip", "fill", "drop")


# --- dimension numbers, shared by gather and scatter --------------------------------------

def _others(ndim: int, *taken: Ints) -> Ints:
    """The axes of `ndim` that no list names."""
    named = {d for axes in taken for d in axes}
    return tuple(d for d in range(ndim) if d not in named)


def _interleaved(ndim: int, windows: Ints, window_sizes: Ints, batch_sizes: Ints) -> Ints:
    """A shape with `window_sizes` at the axes `windows` and `batch_sizes` at the others."""
    by_axis = dict(zip(windows, window_sizes))
    rest = iter(batch_sizes)
    return tuple(by_axis[d] if d in by_axis else next(rest) for d in range(ndim))


def _ascending(axes: Ints, ndim: int) -> bool:
    return list(axes) == sorted(set(axes)) and all(0 <= a < ndim for a in axes)


def _check_numbers(name: str, x: TensorType, indices: TensorType, windows: Ints, removed: Ints,
                   batching: Ints, of_indices: Ints, index_map: Ints, result_ndim: int) -> None:
    """Constraints that gather and scatter share; the names in the messages are gather's."""
    def refuse(wrong: str) -> None:
        raise IRTypeError(f"{name}: {wrong}, for operand {x} and indices {indices}")

    if not indices.dtype.is_integer or indices.ndim == 0:
        refuse("indices must be integers with index vectors in their last axis")
    if x.ndim != len(windows) + len(removed) + len(batching):
        refuse(f"window dims {windows}, removed dims {removed} and batching dims {batching} must "
               "account for each axis of the operand once")
    if not _ascending(windows, result_ndim):
        refuse(f"window dims {windows} must be ascending and in [0, {result_ndim})")
    if not (_ascending(removed, x.ndim) and _ascending(batching, x.ndim)
            and not set(removed) & set(batching)):
        refuse(f"removed dims {removed} and batching dims {batching} must be ascending, without a "
               "common dimension")
    if (len(set(index_map)) != len(index_map) or len(index_map) != indices.shape[-1]
            or not all(0 <= d < x.ndim and d not in batching for d in index_map)):
        refuse(f"index map {index_map} must name one axis for each element of an index vector")
    if (len(of_indices) != len(batching) or len(set(of_indices)) != len(of_indices)
            or not all(0 <= d < indices.ndim - 1 for d in of_indices)
            or any(x.shape[d] != indices.shape[i] for d, i in zip(batching, of_indices))):
        refuse(f"batching dims {batching} do not match dims {of_indices} of the indices")


def _up(dims: Ints, at: int) -> Ints:
    """The axes, renumbered for a new axis at `at`."""
    return tuple(d + (d >= at) for d in dims)


def _new_batch_axis(windows: Ints, ndim: int, q: int) -> int:
    """The place in a result or update of `ndim` axes for the axis that the indices have at `q`."""
    batch = _others(ndim, windows)
    if q < len(batch):
        return batch[q]
    return batch[-1] + 1 if batch else 0


def _paired(batching: Ints, of_indices: Ints, p: int, q: int) -> tuple[Ints, Ints]:
    """Batching dims with the pair (p, q) added; those of the operand stay ascending."""
    pairs = sorted([*zip(_up(batching, p), _up(of_indices, q)), (p, q)])
    return tuple(d for d, _ in pairs), tuple(i for _, i in pairs)


def _indices_with_batch(b: Builder, indices: Value, q: int) -> tuple[Value, int]:
    """The indices and their batch axis, moved to the front where it would follow the index vectors.
    """
    if q < indices.type.ndim - 1:
        return indices, q
    return b.emit(transpose, indices, permutation=moved(indices.type.ndim, q, 0)), 0


# --- gather -------------------------------------------------------------------------------

def _infer_gather(types: Types, attrs: Attrs) -> Types:
    x, indices = types
    sizes, windows = attrs["slice_sizes"], attrs["offset_dims"]
    removed, batching = attrs["collapsed_slice_dims"], attrs["operand_batching_dims"]
    ndim = indices.ndim - 1 + len(windows)
    _check_numbers("gather", x, indices, windows, removed, batching,
                   attrs["start_indices_batching_dims"], attrs["start_index_map"], ndim)
    if (len(sizes) != x.ndim or any(s > n for s, n in zip(sizes, x.shape))
            or any(sizes[d] > 1 for d in (*removed, *batching))):
        raise IRTypeError(f"gather: slice sizes {sizes} must fit in {x} and be at most 1 in the "
                          f"collapsed and batching dims {(*removed, *batching)}")
    fill = attrs["fill_value"]
    if fill is not None and (fill.array.shape or fill.dtype is not x.dtype):
        raise IRTypeError(f"gather: the fill value must be {x.dtype}[], got {fill.type}")
    kept = tuple(sizes[d] for d in _others(x.ndim, removed, batching))
    return (x.with_shape(_interleaved(ndim, windows, kept, indices.shape[:-1])),)


def _jvp_gather(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    zero = Literal(0, op.operands[0].type.dtype) if op.attrs["mode"] == "fill" else None
    return (b.emit(gather, tangents[0], op.operands[1], **{**op.attrs, "fill_value": zero}),)


def _transpose_gather(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    a = op.attrs
    ct = b.emit(scatter_add, b.zeros(op.operands[0].type), known[1], cotangents[0],
                update_window_dims=a["offset_dims"],
                inserted_window_dims=a["collapsed_slice_dims"],
                operand_batching_dims=a["operand_batching_dims"],
                scatter_indices_batching_dims=a["start_indices_batching_dims"],
                scatter_dims_to_operand_dims=a["start_index_map"], mode=a["mode"],
                indices_are_sorted=a["indices_are_sorted"], unique_indices=a["unique_indices"])
    return ct, None


def _batch_gather(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                  ) -> Batched:
    (x, indices), (p, q), a = operands, positions, dict(op.attrs)
    windows, ndim = a["offset_dims"], op.results[0].type.ndim
    if q is None:                              # the batch is one more window axis, taken whole
        assert p is not None
        removed = (*a["collapsed_slice_dims"], *a["operand_batching_dims"])
        k = p - sum(d < p for d in _up(removed, p))
        if k < len(windows):
            r = windows[k]
        else:
            r = windows[-1] + 1 if windows else 0 if p == 0 else ndim
        a["offset_dims"] = (*windows[:k], r, *_up(windows[k:], r))
        a["slice_sizes"] = (*a["slice_sizes"][:p], x.type.shape[p], *a["slice_sizes"][p:])
    else:
        indices, q = _indices_with_batch(b, indices, q)
        r = _new_batch_axis(windows, ndim, q)
        a["offset_dims"], a["indices_are_sorted"] = _up(windows, r), False
        a["start_indices_batching_dims"] = _up(a["start_indices_batching_dims"], q)
        if p is None:
            a["unique_indices"] = False
            return (b.emit(gather, x, indices, **a),), (r,)
        a["slice_sizes"] = (*a["slice_sizes"][:p], min(1, axis[1]), *a["slice_sizes"][p:])
    for name in ("collapsed_slice_dims", "start_index_map"):
        a[name] = _up(a[name], p)
    if q is None:
        a["operand_batching_dims"] = _up(a["operand_batching_dims"], p)
    else:
        a["operand_batching_dims"], a["start_indices_batching_dims"] = _paired(
            a["operand_batching_dims"], op.attrs["start_indices_batching_dims"], p, q)
    return (b.emit(gather, x, indices, **a),), (r,)


gather = define("gather", operands=2, infer=_infer_gather, jvp=_jvp_gather,
                transpose=_transpose_gather, batch=_batch_gather,
                attrs={"offset_dims": AXES, "collapsed_slice_dims": AXES,
                       "operand_batching_dims": AXES, "start_indices_batching_dims": AXES,
                       "start_index_map": AXES, "slice_sizes": SHAPE, "mode": MODE,
                       "fill_value": optional(LITERAL), "indices_are_sorted": BOOL,
                       "unique_indices": BOOL})


def default_fill(dtype: dtypes.DType) -> Any:
    """The value that `fill` gives by default: NaN, the least signed integer, the greatest unsigned
    integer, or True."""
    if dtype.is_inexact:
        return float("nan")
    if dtype.kind == "bool":
        return True
    return -2 ** (dtype.bits - 1) if dtype.kind == "int" else 2 ** dtype.bits - 1


# --- scatter: type rule, batching ---------------------------------------------------------

def _infer_scatter(name: str, allowed: Callable[[DType], bool] | None) -> Infer:
    def infer(types: Types, attrs: Attrs) -> Types:
        x, indices, updates = types
        windows: Ints = attrs["update_window_dims"]
        removed = attrs["inserted_window_dims"]
        batching = attrs["operand_batching_dims"]
        _check_numbers(name, x, indices, windows, removed, batching,
                       attrs["scatter_indices_batching_dims"],
                       attrs["scatter_dims_to_operand_dims"], updates.ndim)
        if updates.dtype is not x.dtype or (allowed is not None and not allowed(x.dtype)):
            raise IRTypeError(f"{name}: updates of type {updates} cannot be written into an "
                              f"operand of type {x}")
        sizes = tuple(updates.shape[d] for d in windows)
        whole = tuple(x.shape[d] for d in _others(x.ndim, removed, batching))
        ndim = indices.ndim - 1 + len(windows)
        if (updates.ndim != ndim or any(s > n for s, n in zip(sizes, whole))
                or updates.shape != _interleaved(ndim, windows, sizes, indices.shape[:-1])):
            raise IRTypeError(f"{name}: updates {updates} with window dims {windows} do not fit "
                              f"operand {x} and indices {indices}")
        return (x,)

    return infer


def _batch_scatter(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    (x, indices, updates), (p, q, u), size = operands, positions, axis[1]
    a = dict(op.attrs)
    windows = a["update_window_dims"]
    x, p = (x, p) if p is not None else (move_batch(b, x, None, 0, size), 0)
    if q is None:                              # the batch is one more window axis, placed whole
        removed = (*a["inserted_window_dims"], *a["operand_batching_dims"])
        k = p - sum(d < p for d in _up(removed, p))
        low = windows[k - 1] + 1 if k else 0
        high = windows[k] if k < len(windows) else op.operands[2].type.ndim
        r = u if u is not None and low <= u <= high else low
        a["update_window_dims"] = (*windows[:k], r, *_up(windows[k:], r))
        a["operand_batching_dims"] = _up(a["operand_batching_dims"], p)
    else:
        indices, q = _indices_with_batch(b, indices, q)
        r = _new_batch_axis(windows, op.operands[2].type.ndim, q)
        a["update_window_dims"], a["indices_are_sorted"] = _up(windows, r), False
        a["operand_batching_dims"], a["scatter_indices_batching_dims"] = _paired(
            a["operand_batching_dims"], a["scatter_indices_batching_dims"], p, q)
    updates = move_batch(b, updates, u, r, size)
    for name in ("inserted_window_dims", "scatter_dims_to_operand_dims"):
        a[name] = _up(a[name], p)
    return (b.emit(op.definition, x, indices, updates, **a),), (p,)


def _define_scatter(name: str, jvp: Any, rule: Any, allowed: Any = None) -> OpDef:
    return define(name, operands=3, infer=_infer_scatter(name, allowed), jvp=jvp, transpose=rule,
                  batch=_batch_scatter,
                  attrs={"update_window_dims": AXES, "inserted_window_dims": AXES,
                         "operand_batching_dims": AXES, "scatter_indices_batching_dims": AXES,
                         "scatter_dims_to_operand_dims": AXES, "mode": WRITE_MODE,
                         "indices_are_sorted": BOOL, "unique_indices": BOOL})


# --- scatter: derivatives -----------------------------------------------------------------

def gather_back(b: Builder, x: Value, op: Op, like: TensorType | None = None) -> Value:
    """The blocks of `x` where the scatter `op` puts its updates; zero for those it leaves out."""
    a, updates, ndim = op.attrs, op.operands[2].type, op.operands[0].type.ndim
    removed = (*a["inserted_window_dims"], *a["operand_batching_dims"])
    windows: Iterator[int] = iter(a["update_window_dims"])
    whole = op.operands[0].type.shape
    sizes = tuple(min(1, whole[d]) if d in removed else updates.shape[next(windows)]
                  for d in range(ndim))
    mode = "fill" if a["mode"] == "drop" else a["mode"]
    fill = Literal(0, x.type.dtype) if mode == "fill" else None
    return b.emit(gather, x, op.operands[1], offset_dims=a["update_window_dims"],
                  collapsed_slice_dims=a["inserted_window_dims"],
                  operand_batching_dims=a["operand_batching_dims"],
                  start_indices_batching_dims=a["scatter_indices_batching_dims"],
                  start_index_map=a["scatter_dims_to_operand_dims"], slice_sizes=sizes,
                  mode=mode, fill_value=fill, indices_are_sorted=a["indices_are_sorted"],
                  unique_indices=a["unique_indices"])


def meets_nothing(op: Op) -> bool:
    """Whether no two updates of a scatter can fall on one element."""
    a, indices = op.attrs, op.operands[1].type
    batch = set(a["scatter_indices_batching_dims"])
    return a["unique_indices"] or all(n <= 1 or d in batch
                                      for d, n in enumerate(indices.shape[:-1]))


def _jvp_scatter_add(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, indices, _ = op.operands
    if tangents[2] is None:
        return (tangents[0],)
    return (b.emit(scatter_add, or_zeros(b, tangents[0], x.type), indices, tangents[2],
                   **op.attrs),)


def _transpose_scatter_add(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                          ) -> NewTangents:
    (ct,) = cotangents
    return (ct if known[0] is LINEAR else None, None,
            _gather_cotangent(b, ct, op, known) if known[2] is LINEAR else None)


def _gather_cotangent(b: Builder, ct: Value, op: Op, known: Any) -> Value:
    return gather_back(b, ct, Op(op.definition, (op.operands[0], known[1], op.operands[2]),
                                 op.attrs, op.results, op.loc))


scatter_add = _define_scatter("scatter_add", _jvp_scatter_add, _transpose_scatter_add, is_numeric)


def _jvp_scatter(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, indices, updates = op.operands
    of_x, _, of_updates = tangents
    if of_updates is None or meets_nothing(op):
        return (b.emit(scatter, or_zeros(b, of_x, x.type), indices,
                       or_zeros(b, of_updates, updates.type), **op.attrs),)
    won = _winners(b, op)
    of_updates = b.emit(lookup("select"), won, of_updates, b.zeros(updates.type))
    if of_x is None:
        kept = b.zeros(x.type)
    else:
        kept = b.emit(scatter, of_x, indices, b.zeros(updates.type), **op.attrs)
    return (b.emit(scatter_add, kept, indices, of_updates, **op.attrs),)


def _winners(b: Builder, op: Op) -> Value:
    """Which elements of the updates reach the result: scatter their numbers and gather them back.
    """
    x, indices, updates = op.operands
    size = updates.type.size
    count = b.emit(iota, dtype=dtypes.u32, shape=(size,), dimension=0)
    numbers = b.emit(reshape, count, shape=updates.type.shape)
    none = b.full(x.type.with_dtype(dtypes.u32), size)
    landed = b.emit(scatter, none, indices, numbers, **op.attrs)
    there = gather_back(b, landed, op)
    return b.emit(lookup("eq"), there, numbers)


def _transpose_scatter(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    (ct,), of_x, of_updates = cotangents, None, None
    if known[0] is LINEAR:
        of_x = b.emit(scatter, ct, known[1], b.zeros(op.operands[2].type), **op.attrs)
    if known[2] is LINEAR:
        of_updates = _gather_cotangent(b, ct, op, known)
    return of_x, None, of_updates


scatter = _define_scatter("scatter", _jvp_scatter, _transpose_scatter)


def _jvp_scatter_mul(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    x, indices, updates = op.operands
    of_x, _, of_updates = tangents
    total = None
    if of_x is not None:
        total = b.emit(scatter_mul, of_x, indices, updates, **op.attrs)
    if of_updates is not None:
        if not meets_nothing(op):
            raise NotImplementedError("scatter_mul has a derivative with respect to its updates "
                                      "only with `unique_indices=True`, which promises that no two "
                                      "updates overlap")
        moved = b.emit(lookup("mul"), of_updates, gather_back(b, x, op))
        zeros = total if total is not None else b.zeros(x.type)
        total = b.emit(scatter_add, zeros, indices, moved, **op.attrs)
    return (total,)


def _transpose_scatter_mul(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                          ) -> NewTangents:
    return b.emit(scatter_mul, cotangents[0], known[1], known[2], **op.attrs), None, None


scatter_mul = _define_scatter("scatter_mul", _jvp_scatter_mul, _transpose_scatter_mul, is_numeric)


def _jvp_scatter_extremum(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """The tangent of the element that gives the extremum; tied elements share it evenly."""
    x, indices, updates = op.operands
    of_x, _, of_updates = tangents
    select, eq, (result,) = lookup("select"), lookup("eq"), op.results
    x_won = b.emit(eq, x, result)
    u_won = b.emit(eq, updates, gather_back(b, result, op))

    def masked(mask: Value, value: Value | None, type: TensorType) -> Value:
        zeros = b.zeros(type)
        return zeros if value is None else b.emit(select, mask, value, zeros)

    count = b.emit(scatter_add, masked(x_won, b.ones(x.type), x.type), indices,
                   masked(u_won, b.ones(updates.type), updates.type), **op.attrs)
    total = masked(x_won, of_x, x.type)
    if of_updates is not None:
        total = b.emit(scatter_add, total, indices, masked(u_won, of_updates, updates.type),
                       **op.attrs)
    return (b.emit(lookup("div"), total, count),)


scatter_min = _define_scatter("scatter_min", _jvp_scatter_extremum, None, is_numeric)
scatter_max = _define_scatter("scatter_max", _jvp_scatter_extremum, None, is_numeric)


# --- axes that divide ---------------------------------------------------------------------

def _sliced_in_full(x: TensorType, sizes: Any, taken: Sequence[int], batch: Sequence[int]
                    ) -> list[int] | None:
    """The dimensions of x that slices take whole, in order; None where a divided dimension is read
    or written in part."""
    kept: list[int] = []
    for i, d in enumerate(x.dims):
        if i in batch:
            continue
        if d and (i in taken or sizes[i] != x.shape[i]):
            return None
        if i not in taken:
            kept.append(i)
    return kept


def _spread_gather(op: OpDef, types: Types, a: Attrs, results: Types) -> Sequence[Dims]:
    """Slices stay divided along dimensions that they take whole, and along batching dimensions."""
    (x, indices), windows = types, a["offset_dims"]
    batch: Ints = a["operand_batching_dims"]
    kept = _sliced_in_full(x, a["slice_sizes"], a["collapsed_slice_dims"], batch)
    paired = dict(zip(a["start_indices_batching_dims"], batch, strict=True))
    if kept is None or any([d for i, d in enumerate(indices.dims) if i not in paired]):
        refuse("Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather "
               "indexing as out sharding could not be resolved unambiguously (or would require "
               f"collectives on inputs). Got operand={x}, indices={indices}")
    of_windows = iter([x.dims[i] for i in kept])
    of_places = iter([met(op.name, [(d,), (x.dims[paired[i]],)], 1)[0] if i in paired else d
                      for i, d in enumerate(indices.dims[:-1])])
    return (tuple([next(of_windows if i in windows else of_places)
                   for i in range(results[0].ndim)]),)


def _spread_scatter(op: OpDef, types: Types, a: Attrs, results: Types) -> Sequence[Dims]:
    x, indices, updates = types
    batch, taken = a["operand_batching_dims"], a["inserted_window_dims"]
    of_updates: Ints = a["update_window_dims"]
    windows = [d for d in range(x.ndim) if d not in taken and d not in batch]
    sizes = dict(zip(windows, [updates.shape[d] for d in of_updates], strict=True))
    kept = _sliced_in_full(x, [sizes.get(d, 1) for d in range(x.ndim)], taken, batch)
    places = [i for i in range(updates.ndim) if i not in of_updates]
    paired = a["scatter_indices_batching_dims"]
    free = [d for i, d in enumerate(indices.dims[:-1]) if i not in paired]
    free += [updates.dims[p] for i, p in enumerate(places) if i not in paired]
    there = [(x.dims[i], updates.dims[d]) for i, d in zip(windows, of_updates, strict=True)]
    if kept is None or any(free) or any(u and u != d for d, u in there):
        refuse("Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for "
               "the scatter update as out sharding could not be resolved unambiguously (or would "
               f"require collectives on inputs). Got operand={x}, indices={indices}, "
               f"updates={updates}")
    return (x.dims,)


spreads(_spread_gather, gather)
spreads(_spread_scatter, scatter_add, scatter, scatter_mul, scatter_min, scatter_max)


# --- what passes ask ----------------------------------------------------------------------

mark({MOVES}, gather, scatter_add, scatter, scatter_mul, scatter_min, scatter_max)
mark({MERGED}, gather)
mark({BRANCHES}, scatter_add, scatter, scatter_mul, scatter_min, scatter_max)
