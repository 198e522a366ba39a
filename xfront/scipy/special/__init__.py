"""Special functions of SciPy: they promote and broadcast, and give floats of integers.

Sources: `scipy.special`; NIST Digital Library of Mathematical Functions. The functions with an op
of their own are in `lax`; here are those built of them. Errors: TypeError for what is no array,
ValueError for complex numbers where a function of real ones is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...nn.normalizers import logsumexp
from ...on_demand import on_demand

_FAMILIES = {
    "bessel": "i0 i0e i1 i1e",
    "entropies": "boxcox boxcox1p entr kl_div rel_entr xlog1py xlogy",
    "gammas":
        "beta betainc betaln digamma factorial gamma gammainc gammaincc gammaln gammasgn loggamma "
        "multigammaln poch polygamma zeta",
    "shares": "log_softmax softmax",
    "normal": "erf erfc erfinv expit log_ndtr logit ndtr ndtri",
}

if TYPE_CHECKING:
    from .bessel import *
    from .entropies import *
    from .gammas import *
    from .normal import *
    from .shares import *
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, _FAMILIES)
    __all__ += ["logsumexp"]
