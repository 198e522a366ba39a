"""Cases that are one expression for both libraries, checked in one compiled program a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import xfront
import xfront.numpy as xnp

NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def leaves(x: Any) -> list[Any]:
    """The arrays in nested tuples and lists."""
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in leaves(part)]
    return [x]


def agree(name: str, ours: Any, theirs: Any, *, dtype: bool = True) -> None:
    """Equal structure, shapes, values and, in 32-bit, dtypes."""
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs), name
    for x, y in zip(ours, theirs, strict=True):
        y = np.asarray(y)
        wanted = NARROW.get(y.dtype.name, y.dtype.name)
        assert np.shape(x) == y.shape, f"{name}: {np.shape(x)} for {y.shape}"
        if dtype:
            assert x.dtype.name == wanted, f"{name}: {x.dtype} for {wanted}"
        np.testing.assert_allclose(np.asarray(x), y, rtol=2e-6, atol=2e-6, err_msg=name)


def check(cases: Mapping[str, Callable[..., Any]], *args: Any, dtype: bool = True,
          eagerly: int = 4) -> None:
    """All cases in one jitted program against NumPy; the first few eagerly too."""
    traced = xfront.jit(lambda *given: {k: case(xnp, *given) for k, case in cases.items()})(*args)
    for i, (name, case) in enumerate(cases.items()):
        expected = case(np, *args)
        agree(name, traced[name], expected, dtype=dtype)
        if i < eagerly:
            agree(f"{name}, eagerly", case(xnp, *[xnp.array(a) for a in args]), expected,
                  dtype=dtype)


def weakly(x: Any) -> str:
    """dtype and weakness of a result as text."""
    return f"{x.dtype.name}{'*' if x.weak_type else ''}"
