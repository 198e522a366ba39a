"""Random bits and what is uniform: bits, uniform, randint, bernoulli, permutation, choice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType, from_numpy

from ..arrays.arguments import at_home
from ..arrays.dispatch import eager
from ..arrays.operands import (
    broadcast_to,
    convert,
    operand,
    promote,
    shape_of,
)
from ..dtypes import requested_dtype
from ..tracebacks import front_door
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .keys import typed_key

_UNSIGNED = {8: dtypes.u8, 16: dtypes.u16, 32: dtypes.u32, 64: dtypes.u64}


_KINDS = {"float": "a float", "complex": "a complex", "int": "an integer",
          "uint": "an unsigned integer"}


def chosen_dtype(name: str, dtype: Any, default: Any, kind: str) -> DType:
    """The element type that a sampler was asked for. Raises: ValueError for another kind,
    which `randint` calls a TypeError."""
    found = from_numpy(requested_dtype(name, default if dtype is None else dtype))
    if found.kind != kind and not (kind == "int" and found.kind == "uint"):
        raise (TypeError if name == "randint" else ValueError)(
            f"dtype argument to `{name}` must be {_KINDS[kind]} dtype, got {found.numpy.name}")
    return found


def constant(value: Any, dtype: DType, shape: tuple[int, ...] = ()) -> Tracer:
    """A literal in the trace of a body."""
    return state.current.literal(np.asarray(value, dtype.numpy), shape)  # type: ignore[union-attr]


@eager(static=("shape", "dtype"))
def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Uniform random bits as unsigned integers (uint32 by default) of the given shape."""
    at_home("bits", out_sharding)
    width = chosen_dtype("bits", dtype, np.uint32, "uint").bits
    return emit(ops.random_bits, typed_key("bits", key), bit_width=width, shape=shape_of(shape))


# --- uniform --------------------------------------------------------------------------------------

def unit_interval(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Tracer:
    """Floats in [0, 1): random bits as the mantissa of a number in [1, 2), minus one."""
    info = _FLOATS[dtype]
    mantissa, width = info
    drawn = 8 if mantissa < 8 else width       # bf16 needs no more than 7 random bits
    raw = emit(ops.random_bits, key, bit_width=drawn, shape=shape)
    unsigned = _UNSIGNED[width]
    if drawn != width:
        raw = emit(ops.convert, raw, dtype=unsigned)
    shifted = emit(ops.shift_right_logical, raw, constant(drawn - mantissa, unsigned, shape))
    one = np.asarray(1, dtype.numpy).view(unsigned.numpy)
    exponent = emit(ops.or_, shifted, constant(one, unsigned, shape))
    return emit(ops.sub, emit(ops.bitcast, exponent, dtype=dtype), constant(1, dtype, shape))


_FLOATS = {dtypes.f16: (10, 16), dtypes.bf16: (7, 16), dtypes.f32: (23, 32), dtypes.f64: (52, 64)}


def uniform_in(key: Tracer, shape: tuple[int, ...], dtype: DType, low: Any, high: Any) -> Tracer:
    """Floats in [low, high), which are numbers or tracers of `dtype`."""
    unit = unit_interval(key, shape, dtype)
    in_order = False
    if type(low) is not Tracer and type(high) is not Tracer:
        with np.errstate(over="ignore", invalid="ignore"):   # infinite beyond the dtype, or NaN
            low, high = (np.asarray(x, dtype.numpy) for x in (low, high))
            if low == 0 and high == 1:
                return unit
            # no float in [0, 1) times what is not negative, plus low, rounds to less than low
            in_order = low <= high

    def bound(x: Any) -> Tracer:
        return broadcast_to(x if type(x) is Tracer else constant(x, dtype), shape)

    low, high = bound(low), bound(high)
    made = emit(ops.add, emit(ops.mul, unit, emit(ops.sub, high, low)), low)
    return made if in_order else emit(ops.max, low, made)


@eager(static=("shape", "dtype"))
def _uniform(key: Any, bounds: Any, shape: Any, dtype: Any) -> Any:
    made = chosen_dtype("uniform", dtype, float, "float")
    low, high = [x if type(x) in (int, float) else convert(operand("uniform", x), made)
                 for x in bounds] or (0, 1)
    return uniform_in(typed_key("uniform", key), shape_of(shape), made, low, high)


@front_door
def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *,
            out_sharding: Any = None) -> Any:
    """Floats uniform in [minval, maxval).

    Args:
      key: one key. shape: of the result. dtype: a float dtype; the default float if None.
      minval, maxval: bounds, broadcast to the shape.
    Raises: ValueError for a dtype that is no float.
    """
    at_home("uniform", out_sharding)
    is_unit = type(minval) in (int, float) and type(maxval) in (int, float) and (
        minval == 0 and maxval == 1)
    return _uniform(key, () if is_unit else (minval, maxval), shape, dtype)


