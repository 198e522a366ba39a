"""A shell of IPython: what it shows of an error, what it completes, what it says of a function."""

from __future__ import annotations

import subprocess
import sys

import pytest

CELLS = r"""
import warnings
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
shell.run_cell('''
import xfront as jax
import xfront.numpy as jnp

def f(x):
    return jnp.sin(x) + undefined_name

x = jnp.ones(3)
lowered = jax.jit(jnp.sin).lower(x)
''')
print("== own error")
shell.run_cell("jax.jit(jax.grad(jax.vmap(f)))(x)")
print("== a refusal")
shell.run_cell("jax.jit(lambda x: x @ jnp.ones(4))(x)")
print("== off")
shell.run_cell("jax.config.update('jax_traceback_filtering', 'off'); jax.jit(f)(x)")
print("== help")
shell.run_cell("jnp.linspace?")
print("== completed")
for text in ("jax.value_and", "jnp.linsp", "jax.lax.associative", "x.resh", "x.at[0].mult",
             "lowered.as_"):
    with provisionalcompleter():
        print(text, *[c.text for c in shell.Completer.completions(text, len(text))])
"""


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """What the shell printed, by its headings."""
    done = subprocess.run([sys.executable, "-c", CELLS], capture_output=True, text=True,
                          timeout=200)
    assert done.returncode == 0, done.stderr
    parts = [part.partition("\n") for part in done.stdout.split("== ")[1:]]
    return {name: text for name, _, text in parts}


@pytest.mark.slow
def test_own_errors_show_the_user_s_lines_alone(shown: dict[str, str]) -> None:
    text = shown["own error"]
    assert "undefined_name" in text and "skipping hidden" in text
    assert "File" not in text, text


def test_refusals_show_one_frame_of_the_library_at_most(shown: dict[str, str]) -> None:
    text = shown["a refusal"]
    assert "x @ jnp.ones(4)" in text and "contracting dimensions" in text
    assert text.count("\nFile ") <= 1, text


def test_off_shows_all(shown: dict[str, str]) -> None:
    assert shown["off"].count("\nFile ") > 3 and "skipping hidden" not in shown["off"]


def test_help_shows_signature_and_docstring(shown: dict[str, str]) -> None:
    assert "jnp.linspace(" in shown["help"] and "numpy.linspace" in shown["help"]


def test_names_are_completed(shown: dict[str, str]) -> None:
    found = dict(line.split(maxsplit=1) for line in shown["completed"].splitlines())
    assert found == {
        "jax.value_and": "value_and_grad", "jnp.linsp": "linspace",
        "jax.lax.associative": "associative_scan", "x.resh": "reshape", "x.at[0].mult": "multiply",
        "lowered.as_": "as_text"}
