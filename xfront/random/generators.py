"""Generators of bits: the three that are built in, and those that programs define.

Samplers use `draw`, `split_key` and `folded`, whatever generator their key belongs to. A
program's own generator is four functions of a key's words, which are traced where they are used.
Its keys have a key type of their own in the IR, which knows nothing of them but their shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir import dtypes as ir_dtypes
from xfront_ir import ops
from xfront_ir.ops.random import KEY_DTYPES

from ..base.dtypes import KEY_DTYPES as PUBLIC
from ..base.dtypes import KeyDType, define_key_dtype
from ..eager.operands import convert, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer


class Generator:
    """A generator of random bits; see `xfront.extend.random.define_prng_impl`.

    Fields: `name` and `tag`, by which keys are printed; `key_shape`, the shape of a key's uint32
    words; the functions `seed`, `split`, `random_bits` and `fold_in`, None for built-in generators.
    """

    __slots__ = ("dtype", "fold_in", "key_shape", "name", "random_bits", "seed", "split", "tag")

    def __init__(self, dtype: KeyDType, tag: str, seed: Callable | None = None,
                 split: Callable | None = None, random_bits: Callable | None = None,
                 fold_in: Callable | None = None) -> None:
        self.dtype, self.tag, self.name, self.key_shape = dtype, tag, dtype.impl, dtype.words
        self.seed, self.split = seed, split
        self.random_bits, self.fold_in = random_bits, fold_in

    def __repr__(self) -> str:
        return f"PRNGImpl(name={self.name!r}, tag={self.tag!r}, key_shape={self.key_shape})"

    def __reduce__(self) -> tuple:
        if self.seed is not None:
            raise TypeError(f"{self!r} consists of functions and cannot be pickled")
        return built_in, (self.name,)


_BUILT_IN = {tag: Generator(PUBLIC[tag], tag) for tag in KEY_DTYPES}
_DEFINED: dict[str, Generator] = {}


def built_in(name: str) -> Generator:
    """A generator of this package, by its full name."""
    return next(g for g in _BUILT_IN.values() if g.name == name)


def define(key_shape: tuple[int, ...], seed: Callable, split: Callable, random_bits: Callable,
           fold_in: Callable, name: str, tag: str) -> Generator:
    """A new generator made of these functions, with a key type of its own."""
    own, n = tag if tag.isidentifier() else "custom", 0
    while own in PUBLIC or f"key<{own}>" in ir_dtypes.BY_NAME:
        n += 1
        own = f"{tag if tag.isidentifier() else 'custom'}{n}"
    made = Generator(define_key_dtype(own, name, key_shape), tag, seed, split, random_bits, fold_in)
    ir_dtypes.key_dtype(own, key_shape)
    _DEFINED[own] = made
    return made


def generator(tag: str) -> Generator:
    """The generator for the keys of a key type."""
    return _BUILT_IN.get(tag) or _DEFINED[tag]


def generator_of(key: Tracer) -> Generator:
    """The generator that a key belongs to."""
    return generator(key.value.type.dtype.implementation)


# --- what keys are used for -----------------------------------------------------------------

def key_from(tag: str, seed: Tracer) -> Tracer:
    """A key from an integer."""
    own = generator(tag)
    if own.seed is None:
        return emit(ops.random_seed, seed, impl=tag)
    return _wrapped(own, "seed", own.seed(seed), seed.shape)


def split_key(key: Tracer, shape: tuple[int, ...]) -> Tracer:
    """New keys of the given shape from one."""
    own = generator_of(key)
    if own.split is None:
        return emit(ops.random_split, key, shape=shape)
    return _wrapped(own, "split", own.split(emit(ops.random_unwrap, key), shape), shape)


def folded(key: Tracer, data: Tracer) -> Tracer:
    """A new key from a key and a uint32."""
    own = generator_of(key)
    if own.fold_in is None:
        return emit(ops.random_fold_in, key, data)
    return _wrapped(own, "fold_in", own.fold_in(emit(ops.random_unwrap, key), data), ())


def draw(key: Tracer, width: int, shape: tuple[int, ...]) -> Tracer:
    """Unsigned integers of `width` bits from one key."""
    own = generator_of(key)
    if own.random_bits is None:
        return emit(ops.random_bits, key, bit_width=width, shape=shape)
    made = operand(own.name, own.random_bits(emit(ops.random_unwrap, key), width, shape))
    wanted = ir_dtypes.named(f"u{width}")
    if made.shape != shape or made.value.type.dtype is not wanted:
        raise TypeError(f"{own.name}: random_bits of {width} bits and shape {shape} returned "
                        f"{made.value.type}, but must return {wanted} of that shape")
    return made


def _wrapped(own: Generator, role: str, words: Any, shape: tuple[int, ...]) -> Tracer:
    made = operand(own.name, words)
    whole = (*shape, *own.key_shape)
    if made.shape != whole or not made.value.type.dtype.is_integer:
        raise TypeError(f"{own.name}: {role} returned {made.value.type}, but must return u32 of "
                        f"shape {whole}")
    return emit(ops.random_wrap, convert(made, ir_dtypes.u32), impl=own.dtype.tag)


def threefry_key(key: Tracer) -> Tracer:
    """The key itself if it is a threefry key, else a threefry key made of bits drawn from it."""
    if generator_of(key) is _BUILT_IN["fry"]:
        return key
    return emit(ops.random_wrap, draw(key, 32, (2,)), impl="fry")
