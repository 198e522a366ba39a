"""Distributions and functions of `scipy.stats`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.stats

from .row import Row, default_float
from .special_rows import measured

WHY = "as docs/accuracy.md says of the special functions that it is made of"
COMMON: dict[str, Any] = dict(dtypes=("float32", "float64", "bfloat16", "int32"), ulps=32.0,
                              backward=32.0, why=WHY)
TABLE: dict[str, tuple[tuple[str, ...], str]] = {
    # of each distribution the domains of its operands, and which of them it is called with
    "bernoulli": (("powers", "share"), "i, b"),
    "beta": (("share", "positive", "positive"), "a, b, c"),
    "betabinom": (("powers", "positive", "positive"), "i, 5, b, c"),
    "binom": (("powers", "share"), "i, 5, b"), "cauchy": (("usual",), "a"),
    "chi2": (("positive",), "a, b"), "expon": (("positive",), "a"),
    "gamma": (("positive",), "a, b"), "gennorm": (("usual", "positive"), "a, b"),
    "geom": (("powers", "share"), "i + 1, b"), "gumbel_l": (("small",), "a"),
    "gumbel_r": (("small",), "a"), "laplace": (("usual",), "a"), "logistic": (("usual",), "a"),
    "nbinom": (("powers", "positive", "share"), "i, b, c"), "norm": (("usual",), "a"),
    "pareto": (("above 1", "positive"), "a, b"), "poisson": (("powers", "positive"), "i, b"),
    "t": (("usual", "positive"), "a, b"), "truncnorm": (("unit", "positive"), "a, -2, b + 1"),
    "uniform": (("share",), "a"), "vonmises": (("usual", "positive"), "a, b"),
    "wrapcauchy": (("positive", "share"), "a, b"),
}
DISCRETE = tuple(name for name, (_, given) in TABLE.items() if given.startswith("i"))
WITHOUT_PLACE = ("gennorm", "vonmises", "wrapcauchy")
MADE_OF = {"beta": measured("betainc"), **dict.fromkeys(("gamma", "chi2", "poisson"),
                                                         measured("gammainc"))}
"""The errors of what they are made of."""
SHARES = ("ppf", "isf")


def _text(arguments: str, shapes: tuple[str, str, str], more: str = "") -> str:
    for letter, shape in zip("aibc", (shapes[0], *shapes)):
        parts = [part.replace(letter, f"{letter}[{shape}]", 1) for part in arguments.split(", ")]
        arguments = ", ".join(parts)
    return f"f({arguments}{more})"


def _taken(domains: Sequence[str]) -> Sequence[str]:
    """Integers are no shares."""
    dtypes: Sequence[str] = COMMON["dtypes"]
    return [d for d in dtypes if d != "int32"] if "share" in domains else dtypes


def _of(name: str) -> list[Row]:
    domains, arguments = TABLE[name]
    rows = []
    for kind in importlib.import_module(f"xfront.scipy.stats.{name}").__all__:
        given, where = arguments, domains
        if kind in SHARES:
            given, where = given.replace("i", "a"), ("share", *domains[1:])
        if kind == "entropy":
            given, where = "a", domains[1:]
        if kind in ("logcdf", "logsf") or name in ("gamma", "chi2"):
            # logarithms are of numbers that may be below the normal ones, and what 1 - cdf
            # leaves of a small share is rounded
            where = ["middle" if domain == "positive" else domain for domain in where]
        slopes = not (name == "beta" and "pdf" not in kind)     # by the parameters there are none
        calls = [_text(given, ("5", "5", "5")), _text(given, ("()", "()", "()")),
                 _text(given, ("2, 1", "3", "()"))]
        if name not in WITHOUT_PLACE and (name, kind) not in (
                ("bernoulli", "ppf"), ("bernoulli", "cdf")):
            calls.append(_text(given, ("5", "5", "5"), ", loc=1" if name in DISCRETE else
                               ", loc=0.25, scale=2"))
        rows.append(Row(f"scipy.stats.{name}.{kind}", calls, where,
                        reference=getattr(getattr(scipy.stats, name), kind), grad=slopes,
                        **{**COMMON, "ulps": MADE_OF.get(name, 32.0), "dtypes": _taken(where)}))
    return rows


REALS = ("float32", "float64")
ROWS = [
    *[row for name in TABLE for row in _of(name)],
    *[Row(f"scipy.stats.dirichlet.{kind}", ("f(a[3] / np.sum(a[3]), b[3])",), ("positive",),
          reference=lambda x, alpha, kind=kind: getattr(scipy.stats.dirichlet, kind)(
              np.asarray(x, float) / np.sum(np.asarray(x, float)), alpha),
          **{**COMMON, "dtypes": REALS, "close": 0.0}) for kind in ("logpdf", "pdf")],
    *[Row(f"scipy.stats.multinomial.{kind}", ("f(N.array([1, 2, 1]), 4, a[3] / np.sum(a[3]))",),
          ("positive",), reference=lambda x, n, p, kind=kind: getattr(
              scipy.stats.multinomial, kind)(x, n, np.asarray(p, float)), grad=False,
          **{**COMMON, "dtypes": REALS}) for kind in ("logpmf", "pmf")],
    *[Row(f"scipy.stats.multivariate_normal.{kind}", ("f(a[3], b[3], s[3, 3])",
          "f(a[4, 2], b[2], s[2, 2])"), ("usual",),
          reference=getattr(scipy.stats.multivariate_normal, kind),
          **{**COMMON, "dtypes": REALS}) for kind in ("logpdf", "pdf")],
    Row("scipy.stats.mode", ("f(a[7])", "f(a[3, 4], axis=1)", "f(a[3, 4], axis=None)",
        "f(a[3, 4], axis=0, keepdims=True)"), ("ties",), grad=False,
        dtypes=("int32", "int8", "float32", "float64")),
    Row("scipy.stats.rankdata", ("f(a[7])", "f(a[3, 4], axis=1)", "f(a[7], 'min')",
        "f(a[7], method='dense')", "f(a[7], 'ordinal')", "f(a[7], 'max')"), ("ties",), grad=False,
        result=default_float,
        dtypes=("int32", "int8", "float32", "float64")),
    Row("scipy.stats.sem", ("f(a[7])", "f(a[3, 4], axis=1)", "f(a[3, 4], axis=None, ddof=0)"),
        ("usual",), dtypes=("int32", "float32", "float64", "bfloat16"), scale="largest"),
]
