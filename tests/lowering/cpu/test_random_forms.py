"""Samples of the gamma distribution: those of the plain rule, also where many are rejected."""

from __future__ import annotations

import numpy as np
import pytest

import lowering.cpu.random_gamma as forms
from lowering.forms.registry import written
from tests.lowering.cpu.against_plain import takes_a_form, variants
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.types import tensor

SIZE = 2 ** 14


def drawn(shape: tuple[int, ...], log_space: bool = False) -> Function:
    """Samples of an array of shapes, each from a key of its own."""
    b = Builder("drawn")
    a, seed = b.param(tensor(shape, dtypes.f32), "a"), b.param(tensor((), dtypes.i32), "seed")
    keys = b.emit(ops.random_split, b.emit(ops.random_seed, seed, impl="fry"), shape=shape)
    return b.close([b.emit(ops.random_gamma, keys, a, log_space=log_space)])


@pytest.mark.parametrize("shape, taken", (
    ((SIZE,), True), ((SIZE - 1,), False), ((2, SIZE // 2), True), ((0, SIZE), False)))
def test_which(shape, taken) -> None:
    assert takes_a_form(drawn(shape), ops.random_gamma) == taken


@pytest.mark.parametrize("share", (forms.SHARE, 300))        # 300: nine rounds at least
@pytest.mark.parametrize("log_space", (False, True))
def test_samples_are_those_of_the_plain_rule(share, log_space, monkeypatch) -> None:
    monkeypatch.setattr(forms, "SHARE", share)
    written.cache_clear()
    shape = (4, SIZE // 4)
    fast, plain = variants(drawn(shape, log_space), monkeypatch)
    written.cache_clear()
    mixed = np.tile(np.array([1.0, 0.3, 7.0, 1e-3, 0.0, -1.0, np.inf, np.nan], "f"), SIZE // 8)
    seed = np.int32(5)
    for a in (mixed.reshape(shape), np.full(shape, 1.0, "f")):
        (got,), (want,) = fast(a, seed), plain(a, seed)
        near = np.isclose(got, want, rtol=1e-5, atol=1e-5 * log_space, equal_nan=True)
        assert (~near).sum() <= 1                      # an acceptance may flip at an ulp
        assert (got == want).mean() > 0.5
