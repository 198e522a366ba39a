"""Distributions and statistics of SciPy.

Each distribution is a module of functions: `stats.norm.logpdf(x, loc, scale)`. They promote and
broadcast their arguments, and give floats for integers. An invalid parameter (such as a scale that
is not positive) gives NaN, as NaN does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.on_demand import on_demand

_FAMILIES = {"kernels": "gaussian_kde", "summaries": "mode rankdata sem"}

if TYPE_CHECKING:
    from . import (
        bernoulli,
        beta,
        betabinom,
        binom,
        cauchy,
        chi2,
        dirichlet,
        expon,
        gamma,
        gennorm,
        geom,
        gumbel_l,
        gumbel_r,
        laplace,
        logistic,
        multinomial,
        multivariate_normal,
        nbinom,
        norm,
        pareto,
        poisson,
        t,
        truncnorm,
        uniform,
        vonmises,
        wrapcauchy,
    )
    from .kernels import *
    from .summaries import *
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, _FAMILIES, (
        "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma",
        "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial",
        "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform",
        "vonmises", "wrapcauchy"))
