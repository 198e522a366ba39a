"""Which public functions have gradients to look at, and how they are called.

Every public name of `numpy`, `nn`, `scipy.special` and `lax` is here: in a row, or among those that
have no derivative, that only move elements, or whose derivatives are looked at in other tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from xfront import lax, nn
from xfront.scipy import special

from . import points

MODULES = {"numpy": jnp, "nn": nn, "special": special, "lax": lax}


@dataclass
class Row:
    """A function of one point.

    Args:
      name: module and public name, with what is special about the call in brackets.
      f: of as many arguments as there are arrays of points; numbers or vectors.
      points: arrays whose leading axis counts the points.
      close: relative tolerance of compiled gradients by dtype, where it is not the usual one.
      rough: compiled gradients are only required to be finite: rounding inside the function is
        magnified in a way that its value does not show.
      narrow: whether dtypes of 16 bits hold what the function computes inside.
      steps: the function has jumps, which differences may step over.
      ties: which derivative it has where two numbers are equal is a convention.
      floor: how large numbers inside the function are at least, whatever its value.
    """

    name: str
    f: Callable[..., Any]
    points: tuple[np.ndarray, ...]
    close: Mapping[str, float] = field(default_factory=dict)
    rough: bool = False
    narrow: bool = True
    steps: bool = False
    ties: bool = False
    floor: float = 0.0

    @property
    def public(self) -> str:
        """The public name that the row is about."""
        return self.name.split("[")[0].strip()


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function of one point as one real number: an uneven sum of its real results."""
    def number(*args: Any) -> Any:
        total, weight = 0.0, 1.0
        for y in xfront.tree_util.tree_leaves(f(*args)):
            for part in ((jnp.real(y), jnp.imag(y)) if y.dtype.kind == "c" else (y,)):
                if jnp.issubdtype(part.dtype, jnp.floating):
                    ramp = (1 + 0.375 * np.arange(part.size)).reshape(part.shape) * weight
                    total += (part * ramp.astype(part.dtype)).sum()
                    weight *= 1.25
        return total

    return number


def _scalars(count: int) -> tuple[np.ndarray, ...]:
    return tuple(points.of_scalars(count).T)


VECTORS = (points.of_vectors(),)
WITH_NAN = (points.of_vectors(True),)
TIES = ("numpy.clip", "numpy.max", "numpy.min", "numpy.median", "numpy.nanmax", "numpy.nanmin",
        "numpy.nanmedian", "numpy.ptp", "numpy.sort", "lax.cummax", "lax.cummin", "lax.sort",
        "nn.softmax", "special.softmax", "nn.log_softmax", "special.log_softmax")
STEPS = ("numpy.ceil", "numpy.divmod", "numpy.fix", "numpy.floor", "numpy.floor_divide",
         "numpy.fmod", "numpy.frexp", "numpy.heaviside", "numpy.mod", "numpy.modf", "numpy.rint",
         "numpy.round", "numpy.sign", "numpy.trunc", "lax.ceil", "lax.floor", "lax.rem",
         "lax.round", "lax.sign", "special.gammasgn")
FLOORS = {"nn.gelu": 1.0, "nn.logmeanexp": 2.0, "nn.standardize": 2.0, "special.gammaincc": 1.0,
          "lax.igammac": 1.0}
DIFFERENCES = ("nn.squareplus", "special.i0e", "special.i1e", "lax.bessel_i0e", "lax.bessel_i1e")
"""Whose derivatives, or values, are differences of numbers of the size of the argument or of 1."""
POSITIVE = ("numpy.float_power", "numpy.power", "special.beta", "special.betaln", "special.boxcox",
            "special.boxcox1p", "special.gammainc", "special.gammaincc", "special.poch",
            "lax.igamma", "lax.igammac", "lax.pow")
"""Of whose first argument only positive numbers are taken."""
WITHIN = {"special.beta": (1e-10, 1e10), "special.betaln": (1e-10, 1e10),
          "special.poch": (1e-10, 100.0)}
