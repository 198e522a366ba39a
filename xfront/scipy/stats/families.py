"""The common part of the functions of one distribution: arguments, support, values outside of it.

    _gamma = Family("gamma", "a", low=0.0, inside=1.0, valid=positive, examples=_EXAMPLES)
    logpdf, pdf = _gamma.densities(_log_density)
    cdf = _gamma.chance("cdf", lambda z, a: emit(ops.igamma, a, z))

The formulas are those of the standard distribution, at z = (x - loc) / scale, and are called at
points of the support only. Outside of it densities are 0, probabilities are 0 or 1, and logarithms
follow from these. Everything is NaN where a parameter is invalid or anything is NaN. Floats
narrower than 32 bits are computed in 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes

from ...base.docstrings import with_example
from ...eager.dispatch import eager
from ...eager.operands import broadcast_shapes, broadcast_to, convert, promote_inexact
from ...numpy.rounding import floor
from ...numpy.transcendental import exp, expm1, log, log1p
from ...numpy.ufuncs import where
from ...tracing.tracer import Tracer
from ...transforms.custom_jvp import custom_jvp
from ...transforms.symbolic import SymbolicZero

Formula = Callable[..., Any]
_ENDS = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-math.inf, 0.0),
         "logsf": (0.0, -math.inf)}
"""The values of the functions below the support and above it."""
_SAID = {"pdf": "Density", "logpdf": "Logarithm of the density", "pmf": "Probability",
         "logpmf": "Logarithm of the probability", "cdf": "Probability of at most this",
         "logcdf": "Logarithm of the probability of at most this",
         "sf": "Probability of more than this",
         "logsf": "Logarithm of the probability of more than this",
         "ppf": "The point below which this probability lies, NaN outside [0, 1]",
         "isf": "The point above which this probability lies, NaN outside [0, 1]"}


class Family:
    """A distribution of numbers.

    Args:
      name: of the distribution, and of its module.
      shapes: names of its own parameters, with spaces between.
      placed: names of those that move and stretch it, whose defaults are 0 and 1.
      low, high: ends of the support of the standard distribution, which belong to it; numbers, or
        functions of the shape parameters.
      inside: a point of the support at which no formula has a pole.
      valid: whether shape parameters are valid: a function of them; None where any are.
      discrete: whether it is one of integers.
      examples: for each of its functions what `docstrings.with_example` shows.
    """

    def __init__(self, name: str, shapes: str = "", *, placed: str = "loc scale",
                 low: Any = -math.inf, high: Any = math.inf, inside: float = 0.0,
                 valid: Formula | None = None, discrete: bool = False,
                 examples: Mapping[str, str]) -> None:
        self.name, self.shapes, self.placed = name, shapes.split(), placed.split()
        self.low, self.high, self.inside, self.valid = low, high, inside, valid
        self.discrete, self.examples = discrete, examples

    # --- what distributions have ------------------------------------------------------------

    def densities(self, log_density: Formula, power: Formula | None = None) -> tuple[Any, Any]:
        """`logpdf` and `pdf`, or `logpmf` and `pmf`, from the logarithm of the standard density.

        `power`: the exponent of a power of z in the density, from the shape parameters. Then the
        logarithm of that power is the first argument of `log_density`.
        """
        def log_of_density(x: Any, *rest: Any, zero: Any = None) -> Any:
            from_loc, shapes, scale = self._taken_apart(x, rest)
            z = self._standard(from_loc, scale)
            below, above = self._outside(z, shapes)
            out = below | above
            if self.discrete:
                out = out | _between_integers(z)
            if zero is not None:
                out = out | zero
            given = [self._standard(from_loc, scale, out), *shapes]
            if power is not None:
                given = [_log_power(power(*shapes), *self._guarded(from_loc, scale, out)), *given]
            made = log_density(*given)
            if scale is not None:
                made = made - log(scale)
            return self._where_valid(where(out, -math.inf, made), shapes, scale)

        def density(*given: Any) -> Any:
            made = exp(log_of_density(*given))
            if self.discrete or not self._ends_somewhere():
                return made
            # a density of 0 at an end has a logarithm of infinite slope there
            return exp(log_of_density(*given, zero=made == 0))

        names = ("logpmf", "pmf") if self.discrete else ("logpdf", "pdf")
        first = "k" if self.discrete else "x"
        return (self._public(names[0], first, log_of_density),
                self._public(names[1], first, density))

    def chance(self, name: str, formula: Formula) -> Any:
        """`cdf`, `sf` or the logarithm of one of them."""
        ends = _ENDS[name]

        def body(x: Any, *rest: Any) -> Any:
            from_loc, shapes, scale = self._taken_apart(x, rest)
            if self.discrete:
                from_loc = floor(from_loc)
            below, above = self._outside(self._standard(from_loc, scale), shapes)
            out = below | above
            made = formula(self._standard(from_loc, scale, out), *shapes)
            made = where(below, ends[0], where(above, ends[1], made))
            return self._where_valid(made, shapes, scale)

        return self._public(name, "k" if self.discrete else "x", body)

    def quantile(self, name: str, formula: Formula, first: str = "q") -> Any:
        """`ppf` or `isf`."""
        def body(q: Any, *rest: Any) -> Any:
            *shapes, loc, scale = rest
            out = (q < 0) | (q > 1)
            made = formula(where(out, 0.5, q), *shapes)
            made = made * scale + loc
            return self._where_valid(where(out, math.nan, made), shapes, scale)

        return self._public(name, first, body)

    def function(self, name: str, first: str, body: Formula) -> Any:
        """Another function, which `body` computes from the plain arguments."""
        return self._public(name, first, body)

    # --- parts of these ---------------------------------------------------------------------

    def _taken_apart(self, x: Any, rest: Sequence[Any]) -> tuple[Any, Sequence[Any], Any]:
        """(distance from loc, shape parameters, scale or None)."""
        n = len(self.shapes)
        shapes, placed = rest[:n], rest[n:]
        return (x - placed[0] if placed else x, shapes,
                placed[1] if len(placed) == 2 else None)

    def _standard(self, from_loc: Any, scale: Any, out: Any = None) -> Any:
        """The standard point; one inside of the support where `out` is true."""
        if out is not None:
            from_loc, scale = self._guarded(from_loc, scale, out)
        return from_loc if scale is None else _scaled(from_loc, scale)

    def _guarded(self, from_loc: Any, scale: Any, out: Any) -> tuple[Any, Any]:
        """The distance and the scale of such a point.

        Neither the distance nor the scale has a derivative there, nor has the scale at a distance
        of 0: where the quotient overflows, or the formula has an infinite slope at loc, that would
        be zero times infinity.
        """
        from_loc = where(out, self.inside, from_loc)
        if scale is None:
            return from_loc, None
        unmoved = out | (from_loc == 0)
        return from_loc, where(unmoved, 1.0, scale)

    def _ends_somewhere(self) -> bool:
        """Whether the support has an end."""
        return not (self.low == -math.inf and self.high == math.inf)

    def _outside(self, z: Any, shapes: Sequence[Any]) -> tuple[Any, Any]:
        """(where points lie below the support, where above); infinities are always outside."""
        low, high = [end(*shapes) if callable(end) else end for end in (self.low, self.high)]
        unbounded = [isinstance(end, float) and math.isinf(end) for end in (low, high)]
        return z == low if unbounded[0] else z < low, z == high if unbounded[1] else z > high

    def _where_valid(self, made: Any, shapes: Sequence[Any], scale: Any) -> Any:
        right = self.valid(*shapes) if self.valid else None
        if scale is not None:
            there = scale > 0
            right = there if right is None else right & there
        return made if right is None else where(right, made, math.nan)

    def _public(self, name: str, first: str, compute: Formula) -> Any:
        """A public function of `first`, the shape parameters, and loc and scale if it has them."""
        called = f"{self.name}.{name}"

        def in_wide_dtype(*given: Any) -> Any:
            operands, narrow, weak = wide(called, *given)
            made = compute(*operands)
            return convert(made, narrow, weak and made.weak)

        names = (first, *self.shapes, *self.placed)
        body = _taking(len(names), in_wide_dtype)
        body.__name__, body.__qualname__ = name, called
        body.__module__ = f"xfront.scipy.stats.{self.name}"
        body.__doc__ = with_example(f"{_SAID.get(name, name)}: see the module.", f"stats.{called}",
                                    self.examples[name])
        body.__annotations__, body.__defaults__ = {}, (0, 1)[:len(self.placed)]
        body.__code__ = body.__code__.replace(co_name=called, co_varnames=names)
        return eager(body)


@custom_jvp
def _scaled(from_loc: Any, scale: Any) -> Any:
    return from_loc / scale


def _slope_of_scaled(primals: Any, tangents: Any) -> Any:
    """In reverse the cotangent meets z before it meets 1 / scale: z / scale may leave the range at
    points where the cotangent is 0."""
    z, scale = _scaled(*primals), primals[1]
    of_loc, of_scale = (None if isinstance(t, SymbolicZero) else t / scale for t in tangents)
    if of_scale is None:
        return z, of_loc
    lost = of_scale * -z
    return z, lost if of_loc is None else of_loc + lost


_scaled.defjvp(_slope_of_scaled, symbolic_zeros=True)


@custom_jvp
def _log_power(y: Any, from_loc: Any, scale: Any) -> Any:
    """y log(from_loc / scale), 0 where y is 0."""
    none = y == 0
    return y * where(none, 0, _log_standard(from_loc, scale))


def _slope_of_log_power(primals: Any, tangents: Any) -> Any:
    """The slopes of the logarithm are 1 / from_loc and -1 / scale. By way of z the first would be
    scale / from_loc, divided by scale, which may leave the range."""
    y, from_loc, scale = primals
    none = y == 0
    of_loc = where(none, y, y / where(none, 1, from_loc))
    slopes = (_log_standard(from_loc, scale), of_loc, -(y / scale))
    made: Any = None
    for t, slope in zip(tangents, slopes, strict=True):
        if not isinstance(t, SymbolicZero):
            made = t * slope if made is None else made + t * slope
    return _log_power(*primals), made


_log_power.defjvp(_slope_of_log_power, symbolic_zeros=True)


def _log_standard(from_loc: Any, scale: Any) -> Any:
    """log(from_loc / scale), also where the quotient is too small or too large for its dtype."""
    z = from_loc / scale
    least = float(np.finfo(z.dtype).tiny)
    fits = (z >= least) & (z < math.inf)
    apart = log(from_loc) - log(scale)
    return where(fits, log(where(fits, z, 1)), apart)


def _taking(count: int, in_wide_dtype: Callable[..., Any]) -> Any:
    """`in_wide_dtype` as a function of exactly `count` named arguments."""
    def one(a: Any) -> Any:
        return in_wide_dtype(a)

    def two(a: Any, b: Any) -> Any:
        return in_wide_dtype(a, b)

    def three(a: Any, b: Any, c: Any) -> Any:
        return in_wide_dtype(a, b, c)

    def four(a: Any, b: Any, c: Any, d: Any) -> Any:
        return in_wide_dtype(a, b, c, d)

    def five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return in_wide_dtype(a, b, c, d, e)

    return (one, two, three, four, five)[count - 1]


def wide(name: str, *given: Any) -> tuple[list[Tracer], Any, bool]:
    """Arguments in the same shape and one float dtype of 32 bits at least, and the dtype and
    weakness of the result. Raises: ValueError for complex numbers."""
    made = promote_inexact(name, *given)
    dtype, weak = made[0].value.type.dtype, made[0].weak
    if dtype.is_complex:
        raise ValueError(f"{name} does not support complex-valued inputs, got {dtype}")
    shape = broadcast_shapes(name, [x.shape for x in made])
    computed = dtypes.f32 if dtype.bits < 32 else dtype
    return [broadcast_to(convert(x, computed, weak), shape) for x in made], dtype, weak


def _between_integers(z: Any) -> Any:
    return floor(z) < z


# --- what several distributions use ---------------------------------------------------------

def positive(*shapes: Any) -> Any:
    """Whether all are positive."""
    made = shapes[0] > 0
    for other in shapes[1:]:
        made = made & (other > 0)
    return made


def probability(p: Any) -> Any:
    """Whether p lies in [0, 1]."""
    return (p >= 0) & (p <= 1)


def mirrored(x: Any) -> Any:
    """-x, and 0 for a zero of either sign."""
    return 0 - x


def log_of(chance: Formula, complement: Formula) -> Formula:
    """The logarithm of a probability; above 1/2 from its complement, of which no digits are lost
    next to 0."""
    def formula(*given: Any) -> Any:
        made = chance(*given)
        near = made > 0.5
        rest = where(near, complement(*given), 0.0)
        return where(near, log1p(-rest), log(where(near, 1.0, made)))

    return formula


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0.

    Source: M. Maechler, Accurately computing log(1 - exp(-|a|)), 2012.
    """
    small = x < math.log(2)
    near, far = where(small, x, 0.5), where(small, 1.0, x)
    return where(small, log(-expm1(-near)), log1p(-exp(-far)))
