"""At which points the accuracy of each special function is measured.

Points are no round numbers, and those of float64 use all of its digits.
"""

from __future__ import annotations

import numpy as np

_COUNT = 601


def line(low: float, high: float) -> np.ndarray:
    """Points at equal distances, beside round numbers."""
    return np.linspace(low, high, _COUNT) + (high - low) * 1e-5 / np.pi


def decades(low: float, high: float) -> np.ndarray:
    """Points from 10^low to 10^high at equal ratios."""
    return np.logspace(low, high, _COUNT) * (1 + 1e-5 / np.pi)


def cycle(*values: float) -> np.ndarray:
    return np.resize(values, _COUNT)


def near(*places: float) -> np.ndarray:
    """Points at both sides of some places, at distances from 1e-12 to 0.1 of their size."""
    steps = np.logspace(-12, -1, 45) * (1 + 1e-5 / np.pi)
    return np.concatenate([x + side * steps * (abs(x) or 1.0) for x in places for side in (1, -1)])


def few(low: float, high: float) -> np.ndarray:
    """A fifth of the points of `decades`, for ends of a range."""
    return decades(low, high)[::5]


def whole(low: int, high: int) -> np.ndarray:
    """Integers, both included."""
    return np.arange(low, high + 1).astype(float)


WIDE = np.concatenate([line(-12, 12), decades(-9, 3), -decades(-9, 3)])
POSITIVE = np.concatenate([line(0.01, 40), decades(-9, 3)])
UNIT = np.concatenate([line(1e-4, 0.9999), decades(-9, -1)])
A, B = cycle(0.3, 1.0, 2.5, 7.0, 30.0), cycle(0.7, 4.0, 1.5)
SHARES = cycle(1e-6, 0.001, 0.01, 0.1, 0.4, 0.9)
PLANE = line(-9, 9) + 1j * cycle(0.3, 4.0, -1.2, 9.0, 0.01, -3.0, 1.0)

