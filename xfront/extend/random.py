"""Generators of random bits for libraries: the built-in ones, and a function to define others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir import dtypes, ops

from ..base.on_demand import shown as _shown
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager
from ..eager.operands import convert, index_of, operand
from ..eager.primitives import named
from ..numpy import asarray, concatenate, reshape
from ..random.generators import Generator, built_in, define
from ..random.keys import seeded, seeded_with
from ..tracing.trace import emit
from ..transforms.vmap import vmap

threefry_prng_impl = built_in("threefry2x32")
rbg_prng_impl = built_in("rbg")
unsafe_rbg_prng_impl = built_in("unsafe_rbg")
threefry2x32_p = named("threefry2x32_p")


@front_door
def define_prng_impl(*, key_shape: tuple[int, ...], seed: Callable[[Any], Any],
                     split: Callable[[Any, tuple[int, ...]], Any],
                     random_bits: Callable[[Any, int, tuple[int, ...]], Any],
                     fold_in: Callable[[Any, Any], Any], name: str = "<unnamed>", tag: str = "?"
                     ) -> Generator:
    """A generator made of functions, which are traced where its keys are used.

    Args:
      key_shape: shape of the uint32 words of a key.
      seed: function from an integer scalar to the words of a key.
      split: function from (words, shape) to words of shape `shape + key_shape`.
      random_bits: function from (words, width, shape) to unsigned integers of that shape and of a
        width of 8, 16, 32 or 64 bits.
      fold_in: function from (words, uint32 scalar) to words.
      name, tag: texts with which keys and their dtype are printed. A tag that is in use already, or
        is not an identifier, gets a number in the name of the dtype.
    Returns: a generator, for the argument `impl` of `random.key`, `random.PRNGKey` and
      `random.wrap_key_data`.
    Raises: TypeError, when a key is used, where a function returns another shape or dtype.
    """
    shape = tuple(index_of(n, "define_prng_impl: key_shape") for n in key_shape)
    for role, function in (("seed", seed), ("split", split), ("random_bits", random_bits),
                           ("fold_in", fold_in)):
        if not callable(function):
            raise TypeError(f"define_prng_impl: {role} must be a function, got {function!r}")
    return define(shape, seed, split, random_bits, fold_in, name, tag)


@front_door
def seed_with_impl(impl: Any, seed: Any) -> Any:
    """A typed key of a generator from an integer scalar, as `random.key(seed, impl=impl)`."""
    return seeded_with(seed, impl)


@front_door
def random_seed(seeds: Any, impl: Any) -> Any:
    """Typed keys of a generator from integers, one for each.

    Args:
      seeds: integers of any shape.
      impl: a generator, such as `define_prng_impl` returns.
    Returns: keys of the shape of `seeds`.
    Raises: TypeError for another dtype, or where `impl` is not a generator.
    """
    if not isinstance(impl, Generator):
        raise TypeError(f"random_seed: impl must be a PRNGImpl of this module, got {impl!r}")
    x, tag = asarray(seeds), impl.dtype.tag
    if x.dtype.kind not in "iu":
        raise TypeError(f"random_seed: seeds must be integers, got {x.dtype}")
    if impl.seed is None or not x.ndim:
        return seeded(x, tag)
    return reshape(vmap(lambda seed: seeded(seed, tag))(reshape(x, -1)), x.shape)


@eager
def threefry_2x32(keypair: Any, count: Any) -> Any:
    """The cipher threefry 2x32 of an array of counters.

    Args:
      keypair: the two uint32 words of a key, a pair of scalars or an array of shape (2,).
      count: uint32 array of any shape. The first half of its elements are the first words of the
        cipher's blocks, the second half their second words; an odd number of elements is padded
        with a 0.
    Returns: uint32 array of the shape of `count`.
    Raises: TypeError for other dtypes or shapes.
    Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
    """
    words = [operand("threefry_2x32", w) for w in keypair] if isinstance(
        keypair, tuple | list) else list(operand("threefry_2x32", keypair))
    x = operand("threefry_2x32", count)
    if len(words) != 2 or any(w.shape or w.value.type.dtype is not dtypes.u32 for w in words) or (
            x.value.type.dtype is not dtypes.u32):
        raise TypeError("threefry_2x32 takes the two words of a key and counters, all uint32, got "
                        f"{', '.join(str(w.value.type) for w in (*words, x))}")
    flat, half = emit(ops.reshape, x, shape=(x.size,)), -(-x.size // 2)
    if x.size % 2:
        zero = convert(flat[:1] * 0, dtypes.u32)
        flat = concatenate([flat, zero])
    keys = [emit(ops.broadcast_in_dim, w, shape=(half,), dims=()) for w in words]
    made = concatenate(emit(ops.threefry2x32, *keys, flat[:half], flat[half:]))
    return emit(ops.reshape, made[:x.size], shape=x.shape)


__all__ = ["define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p",
           "threefry_2x32", "threefry_prng_impl", "unsafe_rbg_prng_impl"]
__dir__ = _shown(globals())
