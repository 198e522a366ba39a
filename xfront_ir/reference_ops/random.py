"""NumPy rows of the random ops: threefry and Philox written out, keys as u32 words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ops.random import KEY_DTYPES
from ..reference import plain, reference

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

Words = tuple[np.ndarray, np.ndarray]


def threefry(k1: Any, k2: Any, x1: Any, x2: Any) -> Words:
    """Threefry 2x32 with 20 rounds: two arrays of u32, broadcast together."""
    keys = [np.asarray(k, np.uint32) for k in (k1, k2)]
    keys.append(keys[0] ^ keys[1] ^ _PARITY)
    a, c = np.asarray(x1, np.uint32) + keys[0], np.asarray(x2, np.uint32) + keys[1]
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            a = a + c
            c = a ^ (c << np.uint32(r) | c >> np.uint32(32 - r))
        a = a + keys[(group + 1) % 3]
        c = c + keys[(group + 2) % 3] + np.uint32(group + 1)
    return a, c


reference("threefry2x32")(plain(threefry))
reference("random_wrap", "random_unwrap")(plain(np.asarray))


def _is_fry(words: np.ndarray) -> bool:
    return words.shape[-1] == 2


def _pairs(key: np.ndarray) -> list[Words]:
    """The pairs of words of a key; each pair is a key of threefry."""
    return [(key[..., i], key[..., i + 1]) for i in range(0, key.shape[-1], 2)]


def _joined(pairs: Sequence[Words]) -> np.ndarray:
    return np.stack([word for pair in pairs for word in pair], -1)


def _seeded(seed: np.ndarray, pairs: int) -> np.ndarray:
    lower = seed.astype(np.uint32)
    upper = (seed.astype(np.uint64) >> np.uint64(32)).astype(np.uint32) if seed.itemsize == 8 \
        else np.zeros_like(lower)
    return _joined([(upper, lower)] * pairs)


@reference("random_seed")
def _seed(attrs: Any, types: Any, seed: np.ndarray) -> Any:
    return _seeded(seed, KEY_DTYPES[attrs["impl"]].physical[0] // 2)


def _counters(shape: tuple[int, ...], ndim: int) -> Words:
    """The numbers of the elements as upper and lower words, after `ndim` axes of size 1."""
    count = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape((1,) * ndim + shape)
    return (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)


def _enciphered(pair: Words, shape: tuple[int, ...]) -> Words:
    """For each key in `pair`, the bits for counters of `shape`."""
    ndim = pair[0].ndim
    k1, k2 = (k.reshape(k.shape + (1,) * len(shape)) for k in pair)
    return threefry(k1, k2, *_counters(shape, ndim))


@reference("random_split")
def _split(attrs: Any, types: Any, key: np.ndarray) -> Any:
    shape = attrs["shape"]
    if types[0].dtype is KEY_DTYPES["urbg"]:
        rows = (*key.shape[:-1], 10 * math.prod(shape), 4)
        return _philox(key.reshape(-1, 4)[0], rows, 32)[..., ::10, :].reshape(
            *key.shape[:-1], *shape, 4)
    return _joined([_enciphered(pair, shape) for pair in _pairs(key)])


@reference("random_fold_in")
def _fold_in(attrs: Any, types: Any, key: np.ndarray, data: np.ndarray) -> Any:
    if types[0].dtype is KEY_DTYPES["urbg"]:
        state = _seeded(data, 2).reshape(-1, 4)[0]
        return key ^ _philox(state, (*data.shape, 10, 4), 32)[..., 9, :]
    return _joined([threefry(*pair, np.uint32(0), data) for pair in _pairs(key)])


@reference("random_bits")
def _bits(attrs: Any, types: Any, key: np.ndarray) -> Any:
    shape, width = attrs["shape"], attrs["bit_width"]
    if not _is_fry(key):
        return _philox(key.reshape(-1, 4)[0], types[0].shape, width)
    upper, lower = _enciphered((key[..., 0], key[..., 1]), shape)
    if width == 64:
        return upper.astype(np.uint64) << np.uint64(32) | lower
    return (upper ^ lower).astype(types[0].dtype.numpy)


# --- XLA's generator, which is Philox on CPU and GPU --------------------------------------

def _philox(state: np.ndarray, shape: tuple[int, ...], width: int) -> np.ndarray:
    """Bits of Philox 4x32 with 10 rounds, from u32[4]: the key, then the lower half of the counter.
    The upper half of the counter is the key again."""
    size = int(np.prod(shape))
    words = size * 2 if width == 64 else size
    key, start = (int(state[i]) | int(state[i + 1]) << 32 for i in (0, 2))
    n = -(-words // 4)
    mask, lower = (1 << 128) - 1, np.uint64(0xFFFFFFFF)
    counters = [(start + (key << 64) + i) & mask for i in range(n)]
    x = [np.array([c >> shift & 0xFFFFFFFF for c in counters], np.uint64)
         for shift in (0, 32, 64, 96)]
    k1, k2 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [q >> np.uint64(32) ^ x[1] ^ np.uint64(k1), q & lower,
             p >> np.uint64(32) ^ x[3] ^ np.uint64(k2), p & lower]
        k1, k2 = (k1 + 0x9E3779B9) & 0xFFFFFFFF, (k2 + 0xBB67AE85) & 0xFFFFFFFF
    bits = np.stack(x, -1).astype(np.uint32).reshape(-1)[:words]
    if width == 64:
        return bits.view(np.uint64).reshape(shape)
    return bits.astype(f"u{width // 8}").reshape(shape)


@reference("rng_bit_generator")
def _rng_bit_generator(attrs: Any, types: Any, state: np.ndarray) -> Any:
    shape, width = attrs["shape"], attrs["dtype"].bits
    words = state.view(np.uint32).copy()
    bits = _philox(words, shape, width)
    advanced = words.view(np.uint64).copy()
    advanced[1] += np.uint64(-(-bits.size * (2 if width == 64 else 1) // 4))
    return advanced.view(state.dtype), bits
