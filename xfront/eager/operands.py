"""The first step of every public function: its operands are checked, promoted and broadcast.

A function's body runs with `state.current` set to the trace that records it (see `dispatch.eager`),
so `operand` always returns tracers of that trace.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType, from_numpy
from xfront_ir.types import TensorType, tensor

from .. import binding
from ..base.config import numpy_rank_promotion as rank_promotion
from ..base.errors import BroadcastError, ConcretizationTypeError
from ..base.holders import held_by
from ..binding import promotion
from ..binding.caller import users_own
from ..binding.tracebacks import warn
from ..tracing.trace import Trace, emit, is_number, plain_number, scalar, state
from ..tracing.tracer import Tracer
from ..values.keys import KeyArray

SCALARS = frozenset((bool, int, float, complex))
"""Types of Python numbers."""


# --- one operand --------------------------------------------------------------------------

def is_array_like(x: Any) -> bool:
    """Whether a public function takes `x` as an array: arrays, tracers, NumPy values, numbers."""
    return (type(x) is Tracer or type(x) in SCALARS
            or isinstance(x, (binding.Array, np.ndarray, np.generic, bool, int, float, complex))
            or hasattr(x, "__jax_array__"))


def operand(name: str, x: Any, argument: str = "") -> Tracer:
    """The tracer of an argument.

    Raises: TypeError where it is a list, None, a string or another non-array.
    """
    target = state.current
    assert target is not None, "a public function's body runs inside a trace"
    if type(x) is Tracer:
        return x if x.home is target else target.lift(x)
    return target.lift(array_like(name, x, argument))


def array_like(name: str, x: Any, argument: str = "") -> binding.Array:
    """`x` itself. Raises: TypeError where it is not an array; the message says what to write."""
    if type(x) is Tracer or type(x) in SCALARS:
        return x
    if is_array_like(x):
        return held_array(x)
    which = f"argument {argument!r}" if argument else "an argument"
    hint = f"; write {name}(jnp.array(...))" if isinstance(x, (list, tuple)) else ""
    raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} for {which}{hint}")


def number_in(value: Any, dtype: Any, wraps: bool = False) -> Any:
    """A Python integer that the default integer cannot hold, as a NumPy number of `dtype`; any
    other value unchanged.

    An integer dtype must have the number in its range, except that with `wraps` all numbers of 64
    bits wrap around, as smaller numbers do when they are converted. Other dtypes round it."""
    if type(value) is not int or -2 ** 31 <= value < 2 ** 31 or not isinstance(dtype, np.dtype):
        return value
    kind = promotion.dtype_kind(dtype)
    if kind in "fcb":
        return np.asarray(value != 0 if kind == "b" else float(value), dtype)
    if dtype.kind not in "iu":
        return value
    if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return np.asarray(value, dtype)
    if wraps and -2 ** 63 <= value < 2 ** 64:
        return np.asarray(value % 2 ** 64, np.uint64).astype(dtype)
    return value


def held_array(x: Any) -> Any:
    """The array that an object returns from `__jax_array__`; the plain Python number that a member
    of an enum, or an object of another subclass of a number, equals; any other value unchanged."""
    kind = type(x)
    if kind is Tracer or kind is binding.ArrayImpl or kind in SCALARS or kind is np.ndarray:
        return x
    if is_number(x):
        return plain_number(x)
    return held_array(held_by(x)) if hasattr(x, "__jax_array__") else x


def ir_dtype(x: Any) -> tuple[DType, bool]:
    """Element type and weakness of anything array-like."""
    kind = type(x)
    if kind is Tracer:
        return x.value.type.dtype, x.weak
    if kind in SCALARS:
        return from_numpy(binding.scalar_dtype(kind)), kind is not bool
    if kind is KeyArray:
        return x.dtype.ir, False
    aval = getattr(x, "aval", None)
    if aval is not None:
        return from_numpy(aval.dtype), aval.weak_type
    return from_numpy(binding.canonical_dtype(np.asarray(x).dtype)), False


class KeysDoNotMix(TypeError, ValueError):
    """An operand has keys and another one has not. It is a ValueError, which JAX raises where
    arrays are joined, and a TypeError, which it raises where elements are compared or written."""


_PROMOTED: dict[Any, tuple[DType, bool]] = {}


def promoted_dtype(name: str, types: Sequence[tuple[DType, bool]]) -> tuple[DType, bool]:
    """The dtype and weakness to which operands of these dtypes promote in the function `name`."""
    mode = promotion.mode_state.value
    key = (tuple(types), binding.x64_state.value, mode)
    found = _PROMOTED.get(key)
    if found is None:
        if any(d.is_key for d, _ in types):
            distinct = {d for d, _ in types}
            if len(distinct) > 1:
                raise KeysDoNotMix(f"{name}: key arrays do not mix with other dtypes: got "
                                   f"{', '.join(d.name for d, _ in types)}")
            found = types[0][0], False
        else:
            dtype, weak = promotion.promote_all(name, [(d.numpy, w) for d, w in types])
            found = from_numpy(dtype), weak
        if mode == "standard":                   # in strict mode it depends on the caller
            _PROMOTED[key] = found
    return found


# --- numbers beside a tracer --------------------------------------------------------------

def filled(trace: Trace, y: Any, type_: TensorType, weak: bool) -> Tracer:
    """An array of type `type_` with the number `y` in every element."""
    return Tracer(trace, trace.number(y, type_), weak)


# --- several operands ---------------------------------------------------------------------

def convert(x: Tracer, dtype: DType, weak: bool = False) -> Tracer:
    """`x` with elements of `dtype`."""
    if x.value.type.dtype is not dtype:
        x = emit(ops.convert, x, dtype=dtype)
    elif x.weak == weak:
        return x
    return Tracer(x.home, x.value, weak)


def warn_of_lost_parts() -> None:
    """Give NumPy's warning about complex values that become real ones."""
    warn("Casting complex values to real discards the imaginary part",
         np.exceptions.ComplexWarning)


