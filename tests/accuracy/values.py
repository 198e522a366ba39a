"""What a library gives on the grid: `python -m tests.accuracy.values MODULE FILE` writes its values
by function and dtype. It needs that library and NumPy."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from .grid import GRID

DTYPES = ("float32", "float64")


def function_of(name: str) -> str:
    """The public name of the function in a name of the grid."""
    for mark in "([,":
        name = name.split(mark)[0]
    return name


Grid = dict[str, tuple[np.ndarray, ...]]


def points(name: str, dtype: str, grid: Grid = GRID) -> list[np.ndarray]:
    """The arguments of a function in a dtype, complex ones in the complex dtype as wide."""
    wide = np.result_type(dtype, np.complex64)
    return [x.astype(wide if x.dtype.kind == "c" else dtype) for x in grid[name]]


def call(special: Any, name: str, given: list[Any]) -> Any:
    """The function of that name of a module, applied as the name says."""
    function, rest = getattr(special, function_of(name)), name.partition("(")[2]
    if "v=" in rest:
        order = int(rest[rest.index("=") + 1:-1])
        return function(given[0], v=order)[order]
    if rest.startswith("x,"):
        return function(given[0], int(rest[2:-1]))
    if rest:
        return function(int(rest.partition(",")[0]), given[0])
    made = function(*given)
    return made[int(name[-2])] if name.endswith("]") else made


def values(module: str, grid: Grid, dtypes: tuple[str, ...] = DTYPES
           ) -> dict[tuple[str, str], np.ndarray]:
    """What the library gives, jitted, by function and dtype."""
    library = importlib.import_module(module)
    special = importlib.import_module(f"{module}.scipy.special")
    made = {}
    for dtype in dtypes:
        with library.enable_x64(dtype == "float64"):
            for name in grid:
                found = library.jit(lambda *given, name=name: call(special, name, list(given)))(
                    *points(name, dtype, grid))
                made[name, dtype] = np.asarray(found)
    return made


if __name__ == "__main__":
    found = values(sys.argv[1], GRID)
    np.savez(sys.argv[2], **{f"{name}|{dtype}": x for (name, dtype), x in found.items()})
