"""Records the dtypes that functions of NumPy's names give for arrays of every dtype. Run with an
interpreter that has the library of reference:

    cd tests/recorded; python -W ignore record_result_dtypes.py LIBRARY result_dtypes.json

The file holds, for 64-bit mode off and on, for each expression the dtypes of its results in the
order of `DTYPES`: names joined by "," for several results, the class of the error where it is
refused, "-" for factorizations of 16-bit floats, which fail when they are compiled.
"""

import importlib
import json
import sys

import numpy as np

DTYPES = ("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 bfloat16 float16 float32 float64 "
          "complex64 complex128").split()
HALF = ("bfloat16", "float16")
WIDE = ("uint64", "int64", "float64", "complex128")

REDUCTIONS = ("sum prod max min amax amin mean var std any all argmax argmin nansum nanprod nanmax "
              "nanmin nanmean nanvar nanstd nanargmax nanargmin ptp median nanmedian average "
              "count_nonzero").split()
RUNNING = "cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod".split()
SORTING = "sort argsort sort_complex lexsort".split()
SHAPING = ("diff ediff1d gradient trapezoid flip roll nan_to_num angle real imag conj square "
           "sqrt exp sin floor ceil rint round trunc sign abs absolute fabs positive negative "
           "reciprocal sinc i0 exp2 log2 log10 cbrt deg2rad spacing signbit isnan isfinite "
           "isposinf invert logical_not bitwise_count real_if_close").split()
MATRIX = ("trace diagonal cov corrcoef linalg.norm linalg.det linalg.slogdet linalg.inv "
          "linalg.pinv linalg.cholesky linalg.eigvalsh linalg.eigvals linalg.svdvals "
          "linalg.matrix_rank linalg.cond linalg.qr linalg.eigh linalg.trace").split()
PAIRS = ("union1d(x, {}, size=9)", "intersect1d(x, {}, size=9)", "setdiff1d(x, {}, size=9)",
         "setxor1d(x, {}, size=9)", "isin(x, {})", "searchsorted(x, {})", "digitize(x, {})",
         "convolve(x, {})", "correlate(x, {})", "inner(x, {})", "outer(x, {})", "cross(x, {})",
         "append(x, {})", "interp(x, {}, x)", "polyval(x, {})", "polymul(x, {})", "polyadd(x, {})",
         "maximum(x, {})", "fmax(x, {})", "hypot(x, {})", "arctan2(x, {})", "logaddexp(x, {})",
         "power(x, {})", "float_power(x, {})", "floor_divide(x, {})", "remainder(x, {})",
         "fmod(x, {})", "divmod(x, {})", "true_divide(x, {})", "copysign(x, {})",
         "nextafter(x, {})", "heaviside(x, {})", "ldexp(x, {})", "gcd(x, {})", "left_shift(x, {})",
         "bitwise_and(x, {})", "linspace(x[0], {}[0], 3)", "logspace(x[0], {}[0], 3)",
         "geomspace(x[0], {}[0], 3)", "where(x, {}, {})", "select([x > 0], [{}])",
         "clip(x, {}, {})", "average(x, weights={})", "bincount(x, {}, length=3)",
         "histogram(x, 3, weights={})", "quantile(x, {}[0])",
         "vecdot(x, {})", "kron(x, {})", "trapezoid(x, {})", "equal(x, {})")
EXPRESSIONS = [
    *[f"{name}(x)" for name in REDUCTIONS + RUNNING + SORTING + SHAPING],
    *[f"{name}(m)" for name in MATRIX],
    *[f"{name}(x, dtype={d!r})" for name in ("sum", "prod", "mean", "cumsum", "cumulative_sum",
                                             "nansum", "nancumprod")
      for d in ("int16", "float16", "complex64", "bool")],
    "cumulative_sum(x, include_initial=True)", "cumulative_prod(x, include_initial=True)",
    "var(x, dtype='float16')", "std(x, ddof=1)", "sum(x, where=x > 0)", "mean(x, where=x > 0)",
    "max(x, initial=1, where=x > 0)", "sum(x, initial=1)", "prod(x, initial=2.5)",
    "quantile(x, 0.5)", "nanquantile(x, 0.5)", "percentile(x, 50)", "nanpercentile(x, 50)",
    "partition(x, 1)", "argpartition(x, 1)", "unique(x, size=3)", "unique_values(x, size=3)",
    "unique_counts(x, size=3)", "unique_inverse(x, size=3)", "unique_all(x, size=3)",
    "unique(x, True, True, True, size=3)", "bincount(x, length=3)", "histogram(x, 3)",
    "histogram_bin_edges(x, 3)", "histogram(x, 3, density=True)", "polyder(x)", "polyint(x)",
    "linalg.matrix_power(m, 3)", "linalg.matrix_power(m, 0)", "linalg.matrix_power(m, -1)",
    "linalg.norm(x)",
    "linalg.norm(x, 0)", "linalg.norm(x, np.inf)", "linalg.norm(x, 3)", "linalg.vector_norm(x)",
    "linalg.multi_dot([m, m, m])", "linalg.solve(m, x)", "linalg.lstsq(m, x)", "m @ m", "x ** 2",
    "x ** 0.5", "2 ** x", "x / 2", "x // 2", "x % 2", "x + 1", "x + 1.5", "x * 1j", "-x", "abs(x)",
    "~x", "x > 1", "frexp(x)", "modf(x)", "full_like(x, 2)",
    "zeros_like(x)", "eye(3, dtype=x.dtype)", "arange(3, dtype=x.dtype)",
    "linspace(0, 1, 3, dtype=x.dtype)",
    "linspace(x[0], 3, 3)", "logspace(x[0], 3, 3)", "geomspace(x[0], 3, 3)",
    "tri(3, dtype=x.dtype)", "diag(x)", "tril(m)", "piecewise(x, [x > 0], [1, 0])",
    "nonzero(x, size=2)", "argwhere(x, size=2)",
    *[pair.format(*[f"{other}"] * pair.count("{}")) for pair in PAIRS for other in ("h", "s")],
]


def names(lib, expression, dtype):
    """Names of the dtypes of an expression's results, or of its error."""
    if dtype in HALF and "linalg" in expression and "norm" not in expression:
        return "-"
    jnp = lib.numpy
    scope = {name: getattr(jnp, name) for name in dir(jnp) if not name.startswith("_")}

    def of(x, m, h, s):
        return eval(expression, {**scope, "np": np}, {"x": x, "m": m, "h": h, "s": s})

    args = [lib.ShapeDtypeStruct(shape, d) for shape, d in (
        ((3,), jnp.dtype(dtype)), ((3, 3), jnp.dtype(dtype)), ((3,), jnp.float16),
        ((3,), jnp.int16))]
    try:
        made = lib.eval_shape(of, *args)
    except Exception as error:          # what is refused is part of the record
        return type(error).__name__
    return ",".join(str(x.dtype) for x in lib.tree.leaves(made))


def answers(lib):
    """For each mode and expression the answers for every dtype."""
    made = {}
    for x64 in (False, True):
        lib.config.update("jax_enable_x64", x64)
        dtypes = [d for d in DTYPES if x64 or d not in WIDE]
        made[f"x64={x64}"] = {e: " ".join(names(lib, e, d) for d in dtypes) for e in EXPRESSIONS}
    return made


def main():
    """Writes the file named on the command line."""
    lib = importlib.import_module(sys.argv[1])
    record = {"version": lib.__version__, **answers(lib)}
    with open(sys.argv[2], "w") as file:
        json.dump(record, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
