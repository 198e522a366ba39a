"""`x.at[index]`: arrays with some elements changed, as new arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops

from ..arrays.dispatch import Front, deepest, record
from ..arrays.operands import (
    array_like,
    broadcast_shapes,
    broadcast_to,
    convert,
    ir_dtype,
    operand,
    promoted_dtype,
)
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .indexing import WRITE_MODES, Pattern, Plan, _with_new_axes, parse, read
from .ufuncs import scalar

_SCATTERS = {"set": ops.scatter, "add": ops.scatter_add, "mul": ops.scatter_mul,
             "min": ops.scatter_min, "max": ops.scatter_max}
_WHOLE = {"add": ops.add, "mul": ops.mul, "min": ops.min, "max": ops.max}
_PUT: list[Any] = []


def write(x: Any, index: Any, y: Any, how: str, mode: str | None, indices_are_sorted: bool,
          unique_indices: bool) -> Any:
    """`x` with `y` set, added, ... at an index."""
    given, pattern = parse(x.shape, index)
    if mode not in WRITE_MODES:
        raise ValueError(f"mode of writing is one of {[m for m in WRITE_MODES if m]}, got {mode!r}")
    y = array_like(f"at[].{how}", y)
    target = deepest((x, y, given), state.current)
    if target is None:
        if not _PUT:
            _PUT.append(Front(_put, f"scatter_{how}", (3, 4, 5, 6, 7)).compiled)
        return _PUT[0](x, y, tuple(given), pattern, how, mode, indices_are_sorted, unique_indices)
    return record(target, _put, (x, y, given, pattern, how, mode, indices_are_sorted,
                                 unique_indices))


def _put(x: Any, y: Any, given: Sequence[Any], pattern: Pattern, how: str, mode: str | None,
         indices_are_sorted: bool, unique_indices: bool) -> Any:
    x = operand("at", x)
    y = _fitted(x, y, how)
    dtype = x.value.type.dtype
    if dtype.kind == "bool" and how != "set":
        wide = _put(convert(x, dtypes.i32), convert(y, dtypes.i32), given, pattern, how, mode,
                    indices_are_sorted, unique_indices)
        return convert(wide, dtype)
    shape, weak = x.value.type.shape, x.weak
    x, given, pattern = _with_new_axes(x, given, pattern)
    plan = Plan(x, given, pattern)
    try:
        fits = y.shape in (plan.shape, ()) or broadcast_shapes(
            "at", (plan.shape, y.shape)) == plan.shape
    except TypeError:
        fits = False
    if not fits:
        raise ValueError(f"at[].{how}: values of shape {y.shape} do not broadcast to the indexed "
                         f"shape {plan.shape}")
    y = broadcast_to(y, plan.shape)
    if not plan.parts:
        made = y if how == "set" else emit(_WHOLE[how], x, y)
    else:
        made = emit(_SCATTERS[how], x, plan.indices(), y, update_window_dims=plan.window_dims,
                    inserted_window_dims=plan.removed, operand_batching_dims=(),
                    scatter_indices_batching_dims=(),
                    scatter_dims_to_operand_dims=plan.index_map, mode=WRITE_MODES[mode],
                    indices_are_sorted=indices_are_sorted, unique_indices=unique_indices)
    if made.value.type.shape != shape:
        made = emit(ops.reshape, made, shape=shape)
    return Tracer(made.home, made.value, weak)


def _fitted(x: Tracer, y: Any, how: str) -> Tracer:
    """`y` in x's dtype."""
    dtype = x.value.type.dtype
    own, weak = ir_dtype(y)
    if own is not dtype:
        wanted, _ = promoted_dtype([(dtype, x.weak), (own, weak)])
        if wanted is not dtype:
            warnings.warn(f"at[].{how}: values of dtype {own.numpy} do not fit an array of dtype "
                          f"{dtype.numpy} without loss and are converted; write "
                          f"value.astype({dtype.numpy}) to do so knowingly", FutureWarning,
                          stacklevel=2)
    if type(y) in (int, float, complex, bool) and not (isinstance(y, complex)
                                                      and not dtype.is_complex):
        target = state.current
        assert target is not None
        return target.literal(scalar(y, dtype), (), x.weak)
    y = operand("at", y)
    if own.is_complex and not dtype.is_complex:
        y = emit(ops.real, y)
    return convert(y, dtype, x.weak)


