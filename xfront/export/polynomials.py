"""Polynomials with integer coefficients over names of dimensions, which are at least 1, and over
floordiv, mod, max and min of such polynomials; and what is known of their values.

A polynomial is shown never to be negative by an interval that holds its values, after multiples of
other such polynomials (constraints, and what the calls mean) have been taken off.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

Term = tuple[tuple[Any, int], ...]
"""A product of powers of factors: names (strings) and `Call`s, in order; () is the constant."""

Poly = dict[Term, int]

MAX_STEPS = 3
"""How many multiples of constraints a proof takes off, one after the other."""
MAX_TRIED = 300
"""How many polynomials a proof looks at before it gives up."""


class Call:
    """floordiv, mod, max or min of two polynomials, as a factor."""

    __slots__ = ("left", "name", "right")

    def __init__(self, name: str, left: Poly, right: Poly) -> None:
        self.name, self.left, self.right = name, left, right

    def __str__(self) -> str:
        return f"{self.name}({text(self.left)}, {text(self.right)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


# --- arithmetic ---------------------------------------------------------------------------

def plus(x: Poly, y: Poly, times: int = 1) -> Poly:
    """x + times * y."""
    made = dict(x)
    for term, k in y.items():
        made[term] = made.get(term, 0) + times * k
    return {term: k for term, k in made.items() if k}


def product(x: Poly, y: Poly) -> Poly:
    """x * y."""
    made: Poly = {}
    for (a, j), (b, k) in itertools.product(x.items(), y.items()):
        powers = dict(a)
        for factor, n in b:
            powers[factor] = powers.get(factor, 0) + n
        term = tuple(sorted(powers.items(), key=lambda p: str(p[0])))
        made[term] = made.get(term, 0) + j * k
    return {term: k for term, k in made.items() if k}


def number(k: int) -> Poly:
    """The constant polynomial."""
    return {(): k} if k else {}


def constant(x: Poly) -> int | None:
    """The value of a polynomial without names, else None."""
    return x.get((), 0) if not any(x) else None


def quotient(x: Poly, y: Poly) -> Poly | None:
    """The polynomial q with q * y == x, for a y of one term; None where there is none."""
    if len(y) != 1:
        return None
    ((below, k),) = y.items()
    made: Poly = {}
    for term, j in x.items():
        powers = dict(term)
        for factor, n in below:
            powers[factor] = powers.get(factor, 0) - n
        if j % k or min(powers.values(), default=0) < 0:
            return None
        made[tuple(p for p in sorted(powers.items(), key=lambda p: str(p[0])) if p[1])] = j // k
    return made


def applied(name: str, x: Poly, y: Poly) -> Poly:
    """floordiv, mod, max or min of two polynomials, computed where both are known.

    Raises: ZeroDivisionError for a divisor that is 0.
    """
    a, b = constant(x), constant(y)
    if name in ("floordiv", "mod") and b == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if a is not None and b is not None:
        return number({"floordiv": operator.floordiv, "mod": operator.mod, "max": max,
                       "min": min}[name](a, b))
    if name == "floordiv":
        if (whole := quotient(x, y)) is not None:
            return whole
        if b is not None and b > 0:              # what divides comes out: (4*a + 1) // 2
            out = {t: k // b for t, k in x.items() if k % b == 0}
            if out:
                return plus(out, applied(name, plus(x, out, -b), y))
    elif name == "mod":
        if quotient(x, y) is not None:
            return {}
        left = {t: k % b for t, k in x.items() if k % b} if b is not None and b > 0 else x
        return applied(name, left, y) if left != x else _call(name, x, y)
    elif x == y:
        return x
    return _call(name, x, y)


def _call(name: str, x: Poly, y: Poly) -> Poly:
    return {((Call(name, x, y), 1),): 1}


def text(x: Poly) -> str:
    """A polynomial as text that `parse` reads."""
    if not x:
        return "0"

    def rank(term: Term) -> Any:
        return sum(n for _, n in term), [(str(f), n) for f, n in term]

    made = ""
    for term in sorted(x, key=rank, reverse=True):
        k = x[term]
        parts = [f"{f}^{n}" if n > 1 else str(f) for f, n in term]
        if abs(k) != 1 or not term:
            parts.insert(0, str(abs(k)))
        sign = ("- " if k < 0 else "") if not made else (" - " if k < 0 else " + ")
        made += sign + "*".join(parts)
    return made


# --- what is known ------------------------------------------------------------------------

def bounds(x: Poly) -> tuple[float, float]:
    """An interval that holds every value of x."""
    low = high = 0.0
    for term, k in x.items():
        at = (1.0, 1.0)
        for factor, n in term:
            for _ in range(n):
                ends = [_times(a, b) for a in at for b in _factor_bounds(factor)]
                at = min(ends), max(ends)
        ends = [_times(k, a) for a in at]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b    # 0 * inf is a bound that is reached nowhere


def _factor_bounds(factor: Any) -> tuple[float, float]:
    if not isinstance(factor, Call):
        return 1.0, math.inf
    (a, b), (c, d) = bounds(factor.left), bounds(factor.right)
    if factor.name == "max":
        return max(a, c), max(b, d)
    if factor.name == "min":
        return min(a, c), min(b, d)
    if c <= 0:
        return (c + 1, 0.0) if d <= -1 and factor.name == "mod" else (-math.inf, math.inf)
    if factor.name == "mod":
        return 0.0, d - 1
    ends = [math.floor(p / q) if math.isfinite(p) and math.isfinite(q) else
            (0.0 if p >= 0 else -1.0) if math.isfinite(p) else p
            for p in (a, b) for q in (c, d)]
    return min(ends), max(ends)


def facts_of(x: Poly) -> Iterator[Poly]:
    """Polynomials that are never negative, by what the calls in x mean."""
    for factor in {f for term in x for f, _ in term if isinstance(f, Call)}:
        value: Poly = {((factor, 1),): 1}
        if factor.name == "max":
            yield plus(value, factor.left, -1)
            yield plus(value, factor.right, -1)
        elif factor.name == "min":
            yield plus(factor.left, value, -1)
            yield plus(factor.right, value, -1)
        elif factor.name == "floordiv" and (d := constant(factor.right)) is not None and d > 0:
            rest = plus(factor.left, value, -d)
            yield rest                           # d * (x // d) is at most x
            yield plus(number(d - 1), rest, -1)
        elif factor.name == "mod" and (d := constant(factor.right)) is not None and d > 0:
            yield plus(factor.left, value, -1) if bounds(factor.left)[0] >= 0 else {}


def never_negative(x: Poly, facts: Sequence[Poly]) -> bool:
    """Whether x is shown to be at least 0, where all of `facts` are."""
    return _shown(x, facts, MAX_STEPS, itertools.count())


def _shown(x: Poly, facts: Sequence[Poly], steps: int, tried: Iterator[int]) -> bool:
    if bounds(x)[0] >= 0:
        return True
    if not steps or next(tried) > MAX_TRIED:
        return False
    for fact in (*facts, *facts_of(x)):
        for term, k in fact.items():
            j = x.get(term, 0)
            if term and j and (j < 0) == (k < 0):
                scale = math.lcm(j, k)
                rest = plus({t: c * (scale // abs(j)) for t, c in x.items()}, fact,
                            -(scale // abs(k)))
                if _shown(rest, facts, steps - 1, tried):
                    return True
    return False


__all__ = ["Call", "Poly", "Term", "applied", "bounds", "constant", "facts_of", "never_negative",
           "number", "plus", "product", "text"]
