"""Rows of one operation at several sizes, and the arrays they read."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import tempfile
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import harness

Size = int | tuple[int, ...]
Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function to compile, with its arguments."""


PROGRAMS: dict[str, tuple[Callable[..., Program], tuple[Size, ...], bool]] = {}
"""For each row: its `make`, its sizes, and whether 64-bit dtypes are on."""

CALLED = 5
"""The number of turns in which a side calls a program."""


def kernel(name: str, *sizes: Size, x64: bool = False) -> Callable[[Any], Any]:
    """Decorator that registers `make(jax, jnp, *size) -> Program` as a row. For each size it
    measures CPU seconds of compiling, the better of two turns, and seconds of a warm call, in
    several turns.

    With `x64`, 64-bit dtypes are on while the program is made and run. --quick measures only the
    first size, with one turn of calls.
    """

    def register(make: Callable[..., Program]) -> Callable[..., Program]:
        def run(jax: Any, jnp: Any) -> Iterator[dict[str, float]]:
            harness.warm_stages(jax, jnp)
            with jax.enable_x64(True) if x64 else contextlib.nullcontext():
                for size in sizes[: harness.scaled(len(sizes), 1)]:
                    f, args = make(jax, jnp, *(size if isinstance(size, tuple) else (size,)))
                    first = anew(jax, f, args)      # the first one may import or load things
                    yield {}
                    yield {f"{label(size)}, compile": min(first, anew(jax, f, args))}
                    call = functools.partial(jax.jit(f), *args)
                    harness.block(call())
                    for _ in range(harness.scaled(CALLED, 1)):
                        yield {label(size): harness.per_call(call, budget=0.03, batches=4)}

        group = harness.group_of(make)
        PROGRAMS[f"{group}: {name}"] = make, sizes, x64
        harness.enter(harness.Row(group, name, run, repeats=3))
        return make

    return register


def anew(jax: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """CPU seconds of compiling a program that is in no cache, in memory or on disk."""
    jax.clear_caches()
    gc.collect()
    with tempfile.TemporaryDirectory() as empty, \
            unittest.mock.patch.dict(os.environ, XFRONT_CACHE_DIR=empty):
        return harness.compiling(jax, f, args)[0]


def label(size: Size) -> str:
    """A size as text: `4,096` or `8×56×56×64`."""
    return f"{size:,}" if isinstance(size, int) else "×".join(map(str, size))


def normal(jnp: Any, *shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    """An array of normal numbers."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def between(
    jnp: Any, low: float, high: float, *shape: int, seed: int = 0, dtype: Any = np.float32
) -> Any:
    """An array of uniform numbers in [low, high), integers if the dtype is an integer one."""
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        return jnp.asarray(rng.integers(int(low), int(high), shape, dtype=dtype))
    return jnp.asarray(rng.uniform(low, high, shape).astype(dtype))


def grad_of_sum(jax: Any, jnp: Any, f: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """The gradient of sum(f(...) * weights), with the weights as last argument."""
    return jax.grad(lambda *args: jnp.sum(f(*args[:-1]) * args[-1]), argnum)
