"""Special functions of floats: error functions, gamma, Bessel, incomplete gamma and beta.

As in `elementwise.py`, nothing is promoted. Sources: NIST Digital Library of Mathematical
Functions; CHLO spec. Derivatives are those of `xfront_ir/ops/special.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir import ops

from ..base.docstrings import with_example
from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import by_name, eager
from ..tracing.trace import emit
from .elementwise import Accuracy, binary_of, check_accuracy, floating
from .strict import alike


def _float(name: str, definition: Any, doc: str, shows: str) -> Callable[[ArrayLike], Array]:
    def body(x: ArrayLike) -> Array:
        return emit(definition, floating(name, x))

    body.__name__ = body.__qualname__ = name
    body.__doc__ = with_example(doc, f"lax.{name}", shows)
    return eager(body)


erf = _float("erf", ops.erf, "Error function: 2/sqrt(pi) times the integral of exp(-t^2) to x.",
             "[0., 1.] -> [0.   , 0.843]")


@eager(static=("accuracy",))
def erfc(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """1 - erf(x), exact for large x.

    >>> lax.erfc(jnp.array([0., 1.]))
    Array([1.   , 0.157], dtype=float32)
    """
    check_accuracy("erfc", accuracy)
    return emit(ops.erfc, floating("erfc", x))


erf_inv = _float("erf_inv", ops.erf_inv, "The inverse of erf on (-1, 1).",
                 "[0., 0.5] -> [0.   , 0.477]")
lgamma = _float("lgamma", ops.lgamma, "log |gamma(x)|.", "[1., 4.] -> [0.   , 1.792]")
digamma = _float("digamma", ops.digamma, "Derivative of lgamma.", "[1., 2.] -> [-0.577,  0.423]")
bessel_i0e = _float("bessel_i0e", ops.bessel_i0e,
                    "Modified Bessel function of order 0, times exp(-|x|).",
                    "[0., 1.] -> [1.   , 0.466]")
bessel_i1e = _float("bessel_i1e", ops.bessel_i1e,
                    "Modified Bessel function of order 1, times exp(-|x|).",
                    "[0., 1.] -> [0.   , 0.208]")

polygamma = by_name(binary_of("polygamma", ops.polygamma,
                              "Derivative of order m of digamma at x.",
                              "[1.], [2.] -> [0.645]"), "m", "x")
zeta = by_name(binary_of("zeta", ops.zeta,
                         "Hurwitz zeta function: the sum over k >= 0 of (q + k)^-x.",
                         "[2., 4.], [1., 1.] -> [1.645, 1.082]"), "x", "q")
igamma = by_name(binary_of("igamma", ops.igamma,
                           "Lower incomplete gamma function of a at x, regularised.",
                           "[1., 2.], [1., 1.] -> [0.632, 0.264]"), "a", "x")
igammac = by_name(binary_of("igammac", ops.igammac,
                            "Upper incomplete gamma function of a at x, regularised.",
                            "[1., 2.], [1., 1.] -> [0.368, 0.736]"), "a", "x")
igamma_grad_a = by_name(binary_of("igamma_grad_a", ops.igamma_grad_a,
                                  "Derivative of igamma in a.",
                                  "[1., 2.], [1., 1.] -> [-0.432, -0.276]"), "a", "x")
random_gamma_grad = binary_of(
    "random_gamma_grad", ops.random_gamma_grad,
    "Derivative in a of a sample x of the gamma distribution of shape a, at equal probability.",
    "[1., 2.], [1., 1.] -> [1.174, 0.751]")


@eager
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Incomplete beta function of a and b at x in [0, 1], regularised; float operands.

    >>> lax.betainc(jnp.array([1.]), jnp.array([2.]), jnp.array([0.5]))
    Array([0.75], dtype=float32)
    """
    return emit(ops.betainc, *alike("betainc", a, b, x))


__all__ = [
    "bessel_i0e", "bessel_i1e", "betainc", "digamma", "erf", "erf_inv", "erfc", "igamma",
    "igamma_grad_a", "igammac", "lgamma", "polygamma", "random_gamma_grad", "zeta",
]  # fmt: skip
