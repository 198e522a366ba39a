"""Pacing of programs on virtual devices: the hook that C++ calls, beside one that stands there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import xfront
import xfront.numpy as jnp
from xfront.arrays import binding
from xfront.tracing import pacing


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    found = binding.post_hook_state
    before = found.get_global()
    monkeypatch.setattr(pacing, "_set", None)
    monkeypatch.setattr(pacing, "_begun", 0)
    found.set_global(None)
    yield found
    found.set_global(before)


def test_it_is_set_once(state: Any) -> None:
    for _ in range(2):
        pacing._hook()
        assert state.get_global() is pacing._called


def test_a_hook_that_stands_there_is_still_called(state: Any) -> None:
    seen: list[Any] = []
    state.set_global(lambda function, args, kwargs, result: seen.append(result))
    double = xfront.jit(lambda x: x * 2)
    x = jnp.ones(3)
    double(x)
    for _ in range(2):                           # the second time it is ours that stands there
        pacing._hook()
    seen.clear()
    before = pacing._begun
    result = double(x)
    assert len(seen) == 1 and seen[0] is result
    assert pacing._begun == before + 1
