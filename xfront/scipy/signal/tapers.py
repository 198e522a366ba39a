"""Windows by name, one period of n samples, in double precision.

A window of n samples that repeats is the symmetric one of n + 1 without its last sample. Source:
`scipy.signal.get_window`; Harris, On the use of windows for harmonic analysis with the discrete
Fourier transform, 1978.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# sum_k (-1)^k a[k] cos(2 pi k t)
_SERIES = {
    **dict.fromkeys(("boxcar", "rectangular", "box", "ones", "rect"), (1.0,)),
    **dict.fromkeys(("hann", "han"), (0.5, 0.5)),
    **dict.fromkeys(("hamming", "hamm", "ham"), (0.54, 0.46)),
    **dict.fromkeys(("blackman", "black", "blk"), (0.42, 0.5, 0.08)),
    **dict.fromkeys(("nuttall", "nutl", "nut"), (0.3635819, 0.4891775, 0.1365995, 0.0106411)),
    **dict.fromkeys(("blackmanharris", "blackharr", "bkh"), (0.35875, 0.48829, 0.14128, 0.01168)),
    **dict.fromkeys(("flattop", "flat", "flt"),
                    (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368)),
}


def _series(terms: Sequence[float], n: int) -> np.ndarray:
    t = np.arange(n) / n
    return np.sum([(-1) ** k * a * np.cos(2 * np.pi * k * t) for k, a in enumerate(terms)], 0)


def _centred(n: int) -> np.ndarray:
    """The samples counted from the middle."""
    return np.arange(n) - n / 2


def _cosine(n: int) -> np.ndarray:
    return np.sin(np.pi * (np.arange(n) + 0.5) / (n + 1))


def _bartlett(n: int) -> np.ndarray:
    return 1 - np.abs(2 * np.arange(n) / n - 1)


def _triangle(n: int) -> np.ndarray:
    return 1 - np.abs(_centred(n)) / ((n + 2) // 2 if n % 2 else n / 2 + 1)


def _parzen(n: int) -> np.ndarray:
    x = np.abs(_centred(n)) / ((n + 1) / 2)
    return np.where(x <= n / (2 * (n + 1)), 1 - 6 * x ** 2 + 6 * x ** 3, 2 * (1 - x) ** 3)


def _bohman(n: int) -> np.ndarray:
    x = np.abs(2 * np.arange(n) / n - 1)
    return (1 - x) * np.cos(np.pi * x) + np.sin(np.pi * x) / np.pi


def _bartlett_hann(n: int) -> np.ndarray:
    x = np.abs(np.arange(n) / n - 0.5)
    return 0.62 - 0.48 * x + 0.38 * np.cos(2 * np.pi * x)


def _kaiser(n: int, beta: float) -> np.ndarray:
    return np.kaiser(n + 1, beta)[:n]


def _gaussian(n: int, std: float) -> np.ndarray:
    return np.exp(-0.5 * (_centred(n) / std) ** 2)


def _general_gaussian(n: int, p: float, sig: float) -> np.ndarray:
    return np.exp(-0.5 * np.abs(_centred(n) / sig) ** (2 * p))


def _exponential(n: int, center: float | None = None, tau: float = 1.0) -> np.ndarray:
    return np.exp(-np.abs(np.arange(n) - (n / 2 if center is None else center)) / tau)


def _tukey(n: int, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(n)
    inside = np.minimum(np.arange(n), n - np.arange(n)) / (min(alpha, 1.0) * n / 2)
    return np.where(inside < 1, 0.5 * (1 - np.cos(np.pi * inside)), 1.0)


def _general_hamming(n: int, alpha: float) -> np.ndarray:
    return _series((alpha, 1 - alpha), n)


def _general_cosine(n: int, terms: Sequence[float]) -> np.ndarray:
    return _series(terms, n)


_NAMED: dict[str, Callable[..., np.ndarray]] = {
    **dict.fromkeys(("cosine", "halfcosine"), _cosine),
    **dict.fromkeys(("bartlett", "bart", "brt"), _bartlett),
    **dict.fromkeys(("triangle", "triang", "tri"), _triangle),
    **dict.fromkeys(("parzen", "parz", "par"), _parzen),
    **dict.fromkeys(("bohman", "bman", "bmn"), _bohman),
    **dict.fromkeys(("barthann", "brthan", "bth"), _bartlett_hann),
    **dict.fromkeys(("kaiser", "ksr"), _kaiser),
    **dict.fromkeys(("gaussian", "gauss", "gss"), _gaussian),
    **dict.fromkeys(("general_gaussian", "general gaussian", "general gauss", "general_gauss",
                     "ggs"), _general_gaussian),
    **dict.fromkeys(("exponential", "poisson"), _exponential),
    **dict.fromkeys(("tukey", "tuk"), _tukey),
    "general_hamming": _general_hamming, "general_cosine": _general_cosine,
}
_TAKES = {_kaiser: (1, 1), _gaussian: (1, 1), _general_gaussian: (2, 2), _exponential: (0, 2),
          _tukey: (0, 1), _general_hamming: (1, 1), _general_cosine: (1, 1)}
"""How many parameters a window needs and takes; the others have none."""


def taper(name: str, window: Any, n: int) -> np.ndarray:
    """The values of a window, one period of n.

    Args:
      name: function to name in errors.
      window: a name, a tuple of a name and its parameters, or a number: the beta of "kaiser".
    Raises: ValueError for other names and numbers of parameters.
    """
    if isinstance(window, (int, float)) and not isinstance(window, bool):
        window = ("kaiser", window)
    called, *given = window if isinstance(window, tuple) and window else (window,)
    if not isinstance(called, str):
        raise ValueError(f"{name}: window must be an array, a name, a tuple of a name and its "
                         f"parameters or the beta of a Kaiser window, got {window!r}")
    if called not in _SERIES and called not in _NAMED:
        raise ValueError(f"{name}: the window {called!r} is not known; pass its values as an "
                         f"array, or one of the names {', '.join([*_SERIES, *_NAMED])}")
    make = _NAMED.get(called)
    least, most = (0, 0) if make is None else _TAKES.get(make, (0, 0))
    if not least <= len(given) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise ValueError(f"{name}: the window {called!r} takes {wanted} parameters in a tuple "
                         f"after its name, got {window!r}")
    if n == 1:
        return np.ones(1)
    return _series(_SERIES[called], n) if make is None else make(n, *given)
