"""`x.at[index]`: arrays with some elements changed, as new arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType

from ..binding.annotations import ShardingLike
from ..binding.tracebacks import front_door, warn
from ..eager.dispatch import Front, deepest, record_by, takes_out_sharding
from ..eager.operands import (
    array_like,
    broadcast_to,
    cast,
    convert,
    default_int,
    inexact_dtype,
    ir_dtype,
    number_in,
    operand,
    promoted_dtype,
    strong,
)
from ..eager.templates import Templates
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .indexing import READ_MODES, WRITE_MODES, Pattern, Plan, _with_new_axes, parse, read
from .masks import masked, traced_mask
from .ufuncs import like, scalar, where

# (how, mode, indices_are_sorted, unique_indices, wrap_negative_indices)
Flags = tuple[str, str | None, bool, bool, bool]

_SCATTERS = {"set": ops.scatter, "add": ops.scatter_add, "subtract": ops.scatter_add,
             "multiply": ops.scatter_mul, "divide": ops.scatter_mul, "power": ops.scatter_mul,
             "min": ops.scatter_min, "max": ops.scatter_max}
_ELEMENTWISE = {"add": ops.add, "subtract": ops.add, "multiply": ops.mul, "divide": ops.mul,
                "power": ops.mul, "min": ops.min, "max": ops.max}
_PUT: list[Any] = []


# --- writing ------------------------------------------------------------------------------

def write(x: Any, index: Any, y: Any, how: str, mode: str | None, indices_are_sorted: bool,
          unique_indices: bool, wrap: bool) -> Any:
    """`x` with `y` set, added, ... at an index."""
    if mode not in WRITE_MODES:
        raise ValueError(f"the mode of an update must be one of {[m for m in READ_MODES if m]}, "
                         f"got {mode!r}")
    if isinstance(y, (list, tuple)):
        from .creation import asarray  # late: loaded on first use

        y = asarray(y)
    mask = traced_mask(x, index) if type(index) is Tracer or type(index) is tuple else None
    if mask is not None:
        return masked(x, mask, array_like(f"at[].{how}", y), how,
                      lambda x, index, y: write(x, index, y, how, None, False, False, True))
    given, pattern = parse(x.shape, index, written=True)
    y = array_like(f"at[].{how}", y)
    if type(y) is int and x.dtype.kind in "iu":
        y = number_in(y, x.dtype)
    _warn_of_loss(x, y, how)
    target = deepest((x, y, given), state.current)
    flags = (how, mode, indices_are_sorted, unique_indices, wrap)
    if target is None:
        if not _PUT:
            _PUT.append(Front(_put, "scatter", (3, 4)).compiled)
        return _PUT[0](x, y, tuple(given), pattern, flags)
    return record_by(_WRITES, target, _put, (x, y, given, pattern, flags))


_WRITES = Templates()


def _warn_of_loss(x: Any, y: Any, how: str) -> None:
    """Warn where the array's dtype cannot hold the result of the update."""
    own, dtype = ir_dtype(y)[0], ir_dtype(x)[0]
    if own is not dtype and _meeting(x, y, how) is not dtype:
        warn(f"scatter inputs have incompatible types: at[].{how} was given values of dtype "
             f"{own.numpy}, which the array's dtype {dtype.numpy} cannot hold without loss, so the "
             f"result is converted to it; write value.astype({dtype.numpy}) to convert explicitly",
             FutureWarning)


def fitted(x: Tracer, y: Any, how: str) -> Tracer:
    """`y` in x's dtype, with a warning where that dtype does not hold it."""
    _warn_of_loss(x, y, how)
    return _values(y, x.value.type.dtype, how)


