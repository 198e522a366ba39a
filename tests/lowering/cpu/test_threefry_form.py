"""Threefry with counters that LLVM does not follow: the same bits, and which programs take it."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
from lowering import compat
from tests.lowering.cpu.against_plain import named, takes_a_form, variants
from xfront import random
from xfront_ir import ops

ON = compat.VERSION >= (0, 12)


def ciphered(func, counters):
    """Threefry of two given keys and of the counters that `counters` makes."""
    return func([named("u32", 6)] * 2, lambda b, k1, k2: list(
        b.emit(ops.threefry2x32, k1, k2, *counters(b))))


def counted(b):
    return [b.zeros(named("u32", 6)), b.emit(ops.iota, dtype=named("u32").dtype, shape=(6,),
                                             dimension=0)]


def test_which(func) -> None:
    """The counters of a loop, not constants: XLA's simplifier does not end with them."""
    assert takes_a_form(ciphered(func, counted), ops.threefry2x32) == ON
    zeros = ciphered(func, lambda b: [b.zeros(named("u32", 6))] * 2)
    assert not takes_a_form(zeros, ops.threefry2x32)


def test_bits_of_any_key(func, monkeypatch) -> None:
    """For keys with all low bits, on which the number that must be 0 depends, and random ones."""
    fast, plain = variants(ciphered(func, counted), monkeypatch)
    rng = np.random.default_rng(0)
    few = np.array([0, 1, 2, 3, 2 ** 31, 2 ** 32 - 1], np.uint32)
    for keys in ([few, few[::-1].copy()], [few, (few + 4).astype(np.uint32)],
                 *[[rng.integers(0, 2 ** 32, 6, np.uint32) for _ in range(2)] for _ in range(8)]):
        for got, want in zip(fast(*keys), plain(*keys), strict=True):
            np.testing.assert_array_equal(got, want)


def test_what_must_be_zero_is() -> None:
    x = np.arange(2 ** 16, dtype=np.uint32)      # bits 0 to 2 of a square follow from those of x
    square = x * x
    assert not np.any(square & square >> 2 & 1)


DRAWS = {
    "bits": lambda key, shape: random.bits(key, shape), "bits16": lambda key, shape: random.bits(
        key, shape, "uint16"), "bits64": lambda key, shape: random.bits(key, shape, "uint64"),
    "uniform": lambda key, shape: random.uniform(key, shape),
    "normal": lambda key, shape: random.normal(key, shape),
    "half": lambda key, shape: random.normal(key, shape, "float16"),
    "double": lambda key, shape: random.normal(key, shape, "float64"),
    "truncated": lambda key, shape: random.truncated_normal(key, -1.0, 2.0, shape),
    "integers": lambda key, shape: random.randint(key, shape, -3, 1000),
    "split": lambda key, shape: random.key_data(random.split(key, shape)),
    "of_keys": lambda key, shape: xfront.vmap(lambda k: random.bits(k, shape))(
        random.split(key, 3)),
    "keys_of_keys": lambda key, shape: random.key_data(xfront.vmap(
        lambda k: random.split(k, shape))(random.split(key, 3))),
    "folded": lambda key, shape: random.key_data(xfront.vmap(
        lambda i: random.fold_in(key, i))(np.arange(max(1, len(shape)), dtype=np.uint32)))}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_do_not_depend_on_it(name, monkeypatch) -> None:
    """Bit for bit: un-jitted, jitted, and jitted without any form."""
    draw, key = DRAWS[name], random.key(7)
    with xfront.enable_x64(True):
        for shape in ((), (1,), (1, 1), (5,), (16,), (17, 3)):
            monkeypatch.setenv("XFRONT_CPU_FORMS", "1")
            by_itself = np.asarray(draw(key, shape))
            jitted = np.asarray(xfront.jit(lambda key, shape=shape: draw(key, shape))(key))
            monkeypatch.setenv("XFRONT_CPU_FORMS", "0")
            plain = np.asarray(xfront.jit(lambda key, shape=shape: draw(key, shape))(key))
            for other in (jitted, plain):
                assert by_itself.dtype == other.dtype
                assert by_itself.tobytes() == other.tobytes(), shape
