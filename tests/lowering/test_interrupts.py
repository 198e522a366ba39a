"""Ctrl-C at any moment of a first program leaves a process that works."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from lowering.context import uninterrupted
from lowering.executable import original_error

FIRST_PROGRAM = """
import os, signal, sys
import xfront, xfront.numpy as jnp

signal.signal(signal.SIGINT, signal.default_int_handler)     # a job in the background ignores it
name, armed = sys.argv[1], [True]
def interrupt(event, args):
    if armed[0] and event == "import" and args[0] == name:
        armed[0] = False
        os.kill(os.getpid(), signal.SIGINT)
x = jnp.array([1.0, 2.0])
sys.addaudithook(interrupt)
try:
    xfront.jit(lambda x: jnp.sin(x) * 3)(x)
    print("not interrupted")
except KeyboardInterrupt:
    pass
print(not armed[0], xfront.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(x).shape)
"""


@pytest.mark.parametrize("name", [
    "jaxlib.mlir.ir", "jaxlib.mlir._mlir_libs._stablehlo", "jaxlib.mlir._mlir_libs._chlo",
    "jaxlib.mlir._mlir_libs._sdy"])
def test_an_import_that_is_interrupted(name, monkeypatch) -> None:
    monkeypatch.setenv("XFRONT_CACHE", "0")
    done = subprocess.run([sys.executable, "-c", FIRST_PROGRAM, name], check=False, text=True,
                          capture_output=True)
    assert done.stdout == "True (2,)\n", done.stdout + done.stderr


@pytest.fixture
def heeded() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_what_was_begun_ends_before_a_signal_is_raised() -> None:
    ended = []

    def load() -> str:
        time.sleep(0.05)
        ended.append(True)
        return "loaded"

    assert uninterrupted(load) == "loaded"
    main = threading.main_thread().ident
    assert main is not None

    def interrupted() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        load()

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(interrupted)
    assert len(ended) == 2
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 / 0)


@pytest.mark.parametrize(("text", "kind"), [
    ("INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):\n"
     '  File "executable.py", line 140, in execute\nKeyboardInterrupt: ', KeyboardInterrupt),
    ("INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):\n"
     '  File "executable.py", line 140, in execute\nKeyError: KeyboardInterrupt', ValueError),
    ("INTERNAL: KeyboardInterrupt", ValueError)])
def test_a_signal_between_the_runtime_and_a_host_function_is_an_interrupt(text, kind) -> None:
    """It comes before the `try` around the host function, so the runtime's text alone tells."""
    assert type(original_error(ValueError(text))) is kind