class At:
    """`x.at`: index it to say which elements an update is about."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._array, index)

    def __repr__(self) -> str:
        return f"At({self._array!r})"


class AtIndex:
    """`x.at[index]`: its methods give new arrays in which those elements are changed.

    All take `mode` for positions outside of the array ("drop", the default, "clip" or
    "promise_in_bounds"; `get` clamps by default and takes "fill"), and promises about the indices:
    `indices_are_sorted`, `unique_indices`. Values are converted to the array's dtype.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array, self._index = array, index

    def __repr__(self) -> str:
        return f"AtIndex({self._array!r}, {self._index!r})"

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | None = None, fill_value: Any = None, out_sharding: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """The elements, with `fill_value` (NaN, the least integer) outside in the mode "fill"."""
        return read(self._array, self._index, _mode(mode), fill_value, bool(indices_are_sorted),
                    bool(unique_indices))

    def set(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | None = None, out_sharding: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """The elements replaced; where an index repeats, one of its values wins."""
        return self._write(values, "set", indices_are_sorted, unique_indices, mode)

    def add(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | None = None, out_sharding: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """Values added; an index that repeats adds each of its values."""
        return self._write(values, "add", indices_are_sorted, unique_indices, mode)

    def subtract(self, values: Any, *, indices_are_sorted: bool = False,
                 unique_indices: bool = False, mode: str | None = None, out_sharding: Any = None,
                 wrap_negative_indices: bool = True) -> Any:
        """Values subtracted."""
        from .arithmetic import negative

        return self._write(negative(values), "add", indices_are_sorted, unique_indices, mode)

    def multiply(self, values: Any, *, indices_are_sorted: bool = False,
                 unique_indices: bool = False, mode: str | None = None, out_sharding: Any = None,
                 wrap_negative_indices: bool = True) -> Any:
        """Elements multiplied by values."""
        return self._write(values, "mul", indices_are_sorted, unique_indices, mode)

    mul = multiply

    def divide(self, values: Any, *, indices_are_sorted: bool = False,
               unique_indices: bool = False, mode: str | None = None, out_sharding: Any = None,
               wrap_negative_indices: bool = True) -> Any:
        """Elements divided by values."""
        from .arithmetic import divide

        by = self._product(values, indices_are_sorted, unique_indices, mode)
        return divide(self._array, by)

    def power(self, values: Any, *, indices_are_sorted: bool = False,
              unique_indices: bool = False, mode: str | None = None, out_sharding: Any = None,
              wrap_negative_indices: bool = True) -> Any:
        """Elements to the power of values."""
        from .arithmetic import power

        return power(self._array, self._product(values, indices_are_sorted, unique_indices, mode))

    def min(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | None = None, out_sharding: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """The lesser of elements and values."""
        return self._write(values, "min", indices_are_sorted, unique_indices, mode)

    def max(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | None = None, out_sharding: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """The greater of elements and values."""
        return self._write(values, "max", indices_are_sorted, unique_indices, mode)

    def apply(self, func: Callable[[Any], Any], *, indices_are_sorted: bool = False,
              unique_indices: bool = False, mode: str | None = None, out_sharding: Any = None,
              wrap_negative_indices: bool = True) -> Any:
        """An elementwise function applied, as often as an index repeats."""
        from .arithmetic import add
        from .choosing import where
        from .creation import zeros_like
        from .logic import greater

        x = self._array
        counted = AtIndex(zeros_like(x, dtype=np.int32), self._index)
        times = counted.add(1, mode=mode, indices_are_sorted=indices_are_sorted,
                            unique_indices=unique_indices)
        once = unique_indices or not any(hasattr(i, "shape") and i.shape for i in (
            self._index if isinstance(self._index, tuple) else (self._index,)))
        if once:
            return where(greater(times, 0), func(x), x).astype(x.dtype)
        from ..lax.control_flow import while_loop

        def more(carry: Any) -> Any:
            return greater(times, carry[0]).any()

        def step(carry: Any) -> Any:
            done, now = carry
            return add(done, 1), where(greater(times, done), func(now), now).astype(x.dtype)

        return while_loop(more, step, (np.int32(0), x))[1]

    def _write(self, values: Any, how: str, indices_are_sorted: bool, unique_indices: bool,
               mode: str | None) -> Any:
        return write(self._array, self._index, values, how, _mode(mode), bool(indices_are_sorted),
                     bool(unique_indices))

    def _product(self, values: Any, indices_are_sorted: bool, unique_indices: bool,
                 mode: str | None) -> Any:
        """Ones, with the product of the values at the index."""
        from .creation import ones_like

        return AtIndex(ones_like(self._array), self._index).multiply(
            values, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
            mode=mode)


def _mode(mode: Any) -> Any:
    """A mode by its name: also those of `GatherScatterMode`."""
    return mode if mode is None or isinstance(mode, str) else getattr(mode, "name", str(mode)
                                                                      ).lower()


__all__ = ["At", "AtIndex"]
