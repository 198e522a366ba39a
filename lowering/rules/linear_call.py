"""Lowering of linear maps with their transpose and of solutions: the values of their bodies."""

from __future__ import annotations

from lowering.context import inlined
from xfront_ir import ops

inlined(ops.linear_call, "body")
inlined(ops.custom_linear_solve, "solve")
