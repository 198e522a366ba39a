"""Traits: facts on the definition of an op that passes read beside its rules.

A pass decides by traits, never by the name of an op or by the file where it stands. What a pass
does with an op that lacks a trait is right for every op.
"""

from __future__ import annotations

from collections.abc import Iterable

from .definition import OpDef, Trait

ELEMENTWISE = Trait("elementwise")
"""Each element of the result takes a few instructions on the operands' elements at its place."""

LIGHT = Trait("light")
"""The op does little work for each element that it reads."""

MOVES = Trait("moves")
"""The op moves elements to other places, and at most adds those that land at the same place."""

REARRANGES = Trait("rearranges")
"""The op moves elements of one operand: where they are all equal, so are those of the result."""

CHEAP = Trait("cheap")
"""The op takes about one instruction per element."""

EXACT = Trait("exact")
"""The op is elementwise and rounds exactly: NumPy and every device give the same result."""

EXACT_COMPLEX = Trait("exact_complex")
"""The op is exact on complex numbers too."""

IN_ORDER = Trait("in_order")
"""The op returns its operand's elements in their order; at most their type or name changes."""

REDUCES = Trait("reduces")
"""Each element of the result is computed from many elements."""

MERGED = Trait("merged")
"""Compilers compute the op inside the kernel of the op that reads it."""

EXPENSIVE = Trait("expensive")
"""Compilers do not compute the op a second time for another kernel that reads its result."""

MIXES_BITS = Trait("mixes_bits")
"""The op is, or is lowered to, a long chain of shifts and exclusive ors."""

TERMWISE = Trait("termwise")
"""The op is linear in all operands together, and its tangent does not say so."""

CHOOSES = Trait("chooses")
"""The op's first operand chooses among the others, in which the op is linear."""

ORDERS = Trait("orders")
"""The op compares elements with one another, each of them several times."""

BRANCHES = Trait("branches")
"""The op's kernel decides for each element which operand or place it comes from."""

CONTRACTS = Trait("contracts")
"""The op sums products of elements of its two operands."""


def mark(traits: Iterable[Trait], *definitions: OpDef) -> None:
    """Enter traits on definitions; the file that defines the ops calls it."""
    for definition in definitions:
        definition.traits |= frozenset(traits)


def does(work: int, *definitions: OpDef) -> None:
    """Enter how many operations the ops take per element, where that is not one."""
    for definition in definitions:
        definition.work = work
