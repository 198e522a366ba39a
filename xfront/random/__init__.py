"""Random numbers from explicit keys; streams are those of the threefry generator by default."""

from typing import TYPE_CHECKING
from typing import Any as _Any

from ..base.on_demand import absent as _absent
from ..base.on_demand import shown as _shown
from .bits import bernoulli, bits, rademacher, randint, uniform
from .counts import binomial, geometric, multinomial, poisson
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
from .gammas import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from .keys import (
    Key,
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
from .vectors import multivariate_normal, orthogonal

if TYPE_CHECKING:
    random_gamma_p: _Any


def __getattr__(name: str) -> _Any:
    """The primitive `random_gamma_p`, made on first use."""
    if name != "random_gamma_p":
        raise _absent(__name__, name, __dir__)
    from ..eager.primitives import named

    found = globals()[name] = named(name)
    return found


__all__ = [
    "Key", "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy",
    "chisquare", "choice", "clone", "dirichlet", "double_sided_maxwell", "exponential", "f",
    "fold_in", "gamma", "generalized_normal", "geometric", "gumbel", "key", "key_data", "key_dtype",
    "key_impl", "laplace", "loggamma", "logistic", "lognormal", "maxwell", "multinomial",
    "multivariate_normal", "normal", "orthogonal", "pareto", "permutation", "poisson", "rademacher",
    "randint", "random_gamma_p", "rayleigh", "split", "t", "triangular", "truncated_normal",
    "uniform", "wald", "weibull_min", "wrap_key_data",
]
__dir__ = _shown(globals())
