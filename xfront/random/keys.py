"""Random keys: made, split, folded into. Typed (`key`) and raw (`PRNGKey`, words as uint32)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NewType, TypeGuard

import numpy as np
from xfront_ir import dtypes as ir_dtypes
from xfront_ir import ops

from ..base.config import config, enable_custom_prng, legacy_prng_key, random_seed_offset
from ..base.dtypes import KeyDType
from ..base.dtypes import key_dtype as named_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager
from ..eager.operands import operand, shape_of
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from ..values.keys import KeyArray
from .generators import Generator, folded, generator, key_from, split_key

Key = NewType("Key", Array)
"""The type of a typed key, for annotations; at run time `Key(x)` is x, as of any `NewType`."""

Implementation = str | Generator | KeyDType
"""What names a random implementation: its name, the object itself, or the dtype of its keys."""


def _tag(impl: Implementation | None) -> str:
    """Short name of an implementation: fry, rbg, urbg. Raises: ValueError."""
    if impl is None:
        impl = config.jax_default_prng_impl
    if isinstance(impl, Generator):
        return impl.dtype.tag
    if isinstance(impl, KeyDType):
        return impl.tag
    return named_dtype(str(impl)).tag


@eager(static=("tag",))
def seeded(seed: Any, tag: str) -> Any:
    """A typed key from an integer; built-in generators also take an array of integers."""
    return key_from(tag, operand("key", seed))


def _seed(seed: Any) -> Any:
    if isinstance(seed, bool | np.bool_):
        seed = int(seed)
    if isinstance(seed, int) and not -(2 ** 63) <= seed < 2 ** 63:
        raise OverflowError(f"PRNG key seed {seed} does not fit in a signed 64-bit integer; larger "
                            "seeds can be given as numpy.uint64")
    if isinstance(seed, int):
        wrapped = (seed + 2 ** 63) % 2 ** 64 - 2 ** 63
        if not config.jax_enable_x64:                 # seeds have 32 bits
            wrapped = (seed + 2 ** 31) % 2 ** 32 - 2 ** 31 if not (
                -(2 ** 31) <= seed < 2 ** 31) else seed
            return np.int32(wrapped)
        return np.int64(wrapped)
    dtype = getattr(seed, "dtype", None)
    if dtype is None or dtype.kind not in "iu":
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    if np.shape(seed) != () if type(seed) is not Tracer else seed.shape != ():
        raise TypeError(f"PRNGKey accepts a scalar seed, but was given an array of shape "
                        f"{seed.shape} != (). Use vmap for batching")
    return seed


@front_door
def key(seed: int | ArrayLike, *, impl: Implementation | None = None,
        dtype: DTypeLike | None = None) -> Array:
    """A typed random key from an integer.

    Args:
      seed: an integer scalar.
      impl: "threefry2x32", "rbg" or "unsafe_rbg", or an implementation that
        `extend.random.define_prng_impl` returned; None for the option `jax_default_prng_impl`.
      dtype: a key dtype, which may be given instead of `impl`.
    Returns: key array of shape ().
    Raises: TypeError where seed is not an integer scalar; OverflowError where it is a Python int
      that does not fit in 64 bits with a sign; ValueError for an unknown impl, or where both impl
      and dtype are given.

    >>> xfront.random.key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    return seeded_with(seed, _either("key", impl, dtype))


def seeded_with(seed: Any, impl: Any) -> Any:
    """A typed key of an implementation; the option `jax_random_seed_offset` is added to `seed`."""
    seed = _seed(seed)
    offset = random_seed_offset.value
    if offset:
        with np.errstate(over="ignore"):             # the sum wraps in the seed's dtype
            seed = seed + _seed(offset).astype(seed.dtype)
    return seeded(seed, _tag(impl))


def _either(name: str, impl: Any, dtype: Any) -> Any:
    if dtype is None:
        return impl
    if impl is not None:
        raise ValueError(f"{name}: impl={impl!r} and dtype={dtype!r} cannot both be given, since "
                         "each names the generator of the keys")
    if not isinstance(dtype, KeyDType):
        raise ValueError(f"{name}: dtype must be a key dtype, such as that of random.key(0), got "
                         f"{dtype!r}")
    return dtype


@front_door
def key_dtype(impl_spec: Implementation | None = None) -> KeyDType:
    """The dtype of keys of an implementation.

    Args:
      impl_spec: an implementation as in `key`; None for the default one.
    Raises: ValueError where there is no implementation of that name.

    >>> xfront.random.key_dtype("rbg")
    key<rbg>
    """
    return named_dtype(_tag(impl_spec))


@front_door
def PRNGKey(seed: int | ArrayLike, *, impl: Implementation | None = None) -> Array:
    """A raw random key from an integer: uint32 words, shape (2,) for threefry. With the
    option `jax_enable_custom_prng` the key is typed.

    >>> random.PRNGKey(0)
    Array([0, 0], dtype=uint32)
    """
    made = key(seed, impl=impl)
    return made if enable_custom_prng.value else key_data(made)


@eager
def key_data(keys: ArrayLike) -> Array:
    """The words of keys: uint32 of shape `keys.shape + (2,)` (raw keys as they are).

    >>> random.key_data(random.key(7))
    Array([0, 7], dtype=uint32)
    """
    x = operand("key_data", keys)
    if not x.value.type.dtype.is_key:
        _check_raw("key_data", x)
        _check_legacy("key_data")
        return x
    return emit(ops.random_unwrap, x)


