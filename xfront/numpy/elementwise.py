"""Elementwise functions of NumPy."""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from ..arrays.dispatch import eager
from ..arrays.operands import promote_inexact, together
from ..tracing.trace import emit


@eager
def sin(x: Any) -> Any:
    """Sine."""
    return emit(ops.sin, *promote_inexact("sin", x))


@eager
def add(x: Any, y: Any) -> Any:
    """Sum."""
    return emit(ops.add, *together("add", x, y))


@eager
def multiply(x: Any, y: Any) -> Any:
    """Product."""
    return emit(ops.mul, *together("multiply", x, y))
