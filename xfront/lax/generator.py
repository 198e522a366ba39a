"""XLA's random generators. `xfront.random` has keys and distributions."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.dtypes import from_numpy
from xfront_ir.ops.random import UNIFORM_DTYPES

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShapeLike, ShardingLike
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import array_like, operand, shape_of
from ..tracing.trace import concretely, emit, state
from ..tracing.tracer import Tracer
from ..values.arguments import at_home

_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


class RandomAlgorithm(enum.IntEnum):
    """What `rng_bit_generator` computes: the platform's own algorithm, threefry or Philox.

    >>> key = jnp.array([1, 2, 3, 4], dtype="uint32")
    >>> state, bits = lax.rng_bit_generator(key, (2,), algorithm=lax.RandomAlgorithm.RNG_PHILOX)
    >>> bits
    Array([ 512747620, 1298009047], dtype=uint32)
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


_NAMES = {RandomAlgorithm.RNG_DEFAULT: "default", RandomAlgorithm.RNG_PHILOX: "philox"}


def rng_bit_generator(key: ArrayLike, shape: ShapeLike, dtype: DTypeLike = np.uint32,
                      algorithm: int | RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT, *,
                      out_sharding: ShardingLike = None
                      ) -> tuple[Array, Array]:
    """The next state and an array of random bits.

    Args:
      key: the state, uint32[4] or uint64[2].
      shape: the shape of the bits.
      dtype: uint8, uint16, uint32 or uint64.
      algorithm: a RandomAlgorithm. Threefry is in `xfront.random`, whose bits do not depend on the
        platform; here it is not available.
    Returns: (state, bits). The bits of RNG_DEFAULT depend on the platform.
    Raises: TypeError for other states and dtypes; ValueError for an invalid algorithm;
      NotImplementedError for RNG_THREE_FRY.
    Source: StableHLO spec, rng_bit_generator; Salmon et al., SC 2011.

    >>> lax.rng_bit_generator(jnp.zeros(4, "uint32"), (2,))[1].dtype
    dtype('uint32')
    """
    try:
        chosen = _NAMES.get(RandomAlgorithm(algorithm))
    except ValueError:
        raise ValueError("rng_bit_generator: algorithm must be a lax.RandomAlgorithm, got "
                         f"{algorithm!r}") from None
    if chosen is None:
        raise NotImplementedError("rng_bit_generator: RNG_THREE_FRY is not available; "
                                  "xfront.random.bits draws with threefry")
    found = requested_dtype("rng_bit_generator", dtype)
    if found.name not in _UNSIGNED:
        raise TypeError(f"rng_bit_generator: unsupported dtype {found.name}; dtype must be one of "
                        f"{', '.join(_UNSIGNED)}")
    state, bits = _bits(key, tuple(shape_of(shape)), found.name, chosen)
    return state, _laid(bits, out_sharding)


@takes_out_sharding("rng_bit_generator")
def _laid(bits: Any, out_sharding: ShardingLike) -> Any:
    at_home("rng_bit_generator", out_sharding)
    return bits


@eager(static=("shape", "dtype", "algorithm"))
def _bits(key: Any, shape: tuple[int, ...], dtype: str, algorithm: str) -> Any:
    given = operand("rng_bit_generator", key)
    if (given.dtype.name, given.shape) not in (("uint32", (4,)), ("uint64", (2,))):
        raise TypeError("rng_bit_generator: the state must be uint32[4] or uint64[2], got "
                        f"{given.value.type}")
    return tuple(emit(ops.rng_bit_generator, given, shape=shape,
                      dtype=from_numpy(np.dtype(dtype)), algorithm=algorithm))


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: ShapeLike) -> Array:
    """Random numbers from a generator whose state belongs to the program: each use draws new ones.

    Args:
      a, b: scalars of the same dtype: float16, bfloat16, float32, float64, or integers of 32 or 64
        bits.
      shape: the shape of the result.
    Returns: numbers in [a, b) of that dtype; for integers with b <= a their range is not defined.
      They depend on how often the program ran before and on the platform, and two programs may
      draw the same: `xfront.random.uniform` is for numbers that are to be independent or
      reproducible. There is no derivative, and no batch of bounds.
    Raises: ValueError where a and b are not scalars, differ in dtype or have another dtype.
    Source: StableHLO spec, rng.

    >>> lax.rng_uniform(0., 1., (2,)).shape
    (2,)
    """
    a, b = array_like("rng_uniform", a, "a"), array_like("rng_uniform", b, "b")
    sizes, current = shape_of(shape), state.current
    if type(a) is Tracer or type(b) is Tracer or (current is not None and current.staging):
        return _drawn(a, b, sizes)
    with concretely():               # a value that Python reads is the one that is used
        return _drawn(a, b, sizes)


@eager(static=("shape",))
def _drawn(a: Any, b: Any, shape: tuple[int, ...]) -> Any:
    a, b = operand("rng_uniform", a), operand("rng_uniform", b)
    if a.dtype != b.dtype:
        raise ValueError(f"rng_uniform: a and b must have the same dtype, got {a.dtype} and "
                         f"{b.dtype}")
    if a.shape or b.shape:
        raise ValueError(f"rng_uniform: a and b must be scalars, got shapes {a.shape} and "
                         f"{b.shape}")
    if a.value.type.dtype not in UNIFORM_DTYPES:
        raise ValueError("rng_uniform: the dtype of a and b must be one of "
                         f"{', '.join([str(d.numpy) for d in UNIFORM_DTYPES])}, got {a.dtype}")
    return emit(ops.rng_uniform, a, b, shape=shape)


__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]
