"""A fork of a process that has a client warns: the child has not the client's threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORKS = """
import os, warnings
import numpy as np, xfront.numpy as jnp

def forked():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pid = os.fork()
        if pid == 0:
            os._exit(int(np.arange(3).sum()))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    told = [w for w in found if w.category is RuntimeWarning]
    return code, [("xfront" in str(w.message), w.filename) for w in told]

print(forked())
jnp.ones(3) + 1
print(forked())
print(forked())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes do not fork there")
def test_forks_behind_the_first_computation_warn_at_the_users_line() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True,
                          timeout=120, check=False)
    warned = "(3, [(True, '<string>')])"
    assert done.stdout.splitlines() == ["(3, [])", warned, warned], done.stdout + done.stderr
