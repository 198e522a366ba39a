"""Indexing: `x[...]` and `x.at[...]`, with NumPy's rules for what the indices mean.

An index is split into a *pattern*, which is static, and *numbers* and arrays. Where operations run
at once, or are recorded in an un-jitted transformation, these are operands, so that `x[i]` in a
loop compiles once; in a staged program, known numbers become attributes of `slice`. Reads outside
of an axis are clamped, writes are dropped; negative indices count from the end. The derivative of a
read by arrays of indices is a write, so it drops what lies outside (not in the mode "clip").
"""

# hot: benchmarks/eager.py

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.literal import Literal
from xfront_ir.opdef import infer_types
from xfront_ir.ops.gathering import default_fill

from .. import binding
from ..base.config import check_static_indices
from ..base.config import staging as staging_state
from ..base.errors import IndexBroadcastError, NonConcreteBooleanIndexError
from ..base.holders import held_by
from ..base.trees import tree_leaves
from ..binding.promotion import dtype_kind
from ..binding.tracebacks import shorten
from ..eager.dispatch import Front, deepest, record_by
from ..eager.operands import broadcast_shapes, broadcast_to, convert, operand
from ..eager.templates import Templates
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .slices import Slice
from .ufuncs import like, number, where

FULL, NEW, NUMBER, ARRAY = ":", "n", "i", "a"
Pattern = tuple[Any, ...]
"""One entry for each part of an index: FULL, NEW (an axis of size 1), NUMBER, ARRAY, or (length,
step) of a slice. NUMBER, ARRAY and slices take one operand each, a slice its lowest position."""


# --- what an index means ------------------------------------------------------------------

def parse(shape: tuple[int, ...], index: Any, written: bool = False) -> tuple[list[Any], Pattern]:
    """(operands, pattern) of an index into an array of `shape`.

    With `written`, elements are set there, and arrays of indices may point into empty axes.

    Raises: IndexError for too many indices, slices of traced bounds, masks of another shape;
      TypeError for lists, floats and text; NonConcreteBooleanIndexError for traced masks.
    """
    if type(index) is int and shape and shape[0]:
        return [index], (NUMBER, *(FULL,) * (len(shape) - 1))
    parts = expanded(len(shape), _with_arrays(index) if type(index) is tuple else (index,))
    given: list[Any] = []
    pattern: list[Any] = []
    axis = 0
    for part in parts:
        kind = type(part)
        if kind is int:
            pattern.append(NUMBER)
            given.append(part)
            check_size(shape, axis)
            axis += 1
        elif part is None:
            pattern.append(NEW)
        elif kind is slice:
            low, entry = slice_entry(part, shape[axis])
            pattern.append(entry)
            if entry is not FULL:
                given.append(low)
            axis += 1
        elif kind is Slice:
            low, entry = part.within(shape[axis])
            pattern.append(entry)
            given.append(low)
            axis += 1
        elif isinstance(part, (bool, np.bool_)):
            pattern.append((ARRAY, NEW))            # an axis of size 1, taken once or not at all
            given.append(np.zeros(int(part), np.int32))
        else:
            for made in array_part(part, shape, axis):
                if made is TRUTH:
                    pattern.append((ARRAY, NEW))
                    given.append(np.zeros(int(bool(part)), np.int32))
                    continue
                pattern.append(NUMBER if not made.shape else ARRAY)
                given.append(made)
                if not written:
                    check_size(shape, axis, made)
                axis += 1
    pattern += [FULL] * (len(shape) - axis)
    return given, tuple(pattern)


def _with_arrays(index: tuple) -> tuple:
    """An index of several parts with arrays in place of lists."""
    if not any([type(part) is list or type(part) is tuple for part in index]):
        return index
    from .creation import asarray  # late: loaded on first use

    made = []
    for part in index:
        if type(part) is list or type(part) is tuple:
            held = tree_leaves(part)
            # traced numbers are stacked; known numbers and masks stay known
            part = asarray(part) if any([type(x) is Tracer for x in held]) else np.asarray(part)
            part = part.astype(np.int32) if not part.size else part
        made.append(part)
    return tuple(made)


TRUTH = object()


def check_size(shape: tuple[int, ...], axis: int, x: Any = None) -> None:
    """Raise IndexError where an element of an empty axis is asked for."""
    if shape[axis] == 0 and (x is None or x.size):
        raise IndexError(f"index out of bounds: axis {axis} of shape {shape} has no elements")


