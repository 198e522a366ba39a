"""Random bits and uniform distributions: bits, uniform, randint, bernoulli, rademacher."""

from __future__ import annotations

from typing import Any, NoReturn

import ml_dtypes

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType, from_numpy

from ..base.dtypes import iinfo, requested_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike, ShardingLike
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import (
    broadcast_to,
    convert,
    default_float,
    default_int,
    operand,
    promote,
    shape_of,
)
from ..numpy.extremes import maximum
from ..numpy.ufuncs import where
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from ..values.arguments import at_home
from .generators import draw
from .keys import typed_key
from .parameters import chosen_dtype, constant, new_keys, size_of

_UNSIGNED = {8: dtypes.u8, 16: dtypes.u16, 32: dtypes.u32, 64: dtypes.u64}


@eager(static=("shape", "dtype", "out_sharding"))
def bits(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
         out_sharding: ShardingLike = None) -> Array:
    """Uniform random bits as unsigned integers of the given shape: of uint32 by default, or of
    uint64 where 64-bit dtypes are on.

    >>> random.bits(random.key(0), (2,)).dtype
    dtype('uint32')
    """
    at_home("bits", out_sharding)
    unsigned = np.uint64 if default_int() is dtypes.i64 else np.uint32
    width = chosen_dtype("bits", dtype, unsigned, "uint").bits
    if width < 8:
        raise ValueError(f"bits: dtype must have at least 8 bits, got {width}")
    return draw(typed_key("bits", key), width, shape_of(shape))


# --- uniform --------------------------------------------------------------------------------------

def refuse_dtype(dtype: DType) -> NoReturn:
    """Raises: TypeError, which names the dtype."""
    raise TypeError(f"random floats of dtype {dtype.numpy.name} are not supported; draw wider "
                    "floats and convert them with astype")


def unit_interval(key: Tracer, shape: tuple[int, ...], dtype: DType) -> Tracer:
    """Floats in [0, 1): random bits as the mantissa of a number in [1, 2), minus one."""
    if dtype not in MANTISSA:
        refuse_dtype(dtype)
    mantissa, width = MANTISSA[dtype]
    drawn = 8 if mantissa < 8 else width       # bf16 needs 7 random bits only
    raw = draw(key, drawn, shape)
    unsigned = _UNSIGNED[width]
    if drawn != width:
        raw = emit(ops.convert, raw, dtype=unsigned)
    shifted = emit(ops.shift_right_logical, raw, constant(drawn - mantissa, unsigned, shape))
    one = np.asarray(1, dtype.numpy).view(unsigned.numpy)
    exponent = shifted | constant(one, unsigned, shape)
    return emit(ops.bitcast, exponent, dtype=dtype) - 1


MANTISSA = {dtypes.f16: (10, 16), dtypes.bf16: (7, 16), dtypes.f32: (23, 32),
            dtypes.f64: (52, 64)}
for _name in "e3m4 e4m3 e4m3fn e4m3fnuz e4m3b11fnuz e5m2 e5m2fnuz".split():
    MANTISSA[from_numpy(np.dtype(getattr(ml_dtypes, f"float8_{_name}")))] = (int(_name[3]), 8)
"""(bits of the mantissa, bits in all) of the float dtypes that can be drawn."""



def uniform_in(key: Tracer, shape: tuple[int, ...], dtype: DType, low: Any, high: Any) -> Any:
    """Floats in [low, high), which are numbers or tracers of `dtype`."""
    unit = unit_interval(key, shape, dtype)
    in_order = False
    if type(low) is not Tracer and type(high) is not Tracer:
        with np.errstate(over="ignore", invalid="ignore"):   # may be infinite or NaN in the dtype
            low, high = (np.asarray(x, dtype.numpy) for x in (low, high))
            if low == 0 and high == 1:
                return unit
            # otherwise the compiler may merge `low` with the -1 that ends `unit`, and round it away
            in_order = low == 0 <= high

    shapes = [x.shape for x in (low, high) if type(x) is Tracer]
    size_of("uniform", shape, *shapes)

    def bound(x: Any) -> Tracer:
        return broadcast_to(x if type(x) is Tracer else constant(x, dtype), shape)

    low, high = bound(low), bound(high)
    made = unit * (high - low) + low
    return made if in_order else maximum(low, made)