"""Both arguments lie between: in reverse mode a large value is multiplied with each large part of
a small difference."""
WIDE = ("lax.complex", "lax.igamma", "lax.igammac", "numpy.corrcoef", "special.gammainc",
        "special.gammaincc")
"""That take no 16 bits, or whose logarithms and squares inside need more."""
ROUGH = (*DIFFERENCES, "lax.cumlogsumexp")
"""The shares of three equal terms are lost where log(2) is, beside the terms."""
MASK = np.array([True, False, True, True])

UNARY = {
    "numpy": "abs fabs arccos arccosh arcsin arcsinh arctan arctanh angle cbrt ceil conj cos cosh "
             "deg2rad exp exp2 expm1 fix floor frexp i0 imag log log10 log1p log2 modf nan_to_num "
             "negative positive rad2deg real reciprocal rint round sign sin sinh "
             "sqrt square tan tanh trunc",
    "nn": "celu elu gelu hard_sigmoid hard_silu hard_tanh leaky_relu log1mexp log_sigmoid mish "
          "identity relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid "
          "squareplus tanh",
    "special": "dawsn digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit factorial gamma "
               "gammaln gammasgn i0 i0e i1 i1e log_ndtr loggamma logit ndtr ndtri spence",
    "lax": "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma "
           "erf erf_inv erfc exp exp2 expm1 floor lgamma log log1p log2 logistic neg "
           "one_minus_square reciprocal round rsqrt sign sin sinh sqrt square tan tanh",
}
BINARY = {
    "numpy": "add arctan2 copysign divide divmod float_power floor_divide fmax fmin fmod "
             "heaviside hypot logaddexp logaddexp2 maximum minimum mod multiply power "
             "subtract",
    "special": "beta betaln boxcox boxcox1p gammainc gammaincc kl_div poch rel_entr xlog1py xlogy",
    "lax": "add atan2 div igamma igammac max min mul pow rem sub complex",
}
TERNARY = {"numpy": "clip"}
OF_VECTORS = {
    "numpy": "average cumprod cumsum cumulative_prod cumulative_sum diff max mean median min prod "
             "ptp sort std sum trapezoid var gradient ediff1d cov corrcoef",
    "nn": "log_softmax logmeanexp logsumexp softmax standardize",
    "special": "log_softmax logsumexp softmax",
    "lax": "cumlogsumexp cummax cummin cumprod cumsum sort",
}
OF_VECTORS_WITH_NAN = {
    "numpy": "nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar",
}


def _listed(table: Mapping[str, str], given: Callable[[], tuple[np.ndarray, ...]]) -> list[Row]:
    return [_row(f"{module}.{name}", getattr(MODULES[module], name), given())
            for module, names in table.items() for name in names.split()]


def _row(name: str, f: Callable[..., Any], given: tuple[np.ndarray, ...]) -> Row:
    if name in POSITIVE:
        taken = given[0] > 0
        if name in WITHIN:
            low, high = WITHIN[name]
            taken &= (given[0] >= low) & (given[0] <= high)
            taken &= ((given[1] >= low) & (given[1] <= high)) | (given[1] == 0)
        given = tuple([p[taken] for p in given])
    floor = 1e30 if name in DIFFERENCES else FLOORS.get(name, 0.0)
    return Row(name, f, given, rough=name in ROUGH, steps=name in STEPS, ties=name in TIES,
               floor=floor, narrow=name not in WIDE)


def _pair_of_vectors() -> tuple[np.ndarray, ...]:
    """The second ones in another order, that not all fit together."""
    v = points.of_vectors()
    return v, np.roll(v, 7, 0)


