"""Whole numbers and texts: distances of strings, sorting, hashes, automata, searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between
from benchmarks.workloads.measured import Program, workload


@workload("edit distances of words")
def edits(jax: Any, jnp: Any) -> Program:
    """Levenshtein's table for 256 pairs of 40 letters, rows by a scan, columns by another."""
    def one(a: Any, b: Any) -> Any:
        def row(above: Any, letter: Any) -> Any:
            def cell(left: Any, at: Any) -> Any:
                corner, up, other = at
                new = jnp.minimum(jnp.minimum(left, up) + 1, corner + (letter != other))
                return new, new

            first = above[0] + 1
            _, rest = jax.lax.scan(cell, first, (above[:-1], above[1:], b))
            return jnp.concatenate([first[None], rest]), None

        start = jnp.arange(len(b) + 1, dtype=jnp.int32)
        return jax.lax.scan(row, start, a)[0][-1]

    words = between(jnp, 97, 105, 2, 256, 40, dtype=np.int32)
    return jax.vmap(one), (words[0], words[1])


@workload("alignment of proteins by antidiagonals")
def alignment(jax: Any, jnp: Any) -> Program:
    """Smith and Waterman's scores for 32 pairs of 100, with a table of substitutions."""
    n = 100

    def one(table: Any, a: Any, b: Any) -> Any:
        def diagonal(s: Any, d: Any) -> Any:
            before, last, best = s
            i = jnp.arange(n)
            j = d - i
            inside = (j >= 0) & (j < n)
            match = table[a, b[jnp.clip(j, 0, n - 1)]]
            shifted = lambda x: jnp.concatenate([jnp.zeros(1, jnp.int32), x[:-1]])
            new = jnp.maximum(shifted(before) + match, jnp.maximum(last, shifted(last)) - 4)
            new = jnp.where(inside, jnp.maximum(new, 0), 0)
            return (last, new, jnp.maximum(best, new.max())), None

        zeros = jnp.zeros(n, jnp.int32)
        start = zeros, zeros, jnp.int32(0)
        return jax.lax.scan(diagonal, start, jnp.arange(2 * n - 1))[0][2]

    table = between(jnp, -4, 3, 20, 20, dtype=np.int32) + 6 * jnp.eye(20, dtype=jnp.int32)
    texts = between(jnp, 0, 20, 2, 32, n, dtype=np.int32)
    return jax.vmap(one, (None, 0, 0)), (table, texts[0], texts[1])


@workload("sorting network of bitonic merges")
def bitonic(jax: Any, jnp: Any) -> Program:
    """Sixteen thousand numbers, each stage one exchange of reshaped halves."""
    count = 1 << 14

    def step(x: Any) -> Any:
        place = jnp.arange(count)
        size = 2
        while size <= count:
            apart = size // 2
            while apart:
                pairs = x.reshape(-1, 2, apart)
                up = (place & size == 0).reshape(-1, 2, apart)[:, 0]
                low, high = pairs.min(1), pairs.max(1)
                x = jnp.stack([jnp.where(up, low, high), jnp.where(up, high, low)], 1).ravel()
                apart //= 2
            size *= 2
        return x

    return step, (between(jnp, -(10**6), 10**6, count, dtype=np.int32),)


@workload("words counted by rolling hashes")
def hashes(jax: Any, jnp: Any) -> Program:
    """Hashes of all windows of eight bytes of 32,768, their places in 4,096 buckets, the tops."""
    def step(text: Any) -> Any:
        def turn(h: Any, byte: Any) -> Any:
            entering, leaving = byte
            h = h * jnp.uint32(257) + entering - leaving * jnp.uint32(257**8 % 2**32)
            return h, h

        t = text.astype(jnp.uint32)
        old = jnp.concatenate([jnp.zeros(8, jnp.uint32), t[:-8]])
        _, h = jax.lax.scan(turn, jnp.uint32(0), (t, old))
        h = (h ^ (h >> 15)) * jnp.uint32(2246822519)
        buckets = ((h ^ (h >> 13)) % 4096).astype(jnp.int32)
        counts = jnp.zeros(4096, jnp.int32).at[buckets].add(1)
        return jax.lax.top_k(counts, 16)[0], counts, jnp.bitwise_xor.reduce(h)

    return step, (between(jnp, 97, 101, 32_768, dtype=np.uint8),)


@workload("rule 110 on packed bits")
def rule(jax: Any, jnp: Any) -> Program:
    """Two hundred generations of 262,144 cells, 32 in a word."""
    def step(words: Any) -> Any:
        def turn(x: Any, _: Any) -> Any:
            left = (x >> 1) | (jnp.roll(x, 1) << 31)
            right = (x << 1) | (jnp.roll(x, -1) >> 31)
            new = (x | right) & ~(left & x & right)
            return new, jnp.sum(jax.lax.population_count(new))

        return jax.lax.scan(turn, words, None, length=200)

    return step, (between(jnp, 0, 2**32 - 1, 8192, dtype=np.uint32),)


@workload("sieve, and checksums of bytes")
def sieve(jax: Any, jnp: Any) -> Program:
    """Primes below 30,000 by a loop of multiples; CRC-32 of 64 blocks of 256 bytes."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1)

    def step(blocks: Any, table: Any) -> Any:
        numbers = jnp.arange(30_000)

        def cross(p: Any, prime: Any) -> Any:
            multiple = (numbers % p == 0) & (numbers > p)
            return jnp.where(prime[p], prime & ~multiple, prime)

        prime = jax.lax.fori_loop(2, 174, cross, numbers >= 2)

        def byte(crc: Any, b: Any) -> Any:
            return (crc >> 8) ^ table[(crc ^ b) & 0xFF], None

        start = jnp.full(blocks.shape[0], 0xFFFFFFFF, jnp.uint32)
        crc, _ = jax.lax.scan(byte, start, blocks.T.astype(jnp.uint32))
        return prime.sum(), ~crc

    return step, (between(jnp, 0, 255, 64, 256, dtype=np.uint8), jnp.asarray(table))


@workload("eight queens by colouring, and a knapsack")
def search(jax: Any, jnp: Any) -> Program:
    """Forty thousand boards of eight queens tested at once; a knapsack of 150 things."""
    def safe(board: Any) -> Any:
        i = jnp.arange(8)
        apart = jnp.abs(board[:, None] - board[None])
        clash = (apart == 0) | (apart == jnp.abs(i[:, None] - i[None]))
        return ~jnp.any(clash & (i[:, None] < i[None]))

    def step(boards: Any, weights: Any, values: Any) -> Any:
        def thing(best: Any, at: Any) -> Any:
            weight, value = at
            room = jnp.arange(1001) - weight
            with_it = jnp.where(room >= 0, best[jnp.maximum(room, 0)] + value, -1)
            return jnp.maximum(best, with_it), with_it > best

        best, taken = jax.lax.scan(thing, jnp.zeros(1001, jnp.int32), (weights, values))
        return jnp.sum(jax.vmap(safe)(boards)), best[-1], jnp.sum(taken)

    return step, (between(jnp, 0, 8, 40_320, 8, dtype=np.int32),
                  between(jnp, 1, 100, 150, dtype=np.int32),
                  between(jnp, 1, 50, 150, seed=1, dtype=np.int32))