GRID: dict[str, tuple[np.ndarray, ...]] = {
    "bessel_jn(x, v=0)": (line(0, 20),),
    "bessel_jn(x, v=5)": (line(0, 20),),
    "beta": (A, line(0.1, 20)),
    "betainc": (A, B, line(0.001, 0.999)),
    "betaln": (A, line(0.1, 50)),
    "boxcox": (POSITIVE[:_COUNT], cycle(-1.5, 0.0, 0.3, 1e-5, 2.0)),
    "boxcox1p": (POSITIVE[_COUNT:], cycle(-1.5, 0.0, 0.3, 1e-5, 2.0)),
    "comb": (cycle(3, 10, 20, 30), cycle(2, 5, 1)),
    "dawsn": (WIDE,),
    "digamma": (POSITIVE,),
    "digamma, x < 0": (line(-9.7, -0.1),),
    "entr": (POSITIVE,),
    "erf": (WIDE,),
    "erfc": (line(-5, 9),),
    "erfcinv": (decades(-30, 0.3),),
    "erfcx": (line(-4, 40),),
    "erfinv": (line(-0.9999, 0.9999),),
    "exp1": (decades(-3, 1.9),),
    "expi": (line(0.5, 80),),
    "expi, x < 0": (-decades(-3, 1.9),),
    "expit": (line(-80, 80),),
    "expn(1, x)": (decades(-3, 1.9),),
    "expn(2, x)": (decades(-3, 1.9),),
    "expn(5, x)": (decades(-3, 1.9),),
    "factorial": (line(0, 30),),
    "fresnel[0]": (line(-8, 8),),
    "fresnel[1]": (line(-8, 8),),
    "gamma": (line(0.01, 33),),
    "gamma, x < 0": (line(-9.7, -0.1),),
    "gammainc": (A, line(0.01, 60)),
    "gammainc, a < 1": (SHARES, decades(-9, 1.5)),
    "gammaincc": (A, line(0.01, 30)),
    "gammaincc, a < 1": (SHARES, decades(-9, 1.5)),
    "gammaln": (POSITIVE,),
    "hyp1f1": (A, B, line(-20, 20)),
    "hyp2f1": (B, A / 4, 1.6 + B, line(-0.95, 0.9)),
    "i0": (line(-80, 80),),
    "i0e": (WIDE,),
    "i1": (line(-80, 80),),
    "i1e": (WIDE,),
    "kl_div": (POSITIVE[:_COUNT], cycle(0.3, 2.0, 11.0)),
    "log_ndtr": (line(-50, 8),),
    "loggamma": (PLANE,),
    "logit": (UNIT,),
    "multigammaln(x, 3)": (line(1.1, 40),),
    "ndtr": (line(-12, 8),),
    "ndtri": (UNIT,),
    "owens_t": (line(-6, 6), cycle(0.3, -1.0, 2.5, 40.0)),
    "poch": (A, line(0.1, 8)),
    "polygamma(1, x)": (line(0.1, 50),),
    "polygamma(3, x)": (line(0.1, 50),),
    "rel_entr": (POSITIVE[:_COUNT], cycle(0.3, 2.0, 11.0)),
    "sici[0]": (line(-40, 40),),
    "sici[1]": (line(0.01, 40),),
    "spence": (POSITIVE,),
    "wofz": (PLANE,),
    "xlog1py": (A, decades(-9, 3)),
    "xlogy": (A, decades(-9, 3)),
    "zeta": (line(1.1, 20), B),
    "beta, a > 1e4": (cycle(1e4, 3e5, 1e6), line(1e-3, 8)),
    "betaln, a > 1e4": (cycle(1e4, 3e5, 1e7), decades(-3, 7)),
    "boxcox, x near 1": (near(1.0), np.resize((-1.5, 0.3, 2.0), 90)),
    "comb, n > 50": (cycle(60, 100, 120), cycle(2, 5, 1, 20)),
    "digamma, x near 1": (near(1.0, 2.0, 3.0),),
    "entr, x near 1": (near(1.0),),
    "erfinv, x near 0": (near(0.0),),
    "erfinv, x near 1": (1 - decades(-6, -1),),
    "gamma, x near 1": (near(1.0, 2.0, 3.0, 20.0),),
    "gammaln, x < 0": (line(-9.7, -0.1),),
    "gammaln, x near 1": (near(1.0, 2.0, 3.0),),
    "gammaln, x > 1e3": (decades(3, 30),),
    "logit, x near 0.5": (near(0.5),),
    "ndtri, x near 0.5": (near(0.5),),
    "poch, m near 0": (np.resize((0.3, 2.5, 30.0), 90), near(0.0)),
    "rel_entr, x near 2": (near(2.0), np.resize((2.0,), 90)),
    "spence, x near 1": (near(1.0),),
    "xlogy, y near 1": (np.resize((0.3, 2.5), 90), near(1.0)),
    "zeta, x near 1": (near(1.0)[:45], np.resize((0.7, 4.0), 45)),
    "digamma, x near 1.46": (near(1.4616321449683622),),
    "digamma, x > 10": (np.concatenate([few(1, 30), whole(1, 40)]),),
    "entr, x near 0": (few(-37, 0),),
    "erf, x near 0": (np.concatenate([few(-37, 0), near(1.0)]),),
    "erfcx, x > 1": (few(0, 9),),
    "exp1, x near 1": (np.concatenate([whole(1, 60), near(1.0)]),),
    "expi, x near 0.37": (np.concatenate([near(0.37250741078136663), whole(1, 60)]),),
    "gamma, x near 0": (np.concatenate([few(-37, 0), whole(1, 34)]),),
    "gammaln, x near 0": (few(-37, 0),),
    "gammaln, x < -2": (near(-2.4570247382208006, -2.7476826467274127),),
    "i0, x near 0": (np.concatenate([few(-30, 0), whole(0, 80)]),),
    "i1, x near 0": (np.concatenate([few(-30, 0), whole(1, 80)]),),
    "log_ndtr, x near 0": (np.concatenate([near(0.0), -decades(1, 6)[::10]]),),
    "logit, x near 1": (np.concatenate([1 - few(-7, -1), few(-37, -1)]),),
    "ndtr, x near 0": (near(0.0),),
    "ndtri, x near 0": (few(-37, -1),),
    "rel_entr, x near 0": (few(-37, 0), np.resize((0.3, 2.0, 1e-20), 121)),
    "spence, x near 0": (np.concatenate([few(-37, 0), few(0, 30)]),),
    "zeta, x > 20": (whole(2, 40), np.resize((1.0, 0.7, 3.0), 39)),
}
"""By how a function is called: its arguments."""

OTHERS = {
    "bernoulli": "it is a table",
    "gammasgn": "it gives signs",
    "log_softmax": "it reduces an axis: the error is that of the sum",
    "logsumexp": "it reduces an axis: the error is that of the sum",
    "softmax": "it reduces an axis: the error is that of the sum",
    "lpmn": "tested in tests/xfront/scipy, in place of an argument it has tables of orders",
    "lpmn_values": "as lpmn",
    "sph_harm_y": "it is a product of Legendre functions, tested in tests/xfront/scipy",
}
"""Functions that are not measured, and why."""
