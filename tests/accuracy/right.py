"""Right values by mpmath, as sums of two float64 numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special
from mpmath import mp, mpf

_DIGITS = 40


def _expit(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _log_ndtr(x: Any) -> Any:
    return mp.log(_ndtr(x)) if x < 0 else mp.log1p(-_ndtr(-x))


def _inverse(f: Any, slope: Any, start: float, y: Any) -> Any:
    """Where f is y, by Newton's method."""
    x = mpf(start)
    for _ in range(6):
        x -= (f(x) - y) / slope(x)
    return x


def _ndtri(p: Any) -> Any:
    return _inverse(_ndtr, mp.npdf, float(scipy.special.ndtri(float(p))), p)


def _erfinv(y: Any) -> Any:
    return _inverse(mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
                    float(scipy.special.erfinv(float(y))), y)


def _erfcinv(y: Any) -> Any:
    return _inverse(mp.erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x),
                    float(scipy.special.erfcinv(float(y))), y)


def _owens_t(h: Any, a: Any) -> Any:
    ends = mp.linspace(0, a, 2 + int(2 * abs(a)))
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), ends) / (2 * mp.pi)


def _boxcox(x: Any, power: Any) -> Any:
    return mp.log(x) if power == 0 else mp.expm1(power * mp.log(x)) / power


def _multigammaln(a: Any) -> Any:
    return mp.log(mp.pi) * 3 / 2 + sum(mp.loggamma(a - mpf(k) / 2) for k in range(3))


def _wofz(z: Any) -> Any:
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def _dawsn(x: Any) -> Any:
    if abs(x) < 30:
        return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    return sum(mp.fac2(2 * k - 1) / (2 ** (k + 1) * x ** (2 * k + 1)) for k in range(25))


RIGHT: dict[str, Callable[..., Any]] = {
    "bessel_jn(x, v=0)": lambda x: mp.besselj(0, x),
    "bessel_jn(x, v=5)": lambda x: mp.besselj(5, x),
    "beta": mp.beta,
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "betaln": lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
    "boxcox": _boxcox,
    "boxcox1p": lambda x, power: _boxcox(1 + x, power),
    "comb": mp.binomial,
    "dawsn": _dawsn,
    "digamma": mp.digamma,
    "entr": lambda x: -x * mp.log(x),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "erfcinv": _erfcinv,
    "erfinv": _erfinv,
    "exp1": mp.e1,
    "expi": mp.ei,
    "expit": _expit,
    "expn(1, x)": lambda x: mp.expint(1, x),
    "expn(2, x)": lambda x: mp.expint(2, x),
    "expn(5, x)": lambda x: mp.expint(5, x),
    "factorial": mp.factorial,
    "fresnel[0]": mp.fresnels,
    "fresnel[1]": mp.fresnelc,
    "gamma": mp.gamma,
    "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, regularized=True),
    "gammaln": lambda x: mp.re(mp.loggamma(x)),
    "hyp1f1": mp.hyp1f1,
    "hyp2f1": mp.hyp2f1,
    "i0": lambda x: mp.besseli(0, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1": lambda x: mp.besseli(1, x),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "kl_div": lambda x, y: x * mp.log(x / y) - x + y,
    "log_ndtr": _log_ndtr,
    "loggamma": mp.loggamma,
    "logit": lambda x: mp.log(x / (1 - x)),
    "multigammaln(x, 3)": _multigammaln,
    "ndtr": _ndtr,
    "ndtri": _ndtri,
    "owens_t": _owens_t,
    "poch": mp.rf,
    "polygamma(1, x)": lambda x: mp.polygamma(1, x),
    "polygamma(3, x)": lambda x: mp.polygamma(3, x),
    "rel_entr": lambda x, y: x * mp.log(x / y),
    "sici[0]": mp.si,
    "sici[1]": mp.ci,
    "spence": lambda x: mp.re(mp.polylog(2, 1 - x)),
    "wofz": _wofz,
    "xlog1py": lambda x, y: x * mp.log1p(y),
    "xlogy": lambda x, y: x * mp.log(y),
    "zeta": lambda x, q: mp.zeta(x, q),
}


def right(name: str, given: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The values of a function of the grid: of each the nearest number, and the rest."""
    f = RIGHT[re.split(r", \w (?:<|>|near) ", name)[0]]
    with mpmath.workdps(_DIGITS):
        found = [f(*map(mp.mpmathify, point)) for point in zip(*(x.tolist() for x in given))]
        if any(x.dtype.kind == "c" for x in given):
            near = np.array([complex(v) for v in found])
            return near, np.array([complex(v - mp.mpc(complex(v))) for v in found])
        near = [float(v) for v in found]
        rest = [float(v - n) if math.isfinite(n) else 0.0 for v, n in zip(found, near)]
        return np.array(near), np.array(rest)