def cast(x: Tracer, dtype: DType, weak: bool = False) -> Tracer:
    """`x` with elements of a dtype that the user named; where complex elements become real ones,
    their real parts are kept, with a ComplexWarning."""
    if x.value.type.dtype.is_complex and not dtype.is_complex and dtype is not dtypes.bool_:
        warn_of_lost_parts()
        x = emit(ops.real, x)
    return convert(x, dtype, weak)


def strong(x: Tracer) -> Tracer:
    """`x`, not weakly typed."""
    return Tracer(x.home, x.value, False) if x.weak else x


def _agree(x: Any, y: Any) -> bool:
    """Whether two operands are tracers of the current trace with equal dtype and weakness."""
    return (type(x) is Tracer and type(y) is Tracer and x.weak == y.weak
            and x.value.type.dtype is y.value.type.dtype and x.home is y.home is state.current)


def promote(name: str, *xs: Any) -> list[Tracer]:
    """Tracers of one dtype, each in its own shape."""
    if len(xs) == 2 and _agree(*xs):
        return list(xs)
    xs = tuple([array_like(name, x) for x in xs])
    dtype, weak = promoted_dtype(name, [ir_dtype(x) for x in xs])
    target = state.current
    assert target is not None
    return [target.literal(scalar(x, dtype), (), weak) if type(x) in SCALARS
            else convert(target.lift(x), dtype, weak) for x in xs]


def promote_inexact(name: str, *xs: Any) -> list[Tracer]:
    """Tracers of one inexact dtype, as `promote`; integers and bools become the default float."""
    made = promote(name, *xs)
    if made and not made[0].value.type.dtype.is_inexact:
        dtype = inexact_dtype(made[0].value.type.dtype)
        made = [convert(x, dtype, x.weak) for x in made]
    return made


def inexact_dtype(dtype: DType) -> DType:
    """The inexact dtype in place of `dtype`: itself where it is inexact, f64 for 64-bit integers,
    f32 for narrower ones."""
    if dtype.is_inexact:
        return dtype
    return dtypes.f64 if dtype.bits == 64 else dtypes.f32


def default_int() -> DType:
    """i32, or i64 where 64-bit types are enabled."""
    return dtypes.i64 if binding.x64_state.value else dtypes.i32


def default_float() -> DType:
    """f32, or f64 where 64-bit types are enabled."""
    return dtypes.f64 if binding.x64_state.value else dtypes.f32


_OF_ANY_RANK = frozenset(("broadcast_shapes", "choose", "full", "gcd", "heaviside", "where"))
"""Functions whose operands may differ in rank whatever the option says."""


def check_ranks(name: str, *shapes: tuple[int, ...], cores: Sequence[int] = ()) -> None:
    """Warn, or raise ValueError, where the option `numpy_rank_promotion` says so and the user's
    arrays (except scalars) have different ranks.

    Args:
      name: name of the function.
      shapes: shapes of the arrays.
      cores: the number of last axes of each array that do not broadcast. Where it is given, only
        the other axes count, and arrays without other axes are not excepted as scalars.
    """
    if rank_promotion.value == "allow" or name in _OF_ANY_RANK:
        return
    ranks = ({len(s) - n for s, n in zip(shapes, cores, strict=True)} if cores else
             {len(s) for s in shapes if s})
    if len(ranks) > 1 and users_own(name):
        listed = " ".join(map(str, shapes))
        if rank_promotion.value == "raise":
            raise ValueError(f"Operands could not be broadcast together for {name} on shapes "
                             f"{listed}: their ranks differ, which "
                             "jax_numpy_rank_promotion='raise' forbids. Reshape them to the same "
                             "rank")
        warn(f"Following NumPy automatic rank promotion for {name} on shapes {listed}, since "
             "jax_numpy_rank_promotion='warn'. Reshape them to the same rank", UserWarning)


