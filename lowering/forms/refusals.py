"""Forms that refuse an op which a platform's compiler cannot compile in any way.

Some compilers would end the process at such an op.
"""

from __future__ import annotations

from typing import Any

from xfront_ir.builder import Builder
from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.errors import MissingRule

from .conditions import Condition
from .registry import form


def refuse(definition: OpDef, when: Condition, platform: str, why: str) -> None:
    """Refuse ops of `definition` on a platform where `when` holds; `why` names the platform."""
    @form(definition, when=when, platform=platform)
    def refused(b: Builder, op: Op, *operands: Any) -> Any:
        types = ", ".join(str(v.type) for v in operands)
        raise MissingRule(f"{op.definition.name}({types}): {why}")
