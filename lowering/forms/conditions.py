"""Conditions of forms, as data: predicates on an op whose text is the code that makes them.

    >>> str(real & axis(32) & size(2 ** 15))
    'real & axis(32) & size(2**15)'

All are about the first operand, unless they say otherwise. What a condition says depends on the
types and attributes of the op alone, so that ops with the same ones share it. A condition that is
not a combination of these is a function of the op with a docstring that states it: `@condition`.
"""

from __future__ import annotations

from collections.abc import Callable

from xfront_ir import dtypes
from xfront_ir.core import Op
from xfront_ir.dtypes import DType


class Condition:
    """A predicate on an op; `named` has the names in its text with their meanings."""

    __slots__ = ("named", "test", "text")

    def __init__(self, test: Callable[[Op], bool], text: str,
                 named: tuple[tuple[str, str], ...] = ()) -> None:
        self.test, self.text, self.named = test, text, named

    def __call__(self, op: Op) -> bool:
        return self.test(op)

    def __and__(self, other: Condition) -> Condition:
        one, two = self.test, other.test
        return Condition(lambda op: one(op) and two(op), f"{self.text} & {other.text}",
                         self.named + other.named)

    def __str__(self) -> str:
        return self.text


def condition(test: Callable[[Op], bool]) -> Condition:
    """Decorator for a predicate; it prints as the function's name, which the docstring explains."""
    name = test.__name__.lstrip("_")
    says = " ".join((test.__doc__ or "").split())
    if not says:
        raise TypeError(f"condition: {name} needs a docstring, which is shown in the table of "
                        "forms")
    return Condition(test, name, ((name, says),))


def number(n: int) -> str:
    """A size as text; powers of two from 256 on as `2**15`."""
    return f"2**{n.bit_length() - 1}" if n >= 256 and n & (n - 1) == 0 else str(n)


def size(least: int) -> Condition:
    """At least `least` elements."""
    return Condition(lambda op: op.operands[0].type.size >= least, f"size({number(least)})")


def below(most: int) -> Condition:
    """Fewer than `most` elements."""
    return Condition(lambda op: op.operands[0].type.size < most, f"below({number(most)})")


def axis(least: int) -> Condition:
    """At least `least` elements along the op's axis."""
    return Condition(lambda op: op.operands[0].type.shape[op.attrs["axis"]] >= least,
                     f"axis({number(least)})")


def of(*wanted: DType) -> Condition:
    """Elements of one of these dtypes."""
    return Condition(lambda op: op.operands[0].type.dtype in wanted,
                     f"of({', '.join(dtype.name for dtype in wanted)})")


real = Condition(lambda op: not op.operands[0].type.dtype.is_complex, "real")
floats = Condition(lambda op: op.operands[0].type.dtype.is_float, "floats")
over_axes = Condition(lambda op: bool(op.attrs["axes"]), "over_axes")
"""Some axes are reduced."""
f32 = of(dtypes.f32)
