"""Random programs that move values. A process with eight CPU devices runs `moving_checks.py`; each
check is a test here."""

from __future__ import annotations

import pytest

from tests.device_checks import errors_of

from .moving_checks import CHECKS


@pytest.fixture(scope="module")
def errors() -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    return errors_of("tests.xfront.sharding.moving_checks", CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_moving(name: str, errors: dict[str, str | None]) -> None:
    assert errors[name] is None, errors[name]
