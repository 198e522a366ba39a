"""Random numbers from explicit keys; streams are those of the threefry generator by default."""

from .bits import bernoulli, bits, rademacher, randint, uniform
from .distributions import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from .keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from .permuting import categorical, choice, permutation

__all__ = [
    "PRNGKey", "bernoulli", "bits", "categorical", "cauchy", "choice", "clone",
    "double_sided_maxwell", "exponential", "fold_in", "gumbel", "key", "key_data", "key_dtype",
    "key_impl", "laplace", "logistic", "lognormal", "maxwell", "normal", "pareto", "permutation",
    "rademacher", "randint", "rayleigh", "split", "triangular", "truncated_normal", "uniform",
    "wald", "weibull_min", "wrap_key_data",
]
