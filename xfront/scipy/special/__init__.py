"""Special functions of SciPy: they promote and broadcast, and give floats for integers.

Sources: `scipy.special`; NIST Digital Library of Mathematical Functions. Functions with an op of
their own are in `lax`; those built on them are here. Errors: TypeError for an argument that is not
an array, ValueError for complex numbers where a function takes real ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.on_demand import on_demand
from ...numpy.normalizers import logsumexp

_FAMILIES = {
    "bessel": "bessel_jn i0 i0e i1 i1e",
    "counting": "bernoulli comb",
    "entropies": "boxcox boxcox1p entr kl_div rel_entr xlog1py xlogy",
    "faddeeva": "erfcx wofz",
    "gammas":
        "beta betainc betaln digamma factorial gamma gammainc gammaincc gammaln gammasgn loggamma "
        "multigammaln poch polygamma zeta",
    "harmonics": "sph_harm_y",
    "hypergeometric": "hyp1f1 hyp2f1",
    "integrals": "dawsn exp1 expi expn fresnel owens_t sici spence",
    "legendre": "lpmn lpmn_values",
    "shares": "log_softmax softmax",
    "normal": "erf erfc erfcinv erfinv expit log_ndtr logit ndtr ndtri",
}

if TYPE_CHECKING:
    from .bessel import *
    from .counting import *
    from .entropies import *
    from .faddeeva import *
    from .gammas import *
    from .harmonics import *
    from .hypergeometric import *
    from .integrals import *
    from .legendre import *
    from .normal import *
    from .shares import *
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, _FAMILIES)
    __all__ += ["logsumexp"]
