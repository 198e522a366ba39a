"""The examples in docstrings run, and print what they say, to three digits."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import xfront
import xfront.nn
import xfront.numpy as jnp
import xfront.random
import xfront.scipy.linalg
import xfront.scipy.special
import xfront_ir

PACKAGES = (
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers", "random",
    "scipy.special", "scipy.linalg", "", "tree_util", "flatten_util", "ops", "image", "scipy.fft",
    "scipy.signal", "scipy.stats", "scipy.integrate",
)  # fmt: skip
NAMES = {"jax": xfront, "xfront": xfront, "jnp": jnp, "np": np, "lax": xfront.lax,
         "nn": xfront.nn, "xfront_ir": xfront_ir, "random": xfront.random,
         "special": xfront.scipy.special}
"""What an example finds; in packages that are used by name also these, as `linalg`, `signal`."""

BARE = {"tree_util", "flatten_util", "ops", "image"}
"""Packages whose examples find the names of the package itself."""

SKETCHES = {"lax.custom_root", "lax.with_sharding_constraint", ".make_array_from_callback",
            ".install_as_jax"}
"""Examples that name what the reader has, a solver or a mesh, and one that would change the imports
of all tests after it."""

RECORD = Path(__file__).parent / "recorded" / "without_example.json"


def documented(package: str) -> Iterator[tuple[str, str]]:
    """Public names of functions and classes of a package, with their documentation."""
    module = importlib.import_module(f"xfront.{package}" if package else "xfront")
    names = getattr(module, "_names", None) or getattr(module, "__all__", None) or dir(module)
    for name in sorted({n for n in names if not n.startswith("_")}):
        member = getattr(module, name)
        home = getattr(member, "__module__", None) or ""
        if callable(member) and home.startswith("xfront"):
            yield name, inspect.getdoc(member) or ""


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_print_what_they_say(package: str) -> None:
    module = importlib.import_module(f"xfront.{package}" if package else "xfront")
    own = ("issubdtype", "result_type", "einsum")
    names = {**{n: getattr(module, n) for n in own if hasattr(module, n)}, **NAMES,
             **(vars(module) if package in BARE else {}),
             **({package[6:]: module} if package.startswith("scipy.") else {})}
    runner, told = doctest.DocTestRunner(verbose=False), []
    with np.printoptions(precision=3, suppress=True):        # the last digits differ among CPUs
        for name, text in documented(package):
            if f"{package}.{name}" in SKETCHES:
                continue
            example = doctest.DocTestParser().get_doctest(
                text, dict(names), f"{package}.{name}", None, 0)
            runner.run(example, out=told.append)
    assert not told, "".join(told)


def test_functions_without_an_example_are_listed(update_golden: bool) -> None:
    """The list is to shrink: `--update-golden` writes it, and the diff is read in review."""
    found = {f"xfront.{p}" if p else "xfront": [n for n, text in documented(p) if ">>>" not in text]
             for p in PACKAGES}
    if update_golden:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(RECORD.read_text())