@eager(static=("shape",))
def _bernoulli(key: Any, p: Any, shape: Any) -> Any:
    x = promote("bernoulli", p)[0]
    if not x.value.type.dtype.is_float:
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {x.dtype}.")
    size = x.shape if shape is None else shape_of(shape)
    drawn = uniform_in(typed_key("bernoulli", key), size, x.value.type.dtype, 0, 1)
    return emit(ops.lt, drawn, broadcast_to(x, size))


@front_door
def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *,
              out_sharding: Any = None) -> Any:
    """Bools that are True with probability `p` (broadcast to `shape`)."""
    at_home("bernoulli", out_sharding)
    if mode not in ("low",):
        raise ValueError(f"bernoulli: mode must be 'low', got {mode!r}")
    return _bernoulli(key, p, shape)


# --- integers -------------------------------------------------------------------------------------

@eager(static=("shape", "dtype"))
def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *,
            out_sharding: Any = None) -> Any:
    """Integers uniform in [minval, maxval).

    The modulus of two draws, so that the bias is below 2**-bits of the dtype. Where minval >=
    maxval the result is minval.
    """
    at_home("randint", out_sharding)
    wanted = chosen_dtype("randint", dtype, int, "int")
    made = wanted if wanted.bits >= 32 else dtypes.i32       # narrow ones are drawn as 32-bit
    size, unsigned = shape_of(shape), _UNSIGNED[made.bits]
    info = _Range(wanted, made)
    beyond = False
    if isinstance(maxval, int) and maxval > info.max:
        beyond = True
    low, high = (_clipped(x, made, info, size) for x in (minval, maxval))
    past_end = emit(ops.gt, *_compared(maxval, info.max, size)) if type(maxval) is Tracer and \
        _wider(maxval, made) else constant(beyond, dtypes.bool_, size)
    split = emit(ops.random_split, typed_key("randint", key), shape=(2,))
    first, second = (emit(ops.reshape, emit(ops.slice, split, starts=(i,), limits=(i + 1,),
                                            strides=(1,)), shape=()) for i in (0, 1))
    upper, lower = (emit(ops.random_bits, k, bit_width=made.bits, shape=size)
                    for k in (first, second))
    span = emit(ops.convert, emit(ops.sub, high, low), dtype=unsigned)
    one = constant(1, unsigned, size)
    span = emit(ops.select, emit(ops.le, high, low), one, span)
    more = emit(ops.and_, past_end, emit(ops.gt, high, low))
    span = emit(ops.select, more, emit(ops.add, span, one), span)
    half = constant(2 ** (made.bits // 2), unsigned, size)
    power = emit(ops.rem, half, span)
    power = emit(ops.rem, emit(ops.mul, power, power), span)
    offset = emit(ops.add, emit(ops.mul, emit(ops.rem, upper, span), power),
                  emit(ops.rem, lower, span))
    offset = emit(ops.rem, offset, span)
    drawn = emit(ops.add, low, emit(ops.convert, offset, dtype=made))
    return convert(drawn, wanted)


class _Range:
    """What bounds are clipped to: the range of the wanted dtype, one past its end where it fits."""

    def __init__(self, wanted: DType, made: DType) -> None:
        info = np.iinfo(wanted.numpy)
        self.min, self.max = int(info.min), int(info.max) + (wanted is not made)


def _wider(x: Tracer, made: DType) -> bool:
    return np.iinfo(x.dtype).max > np.iinfo(made.numpy).max


def _compared(x: Tracer, top: int, size: tuple[int, ...]) -> tuple[Tracer, Tracer]:
    return broadcast_to(x, size), constant(top, x.value.type.dtype, size)


def _clipped(x: Any, made: DType, info: Any, size: tuple[int, ...]) -> Tracer:
    """A bound as `made` in shape `size`, held to the range of the dtype first."""
    if isinstance(x, int) and not isinstance(x, bool):
        return constant(min(max(x, int(info.min)), int(info.max)), made, size)
    t = operand("randint", x)
    if not t.value.type.dtype.is_integer:
        raise TypeError(f"randint: minval and maxval must be integers, got {t.dtype}")
    own = np.iinfo(t.dtype)
    if own.max > info.max or own.min < info.min:
        held = [max(min(int(v), int(own.max)), int(own.min)) for v in (info.min, info.max)]
        bounds = [constant(v, t.value.type.dtype, t.shape) for v in held]
        t = emit(ops.clamp, bounds[0], t, bounds[1])
    return broadcast_to(convert(t, made), size)


# --- order ----------------------------------------------------------------------------------------

def shuffled(key: Tracer, x: Tracer, axis: int) -> Tracer:
    """`x` with the elements along one axis each in random order (all slices differently)."""
    rounds = max(1, math.ceil(3 * math.log(max(1, x.size)) / math.log(2 ** 32 - 1)))
    for _ in range(rounds):
        pair = emit(ops.random_split, key, shape=(2,))
        key, sub = (emit(ops.reshape, emit(ops.slice, pair, starts=(i,), limits=(i + 1,),
                                           strides=(1,)), shape=()) for i in (0, 1))
        order = emit(ops.random_bits, sub, bit_width=32, shape=x.shape)
        _, x = emit(ops.sort, order, x, dimension=axis, n_keys=1, stable=True)
    return x


@eager(static=("axis", "independent"))
def _permuted(key: Any, x: Any, axis: int, independent: bool) -> Any:
    from ..numpy import take  # the public gather; random stands beside numpy

    one = typed_key("permutation", key)
    given = operand("permutation", x)
    if not given.ndim:
        if not given.value.type.dtype.is_integer:
            raise TypeError("x must be an integer or at least 1-dimensional")
        raise TypeError("permutation: a number of elements must be known; give a Python int")
    axis = axis % given.ndim
    if independent or given.ndim == 1:
        return shuffled(one, given, axis)
    n = given.shape[axis]
    index = emit(ops.iota, dtype=dtypes.i32, shape=(n,), dimension=0)
    return take(given, shuffled(one, index, 0), axis=axis)


@eager(static=("n",))
def _permuted_range(key: Any, n: int) -> Any:
    from ..arrays.operands import default_int

    index = emit(ops.iota, dtype=default_int(), shape=(n,), dimension=0)
    return shuffled(typed_key("permutation", key), index, 0)


@front_door
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *,
                out_sharding: Any = None) -> Any:
    """`x` with its slices along `axis` in random order; for an integer n, 0 … n-1 in random order.

    Args:
      key: one key. x: an array, or an int.
      independent: permute each vector along the axis differently.
    """
    at_home("permutation", out_sharding)
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return _permuted_range(key, int(x))
    return _permuted(key, x, axis, independent)
