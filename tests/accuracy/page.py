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

`python -m tests.compiled` compares random compiled programs with the NumPy evaluator, exactly where
no operation rounds (CONTRIBUTING.md, Tests). Of the first programs from seed 200,000, 166 ran with
jaxlib 0.10.2, 158 with 0.11.2 and 178 with 0.12.0.1, a quarter of them over divided arrays. On each
version two gave a wrong value, which are mended: a minimum over divided arrays and a maximum of
`float16` lost NaN. Longer runs have not been made yet.
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
