"""Lowering of linear_call and custom_linear_solve: each is lowered as its body."""

from __future__ import annotations

from lowering.context import inlined
from xfront_ir import ops

inlined(ops.linear_call, "body")
inlined(ops.custom_linear_solve, "solve")
