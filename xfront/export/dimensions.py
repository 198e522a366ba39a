"""Symbolic dimensions: polynomials with a scope, which holds the constraints on their names.

A comparison is decided where it is shown to have one answer for all values that the constraints
allow; otherwise it raises InconclusiveDimensionOperation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..base.errors import InconclusiveDimensionOperation
from .parsing import parsed_constraint
from .polynomials import (
    Call,
    Poly,
    applied,
    bounds,
    constant,
    facts_of,
    never_negative,
    number,
    plus,
    product,
    text,
)


class SymbolicScope:
    """Names of dimensions that belong together, and the constraints on them.

    Args:
      constraints_str: strings such as "a >= 4", "mod(b, 2) == 0", "a <= 2*b". Where the left side
        of an equality is a name or a call, it is replaced by the right side.
    Raises: TypeError where a constraint is no string; ValueError for other text, or where no
      dimensions satisfy the constraints.

    >>> scope = export.SymbolicScope(("a >= 4",))
    >>> a, = export.symbolic_shape("a", scope=scope)
    >>> a >= 3
    True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError("The symbolic constraints should be a sequence of strings. Got "
                             f"{constraints_str!r}")
        self.constraints = tuple(constraints_str)
        self.facts: list[Poly] = []
        self.rules: dict[Any, Poly] = {}
        for written in self.constraints:
            left, sign, right = parsed_constraint(written)
            difference = plus(left, right, -1) if sign != "<=" else plus(right, left, -1)
            if sign == "==" and len(left) == 1:
                ((term, k),) = left.items()
                if k == 1 and len(term) == 1 and term[0][1] == 1 and not _holds(right, term[0][0]):
                    self.rules[term[0][0]] = right
                    continue
            self.facts.append(difference)
            if sign == "==":
                self.facts.append(plus({}, difference, -1))
        self.facts += [more for fact in self.facts for more in facts_of(fact)]
        for i, fact in enumerate(self.facts):
            others = self.facts[:i] + self.facts[i + 1:]
            if never_negative(plus(number(-1), fact, -1), others):
                raise ValueError(f"SymbolicScope: no dimensions satisfy {list(self.constraints)}")

    def __repr__(self) -> str:
        with_ = f" with constraints: {', '.join(self.constraints)}" if self.constraints else ""
        return f"{id(self)}{with_}"

    def simplified(self, x: Poly) -> Poly:
        """x with names and calls replaced as the equalities of the scope say."""
        if not self.rules:
            return x
        made: Poly = {}
        for term, k in x.items():
            one: Poly = number(k)
            for factor, n in term:
                if isinstance(factor, Call) and factor not in self.rules:
                    value = applied(factor.name, self.simplified(factor.left),
                                    self.simplified(factor.right))
                else:
                    value = self.rules.get(factor)
                    value = {((factor, 1),): 1} if value is None else value
                for _ in range(n):
                    one = product(one, value)
            made = plus(made, one)
        return made


def _holds(x: Poly, factor: Any) -> bool:
    return any(f == factor or isinstance(f, Call) and (
        _holds(f.left, factor) or _holds(f.right, factor)) for term in x for f, _ in term)


# --- dimensions ---------------------------------------------------------------------------

Made = Any
"""An int, or a SymbolicDim where the value is not known."""


