"""Lowering of `random_gamma`: Marsaglia and Tsang's rejection method for all elements at once, in a
loop that goes on until every element has its sample.

Each element draws from its own key, in the same order as if it were alone, so its sample does not
depend on the other elements. A turn draws one normal number x for each element. Where 1 + c x is
not positive, the next turn draws x again from the same chain of keys; where the pair (x, u) is
rejected, the next pair is drawn from new keys.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Value
from xfront_ir.dtypes import DType
from xfront_ir.ops.convert import convert
from xfront_ir.ops.formulas import Term, where
from xfront_ir.ops.while_loop import WHILE
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType, tensor

from .random import long_word, of_words, words_of

Key = tuple[Value, Value]
_MANTISSA = {dtypes.f16: (10, 16), dtypes.bf16: (7, 16), dtypes.f32: (23, 32), dtypes.f64: (52, 64)}


def next_keys(b: Builder, *wanted: tuple[Key, int]) -> list[Key]:
    """For each (keys, i), the i-th of the keys into which each key splits.

    They are all enciphered together and written to memory, for several copies of the cipher in a
    kernel take long to compile.
    """
    shape = wanted[0][0][0].type.shape
    rows = (len(wanted), *shape)

    def stacked(word: int) -> Value:
        parts = [b.emit(ops.reshape, key[word], shape=(1, *shape)) for key, _ in wanted]
        return parts[0] if len(parts) == 1 else b.emit(ops.concatenate, *parts, dimension=0)

    counts = b.emit(ops.broadcast_in_dim, b.literal(np.array([i for _, i in wanted], np.uint32)),
                    shape=rows, dims=(0,))
    made = [b.emit(ops.fence, v) for v in b.emit(
        ops.threefry2x32, stacked(0), stacked(1), b.zeros(counts.type), counts)]
    ones, zeros = (1,) * len(rows), (0,) * len(shape)

    def row(v: Value, i: int) -> Value:
        part = b.emit(ops.slice, v, starts=(i, *zeros), limits=(i + 1, *shape), strides=ones)
        return b.emit(ops.reshape, part, shape=shape)

    return [(row(made[0], i), row(made[1], i)) for i in range(len(wanted))]


def _unit(b: Builder, bits: Key, dtype: DType) -> Term:
    """A float in [0, 1) from a key's first words of bits, as `random.uniform` makes it."""
    mantissa, width = _MANTISSA[dtype]
    drawn = 8 if mantissa < 8 else width
    upper, lower = bits
    shape = upper.type.shape
    if width == 64:
        raw = long_word(b, upper, lower)
    else:
        raw = b.emit(ops.xor, upper, lower)
        if drawn < 32:
            raw = b.emit(ops.and_, raw, b.full(raw.type, 2 ** drawn - 1))
    unsigned = tensor(shape, dtypes.named(f"u{width}"))
    raw = b.emit(ops.shift_right_logical, raw, b.full(raw.type, drawn - mantissa))
    if raw.type is not unsigned:
        raw = b.emit(convert, raw, dtype=unsigned.dtype)
    one = int(np.asarray(1, dtype.numpy).view(unsigned.dtype.numpy))
    made = b.emit(ops.or_, raw, b.full(unsigned, one))
    return Term(b, b.emit(ops.bitcast, made, dtype=dtype)) - 1.0


def _normal(b: Builder, bits: Key, dtype: DType) -> Term:
    """A standard normal number from a key's first words of bits, as `random.normal` makes it."""
    one = np.asarray(1, dtype.numpy)
    low = float(np.nextafter(-one, np.zeros_like(one), dtype=dtype.numpy))
    drawn = _unit(b, bits, dtype) * (1.0 - low) + low
    return ops.erf_inv(drawn) * math.sqrt(2)


class _Turn(NamedTuple):
    """The carry of an element: its key, the keys of x and u, v^3 of its sample, whether it is done.
    """

    key: Key
    of_x: Key
    of_u: Key
    cube: Value
    done: Value

    def flat(self) -> list[Value]:
        """The values of the carry, in order."""
        return [*self.key, *self.of_x, *self.of_u, self.cube, self.done]

    @classmethod
    def of(cls, v: Any) -> _Turn:
        """The carry made of values in that order."""
        return cls((v[0], v[1]), (v[2], v[3]), (v[4], v[5]), v[6], v[7])


class Candidate(NamedTuple):
    """v^3 of a sample, whether v is positive, and whether it is accepted."""

    cube: Term
    positive: Term
    accepted: Term


def candidate(b: Builder, d: Value, c: Value, of_x: Key, of_u: Key) -> Candidate:
    """The candidate of a normal and a uniform number, which are made of the bits of these keys."""
    dtype = d.type.dtype
    x, u = _normal(b, of_x, dtype), _unit(b, of_u, dtype)
    v = x * Term(b, c) + 1.0
    square, cube = x * x, v * v * v
    positive = v > 0.0
    squeezed = u < 1.0 - square * square * 0.0331
    within = ops.log(u) < square * 0.5 + Term(b, d) * (1.0 - cube + ops.log(cube))
    return Candidate(cube, positive, positive & (squeezed | within))