def expanded(ndim: int, parts: tuple) -> list[Any]:
    """The parts of an index with full slices in place of an Ellipsis."""
    taken, place = 0, -1
    for i, part in enumerate(parts):
        if part is Ellipsis:
            if place >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            place = i
        elif part is not None and not isinstance(part, (bool, np.bool_)):
            dtype = getattr(part, "dtype", None)
            taken += len(part.shape) if dtype is not None and dtype == np.bool_ else 1
    if taken > ndim:
        raise IndexError(f"Too many indices: array is {ndim}-dimensional, but {taken} were indexed")
    if place < 0:
        return list(parts)
    return [*parts[:place], *[slice(None)] * (ndim - taken), *parts[place + 1:]]


def slice_entry(s: slice, size: int) -> tuple[int, Any]:
    """(lowest position, pattern entry) of a slice of an axis."""
    if s.start is None and s.stop is None and s.step is None:
        return 0, FULL
    try:
        start, stop, step = s.indices(size)
    except TypeError:
        if any(type(b) is Tracer for b in (s.start, s.stop, s.step)):
            raise IndexError(
                f"slice bounds must be known while tracing, got {s}; for a slice of known length "
                "at a traced position use lax.dynamic_slice(x, start, sizes), for a slice of "
                "traced length use a mask: jnp.where(jnp.arange(n) < stop, x, fill)") from None
        try:
            start, stop, step = slice(*(b if b is None else operator.index(b) for b in (
                s.start, s.stop, s.step))).indices(size)
        except TypeError:
            raise TypeError(f"the bounds of a slice must be integers, got {s}") from None
    length = len(range(start, stop, step))
    if not length:
        return 0, (0, 1)
    if length == size and step == 1:
        return 0, FULL
    return (start if step > 0 else start + (length - 1) * step), (length, step)


def array_part(part: Any, shape: tuple[int, ...], axis: int) -> Sequence[Any]:
    """The integer arrays that an array in an index stands for: itself, or a mask's positions."""
    if hasattr(part, "__jax_array__"):
        part = held_by(part)
    if isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
        raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed; "
                        "use x[jnp.array(sequence)] instead of x[sequence], or x[tuple(sequence)] "
                        "for one index per axis")
    if isinstance(part, (str, bytes)):
        raise TypeError(f"arrays cannot be indexed by text, got {part!r}")
    dtype = getattr(part, "dtype", None)
    if dtype is None:
        try:
            return (np.asarray(operator.index(part)),)
        except TypeError:
            raise TypeError("Indexer must have integer or boolean type, got indexer with type "
                            f"{type(part).__name__}: {part!r}") from None
    if isinstance(dtype, np.dtype) and dtype.kind == "b":
        return mask_part(part, shape, axis)
    if not isinstance(dtype, np.dtype) or dtype_kind(dtype) not in "iu":
        raise TypeError("Indexer must have integer or boolean type, got indexer with type "
                        f"{dtype} of shape {part.shape}")
    return (part,)


def mask_part(mask: Any, shape: tuple[int, ...], axis: int) -> Sequence[Any]:
    """The positions where a mask is true, one array for each of its axes."""
    if type(mask) is Tracer:
        from ..running import concrete

        if not concrete.may_be_known(mask):
            raise NonConcreteBooleanIndexError(mask)
        mask = concrete.number(mask, "numpy.asarray()")
    if not mask.shape:
        return (TRUTH,)
    covered = shape[axis: axis + len(mask.shape)]
    if tuple(mask.shape) != covered:
        raise IndexError(f"boolean index of shape {tuple(mask.shape)} does not match the shape "
                         f"{covered} of the axes of the array that it covers, starting at axis "
                         f"{axis}")
    return [np.asarray(i, np.int32) for i in np.nonzero(np.asarray(mask))]


# --- reading ------------------------------------------------------------------------------