class SymbolicDim:
    """A dimension that is a polynomial; `symbolic_shape` makes it.

    It takes part in +, -, *, //, %, ** with ints and other dimensions of its scope, and in
    comparisons. What needs its number raises InconclusiveDimensionOperation.
    """

    __slots__ = ("poly", "scope")

    def __init__(self, poly: Poly, scope: SymbolicScope) -> None:
        self.poly, self.scope = poly, scope

    def _with(self, other: Any, compute: Callable[[Poly, Poly], Poly], turned: bool = False
              ) -> Made:
        given = self._poly(other, "for")
        if given is None:
            return NotImplemented
        made = compute(given, self.poly) if turned else compute(self.poly, given)
        return dimension(made, self.scope)

    def _poly(self, other: Any, what: str) -> Poly | None:
        if isinstance(other, SymbolicDim):
            if other.scope is not self.scope:
                raise ValueError(f"Invalid mixing of symbolic scopes {what} '{self}' and "
                                 f"'{other}': make both with the same `scope`. Expected scope "
                                 f"{self.scope} and found {other.scope}")
            return other.poly
        try:
            return number(operator.index(other))
        except TypeError:
            return None

    def __add__(self, other: Any) -> Made:
        return self._with(other, plus)

    def __radd__(self, other: Any) -> Made:
        return self._with(other, plus, True)

    def __sub__(self, other: Any) -> Made:
        return self._with(other, lambda x, y: plus(x, y, -1))

    def __rsub__(self, other: Any) -> Made:
        return self._with(other, lambda x, y: plus(x, y, -1), True)

    def __mul__(self, other: Any) -> Made:
        return self._with(other, product)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Made:
        return self._with(other, lambda x, y: applied("floordiv", x, y))

    def __rfloordiv__(self, other: Any) -> Made:
        return self._with(other, lambda x, y: applied("floordiv", x, y), True)

    def __mod__(self, other: Any) -> Made:
        return self._with(other, lambda x, y: applied("mod", x, y))

    def __rmod__(self, other: Any) -> Made:
        return self._with(other, lambda x, y: applied("mod", x, y), True)

    def __divmod__(self, other: Any) -> tuple[Made, Made]:
        return self // other, self % other

    def __pow__(self, power: int) -> Made:
        if not isinstance(power, int) or power < 0:
            raise ValueError(f"a symbolic dimension is raised to ints from 0 on, got {power!r}")
        made = number(1)
        for _ in range(power):
            made = product(made, self.poly)
        return dimension(made, self.scope)

    def __neg__(self) -> Made:
        return dimension(plus({}, self.poly, -1), self.scope)

    def __pos__(self) -> SymbolicDim:
        return self

    def __hash__(self) -> int:
        return hash(frozenset(self.poly.items()))

    def __eq__(self, other: object) -> bool:
        """Whether both are shown to be equal for all values of the names."""
        if isinstance(other, SymbolicDim) and other.scope is not self.scope:
            return False
        given = self._poly(other, "in comparing")
        if given is None:
            return NotImplemented
        difference = self.scope.simplified(plus(self.poly, given, -1))
        if not difference:
            return True
        facts = self.scope.facts
        return bool(facts) and never_negative(difference, facts) and never_negative(
            plus({}, difference, -1), facts)

    def _at_least(self, other: Any, sign: str, turned: bool, more: int) -> bool:
        """Whether self - other >= more, or with `turned` other - self >= more."""
        given = self._poly(other, "in comparing")
        if given is None:
            return NotImplemented
        x, y = (given, self.poly) if turned else (self.poly, given)
        difference = self.scope.simplified(plus(plus(x, y, -1), number(-more)))
        facts = self.scope.facts
        if never_negative(difference, facts):
            return True
        if never_negative(plus(number(-1), difference, -1), facts):
            return False
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension comparison '{self}' {sign} '{other}' is inconclusive: it is true "
            "for some values of the names and false for others, or cannot be decided here. Give a "
            "constraint to symbolic_shape or SymbolicScope")

    def __ge__(self, other: Any) -> bool:
        return self._at_least(other, ">=", False, 0)

    def __gt__(self, other: Any) -> bool:
        return self._at_least(other, ">", False, 1)

    def __le__(self, other: Any) -> bool:
        return self._at_least(other, "<=", True, 0)

    def __lt__(self, other: Any) -> bool:
        return self._at_least(other, "<", True, 1)

    def __bool__(self) -> bool:
        return self != 0

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension '{self}' used in a context that requires a constant: shapes are "
            "ints while a function is traced here; export it once for each shape")

    def __repr__(self) -> str:
        return text(self.poly)

    __str__ = __repr__


def dimension(x: Poly, scope: SymbolicScope) -> Made:
    """A polynomial as an int where it is one, else as a SymbolicDim."""
    x = scope.simplified(x)
    known = constant(x)
    return SymbolicDim(x, scope) if known is None else known


def is_symbolic_dim(p: Any) -> bool:
    """Whether a dimension is symbolic, and no int.

    >>> a, three = export.symbolic_shape("a, 3")
    >>> export.is_symbolic_dim(a), export.is_symbolic_dim(three)
    (True, False)
    """
    return isinstance(p, SymbolicDim)


def symbolic_dim_bounds(dimension: Any) -> tuple[float, float]:
    """Bounds of a dimension, both included, that hold for all values of its names.

    Args:
      dimension: an int or a symbolic dimension.
    Returns: (lower, upper), as far as they are shown by the constraints of the scope; infinite
      where no bound is.
    Raises: TypeError for anything else.

    >>> a, = export.symbolic_shape("a", constraints=("a <= 8",))
    >>> export.symbolic_dim_bounds(2 * a + 1)
    (3, 17)
    """
    if not isinstance(dimension, SymbolicDim):
        n = operator.index(dimension)
        return n, n
    x, facts = dimension.scope.simplified(dimension.poly), dimension.scope.facts
    low, high = bounds(x)
    return (_greatest(lambda k: never_negative(plus(x, number(-k)), facts), low),
            -_greatest(lambda k: never_negative(plus(number(-k), x, -1), facts), -high))


FARTHEST = 40
"""Bounds beyond this power of 2 are not looked for."""


def _greatest(holds: Callable[[int], bool], known: float) -> float:
    """The greatest lower bound that `holds`, at least the one that is known; -inf for none."""
    if known == -math.inf:
        known = next((-2 ** n for n in range(FARTHEST) if holds(-2 ** n)), known)
        if known == -math.inf:
            return known
    low, step = int(known), 1
    while step <= 2 ** FARTHEST and holds(low + step):
        low, step = low + step, 2 * step
    while step > 1:
        step //= 2
        if holds(low + step):
            low += step
    return low


def symbolic_in(shapes: Iterable[Sequence[Any]]) -> list[Any]:
    """The symbolic dimensions among those of some shapes."""
    return [d for shape in shapes for d in shape if is_symbolic_dim(d)]


__all__ = ["SymbolicDim", "SymbolicScope", "dimension", "is_symbolic_dim",
           "symbolic_dim_bounds"]
