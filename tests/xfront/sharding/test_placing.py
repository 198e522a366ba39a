"""Arrays on many devices, made from host memory. A process with eight CPU devices runs
`placing_checks.py`; each check is a test here."""

from __future__ import annotations

import pytest

from tests.device_checks import errors_of

from .placing_checks import CHECKS


@pytest.fixture(scope="module")
def errors() -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    return errors_of("tests.xfront.sharding.placing_checks", CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_placing(name: str, errors: dict[str, str | None]) -> None:
    assert errors[name] is None, errors[name]
