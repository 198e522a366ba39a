"""The product in the background: once a process, kept on disk, not where it gains nothing."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from lowering import warm_up


@pytest.fixture
def not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "_begun", threading.Event())
    monkeypatch.setattr(warm_up, "_cores", lambda: 2)


def test_it_is_kept_on_disk_and_begun_once(cache, not_begun, monkeypatch) -> None:
    warm_up.begin()
    (entry,) = cache.iterdir()
    entry.unlink()
    warm_up.begin()
    assert not list(cache.iterdir())


def test_without_the_cache_nothing_is_run(cache, not_begun, monkeypatch) -> None:
    monkeypatch.setenv("XFRONT_CACHE", "0")
    monkeypatch.setattr(warm_up, "compile_function", lambda *a, **k: pytest.fail("compiled"))
    warm_up.begin()


def test_on_one_core_nothing_is_run(cache, not_begun, monkeypatch) -> None:
    monkeypatch.setattr(warm_up, "_cores", lambda: 1)
    warm_up.begin()
    assert not cache.exists() or not list(cache.iterdir())


def test_it_is_the_product_whose_kernels_are_generated(run) -> None:
    """By the left operand's rows, which is what gradients of layers ask for."""
    made = run(warm_up.transposed_product())[0]
    x = np.arange(warm_up.SIZE, dtype=np.float32)[:, None] * np.ones((1, warm_up.SIZE), np.float32)
    np.testing.assert_array_equal(made, x.T @ x)