def _meeting(x: Any, y: Any, how: str) -> DType:
    """The dtype in which elements of `x` and values `y` are combined.

    A weakly typed `x` keeps its dtype where that suffices, for the elements that stay. Raises:
    TypePromotionError where the mode of promotion does not let them combine.
    """
    (dtype, of_x), (own, of_y) = ir_dtype(x), ir_dtype(y)
    if own is dtype:
        return dtype
    adapted, _ = promoted_dtype(how, [(dtype, of_x), (own, of_y)])
    if not of_x or of_y:
        return adapted
    return dtype if _holds(dtype, adapted) else adapted


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether `wide`, a dtype of Python numbers, is no narrower than `narrow` and of its kind."""
    return wide.bits >= narrow.bits and (wide.kind == narrow.kind
                                         or wide.kind == "int" and narrow.kind == "uint")


def _put(x: Any, y: Any, given: Sequence[Any], pattern: Pattern, flags: Flags) -> Any:
    x, how = operand("at", x), flags[0]
    dtype, shape, weak = x.value.type.dtype, x.value.type.shape, x.weak
    inner = _meeting(x, y, how)
    if how == "set":
        inner = dtype                      # the elements that stay are not converted
    elif dtype.is_key:
        raise TypeError(f"at[].{how}: key arrays do not support arithmetic, got dtype {dtype.name}")
    elif inner.kind == "bool":
        if how == "subtract":
            raise TypeError("at[].subtract does not accept dtype bool; use logical_xor, or convert "
                            "the array to numbers with astype")
        inner = dtypes.i32
    elif how == "divide":
        inner = inexact_dtype(inner)
    x, given, pattern = _with_new_axes(x, given, pattern)
    plan = Plan(x, given, pattern, flags[-1])
    values = _values(y, inner, how)
    if values.shape != plan.shape:
        if not _fits(values.shape, plan.shape):
            raise ValueError(f"at[].{how}: values of shape {values.shape} do not broadcast to the "
                             f"indexed shape {plan.shape}")
        values = broadcast_to(values, plan.shape)
    start = convert(x, inner)
    if how == "subtract":
        values = -values
    if how in ("divide", "power"):
        from .arithmetic import power  # late: loaded on first use

        product = _scattered(like(strong(start), 1), plan, values, flags)
        made = start / product if how == "divide" else power(start, product)
        of_result = inexact_dtype(dtype) if how == "divide" else (
            default_int() if dtype.kind == "bool" else dtype)
    else:
        made, of_result = _scattered(start, plan, values, flags), dtype
    made = cast(as_tracer(made), of_result)
    if dtype.is_integer and of_result.is_integer and inner.is_inexact:
        touched = _scattered(x.home.literal(np.zeros((), bool), x.shape), plan,
                             x.home.literal(np.ones((), bool), plan.shape), ("set", *flags[1:]))
        made = where(touched, made, x)    # floats may not hold the integers that stay
    if made.value.type.shape != shape:
        made = emit(ops.reshape, made, shape=shape)
    return Tracer(made.home, made.value, weak)


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to another."""
    return len(shape) <= len(wanted) and all(
        [n in (1, m) for n, m in zip(reversed(shape), reversed(wanted), strict=False)])


def _scattered(x: Tracer, plan: Plan, values: Tracer, flags: Flags) -> Tracer:
    """`x` with values at the places of a plan, all of the same dtype."""
    how, mode, indices_are_sorted, unique_indices, _ = flags
    if not x.size:
        return x
    if not plan.parts:
        return values if how == "set" else emit(_ELEMENTWISE[how], x, values)
    return emit(_SCATTERS[how], x, plan.indices(), values, update_window_dims=plan.window_dims,
                inserted_window_dims=plan.removed, operand_batching_dims=(),
                scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=plan.index_map,
                mode=WRITE_MODES[mode], indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices)


def _values(y: Any, dtype: DType, how: str) -> Tracer:
    """`y` in a dtype."""
    kind = type(y)
    if kind is int and not dtype.is_key or kind is float and dtype.is_inexact or (
            kind is bool and dtype.kind == "bool"):
        target = state.current
        assert target is not None
        return target.literal(scalar(y, dtype), (), False)
    return cast(operand(f"at[].{how}", y), dtype)


# --- applying -----------------------------------------------------------------------------

def _elementwise(func: Callable[[Any], Any], x: Any) -> Any:
    """`func`, a function of one element, applied to each element of `x`.

    Raises: TypeError where its result has another dtype or shape.
    """
    from ..transforms.vmap import vmap  # late: transformations are a floor above

    if not x.size:
        return x
    made = vmap(func)(x.reshape(-1))
    shape, dtype = getattr(made, "shape", None), getattr(made, "dtype", None)
    if shape != (x.size,) or dtype != x.dtype:
        gives = f"{dtype}{list(shape[1:])}" if shape else f"a {type(made).__name__}"
        raise TypeError(f"at[].apply: the function must return one element of dtype {x.dtype} for "
                        f"each element, but it returned {gives}; convert its result, or convert "
                        "the array first")
    return made.reshape(x.shape)


def apply_at(func: Callable[[Any], Any], x: Any, times: Any, once: bool) -> Any:
    """`func` applied to each element of `x` as often as `times` says, at most once with `once`."""
    from .arithmetic import add  # late: loaded on first use
    from .logic import greater

    if once:
        return where(greater(times, 0), _elementwise(func, x), x)
    from ..lax.control_flow import while_loop  # late: loaded on first use

    def more(carry: Any) -> Any:
        return greater(times, carry[0]).any()

    def step(carry: Any) -> Any:
        done, now = carry
        return add(done, 1), where(greater(times, done), _elementwise(func, now), now)

    return while_loop(more, step, (np.int32(0), x))[1]


# --- what users write ---------------------------------------------------------------------

