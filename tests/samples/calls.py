"""Rows as functions: their operands, and the ways in which users call them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import xfront as jax
import xfront.image
import xfront.nn.initializers
import xfront.numpy as jnp
import xfront.ops
import xfront.scipy.cluster.vq
import xfront.scipy.fft
import xfront.scipy.integrate
import xfront.scipy.linalg as slinalg
import xfront.scipy.ndimage
import xfront.scipy.optimize
import xfront.scipy.signal
import xfront.scipy.sparse.linalg
import xfront.scipy.special as special
from xfront import lax, nn
from xfront.scipy import stats

from . import numpy_rows, other_rows
from .operands import OPERANDS

TABLES = {
    "numpy": numpy_rows.NUMPY, "numpy.fft": numpy_rows.FFT, "numpy.linalg": numpy_rows.LINALG,
    "lax": other_rows.LAX, "lax.linalg": other_rows.LAX_LINALG, "nn": other_rows.NN,
    "nn.initializers": other_rows.INITIALIZERS, "random": other_rows.RANDOM,
    "scipy.special": other_rows.SPECIAL, "scipy.linalg": other_rows.SCIPY_LINALG,
    "scipy.stats": other_rows.STATS, "image": other_rows.IMAGE, "ops": other_rows.OPS,
    "scipy.signal": other_rows.SIGNAL, **other_rows.OTHER_SCIPY,
    **{f"scipy.stats.{name}": numpy_rows.rows(f"stats.{name}", " ".join(
        getattr(stats, name).__all__), given) for name, given in other_rows.DISTRIBUTIONS.items()},
}  # fmt: skip
"""Rows by the package whose functions they call."""

WITHOUT = {
    "numpy": {
        "fromiter": "is refused", "from_dlpack": "imports", "fromfile": "is refused",
        "load": "reads a file, checked in tests/xfront/numpy/test_windows_and_bits.py",
        "get_printoptions": "is NumPy's", "printoptions": "is NumPy's",
        "set_printoptions": "is NumPy's", "save": "is NumPy's", "savez": "is NumPy's",
    },
    "lax": other_rows.LAX_WITHOUT,
    "random": {"Key": "is a type"},
}  # fmt: skip
"""Public functions that have no row, and why."""

NAMES = {"jax": jax, "jnp": jnp, "lax": lax, "nn": nn, "special": special, "slinalg": slinalg,
         "stats": stats, "np": np}


class Call(NamedTuple):
    """One way of calling a row: a function of its operands."""

    row: str
    way: str
    run: Callable[..., Any]
    operands: tuple[Any, ...]


def public_functions(package: str) -> set[str]:
    """Names of the functions that a package has for users."""
    module = importlib.import_module(f"xfront.{package}")
    names = getattr(module, "__all__", None) or [
        name for name, x in vars(module).items()
        if getattr(x, "__module__", None) == module.__name__]
    return {n for n in names if not n.startswith("_") and callable(getattr(module, n))
            and not isinstance(getattr(module, n), type)}


def texts(rows: Mapping[str, str | tuple[str, ...]]) -> Iterator[str]:
    """The expressions of a table."""
    for row in rows.values():
        yield from (row if isinstance(row, tuple) else (row,))


def _names(code: CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


def function(text: str, every: bool = False) -> tuple[Callable[..., Any], list[str]]:
    """An expression as a function of the operands it names (of all, if asked), and their names."""
    found = _names(compile(text, "<row>", "eval"))
    used = [name for name in OPERANDS if every or name in found]
    return eval(f"lambda {', '.join(used)}: {text}", dict(NAMES)), used


def value(text: str) -> Call:
    """The plain call of a row on its operands."""
    run, used = function(text)
    return Call(text, "value", run, tuple([OPERANDS[n] for n in used]))


def ways(text: str) -> Iterator[Call]:
    """The plain call; by every real operand its gradient; and both batched."""
    plain = value(text)
    yield plain
    reals = tuple([k for k, x in enumerate(plain.operands) if x.dtype.kind == "f"])
    twice = tuple([np.stack([x, x]) for x in plain.operands])
    slopes = jax.grad(lambda *given: _total(plain.run(*given)), reals) if reals else None
    if slopes:
        yield Call(text, "grad", slopes, plain.operands)
    if twice:
        yield Call(text, "vmap", jax.vmap(plain.run), twice)
    if slopes:
        yield Call(text, "vmap of grad", jax.vmap(slopes), twice)


def _total(made: Any) -> Any:
    leaves = [x for x in jax.tree.leaves(made) if hasattr(x, "dtype")]
    return sum([jnp.real(x).astype("float32").sum() for x in leaves
                if jnp.issubdtype(x.dtype, jnp.inexact)], jnp.zeros((), "float32"))