def _attempt(b: Builder, d: Value, c: Value, turn: _Turn) -> _Turn:
    """The carry after one more attempt; elements that have a sample keep it."""
    again, now, of_bits, key, of_x, of_u = next_keys(
        b, (turn.of_x, 0), (turn.of_x, 1), (turn.of_u, 0), *[(turn.key, i) for i in range(3)])
    cube, positive, accepted = candidate(b, d, c, next_keys(b, (now, 0))[0], of_bits)
    done = Term(b, turn.done)
    kept = where(done, Term(b, turn.cube), cube)

    def choose(new: Key, old: Key) -> Key:
        first, second = (b.emit(ops.select, positive.value, n, o)
                         for n, o in zip(new, old, strict=True))
        return first, second

    return _Turn(choose(key, turn.key), choose(of_x, again), choose(of_u, turn.of_u), kept.value,
                 (done | accepted).value)


def _loop(b: Builder, d: Value, c: Value, first: _Turn) -> Value:
    """v^3 of every element's sample."""
    def is_left(b: Builder, done: Value) -> Value:
        axes = tuple(range(done.type.ndim))
        return b.emit(ops.not_, b.emit(ops.reduce_and, done, axes=axes))

    types = [v.type for v in first.flat()]
    test, body = PlacedBuilder("left"), PlacedBuilder("attempt")
    left = test.close([is_left(test, [test.param(t) for t in types][-1])])
    inner = [body.param(t) for t in (d.type, c.type, *types)]
    turn = body.close(_attempt(body, inner[0], inner[1], _Turn.of(inner[2:])).flat())
    return WHILE.emit(b.emit, ops.while_, ((), (d, c), first.flat()), cond=left, body=turn)[6]


class Shapes(NamedTuple):
    """Shape parameters for the sampler.

    Fields: the parameters as `given`; which are `legal`; `shape`, with 1 in place of illegal ones;
    which of these are `small` (below 1); `d` and `c` of the sampler, which uses a + 1 for small a.
    """

    given: Term
    legal: Term
    shape: Term
    small: Term
    d: Term
    c: Term


def shapes_of(b: Builder, a: Value) -> Shapes:
    """The Shapes of shape parameters `a`."""
    given = Term(b, a)
    legal = (given >= 0.0) & (given < math.inf)
    shape = where(legal, given, 1.0)
    small = shape < 1.0
    d = where(small, shape + 1.0, shape) - 1 / 3
    return Shapes(given, legal, shape, small, d, (1 / 3) / ops.sqrt(d))


def cubes_of(b: Builder, key: Key, shapes: Shapes) -> Value:
    """v^3 of every element's sample, where each element starts from its first key."""
    key, of_x, of_u = next_keys(b, (key, 0), (key, 1), (key, 2))
    d = shapes.d.value
    first = _Turn(key, of_x, of_u, b.zeros(d.type), b.zeros(d.type.with_dtype(dtypes.bool_)))
    return _loop(b, d, shapes.c.value, first)


def unboosted(b: Builder, cube: Value, shapes: Shapes, log_space: bool) -> Value:
    """Samples for the shape parameters d + 1/3, or their logarithms."""
    if log_space:
        return (ops.log(Term(b, cube)) + ops.log(shapes.d)).value
    return (shapes.d * Term(b, cube)).value


def boosted(b: Builder, made: Value, of_boost: Key, shapes: Shapes, log_space: bool) -> Value:
    """Samples, where those of small shapes are made from samples for a shape greater by 1."""
    rest = 1.0 - _unit(b, of_boost, made.type.dtype)
    drawn, shape = Term(b, made), shapes.shape
    if log_space:
        return where(shapes.small, drawn + ops.log(rest) / shape, drawn).value
    return where(shapes.small, drawn * ops.pow(rest, 1.0 / shape), drawn).value


def checked(b: Builder, made: Value, shapes: Shapes, log_space: bool) -> Value:
    """Samples with the values for shape parameters of zero and infinity, and NaN for illegal ones.
    """
    given = shapes.given
    drawn = where(given == 0.0, -math.inf if log_space else 0.0, Term(b, made))
    return where(shapes.legal, drawn, where(given == math.inf, given, math.nan)).value


@of_words(ops.random_gamma)
def _random_gamma(b: Builder, attrs: Any, result: TensorType, keys: Value, a: Value) -> Value:
    log_space, shapes = attrs["log_space"], shapes_of(b, a)
    k1, k2 = words_of(b, keys)
    key, boost = next_keys(b, ((k1, k2), 0), ((k1, k2), 1))
    made = unboosted(b, cubes_of(b, key, shapes), shapes, log_space)
    made = boosted(b, made, next_keys(b, (boost, 0))[0], shapes, log_space)
    return checked(b, made, shapes, log_space)