def getitem(x: Any, index: Any) -> Any:
    """`x[index]`."""
    try:
        if type(x) is binding.ArrayImpl and state.current is None:
            kind = type(index)
            if kind is int and not _CHECKED.value:
                return (_FIRST or _make_first())[0](x, index)
            if kind is slice:
                shape = x.aval.shape
                if shape:
                    low, entry = slice_entry(index, shape[0])
                    pattern = _SLICES.get((entry, len(shape)))
                    if pattern is None:
                        pattern = (entry, *(FULL,) * (len(shape) - 1))
                        _SLICES[entry, len(shape)] = pattern
                    if type(low) is int:
                        given = () if entry is FULL else (low,)
                        return (_GET or _make_get())[0](x, given, pattern, None, None, False, False,
                                                    True)
        elif type(x) is Tracer and type(index) is int and staging_state.value:
            shape = x.value.type.shape
            if shape and -shape[0] <= index < shape[0]:
                return _row(x, index, shape)
        return read(x, index)
    except NonConcreteBooleanIndexError as error:
        from .selections import selected  # most programs have no traced mask

        found = selected(x, index)
        if found is None:
            shorten(error)
            raise
        return found
    except BaseException as error:
        shorten(error)
        raise


def _row(x: Tracer, i: int, shape: tuple[int, ...]) -> Tracer:
    """`x[i]` for a known i in a staged program."""
    i = clamped(i, shape[0])
    rest = shape[1:]
    row = emit(ops.slice, x, starts=(i, *(0,) * len(rest)), limits=(i + 1, *rest),
               strides=(1,) * len(shape))
    return emit(ops.reshape, row, shape=rest)


_CHECKED = check_static_indices.state
_SLICES: dict[Any, Pattern] = {}
_FIRST: list[Any] = []
_GET: list[Any] = []


def _make_first() -> list[Any]:
    _FIRST.append(Front(_first, "getitem", ()).compiled)
    return _FIRST


def _make_get() -> list[Any]:
    _GET.append(Front(_get, "getitem", (2, 3, 4, 5, 6, 7)).compiled)
    return _GET


def _first(x: Any, i: Any) -> Any:
    x = operand("getitem", x)
    if not x.ndim:
        raise IndexError("Too many indices: array is 0-dimensional, but 1 were indexed")
    check_size(x.shape, 0)
    return _get(x, (i,), (NUMBER, *(FULL,) * (x.ndim - 1)), None, None, False, False, True)


def read(x: Any, index: Any, mode: str | None = None, fill_value: Any = None,
         indices_are_sorted: bool = False, unique_indices: bool = False, wrap: bool = True) -> Any:
    """`x[index]` with a mode for positions outside of the array, which without `wrap` include those
    below 0."""
    given, pattern = parse(x.shape, index)
    if mode not in READ_MODES:
        raise ValueError("the mode of an indexed read must be one of "
                         f"{[m for m in READ_MODES if m]}, got {mode!r}")
    if fill_value is not None:
        if np.ndim(fill_value):
            raise ValueError("at[].get: fill_value must be a scalar, got shape "
                             f"{np.shape(fill_value)}")
        fill_value = np.asarray(fill_value).item()
    if _CHECKED.value and READ_MODES[mode] == "promise_in_bounds":
        _refuse_outside(x.shape, given, pattern, wrap)
    target = deepest((x, given), state.current)
    if target is None:
        call = (_GET or _make_get())[0]
        return call(x, tuple(given), pattern, mode, fill_value, indices_are_sorted, unique_indices,
                    wrap)
    return record_by(_READS, target, _get, (x, given, pattern, mode, fill_value,
                                            indices_are_sorted, unique_indices, wrap))


def _refuse_outside(shape: tuple[int, ...], given: Sequence[Any], pattern: Pattern, wrap: bool
                    ) -> None:
    """Raise IndexError where a number that Python knows is outside of its axis."""
    axis, numbers = 0, iter(given)
    for entry in pattern:
        if entry == NEW or type(entry) is tuple and entry[0] is ARRAY:
            continue
        i = None if entry == FULL else next(numbers)
        if entry == NUMBER and isinstance(i, (int, np.integer, np.ndarray)):
            size = shape[axis]
            if not (-size if wrap else 0) <= i < size:
                raise IndexError(f"index {i} is out of bounds for axis {axis} with size {size}")
        axis += 1


_READS = Templates()


_MODES = {"clip": "clip", "fill": "fill", "drop": "fill", "fill_or_drop": "fill", "one_hot": "fill",
          "promise_in_bounds": "promise_in_bounds"}
