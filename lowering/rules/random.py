"""Lowering of the random ops: threefry as 20 inline rounds, ops on keys as Functions of words."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from lowering.context import RuleContext, expanded, rule
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value
from xfront_ir.ops.convert import convert
from xfront_ir.ops.formulas import Term
from xfront_ir.ops.random import KEY_DTYPES
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType, tensor

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA

Words = tuple[Value, Value]


@rule(ops.threefry2x32)
def _threefry2x32(ctx: RuleContext, op: Op, k1: Any, k2: Any, a: Any, c: Any) -> Any:
    type = op.results[0].type
    types, made = (type,), {}

    def emit(name: str, *operands: Any) -> Any:
        return ctx.create(f"stablehlo.{name}", operands, types)

    def constant(value: int) -> Any:
        found = made.get(value)
        if found is None:
            found = made[value] = ctx.constant(value, type)
        return found

    keys = (k1, k2, emit("xor", emit("xor", k1, k2), constant(_PARITY)))
    a, c = emit("add", a, k1), emit("add", c, k2)
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            a = emit("add", a, c)
            turned = emit("or", emit("shift_left", c, constant(r)),
                          emit("shift_right_logical", c, constant(32 - r)))
            c = emit("xor", a, turned)
        a = emit("add", a, keys[(group + 1) % 3])
        c = emit("add", emit("add", c, keys[(group + 2) % 3]), constant(group + 1))
    return [a, c]


@rule(ops.random_wrap)
def _wrap(ctx: RuleContext, op: Op, x: Any) -> Any:
    return x                                    # keys are lowered as their words


@rule(ops.random_unwrap)
def _unwrap(ctx: RuleContext, op: Op, x: Any) -> Any:
    return x


@rule(ops.rng_bit_generator)
def _rng_bit_generator(ctx: RuleContext, op: Op, state: Any) -> Any:
    (of_state,), (next_state, bits) = op.operands, op.results
    algorithm = ctx.attr(f"#stablehlo<rng_algorithm {op.attrs['algorithm'].upper()}>")
    if of_state.type.dtype is dtypes.u64:
        return ctx.create("stablehlo.rng_bit_generator", [state], op.results,
                          rng_algorithm=algorithm)
    wide = tensor((2,), dtypes.u64)
    pairs = ctx.create("stablehlo.reshape", [state], [tensor((2, 2), dtypes.u32)])
    after, made = ctx.create("stablehlo.rng_bit_generator",
                             [ctx.create("stablehlo.bitcast_convert", [pairs], [wide])],
                             [wide, bits], rng_algorithm=algorithm)
    pairs = ctx.create("stablehlo.bitcast_convert", [after], [tensor((2, 2), dtypes.u32)])
    return [ctx.create("stablehlo.reshape", [pairs], [next_state]), made]


@rule(ops.rng_uniform)
def _rng_uniform(ctx: RuleContext, op: Op, low: Any, high: Any) -> Any:
    (made,) = op.results
    shape = made.type.shape
    sizes = ctx.constant(np.array(shape, np.int64), tensor((len(shape),), dtypes.i64))
    return ctx.create("stablehlo.rng", [low, high, sizes], [made],
                      rng_distribution=ctx.attr("#stablehlo<rng_distribution UNIFORM>"))


# --- ops on keys, as Functions of their words ---------------------------------------------

def of_words(definition: Any) -> Callable[..., Any]:
    """Decorator for the lowering of `definition` to the ops that `write(b, attrs, result type,
    *operands)` builds; they are built once for each types and attributes."""
    def register(write: Callable[..., Value]) -> Callable[..., Value]:
        @lru_cache(maxsize=512)
        def body(types: tuple[TensorType, ...], result: TensorType, attrs: tuple) -> Function:
            b = PlacedBuilder(definition.name)
            operands = [b.param(t) for t in types]
            return b.close([write(b, dict(attrs), result, *operands)])

        @expanded(definition)
        def expand(op: Op) -> Function:
            types = tuple(v.type for v in op.operands)
            return body(types, op.results[0].type, tuple(op.attrs.items()))

        return write

    return register


def words_of(b: Builder, key: Value) -> list[Value]:
    """The words of keys, each an array of the keys' shape."""
    words, shape = ops.random_unwrap(Term(b, key)), key.type.shape
    n, zeros, ones = key.type.dtype.physical[0], (0,) * len(shape), (1,) * (len(shape) + 1)
    return [ops.reshape(ops.slice(words, starts=(*zeros, i), limits=(*shape, i + 1), strides=ones),
                        shape=shape).value for i in range(n)]


