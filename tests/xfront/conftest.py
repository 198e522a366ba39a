"""What tests of the public library share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from xfront.base.config import config


@pytest.fixture
def restored() -> Iterator[None]:
    """Global values of options as they were, after the test."""
    before = config.values
    yield
    for name, value in before.items():
        if config.read(name) != value:
            config.update(name, value)