@eager(static=("shape", "dtype"))
def _uniform(key: Any, bounds: Any, shape: Any, dtype: Any) -> Any:
    made = chosen_dtype("uniform", dtype, float, "float")
    low, high = [x if type(x) in (int, float) else convert(operand("uniform", x), made)
                 for x in bounds] or (0, 1)
    return uniform_in(typed_key("uniform", key), shape_of(shape), made, low, high)


@front_door
@takes_out_sharding("uniform")
def uniform(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None,
            minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0, *, out_sharding: ShardingLike = None
           ) -> Array:
    """Floats uniform in [minval, maxval).

    Args:
      key: a random key.
      shape: shape of the result.
      dtype: a float dtype; the default float if None.
      minval, maxval: bounds, broadcast to the shape.
    Raises: ValueError for a dtype that is not a float.

    >>> random.uniform(random.key(0), (2, 3)).shape
    (2, 3)
    """
    at_home("uniform", out_sharding)
    is_unit = type(minval) in (int, float) and type(maxval) in (int, float) and (
        minval == 0 and maxval == 1)
    return _uniform(key, () if is_unit else (minval, maxval), shape, dtype)


@eager(static=("shape", "high"))
def _bernoulli(key: Any, p: Any, shape: Any, high: bool) -> Any:
    x = promote("bernoulli", p)[0]
    made = x.value.type.dtype
    if not made.is_float:
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {x.dtype}.")
    one, size = typed_key("bernoulli", key), size_of("bernoulli", shape, x.shape)
    p = broadcast_to(x, size)
    if not high:
        return uniform_in(one, size, made, 0, 1) < p
    drawn = uniform_in(one, (2, *size), made, 0, 1)
    first, last = drawn[0], drawn[1]
    return last * 2.0 ** -MANTISSA[made][0] < p - first


@front_door
@takes_out_sharding("bernoulli")
def bernoulli(key: ArrayLike, p: ArrayLike = 0.5, shape: ShapeLike | None = None, mode: str = "low",
              *, out_sharding: ShardingLike = None) -> Array:
    """Bools that are True with probability `p`.

    Args:
      key: a random key.
      p: floats.
      shape: shape of the result, to which `p` broadcasts; its own if None.
      mode: "low" compares one uniform number with `p`, so that for float32 the least probability is
        2**-23; "high" draws twice as many bits.
    Raises: TypeError where `p` has no float dtype; ValueError for another mode, or where the
      shapes do not match.

    >>> random.bernoulli(random.key(0), jnp.array([0., 1.]))
    Array([False,  True], dtype=bool)
    """
    at_home("bernoulli", out_sharding)
    if mode not in ("low", "high"):
        raise ValueError(f"bernoulli: got mode={mode!r}, expected 'high' or 'low'")
    return _bernoulli(key, p, shape, mode == "high")


@eager(static=("shape", "dtype", "out_sharding"))
def rademacher(key: ArrayLike, shape: ShapeLike = (), dtype: DTypeLike | None = None, *,
               out_sharding: ShardingLike = None) -> Array:
    """Signs: -1 and 1 with equal probability.

    Args:
      key: a random key.
      shape: shape of the result.
      dtype: any numeric dtype or bool; the default integer if None. Unsigned integers wrap around,
        and bools are all True.

    >>> random.rademacher(random.key(0), (3,)).dtype
    dtype('int32')
    """
    at_home("rademacher", out_sharding)
    wanted = from_numpy(requested_dtype("rademacher", int if dtype is None else dtype))
    size = shape_of(shape)
    drawn = uniform_in(typed_key("rademacher", key), size, default_float(), 0, 1)
    up = drawn < 0.5
    made = default_int()
    return convert(where(up, constant(1, made, size), -1), wanted)


# --- integers -------------------------------------------------------------------------------------