READ_MODES = {None: "promise_in_bounds", **_MODES}
LEFT_OUT = "left out"
"""The mode of writes whose places outside of the array stand for values that are not wanted."""
WRITE_MODES = {None: "fill", **_MODES, LEFT_OUT: "drop"}


def _get(x: Any, given: Sequence[Any], pattern: Pattern, mode: str | None, fill_value: Any,
         indices_are_sorted: bool, unique_indices: bool, wrap: bool) -> Any:
    x = operand("getitem", x)
    arrays = any(p == ARRAY or type(p) is tuple and p[0] is ARRAY for p in pattern)
    filling = READ_MODES[mode] == "fill" and NUMBER in pattern
    if not arrays and not filling:
        return basic(x, given, pattern, wrap)
    x, given, pattern = _with_new_axes(x, given, pattern)
    plan = Plan(x, given, pattern, wrap)
    how, dtype = READ_MODES[mode], x.value.type.dtype
    if not x.size:                        # there is nothing to read, and the result is empty
        return emit(ops.reshape, x, shape=plan.shape)
    fill = None
    if fill_value is not None and dtype.is_key:
        raise TypeError(f"keys outside of the array cannot be read as {fill_value!r}: leave "
                        "fill_value out, or take the words of random.key_data(keys)")
    if how == "fill" and not dtype.is_key:
        value = default_fill(dtype) if fill_value is None else fill_value
        fill = Literal(np.asarray(value).astype(dtype.numpy), dtype)
    sizes = tuple(1 if d in plan.removed else plan.windows[d] for d in range(x.ndim))
    made = emit(ops.gather, x, plan.indices(), offset_dims=plan.window_dims,
                collapsed_slice_dims=plan.removed, operand_batching_dims=(),
                start_indices_batching_dims=(), start_index_map=plan.index_map, slice_sizes=sizes,
                mode=how, fill_value=fill, indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices)
    made.weak = x.weak
    return made


def position(i: Any, size: int, wrap: bool = True) -> Any:
    """An index as a traced i32 (i64 for long axes) that counts from the start; without `wrap`
    negative indices stay negative."""
    wide = dtypes.i32 if size < 2 ** 31 else dtypes.i64
    most = max(2 ** (wide.bits - 1) - 2 - size, size)      # so that i + size is one of `wide`
    if type(i) is int:
        i = max(min(i, most), -most - 1)
        return number(i + size if i < 0 and wrap else i, wide)
    if type(i) is not Tracer and not isinstance(i, binding.ArrayImpl):
        value = np.asarray(i)
        value = _held(value, most) if value.dtype.itemsize >= 4 else value.astype(np.int64)
        return operand("getitem", np.where((value < 0) & wrap, value + size, value).astype(
            wide.numpy))
    i = operand("getitem", i)
    dtype = i.value.type.dtype
    if dtype.bits > wide.bits or dtype.bits == wide.bits and dtype.is_unsigned:
        low = 0 if dtype.is_unsigned else -most - 1       # what is outside must stay outside
        i = emit(ops.clamp, like(i, low), i, like(i, most))
    i = convert(i, wide)
    if dtype.is_unsigned or not wrap:
        return i
    return where(i < 0, i + size, i)


def _held(value: np.ndarray, most: int) -> np.ndarray:
    """Known positions of any width as i64, at most `most`."""
    if value.dtype.kind == "u":
        return np.minimum(value.astype(np.uint64), np.uint64(most)).astype(np.int64)
    return np.clip(value.astype(np.int64), -most - 1, most)


def basic(x: Tracer, given: Sequence[Any], pattern: Pattern, wrap: bool = True) -> Tracer:
    """An index of numbers, slices and new axes: one slice or dynamic_slice, and a reshape."""
    shape, offsets = x.value.type.shape, iter(given)
    starts: list[Any] = []
    spans, steps, turned, final = [], [], [], []
    axis = 0
    for entry in pattern:
        if entry is NEW or entry == NEW:
            final.append(1)
            continue
        size = shape[axis]
        if entry == FULL:
            starts.append(0)
            spans.append(size)
            steps.append(1)
            final.append(size)
        elif entry == NUMBER:
            starts.append((NUMBER, next(offsets)))
            spans.append(1)
            steps.append(1)
        else:
            length, step = entry
            starts.append(next(offsets))
            spans.append((length - 1) * abs(step) + 1 if length else 0)
            steps.append(abs(step))
            final.append(length)
            if step < 0:
                turned.append(axis)
        axis += 1
    if spans != list(shape) or any(s != 1 for s in steps):
        x = _cut(x, starts, spans, steps, wrap)
    if turned:
        x = emit(ops.reverse, x, axes=tuple(turned))
    return x if x.value.type.shape == tuple(final) else emit(ops.reshape, x, shape=tuple(final))


