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
version. It is mended too. The hours have not been repeated since; ten minutes on 0.10.2 found
slices of slices by indices, which are mended.

What finds a fault that is known: each mend was taken out alone, and the search run on jaxlib
0.10.2 for 200 programs of one kind of process, with other seeds where the generator was made to
reach it.

| mend | found |
|---|---|
| maxima and minima keep NaN | 6 times |
| so in windows that do not overlap | once |
| sums of repeated terms do not race | not among 200; twice in 25 of such sums alone |
| sums of products over seven axes | once, a crash |
| base dilation of windows | twice |
| negative padding of windows | once, a crash |
| negative padding of `pad` | no: its own test is right without it |
| starts out of range | twice |
| unsigned indices | once wrong; four programs that XLA refuses without it |
| tests of loops | once in the first of two runs |
| concatenations of cropped arrays, devices | no: its own test is right without it |
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
