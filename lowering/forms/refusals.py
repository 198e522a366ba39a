"""Forms that refuse: ops whose plain rule a compiler does not take, and nothing else does.

Some compilers end the process where they meet them.
"""

from __future__ import annotations

from typing import Any

from xfront_ir.builder import Builder
from xfront_ir.core import Op
from xfront_ir.errors import MissingRule
from xfront_ir.opdef import OpDef

from .conditions import Condition
from .registry import form


def refuse(definition: OpDef, when: Condition, platform: str, why: str) -> None:
    """Enter that `definition` where `when` is refused on a platform; `why` names the platform."""
    @form(definition, when=when, platform=platform)
    def refused(b: Builder, op: Op, *operands: Any) -> Any:
        types = ", ".join(str(v.type) for v in operands)
        raise MissingRule(f"{op.definition.name}({types}): {why}")
