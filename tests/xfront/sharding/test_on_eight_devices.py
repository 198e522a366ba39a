"""Programs on several devices. For each module of checks a process with eight CPU devices runs it;
each check is a test here."""

from __future__ import annotations

import functools
from types import ModuleType

import pytest

from tests.device_checks import errors_of
from tests.xfront.sharding import (
    checks,
    context_checks,
    explicit_checks,
    manual_sum_checks,
    memory_checks,
    moving_checks,
    out_sharding_checks,
    partitioner_checks,
    placing_checks,
    shard_map_checks,
    sum_checks,
    sum_program_checks,
)

MODULES = (checks, context_checks, explicit_checks, manual_sum_checks, memory_checks, moving_checks,
           partitioner_checks, placing_checks, shard_map_checks, sum_checks, sum_program_checks,
           out_sharding_checks)


@functools.cache
def errors_in(module: ModuleType) -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    return errors_of(module.__name__, module.CHECKS)


@pytest.mark.parametrize("module, name", [
    pytest.param(module, name, id=f"{module.__name__.rpartition('.')[2]}-{name}")
    for module in MODULES for name in module.CHECKS])
def test_on_eight_devices(module: ModuleType, name: str) -> None:
    error = errors_in(module)[name]
    assert error is None, error
