"""Reductions, running reductions and statistics of `numpy`."""

from __future__ import annotations

import numpy as np

from .row import Row, default_float

MATRIX = ("f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[2, 3, 4], axis=-1, keepdims=True)",
          "f(a[2, 3, 4], axis=(0, 2))")
SHAPES = ("f(a[()])", "f(a[7])", *MATRIX, "f(a[1, 2, 1, 3, 1, 2], axis=(1, -3))")
EMPTY = ("f(a[0])", "f(a[2, 0, 3], axis=1)", "f(a[2, 0, 3], axis=0)")
MASKED = ("f(a[3, 4], axis=1, where=k[3, 4])", "f(a[3, 4], where=k[4])")
INITIAL = ("f(a[3, 4], axis=0, initial=2)", "f(a[0], initial=1)",
           "f(a[3, 4], axis=1, where=k[3, 4], initial=1)")
DTYPE = ("f(a[3, 4], axis=0, dtype='float32')  # buif", "f(a[5], dtype='int32')  # bui",
         "f(a[5], dtype='complex64')")


def rows(names: str, calls: tuple[str, ...], domain: str = "any", **options: object) -> list[Row]:
    return [Row(f"numpy.{name}", calls, (domain,), **options) for name in names.split()]


RUNNING = ("f(a[7])", "f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[2, 3, 2], axis=-2)", "f(a[0])",
           "f(a[2, 0], axis=0)", "f(a[()])", "f(a[1, 2, 1, 2, 1, 2], axis=3)")


def kept(dtype: str) -> str:
    """Integers keep their width, as JAX's."""
    return "int32" if dtype == "bool" else dtype


NO_ORDER = {dtype: "complex numbers have no order" for dtype in ("complex64", "complex128")}
ROWS = [
    *rows("sum nansum", SHAPES + EMPTY + MASKED + INITIAL, scale="terms"),
    *rows("prod nanprod", SHAPES + EMPTY + MASKED + INITIAL, "nonzero"),
    *rows("mean nanmean", SHAPES + MASKED, scale="terms"),
    *rows("var std nanvar nanstd", SHAPES + MASKED + ("f(a[3, 4], axis=1, ddof=1)",), "usual",
          scale="largest"),
    *rows("max min amax amin nanmax nanmin", SHAPES + INITIAL[:1] + INITIAL[2:], "apart"),
    *rows("minmax", (*SHAPES, "f(a[3, 4], axis=1, initial=(b[()], c[()]))"), "apart",
          reference=lambda x, axis=None, keepdims=False, initial=(None, None): tuple(
              f(x, axis=axis, keepdims=keepdims, **({} if i is None else {"initial": i}))
              for f, i in zip((np.min, np.max), initial))),
    *rows("any all count_nonzero", SHAPES[:-1] + EMPTY, "ties"),
    *rows("ptp", SHAPES, "apart"),
    *rows("argmax argmin nanargmax nanargmin", ("f(a[7])", "f(a[3, 4])", "f(a[3, 4], axis=0)",
          "f(a[2, 3, 4], axis=-1, keepdims=True)", "f(a[1, 2, 1, 3], axis=1)", "f(e[4])"), "ties",
          refused=NO_ORDER),
    *rows("median nanmedian", SHAPES, "usual", refused=NO_ORDER),
    *rows("average", ("f(a[7])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=1, weights=b[4])",
          "f(a[3, 4], weights=b[3, 4])", "f(a[3, 4], axis=0, keepdims=True)",
          "f(a[3, 4], axis=1, weights=b[4], returned=True)"), "usual", scale="terms"),
    *rows("cumsum nancumsum", RUNNING, scale="terms", result=kept),
    *rows("cumprod nancumprod", RUNNING, "nonzero", result=kept),
    *rows("cumulative_sum", ("f(a[7])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=-1, "
          "include_initial=True)", "f(a[0])"), scale="terms"),
    *rows("cumulative_prod", ("f(a[7])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=-1, "
          "include_initial=True)", "f(a[0])"), "nonzero"),
    *rows("quantile nanquantile", ("f(a[7], 0.25)", "f(a[3, 4], 0.5)", "f(a[3, 4], 0.75, axis=0)",
          "f(a[5], N.array([0.0, 0.125, 1.0]))", "f(a[3, 4], 0.5, axis=1, keepdims=True)",
          "f(a[5], 0.375, method='lower')", "f(a[5], 0.375, method='higher')",
          "f(a[5], 0.375, method='nearest')", "f(a[5], 0.375, method='midpoint')",
          "f(a[6], 0.375, method='inverted_cdf')"), "usual", scale="largest",
          beyond={"bool": "bools are numbers"}, result=default_float,
          why="as JAX's, whose results are floats"),
    *rows("percentile nanpercentile", ("f(a[7], 25)", "f(a[3, 4], 50.0)", "f(a[3, 4], 75, axis=0)",
          "f(a[5], N.array([0.0, 12.5, 100.0]))", "f(a[3, 4], 50, axis=1, keepdims=True)",
          "f(a[5], 37.5, method='lower')"), "usual", scale="largest",
          beyond={"bool": "bools are numbers"}, result=default_float,
          why="as JAX's, whose results are floats"),
    *rows("cov", ("f(a[3, 5])", "f(a[6], b[6])", "f(a[5, 2], rowvar=False)",
          "f(a[3, 5], bias=True)", "f(a[3, 5], ddof=0)", "f(a[2, 4], "
          "fweights=N.array([1, 2, 1, 3]))"), "usual", scale="largest"),
    *rows("corrcoef", ("f(a[3, 5])", "f(a[6], b[6])", "f(a[5, 2], rowvar=False)"), "usual",
          scale="largest"),
]