@eager(static=("shape", "dtype", "out_sharding"))
def randint(key: ArrayLike, shape: ShapeLike, minval: ArrayLike, maxval: ArrayLike,
            dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None) -> Array:
    """Integers uniform in [minval, maxval).

    Two draws are reduced modulo the span, so the bias is below 2**-bits of the dtype. Where
    minval >= maxval the result is minval; bounds outside the range of the dtype mean its ends.
    Bounds that are floats lose their fraction, so 1e6 may be written for a million.

    >>> random.randint(random.key(0), (3,), 0, 10).dtype
    dtype('int32')
    """
    at_home("randint", out_sharding)
    wanted = chosen_dtype("randint", dtype, int, "int")
    made = wanted if wanted.bits >= 32 else dtypes.i32       # narrow dtypes are drawn in 32 bits
    size, unsigned = shape_of(shape), _UNSIGNED[made.bits]
    info = _Range(wanted, made)
    low = _clipped(minval, made, iinfo(wanted.numpy), size)
    high = _clipped(maxval, made, info, size)
    past_end = _past_end(maxval, made, info, size)
    upper, lower = (draw(k, made.bits, size) for k in new_keys(typed_key("randint", key)))
    span = emit(ops.convert, high - low, dtype=unsigned)
    one = constant(1, unsigned, size)
    span = where(high <= low, one, span)
    more = past_end & (high > low)
    span = where(more, span + one, span)
    half = constant(2 ** (made.bits // 2), unsigned, size)
    power = emit(ops.rem, half, span)
    power = emit(ops.rem, power * power, span)
    offset = emit(ops.rem, upper, span) * power + emit(ops.rem, lower, span)
    offset = emit(ops.rem, offset, span)
    drawn = low + emit(ops.convert, offset, dtype=made)
    return convert(drawn, wanted)


class _Range:
    """The range to which bounds are clipped: that of the wanted dtype, and one more above if the
    dtype in which numbers are drawn has it."""

    def __init__(self, wanted: DType, made: DType) -> None:
        info = iinfo(wanted.numpy)
        self.min, self.max = int(info.min), int(info.max) + (wanted is not made)


def _past_end(maxval: Any, made: DType, info: Any, size: tuple[int, ...]) -> Tracer:
    """A mask of the places where `maxval` exceeds the greatest number of dtype `made`, so that the
    exclusive bound cannot be written in it. All False if `made` is wider than the wanted dtype."""
    if info.max < iinfo(made.numpy).max:
        return constant(False, dtypes.bool_, size)
    if type(maxval) is Tracer:
        own = maxval.value.type.dtype
        if own.is_float:                              # info.max itself may not be a float
            wide = _wide(maxval)
            end = constant(float(info.max + 1), wide.value.type.dtype, size)
            return broadcast_to(wide, size) >= end
        if own.is_integer and iinfo(own.numpy).max > info.max:
            top = constant(info.max, own, size)
            return broadcast_to(maxval, size) > top
    return constant(isinstance(maxval, int) and maxval > info.max, dtypes.bool_, size)


def _wide(x: Tracer) -> Tracer:
    """A float of 32 bits at least, which can hold one past the end of every integer dtype."""
    return convert(x, dtypes.f32) if x.value.type.dtype.bits < 32 else x


def _clipped(x: Any, made: DType, info: Any, size: tuple[int, ...]) -> Tracer:
    """A bound in dtype `made` and shape `size`, clipped to the range `info` first."""
    if isinstance(x, int) and not isinstance(x, bool):
        return constant(min(max(x, int(info.min)), int(info.max)), made, size)
    t = operand("randint", x)
    size_of("randint", size, t.shape)
    if t.value.type.dtype is dtypes.bool_:
        t = convert(t, made)
    if t.value.type.dtype.is_float:                   # truncates, and saturates at made's ends
        t = convert(_wide(t), made)
    if not t.value.type.dtype.is_integer:
        raise TypeError(f"randint: minval and maxval must be integers or floats, got {t.dtype}")
    own = iinfo(t.dtype)
    if own.max > info.max or own.min < info.min:
        held = [max(min(int(v), int(own.max)), int(own.min)) for v in (info.min, info.max)]
        bounds = [constant(v, t.value.type.dtype, t.shape) for v in held]
        t = emit(ops.clamp, bounds[0], t, bounds[1])
    return broadcast_to(convert(t, made), size)
