"""Host functions of programs on several devices. Processes with two and with eight CPU devices run
`host_checks.py`; each check is a test here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.device_checks import ROOT, errors_of

from .host_checks import CHECKS


@pytest.fixture(scope="module", params=[2, 8])
def errors(request: pytest.FixtureRequest) -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    return errors_of("tests.xfront.sharding.host_checks", CHECKS, str(request.param))


@pytest.mark.parametrize("name", CHECKS)
def test_host_functions(name: str, errors: dict[str, str | None]) -> None:
    assert errors[name] is None, errors[name]


PENDING = """
import numpy as np
import xfront, xfront.numpy as jnp

def host(x):
    print("called")
    return x

kind = xfront.ShapeDtypeStruct((), np.float32)
f = xfront.jit(lambda x: xfront.pure_callback(host, kind, x[0, 0]))
g = xfront.jit(lambda x: x @ x)
x = jnp.zeros((600, 600))
f(x)
for _ in range(30):
    x = g(x)
y = f(x)
"""


def test_a_process_ends_when_its_host_functions_are_done() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", PENDING], cwd=ROOT,
                          capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "called\n" * 2
