"""NumPy rows of linear maps with their transpose and of solutions of linear systems."""

from __future__ import annotations

from typing import Any

from ..reference import Steps, reference


@reference("linear_call")
def _linear_call(attrs: Any, types: Any, *operands: Any) -> Steps:
    return tuple((yield attrs["body"], operands))


@reference("custom_linear_solve")
def _custom_linear_solve(attrs: Any, types: Any, *operands: Any) -> Steps:
    return tuple((yield attrs["solve"], operands))
