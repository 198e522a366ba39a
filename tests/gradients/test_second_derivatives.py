"""First and second derivatives at special points, beside those of the library of reference.

    pytest tests/gradients/test_second_derivatives.py                  a sample of the functions
    XFRONT_GENERATED=1 pytest tests/gradients/test_second_derivatives.py       all (`make numeric`)

Reverse mode gives what was recorded, has a value where the other library has NaN, or the row is in
`OTHERS` with the reason. Forward mode gives what reverse mode does, but for points where something
is infinite: it multiplies the zeros of other directions with that.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import xfront
from xfront.base.config import enable_x64

from . import rows, twice

RECORDED = json.loads((Path(__file__).parents[1] / "recorded/second_derivatives.json").read_text())
OUTSIDE = "NaN outside the domain, where the function is NaN"
INFINITE = "at infinity, or where the value is, differences of infinities are NaN"
PRODUCT = "a slope is a product of the other factors, and that of an infinity and 0 is NaN"
OTHERS = {
    "numpy.arccosh": OUTSIDE, "lax.acosh": OUTSIDE, "numpy.arctanh": OUTSIDE, "lax.atanh": OUTSIDE,
    "nn.log1mexp": OUTSIDE, "special.digamma": OUTSIDE, "lax.digamma": OUTSIDE,
    "special.gammaln": OUTSIDE, "lax.lgamma": OUTSIDE, "special.multigammaln": OUTSIDE,
    "special.loggamma": OUTSIDE,
    "numpy.i0": "its second derivative at 0 is 1/2", "special.i0": "is flat at 0",
    "special.i1": "its second derivative at 0 is 0",
    "numpy.modf": "the fraction of an infinity is 0",
    "nn.celu": "a corner of the slope: that from the left",
    "special.dawsn": "the other's is rounding", "special.erfcx": "the other's is rounding",
    "special.ndtri": "the slope is infinite at the ends",
    "special.spence": "the slope is log(x) / (1 - x): infinite at 0, -1 at 1",
    "special.fresnel": "that of C at 1 is -pi", "numpy.ldexp": "8 x has slope 8 at 0 too",
    "numpy.logaddexp": "the shares of an infinity and a number are 1 and 0",
    "numpy.logaddexp2": "the shares of an infinity and a number are 1 and 0",
    "lax.cumlogsumexp": "the shares of an infinity and a number are 1 and 0",
    "special.boxcox": "its slope in the exponent at 0 is log(x)^2 / 2",
    "special.boxcox1p": "its slope in the exponent at 0 is log1p(x)^2 / 2",
    "special.xlogy": "0 for x = 0 whatever y is",
    "numpy.partition": "in which order the parts stand is not said",
    "nn.logsumexp[b]": "a weight of 0 has a slope; where all are 0 there is none",
    "nn.logsumexp[return_sign]": "a weight of 0 has a slope; where all are 0 there is none",
    "numpy.linalg.norm, 1": "at 0 another subgradient",
    "numpy.linalg.norm, 2": "at 0 another subgradient",
    "numpy.linalg.qr": "a singular matrix has no derivative",
    "special.zeta": "NaN where the function is: q = 0 and infinity",
    "special.poch": INFINITE,
    "lax.cumprod": PRODUCT, "lax.cumprod[reverse]": PRODUCT, "numpy.cumprod": PRODUCT,
    "numpy.cumulative_prod": PRODUCT, "numpy.nancumprod": PRODUCT,
}
"""Why a row differs where the library of reference has a number."""
AT_INFINITY = (PRODUCT, INFINITE)
"""Reasons for points with an infinity alone; at the others such a row has the recorded numbers."""
CASES = twice.all_cases(rows)
CHOSEN = [name for name in CASES if name in RECORDED]
MENDED = ["numpy.power", "special.logit", "numpy.frexp", "special.betainc", "special.gamma"]
SAMPLE = CHOSEN if "XFRONT_GENERATED" in os.environ else [*MENDED, *CHOSEN[::30]]
PART = 8
"""Rows of one test."""


def _is_near(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each point, whether all of its numbers agree to 1e-6, or are both NaN."""
    with np.errstate(all="ignore"):
        near = np.abs(x - y) <= 1e-6 * np.maximum(np.abs(y), 1e-6)
        return (near | (x == y) | (np.isnan(x) & np.isnan(y))).all(1)


def _told(name: str, what: str, bad: np.ndarray, got: np.ndarray, wanted: np.ndarray) -> list[str]:
    given = CASES[name][1]
    return [f"{name}: {what} at {[p[i].tolist() for p in given]}: {got[i].tolist()} instead of "
            f"{wanted[i].tolist()}" for i in np.flatnonzero(bad)]


def faults(name: str) -> list[str]:
    """What is wrong with a row."""
    f, given = CASES[name]
    with enable_x64(True):
        reverse, forward = (twice.at_special_points(xfront, f, given, way)
                            for way in (False, True))
    known = np.all([np.isfinite(x.reshape(len(x), -1)).all(1) for x in (*given, *reverse)], 0)
    others, found = [], []
    for order, (back, ahead) in enumerate(zip(reverse, forward, strict=True), 1):
        theirs = np.array(RECORDED[name][order - 1], np.float64).reshape(back.shape)
        bad = ~_is_near(np.where(np.isnan(theirs), np.nan, back), theirs)
        others += _told(name, f"derivative {order}", bad, back, theirs)
        if name != "numpy.linalg.qr":
            found += _told(name, f"forward derivative {order}", known & ~_is_near(ahead, back),
                           ahead, back)
        if OTHERS.get(name) in AT_INFINITY:
            finite = np.all([np.isfinite(p.reshape(len(p), -1)).all(1) for p in given], 0)
            found += _told(name, f"derivative {order}", bad & finite, back, theirs)
    if name not in OTHERS:
        return others + found
    return found if others else [f"{name} is as in the library of reference, and in OTHERS"]


@pytest.mark.parametrize("part", range(0, len(SAMPLE), PART))
def test_derivatives_at_special_points(part: int) -> None:
    found = [fault for name in SAMPLE[part:part + PART] for fault in faults(name)]
    shown = "\n".join(found[:20])
    assert not found, f"{len(found)} derivatives are others:\n{shown}"


def test_every_function_of_the_list_is_there() -> None:
    assert set(OTHERS) <= set(CHOSEN)
    assert len(CHOSEN) > 300
