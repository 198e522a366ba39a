"""Running combinations of a few values, a building block of forms of several platforms."""

from __future__ import annotations

from collections.abc import Sequence

from xfront_ir.builder import Builder
from xfront_ir.core import Value
from xfront_ir.definition import OpDef


def prefixes(b: Builder, combine: OpDef[Value], values: Sequence[Value]) -> list[Value]:
    """For each value, the combination of all values up to it, in logarithmic depth."""
    made, width = list(values), 1
    while width < len(made):
        made = [b.emit(combine, made[i // width * width - 1], v) if i & width else v
                for i, v in enumerate(made)]
        width *= 2
    return made
