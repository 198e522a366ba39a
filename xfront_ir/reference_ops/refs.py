"""NumPy meaning of `ops/refs.py`: a reference is an array that is written in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reference import reference


@reference("new_ref", "get", "freeze")
def _copied(attrs: Any, types: Any, x: Any) -> Any:
    return np.array(x)


@reference("swap")
def _swap(attrs: Any, types: Any, ref: Any, x: Any) -> Any:
    old = np.array(ref)
    ref[...] = x
    return old


@reference("addupdate")
def _addupdate(attrs: Any, types: Any, ref: Any, x: Any) -> Any:
    ref[...] += x
    return ()