def all_rows() -> list[Row]:
    """Every row, in the order of the tables."""
    pairs, one, two = _pair_of_vectors(), _scalars(1), _scalars(2)
    rows = [*_listed(UNARY, lambda: _scalars(1)), *_listed(BINARY, lambda: _scalars(2)),
            *_listed(TERNARY, lambda: _scalars(3)), *_listed(OF_VECTORS, lambda: VECTORS),
            *_listed(OF_VECTORS_WITH_NAN, lambda: WITH_NAN)]

    rows += [Row(f"{row.name}[second]", xfront.grad(weighted(row.f)), row.points, rough=True,
                 steps=True) for row in rows[:sum(map(len, map(str.split, UNARY.values())))]
             if row.name not in STEPS]

    def add(name: str, f: Callable[..., Any], given: tuple[np.ndarray, ...], **options: Any
            ) -> None:
        rows.append(Row(name, f, given, **options))

    low, x, high = _scalars(3)
    add("lax.clamp", lax.clamp, tuple([p[low < high] for p in (low, x, high)]), ties=True)
    add("numpy.partition", lambda x: jnp.partition(x, 1), VECTORS, ties=True)
    add("nn.gelu[exact]", lambda x: nn.gelu(x, approximate=False), one)
    add("nn.glu", nn.glu, VECTORS)
    for n in (-3, -1, 0, 1, 2, 5):
        add(f"lax.integer_pow[{n}]", lambda x, n=n: lax.integer_pow(x, n), one)
        add(f"numpy.power[{n}]", lambda x, n=n: jnp.power(x, n), one)
    add("lax.cumsum[reverse]", lambda x: lax.cumsum(x, reverse=True), VECTORS)
    add("special.polygamma", lambda x: special.polygamma(1, x), one)
    add("special.expn", lambda x: special.expn(3, x), one)
    small = (one[0][np.abs(one[0]) < 1e4],)      # of whose angle a step beyond is a turn
    add("special.fresnel", special.fresnel, small)
    near, far = one[0][np.abs(one[0]) < 1e7], one[0][np.abs(one[0]) >= 1e7]
    add("numpy.sinc", jnp.sinc, (near,))
    add("numpy.sinc[second]", xfront.grad(jnp.sinc), (near,), rough=True, steps=True)
    add("numpy.sinc[far]", jnp.sinc, (far,), steps=True)     # differences are of whole turns
    add("special.sici", special.sici, small)
    add("lax.polygamma", lambda x: lax.polygamma(jnp.ones_like(x), x), one)
    add("special.zeta", lambda x: special.zeta(2.5, x), one)
    add("lax.zeta", lambda x: lax.zeta(jnp.full_like(x, 2.5), x), one)
    add("lax.conj", lambda x: lax.conj(lax.complex(x, x)), one, narrow=False)
    for module in (special, lax):
        where = "lax" if module is lax else "special"
        add(f"{where}.betainc", lambda x, module=module: module.betainc(
            jnp.full_like(x, 2.5), jnp.full_like(x, 1.0), x), one)
    for name in ("linspace", "logspace"):
        add(f"numpy.{name}", lambda x, y, name=name: getattr(jnp, name)(x, y, 3), two)
    add("numpy.geomspace", lambda x, y: jnp.geomspace(x, y, 3),
        tuple([p[(two[0] > 0) & (two[1] > 0)] for p in two]))
    for name in ("polyder", "polyint"):
        add(f"numpy.{name}", getattr(jnp, name), VECTORS)
    usual = np.abs(pairs[1]).min(1) > 0.1
    add("numpy.polydiv", lambda u, v: jnp.polydiv(u, v[:2]),
        tuple([p[usual & (np.abs(pairs[1]).max(1) < 10)] for p in pairs]))
    add("special.multigammaln", lambda x: special.multigammaln(x, 2), one)
    add("numpy.ldexp", lambda x: jnp.ldexp(x, 3), one)
    add("numpy.where", lambda x, y: jnp.where(x < y, x, y), two)
    add("numpy.floor_divide[masked]",
        lambda x: jnp.where(x > 0, jnp.floor_divide(jnp.ones_like(x), x), 0), one, steps=True)
    for name in ("sum", "prod", "mean", "std", "var", "nansum", "nanmean", "nanvar", "nanstd"):
        add(f"numpy.{name}[where]", lambda x, name=name: getattr(jnp, name)(x, where=MASK),
            WITH_NAN if "nan" in name else VECTORS)
    for name in ("max", "min", "nanmax", "nanmin"):
        add(f"numpy.{name}[where]", lambda x, name=name: getattr(jnp, name)(
            x, where=MASK, initial=0.5), WITH_NAN if "nan" in name else VECTORS, ties=True)
    for name in ("softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"):
        add(f"nn.{name}[where]", lambda x, name=name: _finite(getattr(nn, name)(x, where=MASK)),
            VECTORS, floor=2.0)
    add("nn.logsumexp[b]", lambda x, b: nn.logsumexp(x, b=b), pairs)
    add("nn.logsumexp[return_sign]", lambda x, b: nn.logsumexp(x, b=b, return_sign=True), pairs)
    add("numpy.interp", lambda x, xp, fp: jnp.interp(x, jnp.sort(xp), fp),
        (points.of_vectors()[:, 0], *pairs), ties=True, narrow=False)
    add("numpy.interp[degenerate]", lambda x, fp: jnp.interp(
        x, np.array([0, 1, 1, 2]), fp), (np.resize(np.array([-1, 0, 0.5, 1, 1.5, 2, 3.0]),
                                                   len(VECTORS[0])), *VECTORS), ties=True)
    for name in ("quantile", "nanquantile"):
        add(f"numpy.{name}", lambda x, name=name: getattr(jnp, name)(x, 0.3),
            WITH_NAN if "nan" in name else VECTORS, ties=True)
    for name in ("percentile", "nanpercentile"):
        add(f"numpy.{name}", lambda x, name=name: getattr(jnp, name)(x, 30.0),
            WITH_NAN if "nan" in name else VECTORS, ties=True)
    add("numpy.polyval", lambda p, x: jnp.polyval(p, x), (VECTORS[0], VECTORS[0][:, 1]))
    for name in ("dot", "inner", "outer", "vdot", "vecdot", "convolve", "correlate", "kron",
                 "polyadd", "polymul", "polysub", "trapezoid", "matmul"):
        add(f"numpy.{name}[two]", lambda x, y, name=name: getattr(jnp, name)(x, y), pairs,
            rough=name == "trapezoid", floor=1e60 if name == "trapezoid" else 0.0)
    add("numpy.cross", lambda x, y: jnp.cross(x[:3], y[:3]), pairs)
    for order in (None, 1, 2, 3, np.inf, -np.inf):
        add(f"numpy.linalg.norm[{order}]", lambda x, order=order: jnp.linalg.norm(x, order),
            VECTORS, ties=True, steps=order == -np.inf)
    add("lax.reduce_max", lambda x: lax.reduce_max(x, (0,)), VECTORS)
    add("lax.reduce_min", lambda x: lax.reduce_min(x, (0,)), VECTORS)
    add("lax.reduce_prod", lambda x: lax.reduce_prod(x, (0,)), VECTORS)
    add("lax.reduce_sum", lambda x: lax.reduce_sum(x, (0,)), VECTORS)
    add("lax.polynomial", lambda p, x: lax.polynomial(x, list(p)), (VECTORS[0], VECTORS[0][:, 1]))
    add("numpy.minmax", lambda x: jnp.minmax(x), VECTORS, ties=True)
    add("numpy.top_k", lambda x: jnp.top_k(x, 2, mode="smallest")[0], VECTORS, ties=True)
    add("lax.top_k", lambda x: lax.top_k(x, 2)[0], VECTORS, ties=True)
    add("lax.reduce_window", lambda x: lax.reduce_window(
        x, -np.inf, lax.max, (2,), (1,), "SAME"), VECTORS)
    add("lax.reduce", lambda x: lax.reduce(x, 1.0, lax.mul, (0,)), VECTORS)
    add("lax.cumprod[reverse]", lambda x: lax.cumprod(x, reverse=True), VECTORS)
    return rows


def _finite(x: Any) -> Any:
    """What is masked away may be -inf."""
    return jnp.where(jnp.isinf(x), 0, x)
