"""Formulas: the mathematics of rules, written with Python's operators.

    tan = _inexact("tan", lambda x, y: square(y) + 1)          # the slope at x, where tan(x) is y

A `Term` is a value with the builder of its program. Operators and comparisons of terms give terms,
and so do the definitions of ops when they are called: `cos(x)`, `pow_(x, y)`,
`convert(x, dtype=f32)`. A number beside a term stands for an array of the term's type. Ops are
appended in the order in which Python evaluates the formula.

`formula` turns a function of terms into one of a builder and values, which rules call. The function
runs once for each combination of types; the ops that it wrote are inlined at each call, which takes
less work than emitting them one by one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..builder import Builder
from ..core import Function, Value
from ..definition import REGISTRY, OpDef
from ..dtypes import DType
from ..placed_builder import PlacedBuilder
from ..types import TensorType

Binary = Callable[["Term", Any], "Term"]
Formula = (Callable[["Term"], Any] | Callable[["Term", "Term"], Any]
           | Callable[["Term", "Term", "Term"], Any]
           | Callable[["Term", "Term", "Term", "Term"], Any] | Callable[..., Any])
"""A function of terms. The arities are listed so that type checkers know the parameters of lambdas.
"""


def _unary(name: str) -> Callable[[Term], Term]:
    return lambda x: x.apply(REGISTRY[name], (x,), {})


def _binary(name: str) -> Binary:
    return lambda x, y: x.apply(REGISTRY[name], (x, y), {})


def _both_sides(name: str) -> tuple[Binary, Binary]:
    return _binary(name), lambda x, y: x.apply(REGISTRY[name], (y, x), {})


class Term:
    """A value in the program that `b` collects."""

    __slots__ = ("b", "value")

    def __init__(self, b: Builder, value: Value) -> None:
        self.b, self.value = b, value

    @property
    def type(self) -> TensorType:
        """The type of the value."""
        return self.value.type

    @property
    def dtype(self) -> DType:
        """The element type of the value."""
        return self.value.type.dtype

    def like(self, number: Any, type: TensorType | None = None) -> Term:
        """An array filled with `number`, of `type` or else of this term's type."""
        return Term(self.b, self.b.full(type or self.value.type, number))

    def apply(self, definition: OpDef, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The result of `definition(*operands, **attrs)`: a term, or a tuple of terms. Numbers
        among the operands take this term's type."""
        b, own = self.b, self.value.type
        made = b.emit(definition, *[v.value if type(v) is Term else b.full(own, v)
                                    for v in operands], **attrs)
        return Term(self.b, made) if definition.single else tuple([Term(self.b, v) for v in made])

    def to(self, dtype: DType) -> Term:
        """The term converted to `dtype`, or itself where it has that dtype."""
        if dtype is self.dtype:
            return self
        return self.apply(REGISTRY["convert"], (self,), {"dtype": dtype})

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value; use `where` to choose in a formula")

    __add__, __radd__ = _both_sides("add")
    __sub__, __rsub__ = _both_sides("sub")
    __mul__, __rmul__ = _both_sides("mul")
    __truediv__, __rtruediv__ = _both_sides("div")
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("not")
    __and__, __or__ = _binary("and"), _binary("or")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any) -> Term:  # type: ignore[override]
        return self.apply(REGISTRY["eq"], (self, other), {})

    def __ne__(self, other: Any) -> Term:  # type: ignore[override]
        return self.apply(REGISTRY["ne"], (self, other), {})


def where(mask: Term, on_true: Any, on_false: Any) -> Term:
    """Elements of `on_true` where `mask` is set, else of `on_false`; one of them is a term."""
    model = on_true if isinstance(on_true, Term) else on_false
    return model.apply(REGISTRY["select"], (mask, on_true, on_false), {})


def sum_of(terms: Sequence[Term]) -> Term:
    """The sum of one or more terms, added from left to right."""
    return functools.reduce(operator.add, terms)


def polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """The sum of coefficients[i] x^i, by Horner's scheme."""
    made: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        made = x * made + c
    return made


# --- formulas as rules call them ----------------------------------------------------------

MOST_KEPT = 1024
"""A formula keeps what it wrote for at most this many kinds of operands, then forgets all."""

_type_of = operator.attrgetter("type")


def formula(fn: Formula) -> Callable[..., Any]:
    """Turn `fn(*terms, **known)`, which gives one or more terms, into `(b, *values, **known)`.

    The ops that `fn` writes may depend on the types and on `known`, which is hashable, alone.
    """
    return _kept(fn)


def _kept(fn: Callable[..., Any]) -> Callable[..., Any]:
    kept: dict[Any, tuple[Function, bool]] = {}

    @functools.wraps(fn)
    def written(b: Builder, *values: Value, **known: Any) -> Any:
        key = (*map(_type_of, values), *known.items())
        found = kept.get(key)
        if found is None:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            found = kept[key] = _write(fn, values, known)
        body, single = found
        returns = b.inline(body, values)
        return returns[0] if single else returns

    return written


def of_values(fn: Callable[..., Term]) -> Callable[..., Value]:
    """As `formula`, for a function that runs anew at each call. Arguments that are not values are
    passed as they are."""
    @functools.wraps(fn)
    def written(b: Builder, *given: Any, **known: Any) -> Value:
        return fn(*[Term(b, v) if isinstance(v, Value) else v for v in given], **known).value

    return written


def _write(fn: Callable[..., Any], like: Sequence[Value], known: dict[str, Any]
           ) -> tuple[Function, bool]:
    """The Function of the ops that `fn` writes for values of these types, and whether it returns a
    single term."""
    b = PlacedBuilder("formula")
    made = fn(*[Term(b, b.param(v.type)) for v in like], **known)
    single = isinstance(made, Term)
    return b.close([t.value for t in ((made,) if single else made)]), single