def _cut(x: Tracer, starts: list[Any], spans: list[int], steps: list[int], wrap: bool) -> Tracer:
    shape = x.value.type.shape
    known = staging_state.value and all([
        type(s) is int or type(s) is tuple and type(s[1]) is int and (-n if wrap else 0) <= s[1] < n
        for s, n in zip(starts, shape, strict=True)])
    if known:
        low = [clamped(s[1], n, wrap) if type(s) is tuple else s
               for s, n in zip(starts, shape, strict=True)]
        return emit(ops.slice, x, starts=tuple(low),
                    limits=tuple(a + n for a, n in zip(low, spans, strict=True)),
                    strides=tuple(steps))
    made = []
    for s, n in zip(starts, shape, strict=True):
        made.append(position(s[1], n, wrap) if type(s) is tuple
                    else number(s, dtypes.i32) if type(s) is int
                    else convert(operand("getitem", s), dtypes.i32))
    if any(m.value.type.dtype is dtypes.i64 for m in made):
        made = [convert(m, dtypes.i64) for m in made]
    if all(s == 1 for s in steps):
        return _dynamic(x, made, spans)
    picked = {"starts": (0,) * len(spans), "limits": tuple(spans), "strides": tuple(steps)}
    if x.value.type.sharding is None:
        return emit(ops.slice, _dynamic(x, made, spans), **picked)
    # the block between the two ops need not divide evenly over the devices
    (wanted,) = infer_types(ops.slice, (x.value.type,), picked)
    before, state.out_sharding_given = state.out_sharding_given, True
    try:
        x = emit(ops.slice, _dynamic(x, made, spans), **picked)
    finally:
        state.out_sharding_given = before
    return x if wanted.sharding is None else emit(ops.reshard, x, sharding=wanted.sharding)


def _dynamic(x: Tracer, starts: Sequence[Tracer], spans: Sequence[int]) -> Tracer:
    made = emit(ops.dynamic_slice, x, *starts, sizes=tuple(spans))
    made.weak = x.weak
    return made


def clamped(i: int, size: int, wrap: bool = True) -> int:
    """A known index, counted from the start and clamped to the axis."""
    return min(max(i + size if i < 0 and wrap else i, 0), size - 1)


def _with_new_axes(x: Tracer, given: Sequence[Any], pattern: Pattern
                   ) -> tuple[Tracer, list[Any], Pattern]:
    """The array with the new axes of the index inserted, and the same index for it."""
    if not any(p == NEW or type(p) is tuple and p[0] is ARRAY for p in pattern):
        return x, list(given), pattern
    shape, sizes = [], iter(x.value.type.shape)
    made: list[Any] = []
    for p in pattern:
        new = p == NEW or type(p) is tuple and p[0] is ARRAY
        shape.append(1 if new else next(sizes))
        made.append(FULL if p == NEW else ARRAY if new else p)
    return emit(ops.reshape, x, shape=tuple(shape)), list(given), tuple(made)


