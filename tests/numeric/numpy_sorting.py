"""Sorting, searching, sets, bins and indices of `numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .numpy_moving import row, rows
from .numpy_reductions import NO_ORDER
from .row import DTYPES, default_float

ORDERED = tuple(d for d in DTYPES if "complex" not in d)
SET = dict(domains=("ties",), jit=False, vmap=False, grad=False)


def counted(dtype: str) -> str:
    return "int64 float64" if dtype == "float64" else "int32 float32"


def _top_k(x: Any, k: int, axis: int = -1, mode: str = "largest", sorted: bool = True) -> Any:
    order = np.argsort(x, axis=axis, kind="stable")
    order = np.take(order if mode == "smallest" else np.flip(order, axis), range(k), axis)
    return np.take_along_axis(x, order, axis), order.astype(np.int32)


ROWS = [
    row("sort", "f(a[7])", "f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=None)", "f(a[0])",
        "f(a[2, 3, 2], axis=1)", "f(e[9])",
        domains=("apart",)),
    row("sort", "f(a[7])", "f(a[3, 4], axis=0, stable=True)", domains=("ties",), grad=False),
    row("argsort", "f(a[7])", "f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=None)",
        "f(a[0])", "f(e[9])", domains=("apart",)),
    row("argsort", "f(a[9], stable=True)", "f(a[3, 4], axis=0, stable=True)", domains=("ties",)),
    row("sort_complex", "f(a[7])", "f(a[3, 4])"),
    row("lexsort", "f((a[6], b[6]))", "f((a[3, 4], b[3, 4]), axis=0)", "f((i[6], a[6]))",
        domains=("ties", "apart")),
    row("lexsort", "f((a[6], b[6], a[6]), batch_size=1)", "f((a[3, 4], b[3, 4], a[3, 4]), "
        "batch_size=2)", domains=("ties", "ties"), reference=lambda keys, batch_size: np.lexsort(
            keys)),
    row("top_k", "f(a[7], 3)", "f(a[3, 4], 2, mode='smallest')", "f(a[3, 4], 3, axis=0)",
        "f(a[7], 7, mode='smallest', sorted=False)", "f(a[3, 4], 0)", domains=("apart",),
        dtypes=ORDERED[1:], result=lambda dtype: f"{dtype} int32", reference=_top_k),
    row("partition", "f(a[7], 3)[3]", "np.sort(f(a[7], 3)[:3])", "np.sort(f(a[7], 3)[4:])",
        "f(a[3, 4], 1, axis=0)[1]", domains=("apart",), refused=NO_ORDER),
    row("argpartition", "np.take_along_axis(a[7], f(a[7], 3), -1)[3:4]",
        "np.take_along_axis(a[3, 4], f(a[3, 4], 1, axis=0), 0)[1:2]", domains=("apart",),
        refused=NO_ORDER),
    row("searchsorted", "f(a[6], b[4])", "f(a[6], b[2, 3], side='right')", "f(a[6], a[6])",
        "f(a[6], a[6], side='right')", "f(a[6], b[4], method='sort')",
        "f(a[6], b[4], method='compare_all')", "f(a[6], b[()])", "f(a[0], b[2])",
        domains=("ordered", "any"), dtypes=ORDERED[1:],
        result=lambda dtype: "int32",
        reference=lambda a, v, side="left", method="": np.searchsorted(a, v, side)),
    row("digitize", "f(b[4], a[6])", "f(b[2, 2], a[6], right=True)", "f(b[3], a[6][::-1])",
        domains=("ordered", "any"), dtypes=ORDERED[1:], result=lambda dtype: "int32"),
    row("argwhere", "f(a[3, 4])", "f(a[6])", "f(a[2, 2, 2])", **SET),
    row("nonzero", "f(a[3, 4])", "f(a[6])", **SET), row("flatnonzero", "f(a[3, 4])", **SET),
    row("unique", "f(a[9])", "f(a[3, 4])", "f(a[9], return_index=True, return_inverse=True, "
        "return_counts=True)", "f(a[6, 2], axis=0)", "f(a[0])", **SET),
    *rows("unique_all unique_counts unique_inverse", "f(a[9])", "f(a[3, 4])", **SET),
    row("unique_values", "f(a[9])", "f(a[3, 4])", reference=np.unique, **SET),
    *rows("union1d intersect1d setdiff1d setxor1d", "f(a[7], b[5])", "f(a[2, 3], b[4])",
          "f(a[0], b[3])", **SET),
    row("intersect1d", "f(a[7], b[5], return_indices=True)", **SET),
    row("isin", "f(a[7], b[4])", "f(a[3, 4], b[2, 2])", "f(a[5], b[3], invert=True)",
        "f(a[()], b[3])", "f(a[3], b[0])", domains=("ties",)),
    row("bincount", "f(i[9], length=5)", "f(i[0], length=2)", dtypes=("int32", "int64"),
        reference=lambda x, length: np.bincount(x, None, length)),
    row("bincount", "f(i[9], weights=a[9], length=4)", result=lambda dtype: dtype,
        reference=lambda x, weights, length: np.bincount(x, weights, length),
        why="weights keep their dtype, as JAX's",
        domains=("usual",), scale="largest", dtypes=("float32", "float64", "int32", "int64")),
    row("histogram", "f(a[9], 4)", "f(a[3, 4], N.array([-2.0, 0.5, 3.0]))  # f",
        "f(a[9], 5, range=(-2, 4))", "f(a[9], 4, density=True)", "f(a[9], 4, weights=b[9])  # uif",
        "f(a[0], 3)", "f(a[2, 0], 3, range=(1, 2))",
        domains=("usual",), dtypes=ORDERED, scale="largest", grad=False, result=default_float,
        why="counts are floats, as JAX's"),
    row("histogram_bin_edges", "f(a[9], 4)", "f(a[9], 5, range=(-2, 4))", "f(a[0], 3)",
        domains=("usual",), dtypes=ORDERED, scale="largest"),
    row("histogram2d", "f(a[9], b[9], 3)", "f(a[0], b[0], 3)", dtypes=("float32", "float64"),
        scale="largest", grad=False, result=counted, why="counts are integers, as JAX's",
        domains=("usual",)),
    row("histogram2d", "f(a[9], b[9], [2, 3], weights=c[9])", domains=("usual",),
        dtypes=("float32", "float64"), scale="largest", grad=False),
    row("histogramdd", "f(a[9, 2], 3)", "f(a[0, 2], 3)", domains=("usual",),
        dtypes=("float32", "float64"), scale="largest", grad=False, result=counted,
        why="counts are integers, as JAX's"),
    row("histogramdd", "f(a[9, 3], [2, 2, 3], density=True)", domains=("usual",),
        dtypes=("float32", "float64"), scale="largest", grad=False),
    *rows("array_equal array_equiv", "f(a[5], b[5])", "f(a[5], a[5])", "f(a[2, 5], a[5])",
          "f(a[0], b[0])", "f(e[9], e[9])", "f(a[1], b[3])", domains=("ties",)),
    row("array_equal", "f(e[9], e[9], equal_nan=True)"),
    row("allclose", "f(a[5], a[5])", "f(a[5], b[5])", "f(a[5], b[5], atol=100)", "f(a[0], b[0])",
        "f(e[9], e[9], equal_nan=True)"),
    row("isclose", "f(e[9, 1], e[9], equal_nan=True)", "f(a[5], b[5], rtol=0.5)",
        "f(a[5], b[5], atol=2)"),
    row("interp", "f(b[5], a[6], c[6])", "f(b[2, 2], a[6], c[6], left=2.0, right=-1.0)",
        "f(a[6], a[6], c[6])", "f(b[()], a[6], c[6])", domains=("ordered", "any", "usual"),
        dtypes=("float16", "bfloat16", "float32", "float64", "int32", "int8"), scale="largest"),
    *rows("isscalar iterable iscomplexobj isrealobj", "f(a[3])", "f(2)", "f([1, 2])", "f('a')",
          "f(1j)", static=True),
    row("result_type", "f('int8', 'uint8')", "f('int8', 'int16')", "f('float32', 'int8')",
        static=True, dtypes=("float32",), reference=lambda *d: np.result_type(*d)),
    row("promote_types", "f('int8', 'uint8')", "f('int8', 'int16')", "f('float32', 'int8')",
        static=True, dtypes=("float32",)),
    row("can_cast", "f('int8', 'int16')", "f('int32', 'int8')", "f('float32', 'complex64')",
        static=True, dtypes=("float32",)),
    row("isdtype", "f(np.dtype('int8'), 'integral')", "f(np.dtype('float32'), 'real floating')",
        "f(np.dtype('bool'), ('bool', 'numeric'))", static=True, dtypes=("float32",)),
    row("issubdtype", "f('int8', np.integer)", "f('float32', np.floating)",
        "f('int8', np.floating)", static=True, dtypes=("float32",)),
    row("broadcast_shapes", "f((2, 1), (3,))", "f((), (0,))", "f((1, 2, 1), (4, 1, 3))",
        static=True, dtypes=("float32",)),
]

