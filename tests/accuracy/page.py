"""What is recorded of errors, and the page of it."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE.parent / "recorded" / "accuracy.json"
SAMPLE = HERE.parent / "recorded" / "accuracy_sample.json"
STEP = 30
"""Every so manieth point belongs to the sample."""
PAGE = HERE.parents[1] / "docs" / "accuracy.md"

Errors = dict[str, dict[str, float]]

_ZERO = "at a zero of the function, where the terms of its sum are rounded"
REASONS: dict[str, str] = {
    "bessel_jn(x, v=5) float64": _ZERO + " (15.70); 1e-13 beside J0",
    "beta, a > 1e4 float32": "the exponential of a logarithm of about -100, whose last digit "
                             "counts as often",
    "betaln float32": _ZERO,
    "betaln, a > 1e4 float64": _ZERO,
    "i0, x near 0 float32": "the product of an exponential and i0e, whose errors, 0.6 and 1.6, add",
    "ndtri, x near 0 float64": "the square root of a logarithm is rounded before a rational "
                               "function is taken of it",
    "ndtri, x near 0.5 float64": "x - 1/2 is a factor of a rational function, of which three terms "
                                 "are rounded",
    "fresnel[1] float64": "below 1.6 the powers of the series are rounded; 6e-16 at the most",
    "sici[0] float64": "half of one sum more is rounded; 5e-16 at the most",
    "sici[1] float64": _ZERO + " (3.38)",
}
"""Why an error of `function dtype` is above 2 ulp and above the other library's."""

_HEAD = """# Accuracy of special functions

The largest error of each function of `scipy.special` on a grid of some hundred points, in units in
the last place of the right value, on a CPU; of complex numbers relative to their size. The right
values are mpmath's with 40 digits. `tests/accuracy/grid.py` has the points; `make numeric` measures
again and fails where an error is larger than 2 and than JAX's without a reason given here. The
columns of JAX are of release 0.10.2, that of `erfcinv` of 0.12.0.1. Near a zero that is no round
number (of `digamma`, `expi`,
Bessel functions, the sine and cosine integrals, `log_ndtr` above 0) an error that is small
beside the terms is large in this unit.

| function | float32 | JAX | float64 | JAX | |
|---|--:|--:|--:|--:|---|
"""


def worse(own: Errors, others: Errors) -> list[str]:
    """What is above 2 ulp and above the other library's, without a reason."""
    return [f"{name} {dtype}: {error} ulp, the other library's {others[name][dtype]}"
            for name, errors in own.items() for dtype, error in errors.items()
            if f"{name} {dtype}" not in REASONS
            and float(error) > max(2.0, float(others[name][dtype]))]


_COMPILED = """
## Compiled programs

`python -m tests.compiled` compares random compiled programs with the NumPy evaluator, exactly
where no operation rounds (CONTRIBUTING.md, Tests). In an hour each, on one core that others
shared, 15,271 programs ran with jaxlib 0.10.2 and 16,069 with 0.12.0.1, a quarter of them over
divided arrays. They had 44 and 39 findings. Most are programs that XLA's partitioner gets wrong:
convolutions in groups, gathers, slices by steps, padding between elements, minima and maxima at
indices. On one device they are a crash in some convolutions with dilation, NaN that windows of one
element lost, and products of `bfloat16` in `float32` whose result is transposed. All of these are
mended, and a program of nearly every kind was run again; the others were faults of the search:
signs of zeros, subnormal numbers, branches of bools. With jaxlib 0.11.2 36 minutes, after these
mends, found one: padding was lost at windows of one element along an axis of size 1, on every
version. It is mended too.

Again an hour each, on cores that many others shared: 2,054 programs with 0.10.2 had one finding, a
fault of the search (which of 0.0 and -0.0 is greater), and 2,160 with 0.12.0.1 two: an array and
its first elements that devices need whole, and sums over windows of arrays padded between elements.
Others came up beside these: arithmetic of 8-bit integers beside their maximum, and convolutions of
divided images by kernels with divided features. All are mended.

What finds a fault that is known: each mend was taken out alone, and the search run on jaxlib
0.10.2, in processes of one device or of eight, until it found something or 200 programs had run.

| mend | how it was taken out | found at program |
|---|---|---|
| maxima and minima keep NaN | needed forms of `reduce_max` and `reduce_min` | 31, and 3 more |
| so in windows that do not overlap | needed forms of `reduce_window_max` and `_min` | 43 |
| sums of repeated terms do not race | `sum_of_repeated`, `repeats_somewhere` | 61, at call 26 |
| sums of products over seven axes | the form `sum_over_merged_axes` | 10, a crash |
| base dilation of windows | dilation stays in `reduce_window` | 26 |
| negative padding of windows | it stays in `reduce_window` | 28, a crash |
| negative padding of `pad` | it stays in `pad` | 9, on eight devices; a crash at 160 |
| starts out of range | they are converted, not clamped | 87 |
| unsigned indices | they are not widened | 96, an error |
| tests of loops | no test is written as two comparisons | 191 |
| joined cropped arrays, devices | negative padding stays in `pad` | 182, an error, eight devices |
| arrays and their first elements, devices | slices read no copies | 9, an error, eight devices |

Two more of what was once found are no faults of values, which no search of values finds: functions
that are simplified at overflow are told in porting.md, and sums of squares of differences are
written for speed.
"""


def page(recorded: dict[str, Errors]) -> str:
    """docs/accuracy.md."""
    own, others = recorded["xfront"], recorded["jax"]
    rows = []
    for name in own:
        reason = "; ".join(f"{dtype}: {REASONS[f'{name} {dtype}']}" for dtype in own[name]
                           if f"{name} {dtype}" in REASONS)
        cells = (f"{own[name][dtype]} | {others[name][dtype]}" for dtype in own[name])
        rows.append(f"| `{name}` | {' | '.join(cells)} | {reason} |")
    return _HEAD + "\n".join(rows) + "\n" + _COMPILED