def broadcast_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape to which `shapes` broadcast by NumPy's rules. Raises: BroadcastError (a TypeError
    and a ValueError) where they do not fit."""
    first = shapes[0]
    if all([s == first for s in shapes]):
        return first
    if rank_promotion.value != "allow":
        check_ranks(name, *shapes)
    key = tuple(shapes)
    found = _BROADCAST.get(key)
    if found is None:
        if len(_BROADCAST) >= 4096:
            _BROADCAST.clear()
        found = _BROADCAST[key] = _broadcast(name, shapes)
    return found


_BROADCAST: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {}


def _broadcast(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    ndim = max(map(len, shapes))
    result = []
    for axis in range(-ndim, 0):
        sizes = {s[axis] for s in shapes if -axis <= len(s)} - {1}
        if len(sizes) > 1:
            listed = ", ".join(map(str, shapes))
            raise BroadcastError(f"{name}: shapes {listed} do not broadcast: axis {axis} has sizes "
                                 f"{', '.join(map(str, sorted(sizes)))}, which must be equal or 1")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def broadcast_to(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """`x` repeated along new axes and axes of size 1 to `shape`, which it must fit."""
    own = x.value.type.shape
    if own == shape:
        return x
    shift = len(shape) - len(own)
    return emit(ops.broadcast_in_dim, x, shape=shape, dims=tuple(range(shift, len(shape))))


def together(name: str, *xs: Any) -> list[Tracer]:
    """Tracers of one dtype and one shape, for an elementwise op."""
    if len(xs) == 2 and _agree(*xs):
        shapes = (xs[0].value.type.shape, xs[1].value.type.shape)
        shape = broadcast_shapes(name, shapes)
        return [broadcast_to(x, shape) for x in xs]
    xs = tuple([array_like(name, x) for x in xs])
    dtype, weak = promoted_dtype(name, [ir_dtype(x) for x in xs])
    shape = broadcast_shapes(name, [() if type(x) in SCALARS else x.shape for x in xs])
    return in_shape(xs, dtype, weak, shape)


def in_shape(xs: Sequence[Any], dtype: DType, weak: bool, shape: tuple[int, ...]) -> list[Tracer]:
    """Tracers of `xs` in `dtype` and `shape`; numbers become literals of that shape at once."""
    target = state.current
    assert target is not None
    return [filled(target, x, tensor(shape, dtype), weak) if type(x) in SCALARS
            else broadcast_to(convert(target.lift(x), dtype, weak), shape) for x in xs]


# --- axes, shapes, static values ----------------------------------------------------------

def index_of(x: Any, name: str = "axis") -> int:
    """The Python int of an int, a NumPy integer or a concrete 0-d integer array.

    Raises: TypeError for any other value; ConcretizationTypeError (a TypeError) for a traced
      integer.
    """
    try:
        return int(operator.index(x))  # bools are integers too
    except TypeError:
        if type(x) is Tracer and not x.home.closed and x.value.type.dtype.is_integer and not x.ndim:
            raise ConcretizationTypeError(x, f"{name} must be known while tracing: make the "
                                          "argument static (static_argnums), or take it from a "
                                          "shape.") from None
        raise TypeError(f"{name} must be an integer, got {x!r}") from None


def normalize_axis(name: str, axis: Any, ndim: int) -> int:
    """One axis in [0, ndim). Raises: AxisError (ValueError and IndexError) out of range."""
    i = index_of(axis, f"{name}: axis")
    if not -ndim <= i < ndim:
        raise np.exceptions.AxisError(f"{name}: axis {i} is out of bounds for array of dimension "
                                      f"{ndim}")
    return i + ndim if i < 0 else i


def normalize_axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes in [0, ndim) in ascending order; None means all.

    Raises: ValueError where one is out of range or occurs twice; TypeError where one is traced.
    """
    if axis is None:
        return tuple(range(ndim))
    found = [normalize_axis(name, a, ndim) for a in listed(axis)]
    if len(set(found)) != len(found):
        raise ValueError(f"{name}: duplicate value in 'axis': {axis}")
    return tuple(sorted(found))


def listed(axis: Any) -> Sequence[Any]:
    """The axes that an argument names: one, or those of a sequence of any class."""
    return axis if isinstance(axis, (tuple, list)) else (
        tuple(axis) if are_sizes(axis) else (axis,))


def are_sizes(shape: Any) -> bool:
    """Whether a shape is a sequence of sizes, of any class, and not one size."""
    return isinstance(shape, (tuple, list)) or (
        shape.ndim == 1 if hasattr(shape, "ndim") else
        hasattr(type(shape), "__len__") and hasattr(type(shape), "__getitem__")
        and not isinstance(shape, (str, bytes, Mapping)))


def shape_of(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """A tuple of ints from an int or a sequence of ints. Raises: TypeError where one is traced."""
    if are_sizes(shape):
        made = tuple([index_of(d, name) for d in shape])
    else:
        made = (index_of(shape, name),)
    if any(d < 0 for d in made):
        raise ValueError(f"{name} must not have negative sizes, got {made}")
    return made


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with size 1 along `axes`, for `keepdims`."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))
