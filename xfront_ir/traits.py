"""What passes ask of an op beside its rules: facts that stand on its definition.

A pass decides by traits, never by the name of an op or by the file where it stands. An op without a
trait is taken for none of it: what a pass does with it then is right for every op.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .opdef import OpDef


class Trait:
    """A fact about an op."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


Traits = frozenset[Trait]

ELEMENTWISE = Trait("elementwise")
"""Each element comes from those at the same place, by few instructions."""

LIGHT = Trait("light")
"""It does little for each element that it reads."""

MOVES = Trait("moves")
"""It puts elements at other places, and computes at most a sum of those that meet."""

REARRANGES = Trait("rearranges")
"""It puts elements of one operand at other places: of equal elements it gives equal ones."""

CHEAP = Trait("cheap")
"""About one instruction for an element."""

EXACT = Trait("exact")
"""Elementwise, and each result is the one right value: NumPy's and every device's agree."""

EXACT_COMPLEX = Trait("exact_complex")
"""Exact on complex numbers too."""

IN_ORDER = Trait("in_order")
"""It gives the elements of its operand in their order, under another type or name at most."""

REDUCES = Trait("reduces")
"""Each element comes from many."""

MERGED = Trait("merged")
"""Compilers compute it in the kernel of what reads it."""

EXPENSIVE = Trait("expensive")
"""Compilers do not compute it a second time for another kernel that reads it."""

MIXES_BITS = Trait("mixes_bits")
"""It is, or becomes, shifts and exclusive ors in long rows."""

BRANCHES = Trait("branches")
"""Its kernel asks for each element where it comes from."""


def mark(traits: Iterable[Trait], *definitions: OpDef) -> None:
    """Enter traits on definitions, in the file that has these."""
    for definition in definitions:
        definition.traits |= frozenset(traits)


def does(work: int, *definitions: OpDef) -> None:
    """Enter how many operations an element takes, where it is not one."""
    for definition in definitions:
        definition.work = work