class At:
    """`x.at`: index it to choose the elements of an update."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._array, index)

    def __repr__(self) -> str:
        return f"At({self._array!r})"


def _update(how: str, doc: str) -> Callable[..., Any]:
    """A method of `AtIndex` that writes."""
    def method(self: AtIndex, values: Any, *, indices_are_sorted: bool = False,
               unique_indices: bool = False, mode: str | None = None,
               out_sharding: ShardingLike = None,
               wrap_negative_indices: bool = True) -> Any:
        if out_sharding is not None and (asked := _asked(f"at[].{how}", out_sharding)) is not None:
            from ..eager.out_sharding import with_out_sharding  # late: few calls give it

            return with_out_sharding(how, asked, getattr(AtIndex, how), (self, values), {
                "indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices,
                "mode": mode, "wrap_negative_indices": wrap_negative_indices})
        return write(self._array, self._index, values, how, _mode(mode),
                     bool(indices_are_sorted), bool(unique_indices), bool(wrap_negative_indices))

    method.__name__, method.__qualname__, method.__doc__ = how, f"AtIndex.{how}", doc
    method.__code__ = method.__code__.replace(co_name=how)   # the name that frames show
    return front_door(method)


def _asked(name: str, out_sharding: ShardingLike) -> Any:
    """The sharding of the argument `out_sharding` if it is on several devices, else None."""
    from ..eager.out_sharding import asked_for  # late: few calls give it

    found = asked_for(name, out_sharding)
    if found is None:
        at_home(name, out_sharding)
    return found


class AtIndex:
    """`x.at[index]`: its methods give new arrays in which those elements are changed.

    All take `mode` for positions outside of the array ("drop", the default, "clip" or
    "promise_in_bounds", the default of `get`, which takes "fill" too), and promises about the
    indices: `indices_are_sorted`, `unique_indices`. Without `wrap_negative_indices` indices below 0
    are outside and do not count from the end. Values of a wider dtype keep it in the computation;
    the result is converted to the array's dtype (`divide` of integers gives floats), with a
    FutureWarning where that loses information.

    The index may be a mask. A traced mask must stand alone or beside whole axes, and its values
    must not be one for each true element.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array, self._index = array, index

    def __repr__(self) -> str:
        return f"AtIndex({self._array!r}, {self._index!r})"

    @front_door
    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | None = None, fill_value: Any = None, out_sharding: ShardingLike = None,
            wrap_negative_indices: bool = True) -> Any:
        """The elements; in the mode "fill", `fill_value` (NaN, the least integer) outside."""
        if out_sharding is not None and (asked := _asked("at[].get", out_sharding)) is not None:
            from ..eager.out_sharding import with_out_sharding  # late: few calls give it

            return with_out_sharding("get", asked, AtIndex.get, (self,), {
                "indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices,
                "mode": mode, "fill_value": fill_value,
                "wrap_negative_indices": wrap_negative_indices})
        return read(self._array, self._index, _mode(mode), fill_value, bool(indices_are_sorted),
                    bool(unique_indices), bool(wrap_negative_indices))

    set = _update("set", "The elements replaced; where an index repeats, one of its values wins.")
    add = _update("add", "Values added; an index that repeats adds each of its values.")
    subtract = _update("subtract", "Values subtracted.")
    multiply = mul = _update("multiply", "Elements multiplied by values.")
    divide = _update("divide", "Elements divided by values; arrays of integers become floats.")
    power = _update("power", "Elements to the power of values.")
    min = _update("min", "The lesser of elements and values.")
    max = _update("max", "The greater of elements and values.")

    @front_door
    @takes_out_sharding("at[].apply")
    def apply(self, func: Callable[[Any], Any], *, indices_are_sorted: bool = False,
              unique_indices: bool = False, mode: str | None = None,
              out_sharding: ShardingLike = None,
              wrap_negative_indices: bool = True) -> Any:
        """The array with `func` applied to the elements, once for each time an index names them.

        Raises: TypeError where the result of `func` has another dtype.
        """
        at_home("at[].apply", out_sharding)
        from .creation import zeros_like

        counted = AtIndex(zeros_like(self._array, dtype=np.int32), self._index)
        times = counted.add(1, mode=mode, indices_are_sorted=indices_are_sorted,
                            unique_indices=unique_indices,
                            wrap_negative_indices=wrap_negative_indices)
        once = unique_indices or not any(hasattr(i, "shape") and i.shape for i in (
            self._index if isinstance(self._index, tuple) else (self._index,))) or (
                traced_mask(self._array, self._index) is not None)
        return apply_at(func, self._array, times, once)


def _mode(mode: Any) -> Any:
    """The name of a mode, which may be given as a `GatherScatterMode`."""
    return mode if mode is None or isinstance(mode, str) else getattr(mode, "name", str(mode)
                                                                      ).lower()


__all__ = ["At", "AtIndex"]