class Plan:
    """An index as dimension numbers of gather and scatter.

    The result's axes are those of the broadcast arrays and one for each slice. Whole blocks of
    slices with step 1 are windows; numbers, arrays and other slices are entries of the index
    vectors, whose axes are in the order of the result.
    """

    batch: list[int]
    index_map: tuple[int, ...]
    parts: list[tuple[int, Tracer, tuple[int, ...]]]
    removed: tuple[int, ...]
    shape: tuple[int, ...]
    window_dims: tuple[int, ...]
    windows: dict[int, int]

    def __init__(self, x: Tracer, given: Sequence[Any], pattern: Pattern, wrap: bool) -> None:
        if all([p == NUMBER or p == FULL for p in pattern]):
            self._of_numbers(x.value.type.shape, given, pattern, wrap)
        else:
            self._of_all(x, given, pattern, wrap)

    def _of_numbers(self, shape: tuple[int, ...], given: Sequence[Any], pattern: Pattern,
                    wrap: bool) -> None:
        """Numbers and whole axes, as in `x.at[i]`: one index vector."""
        self.removed = self.index_map = tuple([i for i, p in enumerate(pattern) if p == NUMBER])
        self.windows = {i: shape[i] for i, p in enumerate(pattern) if p == FULL}
        self.shape = tuple(self.windows.values())
        self.window_dims, self.batch = tuple(range(len(self.shape))), []
        self.parts = [(i, position(at, shape[i], wrap), ())
                      for i, at in zip(self.removed, given, strict=True)]

    def _of_all(self, x: Tracer, given: Sequence[Any], pattern: Pattern, wrap: bool) -> None:
        operands = iter(given)
        parts = [(p, None if p == FULL else next(operands)) for p in pattern]
        chosen = [i for i, (p, _) in enumerate(parts) if p in (NUMBER, ARRAY)]
        arrays = [i for i in chosen if parts[i][0] == ARRAY]
        indices = {i: position(parts[i][1], x.shape[i], wrap) for i in chosen}
        block = broadcast_index(indices[i].shape for i in chosen) if chosen else ()
        together = chosen and chosen[-1] - chosen[0] + 1 == len(chosen)
        at = chosen[0] if together and arrays else 0
        self.removed, self.shape = (), ()
        self.windows, self.parts = {}, []
        windows: list[int] = []
        batch: list[int] = []
        mine: list[int] = []
        axes: list[tuple[int, Tracer, list[int]]] = []

        def put_block() -> None:
            for n in block:
                mine.append(len(self.shape))
                batch.append(len(self.shape))
                self.shape += (n,)

        if chosen and not at:
            put_block()
        for i, (p, low) in enumerate(parts):
            if i in indices:
                if i == at and i:
                    put_block()
                self.removed += (i,)
                continue
            if p == FULL:
                self.windows[i] = x.shape[i]
                windows.append(len(self.shape))
                self.shape += (x.shape[i],)
                continue
            length, step = p
            start = convert(operand("getitem", low), dtypes.i32)
            if step == 1:
                self.windows[i] = length
                windows.append(len(self.shape))
                axes.append((i, start, []))
            else:
                count = emit(ops.iota, dtype=dtypes.i32, shape=(length,), dimension=0)
                count = count * step
                first = low + (length - 1) * -step if step < 0 and type(low) is int else low
                if step < 0 and type(low) is not int:
                    first = start + (length - 1) * -step
                first = convert(operand("getitem", first), dtypes.i32)
                place = count + broadcast_to(first, (length,))
                axes.append((i, place, [len(self.shape)]))
                batch.append(len(self.shape))
                self.removed += (i,)
            self.shape += (length,)
        self.window_dims = tuple(windows)
        self.batch = batch
        order = {d: k for k, d in enumerate(batch)}
        for i, index in indices.items():
            own = mine[len(mine) - index.ndim:]
            self.parts.append((i, index, tuple(order[d] for d in own)))
        for i, index, dims in axes:
            self.parts.append((i, index, tuple(order[d] for d in dims)))
        self.removed = tuple(sorted(self.removed))
        self.index_map = tuple(i for i, _, _ in self.parts)

    def indices(self) -> Tracer:
        """The index vectors, in the last axis."""
        batch = tuple(self.shape[d] for d in self.batch)
        columns = []
        wide = any(i.value.type.dtype is dtypes.i64 for _, i, _ in self.parts)
        for _, index, dims in self.parts:
            if wide:
                index = convert(index, dtypes.i64)
            columns.append(emit(ops.broadcast_in_dim, index, shape=(*batch, 1), dims=dims))
        if not columns:
            return operand("getitem", np.zeros((0,), np.int32))
        return columns[0] if len(columns) == 1 else emit(
            ops.concatenate, *columns, dimension=len(batch))


def broadcast_index(shapes: Any) -> tuple[int, ...]:
    """The shape that index arrays broadcast to. Raises: IndexBroadcastError, an IndexError
    and a ValueError, where they do not."""
    listed = list(shapes)
    try:
        return broadcast_shapes("index", listed)
    except TypeError:
        raise IndexBroadcastError(f"index arrays do not broadcast together: {listed}") from None
