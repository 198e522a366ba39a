"""The product in the background: once a process, kept on disk, not where it gains nothing."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from lowering import warm_up

LARGE = [1.0, np.ones((9, 9))]


@pytest.fixture
def not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "_begun", threading.Event())
    monkeypatch.setattr(warm_up, "cores", lambda: 2)


def test_it_is_kept_on_disk_and_begun_once(cache, not_begun, monkeypatch) -> None:
    warm_up.begin(LARGE)
    (entry,) = cache.iterdir()
    entry.unlink()
    warm_up.begin(LARGE)
    assert not list(cache.iterdir())


def test_without_the_cache_nothing_is_run(cache, not_begun, monkeypatch) -> None:
    monkeypatch.setenv("XFRONT_CACHE", "0")
    monkeypatch.setattr(warm_up, "compile_function", lambda *a, **k: pytest.fail("compiled"))
    warm_up.begin(LARGE)


def test_on_one_core_nothing_is_run(cache, not_begun, monkeypatch) -> None:
    monkeypatch.setattr(warm_up, "cores", lambda: 1)
    warm_up.begin(LARGE)
    assert not cache.exists() or not list(cache.iterdir())


def test_before_programs_of_small_arrays_nothing_is_run(cache, not_begun) -> None:
    warm_up.begin([2.0, None, np.ones((8, 8)), np.ones(1000)])
    assert not cache.exists() or not list(cache.iterdir())
    warm_up.begin(LARGE)
    assert list(cache.iterdir())


def test_it_is_the_product_whose_kernels_are_generated(run) -> None:
    """By the left operand's rows, which is what gradients of layers ask for."""
    made = run(warm_up.transposed_product())[0]
    x = np.arange(warm_up.SIZE, dtype=np.float32)[:, None] * np.ones((1, warm_up.SIZE), np.float32)
    np.testing.assert_array_equal(made, x.T @ x)