def long_word(b: Builder, upper: Value, lower: Value) -> Value:
    """Words of 64 bits, made of their upper and lower 32 bits."""
    high, low = (Term(b, v).to(dtypes.u64) for v in (upper, lower))
    return (ops.shift_left(high, 32) | low).value


def _key_of(b: Builder, words: list[Value], impl: str) -> Value:
    """The keys that consist of these words."""
    shape = words[0].type.shape
    columns = [b.emit(ops.reshape, w, shape=(*shape, 1)) for w in words]
    return b.emit(ops.random_wrap, b.emit(ops.concatenate, *columns, dimension=len(shape)),
                  impl=impl)


def _seeded(b: Builder, seed: Value) -> Words:
    dtype, type = seed.type.dtype, seed.type.with_dtype(dtypes.u32)
    if dtype.bits < 64:
        upper = b.zeros(type)
    else:
        moved = b.emit(ops.shift_right_logical, seed, b.full(seed.type, 32))
        upper = b.emit(convert, moved, dtype=dtypes.u32)
    lower = seed if dtype is dtypes.u32 else b.emit(convert, seed, dtype=dtypes.u32)
    return upper, lower


@of_words(ops.random_seed)
def _seed(b: Builder, attrs: Any, result: TensorType, seed: Value) -> Value:
    return _key_of(b, [*_seeded(b, seed)] * (result.dtype.physical[0] // 2), attrs["impl"])


def _counters(b: Builder, shape: tuple[int, ...]) -> Words:
    """The counters 0, 1, ... of the elements of `shape`, as upper and lower words."""
    size = prod(shape)
    if size == 1:
        return b.zeros(tensor(shape, dtypes.u32)), b.zeros(tensor(shape, dtypes.u32))
    if size <= 1 << 32:
        count = b.emit(ops.iota, dtype=dtypes.u32, shape=(size,), dimension=0)
        return b.zeros(tensor(shape, dtypes.u32)), b.emit(ops.reshape, count, shape=shape)
    count = b.emit(ops.iota, dtype=dtypes.u64, shape=(size,), dimension=0)
    return _seeded(b, b.emit(ops.reshape, count, shape=shape))


def _enciphered(b: Builder, k1: Value, k2: Value, shape: tuple[int, ...]) -> tuple[Value, ...]:
    """The operands of threefry for the bits of each key and the counters of `shape`."""
    outer = k1.type.shape
    whole = (*outer, *shape)
    at_front, at_end = tuple(range(len(outer))), tuple(range(len(outer), len(whole)))
    k1, k2 = (b.emit(ops.broadcast_in_dim, k, shape=whole, dims=at_front) for k in (k1, k2))
    x1, x2 = _counters(b, shape)
    if outer:
        x1, x2 = (b.emit(ops.broadcast_in_dim, x, shape=whole, dims=at_end) for x in (x1, x2))
    return k1, k2, x1, x2


def _key_of_bits(b: Builder, operands: list[tuple[Value, ...]], impl: str) -> Value:
    """The keys whose two words each are the output of threefry for these operands.

    Each word is computed in the place where it is written. Two arrays put side by side are as much
    work, but take half as long again to compile.
    """
    shape = operands[0][0].type.shape
    pairs, place = (*shape, 2), tuple(range(len(shape)))
    is_first = b.emit(ops.eq, b.emit(ops.iota, dtype=dtypes.u32, shape=pairs, dimension=len(shape)),
                      b.zeros(tensor(pairs, dtypes.u32)))
    made = []
    for values in operands:
        both = [b.emit(ops.broadcast_in_dim, v, shape=pairs, dims=place) for v in values]
        made.append(b.emit(ops.select, is_first, *b.emit(ops.threefry2x32, *both)))
    words = made[0] if len(made) == 1 else b.emit(ops.concatenate, *made, dimension=len(shape))
    return b.emit(ops.random_wrap, words, impl=impl)


@of_words(ops.random_split)
def _split(b: Builder, attrs: Any, result: TensorType, key: Value) -> Value:
    impl, shape = key.type.dtype.implementation, attrs["shape"]
    if impl == "urbg":
        rows = (*key.type.shape, 10 * prod(shape), 4)
        bits = _generated(b, _first(b, key), rows, 32)
        kept = b.emit(ops.slice, bits, starts=(0,) * len(rows), limits=rows,
                      strides=(*(1 for _ in key.type.shape), 10, 1))
        return b.emit(ops.random_wrap, b.emit(ops.reshape, kept, shape=(*result.shape, 4)),
                      impl=impl)
    words = words_of(b, key)
    operands = [_enciphered(b, words[i], words[i + 1], shape) for i in range(0, len(words), 2)]
    if key.type.shape:                           # the words of many keys are read side by side
        return _key_of(b, [w for values in operands
                           for w in b.emit(ops.threefry2x32, *values)], impl)
    return _key_of_bits(b, operands, impl)


@of_words(ops.random_fold_in)
def _fold_in(b: Builder, attrs: Any, result: TensorType, key: Value, data: Value) -> Value:
    impl, zero = key.type.dtype.implementation, b.zeros(data.type)
    if impl == "urbg":
        state = _first(b, _key_of(b, [zero, data, zero, data], impl))
        rows = (*data.type.shape, 10, 4)
        bits = _generated(b, state, rows, 32)
        one = b.emit(ops.slice, bits, starts=(*(0 for _ in data.type.shape), 9, 0),
                     limits=rows, strides=(1,) * len(rows))
        words = b.emit(ops.random_unwrap, key)
        mixed = b.emit(ops.xor, words, b.emit(ops.reshape, one, shape=words.type.shape))
        return b.emit(ops.random_wrap, mixed, impl=impl)
    words = words_of(b, key)
    return _key_of_bits(b, [(words[i], words[i + 1], zero, data)
                            for i in range(0, len(words), 2)], impl)


@of_words(ops.random_bits)
def _bits(b: Builder, attrs: Any, result: TensorType, key: Value) -> Value:
    width = attrs["bit_width"]
    if key.type.dtype is not KEY_DTYPES["fry"]:
        return _generated(b, _first(b, key), result.shape, width)
    k1, k2 = words_of(b, key)
    upper, lower = b.emit(ops.threefry2x32, *_enciphered(b, k1, k2, attrs["shape"]))
    if width == 64:
        return long_word(b, upper, lower)
    mixed = b.emit(ops.xor, upper, lower)
    return mixed if width == 32 else b.emit(convert, mixed, dtype=result.dtype)


# XLA's generator takes one state. Where there are several keys, the first one generates the bits of
# all: for speed, these generators do not promise that each key has bits of its own.

def _first(b: Builder, key: Value) -> Value:
    words, n = b.emit(ops.random_unwrap, key), key.type.ndim
    if n:
        words = b.emit(ops.slice, words, starts=(0,) * (n + 1), limits=(*(1 for _ in range(n)), 4),
                       strides=(1,) * (n + 1))
    return b.emit(ops.reshape, words, shape=(4,))


def _generated(b: Builder, state: Value, shape: tuple[int, ...], width: int) -> Value:
    return b.emit(ops.rng_bit_generator, state, algorithm="default", shape=shape,
                  dtype=dtypes.named(f"u{width}"))[1]