@eager(static=("tag",))
def _wrapped(words: Any, tag: str) -> Any:
    x, dtype = operand("wrap_key_data", words), named_dtype(tag)
    t, n = x.value.type, len(dtype.words)
    if t.dtype is not ir_dtypes.u32 or t.ndim < n or t.shape[t.ndim - n:] != dtype.words:
        raise TypeError(f"wrap_key_data: key_data for {dtype} must be uint32 with a shape that "
                        f"ends in {dtype.words}, got {t}")
    return emit(ops.random_wrap, x, impl=tag)


@front_door
def wrap_key_data(key_bits_array: ArrayLike, *, impl: Implementation | None = None,
                  dtype: DTypeLike | None = None) -> Array:
    """Typed keys from their words, the inverse of `key_data`.

    Args:
      key_bits_array: a uint32 array whose last axes are those of the words of a key.
      impl, dtype: as in `key`.
    Raises: TypeError for words of another dtype or shape; ValueError for an unknown impl.

    >>> random.wrap_key_data(jnp.array([0, 7], jnp.uint32)) == random.key(7)
    Array(True, dtype=bool)
    """
    return _wrapped(key_bits_array, _tag(_either("wrap_key_data", impl, dtype)))


@front_door
def key_impl(keys: ArrayLike) -> str | Generator:
    """The `impl` with which `key` makes keys like these: a name, or the object that
    `extend.random.define_prng_impl` gave. Raises: TypeError where they are not keys.

    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    if not is_typed(keys):
        _check_words(keys)
        return named_dtype(_tag(None)).impl
    own = generator(keys.dtype.tag)
    return own.name if own.seed is None else own


@eager
def _check_words(keys: Any) -> Any:
    x = operand("key_impl", keys)
    _check_raw("key_impl", x)
    return ()


def is_typed(keys: Any) -> TypeGuard[KeyArray]:
    """Whether keys are typed, not raw words."""
    return type(keys) is KeyArray or (type(keys) is Tracer and keys.value.type.dtype.is_key)


def _check_raw(name: str, x: Tracer) -> None:
    t = x.value.type
    words = ir_dtypes.named(f"key<{_tag(None)}>").physical
    if t.dtype is not ir_dtypes.u32 or t.shape[t.ndim - len(words):] != words:
        raise TypeError(f"{name}: key must be a typed key array (random.key) or uint32 words of "
                        f"shape {words} (random.PRNGKey), got {t}")


def _check_legacy(name: str) -> None:
    """Warn of raw words, or refuse them, as the option `jax_legacy_prng_key` says."""
    level = legacy_prng_key.value
    if level == "allow":
        return
    message = (f"{name}: a legacy uint32 key array was passed; make keys with random.key, or set "
               "jax_legacy_prng_key to 'allow'")
    if level == "error":
        raise ValueError(message)
    warnings.warn(message, UserWarning, stacklevel=2)


def typed_key(name: str, keys: Any, scalar: bool = True) -> Tracer:
    """The tracer of typed keys; raw words are wrapped.

    Raises: TypeError where it is not a key; ValueError where one key is wanted and several came.
    """
    x = operand(name, keys)
    if not x.value.type.dtype.is_key:
        _check_raw(name, x)
        _check_legacy(name)
        x = emit(ops.random_wrap, x, impl=_tag(None))
    if scalar and x.ndim:
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape "
                         f"{x.shape} != (). Use vmap for batching.")
    return x


def _same_form(made: Any, keys: Any) -> Any:
    return made if is_typed(keys) else emit(ops.random_unwrap, made)


@eager(static=("num",))
def _split(keys: Any, num: tuple[int, ...]) -> Any:
    return _same_form(split_key(typed_key("split", keys), num), keys)


@front_door
def split(key: ArrayLike, num: int | Sequence[int] = 2) -> Array:
    """New, independent keys from one.

    Args:
      key: a key, typed or raw.
      num: the number of new keys, an int, or their shape.
    Returns: keys of shape (num,), or of that shape, typed or raw as `key` is.

    >>> random.split(random.key(0), 3).shape
    (3,)
    """
    return _split(key, shape_of(num, "num"))


@front_door
def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """A new key from a key and an integer scalar.

    Raises: OverflowError where a Python number is not in [0, 2**32); TypeError for an array.

    >>> random.fold_in(random.key(0), 7).dtype
    key<fry>
    """
    if type(data) is int:
        if not 0 <= data < 2 ** 32:
            raise OverflowError(f"fold_in: Python integer {data} out of bounds for uint32")
        data = np.uint32(data)
    return _fold_in(key, data)


@eager
def _fold_in(key: Any, data: Any) -> Any:
    x = operand("fold_in", data)
    if x.ndim:
        raise TypeError(f"fold_in accepts a scalar, but was given an array of shape {x.shape} != "
                        "(). Use vmap for batching.")
    made = folded(typed_key("fold_in", key), emit(ops.convert, x, dtype=ir_dtypes.u32))
    return _same_form(made, key)


@eager
def clone(key: ArrayLike) -> Array:
    """The same key as a new value, for programs that are checked for key reuse.

    >>> random.clone(random.key(0)).dtype
    key<fry>
    """
    return emit(ops.copy, operand("clone", key))
