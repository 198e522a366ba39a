"""Fences that users place: values that the compiler computes once for all their readers."""

from __future__ import annotations

from typing import Any, TypeVar

from xfront_ir import ops

from ..base.trees import tree_map
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .operands import array_like

T = TypeVar("T")


def fence(x: T) -> T:
    """The tree `x` unchanged; under `jit` on CPU, the elementwise operations behind it run once.

    XLA's CPU compiler copies the elementwise operations behind a value into every operation that
    reads it. That pays where a few operations are read once, and is slow where many are read
    several times. jit places fences by itself (docs/cpu.md); use this function where jit's estimate
    is wrong. No data is moved. Reverse mode fences the cotangents at the same place. In programs on
    several devices, on other platforms, and under `XFRONT_CPU_FENCES=0`, the fence is an
    `xfront.lax.optimization_barrier`.

    Args:
      x: tree of arrays of any shapes and dtypes, or of numbers.
    Returns: the same tree with the same elements.
    Raises: TypeError where a leaf is not an array.

    >>> xfront.jit(lambda x: jnp.sum(xfront.fence(jnp.exp(x))))(jnp.zeros(3))
    Array(3., dtype=float32)
    """
    return tree_map(_fenced, x)


def _fenced(x: Any) -> Any:
    if type(x) is Tracer:
        return emit(ops.fence, x)
    array_like("fence", x)
    return x


__all__ = ["fence"]
